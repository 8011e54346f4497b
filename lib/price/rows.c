/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of a model cost, by row, so that many pipelines of one model are priced without computing it again. */
#include <string.h>

#include "base/error.h"
#include "price/price.h"

uint32_t ppi_row_named(const ppsched_model *model, const char *name)
{
    uint32_t row = 0;
    while (row + 1 < model->row_count && strcmp(model->rows[row].name, name) != 0)
        row++;
    return row;
}

static void price_row(struct ppi_priced_model *made, uint32_t row)
{
    struct ppi_row_price *own = &made->rows[row];
    ppsched_pass_cost costs[PPI_MODEL_PASSES];
    double layers = made->model->rows[row].layers;
    ppi_model_hold(&own->memory, made->model, row);
    ppi_model_price_all(costs, made->model, row);
    for (int32_t pass = 0; pass < PPI_MODEL_PASSES; pass++) {
        own->time[pass] = costs[pass].time;
        own->tensor[pass] = costs[pass].tensor_time;
        own->context[pass] = costs[pass].context_time;
        own->expert[pass] = costs[pass].expert_time;
    }
    made->matrix_operations += costs[PPSCHED_MODEL_PASS_FORWARD].matrix_operations * layers;
    made->learning_operations += costs[PPSCHED_MODEL_PASS_WEIGHT].matrix_operations * layers;
}

ppsched_status ppi_priced_model_make(struct ppi_priced_model *out, const ppsched_model *model, ppsched_error *error)
{
    const ppsched_calibration none = {.size = sizeof none};
    *out = (struct ppi_priced_model){.arena = {.host = &model->host}, .model = model};
    ppsched_status status = ppi_model_layers(&out->layers, model, &none, true, error);
    if (status != PPSCHED_OK)
        return status;
    out->rows = ppi_arena_take_zeroed(&out->arena, model->row_count, sizeof *out->rows);
    out->row_of = ppi_arena_take(&out->arena, out->layers->count, sizeof *out->row_of);
    status = ppi_arena_check(&out->arena, "the costs of the layers", error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t row = 0; row < model->row_count; row++)
        price_row(out, row);
    /* the backward has twice those of the forward; beside frozen weights once, and the gradients of adapters */
    out->matrix_operations = model->training.adapter_rank > 0 ? 2 * out->matrix_operations + out->learning_operations
                                                              : 3 * out->matrix_operations;
    for (uint32_t layer = 0; layer < out->layers->count; layer++)
        out->row_of[layer] = ppi_row_named(model, ppi_layer_at(out->layers, layer)->given.name);
    return PPSCHED_OK;
}

void ppi_priced_model_clear(struct ppi_priced_model *made)
{
    if (made->arena.host == NULL)
        return;
    ppi_layers_release(made->layers);
    ppi_arena_clear(&made->arena);
}
