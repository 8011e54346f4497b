/* SPDX-License-Identifier: Apache-2.0 */
/* Mamba-2 in chunks (arXiv 2405.21060), and Mamba's selective scan (arXiv 2312.00752). */
#include "model/blocks.h"

static const double tokens_of_chunk = 256; /* tokens of a chunk, the default of mamba_ssm's kernels */

/* --- Mamba-2 --- */

/* On one device: channels, and what the groups' inputs and outputs of the state take. */
struct mamba_widths {
    double heads, head, inner, state, group_states;
};

static struct mamba_widths mamba_widths_of(const struct ppi_site *site, const ppsched_block *block)
{
    double t = site->tensor, groups = block->groups / t;
    struct mamba_widths widths = {.heads = block->heads / t, .head = block->head_size, .state = block->state_size};
    widths.inner = block->width / t;
    widths.group_states = (groups < 1 ? 1 : groups) * widths.state;
    return widths;
}

/* For each token: inputs with outputs of the state in a chunk of C tokens for each group, these with the heads' channels,
 * and two products of channels and state. The backward makes the first and the states again: three of the products in a chunk
 * for each forward, and five of channels and state, as the kernels have them. */
static void put_chunks(struct ppi_ops *ops, const struct ppi_site *site, const struct mamba_widths *widths)
{
    double tokens = site->tokens, size = site->size;
    double chunk = site->sequence < tokens_of_chunk ? site->sequence : tokens_of_chunk;
    double matrix = tokens * (2 * chunk * (widths->group_states + widths->inner) + 4 * widths->inner * widths->state);
    double back = tokens * (6 * chunk * (widths->group_states + widths->inner) + 10 * widths->inner * widths->state);
    double once = tokens * (2 * widths->inner + 2 * widths->group_states + widths->heads) * size;
    double states = tokens / chunk * widths->inner * widths->state * size;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->is_scan = true;
    op->parameters = 3 * widths->heads; /* decay, bias of the step, what passes by */
    op->kept = tokens * widths->inner * size;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){
        .matrix = matrix, .vector = 12 * tokens * widths->inner, .bytes = once + 2 * states};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){
        .matrix = back, .vector = 24 * tokens * widths->inner, .bytes = 2 * (once + 2 * states)};
}

/* The convolution's output is computed again in the backward. */
static void put_mamba_2(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    struct mamba_widths widths = mamba_widths_of(site, block);
    double tokens = site->tokens, size = site->size, channels = widths.inner + 2 * widths.group_states;
    bool has_bias = ppi_block_has(block, PPSCHED_BLOCK_FLAG_BIAS);
    ppi_put_linear(ops, site, tokens, site->hidden, widths.inner + channels + widths.heads, has_bias, ppi_input_bytes(site));
    ppi_next_op(ops)->kept = tokens * (widths.inner + widths.heads) * size;
    ppi_put_short_convolution(ops, site, channels, block->convolution,
                              ppi_block_has(block, PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS));
    ppi_put_state(ops, site, widths.inner * widths.state);
    ppi_hand_state(ops, site, widths.inner * widths.state, PPI_STATE_BYTES);
    put_chunks(ops, site, &widths);
    struct ppi_op_cost *norm = ppi_put_norm(ops, site, tokens, widths.inner);
    norm->parameters = ppi_block_has(block, PPSCHED_BLOCK_FLAG_NO_GATE_NORM) ? 0 : widths.inner;
    norm->kept = 0; /* it keeps the scan's output, and the gate with the projection */
    ppi_put_linear(ops, site, tokens, widths.inner, site->hidden, has_bias, tokens * widths.inner * size);
}

/* --- Mamba --- */

/* The scan is 9 operations for each token, channel and state (arXiv 2312.00752, appendix), of vectors; the backward
 * computes the states again. */
static void put_scan(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double inner)
{
    double tokens = site->tokens, state = block->state_size, size = site->size;
    double once = tokens * (4 * inner + 2 * state) * size;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->parameters = inner * state + inner;
    op->kept = 2 * tokens * inner * size; /* step sizes and output */
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = 9 * tokens * inner * state, .bytes = once};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 18 * tokens * inner * state, .bytes = 2 * once};
}

static void put_mamba_1(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    double tokens = site->tokens, size = site->size, inner = block->width / site->tensor, rank = block->time_step_rank;
    double narrow = rank + 2.0 * block->state_size;
    bool has_bias = ppi_block_has(block, PPSCHED_BLOCK_FLAG_BIAS);
    ppi_put_linear(ops, site, tokens, site->hidden, 2 * inner, has_bias, ppi_input_bytes(site));
    ppi_next_op(ops)->kept = tokens * inner * size; /* the gate */
    ppi_put_short_convolution(ops, site, inner, block->convolution, ppi_block_has(block, PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS));
    ppi_put_linear(ops, site, tokens, inner, narrow, false, tokens * inner * size);
    ppi_put_linear(ops, site, tokens, rank, inner, true, tokens * narrow * size);
    ppi_put_state(ops, site, inner * block->state_size);
    ppi_hand_state(ops, site, inner * block->state_size, PPI_STATE_BYTES);
    put_scan(ops, site, block, inner);
    ppi_put_linear(ops, site, tokens, inner, site->hidden, has_bias, tokens * inner * size);
}

void ppi_put_mamba(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_MAMBA_1))
        put_mamba_1(ops, site, block);
    else
        put_mamba_2(ops, site, block);
}
