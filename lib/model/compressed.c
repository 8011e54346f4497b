/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed attention (DeepSeek-V4): queries of a low rank see a window of tokens, and earlier ones that are compressed to one
 * for each `ratio`, all of them or those that an index selects. One key, which is the value too, serves all heads. */
#include "model/blocks.h"

static bool has_index(const ppsched_block *block)
{
    return block->index_heads > 0;
}

/* A compressor of `width`: values and weights for each token, a bias for each position, a norm. With an index neighbouring
 * groups overlap, so that it is twice as wide. */
static void put_compressor(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double width)
{
    double tokens = site->tokens, wide = (has_index(block) ? 2 : 1) * width;
    ppi_put_linear(ops, site, tokens, site->hidden, wide, false, 0);
    ppi_put_linear(ops, site, tokens, site->hidden, wide, false, 0);
    ops->list[ops->count - 1].parameters += block->ratio * wide;
    ppi_put_activation(ops, site, tokens * wide, true);
    ppi_put_norm(ops, site, tokens / block->ratio, width);
}

static void put_compressed_index(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    double tokens = site->tokens, width = block->index_size, heads = block->index_heads;
    put_compressor(ops, site, block, width);
    ppi_put_linear(ops, site, tokens, block->query_rank, heads * width, false, 0);
    ppi_put_linear(ops, site, tokens, site->hidden, heads, false, 0);
    ppi_next_op(ops)->kept = tokens * ((heads + 1 / (double)block->ratio) * width + heads) * site->size;
    ppi_put_index_scores(ops, site, block, ppi_visible(site, 0) / block->ratio);
}

/* In the window, and of the compressed ones. */
static double visible_of_compressed(const struct ppi_site *site, const ppsched_block *block)
{
    double window = ppi_visible(site, block->window);
    if (block->ratio == 0)
        return window;
    double ratio = block->ratio, most = has_index(block) ? block->index_tokens * ratio : 0;
    return window + ppi_visible(site, most) / ratio;
}

/* The heads' values of a group become `output_rank`, and those of all groups h. */
static void put_grouped_output(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double values)
{
    double tokens = site->tokens, groups = block->output_groups / site->tensor, rank = block->output_rank;
    struct ppi_op_cost *op = ppi_put_linear(ops, site, tokens, values / groups, groups * rank, false,
                                            tokens * values * site->size);
    op->target = PPSCHED_ADAPTER_TARGET_OUTPUT;
    op->weight_needs = tokens * (values + groups * rank) * site->size;
    op->pieces = groups;
    for (int pass = 0; pass < PPI_PASSES; pass++) /* each group reads its own part */
        op->pass[pass].bytes += tokens * (values - values / groups) * site->size;
    ppi_put_linear(ops, site, tokens, groups * rank, site->hidden, false, tokens * groups * rank * site->size)->target =
        PPSCHED_ADAPTER_TARGET_OUTPUT;
}

void ppi_put_compressed(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    double tokens = site->tokens, rows = site->rows, size = site->size, rank = block->query_rank, width = block->head_size;
    struct ppi_widths widths = {.heads = block->heads / site->tensor, .key = width, .value = width, .keys = width};
    widths.queries = widths.heads * width;
    ppi_put_linear(ops, site, rows, site->hidden, rank, false, ppi_input_bytes(site))->target = PPSCHED_ADAPTER_TARGET_QUERY;
    ppi_put_norm(ops, site, rows, rank);
    ppi_put_linear(ops, site, tokens, rank, widths.queries, false, tokens * rank * size)->target = PPSCHED_ADAPTER_TARGET_QUERY;
    ppi_put_linear(ops, site, tokens, site->hidden, width, false, 0)->target = PPSCHED_ADAPTER_TARGET_KEY;
    ppi_put_norm(ops, site, tokens, width);
    if (block->ratio > 0)
        put_compressor(ops, site, block, width);
    if (block->ratio > 0 && has_index(block))
        put_compressed_index(ops, site, block);
    ppi_next_op(ops)->kept = tokens * (widths.queries + width + (block->ratio > 0 ? width / block->ratio : 0)) * size;
    double compressed = block->ratio > 0 ? width / block->ratio : 0, window = block->window;
    ppi_put_ring(ops, site, block->ratio > 0 ? compressed : width);
    double last = window < site->sequence ? window / site->sequence : 1; /* what later slices read of this one */
    ops->key_values += tokens * (last * width + compressed) * size;
    ppi_put_scores(ops, site, &widths, visible_of_compressed(site, block));
    ops->list[ops->count - 1].parameters += widths.heads; /* sinks */
    put_grouped_output(ops, site, block, widths.queries);
}
