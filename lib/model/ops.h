/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of a transformer do, op by op, on one device for one microbatch. */
#ifndef PPSCHED_MODEL_OPS_H
#define PPSCHED_MODEL_OPS_H

#include "model/model.h"

/* Forward, gradients of the input, gradients of the weights. */
enum { PPI_PASSES = 3, PPI_MOST_OPS = 64 };

enum ppi_collective { PPI_NO_COLLECTIVE, PPI_ALL_REDUCE, PPI_GATHER, PPI_ALL_TO_ALL };
enum ppi_group { PPI_GROUP_TENSOR, PPI_GROUP_CONTEXT, PPI_GROUP_EXPERT, PPI_GROUP_EXPERT_TENSOR };

struct ppi_layer_pass {
    double matrix, vector; /* operations */
    double bytes;          /* read and written */
    double sent;           /* of the collective: what is there when all is gathered; of an all-to-all what leaves a device */
    enum ppi_collective collective;
};

struct ppi_op_cost {
    struct ppi_layer_pass pass[PPI_PASSES];
    double parameters;
    double kept;         /* bytes of activations, from forward to backward */
    double weight_needs; /* bytes that W needs: inputs, and gradients of outputs */
    double pieces;       /* that it is in fact done in, each by itself; 0 is one */
    enum ppi_group group;
    bool is_expert; /* its parameters are those of experts */
    bool is_core;   /* selective recomputation does it again, and keeps nothing of it */
};

struct ppi_ops {
    struct ppi_op_cost list[PPI_MOST_OPS];
    uint32_t count;
};

/* The ops of a layer of a kind; none where the model has no such layer. */
void ppi_ops_of(struct ppi_ops *out, const ppsched_model *model, int32_t layer);

/* Parts that they are made of. */
struct ppi_op_cost *ppi_next_op(struct ppi_ops *ops);
void ppi_put_attention(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_mlp(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_experts(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_norm(struct ppi_ops *ops, const ppsched_model *model, double tokens, double width);

/* `input` bytes are what it keeps of what comes in; 0 where another op keeps that. */
struct ppi_op_cost *ppi_put_linear(struct ppi_ops *ops, const ppsched_model *model, double tokens, double in, double out,
                                   bool has_bias, double input);

/* In front of matrices that tensor parallelism divides, and behind them; what is added to the residual. */
void ppi_put_opening(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_closing(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_activation(struct ppi_ops *ops, const ppsched_model *model, double elements);

/* Tokens of a device, and those of norms and residuals. */
double ppi_tokens(const ppsched_model *model);
double ppi_rows(const ppsched_model *model);
bool ppi_has_flag(const ppsched_model *model, uint32_t flag);

#endif
