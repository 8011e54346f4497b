/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters beside frozen matrices (LoRA, arXiv 2106.09685): a matrix of m x n gets one of m x r and one of r x n, whose product
 * is added to its output. */
#include "model/blocks.h"

static bool has_flag(const struct ppi_site *site, uint32_t flag)
{
    return (site->model->training.flags & flag) != 0;
}

static double rank_of(const struct ppi_site *site, const struct ppi_op_cost *matrix)
{
    return matrix->is_expert ? site->model->training.adapter_expert_rank : site->model->training.adapter_rank;
}

/* How many of a matrix's parts have an adapter: queries, keys and values are matrices of their own, and the first of a gated
 * MLP is two side by side. */
static double parts_of(const struct ppi_site *site, const struct ppi_op_cost *matrix)
{
    uint32_t both = PPSCHED_ADAPTER_TARGET_GATE | PPSCHED_ADAPTER_TARGET_UP;
    uint32_t found = matrix->target & site->model->training.adapter_targets;
    return found == 0 ? 0 : found == both ? 2 : 1;
}

/* A matrix of the adapter. With `adds` its product is added to what is there. */
static void put_matrix(struct ppi_ops *ops, const struct ppi_site *site, const struct ppi_op_cost *beside, double in,
                       double out, bool adds)
{
    double tokens = beside->tokens, pieces = beside->pieces > 0 ? beside->pieces : 1;
    struct ppi_op_cost *op = ppi_put_linear(ops, site, tokens, in, out, false, 0);
    double weights = op->parameters;
    op->parameters *= beside->is_expert ? pieces : 1;
    op->pieces = beside->pieces;
    op->is_expert = beside->is_expert;
    op->is_linear = false;
    op->is_adapter = true;
    op->modules = beside->modules;
    op->target = 0;
    for (int pass = 0; pass < PPI_PASSES; pass++) {
        op->pass[pass].quantized = 0;
        op->pass[pass].bytes += beside->is_expert ? (pieces - 1) * weights * site->size : 0;
    }
    int summed = adds ? PPI_FORWARD_PASS : PPI_INPUT_PASS; /* outputs, or the gradients of the common input */
    double elements = tokens * (adds ? out : in);
    op->pass[summed].vector += 2 * elements;
    op->pass[summed].bytes += 3 * elements * site->size;
}

/* `shares`: its first matrix is that of the adapter before it. */
static void put_adapter(struct ppi_ops *ops, const struct ppi_site *site, const struct ppi_op_cost *matrix, bool shares)
{
    bool is_fused = has_flag(site, PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS);
    double parts = parts_of(site, matrix), rank = rank_of(site, matrix), rows = matrix->tokens;
    double firsts = shares ? 0 : is_fused ? 1 : parts, wide = matrix->out;
    if (matrix->target == (PPSCHED_ADAPTER_TARGET_GATE | PPSCHED_ADAPTER_TARGET_UP))
        wide *= parts / 2;
    if (firsts > 0)
        put_matrix(ops, site, matrix, matrix->in, firsts * rank, false);
    put_matrix(ops, site, matrix, rank, wide, true);
    struct ppi_op_cost *op = &ops->list[ops->count - 1];
    op->kept = rows * firsts * rank * site->size;
    if (has_flag(site, PPSCHED_TRAINING_FLAG_ADAPTER_DROPOUT))
        op->kept += rows * firsts * matrix->in * (site->size + 1);
    op->weight_needs += op->kept;
}

/* Whether this op keeps its input for an adapter: its own, or one of those after it that read the same. */
static bool is_input_needed(const struct ppi_ops *ops, const struct ppi_site *site, uint32_t index, uint32_t count)
{
    const struct ppi_op_cost *own = &ops->list[index];
    bool is_copied = has_flag(site, PPSCHED_TRAINING_FLAG_ADAPTER_DROPOUT), is_needed = parts_of(site, own) > 0;
    for (uint32_t i = index + 1; i < count && !is_needed; i++)
        is_needed = ops->list[i].input == 0 && ops->list[i].in == own->in && parts_of(site, &ops->list[i]) > 0;
    return is_needed && !is_copied;
}

static bool is_of_qkv(const struct ppi_op_cost *op)
{
    return op->target == PPSCHED_ADAPTER_TARGET_QUERY || op->target == PPSCHED_ADAPTER_TARGET_KEY ||
           op->target == PPSCHED_ADAPTER_TARGET_VALUE;
}

void ppi_put_adapters(struct ppi_ops *ops, const struct ppi_site *site)
{
    uint32_t count = ops->count;
    bool is_fused = has_flag(site, PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS);
    const struct ppi_op_cost *last = NULL; /* of queries, keys and values */
    for (uint32_t i = 0; i < count; i++) {
        struct ppi_op_cost *op = &ops->list[i];
        op->kept -= op->input > 0 && !is_input_needed(ops, site, i, count) ? op->input : 0;
        op->weight_needs = parts_of(site, op) > 0 ? op->weight_needs : 0;
        if (parts_of(site, op) == 0)
            continue;
        put_adapter(ops, site, op, is_fused && last != NULL && is_of_qkv(op) && last->in == op->in && op->input == 0);
        last = is_of_qkv(op) ? op : last;
    }
}
