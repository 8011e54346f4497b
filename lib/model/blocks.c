/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of each row, in order: blocks with what opens and closes them, embedding, head, MTP and towers. */
#include "model/blocks.h"

/* --- blocks --- */

static void put_inner(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    static void (*const put[])(struct ppi_ops *, const struct ppi_site *, const ppsched_block *) = {
        [PPSCHED_BLOCK_KIND_ATTENTION] = ppi_put_attention,
        [PPSCHED_BLOCK_KIND_LATENT_ATTENTION] = ppi_put_attention,
        [PPSCHED_BLOCK_KIND_DELTA] = ppi_put_delta,
        [PPSCHED_BLOCK_KIND_MAMBA] = ppi_put_mamba,
        [PPSCHED_BLOCK_KIND_CONVOLUTION] = ppi_put_convolution,
        [PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION] = ppi_put_compressed,
        [PPSCHED_BLOCK_KIND_MLP] = ppi_put_mlp,
        [PPSCHED_BLOCK_KIND_EXPERTS] = ppi_put_experts,
    };
    if (block->kind == PPSCHED_BLOCK_KIND_LINEAR)
        ppi_put_linear(ops, site, site->tokens, site->hidden, site->hidden / site->tensor, false, ppi_input_bytes(site));
    else
        put[block->kind](ops, site, block);
    if (block->extra_parameters > 0)
        ppi_next_op(ops)->parameters = (double)block->extra_parameters;
}

/* Matrices of scans, by the last of them and the others; `first`: where the block's ops begin. */
static void mark_scan(struct ppi_ops *ops, uint32_t first)
{
    uint32_t last = 0;
    for (uint32_t i = first; i < ops->count; i++)
        if (ops->list[i].target != 0) {
            ops->list[i].target = PPSCHED_ADAPTER_TARGET_SCAN_INPUT;
            last = i;
        }
    ops->list[last].target = PPSCHED_ADAPTER_TARGET_SCAN_OUTPUT;
}

/* Blocks side by side read one input, and their sum is closed once. Routed experts open and close by themselves; what they
 * close here is the shared ones'. */
static void put_block(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_layer_kind *kind, uint32_t index)
{
    const ppsched_block *block = kind->blocks[index];
    bool is_parallel = ppi_block_has(block, PPSCHED_BLOCK_FLAG_PARALLEL);
    bool goes_on = index + 1 < kind->block_count && ppi_block_has(kind->blocks[index + 1], PPSCHED_BLOCK_FLAG_PARALLEL);
    uint32_t before = block->norms > 0 && !ppi_block_has(block, PPSCHED_BLOCK_FLAG_NO_NORM), after = block->norms - before;
    if (before > 0)
        ppi_put_layer_norm(ops, site);
    if (!is_parallel && block->kind != PPSCHED_BLOCK_KIND_EXPERTS)
        ppi_put_opening(ops, site);
    uint32_t first = ops->count;
    put_inner(ops, site, block);
    if (block->kind == PPSCHED_BLOCK_KIND_DELTA || block->kind == PPSCHED_BLOCK_KIND_MAMBA ||
        block->kind == PPSCHED_BLOCK_KIND_CONVOLUTION)
        mark_scan(ops, first);
    if (!goes_on) {
        ppi_put_closing(ops, site, after);
        return;
    }
    for (uint32_t i = 0; i < after; i++)
        ppi_put_layer_norm(ops, site);
    double elements = site->tokens * site->hidden;
    struct ppi_op_cost *op = ppi_next_op(ops); /* the sum with the next block's */
    op->pass[PPI_FORWARD_PASS] = op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = elements,
                                                                                    .bytes = 3 * elements * site->size};
}

/* --- embedding and head --- */

static double width_of_vocabulary(const ppsched_model *model)
{
    return (double)model->shape->vocabulary_size / model->training.tensor_parallel;
}

static void put_embedding(struct ppi_ops *ops, const struct ppi_site *site)
{
    const ppsched_model *model = site->model;
    double hidden = site->hidden, size = site->size, tokens = site->tokens;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->parameters = width_of_vocabulary(model) * hidden + (double)model->shape->positions * hidden;
    op->kept = 8 * tokens + (site->has_dropout ? site->rows * hidden : 0);
    op->weight_needs = site->rows * hidden * size;
    op->pass[PPI_FORWARD_PASS].bytes = 2 * tokens * hidden * size;
    op->pass[PPI_WEIGHT_PASS].bytes = 3 * tokens * hidden * size;
    if (model->shape->extra_parameters > 0)
        ppi_next_op(ops)->parameters = (double)model->shape->extra_parameters;
    if (model->training.tensor_parallel > 1) { /* each device looks up its own rows of the table */
        op = ppi_next_op(ops);
        bool scatters = (model->training.flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
        op->pass[PPI_FORWARD_PASS].sent = tokens * hidden * size;
        op->pass[PPI_FORWARD_PASS].collective = scatters ? PPI_GATHER : PPI_ALL_REDUCE;
    }
}

/* Logits, and the loss on them, in 4 bytes each. */
static void put_output(struct ppi_ops *ops, const struct ppi_site *site, bool is_head)
{
    double hidden = site->hidden, size = site->size, tokens = site->tokens;
    double width = width_of_vocabulary(site->model), logits = tokens * width;
    ppi_put_opening(ops, site);
    struct ppi_op_cost *op = ppi_put_linear(ops, site, tokens, hidden, width, false, ppi_input_bytes(site));
    op->is_linear = false;
    op->target = is_head ? PPSCHED_ADAPTER_TARGET_HEAD : 0;
    op->pass[PPI_FORWARD_PASS].quantized = op->pass[PPI_INPUT_PASS].quantized = 0;
    if (!is_head || ppi_model_has_flag(site->model, PPSCHED_DESCRIPTION_FLAG_TIED))
        op->parameters = 0;
    op = ppi_next_op(ops);
    op->kept = 4 * logits;
    op->pass[PPI_FORWARD_PASS] = (struct ppi_layer_pass){.vector = 5 * logits, .bytes = 2 * logits * (size + 4)};
    op->pass[PPI_INPUT_PASS] = (struct ppi_layer_pass){.vector = 2 * logits, .bytes = logits * (size + 4)};
}

static void put_head(struct ppi_ops *ops, const struct ppi_site *site)
{
    if (!ppi_model_has_flag(site->model, PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM))
        ppi_put_layer_norm(ops, site);
    put_output(ops, site, true);
}

/* The embedding of the next token and the hidden state, both normed, projected to h. */
static void put_mtp_input(struct ppi_ops *ops, const struct ppi_site *site)
{
    ppi_put_layer_norm(ops, site);
    ppi_put_layer_norm(ops, site);
    ppi_put_linear(ops, site, site->rows, 2 * site->hidden, site->hidden, false, 2 * site->rows * site->hidden * site->size);
}

/* Its logits, by the head's matrix. */
static void put_mtp_output(struct ppi_ops *ops, const struct ppi_site *site)
{
    ppi_put_layer_norm(ops, site);
    put_output(ops, site, false);
}

/* --- parts --- */

/* Parts in front of the blocks of a row. */
static uint32_t parts_before(const struct ppi_model_row *row)
{
    return row->role == PPSCHED_MODEL_ROLE_MTP;
}

static uint32_t blocks_of(const struct ppi_model_row *row)
{
    return row->kind == NULL ? 0 : row->kind->block_count * (row->tower != NULL ? row->tower->layers : 1);
}

const ppsched_block *ppi_block_of_part(const ppsched_model *model, uint32_t row, uint32_t part)
{
    const struct ppi_model_row *own = &model->rows[row];
    uint32_t before = parts_before(own);
    return part >= before && part - before < blocks_of(own) ? own->kind->blocks[(part - before) % own->kind->block_count]
                                                            : NULL;
}

/* What stands alone: before the blocks, after them, or in place of them. */
static bool put_other(struct ppi_ops *ops, const struct ppi_site *site, const struct ppi_model_row *row, uint32_t part)
{
    bool is_last = part == parts_before(row) + blocks_of(row);
    if (row->role == PPSCHED_MODEL_ROLE_EMBEDDING && is_last)
        put_embedding(ops, site);
    else if (row->role == PPSCHED_MODEL_ROLE_HEAD && is_last)
        put_head(ops, site);
    else if (row->role == PPSCHED_MODEL_ROLE_MTP && part == 0)
        put_mtp_input(ops, site);
    else if (row->role == PPSCHED_MODEL_ROLE_MTP && is_last)
        put_mtp_output(ops, site);
    else if (row->role == PPSCHED_MODEL_ROLE_TOWER && is_last)
        ppi_next_op(ops)->parameters = (double)row->tower->extra_parameters;
    else
        return false;
    return true;
}

/* Megatron-LM's names of what it recomputes, by the block. */
static void mark_modules(struct ppi_ops *ops, const ppsched_block *block)
{
    uint32_t whole = block->kind == PPSCHED_BLOCK_KIND_MLP       ? PPSCHED_RECOMPUTE_MODULE_MLP
                     : block->kind == PPSCHED_BLOCK_KIND_EXPERTS ? PPSCHED_RECOMPUTE_MODULE_MOE
                                                                 : 0;
    for (uint32_t i = 0; i < ops->count; i++) {
        struct ppi_op_cost *op = &ops->list[i];
        if (op->is_norm)
            continue;
        op->modules |= whole | (op->is_core ? PPSCHED_RECOMPUTE_MODULE_CORE_ATTENTION : 0);
        if (whole == PPSCHED_RECOMPUTE_MODULE_MOE && op->is_activation)
            op->modules |= PPSCHED_RECOMPUTE_MODULE_MOE_ACTIVATION;
    }
}

bool ppi_ops_of_part(struct ppi_ops *out, const struct ppi_site *site, uint32_t row, uint32_t part)
{
    const ppsched_model *model = site->model;
    const struct ppi_model_row *own = &model->rows[row];
    const ppsched_block *block = ppi_block_of_part(model, row, part);
    out->count = 0;
    out->state = out->key_values = 0;
    if (block == NULL && !put_other(out, site, own, part))
        return false;
    if (block != NULL) {
        put_block(out, site, own->kind, (part - parts_before(own)) % own->kind->block_count);
        if (model->training.recompute_modules != 0)
            mark_modules(out, block);
    }
    if (model->training.adapter_rank > 0 && !(own->tower != NULL && own->tower->is_frozen))
        ppi_put_adapters(out, site);
    return true;
}
