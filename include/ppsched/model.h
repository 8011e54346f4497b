/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of what the layers of a model cost, before any run: parameters, times, memory and bytes
 * that devices send. The estimates are computed from the model's description, its training options
 * and the data sheet of the device. Units are seconds, bytes and single operations. A
 * multiplication and an addition count as two operations.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0. In each struct that
 * begins with `size`, set `size` to sizeof of the struct.
 *
 * Each figure is a sum over the ops of a layer. Here an op is one kernel, such as a matrix product.
 * Its time is
 *     matrix operations / (matrix rate * efficiency)
 *   + other operations / (vector rate * efficiency)
 *   + bytes read and written / (memory bandwidth * efficiency) + time of its collective.
 * Each efficiency depends on the size of the op (calculon, Isaev et al. 2023).
 *
 * Symbols: b samples of a microbatch, s sequence length, h hidden size, f feed-forward size, a
 * heads, k key-value heads, d head size, V vocabulary size; t, c and e the degrees of tensor,
 * context and expert parallelism; T = b * s / c tokens of a device. A row is the hidden vector of a
 * token.
 *
 * Number of operations for n tokens on one device, in F (forward), I (backward for the input
 * gradient) and W (backward for the weight gradient):
 *     matrix of m x k            2 * n * m * k, in each of F, I and W
 *     products of the scores     F has two products (queries * keys, scores * values) with 2 * n *
 *                                s * (key size + value size) * a / t operations in all, or half of
 *                                this if the model is causal and scores are not kept. I: if scores
 *                                are kept, twice the operations of F; otherwise five products
 *                                (FlashAttention-2, arXiv 2307.08691), three with the key size and
 *                                two with the value size. W: none
 *     other operations           per element: norm F 9, I 14, W 7; softmax F 5, I 8; GELU or SiLU
 *                                F 8, I 13; residual F 1, I 2; dropout F 1, I 1
 * A matrix product reads the bytes of both factors, and writes the bytes of the result.
 *
 * Collectives of a decoder:
 *   - Tensor parallelism sums T * h elements after attention and after the MLP, and again in the
 *     backward of each. With sequence parallelism each sum becomes an all-gather before the block
 *     and a reduce-scatter after it; W repeats this all-gather.
 *   - Context parallelism all-gathers keys and values, and reduce-scatters their gradients.
 *   - One all-to-all (dispatch) sends a copy of each row to each of its experts. Another (combine)
 *     sends back the results.
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

/* Properties of the training. */
enum ppsched_training_flag {
    PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL = 1, /* also divides norms and residuals among t devices
                                                    (Korthikanti et al., arXiv 2205.05198) */
    PPSCHED_TRAINING_FLAG_KEEPS_SCORES = 2,      /* keeps the s x s scores of attention. Without
                                                    this flag they are not kept (FlashAttention) */
    /* With an OVERLAPS flag, collectives overlap with other work: collectives of tensor and context
     * parallelism with matrix products of their layer, the all-to-all of experts with any work of
     * another microbatch, sums of gradients with the last backwards, all-gathers of weights with
     * the first forwards. Without the flag, the whole time of these collectives counts. */
    PPSCHED_TRAINING_FLAG_OVERLAPS_TENSOR = 4,      /* of tensor parallelism */
    PPSCHED_TRAINING_FLAG_OVERLAPS_CONTEXT = 8,     /* of context parallelism */
    PPSCHED_TRAINING_FLAG_OVERLAPS_EXPERTS = 16,    /* all-to-all of experts */
    PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS = 32,  /* sums of gradients */
    PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS = 64, /* all-gathers of weights */
    PPSCHED_TRAINING_FLAG_ATTENTION_8BIT = 128,     /* products of the scores use 8 bits */
    PPSCHED_TRAINING_FLAG_GRAPHS = 256,             /* ops run as CUDA graphs, without host_time */
    PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS = 512,     /* the weights are not trained: no weight
                                                       gradients, no optimizer. If adapter_rank is
                                                       above 0, only the adapters are trained */
    PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE = 1024,   /* a row is sent to a node once, and is copied
                                                       there for each expert (DeepEP, HybridEP) */
    PPSCHED_TRAINING_FLAG_ADAPTER_DROPOUT = 2048,   /* each adapter keeps its own copy of its input
                                                       after dropout, and the dropout mask */
    PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS = 4096,    /* queries, keys and values share one adapter.
                                                       The first two matrices of a gated MLP also
                                                       share one (Megatron-LM) */
    /* With a WINDOWS flag layers have windows for overlapped pairs (pair.h): compute on channel 0,
     * collectives of the flag on another. The OVERLAPS flag of these collectives must be unset. */
    PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS = 8192, /* all-to-all of experts, on channel 1 */
    PPSCHED_TRAINING_FLAG_WINDOWS_TENSOR = 16384, /* tensor parallelism, on channel 2 */
    PPSCHED_TRAINING_FLAG_WINDOWS_CONTEXT = 32768 /* context parallelism, on channel 3 */
};

/* Matrices that have an adapter. A matrix that the model does not have is ignored. */
enum ppsched_adapter_target {
    PPSCHED_ADAPTER_TARGET_QUERY = 1, /* queries; in latent attention both query matrices */
    PPSCHED_ADAPTER_TARGET_KEY = 2,   /* keys; in latent attention the matrix to key_value_rank */
    PPSCHED_ADAPTER_TARGET_VALUE = 4, /* values; in latent attention the matrix from
                                         key_value_rank */
    PPSCHED_ADAPTER_TARGET_OUTPUT = 8,
    PPSCHED_ADAPTER_TARGET_GATE = 16, /* gate matrices of MLPs, also of shared experts */
    PPSCHED_ADAPTER_TARGET_UP = 32,
    PPSCHED_ADAPTER_TARGET_DOWN = 64,
    PPSCHED_ADAPTER_TARGET_EXPERTS = 128, /* all matrices of routed experts */
    PPSCHED_ADAPTER_TARGET_ROUTER = 256,
    PPSCHED_ADAPTER_TARGET_SCAN_INPUT = 512, /* delta rule, Mamba, convolution: all matrices except
                                                the last */
    PPSCHED_ADAPTER_TARGET_SCAN_OUTPUT = 1024, /* delta rule, Mamba, convolution: the last matrix */
    PPSCHED_ADAPTER_TARGET_OTHER = 2048, /* matrices of output gates, indexes, compressors, experts'
                                            latents, gates of shared experts; MTP's projection */
    PPSCHED_ADAPTER_TARGET_HEAD = 4096
};

/* Parts of a layer that the recompute kind "modules" may compute again (Megatron-LM's
 * --recompute-modules). */
enum ppsched_recompute_module {
    PPSCHED_RECOMPUTE_MODULE_CORE_ATTENTION = 1,
    PPSCHED_RECOMPUTE_MODULE_LAYERNORM = 2,
    PPSCHED_RECOMPUTE_MODULE_MLP = 4,
    PPSCHED_RECOMPUTE_MODULE_MOE = 8,
    PPSCHED_RECOMPUTE_MODULE_MOE_ACTIVATION = 16,
    PPSCHED_RECOMPUTE_MODULE_MLA_UP_PROJECTION = 32
};

/* Data type of both factors of matrix products in linear layers. All other values have 16 bits. */
enum ppsched_precision {
    PPSCHED_PRECISION_BF16 = 0,
    PPSCHED_PRECISION_FP16 = 1,
    PPSCHED_PRECISION_FP8 = 2,   /* 8 bits, one scale per tensor or block */
    PPSCHED_PRECISION_MXFP8 = 3, /* 8 bits, one scale per 32 elements */
    PPSCHED_PRECISION_NVFP4 = 4  /* 4 bits, one scale per 16 elements */
};

/* How the model is trained. A field that is 0 has its default: 1 for sizes and degrees. */
typedef struct ppsched_training {
    uint32_t size;
    uint32_t flags;                  /* enum ppsched_training_flag */
    uint32_t sequence_length;        /* s, in tokens */
    uint32_t micro_batch_size;       /* b, in samples */
    uint32_t tensor_parallel;        /* degree t of tensor parallelism */
    uint32_t context_parallel;       /* degree c of context parallelism */
    uint32_t expert_parallel;        /* e: experts are divided over e of the devices of tensor,
                                        context and data parallelism together */
    uint32_t expert_tensor_parallel; /* number of devices of an expert. Default: tensor_parallel */
    uint32_t data_parallel;          /* number of replicas that share the samples of a step */
    uint32_t sharding; /* what is sharded over data and context parallelism: 0 nothing, 1 optimizer
                          states (ZeRO-1), 2 also gradients, 3 also weights (ZeRO-3, FSDP; arXiv
                          1910.02054) */
    double weight_bytes;        /* bytes per parameter. Default: 2 */
    double gradient_bytes;      /* bytes of gradient per parameter. Default: 4 */
    double optimizer_bytes;     /* bytes per parameter. Default: 12 (Adam: moments, main weights) */
    double activation_bytes;    /* bytes per element of activations. Default: 2. If set, kept inputs
                                   of 8-bit and 4-bit products also have this size */
    int32_t precision;          /* enum ppsched_precision */
    uint32_t recompute_modules; /* enum ppsched_recompute_module: the parts that the recompute kind
                                   "modules" computes again. 0: this kind does not exist */
    double expert_load; /* rows that the experts of the busiest device get, as a multiple of an even
                           share. Default: 1. Times and memory are for this device */
    /* Adapters (LoRA, arXiv 2106.09685). The adapter of a matrix of m x n is a matrix of m x r and
     * one of r x n. Adapters imply FROZEN_WEIGHTS. */
    uint32_t adapter_rank;        /* rank r of adapters; 0: no adapters */
    uint32_t adapter_expert_rank; /* rank r of adapters of routed experts. Default: adapter_rank */
    uint32_t adapter_targets;     /* enum ppsched_adapter_target; 0: all but ROUTER and HEAD */
    uint32_t reserved;            /* 0 */
} ppsched_training;

/* The share of the peak rate that ops of at least `least` operations or bytes reach. */
typedef struct ppsched_efficiency {
    double least;
    double share; /* share of the peak rate, above 0, up to 1 */
} ppsched_efficiency;

/* Speed of the links of one device, in one direction. A plain record: its layout never changes. A
 * collective of n devices on `bytes` (size of the whole gathered value) takes
 *     latency + factor * bytes * (n-1)/n / (bandwidth * efficiency).
 * For an all-reduce the second term is doubled. For an all-to-all the factor is 1. */
typedef struct ppsched_link_rate {
    double bandwidth;  /* bandwidth in bytes per second */
    double efficiency; /* share of `bandwidth` that large messages reach; 0 means 1 */
    double latency;    /* seconds */
    double all_reduce; /* factor of all-reduce; 0 means 1, as for a ring */
    double all_gather; /* factor of all-gather and reduce-scatter; 0 means 1 */
} ppsched_link_rate;

/* The data sheet of a device. Lists of efficiencies are in descending order of `least`. An op uses
 * the first entry whose `least` is at most the op's size. If there is none, it uses the last entry.
 * An empty list means an efficiency of 1. */
typedef struct ppsched_accelerator {
    uint32_t size;
    uint32_t node_devices;   /* number of devices of a node; 0 means 1 */
    const char *name;        /* name of the device; may be NULL */
    double matrix_rate;      /* peak operations per second of matrix products in 16 bits */
    double vector_rate;      /* peak operations per second of all other operations */
    double memory_bandwidth; /* bytes per second */
    double memory;           /* bytes */
    const ppsched_efficiency *matrix_efficiency; /* by operations of a matrix product */
    const ppsched_efficiency *vector_efficiency; /* by other operations of an op */
    const ppsched_efficiency *memory_efficiency; /* by bytes of an op */
    uint32_t matrix_efficiency_count;            /* length of matrix_efficiency */
    uint32_t vector_efficiency_count;            /* length of vector_efficiency */
    uint32_t memory_efficiency_count;            /* length of memory_efficiency */
    uint32_t shares_ports; /* 1: a collective uses the network ports of all its devices in a node */
    ppsched_link_rate inside;  /* links inside a node */
    ppsched_link_rate between; /* links between nodes */
    double rate_8bit;          /* peak rate of products in 8 bits; 0: not supported */
    double rate_4bit;          /* peak rate of products in 4 bits; 0: not supported */
    /* Measured values that data sheets lack. 0 has no effect, unless the comment defines 0. */
    double matrix_share;    /* factor on matrix rates, in addition to the efficiency; 0 means 1 */
    double attention_share; /* replaces matrix_share in products of the scores; 0: not set */
    double fp8_share;       /* factor with FP8, in addition to matrix_share; 0 means 1 */
    double mxfp8_share;     /* factor with MXFP8, in addition to matrix_share; 0: no MXFP8 */
    double nvfp4_share;     /* factor with NVFP4, in addition to matrix_share; 0 means 1 */
    double op_time;         /* seconds of the device for each op, in addition to the op's work */
    double host_time;       /* seconds that the host needs to launch an op. F takes at least the
                               time to launch its ops; I + W, at least the time to launch theirs */
    double hidden_share;    /* share of an overlapped collective that can be hidden; 0 means 1 */
    double permute_traffic; /* number of moves of a row to sort rows by expert and undo the sort */
    double slowdown;        /* factor on matrix times while a collective runs; 0 means 1 */
    double fused_permute_traffic; /* permute_traffic if ONE_COPY_A_NODE is set */
    double bias_traffic;          /* number of moves of a row to add the biases of experts */
    double memory_hidden;         /* share of a matrix product's memory time that overlaps with the
                                     product's operations */
    double scan_share;            /* replaces matrix_share in chunked scans: delta rule, Mamba-2 */
    double host_bandwidth;        /* bytes per second to and from host memory; 0: unknown */
    uint32_t pod_nodes;           /* number of nodes of a pod; 0: all nodes are one pod. `between`
                                     is for links inside a pod. Ranks of a pod are consecutive */
    uint32_t lacks_bf16;          /* 1: fp16 is the only type of 16 bits; bf16 is refused */
    ppsched_link_rate beyond; /* speed of links between pods if all devices send; needs pod_nodes */
    double scale_slowdown;    /* only for prices: share by which a pipeline takes longer for each
                                 doubling of the devices, because devices wait for the slowest */
    double part_node_ports;   /* largest number of ports of a ring over a part of a node; 0: any */
    double pair_share;        /* share of inside.bandwidth that two devices can use; 0: all of it */
} ppsched_accelerator;

/* The data sheets that the library has. `index` is 0 to ppsched_accelerator_count() - 1. For a
 * larger index the result is NULL. The structs, and what they point to, are static storage. */
PPSCHED_API uint32_t ppsched_accelerator_count(void);
PPSCHED_API const ppsched_accelerator *ppsched_accelerator_at(uint32_t index);

/* A model with its description, training and device. Immutable.
 * Lifetime: the caller destroys it. It holds a reference to the description, and copies of the
 *   other inputs.
 * Thread-safety: any number of threads may use it at the same time. */
typedef struct ppsched_model ppsched_model;

/* Makes a model. A NULL `training` means the defaults: one device and s = 1. With a NULL
 * `accelerator`, all times are 0. `environment` may be NULL.
 * Errors: ARGUMENT; STRUCT_SIZE; NO_MEMORY; RANGE (the message has the wrong value and one that
 *   works), for instance if the parallelism does not divide the heads or experts, if a share is
 *   above 1, or if there are more experts per token than experts. */
PPSCHED_API ppsched_status ppsched_model_create(ppsched_model **out,
                                                const ppsched_description *description,
                                                const ppsched_training *training,
                                                const ppsched_accelerator *accelerator,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_model_destroy(ppsched_model *model);

/* Numbers of parameters of the whole model, not divided among devices. `active` is the number of
 * parameters that one token uses, embedding and output included. `total` and `active` do not
 * include towers and MTP layers. The formulas of blocks are in description.h. The counts also
 * include norms (h each, with NORM_BIAS 2h), one final norm, biases (one per output of a matrix),
 * and for E experts a router (h * E, and E for its bias). */
typedef struct ppsched_parameters {
    uint32_t size;
    uint32_t reserved;
    uint64_t total;      /* all parameters, without towers and MTP layers */
    uint64_t active;     /* the part of `total` that one token uses */
    uint64_t embedding;  /* parameters of the embedding's matrix */
    uint64_t positions;  /* parameters of learned positions */
    uint64_t other;      /* extra_parameters of the description, in the stage of the embedding */
    uint64_t output;     /* 0 if the output uses the embedding's matrix (tied) */
    uint64_t final_norm; /* parameters of the norm before the output */
    uint64_t towers;     /* parameters of all towers */
    uint64_t mtp;        /* parameters of one MTP layer */
} ppsched_parameters;

/* Counts the parameters.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_model_get_parameters(ppsched_parameters *out,
                                                        const ppsched_model *model,
                                                        ppsched_error *error);

/* The role of a row's layers in the model. */
enum ppsched_model_role {
    PPSCHED_MODEL_ROLE_EMBEDDING = 0,
    PPSCHED_MODEL_ROLE_TOWER = 1, /* a whole tower, in the stage of the embedding */
    PPSCHED_MODEL_ROLE_DECODER = 2,
    PPSCHED_MODEL_ROLE_MTP = 3, /* layers for multi-token prediction */
    PPSCHED_MODEL_ROLE_HEAD = 4 /* final norm, output and loss */
};

/* A row describes all layers of a model that have the same kind, and so the same cost. Rows are in
 * this order: towers, embedding, decoders (a row for each kind in use), MTP, head. */
typedef struct ppsched_model_row {
    uint32_t size;
    int32_t role;        /* enum ppsched_model_role */
    const char *name;    /* "embedding", "mtp", "head", or the name of the kind or tower; owned by
                            the model */
    uint32_t layers;     /* number of layers that the row describes */
    uint32_t index;      /* index of the kind or the tower in the description */
    uint64_t parameters; /* parameters of one layer, not divided among devices */
    uint64_t active;     /* number of these parameters that one token uses */
    uint64_t mixers;     /* parameters of mixers (description.h), without norms */
    uint64_t feed_forwards;        /* parameters of MLPs and experts, without norms */
    uint64_t feed_forwards_active; /* number of these parameters that one token uses */
    uint64_t norms;                /* parameters of norms */
} ppsched_model_row;

/* The first function returns the number of rows. The second describes a row.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a row past the last. */
PPSCHED_API uint32_t ppsched_model_row_count(const ppsched_model *model);
PPSCHED_API ppsched_status ppsched_model_get_row(ppsched_model_row *out, const ppsched_model *model,
                                                 uint32_t row, ppsched_error *error);

/* Passes of a layer. */
enum ppsched_model_pass {
    PPSCHED_MODEL_PASS_FORWARD = 0,
    PPSCHED_MODEL_PASS_INPUT = 1,     /* backward for the gradients of the input */
    PPSCHED_MODEL_PASS_WEIGHT = 2,    /* backward for the gradients of the weights */
    PPSCHED_MODEL_PASS_SELECTIVE = 3, /* what selective recomputation computes again: the scores of
                                         attention (Korthikanti et al.) */
    PPSCHED_MODEL_PASS_FULL = 4,      /* what full recomputation computes again: a forward */
    PPSCHED_MODEL_PASS_MODULES = 5    /* what recomputation of modules computes again */
};

/* Names of enumerators, as in names.h. */
PPSCHED_API const char *ppsched_precision_name(int32_t precision);
PPSCHED_API const char *ppsched_model_role_name(int32_t model_role);
PPSCHED_API const char *ppsched_model_pass_name(int32_t model_pass);

/* The cost of a pass of one layer, for one microbatch on one device. `time` is the sum of
 * matrix_time, vector_time, memory_time, communication_time and launch_time. */
typedef struct ppsched_pass_cost {
    uint32_t size;
    uint32_t reserved;
    double time;                /* seconds, the sum above */
    double matrix_time;         /* seconds of matrix products */
    double vector_time;         /* seconds of other operations */
    double memory_time;         /* seconds to read and write memory */
    double communication_time;  /* seconds of collectives that do not overlap */
    double matrix_operations;   /* number of operations of matrix products */
    double vector_operations;   /* number of other operations */
    double memory_bytes;        /* bytes read and written */
    double communication_bytes; /* bytes of the collectives, as in ppsched_link_rate */
    double tensor_time;         /* communication_time of tensor and expert tensor parallelism */
    double context_time;        /* communication_time of context parallelism */
    double expert_time;         /* communication_time of the all-to-all of experts */
    double launch_time; /* sum of `op_time`, plus the time in which the device waits for the host */
} ppsched_pass_cost;

/* Computes what a pass costs for one layer of a row. `pass`: enum ppsched_model_pass. Without an
 * accelerator the times are 0.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown row or pass. */
PPSCHED_API ppsched_status ppsched_model_get_pass_cost(ppsched_pass_cost *out,
                                                       const ppsched_model *model, uint32_t row,
                                                       int32_t pass, ppsched_error *error);

/* The memory of one layer on one device, in bytes. Activations follow Korthikanti et al., equations
 * 1 to 5. With GELU, dropout and kept scores, a decoder keeps
 *     T * h * (10 + 24 / t + 5 * a * s / (h * t)); with sequence parallelism
 *     T * h * (34 + 5 * a * s / h) / t.
 * Gated MLPs keep 6 * T * f / t, not 4 * T * f / t. If scores are not kept, 4 bytes per token and
 * head are kept instead. Routed tokens are divided evenly among experts. */
typedef struct ppsched_layer_memory {
    uint32_t size;
    uint32_t reserved;
    double parameters;               /* number of parameters on this device, not bytes */
    double weights;                  /* bytes of weights */
    double gradients;                /* bytes of gradients */
    double optimizer;                /* bytes of optimizer states */
    double activations;              /* activations of one microbatch, from forward to backward */
    double activations_until_weight; /* the part of `activations` that W still needs */
    double selective;                /* activations that remain with selective recomputation */
    double full;                     /* the layer's input, which full recomputation keeps */
    double output_bytes;             /* bytes of the activation for the next stage */
    double expert_parameters;        /* the part of `parameters` in experts */
    double modules;                  /* activations that remain with recomputation of modules */
    double trained;                  /* the part of `parameters` that is trained */
    double expert_trained;           /* the part of `expert_parameters` that is trained */
    double slice_state;              /* states of scans and convolutions, for the next slice */
    double slice_gradients; /* gradients of all keys and values, which are summed over slices */
} ppsched_layer_memory;

/* Computes the memory of one layer of a row.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for an unknown row. */
PPSCHED_API ppsched_status ppsched_model_get_memory(ppsched_layer_memory *out,
                                                    const ppsched_model *model, uint32_t row,
                                                    ppsched_error *error);

/* The cost of the update at the end of a step, after the last backward. In `optimizer_time` the
 * optimizer reads and writes all its states once. In `reduce_time` gradients are summed over data
 * and context parallelism and, if `sharding` is above 0, weights are all-gathered. Neither time
 * overlaps with compute. */
typedef struct ppsched_update_cost {
    uint32_t size;
    uint32_t reserved;
    double optimizer_time; /* time of the optimizer */
    double reduce_time;    /* gradient_time + parameter_time */
    double gradient_time;  /* time of the sums of gradients */
    double parameter_time; /* time of the all-gathers of weights */
} ppsched_update_cost;

/* Computes the cost of the update for a device with `parameters` parameters, `expert_parameters` of
 * them in experts. With FROZEN_WEIGHTS all these parameters count as frozen. If some parameters are
 * trained, call the function a second time for them, with a model without FROZEN_WEIGHTS. Then add
 * the costs of both calls.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE if a number is negative or not finite, or
 *   `expert_parameters` is larger than `parameters`. */
PPSCHED_API ppsched_status ppsched_model_get_update_cost(ppsched_update_cost *out,
                                                         const ppsched_model *model,
                                                         double parameters,
                                                         double expert_parameters,
                                                         ppsched_error *error);

/* Each row and pass has the factor measured time / predicted time: factors[3 * row + pass]. The
 * pass is FORWARD, INPUT or WEIGHT of enum ppsched_model_pass. A factor of 0 means 1. Rows past
 * `rows` have the factor 1. */
typedef struct ppsched_calibration {
    uint32_t size;
    uint32_t rows;
    const double *factors; /* 3 * `rows` factors; NULL if there are none */
} ppsched_calibration;

/* Makes the list of the model's layers with their costs, for plans. The caller owns one reference
 * to `*out`. `calibration` may be NULL.
 *   - Entries have the names of the rows. Consecutive equal layers are one entry.
 *   - Times are in seconds, memory in bytes. mem_weights is one version of the weights. mem_static
 *     is the gradients and optimizer states.
 *   - A tied embedding has PPSCHED_LAYER_FLAG_TIED. An MTP layer has
 *     PPSCHED_LAYER_FLAG_COPIES_EMBEDDING, and a tower PPSCHED_LAYER_FLAG_NOT_COPIED. A layer has
 *     PPSCHED_LAYER_FLAG_WITH_NEXT if the next layer shares its index, or gets features of a tower.
 *   - output_bytes includes all residual streams, and what later layers read: keys and values,
 *     features of towers, and inputs from the embedding.
 *   - With a WINDOWS flag a dense layer has two windows (attention, MLP); embedding, head and
 *     towers have one. With WINDOWS_EXPERTS a layer with experts has four: ops before the dispatch,
 *     dispatch, experts, combine. Collectives of WINDOWS_TENSOR and WINDOWS_CONTEXT are windows,
 *     too. For the same ops, the window of W comes after the windows of I. The slowdown of channel
 *     0 is `slowdown` of the device.
 *   - All layers except embedding and head have recompute kinds. Of "selective", "full" and, with
 *     recompute_modules, "modules", a layer has the kinds that reduce its memory.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE without an accelerator, with more `rows` than the model has,
 *   or with a factor that is negative or not finite; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layers_from_model(const ppsched_layers **out,
                                                     const ppsched_model *model,
                                                     const ppsched_calibration *calibration,
                                                     ppsched_error *error);

/* The result of megatron/training/theoretical_memory_usage.py (at d98e8a6) for the same model:
 * weights and optimizer states of the device that holds the most, and activations of the first
 * stage. The estimate assumes bf16, ignores full recomputation, and counts no activations of
 * experts and gates. */
typedef struct ppsched_megatron_memory {
    uint32_t size;
    uint32_t reserved;
    double weight_and_optimizer_bytes; /* of the device that holds the most */
    double activation_bytes; /* equals the next field if sequence parallelism and selective
                                recomputation are used; otherwise equals the last field */
    double activation_bytes_with_sequence_parallel; /* and with selective recomputation */
    double activation_bytes_without;                /* without sequence parallelism */
} ppsched_megatron_memory;

/* The pipeline of Megatron-LM's estimate. */
typedef struct ppsched_megatron_pipeline {
    uint32_t size;
    uint32_t devices;      /* number of devices, p */
    uint32_t chunks;       /* number of stages per device; 0 or 1: no interleaving */
    uint32_t microbatches; /* number of microbatches; 0 means unknown */
    uint32_t selective;    /* 1: --recompute-granularity selective */
    uint32_t reserved;
} ppsched_megatron_pipeline;

/* Computes the estimate of Megatron-LM.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE if `devices` is 0, or if the formula does not apply to the
 *   model: each layer must have attention, and an MLP or experts of one size. */
PPSCHED_API ppsched_status
ppsched_model_get_megatron_memory(ppsched_megatron_memory *out, const ppsched_model *model,
                                  const ppsched_megatron_pipeline *pipeline, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
