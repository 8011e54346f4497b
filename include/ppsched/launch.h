/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments: what a training runtime gets on its command line, or in its configuration, to
 * run a schedule. */
#ifndef PPSCHED_LAUNCH_H
#define PPSCHED_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/export_macro.h>
#include <ppsched/layers.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ppsched_runtime {
    PPSCHED_RUNTIME_MEGATRON = 1,   /* Megatron-LM: flags of its launcher */
    PPSCHED_RUNTIME_TORCHTITAN = 2, /* torchtitan: flags of its launcher */
    PPSCHED_RUNTIME_PYTORCH = 3,    /* torch.distributed.pipelining: settings for the script,
                                       NAME=VALUE */
    PPSCHED_RUNTIME_DEEPSPEED = 4,  /* DeepSpeed: num_stages of PipelineModule and a key of its
                                       configuration, NAME=VALUE */
    PPSCHED_RUNTIME_SAIL = 5,       /* sail-sg's zero-bubble fork of Megatron-LM: flags of its
                                       launcher */
    PPSCHED_RUNTIME_PRIMUS = 6,     /* AMD Primus on Megatron-LM: overrides of its configuration */
    PPSCHED_RUNTIME_COLOSSALAI = 7, /* Colossal-AI: arguments of HybridParallelPlugin, NAME=VALUE */
    PPSCHED_RUNTIME_JAXPP = 8,      /* JaxPP: a schedule class and its arguments, NAME=VALUE */
    PPSCHED_RUNTIME_MINDSPEED = 9   /* MindSpeed on Megatron-LM: flags of its launcher */
};

/* What is known of the model and the run. Sized: set `size`; zero means the default. */
typedef struct ppsched_launch_options {
    uint32_t size;
    uint32_t exact;  /* 1: also REFUSED if the runtime would make another order of the same kind
                        (SAIL, PRIMUS) */
    const char *csv; /* file from which TORCHTITAN, PYTORCH and JAXPP read the order, in
                        PPSCHED_FORMAT_CSV. NULL: no file if one of their schedule classes makes
                        exactly this order, else "schedule.csv", which also COLOSSALAI reads on the
                        V placement */
    uint32_t layers; /* number of decoders of the model, from which SAIL and TORCHTITAN compute the
                        stages per device; 0: unknown, or those of `model` */
    uint32_t micro_batch;        /* samples per microbatch, from which the batch sizes follow; 0:
                                    unknown, batch sizes are left out */
    const ppsched_layers *model; /* layers of the model; the line then also contains the split and
                                    the recomputation. NULL: unknown */
    const ppsched_split *split;  /* split of `model`; NULL without it */
    uint32_t data_parallel;      /* replicas of the pipeline; 0 means 1 */
    uint32_t reserved;           /* 0 */
} ppsched_launch_options;

/* The name of a runtime on the command line, such as "megatron"; NULL for an unknown one. Runtimes
 * are numbered from 1. Static storage. */
PPSCHED_API const char *ppsched_runtime_name(int32_t runtime);

/* Writes the arguments for a runtime (enum ppsched_runtime): one line of words separated by blanks,
 * quoted for a shell. `options` may be NULL. Fills a buffer: see ppsched.h.
 *   - What is unknown is left out: layers, batch sizes, and flags that follow from these.
 *   - Layers for the first stage count as the embedding, those for the last stage as the head,
 *     those with the name "mtp" as MTP layers, all others as decoders.
 *   - All runtimes but SAIL and PRIMUS run exactly the order of the schedule. SAIL does so for
 *     1F1B, and PRIMUS for some orders. Otherwise they make an order of the kind that the
 *     schedule's name says, unless `exact` is 1.
 * Errors: ARGUMENT, also for an unknown runtime, or a file name that cannot be put in a line;
 *   STRUCT_SIZE, RANGE, NO_MEMORY; MISMATCH where the split has another number of stages;
 *   INVALID_SCHEDULE where the order cannot be run; REFUSED where the runtime cannot run the
 *   schedule, with the reason and the runtimes that can; BUFFER.
 * Thread-safety: as the schedule. */
PPSCHED_API ppsched_status ppsched_schedule_write_launch_arguments(
    char *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule, int32_t runtime,
    const ppsched_launch_options *options, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
