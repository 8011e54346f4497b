/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a problem's stages: which feed which, which passes and microbatches they have,
 * and on which devices they run. */
#ifndef PPSCHED_STAGE_GRAPH_H
#define PPSCHED_STAGE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The passes that a stage has. */
enum ppsched_stage_passes {
    PPSCHED_STAGE_PASSES_FORWARD_BACKWARD = 1, /* F, and B or I and W: the default */
    PPSCHED_STAGE_PASSES_FORWARD_INPUT = 2, /* F and I: frozen weights; the I releases all that the
                                                  F took */
    PPSCHED_STAGE_PASSES_FORWARD = 3        /* F alone, whose memory is free again at its end */
};

/* Sets which stages feed each stage: `counts` has S numbers of inputs, `inputs` the numbers of
 * these stages, stage by stage, each below that of the stage that it feeds; `count` must be S.
 * `count` 0: a chain again (the default), in which each stage feeds the next. An F waits for the
 * Fs of the inputs, a B or I for the B or I of all stages that its stage feeds and that have
 * one; without any it follows its own F. A microbatch skips stages that do not run it. A stage
 * sends its `activation_bytes` to each stage that it feeds, and its `gradient_bytes` (default:
 * the activation's) to each input with a backward.
 * Errors: ARGUMENT, LENGTH; RANGE where an input is no stage, or not below the stage; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_inputs(ppsched_config *config,
                                                           const uint32_t *counts,
                                                           const uint32_t *inputs, size_t count,
                                                           ppsched_error *error);

/* Sets the passes of each stage (enum ppsched_stage_passes); `count` must be S, or 0 for the
 * default.
 * Errors: ARGUMENT, LENGTH, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_passes(ppsched_config *config,
                                                           const int32_t *passes, size_t count,
                                                           ppsched_error *error);

/* Sets the microbatches of an iteration that a stage runs; `count` 0: all (the default).
 * Errors: ARGUMENT; RANGE where there is no such stage or microbatch; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_microbatches(ppsched_config *config,
                                                                 uint32_t stage,
                                                                 const uint32_t *microbatches,
                                                                 size_t count,
                                                                 ppsched_error *error);

/* Sets map placement with one or more devices for each stage: `counts` has S numbers of devices,
 * `devices` the devices, stage by stage. An op of a stage on several devices stands in the queue
 * of each of them, and starts and ends at the same time on all; its time, at the slowest of
 * their speeds, and its memory count on each. Its input is there when the latest transfer from
 * one of the other stage's devices to one of its own is over.
 * Errors: ARGUMENT, LENGTH; RANGE where a device is none, or twice in a stage; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_devices(ppsched_config *config,
                                                            const uint32_t *counts,
                                                            const uint32_t *devices, size_t count,
                                                            ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
