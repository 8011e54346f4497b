/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a model's layers before any run: parameters, times, memory and bytes. They are
 * computed from the model's description, its training options and the data sheet of the device.
 * Units are seconds, bytes and single operations (a multiplication and an addition are two
 * operations).
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
 *     const ppsched_description *description = NULL;
 *     ppsched_model *model = NULL; // NULL for training and device: the defaults
 *     ppsched_status status =
 *         ppsched_description_from_transformer(&description, &llama, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_model_create(&model, description, NULL, NULL, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_model_get_parameters(&parameters, model, NULL);
 *     ppsched_model_destroy(model);
 *     ppsched_description_release(description);
 */
#ifndef PPSCHED_MODEL_H
#define PPSCHED_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/description.h>
#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/layers.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- how it is trained --- */

/* Properties of the training. */
enum ppsched_training_flag {
    PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL = 1, /* divides norms and residuals by t (Korthikanti
                                                    et al., arXiv 2205.05198) */
    PPSCHED_TRAINING_FLAG_KEEPS_SCORES = 2,      /* keeps the s x s scores of the attention; else
                                                    they are never in memory (FlashAttention) */
    /* Collectives that run beside matrices. Without a flag all of their time counts. */
    PPSCHED_TRAINING_FLAG_OVERLAPS_TENSOR = 4,      /* of tensor parallelism */
    PPSCHED_TRAINING_FLAG_OVERLAPS_CONTEXT = 8,     /* keys and values of context parallelism */
    PPSCHED_TRAINING_FLAG_OVERLAPS_EXPERTS = 16,    /* all-to-all of experts */
    PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS = 32,  /* sums of gradients, beside the last
                                                        backwards */
    PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS = 64, /* all-gathers of weights, beside the first
                                                        forwards */
    PPSCHED_TRAINING_FLAG_ATTENTION_8BIT = 128,     /* scores in 8 bits too */
    PPSCHED_TRAINING_FLAG_GRAPHS = 256,             /* ops are launched as CUDA graphs: no time of
                                                        the host */
    PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS = 512,     /* the weights are not trained: no weight
                                                       gradients, no optimizer. Only adapters are,
                                                       if adapter_rank is above 0 */
    PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE = 1024,   /* experts' rows cross to a node once, and are
                                                       copied there (DeepEP, HybridEP) */
    PPSCHED_TRAINING_FLAG_ADAPTER_DROPOUT = 2048,   /* each adapter keeps a copy of its input after
                                                       dropout, and the mask */
    PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS = 4096,    /* queries, keys and values share one adapter,
                                                       and so do the two first matrices of a gated
                                                       MLP, as Megatron-LM has them in one matrix */
    /* Layers have windows, for overlapped pairs (pair.h): compute is on channel 0, and these
     * collectives are on channels of their own. */
    PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS = 8192, /* all-to-all of experts, on channel 1 */
    PPSCHED_TRAINING_FLAG_WINDOWS_TENSOR = 16384, /* of tensor parallelism, on channel 2 */
    PPSCHED_TRAINING_FLAG_WINDOWS_CONTEXT = 32768 /* of context parallelism, on channel 3 */
};

/* Matrices that adapters stand beside. A part that a model does not have gets none. */
enum ppsched_adapter_target {
    PPSCHED_ADAPTER_TARGET_QUERY = 1, /* of attention; of latent attention both to the rank and
                                         from it */
    PPSCHED_ADAPTER_TARGET_KEY = 2,   /* of latent attention the one to the rank */
    PPSCHED_ADAPTER_TARGET_VALUE = 4, /* of latent attention the one from the rank */
    PPSCHED_ADAPTER_TARGET_OUTPUT = 8,
    PPSCHED_ADAPTER_TARGET_GATE = 16, /* of gated MLPs, shared experts too */
    PPSCHED_ADAPTER_TARGET_UP = 32,
    PPSCHED_ADAPTER_TARGET_DOWN = 64,
    PPSCHED_ADAPTER_TARGET_EXPERTS = 128, /* all matrices of routed experts */
    PPSCHED_ADAPTER_TARGET_ROUTER = 256,
    PPSCHED_ADAPTER_TARGET_SCAN_INPUT = 512, /* of the delta rule, Mamba and convolutions: all but
                                                the last */
    PPSCHED_ADAPTER_TARGET_SCAN_OUTPUT = 1024,
    PPSCHED_ADAPTER_TARGET_OTHER = 2048, /* output gates, indexes, compressors, latents of experts,
                                            gates of shared experts, MTP's projection */
    PPSCHED_ADAPTER_TARGET_HEAD = 4096
};

/* Parts of a layer that are computed again one by one (Megatron-LM's --recompute-modules). */
enum ppsched_recompute_module {
    PPSCHED_RECOMPUTE_MODULE_CORE_ATTENTION = 1,
    PPSCHED_RECOMPUTE_MODULE_LAYERNORM = 2,
    PPSCHED_RECOMPUTE_MODULE_MLP = 4,
    PPSCHED_RECOMPUTE_MODULE_MOE = 8,
    PPSCHED_RECOMPUTE_MODULE_MOE_ACTIVATION = 16,
    PPSCHED_RECOMPUTE_MODULE_MLA_UP_PROJECTION = 32
};

/* The data type of the factors of linear layers. All else stays in 16 bits. */
enum ppsched_precision {
    PPSCHED_PRECISION_BF16 = 0,
    PPSCHED_PRECISION_FP16 = 1,
    PPSCHED_PRECISION_FP8 = 2,   /* one scale for a tensor or a block */
    PPSCHED_PRECISION_MXFP8 = 3, /* one scale for 32 elements */
    PPSCHED_PRECISION_NVFP4 = 4  /* 4 bits, one scale for 16 elements */
};

/* How the model is trained. Sized: set `size`. 0 means the default: for counts that is 1, for bytes
 * the number in the comment. */
typedef struct ppsched_training {
    uint32_t size;
    uint32_t flags; /* enum ppsched_training_flag */
    uint32_t sequence_length;
    uint32_t micro_batch_size;
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel; /* divides the experts, over devices of t, c and data parallelism */
    uint32_t expert_tensor_parallel; /* divides each expert; 0: `tensor_parallel` */
    uint32_t data_parallel;
    uint32_t sharding; /* over data and context parallelism: 0 none, 1 optimizer states (ZeRO-1), 2
                          also gradients, 3 also weights (ZeRO-3, FSDP; arXiv 1910.02054) */
    double weight_bytes;        /* per parameter; 2 */
    double gradient_bytes;      /* 4 */
    double optimizer_bytes;     /* 12: Adam's two moments and main weights, of 4 each */
    double activation_bytes;    /* per element; 2. Told, of inputs of 8- and 4-bit products too */
    int32_t precision;          /* enum ppsched_precision */
    uint32_t recompute_modules; /* enum ppsched_recompute_module: what layers with the recompute
                                   kind "modules" compute again; 0: there is no such kind */
    double expert_load; /* rows that the experts of the fullest device get, as a multiple of an even
                           share; 1. Its time and memory are priced */
    /* Adapters (LoRA, arXiv 2106.09685): beside a matrix of m x n there are one of m x r and one of
     * r x n. Sets FROZEN_WEIGHTS. */
    uint32_t adapter_rank;        /* r; 0: none */
    uint32_t adapter_expert_rank; /* of routed experts; 0: adapter_rank */
    uint32_t adapter_targets;     /* enum ppsched_adapter_target; 0: all but ROUTER and HEAD */
    uint32_t reserved;            /* 0 */
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
 * `least`: the first entry whose `least` an op reaches applies, else the last one. An empty list
 * means 1.
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
    uint32_t shares_ports; /* 1: a collective of whole nodes uses the ports of all their devices */
    ppsched_link_rate inside;  /* links inside a node */
    ppsched_link_rate between; /* links between nodes */
    double rate_8bit;          /* as matrix_rate, with factors of 8 bits; 0: the device has none */
    double rate_4bit;
    /* What a data sheet does not say: measured. 0: none of it. */
    double matrix_share;    /* of all matrix rates, in addition to the efficiency; 0 means 1 */
    double attention_share; /* instead of that, for the products of the scores; 0: matrix_share */
    double fp8_share;       /* in addition to matrix_share, with FP8; 0 means 1 */
    double mxfp8_share;
    double nvfp4_share;
    double op_time;               /* seconds of the device for each op, however small */
    double host_time;             /* seconds of the host for each op: a pass takes no less */
    double hidden_share;          /* of an overlapped collective */
    double permute_traffic;       /* times that each row routed to an expert is read or written in
                               addition, by sorting rows and back */
    double slowdown;              /* of matrices while a collective runs beside them; 0 means 1 */
    double fused_permute_traffic; /* permute_traffic with ONE_COPY_A_NODE, whose exchange sorts */
    double bias_traffic;          /* times that each row of an expert is read or written to add
                                     biases to it */
    double memory_hidden;         /* share of a matrix product's memory time that overlaps with
                                     its operations */
    double scan_share;            /* as attention_share, for the products of scans in chunks */
    double host_bandwidth;        /* bytes per second between a device and the host's memory, in
                                     each direction, of the data sheet; 0: unknown */
} ppsched_accelerator;

/* The data sheets of the devices that the library knows. `index` is 0 to
 * ppsched_accelerator_count() - 1; for a larger one the result is NULL. The structs, and what they
 * point to, are static storage. */
PPSCHED_API uint32_t ppsched_accelerator_count(void);
PPSCHED_API const ppsched_accelerator *ppsched_accelerator_at(uint32_t index);

/* --- the cost model --- */

/* A described model, its training and its device. Immutable.
 * Lifetime: the caller destroys it. It holds a reference to the description, and copies of the
 *   other inputs.
 * Thread-safety: any number of threads may use it at once. */
typedef struct ppsched_model ppsched_model;

/* Makes a model. `training` NULL means one device and s = 1. With `accelerator` NULL there are no
 * times. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, with the wrong value and one that works: heads or experts
 *   that parallelism does not divide, shares above 1, more experts per token than experts;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_model_create(ppsched_model **out,
                                                const ppsched_description *description,
                                                const ppsched_training *training,
                                                const ppsched_accelerator *accelerator,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_model_destroy(ppsched_model *model);

/* Numbers of parameters of the whole model, not divided by the training. Sized. `active` is the
 * number that one token uses, embedding and output included. `total` and `active` do not include
 * towers and MTP layers. The formulas of blocks are in description.h; in addition
 *   norms      each h, with NORM_BIAS 2h; a final one
 *   biases     one for each output of a matrix; router h E, bias E */
typedef struct ppsched_parameters {
    uint32_t size;
    uint32_t reserved;
    uint64_t total;
    uint64_t active;
    uint64_t embedding;
    uint64_t positions;
    uint64_t other;  /* of the whole model, in the stage of the embedding */
    uint64_t output; /* 0 if tied */
    uint64_t final_norm;
    uint64_t towers; /* of all */
    uint64_t mtp;    /* of one MTP layer */
} ppsched_parameters;

/* Counts the parameters.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_model_get_parameters(ppsched_parameters *out,
                                                        const ppsched_model *model,
                                                        ppsched_error *error);

/* What the layers of a row are. */
enum ppsched_model_role {
    PPSCHED_MODEL_ROLE_EMBEDDING = 0,
    PPSCHED_MODEL_ROLE_TOWER = 1, /* a whole tower, in the stage of the embedding */
    PPSCHED_MODEL_ROLE_DECODER = 2,
    PPSCHED_MODEL_ROLE_MTP = 3,
    PPSCHED_MODEL_ROLE_HEAD = 4 /* final norm, output, loss */
};

/* Layers of a model that cost the same, one row for each kind. Rows are in order: towers,
 * embedding, decoders by the kinds of the description that some layer has, MTP, head. Sized. */
typedef struct ppsched_model_row {
    uint32_t size;
    int32_t role;        /* enum ppsched_model_role */
    const char *name;    /* "embedding", "mtp", "head", or the name of the kind or tower; it belongs
                            to the model */
    uint32_t layers;     /* number of layers in the model */
    uint32_t index;      /* of the kind or the tower in the description */
    uint64_t parameters; /* of one layer, not divided by the training */
    uint64_t active;     /* the part of these that one token uses */
    uint64_t mixers;     /* without norms */
    uint64_t feed_forwards;
    uint64_t feed_forwards_active;
    uint64_t norms;
} ppsched_model_row;

/* The number of rows, and one of them.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a row past the last. */
PPSCHED_API uint32_t ppsched_model_row_count(const ppsched_model *model);
PPSCHED_API ppsched_status ppsched_model_get_row(ppsched_model_row *out, const ppsched_model *model,
                                                 uint32_t row, ppsched_error *error);

/* Passes of a layer. */
enum ppsched_model_pass {
    PPSCHED_MODEL_PASS_FORWARD = 0,
    PPSCHED_MODEL_PASS_INPUT = 1,     /* gradients of the input */
    PPSCHED_MODEL_PASS_WEIGHT = 2,    /* gradients of the weights */
    PPSCHED_MODEL_PASS_SELECTIVE = 3, /* what selective recomputation computes again: the scores
                                         (Korthikanti et al.) */
    PPSCHED_MODEL_PASS_FULL = 4,      /* what full recomputation computes again: a forward */
    PPSCHED_MODEL_PASS_MODULES = 5    /* what recomputation of modules computes again */
};

/* The cost of a pass of one layer, for one microbatch on one device. Sized. `time` is the sum of
 * the four times after it and of launch_time. */
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
    double tensor_time; /* parts of communication_time: tensor and expert tensor parallelism, */
    double context_time;
    double expert_time;
    double launch_time; /* `op_time` of its ops, and what the host needs beyond all of this */
} ppsched_pass_cost;

/* Computes the cost of a pass of one layer of a row. `pass`: enum ppsched_model_pass. Without an
 * accelerator the times are 0.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown row or pass. */
PPSCHED_API ppsched_status ppsched_model_get_pass_cost(ppsched_pass_cost *out,
                                                       const ppsched_model *model, uint32_t row,
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
    double modules;                  /* as `selective`, with recomputation of modules */
    double trained;                  /* the part of `parameters` that learns: all, adapters, none */
    double expert_trained;           /* the same of `expert_parameters` */
} ppsched_layer_memory;

/* Computes the memory of one layer of a row.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown row. */
PPSCHED_API ppsched_status ppsched_model_get_memory(ppsched_layer_memory *out,
                                                    const ppsched_model *model, uint32_t row,
                                                    ppsched_error *error);

/* The cost of the update at the end of a step, after the last backward. Sized. In `optimizer_time`
 * the optimizer reads and writes all states once. In `reduce_time` the gradients are summed over
 * data parallelism and sharded weights are all-gathered; none of it overlaps with compute. */
typedef struct ppsched_update_cost {
    uint32_t size;
    uint32_t reserved;
    double optimizer_time;
    double reduce_time;    /* the sum of the next two */
    double gradient_time;  /* sums of gradients */
    double parameter_time; /* all-gathers of weights */
} ppsched_update_cost;

/* Computes the cost of the update for a device with so many parameters, of which
 * `expert_parameters` are of experts. With FROZEN_WEIGHTS they are frozen; add the cost of what
 * learns by a model without.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE if one is negative or not finite, or `expert_parameters` is
 *   larger than `parameters`. */
PPSCHED_API ppsched_status ppsched_model_get_update_cost(ppsched_update_cost *out,
                                                         const ppsched_model *model,
                                                         double parameters,
                                                         double expert_parameters,
                                                         ppsched_error *error);

/* Measured divided by predicted times, by row and pass (FORWARD, INPUT, WEIGHT of enum
 * ppsched_model_pass): factors[3 * row + pass]. Sized; 0 means 1, also for rows past `rows`. */
typedef struct ppsched_calibration {
    uint32_t size;
    uint32_t rows;
    const double *factors; /* 3 * rows values; NULL if there are none */
} ppsched_calibration;

/* Makes the list of the model's layers with their costs, for plans. The caller owns one reference
 * to `*out`. `calibration` may be NULL.
 *   - Names are those of the rows. A run of equal layers is one entry.
 *   - Times are in seconds, memory in bytes. mem_weights is one version of the weights, mem_static
 *     gradients and optimizer states.
 *   - A tied embedding has PPSCHED_LAYER_FLAG_TIED. "mtp" has PPSCHED_LAYER_FLAG_COPIES_EMBEDDING,
 *     and a tower PPSCHED_LAYER_FLAG_NOT_COPIED. A layer has PPSCHED_LAYER_FLAG_WITH_NEXT if the
 *     next one shares its index.
 *   - output_bytes includes all residual streams, and the keys and values that later layers read.
 *   - All layers except embedding and head have the kinds of recomputation "selective" and "full",
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
 * bf16, ignores full recomputation, and leaves experts and gates out of the activations.
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
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE if `devices` is 0, or for a model to which the formula does
 *   not apply: it needs attention, and an MLP or experts of one size, in each layer. */
PPSCHED_API ppsched_status
ppsched_model_get_megatron_memory(ppsched_megatron_memory *out, const ppsched_model *model,
                                  const ppsched_megatron_pipeline *pipeline, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
