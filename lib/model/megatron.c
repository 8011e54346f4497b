/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM's estimate, as in megatron/training/theoretical_memory_usage.py, with the same order of operations so that it is
 * equal to the last byte. */
#include "base/error.h"
#include "description/transformer.h"
#include "model/model.h"

/* The model as a transformer of two kinds of layers, and what it is trained by. */
struct flat {
    ppsched_transformer shape;
    const ppsched_training *training;
    double experts; /* number of layers with experts */
    bool last_has;  /* the last layer has some */
};

static bool is_flagged(const struct flat *model, uint32_t flag)
{
    return (model->shape.flags & flag) != 0;
}

/* Parameters of the whole model by how Megatron-LM divides them. */
struct shares {
    double tensor, copied, expert;
};

static double attention_cost(const struct flat *model, double norm)
{
    const ppsched_transformer *shape = &model->shape;
    double hidden = shape->hidden_size, heads = shape->heads;
    if (shape->key_value_rank == 0)
        return 2 * hidden * hidden *
               ((1 + (double)shape->key_value_heads / heads) * ((double)shape->head_size * heads / hidden));
    double query = heads * ((double)shape->head_size + shape->rope_head_size);
    double q_term = shape->query_rank > 0 ? shape->query_rank * (hidden + query + norm) : hidden * query;
    double latent = shape->key_value_rank;
    return q_term + latent * (hidden + heads * ((double)shape->head_size + shape->value_head_size) + norm) +
           hidden * shape->rope_head_size + heads * shape->value_head_size * hidden;
}

static struct shares layers_of(const struct flat *model, double dense, double experts)
{
    const ppsched_transformer *shape = &model->shape;
    double hidden = shape->hidden_size, norm = is_flagged(model, PPSCHED_TRANSFORMER_FLAG_NORM_BIAS) ? 2 : 1;
    double gate = is_flagged(model, PPSCHED_TRANSFORMER_FLAG_GATED) ? 1.5 : 1, norms = 2 * hidden * norm;
    double attention = attention_cost(model, norm), mlp = 2 * hidden * shape->ffn_size * gate;
    double shared = 2 * hidden * shape->shared_ffn_size * gate;
    double router = hidden * shape->experts;
    if (is_flagged(model, PPSCHED_TRANSFORMER_FLAG_MLP_BIAS))
        router += shape->experts;
    return (struct shares){.tensor = (attention + mlp) * dense + (attention + shared) * experts,
                           .copied = norms * dense + (norms + router) * experts,
                           .expert = 2 * hidden * shape->expert_ffn_size * shape->experts * gate * experts};
}

static double bytes_each(const struct flat *model, double devices)
{
    return model->training->sharding == 0 ? 18 : 6 + 12 / devices;
}

/* States of a device with its share of the layers, all MTP layers and one embedding. */
static double states_of(const struct flat *model, double p)
{
    const ppsched_transformer *shape = &model->shape;
    const ppsched_training *training = model->training;
    double t = training->tensor_parallel, e = training->expert_parallel, et = training->expert_tensor_parallel;
    double experts = model->experts, mtp = shape->mtp_layers;
    bool last_has = model->last_has;
    double norm = is_flagged(model, PPSCHED_TRANSFORMER_FLAG_NORM_BIAS) ? 2 : 1;
    struct shares block = layers_of(model, shape->layers - experts, experts);
    struct shares ahead = layers_of(model, last_has ? 0 : mtp, last_has ? mtp : 0);
    double embedding = (double)shape->hidden_size * shape->vocabulary_size;
    double tensor = (block.tensor / p + ahead.tensor + embedding) / t;
    double copied = (block.copied + norm * shape->hidden_size) / p + ahead.copied;
    double expert = (block.expert / p + ahead.expert) / (et * e);
    uint64_t world = (uint64_t)training->tensor_parallel * training->context_parallel * training->data_parallel;
    if (!is_flagged(model, PPSCHED_TRANSFORMER_FLAG_TIED) && p <= 1)
        tensor += embedding / t;
    uint64_t divided = (uint64_t)training->expert_tensor_parallel * training->expert_parallel;
    double common = (tensor + copied) * bytes_each(model, training->data_parallel);
    return shape->experts > 0 ? common + expert * bytes_each(model, (double)(world / divided)) : common;
}

/* Activations of the first stage, `layer` bytes per layer; its microbatches in flight make up for the layers of other
 * stages. */
static double activations_of(const struct flat *model, const ppsched_megatron_pipeline *pipeline, double layer)
{
    const ppsched_transformer *shape = &model->shape;
    double p = pipeline->devices, hidden = shape->hidden_size;
    double tokens = (double)model->training->sequence_length * model->training->micro_batch_size;
    double sum = layer * shape->layers;
    sum += 8 * tokens * p;
    sum += tokens * hidden * p;
    if (pipeline->chunks > 1)
        sum *= 1 + (p - 1) / (p * pipeline->chunks);
    else if (pipeline->devices > 1 && pipeline->microbatches > 0 && pipeline->microbatches < pipeline->devices)
        sum *= pipeline->microbatches / p;
    return sum;
}

static void estimate(ppsched_megatron_memory *out, const struct flat *model, const ppsched_megatron_pipeline *pipeline)
{
    const ppsched_training *training = model->training;
    double t = training->tensor_parallel, hidden = model->shape.hidden_size;
    double elements = (double)training->sequence_length * training->micro_batch_size * hidden;
    bool is_parallel = (training->flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
    double with = activations_of(model, pipeline, elements * (18 + 4 * (model->shape.ffn_size / hidden)));
    double without = activations_of(model, pipeline, elements * (10 + 24 / t));
    if (pipeline->devices == 1) { /* the output's input, and the logits */
        double logits = elements / hidden * model->shape.vocabulary_size;
        with += elements * 4 * (1 + model->shape.vocabulary_size / hidden);
        without += (logits / t + elements) * 2;
    }
    *out = (ppsched_megatron_memory){.size = sizeof *out,
                                     .weight_and_optimizer_bytes = states_of(model, pipeline->devices),
                                     .activation_bytes_with_sequence_parallel = with / t,
                                     .activation_bytes_without = without * 1.05};
    out->activation_bytes = is_parallel && pipeline->selective == 1 ? out->activation_bytes_with_sequence_parallel
                                                                    : out->activation_bytes_without;
}

ppsched_status ppi_model_megatron(ppsched_megatron_memory *out, const ppsched_model *model,
                                  const ppsched_megatron_pipeline *pipeline, ppsched_error *error)
{
    const ppsched_description_info *shape = model->shape;
    struct flat flat = {.training = &model->training};
    if (!ppi_description_to_transformer(&flat.shape, NULL, model->description))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "Megatron-LM's formula needs attention, and one MLP or experts of one size, in each layer; this model "
                        "has other layers");
    for (uint32_t i = 0; i < shape->layer_count; i++) {
        flat.last_has = ppi_model_experts_of(shape->kinds[shape->layers[i]]) != NULL;
        flat.experts += flat.last_has;
    }
    estimate(out, &flat, pipeline);
    return PPSCHED_OK;
}
