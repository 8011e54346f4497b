/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a transformer's layers before any run: parameters, times, memory and bytes. They are
 * computed from the model's shape, its training options and the data sheet of the device. Units are
 * seconds, bytes and single operations (a multiplication and an addition are two operations).
 *
 * UNSTABLE: the declarations of this header may change before release 1.0. The structs for a model
 * and for a device will get more members.
 *
 * Each figure is a sum over the ops of a layer. The time of an op is
 *     matrix operations / (matrix rate * efficiency)
 *   + other operations / (vector rate * efficiency)
 *   + bytes read and written / (memory bandwidth * efficiency) + time of its collective,
 * where each efficiency is the one for the size of the op (calculon, Isaev et al. 2023).
 *
 * Operations for n tokens on one device, in the forward (F) and for the input and weight gradients
 * (I, W):
 *     matrix of m x k            2 n m k, in each of F, I and W
 *     products of the scores     F: 2 n s (key + value size) a / t, half of that with CAUSAL if
 *                                scores are not kept. I: twice F, or if scores are not kept five
 *                                products for two, three of the key size and two of the value size
 *                                (FlashAttention-2, arXiv 2307.08691). W: none
 *     other, per element         F, I, W: norm 9, 14, 7; softmax 5, 8; GELU or SiLU 8, 13;
 *                                residual 1, 2; dropout 1, 1
 * Bytes are those that an op reads and writes: for a matrix both factors and the product.
 *
 * Collectives of a decoder:
 *   - Tensor parallelism sums T h elements after attention and after the MLP, and again in both
 *     backwards. With sequence parallelism these are a reduce-scatter after and an all-gather
 *     before; W does this all-gather once more.
 *   - Context parallelism all-gathers keys and values, and reduce-scatters their gradients.
 *   - Experts receive a copy of each of their rows by an all-to-all, and send it back by another.
 *
 * Symbols: b samples of a microbatch, s sequence length, h hidden size, f feed-forward size, a
 * heads, k key-value heads, d head size, V vocabulary size; t, c, e tensor, context and expert
 * parallelism; T = b s / c the tokens of a device; R the rows of a device, T / t with sequence
 * parallelism and T without.
 *
 * Sample:
 *     const ppsched_transformer llama = {
 *         .size = sizeof llama,
 *         .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
 *         .layers = 32, .hidden_size = 4096, .heads = 32, .key_value_heads = 8,
 *         .ffn_size = 14336, .vocabulary_size = 128256};
 *     ppsched_parameters parameters = {.size = sizeof parameters};
 *     ppsched_model *model = NULL; // NULL for training and device: the defaults
 *     ppsched_status status = ppsched_model_create(&model, &llama, NULL, NULL, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_model_get_parameters(&parameters, model, NULL);
 *     ppsched_model_destroy(model);
 */
#ifndef PPSCHED_MODEL_H
#define PPSCHED_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/layers.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the model --- */

/* Properties of a transformer. */
enum ppsched_transformer_flag {
    PPSCHED_TRANSFORMER_FLAG_TIED = 1,      /* the output uses the embedding's matrix */
    PPSCHED_TRANSFORMER_FLAG_GATED = 2,     /* an MLP has three matrices, not two (SwiGLU, GeGLU) */
    PPSCHED_TRANSFORMER_FLAG_NORM_BIAS = 4, /* LayerNorm with 2h parameters; else RMSNorm with h */
    PPSCHED_TRANSFORMER_FLAG_QKV_BIAS = 8,
    PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS = 16, /* after the attention */
    PPSCHED_TRANSFORMER_FLAG_MLP_BIAS = 32,
    PPSCHED_TRANSFORMER_FLAG_QK_NORM = 64,     /* norms of queries and of keys, of size d */
    PPSCHED_TRANSFORMER_FLAG_POST_NORMS = 128, /* four norms per layer (Gemma 2) */
    PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS = 256,
    PPSCHED_TRANSFORMER_FLAG_CAUSAL = 512,   /* half of the scores, if these are not kept */
    PPSCHED_TRANSFORMER_FLAG_DROPOUT = 1024, /* after attention and MLP, and on scores if kept */
    PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM = 2048,
    PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS = 4096 /* no norms in latent attention */
};

/* The shape of a decoder-only transformer. Sized: set `size`. Parts that the model does not have
 * are 0. */
typedef struct ppsched_transformer {
    uint32_t size;
    uint32_t flags; /* enum ppsched_transformer_flag */
    uint32_t layers;
    uint32_t hidden_size;
    uint32_t ffn_size; /* f, of a dense MLP */
    uint32_t heads;
    uint32_t key_value_heads; /* 0: `heads` */
    uint32_t head_size;       /* d; 0: hidden_size / heads */
    uint32_t vocabulary_size;
    uint32_t positions; /* learned positions: rows of their table */
    /* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434), if key_value_rank is above 0. */
    uint32_t query_rank; /* 0: queries have no low-rank form */
    uint32_t key_value_rank;
    uint32_t rope_head_size; /* of queries and keys, in addition to head_size */
    uint32_t value_head_size;
    /* Mixture of experts, if experts is above 0. */
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t expert_ffn_size;
    uint32_t shared_ffn_size; /* sum over all shared experts */
    uint32_t dense_layers;    /* how many of the first layers have no experts */
    uint32_t expert_interval; /* of the other layers, layer i (from 0, over all layers) has experts
                                 if this divides i + expert_offset; 0: all of them */
    uint32_t expert_offset;
    uint32_t mtp_layers; /* multi-token prediction (DeepSeek-V3, arXiv 2412.19437): each is like the
                            last layer, plus a projection of 2h to h and three norms */
    uint32_t reserved[2];         /* 0 */
    const uint8_t *expert_layers; /* `layers` values: 1 if the layer has experts, else 0; copied.
                                     dense_layers, expert_interval and expert_offset must then be
                                     0. NULL: these three decide */
} ppsched_transformer;

/* --- how it is trained --- */

/* Properties of the training. */
enum ppsched_training_flag {
    PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL = 1, /* divides norms and residuals by t (Korthikanti
                                                    et al., arXiv 2205.05198) */
    PPSCHED_TRAINING_FLAG_KEEPS_SCORES = 2       /* keeps the s x s scores of the attention; else
                                                    they are never in memory (FlashAttention) */
};

/* How the model is trained. Sized: set `size`. 0 means the default: 1 for counts, the number in the
 * comment for bytes. */
typedef struct ppsched_training {
    uint32_t size;
    uint32_t flags; /* enum ppsched_training_flag */
    uint32_t sequence_length;
    uint32_t micro_batch_size;
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel; /* divides the experts; uses devices of t, c and data parallelism */
    uint32_t expert_tensor_parallel; /* divides each expert; 0: `tensor_parallel` */
    uint32_t data_parallel;
    uint32_t sharding; /* over data and context parallelism: 0 none, 1 optimizer states (ZeRO-1), 2
                          also gradients, 3 also weights (ZeRO-3, FSDP) (arXiv 1910.02054) */
    double weight_bytes;     /* per parameter; 2 */
    double gradient_bytes;   /* 4 */
    double optimizer_bytes;  /* 12: Adam's two moments and main weights, of 4 each */
    double activation_bytes; /* per element; 2 */
} ppsched_training;

/* --- the device --- */

/* The share of its rate that a device reaches for ops of at least `least` operations, or bytes. */
typedef struct ppsched_efficiency {
    double least;
    double share; /* above 0, up to 1 */
} ppsched_efficiency;

/* Speed of a link: of one device in one direction. A plain record.
 * A collective of n devices on `bytes` (the size of the whole gathered value) takes
 *     latency + factor * bytes * (n-1)/n / (bandwidth * efficiency),
 * and an all-reduce twice the second term. */
typedef struct ppsched_link_rate {
    double bandwidth;  /* bytes per second */
    double efficiency; /* for large messages; 0 means 1 */
    double latency;
    double all_reduce; /* factor of all-reduce; 0 means 1, as of a ring */
    double all_gather; /* factor of all-gather and reduce-scatter; 0 means 1 */
} ppsched_link_rate;

/* The data sheet of a device. Sized: set `size`. Lists of efficiencies are in descending order of
 * `least`: the first entry that an op reaches counts, or else the last one. An empty list means 1.
 * */
typedef struct ppsched_accelerator {
    uint32_t size;
    uint32_t node_devices; /* devices of a node, which `inside` connects; 0 means 1 */
    const char *name;      /* may be NULL */
    double matrix_rate;    /* operations per second, in the data type of the training */
    double vector_rate;
    double memory_bandwidth;
    double memory;
    const ppsched_efficiency *matrix_efficiency;
    const ppsched_efficiency *vector_efficiency;
    const ppsched_efficiency *memory_efficiency;
    uint32_t matrix_efficiency_count;
    uint32_t vector_efficiency_count;
    uint32_t memory_efficiency_count;
    uint32_t reserved;         /* 0 */
    ppsched_link_rate inside;  /* links inside a node */
    ppsched_link_rate between; /* links between nodes */
} ppsched_accelerator;

/* The data sheets of the devices that the library knows. `index` is 0 to
 * ppsched_accelerator_count() - 1; for a larger one the result is NULL. Static storage, also of
 * what the structs point to. */
PPSCHED_API uint32_t ppsched_accelerator_count(void);
PPSCHED_API const ppsched_accelerator *ppsched_accelerator_at(uint32_t index);

/* --- the cost model --- */

/* A transformer, its training and its device. Immutable.
 * Lifetime: the caller destroys it. It holds copies of its inputs.
 * Thread-safety: any number of threads may use it at once. */
typedef struct ppsched_model ppsched_model;

/* Makes a model. `training` NULL means one device and s = 1. With `accelerator` NULL there are no
 * times. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, with the wrong value and one that works: heads or experts
 *   that parallelism does not divide, shares above 1, more experts per token than experts;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_model_create(ppsched_model **out,
                                                const ppsched_transformer *transformer,
                                                const ppsched_training *training,
                                                const ppsched_accelerator *accelerator,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_model_destroy(ppsched_model *model);

/* Numbers of parameters of the whole model, not divided by the training. Sized.
 *   attention  h (a + 2k) d + a d h, biases, norms of q and k; with ranks q (of queries) and r:
 *              h q + q + q a (d + rope) + h (r + rope) + r + r a (d + v) + a v h, with
 *              NO_LATENT_NORMS without the terms q and r
 *   MLP        2 h f, gated 3 h f, biases; router h E, bias E
 *   norms      2 per layer (4 with POST_NORMS) and a final one; each h, with bias 2h
 * `active` is the number that one token uses, embedding and output included. `total` and `active`
 * do not include the MTP layers. */
typedef struct ppsched_parameters {
    uint32_t size;
    uint32_t reserved;
    uint64_t total;
    uint64_t active;
    uint64_t embedding;
    uint64_t positions;
    uint64_t output; /* 0 if tied */
    uint64_t final_norm;
    uint64_t attention_with_norms; /* of one layer, with all its norms */
    uint64_t dense_mlp;
    uint64_t expert_mlp; /* with router and shared experts */
    uint64_t expert_mlp_active;
    uint64_t mtp;           /* of one MTP layer */
    uint64_t dense_layers;  /* number of layers without experts */
    uint64_t expert_layers; /* number of layers with experts */
} ppsched_parameters;

/* Counts the parameters.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_model_get_parameters(ppsched_parameters *out,
                                                        const ppsched_model *model,
                                                        ppsched_error *error);

/* Kinds of layer. */
enum ppsched_model_layer {
    PPSCHED_MODEL_LAYER_EMBEDDING = 0,
    PPSCHED_MODEL_LAYER_DENSE = 1,
    PPSCHED_MODEL_LAYER_EXPERT = 2,
    PPSCHED_MODEL_LAYER_MTP = 3,
    PPSCHED_MODEL_LAYER_HEAD = 4 /* final norm, output, loss */
};

/* Passes of a layer. */
enum ppsched_model_pass {
    PPSCHED_MODEL_PASS_FORWARD = 0,
    PPSCHED_MODEL_PASS_INPUT = 1,     /* gradients of the input */
    PPSCHED_MODEL_PASS_WEIGHT = 2,    /* gradients of the weights */
    PPSCHED_MODEL_PASS_SELECTIVE = 3, /* what selective recomputation computes again: the scores
                                         (Korthikanti et al.) */
    PPSCHED_MODEL_PASS_FULL = 4       /* what full recomputation computes again: a forward */
};

/* The cost of a pass of one layer, for one microbatch on one device. Sized. `time` is the sum of
 * the four times after it. */
typedef struct ppsched_pass_cost {
    uint32_t size;
    uint32_t reserved;
    double time;
    double matrix_time;
    double vector_time;
    double memory_time;
    double communication_time;
    double matrix_operations;
    double vector_operations;
    double memory_bytes;
    double communication_bytes; /* `bytes` of the collectives, see ppsched_link_rate */
} ppsched_pass_cost;

/* Computes the cost of a pass. `layer`: enum ppsched_model_layer; `pass`: enum ppsched_model_pass.
 * Without an accelerator the times are 0. A kind of layer that the model does not have costs 0.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown layer or pass. */
PPSCHED_API ppsched_status ppsched_model_get_pass_cost(ppsched_pass_cost *out,
                                                       const ppsched_model *model, int32_t layer,
                                                       int32_t pass, ppsched_error *error);

/* The memory of one layer on one device, in bytes. Sized.
 *   activations  Korthikanti et al., equations 1 to 5: with GELU, dropout and kept scores
 *                T h (10 + 24/t + 5 a s / (h t)), with sequence parallelism
 *                T h (34 + 5 a s / h) / t.
 *                Gated MLPs keep 6 T f / t, not 4. If scores are not kept, 4 bytes per row and head
 *                remain.
 *                Experts keep activations for the routed tokens, divided equally among experts */
typedef struct ppsched_layer_memory {
    uint32_t size;
    uint32_t reserved;
    double parameters; /* their number on this device, not bytes */
    double weights;
    double gradients;
    double optimizer;
    double activations;              /* of one microbatch, from forward to backward */
    double activations_until_weight; /* the part of these that W still needs */
    double selective;                /* activations that remain with selective recomputation */
    double full;                     /* the same with full recomputation: the layer's input */
    double output_bytes;             /* of the activation for the next stage */
    double expert_parameters;        /* the part of `parameters` that is of experts */
} ppsched_layer_memory;

/* Computes the memory of a layer. `layer`: enum ppsched_model_layer.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown layer. */
PPSCHED_API ppsched_status ppsched_model_get_memory(ppsched_layer_memory *out,
                                                    const ppsched_model *model, int32_t layer,
                                                    ppsched_error *error);

/* The cost of the update at the end of a step, after the last backward. Sized. In `optimizer_time`
 * the optimizer reads and writes all states once. In `reduce_time` the gradients are summed over
 * data parallelism and sharded weights are all-gathered; none of it overlaps with compute. */
typedef struct ppsched_update_cost {
    uint32_t size;
    uint32_t reserved;
    double optimizer_time;
    double reduce_time;
} ppsched_update_cost;

/* Computes the cost of the update for a device with so many parameters, of which
 * `expert_parameters` are of experts.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE if one is negative or not finite, or `expert_parameters` is
 *   larger than `parameters`. */
PPSCHED_API ppsched_status ppsched_model_get_update_cost(ppsched_update_cost *out,
                                                         const ppsched_model *model,
                                                         double parameters,
                                                         double expert_parameters,
                                                         ppsched_error *error);

/* Measured divided by predicted times, by layer (enum ppsched_model_layer) and pass (FORWARD,
 * INPUT, WEIGHT of enum ppsched_model_pass): factors[3 * layer + pass]. Sized; 0 means 1. */
typedef struct ppsched_calibration {
    uint32_t size;
    uint32_t reserved;
    double factors[15];
} ppsched_calibration;

/* Makes the list of the model's layers with their costs, for plans. The caller owns one reference
 * to `*out`. `calibration` may be NULL.
 *   - Names in order: "embedding", then "decoder" and "moe_decoder", then "mtp", and "head" last.
 *   - Times are in seconds, memory in bytes. mem_weights is one version of the weights, mem_static
 *     gradients and optimizer states.
 *   - A tied embedding has PPSCHED_LAYER_FLAG_TIED, "mtp" has PPSCHED_LAYER_FLAG_COPIES_EMBEDDING.
 *   - Kinds of recomputation, of all layers but the first and the last: "selective" and "full",
 *     each if it reduces the memory.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE without an accelerator, or with a factor that is negative or
 *   not finite; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layers_from_model(const ppsched_layers **out,
                                                     const ppsched_model *model,
                                                     const ppsched_calibration *calibration,
                                                     ppsched_error *error);

/* --- Megatron-LM's estimate --- */

/* The result of megatron/training/theoretical_memory_usage.py (at d98e8a6) for the same model:
 * weights and optimizer of the most loaded device, and activations of the first stage. It assumes
 * bf16, counts full recomputation as none, and leaves experts and gates out of the activations.
 * Sized. */
typedef struct ppsched_megatron_memory {
    uint32_t size;
    uint32_t reserved;
    double weight_and_optimizer_bytes;
    double activation_bytes; /* one of the next two: the first with sequence parallelism and
                                selective recomputation, else the second */
    double activation_bytes_with_sequence_parallel;
    double activation_bytes_without;
} ppsched_megatron_memory;

/* The pipeline, for this estimate. Sized. */
typedef struct ppsched_megatron_pipeline {
    uint32_t size;
    uint32_t devices;      /* p */
    uint32_t chunks;       /* stages per device with interleaving; 0 or 1: no interleaving */
    uint32_t microbatches; /* 0: unknown */
    uint32_t selective;    /* 1: --recompute-granularity selective */
    uint32_t reserved;
} ppsched_megatron_pipeline;

/* Computes the estimate of Megatron-LM.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE if `devices` is 0. */
PPSCHED_API ppsched_status
ppsched_model_get_megatron_memory(ppsched_megatron_memory *out, const ppsched_model *model,
                                  const ppsched_megatron_pipeline *pipeline, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
