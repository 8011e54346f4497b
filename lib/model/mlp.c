/* SPDX-License-Identifier: Apache-2.0 */
/* The other half of a layer: a dense MLP, or experts. */
#include "model/ops.h"

enum { FORWARD, INPUT, WEIGHT };

/* The matrices of one MLP, `width` wide on this device; `input` bytes of the input are kept. */
static void put_matrices(struct ppi_ops *ops, const ppsched_model *model, double tokens, double width, double input)
{
    double hidden = model->shape.hidden_size, size = model->training.activation_bytes;
    bool has_bias = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_MLP_BIAS);
    bool is_gated = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_GATED);
    ppi_put_linear(ops, model, tokens, hidden, is_gated ? 2 * width : width, has_bias, input);
    ppi_put_activation(ops, model, tokens * width);
    ppi_put_linear(ops, model, tokens, width, hidden, has_bias, tokens * width * size);
}

void ppi_put_mlp(struct ppi_ops *ops, const ppsched_model *model)
{
    double hidden = model->shape.hidden_size, rows = ppi_rows(model);
    ppi_put_norm(ops, model, rows, hidden);
    ppi_put_opening(ops, model);
    put_matrices(ops, model, ppi_tokens(model), (double)model->shape.ffn_size / model->training.tensor_parallel,
                 rows * hidden * model->training.activation_bytes);
    ppi_put_closing(ops, model);
}

/* --- experts --- */

/* Scores of all experts for each row, in 4 bytes. */
static void put_router(struct ppi_ops *ops, const ppsched_model *model, double rows)
{
    double experts = model->shape.experts, hidden = model->shape.hidden_size;
    struct ppi_op_cost *op = ppi_put_linear(ops, model, rows, hidden, experts,
                                            ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS),
                                            rows * hidden * model->training.activation_bytes);
    op->kept += rows * experts * 4;
    op->pass[FORWARD].vector = op->pass[INPUT].vector = 5 * rows * experts;
}

/* Between the devices that share each expert: a gather before it, a reduce-scatter after it. */
static void put_gathering(struct ppi_ops *ops, const ppsched_model *model, double arrived)
{
    if (model->training.expert_tensor_parallel == 1)
        return;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->group = PPI_GROUP_EXPERT_TENSOR;
    op->pass[FORWARD].sent = arrived * model->shape.hidden_size * model->training.activation_bytes;
    op->pass[FORWARD].collective = PPI_GATHER;
    op->pass[INPUT] = op->pass[FORWARD];
}

/* Sends copies of a device's rows to their experts' devices, or back: over the links, and once through memory on both sides. */
static void put_exchange(struct ppi_ops *ops, const ppsched_model *model, double arrived)
{
    double width = model->shape.hidden_size * model->training.activation_bytes, e = model->training.expert_parallel;
    double copies = arrived / model->training.expert_tensor_parallel;
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->group = PPI_GROUP_EXPERT;
    op->pass[FORWARD].bytes = 2 * (copies + arrived) * width;
    op->pass[FORWARD].vector = copies * model->shape.hidden_size;
    if (e > 1) {
        op->pass[FORWARD].sent = copies * width;
        op->pass[FORWARD].collective = PPI_ALL_TO_ALL;
    }
    op->pass[INPUT] = op->pass[FORWARD];
}

/* The experts of a device: each is a small matrix product of its own. */
static void put_own_experts(struct ppi_ops *ops, const ppsched_model *model, double tokens)
{
    double width = (double)model->shape.expert_ffn_size / model->training.expert_tensor_parallel;
    double own = (double)model->shape.experts / model->training.expert_parallel, size = model->training.activation_bytes;
    uint32_t first = ops->count;
    put_matrices(ops, model, tokens, width, tokens * model->shape.hidden_size * size);
    for (uint32_t i = first; i < ops->count; i++) {
        struct ppi_op_cost *op = &ops->list[i];
        double one = op->parameters;
        op->is_expert = true;
        op->parameters *= own;
        op->pieces = own;
        for (int pass = 0; pass < PPI_PASSES; pass++)
            op->pass[pass].bytes += op->pass[pass].matrix > 0 ? (own - 1) * one * size : 0;
    }
}

/* Assumes that routed tokens are spread evenly. */
void ppi_put_experts(struct ppi_ops *ops, const ppsched_model *model)
{
    const ppsched_training *training = &model->training;
    double hidden = model->shape.hidden_size, rows = ppi_rows(model), tokens = ppi_tokens(model);
    double arrived = tokens * model->shape.experts_per_token * training->expert_tensor_parallel / training->tensor_parallel;
    ppi_put_norm(ops, model, rows, hidden);
    put_router(ops, model, rows);
    put_exchange(ops, model, arrived);
    put_gathering(ops, model, arrived);
    put_own_experts(ops, model, arrived);
    put_gathering(ops, model, arrived);
    put_exchange(ops, model, arrived);
    if (model->shape.shared_ffn_size > 0) {
        ppi_put_opening(ops, model);
        put_matrices(ops, model, tokens, (double)model->shape.shared_ffn_size / training->tensor_parallel, 0);
    }
    ppi_put_closing(ops, model);
}
