/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of a transformer cost before it was ever run: parameters, times, memory and
 * bytes, from its shape, how it is trained, and the data sheet of the device. Seconds, bytes and
 * single operations (a multiplication and an addition are two) throughout.
 *
 * UNSTABLE: what this header declares may still change before release 1.0. The description of a
 * model and the data sheet of a device will be able to say more.
 *
 * Every figure is a sum over the ops of a layer. An op's time is
 *     matrix operations / (matrix rate * efficiency)
 *   + other operations / (vector rate * efficiency)
 *   + bytes read and written / (memory bandwidth * efficiency) + time of its collective,
 * each efficiency being that of the op's own size (calculon, Isaev et al. 2023).
 *
 * Operations of n tokens on one device, forward; each of the two gradients takes as many:
 *     matrix of m x k            2 n m k
 *     products of the scores     2 n s (key + value size) a / t, half of that with CAUSAL where
 *                                scores are not kept; I twice that, or 5 products for 2 where they
 *                                are not kept (FlashAttention-2, arXiv 2307.08691); W nothing
 *     an element of: norm 9, 14, 7; softmax 5, 8; GELU or SiLU 8, 13; residual 1, 2; dropout 1, 1
 * Bytes are what an op reads and writes: both factors and the product of a matrix.
 *
 * Collectives of a decoder: tensor parallelism sums T h elements behind attention and behind MLP,
 * and again in both backwards; with sequence parallelism that is a reduce-scatter and, in front, an
 * all-gather, which W does once more. Context parallelism gathers keys and values, and scatters
 * their gradients. Experts get a copy of each of their rows by an all-to-all, and send it back.
 *
 * Here b is the microbatch, s the sequence, h the hidden size, f that of the feed-forward, a the
 * heads, k the key-value heads, d their size, V the vocabulary, t, c, e tensor, context and expert
 * parallelism, T = b s / c the tokens of a device, R = T / t with sequence parallelism and T
 * without.
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

enum ppsched_transformer_flag {
    PPSCHED_TRANSFORMER_FLAG_TIED = 1,      /* the output multiplies by the embedding's matrix */
    PPSCHED_TRANSFORMER_FLAG_GATED = 2,     /* three matrices in an MLP, not two (SwiGLU, GeGLU) */
    PPSCHED_TRANSFORMER_FLAG_NORM_BIAS = 4, /* LayerNorm, 2h parameters; without it RMSNorm, h */
    PPSCHED_TRANSFORMER_FLAG_QKV_BIAS = 8,
    PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS = 16, /* behind the attention */
    PPSCHED_TRANSFORMER_FLAG_MLP_BIAS = 32,
    PPSCHED_TRANSFORMER_FLAG_QK_NORM = 64,     /* norms of d of queries and of keys */
    PPSCHED_TRANSFORMER_FLAG_POST_NORMS = 128, /* four norms a layer (Gemma 2) */
    PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS = 256,
    PPSCHED_TRANSFORMER_FLAG_CAUSAL = 512, /* half of the scores; of use to kernels that do not keep
                                                  them */
    PPSCHED_TRANSFORMER_FLAG_DROPOUT = 1024, /* behind attention and MLP; of scores that are kept */
    PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM = 2048,
    PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS = 4096 /* none of the ranks of latent attention */
};

/* A decoder-only transformer. Sized: set `size`. What it does not have is 0. */
typedef struct ppsched_transformer {
    uint32_t size;
    uint32_t flags; /* enum ppsched_transformer_flag */
    uint32_t layers;
    uint32_t hidden_size;
    uint32_t ffn_size; /* of a dense MLP */
    uint32_t heads;
    uint32_t key_value_heads; /* 0: as heads */
    uint32_t head_size;       /* 0: hidden_size / heads */
    uint32_t vocabulary_size;
    uint32_t positions; /* rows of a table of learned positions */
    /* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): key_value_rank is above 0. */
    uint32_t query_rank; /* 0: queries have no low rank */
    uint32_t key_value_rank;
    uint32_t rope_head_size; /* beside head_size, of queries and keys */
    uint32_t value_head_size;
    /* Mixture of experts where experts is above 0. */
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t expert_ffn_size;
    uint32_t shared_ffn_size; /* of all shared experts together */
    uint32_t dense_layers;    /* so many first ones have no experts */
    uint32_t expert_interval; /* of those behind, layer i has experts if this divides i +
                                 expert_offset; 0: all */
    uint32_t expert_offset;
    uint32_t mtp_layers; /* that predict further tokens (DeepSeek-V3, arXiv 2412.19437); each as the
                            last layer, with a projection of 2h to h and three norms more */
    uint32_t reserved[2];         /* 0 */
    const uint8_t *expert_layers; /* `layers` values, 1 where the layer has experts, else 0; copied.
                                     NULL: as dense_layers, expert_interval and expert_offset say,
                                     which else are 0 */
} ppsched_transformer;

/* --- how it is trained --- */

enum ppsched_training_flag {
    PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL = 1, /* norms and residuals divided by t (Korthikanti et
                                                    al., arXiv 2205.05198) */
    PPSCHED_TRAINING_FLAG_KEEPS_SCORES = 2 /* the attention writes s x s scores; without it they
                                                    are never in memory (FlashAttention) */
};

/* Sized: set `size`. Of the counts, 0 means 1; of bytes, 0 means the default. */
typedef struct ppsched_training {
    uint32_t size;
    uint32_t flags; /* enum ppsched_training_flag */
    uint32_t sequence_length;
    uint32_t micro_batch_size;
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel;        /* divides the experts; of the devices of t, c and data */
    uint32_t expert_tensor_parallel; /* divides each expert */
    uint32_t data_parallel;
    uint32_t sharding; /* over data and context: 0 nothing, 1 optimizer states (ZeRO-1), 2 gradients
                          too, 3 weights too (ZeRO-3, FSDP) (arXiv 1910.02054) */
    double weight_bytes;     /* of a parameter; 2 */
    double gradient_bytes;   /* 4 */
    double optimizer_bytes;  /* 12: Adam's two moments and main weights, of 4 each */
    double activation_bytes; /* of an element; 2 */
} ppsched_training;

/* --- the device --- */

/* What share of its rate a device reaches for an op of `least` operations, or bytes, and more. */
typedef struct ppsched_efficiency {
    double least;
    double share; /* above 0, up to 1 */
} ppsched_efficiency;

/* Between two devices, of one device in one direction. A plain record.
 * A collective of n devices on `bytes` (what is there when all is gathered) takes
 *     latency + factor * bytes * (n-1)/n / (bandwidth * efficiency),
 * of an all-reduce twice the latter. */
typedef struct ppsched_link_rate {
    double bandwidth;  /* bytes a second */
    double efficiency; /* of large messages; 0 means 1 */
    double latency;
    double all_reduce; /* factors; 0 means 1, a ring's */
    double all_gather; /* and reduce-scatter */
} ppsched_link_rate;

/* Sized: set `size`. Lists of efficiencies go down in `least`; empty ones are 1 throughout. */
typedef struct ppsched_accelerator {
    uint32_t size;
    uint32_t node_devices; /* linked by `inside`; 0 means 1 */
    const char *name;      /* may be NULL */
    double matrix_rate;    /* operations a second, in the data type of the training */
    double vector_rate;
    double memory_bandwidth;
    double memory;
    const ppsched_efficiency *matrix_efficiency;
    const ppsched_efficiency *vector_efficiency;
    const ppsched_efficiency *memory_efficiency;
    uint32_t matrix_efficiency_count;
    uint32_t vector_efficiency_count;
    uint32_t memory_efficiency_count;
    uint32_t reserved;        /* 0 */
    ppsched_link_rate inside; /* of a node */
    ppsched_link_rate between;
} ppsched_accelerator;

/* The devices that the library knows, by their data sheets; static, and what they point to. `index`
 * counts from 0 to below ppsched_accelerator_count(); one past them gives NULL. */
PPSCHED_API uint32_t ppsched_accelerator_count(void);
PPSCHED_API const ppsched_accelerator *ppsched_accelerator_at(uint32_t index);

/* --- both together --- */

/* A transformer, how it is trained, and on what. Immutable.
 * Lifetime: copies what it is made of; freed by ppsched_model_destroy.
 * Thread-safety: may be used by any number of threads at once. */
typedef struct ppsched_model ppsched_model;

/* `training` may be NULL (a single device, s = 1); without an `accelerator` there are no times.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, with what is wrong and what would do: heads or experts that
 *   parallelism does not divide, shares above 1, more experts a token than there are; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_model_create(ppsched_model **out,
                                                const ppsched_transformer *transformer,
                                                const ppsched_training *training,
                                                const ppsched_accelerator *accelerator,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_model_destroy(ppsched_model *model);

/* Parameters, all of the model's, whatever the training divides. Sized.
 *   attention  h (a + 2k) d + a d h, biases, norms of q and k; with ranks q (of queries) and r:
 *              h q + q + q a (d + rope) + h (r + rope) + r + r a (d + v) + a v h, with
 *              NO_LATENT_NORMS q and r less
 *   MLP        2 h f, gated 3 h f, biases; router h E, bias E
 *   norms      2 a layer (4 with POST_NORMS), one last; of h, with bias 2h
 * `active` is what one token multiplies with, embedding and output included; `total` and `active`
 * are without the MTP layers. */
typedef struct ppsched_parameters {
    uint32_t size;
    uint32_t reserved;
    uint64_t total;
    uint64_t active;
    uint64_t embedding;
    uint64_t positions;
    uint64_t output; /* 0 where tied */
    uint64_t final_norm;
    uint64_t attention_with_norms; /* of a layer, all its norms included */
    uint64_t dense_mlp;
    uint64_t expert_mlp; /* with router and shared experts */
    uint64_t expert_mlp_active;
    uint64_t mtp; /* of one MTP layer */
    uint64_t dense_layers;
    uint64_t expert_layers;
} ppsched_parameters;

/* Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_model_get_parameters(ppsched_parameters *out,
                                                        const ppsched_model *model,
                                                        ppsched_error *error);

enum ppsched_model_layer {
    PPSCHED_MODEL_LAYER_EMBEDDING = 0,
    PPSCHED_MODEL_LAYER_DENSE = 1,
    PPSCHED_MODEL_LAYER_EXPERT = 2,
    PPSCHED_MODEL_LAYER_MTP = 3,
    PPSCHED_MODEL_LAYER_HEAD = 4 /* final norm, output, loss */
};

enum ppsched_model_pass {
    PPSCHED_MODEL_PASS_FORWARD = 0,
    PPSCHED_MODEL_PASS_INPUT = 1,     /* gradients of the input */
    PPSCHED_MODEL_PASS_WEIGHT = 2,    /* gradients of the weights */
    PPSCHED_MODEL_PASS_SELECTIVE = 3, /* what selective recomputation (scores only, Korthikanti et
                                         al.) computes again */
    PPSCHED_MODEL_PASS_FULL = 4       /* what full recomputation does: a forward */
};

/* What one layer of a kind does in a pass, for one microbatch on one device. Sized. `time` is the
 * sum of the four. */
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
    double communication_bytes; /* of the collectives, as ppsched_link_rate counts them */
} ppsched_pass_cost;

/* `layer` is an enum ppsched_model_layer, `pass` an enum ppsched_model_pass. Without an accelerator
 * the times are 0. A layer that the model does not have costs nothing.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown layer or pass. */
PPSCHED_API ppsched_status ppsched_model_get_pass_cost(ppsched_pass_cost *out,
                                                       const ppsched_model *model, int32_t layer,
                                                       int32_t pass, ppsched_error *error);

/* What one layer of a kind holds on one device, in bytes. Sized.
 *   activations  Korthikanti et al., equations 1 to 5: with GELU, dropout and kept scores
 *                T h (10 + 24/t + 5 a s / (h t)), with sequence parallelism
 *                T h (34 + 5 a s / h) / t;
 *                gated MLPs keep 6 T f / t, not 4; scores that are not kept leave 4 bytes a row;
 *                experts keep what their share of the routed tokens needs, all experts alike */
typedef struct ppsched_layer_memory {
    uint32_t size;
    uint32_t reserved;
    double parameters; /* on this device, not bytes */
    double weights;
    double gradients;
    double optimizer;
    double activations;              /* of one microbatch, from forward to backward */
    double activations_until_weight; /* of them, what W still needs */
    double selective;         /* of the activations, what remains with selective recomputation */
    double full;              /* with full recomputation: the layer's input */
    double output_bytes;      /* handed on to the next stage */
    double expert_parameters; /* of `parameters`, those of experts */
} ppsched_layer_memory;

/* Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown layer. */
PPSCHED_API ppsched_status ppsched_model_get_memory(ppsched_layer_memory *out,
                                                    const ppsched_model *model, int32_t layer,
                                                    ppsched_error *error);

/* What a step does once, behind its last backward, for so many parameters on a device, of which
 * `expert_parameters` are experts'. Sized. `optimizer_time` reads and writes all states once;
 * `reduce_time` sums the gradients over data parallelism and gathers weights that are sharded,
 * nothing hidden. */
typedef struct ppsched_update_cost {
    uint32_t size;
    uint32_t reserved;
    double optimizer_time;
    double reduce_time;
} ppsched_update_cost;

/* Errors: ARGUMENT, STRUCT_SIZE; RANGE for what is negative or not finite. */
PPSCHED_API ppsched_status ppsched_model_get_update_cost(ppsched_update_cost *out,
                                                         const ppsched_model *model,
                                                         double parameters,
                                                         double expert_parameters,
                                                         ppsched_error *error);

/* Measured times by predicted ones, of each kind of layer and pass: at 3 * layer + pass, for an
 * enum ppsched_model_layer and forward, input, weight. Sized; 0 means 1. */
typedef struct ppsched_calibration {
    uint32_t size;
    uint32_t reserved;
    double factors[15];
} ppsched_calibration;

/* The model's layers in order, for plans: "embedding" first, "decoder" and "moe_decoder", "mtp",
 * "head" last, with what they cost: times in seconds, memory in bytes. mem_weights is one version
 * of the weights, mem_static gradients and optimizer; a tied embedding says so, and "mtp" that its
 * stage copies the embedding. Recompute kinds are
 * "selective", where that frees anything, and "full". `calibration` may be NULL.
 * Errors: ARGUMENT; STRUCT_SIZE; RANGE without an accelerator, or a factor that is negative or not
 *   finite; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layers_from_model(const ppsched_layers **out,
                                                     const ppsched_model *model,
                                                     const ppsched_calibration *calibration,
                                                     ppsched_error *error);

/* --- Megatron-LM's estimate --- */

/* What megatron/training/theoretical_memory_usage.py (at d98e8a6) says of the same: the most loaded
 * device's weights and optimizer, and the activations of the first stage. It assumes bf16, knows
 * full recomputation as none, and leaves experts and gates out of the activations. Sized. */
typedef struct ppsched_megatron_memory {
    uint32_t size;
    uint32_t reserved;
    double weight_and_optimizer_bytes;
    double activation_bytes; /* one of the two formulas below */
    double activation_bytes_with_sequence_parallel;
    double activation_bytes_without;
} ppsched_megatron_memory;

/* How the model is cut, as that estimate asks. Sized. */
typedef struct ppsched_megatron_pipeline {
    uint32_t size;
    uint32_t devices;      /* p */
    uint32_t chunks;       /* stages a device, with interleaving; 0 or 1 is without */
    uint32_t microbatches; /* 0: not known */
    uint32_t selective;    /* 1: --recompute-granularity selective */
    uint32_t reserved;
} ppsched_megatron_pipeline;

/* Errors: ARGUMENT, STRUCT_SIZE; RANGE where there are no devices. */
PPSCHED_API ppsched_status
ppsched_model_get_megatron_memory(ppsched_megatron_memory *out, const ppsched_model *model,
                                  const ppsched_megatron_pipeline *pipeline, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
