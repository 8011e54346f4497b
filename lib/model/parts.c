/* SPDX-License-Identifier: Apache-2.0 */
/* The common ops of blocks. Counts of vector operations per element are calculon's. */
#include "model/blocks.h"

static bool is_sequence_parallel(const struct ppi_site *site)
{
    return (site->model->training.flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
}

double ppi_input_bytes(const struct ppi_site *site)
{
    return site->rows * site->hidden * site->size;
}

struct ppi_op_cost *ppi_next_op(struct ppi_ops *ops)
{
    struct ppi_op_cost *op = &ops->list[ops->count++];
    *op = (struct ppi_op_cost){0};
    return op;
}

/* LayerNorm's operations; RMSNorm has fewer, which is little compared to its bytes. */
struct ppi_op_cost *ppi_put_norm(struct ppi_ops *ops, const struct ppi_site *site, double tokens, double width)
{
    static const double operations[PPI_PASSES] = {9, 14, 7};
    struct ppi_op_cost *op = ppi_next_op(ops);
    double elements = tokens * width;
    op->parameters = site->has_norm_bias ? 2 * width : width;
    op->kept = elements * site->size;
    for (int pass = 0; pass < PPI_PASSES; pass++)
        op->pass[pass] = (struct ppi_layer_pass){.vector = operations[pass] * elements,
                                                 .bytes = (2 * elements + op->parameters) * site->size};
    return op;
}

void ppi_put_layer_norm(struct ppi_ops *ops, const struct ppi_site *site)
{
    struct ppi_op_cost *op = ppi_put_norm(ops, site, site->rows, site->hidden);
    op->is_norm = true;
    op->modules = PPSCHED_RECOMPUTE_MODULE_LAYERNORM;
}

struct ppi_op_cost *ppi_put_linear(struct ppi_ops *ops, const struct ppi_site *site, double tokens, double in, double out,
                                   bool has_bias, double input)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->parameters = in * out + (has_bias ? out : 0);
    op->kept = input;
    op->weight_needs = ((input > 0 ? tokens * in : 0) + tokens * out) * site->size;
    for (int pass = 0; pass < PPI_PASSES; pass++)
        op->pass[pass] = (struct ppi_layer_pass){.matrix = 2 * tokens * in * out,
                                                 .bytes = (tokens * in + tokens * out + in * out) * site->size};
    op->is_linear = true;
    op->target = PPSCHED_ADAPTER_TARGET_OTHER;
    op->tokens = tokens, op->in = in, op->out = out, op->input = input;
    op->pass[PPI_FORWARD_PASS].quantized = tokens * in;
    op->pass[PPI_INPUT_PASS].quantized = tokens * out;
    return op;
}

void ppi_put_activation(struct ppi_ops *ops, const struct ppi_site *site, double elements, bool is_gated)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    double inputs = is_gated ? 2 * elements : elements, size = site->size;
    op->is_activation = true;
    op->kept = inputs * size;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = 8 * elements, .bytes = (inputs + elements) * size};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 13 * elements, .bytes = (is_gated ? 5 : 2) * elements * size};
}

/* --- the communication of tensor parallelism --- */

/* A collective, and its work in memory. */
static struct ppi_layer_pass collective(const struct ppi_site *site, enum ppi_collective kind, bool adds)
{
    double elements = site->tokens * site->hidden, size = site->size;
    double others = 1 - 1.0 / site->tensor;
    if (site->tensor == 1)
        return (struct ppi_layer_pass){0};
    return (struct ppi_layer_pass){
        .vector = adds ? others * elements : 0, .bytes = 2 * elements * size, .sent = elements * size, .collective = kind};
}

/* Without sequence parallelism the gradients are summed; with it the rows are gathered, once more for W, and the gradients
 * reduce-scattered. */
void ppi_put_opening(struct ppi_ops *ops, const struct ppi_site *site)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    if (!is_sequence_parallel(site)) {
        op->pass[PPI_INPUT_PASS] = collective(site, PPI_ALL_REDUCE, true);
        return;
    }
    op->pass[PPI_FORWARD_PASS] = collective(site, PPI_GATHER, false);
    op->pass[PPI_INPUT_PASS] = collective(site, PPI_GATHER, true);
    op->pass[PPI_WEIGHT_PASS] = collective(site, PPI_GATHER, false);
}

static void put_dropout(struct ppi_ops *ops, double elements, double size)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = elements; /* the mask */
    op->pass[PPI_FORWARD_PASS] = op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = elements,
                                                                                    .bytes = elements * (2 * size + 1)};
}

/* The sum over the devices, norms after the block, dropout, and the residual streams. */
void ppi_put_closing(struct ppi_ops *ops, const struct ppi_site *site, uint32_t norms)
{
    double elements = site->rows * site->hidden, size = site->size, all = elements * site->streams;
    struct ppi_op_cost *op = ppi_next_op(ops);
    if (is_sequence_parallel(site)) {
        op->pass[PPI_FORWARD_PASS] = collective(site, PPI_GATHER, true);
        op->pass[PPI_INPUT_PASS] = collective(site, PPI_GATHER, false);
    } else {
        op->pass[PPI_FORWARD_PASS] = collective(site, PPI_ALL_REDUCE, true);
    }
    for (uint32_t i = 0; i < norms; i++)
        ppi_put_layer_norm(ops, site);
    if (site->has_dropout)
        put_dropout(ops, elements, size);
    op = ppi_next_op(ops);
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = all, .bytes = 3 * all * size};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 2 * all, .bytes = 3 * all * size};
    op = ppi_next_op(ops); /* the sum of two gradients where the residual branches off */
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 2 * all, .bytes = 3 * all * size};
}

/* --- scans --- */

/* A depthwise convolution and the SiLU after it; W sums over the tokens for each channel. */
void ppi_put_short_convolution(struct ppi_ops *ops, const struct ppi_site *site, double channels, double width, bool has_bias)
{
    if (width == 0)
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    double elements = site->tokens * channels, size = site->size;
    ppi_hand_state(ops, site, channels * (width - 1), size);
    op->parameters = channels * width + (has_bias ? channels : 0);
    op->kept = elements * size;
    op->weight_needs = 2 * elements * size;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = (2 * width + 4) * elements, .bytes = 2 * elements * size};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = (2 * width + 8) * elements, .bytes = 3 * elements * size};
    op->pass[PPI_WEIGHT_PASS] = (struct ppi_layer_pass){.vector = 2 * width * elements, .bytes = 2 * elements * size};
}

/* Each device runs its part of the sequence from a state of zeros, gathers the states of the parts before, and adds what they
 * bring; the gradients of states go the other way. States are in 4 bytes. */
void ppi_put_state(struct ppi_ops *ops, const struct ppi_site *site, double elements)
{
    if (site->context == 1)
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    double bytes = site->context * site->samples * elements * PPI_STATE_BYTES;
    op->group = PPI_GROUP_CONTEXT;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.sent = bytes, .collective = PPI_GATHER};
    op->pass[PPI_INPUT_PASS] = op->pass[PPI_FORWARD_PASS];
}
