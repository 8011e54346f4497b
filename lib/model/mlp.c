/* SPDX-License-Identifier: Apache-2.0 */
/* Feed-forwards: a dense MLP, or experts. */
#include "model/blocks.h"

/* The matrices of one MLP from and to `outer`, `width` wide on this device; `input` bytes of the input are kept. */
static void put_matrices(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double tokens,
                         double outer, double width, double input)
{
    bool has_bias = ppi_block_has(block, PPSCHED_BLOCK_FLAG_BIAS), is_gated = ppi_block_has(block, PPSCHED_BLOCK_FLAG_GATED);
    ppi_put_linear(ops, site, tokens, outer, is_gated ? 2 * width : width, has_bias, input)->target =
        PPSCHED_ADAPTER_TARGET_UP | (is_gated ? PPSCHED_ADAPTER_TARGET_GATE : 0);
    ppi_put_activation(ops, site, tokens * width, is_gated);
    ppi_put_linear(ops, site, tokens, width, outer, has_bias, tokens * width * site->size)->target =
        PPSCHED_ADAPTER_TARGET_DOWN;
}

void ppi_put_mlp(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    put_matrices(ops, site, block, site->tokens, site->hidden, (double)block->width / site->tensor, ppi_input_bytes(site));
}

/* --- experts --- */

/* Scores of all experts for each row, in 4 bytes; never in 8 bits. */
static void put_router(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    double experts = (double)block->experts + block->idle_experts, rows = site->rows;
    struct ppi_op_cost *op = ppi_put_linear(ops, site, rows, site->hidden, experts,
                                            ppi_block_has(block, PPSCHED_BLOCK_FLAG_ROUTER_BIAS), ppi_input_bytes(site));
    op->is_linear = false;
    op->pass[PPI_FORWARD_PASS].quantized = op->pass[PPI_INPUT_PASS].quantized = 0;
    op->kept += rows * experts * 4;
    op->target = PPSCHED_ADAPTER_TARGET_ROUTER;
    op->pass[PPI_FORWARD_PASS].vector = op->pass[PPI_INPUT_PASS].vector = 5 * rows * experts;
}

/* Between the devices that share each expert: a gather before it, a reduce-scatter after it. */
static void put_gathering(struct ppi_ops *ops, const struct ppi_site *site, double outer, double arrived)
{
    if (site->model->training.expert_tensor_parallel == 1)
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->group = PPI_GROUP_EXPERT_TENSOR;
    op->pass[PPI_FORWARD_PASS].sent = arrived * outer * site->size;
    op->pass[PPI_FORWARD_PASS].collective = PPI_GATHER;
    op->pass[PPI_INPUT_PASS] = op->pass[PPI_FORWARD_PASS];
}

/* Sends copies of a device's rows to their experts' devices, or back: over the links, and once through memory on both sides. */
static void put_exchange(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double outer,
                         double arrived)
{
    double width = outer * site->size, e = site->model->training.expert_parallel;
    double copies = arrived / site->model->training.expert_tensor_parallel;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->group = PPI_GROUP_EXPERT;
    op->copies = block->experts_per_token;
    op->pass[PPI_FORWARD_PASS].bytes = 2 * (copies + arrived) * width;
    op->pass[PPI_FORWARD_PASS].vector = copies * outer;
    if (e > 1) {
        op->pass[PPI_FORWARD_PASS].sent = copies * width;
        op->pass[PPI_FORWARD_PASS].collective = PPI_ALL_TO_ALL;
    }
    op->pass[PPI_INPUT_PASS] = op->pass[PPI_FORWARD_PASS];
}

/* Biases are added to the rows of one expert after the other, in 4 bytes, and these put together again. */
static void put_biases(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double elements)
{
    double traffic = site->model->device.bias_traffic;
    if (traffic == 0 || !ppi_block_has(block, PPSCHED_BLOCK_FLAG_BIAS))
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->pass[PPI_FORWARD_PASS].bytes = op->pass[PPI_INPUT_PASS].bytes = traffic * elements * site->size;
}

/* The experts of a device: each is a small matrix product of its own. */
static void put_own_experts(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double outer,
                            double tokens)
{
    const ppsched_training *training = &site->model->training;
    double width = (double)block->width / training->expert_tensor_parallel;
    double own = (double)block->experts / training->expert_parallel, size = site->size;
    uint32_t first = ops->count;
    put_matrices(ops, site, block, tokens, outer, width, tokens * outer * size);
    for (uint32_t i = first; i < ops->count; i++) {
        struct ppi_op_cost *op = &ops->list[i];
        double one = op->parameters;
        op->is_expert = true;
        op->target = op->target != 0 ? PPSCHED_ADAPTER_TARGET_EXPERTS : 0;
        op->parameters *= own;
        op->pieces = own;
        for (int pass = 0; pass < PPI_PASSES; pass++)
            op->pass[pass].bytes += op->pass[pass].matrix > 0 ? (own - 1) * one * size : 0;
    }
    put_biases(ops, site, block, tokens * (outer + (ppi_block_has(block, PPSCHED_BLOCK_FLAG_GATED) ? 2 : 1) * width));
}

/* Into or out of the latent that routed experts work in; each device has the whole matrix. */
static void put_latent_of_experts(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, bool is_in)
{
    double latent = block->latent_size, rows = site->rows;
    if (latent == 0)
        return;
    if (!is_in) {
        ppi_put_linear(ops, site, rows, latent, site->hidden, false, rows * latent * site->size);
        return;
    }
    ppi_put_linear(ops, site, rows, site->hidden, latent, false, 0);
    if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_LATENT_NORM))
        ppi_put_norm(ops, site, rows, latent);
}

/* Shared experts and their gate. Their input is the router's, in 8 bits a copy of it. */
static void put_shared(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    if (block->shared_width == 0)
        return;
    uint32_t first = ops->count;
    ppi_put_opening(ops, site);
    put_matrices(ops, site, block, site->tokens, site->hidden, (double)block->shared_width / site->tensor,
                 ppi_keeps_few_bits(site->model) ? ppi_input_bytes(site) : 0);
    if (ppi_block_has(block, PPSCHED_BLOCK_FLAG_SHARED_GATE)) {
        ppi_put_linear(ops, site, site->rows, site->hidden, 1, false, 0);
        ppi_put_activation(ops, site, site->rows * site->hidden, false);
    }
    for (uint32_t i = first; i < ops->count; i++)
        ops->list[i].turn = PPI_BEFORE_DISPATCH;
}

/* Rows are sorted by expert and back; half of it before the experts, but one op. */
static void put_permutation(struct ppi_ops *ops, const struct ppi_site *site, double outer, double arrived)
{
    const ppsched_model *model = site->model;
    bool is_fused = (model->training.flags & PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE) != 0;
    double traffic = is_fused ? model->device.fused_permute_traffic : model->device.permute_traffic;
    if (traffic == 0)
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->pass[PPSCHED_MODEL_PASS_FORWARD].bytes = op->pass[PPSCHED_MODEL_PASS_INPUT].bytes = traffic * arrived * outer *
                                                                                            site->size;
    op->turn = PPI_WITH_EXPERTS;
}

/* Routed tokens are spread evenly, over idle experts too, or the fullest device gets `expert_load` times as many. */
void ppi_put_experts(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block)
{
    const ppsched_training *training = &site->model->training;
    double outer = block->latent_size > 0 ? block->latent_size : site->hidden;
    double arrived = site->tokens * block->experts_per_token * training->expert_tensor_parallel / training->tensor_parallel;
    arrived *= training->expert_load;
    if (block->idle_experts > 0)
        arrived *= block->experts / ((double)block->experts + block->idle_experts);
    put_router(ops, site, block);
    put_latent_of_experts(ops, site, block, true);
    put_permutation(ops, site, outer, arrived);
    put_exchange(ops, site, block, outer, arrived);
    put_gathering(ops, site, outer, arrived);
    put_own_experts(ops, site, block, outer, arrived);
    put_gathering(ops, site, outer, arrived);
    put_exchange(ops, site, block, outer, arrived);
    put_latent_of_experts(ops, site, block, false);
    put_shared(ops, site, block);
}
