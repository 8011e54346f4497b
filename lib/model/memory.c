/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a layer, as sums over the ops of blocks.h. */
#include "model/blocks.h"

/* Adds the states of `parameters` that sharding leaves on a device. */
static void add_states(ppsched_layer_memory *out, const ppsched_training *training, double parameters, double devices)
{
    out->parameters += parameters;
    out->weights += parameters * training->weight_bytes / (training->sharding >= 3 ? devices : 1);
    out->gradients += parameters * training->gradient_bytes / (training->sharding >= 2 ? devices : 1);
    out->optimizer += parameters * training->optimizer_bytes / (training->sharding >= 1 ? devices : 1);
}

/* A tower that is not trained keeps nothing, and has weights alone. */
static void freeze(ppsched_layer_memory *out)
{
    *out = (ppsched_layer_memory){
        .size = sizeof *out, .parameters = out->parameters, .weights = out->weights, .output_bytes = out->output_bytes};
}

/* Full recomputation keeps the input of each layer. */
static void add_boundaries(ppsched_layer_memory *out, const ppsched_model *model, const struct ppi_model_row *row)
{
    struct ppi_site site = row->tower != NULL ? ppi_site_of_tower(model, row->tower) : ppi_site_of_model(model);
    double inputs = site.rows * site.hidden * site.size * site.streams * (row->tower != NULL ? row->tower->layers : 1);
    out->output_bytes = site.rows * site.hidden * site.size * site.streams;
    out->full = inputs < out->activations ? inputs : out->activations;
}

void ppi_model_hold(ppsched_layer_memory *out, const ppsched_model *model, uint32_t row)
{
    const ppsched_training *training = &model->training;
    const struct ppi_model_row *own = &model->rows[row];
    double common = (double)training->data_parallel * training->context_parallel;
    double experts = common * training->tensor_parallel / training->expert_parallel / training->expert_tensor_parallel;
    struct ppi_ops ops;
    *out = (ppsched_layer_memory){.size = sizeof *out};
    for (uint32_t part = 0; ppi_ops_of_part(&ops, model, row, part); part++)
        for (uint32_t i = 0; i < ops.count; i++) {
            const struct ppi_op_cost *op = &ops.list[i];
            add_states(out, training, op->parameters, op->is_expert ? experts : common);
            out->expert_parameters += op->is_expert ? op->parameters : 0;
            out->activations += op->kept;
            out->activations_until_weight += op->weight_needs;
            out->selective += op->is_core ? 0 : op->kept;
        }
    if (out->activations_until_weight > out->activations)
        out->activations_until_weight = out->activations;
    add_boundaries(out, model, own);
    if (own->tower != NULL && own->tower->is_frozen)
        freeze(out);
}
