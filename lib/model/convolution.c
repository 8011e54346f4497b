/* SPDX-License-Identifier: Apache-2.0 */
/* A gated short convolution of the hidden channels (LFM2): gate, convolve, gate. */
#include "model/blocks.h"

/* The product with a gate as wide. */
static void put_gate_product(struct ppi_ops *ops, const struct ppi_site *site, double elements)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = 2 * elements * site->size;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = elements, .bytes = 3 * elements * site->size};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 2 * elements, .bytes = 5 * elements * site->size};
}

void ppi_put_convolution(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    double tokens = site->tokens, channels = site->hidden / site->tensor, width = block->convolution;
    bool has_bias = ppi_block_has(block, PPSCHED_BLOCK_FLAG_BIAS);
    ppi_put_linear(ops, site, tokens, site->hidden, 3 * channels, has_bias, ppi_input_bytes(site));
    put_gate_product(ops, site, tokens * channels);
    ppi_put_state(ops, site, channels * (width - 1));
    ppi_put_short_convolution(ops, site, channels, width, has_bias);
    put_gate_product(ops, site, tokens * channels);
    ppi_put_linear(ops, site, tokens, channels, site->hidden, has_bias, tokens * channels * site->size);
}
