/* SPDX-License-Identifier: Apache-2.0 */
/* The stage graph of a problem: for each stage, the stages whose outputs it reads, its passes, its
 * microbatches, and the devices on which it runs. Without a stage graph, the stages are a chain. */
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
    PPSCHED_STAGE_PASSES_FORWARD_BACKWARD = 1, /* a microbatch runs F on the stage, and then either
                                                  B, or I and W. This is the default */
    PPSCHED_STAGE_PASSES_FORWARD_INPUT = 2,    /* a microbatch runs F and I on the stage, but no W,
                                                  because the stage's weights are frozen. The I
                                                  releases all memory that was taken by the F */
    PPSCHED_STAGE_PASSES_FORWARD = 3           /* a microbatch runs only F on the stage. The memory
                                                  of F is freed when F ends */
};

/* Sets the inputs of each stage: the stages whose outputs it reads. `counts` has S values: how many
 * inputs each stage has. `inputs` lists the numbers of the inputs of stage 0, then of stage 1, and
 * so on. An input must have a lower number than its stage. `count` must be S, or 0 for the default:
 * a chain in which each stage is the input of the next.
 *   - An F waits for the Fs of its stage's inputs.
 *   - A B or I waits for its own F. It also waits for the B or I of all stages that read its
 *     stage's output and have a backward.
 *   - A microbatch skips stages that do not run it.
 *   - A stage sends its `activation_bytes` to each stage that reads its output. The stage sends its
 *     `gradient_bytes` to each of its inputs that has a backward. If `gradient_bytes` is not set,
 *     the stage sends to each such input the `activation_bytes` of this input.
 * Errors: ARGUMENT, LENGTH; RANGE where an input is not the number of a stage, is not lower than
 *   the number of its stage, or is listed twice for a stage; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_inputs(ppsched_config *config,
                                                           const uint32_t *counts,
                                                           const uint32_t *inputs, size_t count,
                                                           ppsched_error *error);

/* Sets the passes of each stage: `passes` has a value of enum ppsched_stage_passes for each stage.
 * `count` must be S, or 0 for the default.
 * Errors: ARGUMENT, LENGTH, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_passes(ppsched_config *config,
                                                           const int32_t *passes, size_t count,
                                                           ppsched_error *error);

/* Sets which microbatches of an iteration a stage runs. `microbatches` has `count` numbers from 0
 * to M-1. `count` 0, the default, means all microbatches.
 * Errors: ARGUMENT; RANGE where there is no such stage or microbatch; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_microbatches(ppsched_config *config,
                                                                 uint32_t stage,
                                                                 const uint32_t *microbatches,
                                                                 size_t count,
                                                                 ppsched_error *error);

/* Sets a placement map with one or more devices for each stage. `counts` has S values: how many
 * devices each stage has. `devices` lists the devices of stage 0, then of stage 1, and so on.
 * `count` must be S. If a stage is on several devices:
 *   - Each op of the stage is in the queues of all these devices, and starts and ends on all of
 *     them at the same time. It runs at the speed of the slowest of these devices.
 *   - Each of these devices is busy for the time of the op, and holds the op's memory.
 *   - An input from another stage has arrived when all transfers from the devices of that stage to
 *     the devices of this stage have ended.
 * Errors: ARGUMENT, LENGTH; RANGE where a stage has no device, or a device does not exist or is
 *   listed twice for a stage; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_stage_devices(ppsched_config *config,
                                                            const uint32_t *counts,
                                                            const uint32_t *devices, size_t count,
                                                            ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
