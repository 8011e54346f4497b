/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments make a training runtime run a schedule. They are for the command line or the
 * configuration of the runtime. */
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

/* The training runtimes. */
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

/* Facts that launch arguments need in addition to the schedule. Set `size` to sizeof of this
 * struct. A field that is 0 has its default. */
typedef struct ppsched_launch_options {
    uint32_t size;
    uint32_t exact;  /* 1: the call is refused if SAIL or PRIMUS would run another order than the
                        order of the schedule. 0: SAIL and PRIMUS may run another order; see
                        ppsched_schedule_write_launch_arguments */
    const char *csv; /* name of the file (PPSCHED_FORMAT_CSV) from which TORCHTITAN, PYTORCH,
                        COLOSSALAI and JAXPP read the order. NULL: no file if a schedule class of
                        the runtime has exactly this order, otherwise "schedule.csv". COLOSSALAI
                        has no such class for a V placement, so there it needs a file for every
                        order */
    uint32_t layers; /* number of decoder layers of the model. From this number, SAIL and TORCHTITAN
                        compute the number of stages per device. 0: the number is unknown, or is the
                        number in `model` */
    uint32_t micro_batch;        /* number of samples per microbatch, for the batch sizes in the
                                    arguments. 0: the number is unknown, and the arguments have no
                                    batch sizes */
    const ppsched_layers *model; /* the layers of the model. With `split` the arguments also say
                                    which layers each stage has. NULL: the layers and the split are
                                    unknown */
    const ppsched_split *split;  /* which layers are in which stage. Set both `model` and `split`,
                                    or neither */
    uint32_t data_parallel;      /* number of replicas of the pipeline; 0 means 1 */
    uint32_t reserved;           /* 0 */
} ppsched_launch_options;

/* The runtime's name on the command line, such as "megatron"; NULL for an unknown runtime. Runtimes
 * are numbered from 1. Static storage. */
PPSCHED_API const char *ppsched_runtime_name(int32_t runtime);

/* Writes the arguments for a runtime (enum ppsched_runtime): one line of words, separated by blanks
 * and quoted for a shell. `options` may be NULL. Fills a buffer: see ppsched.h.
 *   - The line has layers and batch sizes, and the flags that depend on these, only if `options`
 *     states them.
 *   - Layers of `model` that must be in the first stage count as the embedding. Layers that must be
 *     in the last stage count as the head. Layers with the name "mtp" are MTP layers. All other
 *     layers are decoders.
 *   - All runtimes except SAIL and PRIMUS run exactly the order of the schedule. SAIL runs the
 *     order of 1F1B exactly. PRIMUS runs some orders exactly. For all other orders, SAIL and PRIMUS
 *     compute an order of the same kind themselves; the name of the schedule says which kind. With
 *     `exact`, the call is refused for these other orders.
 * Errors: ARGUMENT, also for an unknown runtime, for a file name with a control character, for
 *   `model` without `split` or `split` without `model`, and if `layers` is not the number of
 *   decoders of `model`; STRUCT_SIZE, RANGE, NO_MEMORY; MISMATCH if split and schedule have
 *   different numbers of stages; INVALID_SCHEDULE if the schedule is incomplete, or cannot be run
 *   at all; REFUSED if this runtime cannot run the schedule (the message has the reason, and the
 *   runtimes that can run the schedule); BUFFER.
 * Thread-safety: the rules for ppsched_schedule apply. */
PPSCHED_API ppsched_status ppsched_schedule_write_launch_arguments(
    char *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule, int32_t runtime,
    const ppsched_launch_options *options, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
