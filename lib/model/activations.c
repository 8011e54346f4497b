/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a layer and number of parameters, as sums over the ops of ops.h. */
#include "model/ops.h"

/* Adds the states of `parameters` that sharding leaves on a device. */
static void add_states(ppsched_layer_memory *out, const ppsched_training *training, double parameters, double devices)
{
    out->parameters += parameters;
    out->weights += parameters * training->weight_bytes / (training->sharding >= 3 ? devices : 1);
    out->gradients += parameters * training->gradient_bytes / (training->sharding >= 2 ? devices : 1);
    out->optimizer += parameters * training->optimizer_bytes / (training->sharding >= 1 ? devices : 1);
}

void ppi_model_hold(ppsched_layer_memory *out, const ppsched_model *model, int32_t layer)
{
    const ppsched_training *training = &model->training;
    double common = (double)training->data_parallel * training->context_parallel;
    double experts = common * training->tensor_parallel / training->expert_parallel / training->expert_tensor_parallel;
    struct ppi_ops ops;
    ppi_ops_of(&ops, model, layer);
    *out = (ppsched_layer_memory){.size = sizeof *out};
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
    out->output_bytes = ppi_rows(model) * model->shape.hidden_size * training->activation_bytes;
    out->full = out->output_bytes < out->activations ? out->output_bytes : out->activations;
}

/* --- parameters --- */

static double all_of(const struct ppi_ops *ops)
{
    double sum = 0;
    for (uint32_t i = 0; i < ops->count; i++)
        sum += ops->list[i].parameters;
    return sum;
}

static double experts_of(const struct ppi_ops *ops)
{
    double sum = 0;
    for (uint32_t i = 0; i < ops->count; i++)
        sum += ops->list[i].is_expert ? ops->list[i].parameters : 0;
    return sum;
}

static double parameters_of(const ppsched_model *model, int32_t layer)
{
    struct ppi_ops ops;
    ppi_ops_of(&ops, model, layer);
    return all_of(&ops);
}

static void count_decoders(ppsched_parameters *out, const ppsched_model *whole, double norm)
{
    const ppsched_transformer *shape = &whole->shape;
    struct ppi_ops ops = {.count = 0};
    double norms = ppi_has_flag(whole, PPSCHED_TRANSFORMER_FLAG_POST_NORMS) ? 2 * norm : norm;
    ppi_put_attention(&ops, whole);
    out->attention_with_norms = (uint64_t)(all_of(&ops) + norms);
    out->expert_layers = ppi_model_expert_layers(shape);
    out->dense_layers = shape->layers - out->expert_layers;
    if (out->dense_layers > 0) {
        ops.count = 0;
        ppi_put_mlp(&ops, whole);
        out->dense_mlp = (uint64_t)(all_of(&ops) - norms);
    }
    if (out->expert_layers > 0) {
        ops.count = 0;
        ppi_put_experts(&ops, whole);
        double experts = experts_of(&ops), all = all_of(&ops) - norms;
        out->expert_mlp = (uint64_t)all;
        out->expert_mlp_active = (uint64_t)(all - experts + experts / shape->experts * shape->experts_per_token);
    }
}

void ppi_model_count(ppsched_parameters *out, const ppsched_model *model)
{
    const ppsched_transformer *shape = &model->shape;
    ppsched_model whole = {.shape = *shape};
    whole.training = (ppsched_training){.sequence_length = 1,
                                        .micro_batch_size = 1,
                                        .tensor_parallel = 1,
                                        .context_parallel = 1,
                                        .expert_parallel = 1,
                                        .expert_tensor_parallel = 1,
                                        .data_parallel = 1};
    double norm = (ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_NORM_BIAS) ? 2.0 : 1.0) * shape->hidden_size;
    *out = (ppsched_parameters){.size = sizeof *out};
    count_decoders(out, &whole, norm);
    out->positions = (uint64_t)shape->positions * shape->hidden_size;
    out->embedding = (uint64_t)shape->vocabulary_size * shape->hidden_size;
    out->output = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_TIED) ? 0 : out->embedding;
    out->final_norm = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM) ? 0 : (uint64_t)norm;
    out->mtp = (uint64_t)parameters_of(&whole, PPSCHED_MODEL_LAYER_MTP);
    uint64_t common = out->embedding + out->positions + out->output + out->final_norm +
                      shape->layers * out->attention_with_norms + out->dense_layers * out->dense_mlp;
    out->total = common + out->expert_layers * out->expert_mlp;
    out->active = common + out->expert_layers * out->expert_mlp_active;
}
