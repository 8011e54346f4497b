/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a model's blocks, on one device for one microbatch. */
#ifndef PPSCHED_MODEL_BLOCKS_H
#define PPSCHED_MODEL_BLOCKS_H

#include "model/model.h"

/* Passes: forward, gradients of the input, gradients of the weights. */
/* The passes of a layer. */
enum { PPI_FORWARD_PASS, PPI_INPUT_PASS, PPI_WEIGHT_PASS, PPI_PASSES };

enum { PPI_MOST_OPS = 80, PPI_STATE_BYTES = 4 }; /* of an element of a scan's state */

enum ppi_collective { PPI_NO_COLLECTIVE, PPI_ALL_REDUCE, PPI_GATHER, PPI_ALL_TO_ALL };
enum ppi_group { PPI_GROUP_TENSOR, PPI_GROUP_CONTEXT, PPI_GROUP_EXPERT, PPI_GROUP_EXPERT_TENSOR };

/* When an op of a block with experts runs, where exchanges have windows: as runtimes that overlap them have it. */
enum ppi_op_turn {
    PPI_IN_ORDER,
    PPI_BEFORE_DISPATCH, /* shared experts */
    PPI_WITH_EXPERTS     /* sorting of rows */
};

struct ppi_layer_pass {
    double matrix, vector; /* operations */
    double bytes;          /* read and written */
    double quantized;      /* elements of a factor that 8- or 4-bit training makes for it */
    double sent;           /* bytes of the collective: all that is gathered; for an all-to-all, what a device sends */
    enum ppi_collective collective;
};

struct ppi_op_cost {
    struct ppi_layer_pass pass[PPI_PASSES];
    double parameters;
    double kept;         /* bytes of activations, from forward to backward */
    double weight_needs; /* bytes that W needs: inputs, and gradients of outputs */
    double copies;       /* of a row, in an all-to-all */
    double pieces;       /* number of separate calls; 0 means 1 */
    enum ppi_group group;
    uint32_t modules; /* enum ppsched_recompute_module: those that it belongs to */
    bool is_linear;   /* in the precision of the training */
    bool is_expert;   /* its parameters belong to experts */
    bool is_core;     /* recomputed by selective recomputation, which keeps nothing of it */
    bool is_activation;
    bool is_scan; /* products of a scan in chunks */
    bool is_norm; /* of the layer: its parameters are counted as norms */
    bool is_adapter;
    uint8_t turn;    /* enum ppi_op_turn */
    uint32_t target; /* enum ppsched_adapter_target, of a matrix; 0: none */
    double tokens, in, out;
    double input; /* what it keeps of `kept` for the gradients of its weights */
};

struct ppi_ops {
    struct ppi_op_cost list[PPI_MOST_OPS];
    uint32_t count;
    double state;      /* bytes that a slice of the sequence hands to the next one */
    double key_values; /* bytes of keys and values that later slices read */
};

/* Where a block stands: sizes and properties that it does not have itself. */
struct ppi_site {
    const ppsched_model *model;
    double hidden;   /* h */
    double tokens;   /* of the device */
    double rows;     /* its tokens in norms and residuals */
    double sequence; /* tokens of a sample, on all devices */
    double samples;
    double size;    /* bytes of an element */
    double tensor;  /* devices of tensor parallelism */
    double context; /* and of context parallelism */
    double streams; /* residual streams */
    bool is_causal, has_norm_bias, has_dropout;
};

struct ppi_site ppi_site_of_model(const ppsched_model *model);
struct ppi_site ppi_site_of_tower(const ppsched_model *model, const ppsched_tower *tower);
struct ppi_site ppi_site_of_row(const ppsched_model *model, uint32_t row);

/* The ops of one part of a row, whose site it is: a block, or what stands before and after these. False after the last part. */
bool ppi_ops_of_part(struct ppi_ops *out, const struct ppi_site *site, uint32_t row, uint32_t part);

/* The block of that part; NULL if it is none. */
const ppsched_block *ppi_block_of_part(const ppsched_model *model, uint32_t row, uint32_t part);

/* Whether a pass runs the op: enum ppsched_model_pass. */
bool ppi_is_computed(const ppsched_model *model, const struct ppi_op_cost *op, int32_t pass);

/* --- blocks, without norms and what opens and closes them --- */

void ppi_put_attention(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block);
void ppi_put_compressed(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block);
void ppi_put_delta(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block);
void ppi_put_mamba(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block);
void ppi_put_convolution(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block);
void ppi_put_mlp(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block);
void ppi_put_experts(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block);

/* --- the scores of attention --- */

/* Widths on one device: of all queries, keys and values, including the parts with rotary embedding. */
struct ppi_widths {
    double heads, key, value, queries, keys, values;
};

/* Tokens that a query sees, on average over the positions, of those within `most` (0: no limit). */
double ppi_visible(const struct ppi_site *site, double most);

/* The products of queries with `visible` keys each, and of these with values; keys and values from other devices. */
void ppi_put_scores(struct ppi_ops *ops, const struct ppi_site *site, const struct ppi_widths *widths, double visible);
void ppi_put_ring(struct ppi_ops *ops, const struct ppi_site *site, double elements);

/* An index that selects tokens: its scores of `visible` tokens for each query. */
void ppi_put_index_scores(struct ppi_ops *ops, const struct ppi_site *site, const ppsched_block *block, double visible);

/* --- common ops --- */

struct ppi_op_cost *ppi_next_op(struct ppi_ops *ops);

/* A norm of rows of `width`; of the residual stream, it is one of the layer's own. */
struct ppi_op_cost *ppi_put_norm(struct ppi_ops *ops, const struct ppi_site *site, double tokens, double width);
void ppi_put_layer_norm(struct ppi_ops *ops, const struct ppi_site *site);

/* `input`: bytes of its input that it keeps; 0 if another op keeps that. */
struct ppi_op_cost *ppi_put_linear(struct ppi_ops *ops, const struct ppi_site *site, double tokens, double in, double out,
                                   bool has_bias, double input);

/* Adapters beside the matrices of a part; frozen matrices keep no input. */
void ppi_put_adapters(struct ppi_ops *ops, const struct ppi_site *site);

/* Whether linear layers keep their inputs in fewer bits than other ops. */
bool ppi_keeps_few_bits(const ppsched_model *model);

/* Bytes of the block's input, which its first matrix keeps. */
double ppi_input_bytes(const struct ppi_site *site);

/* Communication before and after matrices that tensor parallelism divides; the closing also adds to the residual. */
void ppi_put_opening(struct ppi_ops *ops, const struct ppi_site *site);
void ppi_put_closing(struct ppi_ops *ops, const struct ppi_site *site, uint32_t norms);

/* An activation function of `elements`, with a gate as wide. */
void ppi_put_activation(struct ppi_ops *ops, const struct ppi_site *site, double elements, bool is_gated);

/* A convolution of each channel over `width` tokens. */
void ppi_put_short_convolution(struct ppi_ops *ops, const struct ppi_site *site, double channels, double width, bool has_bias);

/* Elements of a state that each device of context parallelism hands on for each sample: an all-gather. */
void ppi_put_state(struct ppi_ops *ops, const struct ppi_site *site, double elements);

/* The same from slice to slice; the bytes of an element are given. */
static inline void ppi_hand_state(struct ppi_ops *ops, const struct ppi_site *site, double elements, double bytes)
{
    ops->state += site->samples * elements * bytes;
}

static inline bool ppi_block_has(const ppsched_block *block, uint32_t flag)
{
    return (block->flags & flag) != 0;
}

#endif
