/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a transformer's layers, on one device for one microbatch. */
#ifndef PPSCHED_MODEL_OPS_H
#define PPSCHED_MODEL_OPS_H

#include "model/model.h"

/* Passes: forward, gradients of the input, gradients of the weights. */
enum { PPI_PASSES = 3, PPI_MOST_OPS = 64 };

enum ppi_collective { PPI_NO_COLLECTIVE, PPI_ALL_REDUCE, PPI_GATHER, PPI_ALL_TO_ALL };
enum ppi_group { PPI_GROUP_TENSOR, PPI_GROUP_CONTEXT, PPI_GROUP_EXPERT, PPI_GROUP_EXPERT_TENSOR };

struct ppi_layer_pass {
    double matrix, vector; /* operations */
    double bytes;          /* read and written */
    double sent;           /* bytes of the collective: all that is gathered; for an all-to-all, what a device sends */
    enum ppi_collective collective;
};

struct ppi_op_cost {
    struct ppi_layer_pass pass[PPI_PASSES];
    double parameters;
    double kept;         /* bytes of activations, from forward to backward */
    double weight_needs; /* bytes that W needs: inputs, and gradients of outputs */
    double pieces;       /* number of separate calls; 0 means 1 */
    enum ppi_group group;
    bool is_expert; /* its parameters belong to experts */
    bool is_core;   /* recomputed by selective recomputation, which keeps nothing of it */
};

struct ppi_ops {
    struct ppi_op_cost list[PPI_MOST_OPS];
    uint32_t count;
};

/* The ops of a layer of a kind; none if the model has no such layer. */
void ppi_ops_of(struct ppi_ops *out, const ppsched_model *model, int32_t layer);

/* Parts of these. */
struct ppi_op_cost *ppi_next_op(struct ppi_ops *ops);
void ppi_put_attention(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_mlp(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_experts(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_norm(struct ppi_ops *ops, const ppsched_model *model, double tokens, double width);

/* `input`: bytes of its input that it keeps; 0 if another op keeps that. */
struct ppi_op_cost *ppi_put_linear(struct ppi_ops *ops, const ppsched_model *model, double tokens, double in, double out,
                                   bool has_bias, double input);

/* Communication before and after matrices that tensor parallelism divides; the closing also adds to the residual. */
void ppi_put_opening(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_closing(struct ppi_ops *ops, const ppsched_model *model);
void ppi_put_activation(struct ppi_ops *ops, const ppsched_model *model, double elements);

/* Tokens of a device; rows: its tokens in norms and residuals. */
double ppi_tokens(const ppsched_model *model);
double ppi_rows(const ppsched_model *model);
bool ppi_has_flag(const ppsched_model *model, uint32_t flag);

#endif
