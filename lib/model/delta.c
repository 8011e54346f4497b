/* SPDX-License-Identifier: Apache-2.0 */
/* The gated delta rule in chunks (arXiv 2412.06464), and KDA (arXiv 2510.26692), whose decay is one for each channel. */
#include "model/blocks.h"

static const double chunk_of_kernel = 64; /* tokens of a chunk in flash-linear-attention's kernels */

/* On one device. */
struct delta_widths {
    double heads, key, value, keys, values; /* keys and values: of all heads */
};

static struct delta_widths delta_widths_of(const struct ppi_site *site, const ppsched_block *block)
{
    double t = site->tensor;
    struct delta_widths widths = {.heads = block->heads / t, .key = block->head_size, .value = block->value_size};
    widths.keys = block->key_value_heads / t * widths.key;
    widths.values = widths.heads * widths.value;
    return widths;
}

/* A matrix in two parts, the first as narrow as the rank; or in one. */
static void put_low_rank(struct ppi_ops *ops, const struct ppi_site *site, double rank, double out)
{
    double tokens = site->tokens;
    if (rank == 0) {
        ppi_put_linear(ops, site, tokens, site->hidden, out, false, 0);
        return;
    }
    ppi_put_linear(ops, site, tokens, site->hidden, rank, false, 0);
    ppi_put_linear(ops, site, tokens, rank, out, false, tokens * rank * site->size);
}

/* Queries, keys and values with their convolution; decay, step size and output gate. */
static void put_inputs(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block,
                       const struct delta_widths *widths)
{
    double tokens = site->tokens, all = 2 * widths->keys + widths->values;
    bool is_by_channel = block->decay_rank > 0;
    ppi_put_linear(ops, site, tokens, site->hidden, all, false, ppi_input_bytes(site));
    ppi_put_short_convolution(ops, site, all, block->convolution, false);
    put_low_rank(ops, site, block->gate_rank, widths->values);
    ppi_put_linear(ops, site, tokens, site->hidden, widths->heads, false, 0);
    put_low_rank(ops, site, block->decay_rank, is_by_channel ? widths->keys : widths->heads);
    struct ppi_op_cost *op = ppi_next_op(ops); /* decay from a base for each head and a bias */
    double decays = tokens * (is_by_channel ? widths->keys : widths->heads);
    op->parameters = widths->heads + (is_by_channel ? widths->keys : widths->heads);
    op->kept = (is_by_channel ? site->size : 4) * decays + tokens * widths->heads * site->size;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = 8 * decays, .bytes = 6 * decays};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 13 * decays, .bytes = 10 * decays};
}

/* For each token and head, with chunks of C tokens, keys of k and values of v: three products of C x k (keys with keys,
 * with the inverse, with queries), two of C x v, the inverse of a triangle of C, and three of k x v with the state. It keeps
 * queries, keys, values and the inverse, KDA also the products of queries and keys. The backward makes all else again: in all
 * nine products of C x k (KDA: seven), five of C x v, two of C x C and eight of k x v, as the kernels have them. */
static void put_rule(struct ppi_ops *ops, const struct ppi_site *site, const struct delta_widths *widths, bool is_by_channel)
{
    double tokens = site->tokens, size = site->size, k = widths->key, v = widths->value;
    double chunk = site->sequence < chunk_of_kernel ? site->sequence : chunk_of_kernel;
    double matrix = tokens * widths->heads * (2 * chunk * (3 * k + 2 * v) + 2 * chunk * chunk / 3 + 6 * k * v);
    double back = tokens * widths->heads * (2 * chunk * ((is_by_channel ? 7 : 9) * k + 5 * v) + 4 * chunk * chunk + 16 * k * v);
    double once = tokens * (2 * widths->keys + 2 * widths->values + widths->heads * chunk) * size;
    double states = tokens / chunk * widths->heads * k * v * size;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = tokens * (2 * widths->keys + widths->values + (is_by_channel ? 2 : 1) * widths->heads * chunk) * size;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.matrix = matrix, .bytes = once + 2 * states};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.matrix = back, .bytes = 2 * (once + 2 * states)};
}

void ppi_put_delta(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    struct delta_widths widths = delta_widths_of(site, block);
    double tokens = site->tokens;
    put_inputs(ops, site, block, &widths);
    ppi_put_state(ops, site, widths.heads * widths.key * widths.value);
    ppi_hand_state(ops, site, widths.heads * widths.key * widths.value, PPI_STATE_BYTES);
    put_rule(ops, site, &widths, block->decay_rank > 0);
    struct ppi_op_cost *norm = ppi_put_norm(ops, site, tokens * widths.heads, widths.value);
    norm->parameters = widths.value;
    norm->kept = 0; /* one kernel with the gate, which keeps both inputs */
    ppi_put_activation(ops, site, tokens * widths.values, true);
    ppi_put_linear(ops, site, tokens, widths.values, site->hidden, false, tokens * widths.values * site->size);
}
