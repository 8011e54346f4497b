/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a layer, as sums over the ops of blocks.h. */
#include "model/table.h"

/* Adds the states of an op that sharding leaves on a device. */
static void add_states(ppsched_layer_memory *out, const ppsched_training *training, const struct ppi_op_cost *op,
                       double devices)
{
    double parameters = op->parameters;
    out->parameters += parameters;
    out->expert_parameters += op->is_expert ? parameters : 0;
    out->weights += parameters * training->weight_bytes / (training->sharding >= 3 ? devices : 1);
    if ((training->flags & PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS) != 0 && !op->is_adapter)
        return;
    out->trained += parameters;
    out->expert_trained += op->is_expert ? parameters : 0;
    out->gradients += parameters * training->gradient_bytes / (training->sharding >= 2 ? devices : 1);
    out->optimizer += parameters * training->optimizer_bytes / (training->sharding >= 1 ? devices : 1);
}

/* Bytes of an element that linear layers keep of their inputs for W: in 8 bits, MXFP8 with a scale of 8 bits for 32 elements,
 * NVFP4 with one for 16. */
static double kept_bytes(const ppsched_training *training)
{
    switch (training->precision) {
    case PPSCHED_PRECISION_FP8:
        return 1;
    case PPSCHED_PRECISION_MXFP8:
        return 1 + 1.0 / 32;
    case PPSCHED_PRECISION_NVFP4:
        return 0.5 + 1.0 / 16;
    default:
        return training->activation_bytes;
    }
}

bool ppi_keeps_few_bits(const ppsched_model *model)
{
    return !model->has_activation_bytes && kept_bytes(&model->training) < model->training.activation_bytes;
}

/* Of what an op would keep in the bytes of activations. */
static double kept_share(const ppsched_model *model, const struct ppi_op_cost *op)
{
    const ppsched_training *training = &model->training;
    return op->is_linear && ppi_keeps_few_bits(model) ? kept_bytes(training) / training->activation_bytes : 1;
}

/* A tower that is not trained keeps nothing, and has weights alone. */
static void freeze(ppsched_layer_memory *out)
{
    *out = (ppsched_layer_memory){
        .size = sizeof *out, .parameters = out->parameters, .weights = out->weights, .output_bytes = out->output_bytes};
}

/* Full recomputation keeps the input of each layer. */
static void add_boundaries(ppsched_layer_memory *out, const struct ppi_site *site, const struct ppi_model_row *row)
{
    double output = site->rows * site->hidden * site->size * site->streams;
    double inputs = output * (row->tower != NULL ? row->tower->layers : 1);
    out->output_bytes = output;
    out->full = inputs < out->activations ? inputs : out->activations;
}

void ppi_model_hold(ppsched_layer_memory *out, const ppsched_model *model, uint32_t row)
{
    const ppsched_training *training = &model->training;
    const struct ppi_model_row *own = &model->rows[row];
    double common = (double)training->data_parallel * training->context_parallel;
    double experts = common * training->tensor_parallel / training->expert_parallel / training->expert_tensor_parallel;
    struct ppi_site site = ppi_site_of_row(model, row);
    struct ppi_ops ops;
    *out = (ppsched_layer_memory){.size = sizeof *out};
    for (uint32_t part = 0; ppi_ops_of_part(&ops, &site, row, part); part++) {
        out->slice_state += own->tower == NULL ? ops.state : 0;
        out->slice_gradients += own->tower == NULL ? ops.key_values : 0;
        for (uint32_t i = 0; i < ops.count; i++) {
            const struct ppi_op_cost *op = &ops.list[i];
            double share = kept_share(model, op), kept = share * op->kept;
            add_states(out, training, op, op->is_expert ? experts : common);
            out->activations += kept;
            out->activations_until_weight += share * op->weight_needs;
            out->selective += op->is_core ? 0 : kept;
            out->modules += (op->modules & training->recompute_modules) != 0 ? 0 : kept;
        }
    }
    if (out->activations_until_weight > out->activations)
        out->activations_until_weight = out->activations;
    add_boundaries(out, &site, own);
    if (model->measures != NULL)
        ppi_measured_memory(out, model, row);
    if (own->tower != NULL && own->tower->is_frozen)
        freeze(out);
    if ((training->flags & PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS) != 0 && training->adapter_rank == 0)
        out->activations_until_weight = 0;
}
