/* SPDX-License-Identifier: Apache-2.0 */
/* What to type: the arguments with which a training runtime runs a schedule. */
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
    PPSCHED_RUNTIME_PYTORCH = 3,    /* torch.distributed.pipelining: settings of the script,
                                       NAME=VALUE */
    PPSCHED_RUNTIME_DEEPSPEED = 4,  /* DeepSpeed: num_stages of PipelineModule, and a key of its
                                       configuration, NAME=VALUE */
    PPSCHED_RUNTIME_SAIL = 5,       /* sail-sg's zero-bubble fork of Megatron-LM: flags of its
                                       launcher */
    PPSCHED_RUNTIME_PRIMUS = 6,     /* AMD Primus on Megatron-LM: overrides of its configuration */
    PPSCHED_RUNTIME_COLOSSALAI = 7, /* Colossal-AI: arguments of HybridParallelPlugin, NAME=VALUE */
    PPSCHED_RUNTIME_JAXPP = 8,      /* JaxPP: a schedule class and its arguments, NAME=VALUE */
    PPSCHED_RUNTIME_MINDSPEED = 9   /* MindSpeed on Megatron-LM: flags of its launcher */
};

/* Sized: set `size`; zero means the default. */
typedef struct ppsched_launch_options {
    uint32_t size;
    uint32_t exact;  /* 1: refuse too where the runtime would plan an order of its own of that kind
                        (SAIL, PRIMUS) */
    const char *csv; /* file that TORCHTITAN, PYTORCH and JAXPP shall read the order from, as
                        PPSCHED_FORMAT_CSV has it; NULL: none where a schedule class of theirs
                        makes this very order, else "schedule.csv", as for COLOSSALAI's v */
    uint32_t layers; /* decoder layers of the model, from which SAIL and TORCHTITAN take how
                             many stages a device has; 0: unknown, or those of `model` */
    uint32_t micro_batch;        /* samples of a microbatch, from which follow the batch sizes that
                             runtimes are told; 0: unknown, they are left out */
    const ppsched_layers *model; /* the model by its layers, and which are in which stage: the line
                                    then tells that too. NULL: unknown, both */
    const ppsched_split *split;
    uint32_t data_parallel; /* replicas of the pipeline; 0 means 1 */
    uint32_t reserved;      /* 0 */
} ppsched_launch_options;

/* The runtime's name on the command line, such as "megatron"; NULL for an unknown one. Runtimes are
 * numbered from 1. Static storage. */
PPSCHED_API const char *ppsched_runtime_name(int32_t runtime);

/* Writes the arguments for a runtime (enum ppsched_runtime): one line of words with blanks between,
 * quoted for a shell. `options` may be NULL. Fills a buffer: see ppsched.h.
 *   - Left out is what neither a schedule nor the options tell: layers, batch sizes, and flags that
 *     follow from these. Layers for the first stage are the embedding, those for the last one the
 *     head, those called "mtp" MTP layers, all others decoders.
 *   - All but SAIL and PRIMUS run the very order of the schedule. SAIL does for 1F1B and PRIMUS for
 *     some; else they plan one of their own of the kind that the schedule's name tells, unless
 *     `exact` is 1.
 * Errors: ARGUMENT, also for an unknown runtime, and a file name that fits into no line;
 *   STRUCT_SIZE, RANGE, NO_MEMORY; MISMATCH where the split has another number of stages;
 *   INVALID_SCHEDULE where the schedule cannot be run at all;
 *   REFUSED where the runtime cannot run it, with the reason and the runtimes that can; BUFFER.
 * Thread-safety: as the schedule. */
PPSCHED_API ppsched_status ppsched_schedule_write_launch_arguments(
    char *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule, int32_t runtime,
    const ppsched_launch_options *options, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
