/* SPDX-License-Identifier: Apache-2.0 */
/* The common ops of attention and MLP. Counts of vector operations per element are calculon's. */
#include "model/ops.h"

enum { FORWARD, INPUT, WEIGHT };

bool ppi_has_flag(const ppsched_model *model, uint32_t flag)
{
    return (model->shape.flags & flag) != 0;
}

double ppi_tokens(const ppsched_model *model)
{
    return (double)model->training.sequence_length * model->training.micro_batch_size / model->training.context_parallel;
}

static bool is_sequence_parallel(const ppsched_model *model)
{
    return (model->training.flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
}

double ppi_rows(const ppsched_model *model)
{
    return ppi_tokens(model) / (is_sequence_parallel(model) ? model->training.tensor_parallel : 1);
}

struct ppi_op_cost *ppi_next_op(struct ppi_ops *ops)
{
    struct ppi_op_cost *op = &ops->list[ops->count++];
    *op = (struct ppi_op_cost){0};
    return op;
}

/* LayerNorm's operations; RMSNorm has fewer, which is little compared to its bytes. */
void ppi_put_norm(struct ppi_ops *ops, const ppsched_model *model, double tokens, double width)
{
    static const double operations[PPI_PASSES] = {9, 14, 7};
    struct ppi_op_cost *op = ppi_next_op(ops);
    double elements = tokens * width, size = model->training.activation_bytes;
    op->parameters = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_NORM_BIAS) ? 2 * width : width;
    op->kept = elements * size;
    for (int pass = 0; pass < PPI_PASSES; pass++)
        op->pass[pass] = (struct ppi_layer_pass){.vector = operations[pass] * elements,
                                                 .bytes = (2 * elements + op->parameters) * size};
}

struct ppi_op_cost *ppi_put_linear(struct ppi_ops *ops, const ppsched_model *model, double tokens, double in, double out,
                                   bool has_bias, double input)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    double size = model->training.activation_bytes;
    op->parameters = in * out + (has_bias ? out : 0);
    op->kept = input;
    op->weight_needs = ((input > 0 ? tokens * in : 0) + tokens * out) * size;
    for (int pass = 0; pass < PPI_PASSES; pass++)
        op->pass[pass] = (struct ppi_layer_pass){.matrix = 2 * tokens * in * out,
                                                 .bytes = (tokens * in + tokens * out + in * out) * size};
    return op;
}

void ppi_put_activation(struct ppi_ops *ops, const ppsched_model *model, double elements)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    double size = model->training.activation_bytes;
    bool is_gated = ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_GATED);
    double inputs = is_gated ? 2 * elements : elements;
    op->kept = inputs * size;
    op->pass[FORWARD] = (struct ppi_layer_pass){.vector = 8 * elements, .bytes = (inputs + elements) * size};
    op->pass[INPUT] = (struct ppi_layer_pass){.vector = 13 * elements, .bytes = (is_gated ? 5 : 2) * elements * size};
}

/* --- the communication of tensor parallelism --- */

/* A collective, and its work in memory. */
static struct ppi_layer_pass collective(const ppsched_model *model, enum ppi_collective kind, bool adds)
{
    double elements = ppi_tokens(model) * model->shape.hidden_size, size = model->training.activation_bytes;
    double others = 1 - 1.0 / model->training.tensor_parallel;
    if (model->training.tensor_parallel == 1)
        return (struct ppi_layer_pass){0};
    return (struct ppi_layer_pass){
        .vector = adds ? others * elements : 0, .bytes = 2 * elements * size, .sent = elements * size, .collective = kind};
}

/* Without sequence parallelism the gradients are summed; with it the rows are gathered, once more for W, and the gradients
 * reduce-scattered. */
void ppi_put_opening(struct ppi_ops *ops, const ppsched_model *model)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    if (!is_sequence_parallel(model)) {
        op->pass[INPUT] = collective(model, PPI_ALL_REDUCE, true);
        return;
    }
    op->pass[FORWARD] = collective(model, PPI_GATHER, false);
    op->pass[INPUT] = collective(model, PPI_GATHER, true);
    op->pass[WEIGHT] = collective(model, PPI_GATHER, false);
}

static void put_dropout(struct ppi_ops *ops, double elements, double size)
{
    struct ppi_op_cost *op = ppi_next_op(ops);
    op->kept = elements; /* the mask */
    op->pass[FORWARD] = op->pass[INPUT] = (struct ppi_layer_pass){.vector = elements, .bytes = elements * (2 * size + 1)};
}

/* The sum over the devices, dropout, the residual, and the post-norm if there is one. */
void ppi_put_closing(struct ppi_ops *ops, const ppsched_model *model)
{
    double elements = ppi_rows(model) * model->shape.hidden_size, size = model->training.activation_bytes;
    struct ppi_op_cost *op = ppi_next_op(ops);
    if (is_sequence_parallel(model)) {
        op->pass[FORWARD] = collective(model, PPI_GATHER, true);
        op->pass[INPUT] = collective(model, PPI_GATHER, false);
    } else {
        op->pass[FORWARD] = collective(model, PPI_ALL_REDUCE, true);
    }
    if (ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_POST_NORMS))
        ppi_put_norm(ops, model, ppi_rows(model), model->shape.hidden_size);
    if (ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_DROPOUT))
        put_dropout(ops, elements, size);
    op = ppi_next_op(ops);
    op->pass[FORWARD] = (struct ppi_layer_pass){.vector = elements, .bytes = 3 * elements * size};
    op->pass[INPUT] = (struct ppi_layer_pass){.vector = 2 * elements, .bytes = 3 * elements * size};
    op = ppi_next_op(ops); /* the sum of two gradients where the residual branches off */
    op->pass[INPUT] = (struct ppi_layer_pass){.vector = 2 * elements, .bytes = 3 * elements * size};
}
