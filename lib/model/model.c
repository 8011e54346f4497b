/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a model with its own copies of all lists. */
#include <string.h>

#include "base/error.h"
#include "model/table.h"

const char *const ppi_model_passes[PPI_MODEL_PASSES] = {
    [PPSCHED_MODEL_PASS_FORWARD] = "forward", [PPSCHED_MODEL_PASS_INPUT] = "input",
    [PPSCHED_MODEL_PASS_WEIGHT] = "weight",   [PPSCHED_MODEL_PASS_SELECTIVE] = "selective",
    [PPSCHED_MODEL_PASS_FULL] = "full",       [PPSCHED_MODEL_PASS_MODULES] = "modules"};

static const ppsched_efficiency *copy_list(const struct ppi_host *host, const ppsched_efficiency *list, uint32_t count,
                                           bool *is_short)
{
    ppsched_efficiency *copy = count > 0 ? ppi_allocate(host, count, sizeof *copy) : NULL;
    if (copy != NULL)
        memcpy(copy, list, count * sizeof *copy);
    *is_short |= count > 0 && copy == NULL;
    return copy;
}

/* Replaces the caller's lists by copies; the name is dropped. */
static ppsched_status copy_lists(ppsched_model *model, ppsched_error *error)
{
    ppsched_accelerator *own = &model->device;
    const ppsched_accelerator given = *own;
    bool is_short = false;
    model->rows = ppi_allocate(&model->host, model->shape->tower_count + model->shape->kind_count + (size_t)3,
                               sizeof *model->rows);
    is_short = model->rows == NULL;
    own->name = NULL;
    own->matrix_efficiency = copy_list(&model->host, given.matrix_efficiency, given.matrix_efficiency_count, &is_short);
    own->vector_efficiency = copy_list(&model->host, given.vector_efficiency, given.vector_efficiency_count, &is_short);
    own->memory_efficiency = copy_list(&model->host, given.memory_efficiency, given.memory_efficiency_count, &is_short);
    return is_short ? ppi_fail_memory(error, "the model") : PPSCHED_OK;
}

static void free_list(const ppsched_model *model, const void *list)
{
    ppi_release(&model->host, (void *)(uintptr_t)list);
}

void ppi_model_destroy(ppsched_model *model)
{
    if (model == NULL)
        return;
    struct ppi_host host = model->host;
    ppi_release(&host, model->rows);
    ppi_release(&host, model->measures);
    ppi_release(&host, model->collectives);
    free_list(model, model->device.matrix_efficiency);
    free_list(model, model->device.vector_efficiency);
    free_list(model, model->device.memory_efficiency);
    ppi_description_release(model->description);
    ppi_release(&host, model);
}

/* A count of parameters must be exact in a double. */
static ppsched_status check_total(const ppsched_model *model, ppsched_error *error)
{
    const double most = 9007199254740992.0; /* 2^53 */
    double total = ppi_model_total(model);
    if (total >= most)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the model has about %g parameters; it must have less than 2^53", total);
    return PPSCHED_OK;
}

ppsched_status ppi_model_create(ppsched_model **out, const ppsched_description *description, const ppsched_training *training,
                                const ppsched_accelerator *device, const ppsched_layer_table *table,
                                const struct ppi_host *host, ppsched_error *error)
{
    ppsched_model whole = {.host = *host,
                           .description = description,
                           .shape = &description->info,
                           .training = *training,
                           .has_device = device != NULL};
    if (device != NULL)
        whole.device = *device;
    ppsched_status status = ppi_model_complete(&whole, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_model *model = ppi_allocate(host, 1, sizeof *model);
    if (model == NULL)
        return ppi_fail_memory(error, "the model");
    *model = whole;
    ppi_description_retain(description);
    status = copy_lists(model, error);
    if (status == PPSCHED_OK) {
        ppi_model_list_rows(model);
        status = check_total(model, error);
    }
    if (status == PPSCHED_OK && table != NULL)
        status = ppi_model_measure(model, table, error);
    if (status != PPSCHED_OK) {
        ppi_model_destroy(model);
        return status;
    }
    *out = model;
    return PPSCHED_OK;
}
