/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: constants of a device, fitted to measured runs. */
#include "calibrator/calibrator.h"

#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"
#include "price/price.h"

ppsched_status ppsched_calibrator_create(ppsched_calibrator **out, const ppsched_accelerator *accelerator,
                                         const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_accelerator device;
    PPI_REQUIRE(out);
    PPI_REQUIRE(accelerator);
    ppsched_status status = ppi_take_sized(&device, sizeof device, sizeof(ppsched_accelerator), accelerator,
                                           "ppsched_accelerator", error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_calibrator_create(out, &device, &host, error) : status;
}

void ppsched_calibrator_destroy(ppsched_calibrator *calibrator)
{
    ppi_calibrator_destroy(calibrator);
}

ppsched_status ppsched_calibrator_append_run(ppsched_calibrator *calibrator, const ppsched_description *description,
                                             const ppsched_training *training, const ppsched_pipeline *pipeline,
                                             double step_time, ppsched_error *error)
{
    ppsched_training trained;
    ppsched_pipeline own;
    PPI_REQUIRE(calibrator);
    PPI_REQUIRE(description);
    ppsched_status status = ppi_take_sized(&trained, sizeof trained, sizeof(ppsched_training), training, "ppsched_training",
                                           error);
    if (status == PPSCHED_OK)
        status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_pipeline), pipeline, "ppsched_pipeline", error);
    return status == PPSCHED_OK ? ppi_calibrator_append(calibrator, description, &trained, &own, step_time, error) : status;
}

ppsched_status ppsched_calibrator_set_progress(ppsched_calibrator *calibrator, ppsched_progress_function progress, void *user,
                                               ppsched_error *error)
{
    PPI_REQUIRE(calibrator);
    calibrator->progress = progress;
    calibrator->progress_user = user;
    return PPSCHED_OK;
}

ppsched_status ppsched_calibrator_run(ppsched_calibrator *calibrator, ppsched_error *error)
{
    PPI_REQUIRE(calibrator);
    return ppi_calibrator_fit(calibrator, error);
}

/* --- results --- */

static ppsched_status require_results(const ppsched_calibrator *calibrator, ppsched_error *error)
{
    if (calibrator->has_results)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "the calibrator has no results; call ppsched_calibrator_run");
}

uint32_t ppsched_calibrator_constant_count(const ppsched_calibrator *calibrator)
{
    return calibrator != NULL && calibrator->has_results ? calibrator->constant_count : 0;
}

ppsched_status ppsched_calibrator_get_constant(ppsched_calibrated_constant *out, const ppsched_calibrator *calibrator,
                                               uint32_t constant, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(calibrator);
    uint32_t count = ppsched_calibrator_constant_count(calibrator);
    if (constant >= count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no constant %u; their number is %u", constant, count);
    ppsched_accelerator before = calibrator->start, after = calibrator->fitted;
    int32_t name = calibrator->names[constant];
    const ppsched_calibrated_constant own = {.size = sizeof own,
                                             .constant = name,
                                             .before = *ppi_calibrator_field(&before, name),
                                             .after = *ppi_calibrator_field(&after, name)};
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_calibrated_constant), "ppsched_calibrated_constant", error);
}

uint32_t ppsched_calibrator_run_count(const ppsched_calibrator *calibrator)
{
    return calibrator != NULL ? calibrator->count : 0;
}

ppsched_status ppsched_calibrator_get_run(ppsched_calibrated_run *out, const ppsched_calibrator *calibrator, uint32_t run,
                                          ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(calibrator);
    if (run >= calibrator->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no run %u; their number is %u", run, calibrator->count);
    ppsched_status status = require_results(calibrator, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_calibrator_run *given = &calibrator->runs[run];
    const ppsched_calibrated_run own = {.size = sizeof own,
                                        .step_time = given->measured,
                                        .error_before = given->started->step.step_time / given->measured - 1,
                                        .error_after = given->after,
                                        .error_left_out = given->left_out};
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_calibrated_run), "ppsched_calibrated_run", error);
}

ppsched_status ppsched_calibrator_get_accelerator(ppsched_accelerator *out, const ppsched_calibrator *calibrator,
                                                  ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(calibrator);
    ppsched_status status = require_results(calibrator, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_accelerator own = calibrator->fitted;
    own.size = sizeof own;
    return ppi_give_sized(out, &own, sizeof own, sizeof(ppsched_accelerator), "ppsched_accelerator", error);
}
