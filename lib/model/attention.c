/* SPDX-License-Identifier: Apache-2.0 */
/* The attention half of a layer: plain or latent queries, keys and values; scores kept or fused (FlashAttention). */
#include "model/ops.h"

enum { FORWARD, INPUT, WEIGHT };

/* Widths on one device: of all queries, keys and values, including the parts with rotary embedding. */
struct widths {
    double heads, key, value, queries, keys, values;
};

static struct widths widths_of(const ppsched_model *model)
{
    const ppsched_transformer *shape = &model->shape;
    double t = model->training.tensor_parallel, kv_heads = (double)shape->key_value_heads / t;
    struct widths widths = {.heads = (double)shape->heads / t, .key = shape->head_size, .value = shape->head_size};
    if (shape->key_value_rank > 0) {
        widths.key += shape->rope_head_size;
        widths.value = shape->value_head_size;
        kv_heads = widths.heads;
    } else if (kv_heads < 1) {
        kv_heads = 1; /* replicated */
    }
    widths.queries = widths.heads * widths.key;
    widths.keys = kv_heads * widths.key;
    widths.values = kv_heads * widths.value;
    return widths;
}

/* --- queries, keys, values --- */

static double kept_input(const ppsched_model *model)
{
    return ppi_rows(model) * model->shape.hidden_size * model->training.activation_bytes;
}

/* Replicated key-value heads count their parameters on each device. */
static void put_plain(struct ppi_ops *ops, const ppsched_model *model, const struct widths *widths)
{
    double tokens = ppi_tokens(model), hidden = model->shape.hidden_size, size = model->training.activation_bytes;
    bool has_bias = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_QKV_BIAS);
    ppi_put_linear(ops, model, tokens, hidden, widths->queries, has_bias, kept_input(model));
    ppi_put_linear(ops, model, tokens, hidden, widths->keys, has_bias, 0);
    ppi_put_linear(ops, model, tokens, hidden, widths->values, has_bias, 0);
    struct ppi_op_cost *op = ppi_next_op(ops); /* the three gradients of their input */
    op->pass[INPUT] = (struct ppi_layer_pass){.vector = 3 * tokens * hidden, .bytes = 4 * tokens * hidden * size};
    if (ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_QK_NORM)) {
        ppi_put_norm(ops, model, tokens * widths->heads, widths->key);
        ppi_put_norm(ops, model, tokens * widths->keys / widths->key, widths->key);
    }
}

/* Projections down to the ranks on each device's own rows, and up to its heads. */
static void put_latent(struct ppi_ops *ops, const ppsched_model *model, const struct widths *widths)
{
    const ppsched_transformer *shape = &model->shape;
    double tokens = ppi_tokens(model), rows = ppi_rows(model), size = model->training.activation_bytes;
    double hidden = shape->hidden_size, rank = shape->query_rank, latent = shape->key_value_rank;
    double input = kept_input(model);
    bool has_bias = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_QKV_BIAS);
    bool has_norms = !ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS);
    if (rank > 0) {
        ppi_put_linear(ops, model, rows, hidden, rank, has_bias, input);
        if (has_norms)
            ppi_put_norm(ops, model, rows, rank);
        ppi_put_linear(ops, model, tokens, rank, widths->queries, false, tokens * rank * size);
        input = 0;
    } else {
        ppi_put_linear(ops, model, tokens, hidden, widths->queries, false, input);
        input = 0;
    }
    ppi_put_linear(ops, model, rows, hidden, latent + shape->rope_head_size, has_bias, input);
    if (has_norms)
        ppi_put_norm(ops, model, rows, latent);
    ppi_put_linear(ops, model, tokens, latent, widths->heads * (shape->head_size + widths->value), false,
                   tokens * latent * size);
}

/* --- the scores --- */

/* A product that makes the scores, or uses them. */
static void put_product(struct ppi_ops *ops, double scores, double width, double other, double kept, double size)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = kept;
    op->is_core = true;
    op->pass[FORWARD] = (struct ppi_layer_pass){.matrix = 2 * scores * width, .bytes = (scores + other) * size};
    op->pass[INPUT] = (struct ppi_layer_pass){.matrix = 4 * scores * width, .bytes = (scores + other) * size};
}

static void put_kept_scores(struct ppi_ops *ops, const ppsched_model *model, const struct widths *widths)
{
    double tokens = ppi_tokens(model), size = model->training.activation_bytes;
    double scores = tokens * model->training.sequence_length * widths->heads;
    bool has_dropout = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_DROPOUT);
    put_product(ops, scores, widths->key, 2 * tokens * widths->queries, 0, size);
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->is_core = true;
    op->kept = scores * size;
    op->pass[FORWARD] = (struct ppi_layer_pass){.vector = 5 * scores, .bytes = 2 * scores * size};
    op->pass[INPUT] = (struct ppi_layer_pass){.vector = 8 * scores, .bytes = 2 * scores * size};
    if (has_dropout) {
        op = ppi_next_op(ops);
        op->is_core = true;
        op->kept = scores;
        op->pass[FORWARD] = op->pass[INPUT] = (struct ppi_layer_pass){.vector = scores, .bytes = scores * (2 * size + 1)};
    }
    put_product(ops, scores, widths->value, 2 * tokens * widths->heads * widths->value, has_dropout ? scores * size : 0, size);
}

/* FlashAttention-2 (arXiv 2307.08691): two products forward, five backward; it keeps one number per row. */
static void put_flash(struct ppi_ops *ops, const ppsched_model *model, const struct widths *widths)
{
    double tokens = ppi_tokens(model), size = model->training.activation_bytes;
    double share = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_CAUSAL) ? 0.5 : 1;
    double scores = tokens * model->training.sequence_length * widths->heads * share;
    double out = widths->heads * widths->value;
    double once = tokens * (widths->queries + widths->keys + widths->values + out) * size;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = 4 * tokens * widths->heads;
    op->pass[FORWARD] = (struct ppi_layer_pass){
        .matrix = 2 * scores * (widths->key + widths->value), .vector = 5 * scores, .bytes = once};
    op->pass[INPUT] = (struct ppi_layer_pass){
        .matrix = 2 * scores * (3 * widths->key + 2 * widths->value), .vector = 8 * scores, .bytes = 2 * once};
}

/* Gathers keys and values of the whole sequence from the devices of context parallelism, and returns their gradients. */
static void put_ring(struct ppi_ops *ops, const ppsched_model *model, const struct widths *widths)
{
    double c = model->training.context_parallel;
    if (c == 1)
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    double bytes = c * ppi_tokens(model) * (widths->keys + widths->values) * model->training.activation_bytes;
    op->group = PPI_GROUP_CONTEXT;
    op->pass[FORWARD] = (struct ppi_layer_pass){.sent = bytes, .collective = PPI_GATHER};
    op->pass[INPUT] = (struct ppi_layer_pass){.sent = 2 * bytes, .collective = PPI_GATHER};
}

/* Keeps queries, keys and values for the backward. */
static void keep_heads(struct ppi_ops *ops, const ppsched_model *model, const struct widths *widths)
{
    double all = widths->queries + widths->keys + widths->values;
    ppi_next_op(ops)->kept = ppi_tokens(model) * all * model->training.activation_bytes;
}

void ppi_put_attention(struct ppi_ops *ops, const ppsched_model *model)
{
    struct widths widths = widths_of(model);
    double tokens = ppi_tokens(model), hidden = model->shape.hidden_size, out = widths.heads * widths.value;
    ppi_put_norm(ops, model, ppi_rows(model), hidden);
    ppi_put_opening(ops, model);
    if (model->shape.key_value_rank > 0)
        put_latent(ops, model, &widths);
    else
        put_plain(ops, model, &widths);
    keep_heads(ops, model, &widths);
    put_ring(ops, model, &widths);
    if ((model->training.flags & PPSCHED_TRAINING_FLAG_KEEPS_SCORES) != 0)
        put_kept_scores(ops, model, &widths);
    else
        put_flash(ops, model, &widths);
    ppi_put_linear(ops, model, tokens, out, hidden, ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS),
                   tokens * out * model->training.activation_bytes);
    ppi_put_closing(ops, model);
}
