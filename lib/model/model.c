/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a model with its own copies of all lists; finds which layers have experts. */
#include <string.h>

#include "base/error.h"
#include "model/model.h"

bool ppi_model_has_experts(const ppsched_transformer *shape, uint32_t layer)
{
    if (shape->expert_layers != NULL)
        return shape->expert_layers[layer] != 0;
    return shape->experts > 0 && layer >= shape->dense_layers &&
           (layer + (uint64_t)shape->expert_offset) % shape->expert_interval == 0;
}

uint32_t ppi_model_expert_layers(const ppsched_transformer *shape)
{
    uint32_t count = 0;
    for (uint32_t layer = 0; layer < shape->layers; layer++)
        count += ppi_model_has_experts(shape, layer);
    return count;
}

static const ppsched_efficiency *copy_list(const struct ppi_host *host, const ppsched_efficiency *list, uint32_t count,
                                           bool *is_short)
{
    ppsched_efficiency *copy = count > 0 ? ppi_allocate(host, count, sizeof *copy) : NULL;
    if (copy != NULL)
        memcpy(copy, list, count * sizeof *copy);
    *is_short |= count > 0 && copy == NULL;
    return copy;
}

static const uint8_t *copy_layers(const struct ppi_host *host, const uint8_t *list, uint32_t count, bool *is_short)
{
    uint8_t *copy = list != NULL ? ppi_allocate(host, count, sizeof *copy) : NULL;
    if (copy != NULL)
        memcpy(copy, list, count);
    *is_short |= list != NULL && copy == NULL;
    return copy;
}

/* Replaces the caller's lists by copies; the name is dropped. */
static ppsched_status copy_lists(ppsched_model *model, ppsched_error *error)
{
    ppsched_accelerator *own = &model->device;
    const ppsched_accelerator given = *own;
    bool is_short = false;
    model->shape.expert_layers = copy_layers(&model->host, model->shape.expert_layers, model->shape.layers, &is_short);
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
    free_list(model, model->shape.expert_layers);
    free_list(model, model->device.matrix_efficiency);
    free_list(model, model->device.vector_efficiency);
    free_list(model, model->device.memory_efficiency);
    ppi_release(&host, model);
}

ppsched_status ppi_model_create(ppsched_model **out, const ppsched_transformer *shape, const ppsched_training *training,
                                const ppsched_accelerator *device, const struct ppi_host *host, ppsched_error *error)
{
    ppsched_model whole = {.host = *host, .shape = *shape, .training = *training, .has_device = device != NULL};
    if (device != NULL)
        whole.device = *device;
    ppsched_status status = ppi_model_complete(&whole, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_model *model = ppi_allocate(host, 1, sizeof *model);
    if (model == NULL)
        return ppi_fail_memory(error, "the model");
    *model = whole;
    status = copy_lists(model, error);
    if (status != PPSCHED_OK) {
        ppi_model_destroy(model);
        return status;
    }
    *out = model;
    return PPSCHED_OK;
}
