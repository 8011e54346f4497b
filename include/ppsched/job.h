/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: all layouts of a training on a number of devices, bounded, priced and ranked. A layout says
 * how tensor, context, expert and data parallelism and the pipeline divide the devices, how many
 * stages a device has, how large microbatches are, and what is sharded.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * A job is used in one of two ways:
 *   - ppsched_job_run prices what its bounds do not rule out, and keeps the best.
 *   - The caller prices layouts itself, in several threads or processes: with
 *     ppsched_job_evaluate_layout in the order of their numbers, until the bound of the next one is
 *     above the worst that is still wanted. Both give the same layouts, to the last bit.
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

/* What layouts differ in. Without a list of a dimension's values all are tried that the model and
 * the devices allow, as follows; values of a list that do not go together are left out. */
enum ppsched_job_dimension {
    PPSCHED_JOB_DIMENSION_TENSOR = 0,  /* divisors of the devices, within a node */
    PPSCHED_JOB_DIMENSION_CONTEXT = 1, /* divisors c of the devices; 2c divides the sequence, and
                                          each device has at least 1024 tokens of one */
    PPSCHED_JOB_DIMENSION_EXPERT = 2,  /* divisors of the devices; 1 for models without experts */
    PPSCHED_JOB_DIMENSION_EXPERT_TENSOR = 3, /* 1, and that of tensor parallelism */
    PPSCHED_JOB_DIMENSION_PIPELINE = 4,      /* divisors of the devices, up to the layers */
    PPSCHED_JOB_DIMENSION_CHUNKS = 5,      /* stages of a device: 1 to 4, and those that divide the
                                         decoders of a device; on one device 1 */
    PPSCHED_JOB_DIMENSION_MICRO_BATCH = 6, /* powers of 2 up to 64 */
    PPSCHED_JOB_DIMENSION_SHARDING = 7,    /* 1 and 3 (ZeRO-1, FSDP); without replicas 0 */
    PPSCHED_JOB_DIMENSION_GLOBAL_BATCH = 8 /* sequences of a step: 4 Mi tokens, rounded up to a
                                              multiple of the largest divisor of the devices
                                              that is not larger */
};

/* Values of a dimension. A plain record. */
typedef struct ppsched_job_list {
    int32_t dimension; /* enum ppsched_job_dimension */
    uint32_t count;    /* 1 or more */
    const uint32_t *values;
} ppsched_job_list;

/* By what layouts are ranked; those that some runtime runs come first. Layouts of equal times are
 * ranked by memory, then by number. */
enum ppsched_job_goal {
    PPSCHED_JOB_GOAL_STEP = 0,  /* the time of a step */
    PPSCHED_JOB_GOAL_TOKENS = 1 /* time for each token, which differs from it where batches do */
};

/* The layouts to list, and how to rank them. Sized: set `size`; zero means the default. Lists are
 * read during the call only. */
typedef struct ppsched_job_options {
    uint32_t size;
    uint32_t gpus; /* all devices, 1 to 2^20; required */
    const ppsched_job_list *lists;
    uint32_t list_count;
    int32_t goal;    /* enum ppsched_job_goal */
    int32_t runtime; /* enum ppsched_runtime: only what it runs. Default: what any runtime runs */
    uint32_t top;    /* how many of the best are wanted; 10 */
    const char *const *strategies; /* names or aliases. Default: 1f1b, zb_h1, interleaved_1f1b,
                                      interleaved_zb and zbv */
    uint32_t strategy_count;
    uint32_t reserved;                /* 0 */
    double memory_limit;              /* bytes of a device; 0: `memory` of the accelerator */
    const ppsched_layer_table *table; /* measured costs, read during the call only; NULL: none */
} ppsched_job_options;

/* A job. Layouts are numbered from 0 in the order of their bounds; those whose memory cannot fit
 * come last.
 * Lifetime: the caller destroys it. It copies what it needs, and holds a reference to the
 *   description.
 * Thread-safety: any number of threads may use it at once, also ppsched_job_evaluate_layout, but
 *   nothing else while ppsched_job_run runs. */
typedef struct ppsched_job ppsched_job;

/* Lists the layouts of a job, and bounds each. Of `training`, the parallelism, the sharding and the
 * micro-batch are not read; its flags say what overlaps. `environment` may be NULL.
 * With a table all layouts are priced as ppsched_model_create_measured does. Its rows must say each
 * size in which layouts differ: a cost that holds for any micro-batch would make large ones free.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, also where no layout is possible, with what would be: a
 *   batch that no data parallelism divides is told with some that it may have; with a table also as
 *   ppsched_model_create_measured, and for a row that leaves such a size open; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_job_create(
    ppsched_job **out, const ppsched_description *description, const ppsched_training *training,
    const ppsched_accelerator *accelerator, const ppsched_job_options *options,
    const ppsched_environment *environment, ppsched_error *error);
PPSCHED_API void ppsched_job_destroy(ppsched_job *job);

/* What is known of a layout. */
enum ppsched_job_state {
    PPSCHED_JOB_STATE_LISTED = 0,       /* nothing but its bounds */
    PPSCHED_JOB_STATE_SLOWER = 1,       /* its bound on time rules it out of the wanted ranks */
    PPSCHED_JOB_STATE_OVER_LIMIT = 2,   /* its bound on memory is above the limit */
    PPSCHED_JOB_STATE_DOES_NOT_FIT = 3, /* priced: no schedule and recomputation fits */
    PPSCHED_JOB_STATE_REFUSED = 4,      /* no strategy, or not the runtime, supports its sizes */
    PPSCHED_JOB_STATE_PRICED = 5
};

/* A layout. Sized. */
typedef struct ppsched_job_layout {
    uint32_t size;
    int32_t state; /* enum ppsched_job_state */
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel;
    uint32_t expert_tensor_parallel;
    uint32_t pipeline; /* devices of a pipeline */
    uint32_t data_parallel;
    uint32_t chunks;
    uint32_t micro_batch_size;
    uint32_t microbatches; /* of a replica in a step */
    uint32_t global_batch; /* sequences of a step */
    uint32_t sharding;
    uint32_t rank;       /* PPSCHED_NONE: not among the best */
    double bound;        /* seconds: no schedule and recomputation that is tried is faster */
    double least_memory; /* bytes that the fullest device needs at least */
} ppsched_job_layout;

/* How many layouts are listed, and one of them.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a layout past the last. */
PPSCHED_API uint32_t ppsched_job_layout_count(const ppsched_job *job);
PPSCHED_API ppsched_status ppsched_job_get_layout(ppsched_job_layout *out, const ppsched_job *job,
                                                  uint32_t layout, ppsched_error *error);

/* What the search found for one layout. Sized. */
typedef struct ppsched_job_found {
    uint32_t size;
    int32_t state;    /* enum ppsched_job_state, but LISTED and OVER_LIMIT */
    uint32_t runs_on; /* the runtimes that run it, bits 1 << enum ppsched_runtime: its order, split
                         and recomputation exactly, and its parallelism by a rule of thumb */
    uint32_t tried;   /* how many pipelines were priced for it */
    double memory;    /* bytes of the fullest device, with buffers for what it sends and receives */
} ppsched_job_found;

/* Prices one layout: tries strategies, splits and recomputation, and takes the fastest that fits,
 * of those that some runtime runs if any is. `above`: seconds; if nothing of the layout can be
 * faster, the state is SLOWER (infinity: price in any case). `*out` is the price, which the caller
 * destroys, if the state is PRICED; if it is DOES_NOT_FIT, that of the pipeline that lacks least;
 * else NULL. The result does not depend on what was priced before.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a layout past the last; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_job_evaluate_layout(ppsched_price **out,
                                                       ppsched_job_found *found,
                                                       const ppsched_job *job, uint32_t layout,
                                                       double above, ppsched_error *error);

/* Sets what ppsched_job_run calls between layouts, with the `share` that is done of those that may
 * have to be priced, and the `best` time so far in seconds; NULL: nothing.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_job_set_progress(ppsched_job *job,
                                                    ppsched_progress_function progress, void *user,
                                                    ppsched_error *error);

/* Prices as many layouts as the wanted ranks need. May be called once.
 * Errors: ARGUMENT; CANCELLED if the progress function asks for it, then nothing is ranked;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_job_run(ppsched_job *job, ppsched_error *error);

/* How many layouts have a rank, at most `top`, and the number of one; PPSCHED_NONE past the
 * last. */
PPSCHED_API uint32_t ppsched_job_best_count(const ppsched_job *job);
PPSCHED_API uint32_t ppsched_job_layout_at_rank(const ppsched_job *job, uint32_t rank);

#ifdef __cplusplus
}
#endif
#endif
