/* SPDX-License-Identifier: Apache-2.0 */
/* The scores of attention: kept, or fused with what uses them (FlashAttention); windows; keys and values from other devices. */
#include "model/blocks.h"

/* A causal query at position i sees i of the tokens before it, up to `most`: on average over s positions s / 2, or with a
 * window w below s the sum w - w^2 / (2 s). Others see all of them, up to `most`. */
double ppi_visible(const struct ppi_site *site, double most)
{
    double s = site->sequence;
    if (!site->is_causal)
        return most > 0 && most < s ? most : s;
    return most > 0 && most < s ? most - most * most / (2 * s) : 0.5 * s;
}

/* A product that makes the scores, or uses them. */
static void put_product(struct ppi_ops *ops, double scores, double width, double other, double kept, double size)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = kept;
    op->is_core = true;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.matrix = 2 * scores * width, .bytes = (scores + other) * size};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.matrix = 4 * scores * width, .bytes = (scores + other) * size};
}

/* All scores, whatever a mask takes away. */
static void put_kept_scores(struct ppi_ops *ops, const struct ppi_site *site, const struct ppi_widths *widths)
{
    double tokens = site->tokens, size = site->size;
    double scores = tokens * site->sequence * widths->heads;
    put_product(ops, scores, widths->key, 2 * tokens * widths->queries, 0, size);
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->is_core = true;
    op->kept = scores * size;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = 5 * scores, .bytes = 2 * scores * size};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 8 * scores, .bytes = 2 * scores * size};
    if (site->has_dropout) {
        op = ppi_next_op(ops);
        op->is_core = true;
        op->kept = scores;
        op->pass[PPI_FORWARD_PASS] = op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = scores,
                                                                                        .bytes = scores * (2 * size + 1)};
    }
    put_product(ops, scores, widths->value, 2 * tokens * widths->heads * widths->value, site->has_dropout ? scores * size : 0,
                size);
}

/* Bytes of an element that it keeps of its output beside what the projection after it keeps: in 16 bits that is the same
 * tensor, in fewer bits the projection has a copy of its own. */
static double output_bytes(const struct ppi_site *site)
{
    const ppsched_model *model = site->model;
    if (!ppi_keeps_few_bits(model))
        return 0;
    return (model->training.flags & PPSCHED_TRAINING_FLAG_ATTENTION_8BIT) != 0 ? 1 : site->size;
}

/* FlashAttention-2 (arXiv 2307.08691): two products forward, five backward; it keeps its output and one number per row. */
static void put_flash(struct ppi_ops *ops, const struct ppi_site *site, const struct ppi_widths *widths, double visible)
{
    double tokens = site->tokens, size = site->size;
    double scores = tokens * visible * widths->heads;
    double out = widths->heads * widths->value;
    double once = tokens * (widths->queries + widths->keys + widths->values + out) * size;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = 4 * tokens * widths->heads + tokens * out * output_bytes(site);
    op->modules = PPSCHED_RECOMPUTE_MODULE_CORE_ATTENTION;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){
        .matrix = 2 * scores * (widths->key + widths->value), .vector = 5 * scores, .bytes = once};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){
        .matrix = 2 * scores * (3 * widths->key + 2 * widths->value), .vector = 8 * scores, .bytes = 2 * once};
}

void ppi_put_scores(struct ppi_ops *ops, const struct ppi_site *site, const struct ppi_widths *widths, double visible)
{
    if ((site->model->training.flags & PPSCHED_TRAINING_FLAG_KEEPS_SCORES) != 0)
        put_kept_scores(ops, site, widths);
    else
        put_flash(ops, site, widths, visible);
}

/* Gathers `elements` a token of the whole sequence from the devices of context parallelism, and returns their gradients. */
void ppi_put_ring(struct ppi_ops *ops, const struct ppi_site *site, double elements)
{
    double c = site->context;
    if (c == 1)
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    double bytes = c * site->tokens * elements * site->size;
    op->group = PPI_GROUP_CONTEXT;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.sent = bytes, .collective = PPI_GATHER};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.sent = 2 * bytes, .collective = PPI_GATHER};
}

/* One product for each head of the index, ReLU and a weighted sum; the chosen tokens are kept, in 4 bytes each. The
 * gradients of its own loss need the two products of queries and keys. */
void ppi_put_index_scores(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double visible)
{
    double scores = site->tokens * visible * block->index_heads, width = block->index_size;
    double once = site->tokens * (block->index_heads + 1.0) * width * site->size;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = 4 * site->tokens * block->index_tokens;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.matrix = 2 * scores * width, .vector = 3 * scores, .bytes = once};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.matrix = 4 * scores * width, .vector = 3 * scores, .bytes = 2 * once};
}
