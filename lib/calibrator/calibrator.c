/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a calibrator, and takes its runs. */
#include "calibrator/calibrator.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "price/price.h"

static const ppsched_efficiency *copy_list(struct ppi_arena *arena, const ppsched_efficiency *list, uint32_t count)
{
    ppsched_efficiency *copy = count > 0 ? ppi_arena_take(arena, count, sizeof *copy) : NULL;
    if (copy != NULL)
        memcpy(copy, list, count * sizeof *copy);
    return copy;
}

static const char *copy_name(struct ppi_arena *arena, const char *name)
{
    char *copy = name != NULL ? ppi_arena_take(arena, strlen(name) + 1, 1) : NULL;
    if (copy != NULL)
        memcpy(copy, name, strlen(name) + 1);
    return copy;
}

static ppsched_status take_device(ppsched_calibrator *calibrator, const ppsched_accelerator *device, ppsched_error *error)
{
    ppsched_accelerator *own = &calibrator->start;
    ppsched_status status = ppi_model_check_device(device, error);
    if (status != PPSCHED_OK)
        return status;
    *own = *device;
    own->name = copy_name(&calibrator->arena, device->name);
    own->matrix_efficiency = copy_list(&calibrator->arena, device->matrix_efficiency, device->matrix_efficiency_count);
    own->vector_efficiency = copy_list(&calibrator->arena, device->vector_efficiency, device->vector_efficiency_count);
    own->memory_efficiency = copy_list(&calibrator->arena, device->memory_efficiency, device->memory_efficiency_count);
    ppi_calibrator_tell_shares(own);
    return ppi_arena_check(&calibrator->arena, "the calibrator", error);
}

ppsched_status ppi_calibrator_create(ppsched_calibrator **out, const ppsched_accelerator *device, const struct ppi_host *host,
                                     ppsched_error *error)
{
    ppsched_calibrator *calibrator = ppi_allocate_zeroed(host, 1, sizeof *calibrator);
    if (calibrator == NULL)
        return ppi_fail_memory(error, "the calibrator");
    calibrator->host = *host;
    calibrator->arena.host = &calibrator->host;
    ppsched_status status = take_device(calibrator, device, error);
    if (status == PPSCHED_OK)
        *out = calibrator;
    else
        ppi_calibrator_destroy(calibrator);
    return status;
}

void ppi_calibrator_destroy(ppsched_calibrator *calibrator)
{
    if (calibrator == NULL)
        return;
    struct ppi_host host = calibrator->host;
    for (uint32_t i = 0; i < calibrator->count; i++) {
        ppi_price_destroy(calibrator->runs[i].started);
        ppi_description_release(calibrator->runs[i].description);
    }
    ppi_release(&host, calibrator->runs);
    ppi_arena_clear(&calibrator->arena);
    ppi_release(&host, calibrator);
}

ppsched_status ppi_calibrator_price(ppsched_price **out, const ppsched_calibrator *calibrator,
                                    const struct ppi_calibrator_run *run, const ppsched_pipeline *pipeline,
                                    const ppsched_accelerator *device, ppsched_error *error)
{
    ppsched_model *model = NULL;
    ppsched_price *price = NULL;
    ppsched_status status = ppi_model_create(&model, run->description, &run->training, device, NULL, &calibrator->host, error);
    if (status == PPSCHED_OK)
        status = ppi_price_create(&price, model, pipeline != NULL ? pipeline : &run->started->pipeline, &calibrator->host,
                                  error);
    ppi_model_destroy(model);
    if (status != PPSCHED_OK)
        return status;
    double seconds = price->step.step_time;
    if (!(seconds > 0 && ppi_is_finite(seconds))) {
        ppi_price_destroy(price);
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the price of the run is %g seconds; rates must be within sensible bounds",
                        seconds);
    }
    *out = price;
    return PPSCHED_OK;
}

/* Makes room for one more run. */
static ppsched_status grow(ppsched_calibrator *calibrator, ppsched_error *error)
{
    if (calibrator->count < calibrator->capacity)
        return PPSCHED_OK;
    uint32_t capacity = calibrator->capacity > 0 ? 2 * calibrator->capacity : 8;
    struct ppi_calibrator_run *runs = ppi_allocate(&calibrator->host, capacity, sizeof *runs);
    if (runs == NULL)
        return ppi_fail_memory(error, "the runs");
    if (calibrator->count > 0)
        memcpy(runs, calibrator->runs, calibrator->count * sizeof *runs);
    ppi_release(&calibrator->host, calibrator->runs);
    calibrator->runs = runs;
    calibrator->capacity = capacity;
    return PPSCHED_OK;
}

ppsched_status ppi_calibrator_append(ppsched_calibrator *calibrator, const ppsched_description *description,
                                     const ppsched_training *training, const ppsched_pipeline *pipeline, double measured,
                                     ppsched_error *error)
{
    struct ppi_calibrator_run run = {.description = description, .training = *training, .measured = measured};
    ppsched_pipeline silent = *pipeline;
    silent.progress = NULL;
    if (!(measured > 0 && ppi_is_finite(measured)))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "step_time is %g; it must be finite and above 0", measured);
    ppsched_status status = ppi_calibrator_price(&run.started, calibrator, &run, &silent, &calibrator->start, error);
    if (status != PPSCHED_OK)
        return status;
    status = grow(calibrator, error);
    if (status != PPSCHED_OK) {
        ppi_price_destroy(run.started);
        return status;
    }
    ppi_description_retain(description);
    calibrator->runs[calibrator->count++] = run;
    calibrator->has_results = false;
    return PPSCHED_OK;
}
