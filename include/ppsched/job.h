/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs. A job lists all layouts of a training on a number of devices, computes lower bounds on
 * their times and memory, prices them (price.h), and ranks them. A layout says how tensor, context,
 * expert and data parallelism and the pipeline divide the devices. A layout also says how many
 * stages a device has, how large microbatches are, and what is sharded.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * A job is used in one of two ways:
 *   - ppsched_job_run prices all layouts, except those that are too slow or too large by their
 *     bounds. It then ranks the best layouts.
 *   - The caller prices layouts with ppsched_job_evaluate_layout, in the order of their numbers,
 *     possibly in several threads or processes. Suppose that the caller wants the n best layouts.
 *     The caller then stops as soon as the bound of the next layout is above the n-th best time so
 *     far.
 * Both ways give exactly the same layouts.
 *
 * Sample:
 *     const ppsched_transformer llama = {
 *         .size = sizeof llama,
 *         .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
 *         .layers = 32, .hidden_size = 4096, .heads = 32, .key_value_heads = 8,
 *         .ffn_size = 14336, .vocabulary_size = 128256};
 *     const ppsched_training training = {.size = sizeof training, .sequence_length = 4096};
 *     const ppsched_job_options options = {.size = sizeof options, .gpus = 16};
 *     const ppsched_description *description = NULL;
 *     ppsched_job *job = NULL;
 *     ppsched_job_layout best = {.size = sizeof best};
 *     ppsched_status status =
 *         ppsched_description_from_transformer(&description, &llama, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_job_create(&job, description, &training, ppsched_accelerator_at(0),
 *                                     &options, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_job_run(job, NULL);
 *     if (status == PPSCHED_OK && ppsched_job_best_count(job) > 0)
 *         status = ppsched_job_get_layout(&best, job, ppsched_job_layout_at_rank(job, 0), NULL);
 *     ppsched_job_destroy(job);
 *     ppsched_description_release(description);
 */
#ifndef PPSCHED_JOB_H
#define PPSCHED_JOB_H

#include <stdint.h>

#include <ppsched/description.h>
#include <ppsched/environment.h>
#include <ppsched/evaluate.h>
#include <ppsched/export_macro.h>
#include <ppsched/layer_table.h>
#include <ppsched/model.h>
#include <ppsched/price.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Dimensions: the numbers in which layouts differ. The options may have a list of values for a
 * dimension. If the options have no such list, the values after "Tries" in the comment of the
 * dimension are tried. Values and combinations that the model or the devices do not allow are left
 * out. */
enum ppsched_job_dimension {
    PPSCHED_JOB_DIMENSION_TENSOR = 0,  /* degree of tensor parallelism. Tries the divisors of the
                                          number of devices, up to the number of devices of a
                                          node */
    PPSCHED_JOB_DIMENSION_CONTEXT = 1, /* degree c of context parallelism. Tries each divisor c of
                                          the number of devices for which 2c divides the sequence
                                          length, and each device has at least 1024 tokens of a
                                          sequence */
    PPSCHED_JOB_DIMENSION_EXPERT = 2,  /* degree of expert parallelism. Tries the divisors of the
                                          number of devices; only 1 for models without experts */
    PPSCHED_JOB_DIMENSION_EXPERT_TENSOR = 3, /* degree of tensor parallelism of experts. Tries 1,
                                                and the degree of TENSOR */
    PPSCHED_JOB_DIMENSION_PIPELINE = 4,      /* number of devices of a pipeline. Tries the divisors
                                                of the number of devices, up to the number of
                                                layers */
    PPSCHED_JOB_DIMENSION_CHUNKS = 5,        /* number of stages per device. Tries 1 to 4, and the
                                                divisors of the number of decoder layers per device;
                                                only 1 if the pipeline has one device */
    PPSCHED_JOB_DIMENSION_MICRO_BATCH = 6,   /* number of sequences in a microbatch. Tries the
                                                powers of 2 up to 64 */
    PPSCHED_JOB_DIMENSION_SHARDING = 7,      /* `sharding` of ppsched_training. Tries 1 and 3
                                                (ZeRO-1 and FSDP); only 0 if there is one replica */
    PPSCHED_JOB_DIMENSION_GLOBAL_BATCH = 8,  /* number of sequences in a step. Tries one value: the
                                                number n of sequences that have 4 Mi tokens in all,
                                                rounded up to a multiple of d. d is the largest
                                                divisor of the number of devices that is at most
                                                n */
    PPSCHED_JOB_DIMENSION_RANK_ORDER = 9     /* enum ppsched_rank_order. Tries only DATA_FIRST.
                                                PIPELINE_FIRST is left out if it gives the same
                                                result as DATA_FIRST. This is so with one replica,
                                                with one device per pipeline, and with all devices
                                                in one node */
};

/* The name of a dimension, as in options of the command and in JSON: "tp", "cp", "ep", "etp", "pp",
 * "chunks", "micro_batch", "zero", "global_batch" or "rank_order". NULL for an unknown number. */
PPSCHED_API const char *ppsched_job_dimension_name(int32_t job_dimension);

/* The values to try for one dimension. A plain record: its layout never changes. */
typedef struct ppsched_job_list {
    int32_t dimension; /* enum ppsched_job_dimension */
    uint32_t count;    /* number of values, 1 or more */
    const uint32_t *values;
} ppsched_job_list;

/* The time by which layouts are ranked. Layouts that at least one runtime can run come before all
 * other layouts. If times are equal, the layout with less memory comes first, then the layout with
 * the lower number. */
enum ppsched_job_goal {
    PPSCHED_JOB_GOAL_STEP = 0,  /* the time of a step */
    PPSCHED_JOB_GOAL_TOKENS = 1 /* the time of a step divided by the tokens of the step, for layouts
                                   with different global batches */
};

/* The name of an enumerator, as in names.h. */
PPSCHED_API const char *ppsched_job_goal_name(int32_t job_goal);

/* Devices of one type. A plain record: its layout never changes. */
typedef struct ppsched_job_type {
    const ppsched_accelerator *accelerator;
    uint32_t gpus;       /* number of devices of this type, 1 or more */
    uint32_t reserved;   /* 0 */
    double memory_limit; /* memory limit of each of these devices in bytes. 0: the limit of the
                            options or, if they have none, `memory` of the accelerator */
} ppsched_job_type;

/* The layouts to list, and how to rank them. Set `size` to sizeof of this struct. A field that is 0
 * has its default. All lists, `table` and `types` are read only during the call.
 *
 * With `types`, devices differ:
 *   - The numbers of devices of all types must add up to `gpus`.
 *   - Each device of a pipeline consists of GPUs of one type, and the devices of a type are
 *     consecutive in the pipeline. With up to 3 types, all orders of the types are tried. With more
 *     types, only the given order is tried.
 *   - Each type has its own nodes. For a link between devices of two types, take one link of each
 *     type: its link between pods if the type has pods, otherwise its link between nodes. The link
 *     has the larger latency and the smaller bandwidth of these two links.
 *   - The order of ranks must be DATA_FIRST, and `table` must be NULL. */
typedef struct ppsched_job_options {
    uint32_t size;
    uint32_t gpus;                 /* number of devices of the job, 1 to 2^20. Required */
    const ppsched_job_list *lists; /* the values to try, in one list per dimension */
    uint32_t list_count;
    int32_t goal;    /* enum ppsched_job_goal */
    int32_t runtime; /* enum ppsched_runtime. If set, only layouts that this runtime can run are
                        listed. Default: all layouts */
    uint32_t top;    /* number of best layouts to find. Default: 10 */
    const char *const *strategies; /* names or aliases of the strategies to try. Default: 1f1b,
                                      zb_h1, interleaved_1f1b, interleaved_zb and zbv; also zb_auto
                                      for pipelines of at most 1024 stage passes */
    uint32_t strategy_count;
    uint32_t type_count;              /* number of `types`, at most 8; 0: all devices are alike */
    double memory_limit;              /* memory limit of each device in bytes. Default: `memory` of
                                         the accelerator */
    const ppsched_layer_table *table; /* measured costs; NULL if there are none */
    const ppsched_job_type *types;    /* types of devices (see above) */
} ppsched_job_options;

/* A job. Its layouts are numbered from 0 in the order of the bounds on their times (with
 * PPSCHED_JOB_GOAL_TOKENS, times per token). Layouts that cannot fit into memory come last.
 * Lifetime: the caller destroys it. It copies its arguments, except the description, to which it
 *   holds a reference.
 * Thread-safety: any number of threads may use a job at the same time, also with
 *   ppsched_job_evaluate_layout. While ppsched_job_run runs, no other thread may use the job. */
typedef struct ppsched_job ppsched_job;

/* Makes a job: lists its layouts, and computes their bounds. `environment` may be NULL.
 *   - The call ignores the parallelism, the sharding and the micro-batch size of `training`. The
 *     flags of `training` say what overlaps. WINDOWS flags are refused (RANGE).
 *   - With a table, the costs of all layouts come from the table, as in
 *     ppsched_model_create_measured. Each row of the table must have a value above 0 for each size
 *     that differs between the layouts, such as micro_batch_size. The reason: a row with
 *     micro_batch_size 0 would give large micro-batches the cost of small micro-batches.
 *   - If the options have `types`, `accelerator` is not read, and may be NULL.
 * Errors: ARGUMENT; STRUCT_SIZE; NO_MEMORY; UNKNOWN_STRATEGY; REFUSED for a strategy with which
 *   layouts cannot be priced (the message says why); RANGE, also if no layout is possible (the
 *   message says what would work, such as a batch that is a multiple of a possible number of
 *   replicas). With a table: also the errors of ppsched_model_create_measured, and RANGE for a row
 *   with 0 for a size that differs between the layouts. */
PPSCHED_API ppsched_status ppsched_job_create(
    ppsched_job **out, const ppsched_description *description, const ppsched_training *training,
    const ppsched_accelerator *accelerator, const ppsched_job_options *options,
    const ppsched_environment *environment, ppsched_error *error);
PPSCHED_API void ppsched_job_destroy(ppsched_job *job);

/* What is known about a layout. */
enum ppsched_job_state {
    PPSCHED_JOB_STATE_LISTED = 0,       /* only the bounds of the layout are known */
    PPSCHED_JOB_STATE_SLOWER = 1,       /* the bound on the time of the layout shows that the layout
                                           is not among the `top` best */
    PPSCHED_JOB_STATE_OVER_LIMIT = 2,   /* the bound on the memory of the layout is above the memory
                                           limit */
    PPSCHED_JOB_STATE_DOES_NOT_FIT = 3, /* no combination of schedule and recomputation that was
                                           tried for the layout fits into memory */
    PPSCHED_JOB_STATE_REFUSED = 4,      /* no strategy supports the sizes of the layout, or the
                                           runtime of the options does not support these sizes */
    PPSCHED_JOB_STATE_PRICED = 5        /* the layout has a price */
};

/* The name of an enumerator, as in names.h. */
PPSCHED_API const char *ppsched_job_state_name(int32_t job_state);

/* A layout. Set `size` to sizeof of this struct. */
typedef struct ppsched_job_layout {
    uint32_t size;
    int32_t state; /* enum ppsched_job_state */
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel;
    uint32_t expert_tensor_parallel;
    uint32_t pipeline; /* number of devices of a pipeline */
    uint32_t data_parallel;
    uint32_t chunks;           /* number of stages per device */
    uint32_t micro_batch_size; /* number of sequences in a microbatch */
    uint32_t microbatches;     /* number of microbatches of a replica in a step */
    uint32_t global_batch;     /* number of sequences in a step */
    uint32_t sharding;
    uint32_t rank;       /* rank of the layout: 0 for the best, PPSCHED_NONE if it is not among the
                            best */
    double bound;        /* lower bound on the step time in seconds. It holds for each schedule and
                            recomputation that is tried */
    double least_memory; /* lower bound on the memory of one device in bytes. This device is the one
                            for which the bound minus the memory limit is largest */
    int32_t rank_order;  /* enum ppsched_rank_order */
    uint32_t type_order; /* order of the types of devices in the pipeline, as the number of the
                            permutation in lexicographic order. 0: the order of the options */
    double memory_limit; /* memory limit of the device of `least_memory` in bytes */
} ppsched_job_layout;

/* The first function returns how many layouts are listed. The second describes one of them.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a layout past the last. */
PPSCHED_API uint32_t ppsched_job_layout_count(const ppsched_job *job);
PPSCHED_API ppsched_status ppsched_job_get_layout(ppsched_job_layout *out, const ppsched_job *job,
                                                  uint32_t layout, ppsched_error *error);

/* What the search found for one layout. Set `size` to sizeof of this struct. */
typedef struct ppsched_job_found {
    uint32_t size;
    int32_t state;    /* enum ppsched_job_state, except LISTED and OVER_LIMIT */
    uint32_t runs_on; /* the runtimes that can run the layout, as bits 1 << enum ppsched_runtime.
                         These runtimes can run exactly the order of ops, the split and the
                         recomputation. But the library decides only by a rule of thumb whether a
                         runtime supports the parallelism of the layout */
    uint32_t tried;   /* number of pipelines (strategy, split and recomputation) that were priced
                         for the layout */
    double memory;    /* peak memory of one device in bytes, with its send and receive buffers. This
                         device is the one for which the memory minus the memory limit is largest.
                         If all limits are equal, it is the fullest device */
    double memory_limit; /* memory limit of this device in bytes */
} ppsched_job_found;

/* Prices one layout. The call tries combinations of strategy, split and recomputation (pipelines),
 * and takes the fastest one that fits into memory. If a runtime can run at least one pipeline that
 * fits, the call compares only pipelines that a runtime can run.
 *   - `above` is a time in seconds. If no pipeline of the layout can take less time than `above`,
 *     the state is SLOWER. If `above` is infinite, the state is never SLOWER.
 *   - If the state is PRICED, `*out` receives the price. If the state is DOES_NOT_FIT, `*out`
 *     receives the price of the pipeline that exceeds the limit by the fewest bytes. In both states
 *     the caller must destroy the price. In all other states `*out` receives NULL.
 * The result does not depend on which layouts were priced before.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a layout past the last, or if `above` is negative;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_job_evaluate_layout(ppsched_price **out,
                                                       ppsched_job_found *found,
                                                       const ppsched_job *job, uint32_t layout,
                                                       double above, ppsched_error *error);

/* Sets the progress callback that ppsched_job_run calls between layouts. `share` is the number of
 * layouts that are done, divided by the number of layouts whose state is not OVER_LIMIT. When the
 * call ends, `share` may be below 1. `best` is the best time so far in seconds. A NULL `progress`
 * means no callback.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_job_set_progress(ppsched_job *job,
                                                    ppsched_progress_function progress, void *user,
                                                    ppsched_error *error);

/* Prices as many layouts as are needed to find the `top` best layouts. The call may be made only
 * once.
 * Errors: ARGUMENT; CANCELLED if the progress callback stops the call (then no layout has a rank);
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_job_run(ppsched_job *job, ppsched_error *error);

/* The first function returns how many layouts have a rank, at most `top`. The second returns the
 * number of the layout that has the rank `rank`, or PPSCHED_NONE for a rank past the last. */
PPSCHED_API uint32_t ppsched_job_best_count(const ppsched_job *job);
PPSCHED_API uint32_t ppsched_job_layout_at_rank(const ppsched_job *job, uint32_t rank);

#ifdef __cplusplus
}
#endif
#endif
