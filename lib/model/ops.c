/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of the embedding, head and MTP layers, and the building blocks of decoders. */
#include "model/ops.h"

enum { FORWARD, INPUT, WEIGHT };

static double width_of_vocabulary(const ppsched_model *model)
{
    return (double)model->shape.vocabulary_size / model->training.tensor_parallel;
}

static void put_embedding(struct ppi_ops *ops, const ppsched_model *model)
{
    double hidden = model->shape.hidden_size, size = model->training.activation_bytes, tokens = ppi_tokens(model);
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->parameters = width_of_vocabulary(model) * hidden + (double)model->shape.positions * hidden;
    op->kept = 8 * tokens + (ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_DROPOUT) ? ppi_rows(model) * hidden : 0);
    op->weight_needs = ppi_rows(model) * hidden * size;
    op->pass[FORWARD].bytes = 2 * tokens * hidden * size;
    op->pass[WEIGHT].bytes = 3 * tokens * hidden * size;
    if (model->training.tensor_parallel > 1) { /* each device looks up its own rows of the table */
        op = ppi_next_op(ops);
        bool scatters = (model->training.flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
        op->pass[FORWARD].sent = tokens * hidden * size;
        op->pass[FORWARD].collective = scatters ? PPI_GATHER : PPI_ALL_REDUCE;
    }
}

/* Logits, and the loss on them, in 4 bytes each. */
static void put_output(struct ppi_ops *ops, const ppsched_model *model, bool has_parameters)
{
    double hidden = model->shape.hidden_size, size = model->training.activation_bytes, tokens = ppi_tokens(model);
    double logits = tokens * width_of_vocabulary(model);
    ppi_put_opening(ops, model);
    struct ppi_op_cost *op = ppi_put_linear(ops, model, tokens, hidden, width_of_vocabulary(model), false,
                                            ppi_rows(model) * hidden * size);
    if (!has_parameters)
        op->parameters = 0;
    op = ppi_next_op(ops);
    op->kept = 4 * logits;
    op->pass[FORWARD] = (struct ppi_layer_pass){.vector = 5 * logits, .bytes = 2 * logits * (size + 4)};
    op->pass[INPUT] = (struct ppi_layer_pass){.vector = 2 * logits, .bytes = logits * (size + 4)};
}

static void put_decoder(struct ppi_ops *ops, const ppsched_model *model, bool has_experts)
{
    ppi_put_attention(ops, model);
    if (has_experts)
        ppi_put_experts(ops, model);
    else
        ppi_put_mlp(ops, model);
}

/* The embedding of the next token and the hidden state, both normed, projected to h; a decoder; its logits, by the head's
 * matrix. */
static void put_mtp(struct ppi_ops *ops, const ppsched_model *model)
{
    double hidden = model->shape.hidden_size, rows = ppi_rows(model), size = model->training.activation_bytes;
    ppi_put_norm(ops, model, rows, hidden);
    ppi_put_norm(ops, model, rows, hidden);
    ppi_put_linear(ops, model, rows, 2 * hidden, hidden, false, 2 * rows * hidden * size);
    put_decoder(ops, model, ppi_model_has_experts(&model->shape, model->shape.layers - 1));
    ppi_put_norm(ops, model, rows, hidden);
    put_output(ops, model, false);
}

void ppi_ops_of(struct ppi_ops *out, const ppsched_model *model, int32_t layer)
{
    const ppsched_transformer *shape = &model->shape;
    uint32_t with_experts = ppi_model_expert_layers(shape);
    out->count = 0;
    if (layer == PPSCHED_MODEL_LAYER_EMBEDDING) {
        put_embedding(out, model);
    } else if (layer == PPSCHED_MODEL_LAYER_HEAD) {
        if (!ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM))
            ppi_put_norm(out, model, ppi_rows(model), shape->hidden_size);
        put_output(out, model, !ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_TIED));
    } else if (layer == PPSCHED_MODEL_LAYER_MTP && shape->mtp_layers > 0) {
        put_mtp(out, model);
    } else if (layer == PPSCHED_MODEL_LAYER_EXPERT && with_experts > 0) {
        put_decoder(out, model, true);
    } else if (layer == PPSCHED_MODEL_LAYER_DENSE && with_experts < shape->layers) {
        put_decoder(out, model, false);
    }
}
