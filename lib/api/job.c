/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the layouts of a job. */
#include "job/job.h"

#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"

ppsched_status ppsched_job_create(ppsched_job **out, const ppsched_description *description, const ppsched_training *training,
                                  const ppsched_accelerator *accelerator, const ppsched_job_options *options,
                                  const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_job_options own;
    ppsched_training trained;
    ppsched_accelerator device;
    ppsched_layer_table table;
    PPI_REQUIRE(out);
    PPI_REQUIRE(description);
    PPI_REQUIRE(options);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_job_options), options, "ppsched_job_options",
                                           error);
    if (status == PPSCHED_OK)
        status = ppi_take_sized(&trained, sizeof trained, sizeof(ppsched_training), training, "ppsched_training", error);
    if (status == PPSCHED_OK && own.type_count == 0) {
        PPI_REQUIRE(accelerator);
        status = ppi_take_sized(&device, sizeof device, sizeof(ppsched_accelerator), accelerator, "ppsched_accelerator", error);
    }
    if (status == PPSCHED_OK && own.table != NULL) {
        status = ppi_take_sized(&table, sizeof table, sizeof(ppsched_layer_table), own.table, "ppsched_layer_table", error);
        own.table = &table;
    }
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_job_create(out, description, &trained, &device, &own, &host, error) : status;
}

void ppsched_job_destroy(ppsched_job *job)
{
    ppi_job_destroy(job);
}

uint32_t ppsched_job_layout_count(const ppsched_job *job)
{
    return job != NULL ? job->count : 0;
}

static ppsched_status check(const ppsched_job *job, uint32_t layout, ppsched_error *error)
{
    if (layout >= job->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no layout %u; give less than %u", layout, job->count);
    return PPSCHED_OK;
}

ppsched_status ppsched_job_get_layout(ppsched_job_layout *out, const ppsched_job *job, uint32_t layout, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(job);
    ppsched_status status = check(job, layout, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_give_sized(out, &job->entries[layout].layout, sizeof *out, PPI_SIZE_UP_TO(ppsched_job_layout, least_memory),
                          "ppsched_job_layout", error);
}

ppsched_status ppsched_job_evaluate_layout(ppsched_price **out, ppsched_job_found *found, const ppsched_job *job,
                                           uint32_t layout, double above, ppsched_error *error)
{
    ppsched_job_found own;
    ppsched_price *price = NULL;
    PPI_REQUIRE(out);
    PPI_REQUIRE(found);
    PPI_REQUIRE(job);
    ppsched_status status = check(job, layout, error);
    if (status == PPSCHED_OK && !(above >= 0))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "above is %g; it must be at least 0", above);
    if (status == PPSCHED_OK)
        status = ppi_job_price(&price, &own, job, layout, above, error);
    if (status == PPSCHED_OK)
        status = ppi_give_sized(found, &own, sizeof own, sizeof(ppsched_job_found), "ppsched_job_found", error);
    if (status == PPSCHED_OK)
        *out = price;
    else
        ppi_price_destroy(price);
    return status;
}

ppsched_status ppsched_job_set_progress(ppsched_job *job, ppsched_progress_function progress, void *user, ppsched_error *error)
{
    PPI_REQUIRE(job);
    job->progress = progress;
    job->progress_user = user;
    return PPSCHED_OK;
}

ppsched_status ppsched_job_run(ppsched_job *job, ppsched_error *error)
{
    PPI_REQUIRE(job);
    return ppi_job_run(job, error);
}

uint32_t ppsched_job_best_count(const ppsched_job *job)
{
    return job != NULL ? job->best_count : 0;
}

uint32_t ppsched_job_layout_at_rank(const ppsched_job *job, uint32_t rank)
{
    return job != NULL && rank < job->best_count ? job->best[rank] : PPSCHED_NONE;
}
