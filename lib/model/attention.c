/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: plain or latent queries, keys and values, an index that selects tokens, gates. */
#include "model/blocks.h"

static bool is_latent(const ppsched_block *block)
{
    return block->kind == PPSCHED_BLOCK_KIND_LATENT_ATTENTION;
}

static struct ppi_widths widths_of(const struct ppi_site *site, const ppsched_block *block)
{
    double t = site->tensor, kv_heads = (double)block->key_value_heads / t;
    struct ppi_widths widths = {.heads = (double)block->heads / t, .key = block->head_size, .value = block->value_size};
    if (is_latent(block)) {
        widths.key += block->rope_size;
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

static void put_qk_norm(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double heads,
                        double width)
{
    if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_QK_NORM_ALL))
        ppi_put_norm(ops, site, site->tokens, heads * width);
    else if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_QK_NORM))
        ppi_put_norm(ops, site, site->tokens * heads, width);
    else
        return;
    if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_FREE_NORMS))
        ops->list[ops->count - 1].parameters = 0;
}

/* Replicated key-value heads count their parameters on each device. */
static void put_plain(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block,
                      const struct ppi_widths *widths)
{
    double tokens = site->tokens, hidden = site->hidden, size = site->size;
    bool has_bias = ppi_block_has(block, PPSCHED_BLOCK_FLAG_BIAS),
         has_keys = !ppi_block_has(block, PPSCHED_BLOCK_FLAG_SHARED_KEYS);
    bool has_values = has_keys && !ppi_block_has(block, PPSCHED_BLOCK_FLAG_VALUE_IS_KEY);
    double inputs = 1 + has_keys + has_values;
    ppi_put_linear(ops, site, tokens, hidden, widths->queries, has_bias, ppi_input_bytes(site))->target =
        PPSCHED_ADAPTER_TARGET_QUERY;
    if (has_keys)
        ppi_put_linear(ops, site, tokens, hidden, widths->keys, has_bias, 0)->target = PPSCHED_ADAPTER_TARGET_KEY;
    if (has_values)
        ppi_put_linear(ops, site, tokens, hidden, widths->values, has_bias, 0)->target = PPSCHED_ADAPTER_TARGET_VALUE;
    struct ppi_op_cost *op = ppi_next_op(ops); /* the gradients of their input */
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = inputs * tokens * hidden,
                                                       .bytes = (inputs + 1) * tokens * hidden * size};
    put_qk_norm(ops, site, block, widths->heads, widths->key);
    if (has_keys)
        put_qk_norm(ops, site, block, widths->keys / widths->key, widths->key);
}

static void put_up(struct ppi_ops *ops, const struct ppi_site *site, double rank, double out, uint32_t target)
{
    struct ppi_op_cost *op = ppi_put_linear(ops, site, site->tokens, rank, out, false, site->tokens * rank * site->size);
    op->modules = PPSCHED_RECOMPUTE_MODULE_MLA_UP_PROJECTION;
    op->target = target;
}

/* Projections down to the ranks on each device's own rows, and up to its heads. */
static void put_latent(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block,
                       const struct ppi_widths *widths)
{
    double tokens = site->tokens, rows = site->rows;
    double hidden = site->hidden, rank = block->query_rank, latent = block->key_value_rank;
    double input = ppi_input_bytes(site);
    bool has_bias = ppi_block_has(block, PPSCHED_BLOCK_FLAG_BIAS);
    bool has_norms = !ppi_block_has(block, PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS);
    if (rank > 0) {
        ppi_put_linear(ops, site, rows, hidden, rank, has_bias, input)->target = PPSCHED_ADAPTER_TARGET_QUERY;
        if (has_norms)
            ppi_put_norm(ops, site, rows, rank);
        put_up(ops, site, rank, widths->queries, PPSCHED_ADAPTER_TARGET_QUERY);
    } else {
        ppi_put_linear(ops, site, tokens, hidden, widths->queries, false, input)->target = PPSCHED_ADAPTER_TARGET_QUERY;
    }
    ppi_put_linear(ops, site, rows, hidden, latent + block->rope_size, has_bias, 0)->target = PPSCHED_ADAPTER_TARGET_KEY;
    if (has_norms)
        ppi_put_norm(ops, site, rows, latent);
    put_up(ops, site, latent, widths->heads * (block->head_size + widths->value), PPSCHED_ADAPTER_TARGET_VALUE);
}

/* --- the index --- */

static bool has_own_index(const ppsched_block *block)
{
    return block->index_heads > 0 && !ppi_block_has(block, PPSCHED_BLOCK_FLAG_SHARED_INDEX);
}

/* Each device has the whole index. Latent attention makes its queries from the rank of queries, and has a weight for each
 * head of the index and a LayerNorm of its keys; plain attention has norms of queries and keys. */
static void put_index(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    double tokens = site->tokens, hidden = site->hidden, width = block->index_size, heads = block->index_heads;
    if (is_latent(block)) {
        ppi_put_linear(ops, site, tokens, block->query_rank, heads * width, false, 0);
        ppi_put_linear(ops, site, tokens, hidden, heads, false, 0);
        ppi_put_linear(ops, site, tokens, hidden, width, false, 0);
        ppi_put_norm(ops, site, tokens, width)->parameters = 2 * width;
    } else {
        ppi_put_linear(ops, site, tokens, hidden, heads * width, false, 0);
        ppi_put_linear(ops, site, tokens, hidden, width, false, 0);
        ppi_put_norm(ops, site, tokens * heads, width);
        ppi_put_norm(ops, site, tokens, width);
    }
    ppi_next_op(ops)->kept = tokens * ((heads + 1) * width + (is_latent(block) ? heads : 0)) * site->size;
    ppi_put_index_scores(ops, site, block, ppi_visible(site, 0));
}

/* --- all --- */

/* Of the sequence, of the window, of the chunk on average, or of what the index selects. */
static double visible_of(const struct ppi_site *site, const ppsched_block *block)
{
    double s = site->sequence, most = block->window, chunk = block->chunk;
    if (block->index_heads > 0 && (most == 0 || block->index_tokens < most))
        most = block->index_tokens;
    double visible = ppi_visible(site, most);
    if (chunk == 0 || chunk >= s)
        return visible;
    double whole = (double)(uint64_t)(s / chunk), rest = s - whole * chunk;
    double in_chunks = (whole * chunk * chunk + rest * rest) / s * (site->is_causal ? 0.5 : 1);
    return in_chunks < visible ? in_chunks : visible;
}

/* Keeps queries, keys and values for the backward; those of another layer are kept there. Latent ones are what the projections
 * up make, and are made again with these. */
static void keep_heads(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block,
                       const struct ppi_widths *widths)
{
    double all = widths->queries + widths->keys + widths->values;
    if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_SHARED_KEYS))
        all = widths->queries;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = site->tokens * all * site->size;
    op->modules = is_latent(block) ? PPSCHED_RECOMPUTE_MODULE_MLA_UP_PROJECTION : 0;
}

static void put_gate(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block,
                     const struct ppi_widths *widths)
{
    double out = widths->heads * widths->value;
    bool is_full = ppi_block_has(block, PPSCHED_BLOCK_FLAG_OUTPUT_GATE);
    if (!is_full && !ppi_block_has(block, PPSCHED_BLOCK_FLAG_HEAD_GATE))
        return;
    ppi_put_linear(ops, site, site->tokens, site->hidden, is_full ? out : widths->heads, false, 0);
    ppi_put_activation(ops, site, site->tokens * out, true);
}

/* Keys and values that later slices read; with a window or chunks only the last ones. */
static void hand_keys(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block,
                      const struct ppi_widths *widths)
{
    double most = block->window > 0 ? block->window : block->chunk;
    double share = most > 0 && most < site->sequence ? most / site->sequence : 1;
    if (!ppi_block_has(block, PPSCHED_BLOCK_FLAG_SHARED_KEYS))
        ops->key_values += share * site->tokens * (widths->keys + widths->values) * site->size;
}

void ppi_put_attention(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    struct ppi_widths widths = widths_of(site, block);
    double tokens = site->tokens, out = widths.heads * widths.value;
    if (is_latent(block))
        put_latent(ops, site, block, &widths);
    else
        put_plain(ops, site, block, &widths);
    if (has_own_index(block))
        put_index(ops, site, block);
    keep_heads(ops, site, block, &widths);
    ppi_put_ring(ops, site, widths.keys + widths.values);
    hand_keys(ops, site, block, &widths);
    ppi_put_scores(ops, site, &widths, visible_of(site, block));
    if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_SINKS))
        ops->list[ops->count - 1].parameters += widths.heads;
    put_gate(ops, site, block, &widths);
    ppi_put_linear(ops, site, tokens, out, site->hidden, ppi_block_has(block, PPSCHED_BLOCK_FLAG_OUTPUT_BIAS),
                   tokens * out * site->size)
        ->target = PPSCHED_ADAPTER_TARGET_OUTPUT;
}
