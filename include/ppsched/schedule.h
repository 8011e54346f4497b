/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule has for each device a queue: the device's ops, in the order in which they run. A
 * strategy, a builder or a custom generator (a callback of the caller) makes the schedule. All
 * functions accept schedules of all three origins.
 *
 * Sample:
 *     ppsched_config *config = NULL;
 *     ppsched_schedule *schedule = NULL;
 *     ppsched_status status = ppsched_config_create(&config, 4, 4, 8, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_generate(&schedule, config, "1f1b", NULL);
 *     size_t count = 0;
 *     const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, 0), &count);
 *     for (size_t i = 0; i < count; i++)
 *         printf("%s of microbatch %u\n", ppsched_kind_token(ops[i].kind), ops[i].microbatch);
 *     ppsched_schedule_release(schedule);
 *     ppsched_config_destroy(config);
 */
#ifndef PPSCHED_SCHEDULE_H
#define PPSCHED_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/op.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A schedule. It is immutable and reference-counted.
 * Lifetime: until the last reference is released.
 * Thread-safety: any number of threads may read, retain and release a schedule at the same time. */
typedef struct ppsched_schedule ppsched_schedule;

/* The ops of one device. A queue is borrowed from its schedule, and valid as long as the schedule.
 * Thread-safety: as for ppsched_schedule. */
typedef struct ppsched_queue ppsched_queue;

/* A builder collects the ops of a custom schedule.
 * Lifetime: the caller must destroy the builder, also after ppsched_builder_finish.
 * Thread-safety: one thread at a time. */
typedef struct ppsched_builder ppsched_builder;

/* --- by a strategy --- */

/* Generates the schedule of a strategy for a problem. `strategy` is the name of a strategy
 * (<ppsched/strategy.h>). The caller owns one reference to `*out`.
 * Errors: ARGUMENT, UNKNOWN_STRATEGY, UNKNOWN_OPTION, RANGE, REFUSED, CANCELLED, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_generate(ppsched_schedule **out,
                                                     const ppsched_config *config,
                                                     const char *strategy, ppsched_error *error);

/* Adds a reference, which the caller must release. Returns its argument. NULL is accepted. */
PPSCHED_API const ppsched_schedule *ppsched_schedule_retain(const ppsched_schedule *schedule);

/* Releases a reference; the last release frees the schedule. NULL is accepted. */
PPSCHED_API void ppsched_schedule_release(const ppsched_schedule *schedule);

/* --- reading a schedule --- */

/* Name of the strategy, or the name that was set in the builder; borrowed. */
PPSCHED_API const char *ppsched_schedule_name(const ppsched_schedule *schedule);

/* Sizes: devices, virtual stages of the model, microbatches per iteration, iterations. */
PPSCHED_API uint32_t ppsched_schedule_devices(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_stages(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_microbatches(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_iterations(const ppsched_schedule *schedule);

/* Number of slices of each microbatch; 1 if microbatches are whole. */
PPSCHED_API uint32_t ppsched_schedule_slices(const ppsched_schedule *schedule);

/* The placement, an enum ppsched_placement; DEFAULT only for a NULL schedule. */
PPSCHED_API int32_t ppsched_schedule_placement(const ppsched_schedule *schedule);

/* The device that runs a stage for a microbatch. Microbatches are counted over all iterations, as
 * in ppsched_op. In the bidirectional placement, a stage has two devices, and the microbatch
 * determines which of the two devices runs the stage. The result is PPSCHED_NONE if the stage or
 * the microbatch is out of range. */
PPSCHED_API uint32_t ppsched_schedule_device_of(const ppsched_schedule *schedule, uint32_t stage,
                                                uint32_t microbatch);

/* The device at the other end of a transfer. For SEND_F and RECV_B this is the device of the stage
 * after `op->stage`. For RECV_F and SEND_B it is the device of the stage before `op->stage`. But in
 * a schedule with a stage graph, it is the device of the place in `op->reserved` (see ppsched_op).
 * The result is PPSCHED_NONE if the op is of another kind, if there is no stage at the other end,
 * or if the microbatch is out of range. */
PPSCHED_API uint32_t ppsched_schedule_peer_of(const ppsched_schedule *schedule,
                                              const ppsched_op *op);

/* The stage at the other end of a transfer; PPSCHED_NONE if there is no such stage. */
PPSCHED_API uint32_t ppsched_schedule_peer_stage(const ppsched_schedule *schedule,
                                                 const ppsched_op *op);

/* The *place* of a stage on one of its devices: a number that sends and receives of a stage graph
 * use for this stage and device. Places are numbered from 0, stage by stage, and within a stage in
 * ascending order of devices. So if each stage has one device, the place is the number of the
 * stage. The result is PPSCHED_NONE if the stage does not run on the device, or if the schedule has
 * no stage graph. */
PPSCHED_API uint32_t ppsched_schedule_place_of(const ppsched_schedule *schedule, uint32_t stage,
                                               uint32_t device);

/* The first function returns the i-th input of `stage`, which is a stage whose output `stage`
 * reads. The second function returns the i-th device that runs `stage`. Both functions count from
 * 0, and return PPSCHED_NONE if `i` is past the last. */
PPSCHED_API uint32_t ppsched_schedule_stage_input(const ppsched_schedule *schedule, uint32_t stage,
                                                  uint32_t i);
PPSCHED_API uint32_t ppsched_schedule_stage_device(const ppsched_schedule *schedule, uint32_t stage,
                                                   uint32_t i);

/* Which passes a stage has (enum ppsched_stage_passes); 0 if there is no such stage. */
PPSCHED_API int32_t ppsched_schedule_stage_passes(const ppsched_schedule *schedule, uint32_t stage);

/* 1 if a stage runs a microbatch, otherwise 0. Microbatches are counted over all iterations, as in
 * ppsched_op. */
PPSCHED_API uint32_t ppsched_schedule_runs_stage(const ppsched_schedule *schedule, uint32_t stage,
                                                 uint32_t microbatch);

/* 0 if the stages are a chain, and each stage has one device, runs all microbatches, and has all
 * passes (PPSCHED_STAGE_PASSES_FORWARD_BACKWARD). Otherwise 1: the schedule has a stage graph.
 * Functions that need a chain refuse schedules with a stage graph. */
PPSCHED_API uint32_t ppsched_schedule_has_graph(const ppsched_schedule *schedule);

/* 1 if the schedule flushes, which means that an iteration starts only after the iteration before
 * has ended on all devices. Otherwise 0. */
PPSCHED_API uint32_t ppsched_schedule_flushes(const ppsched_schedule *schedule);

/* Number of weight versions that a device holds at the same time. */
PPSCHED_API uint32_t ppsched_schedule_weight_versions(const ppsched_schedule *schedule);

/* Number of ops on all devices. */
PPSCHED_API uint64_t ppsched_schedule_op_count(const ppsched_schedule *schedule);

/* The queue of a device, borrowed; NULL if there is no such device. */
PPSCHED_API const ppsched_queue *ppsched_schedule_queue(const ppsched_schedule *schedule,
                                                        uint32_t device);

/* The ops of a queue, borrowed; `*count` receives their number. An overlapped pair has two entries,
 * one after the other. */
PPSCHED_API const ppsched_op *ppsched_queue_ops(const ppsched_queue *queue, size_t *count);

/* --- by a builder --- */

/* Starts a custom schedule with the config's sizes and placement. The builder copies what it needs,
 * so the config may be destroyed after this call.
 * Errors: ARGUMENT; REFUSED where the config's stages do not suit its placement; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_builder_create(ppsched_builder **out,
                                                  const ppsched_config *config,
                                                  ppsched_error *error);

/* Frees a builder. NULL is accepted. */
PPSCHED_API void ppsched_builder_destroy(ppsched_builder *builder);

/* Appends `count` ops to the queue of a device. The call copies the ops, and checks their values,
 * but not their order; ppsched_schedule_check checks the order. On an error nothing is appended.
 * One call may append the first op of an overlapped pair, and the next call the second op.
 * Errors: RANGE where the device, stage, microbatch or slice does not exist; RANGE where there are
 *   too many ops; NO_MEMORY; ARGUMENT, also for
 *   - an unknown kind or flag;
 *   - a microbatch in an op whose kind has no microbatch;
 *   - an overlapped pair that is not an F and then a B or I;
 *   - a `reserved` that breaks the rules of ppsched_op. */
PPSCHED_API ppsched_status ppsched_builder_append(ppsched_builder *builder, uint32_t device,
                                                  const ppsched_op *ops, size_t count,
                                                  ppsched_error *error);

/* Sets the name of the schedule: UTF-8, copied. Default: "custom".
 * Errors: ARGUMENT, also where the name is not UTF-8; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_builder_set_name(ppsched_builder *builder, const char *name,
                                                    ppsched_error *error);

/* Sets whether the schedule flushes between iterations: 0 or 1. Default: 1.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_builder_set_flushes(ppsched_builder *builder, uint32_t flushes,
                                                       ppsched_error *error);

/* Sets how many weight versions a device holds at the same time, 1 to 1024. Default: the number
 * that was set in the config, or 1 if none was set.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_builder_set_weight_versions(ppsched_builder *builder,
                                                               int64_t versions,
                                                               ppsched_error *error);

/* Makes the schedule and removes all ops from the builder. The caller owns one reference to `*out`.
 * The call does not check the schedule. If the schedule is invalid, ppsched_schedule_check finds
 * what is wrong, and evaluation refuses it.
 * Errors: ARGUMENT; INVALID_SCHEDULE where a queue ends in the middle of an overlapped pair;
 *   NO_MEMORY. On an error the builder keeps its ops. */
PPSCHED_API ppsched_status ppsched_builder_finish(ppsched_schedule **out, ppsched_builder *builder,
                                                  ppsched_error *error);

/* --- by a custom generator --- */

/* A custom generator: a callback that appends ops to `builder`. It returns PPSCHED_OK, or another
 * status if it failed. */
typedef ppsched_status (*ppsched_generate_function)(void *user, const ppsched_config *config,
                                                    ppsched_builder *builder);

/* Makes a schedule with a custom generator, and checks the schedule. The call creates the builder,
 * sets the name, calls `generate` once with `user`, and destroys the builder. A NULL `name` means
 * "custom". The caller owns one reference to `*out`.
 * Errors: as ppsched_builder_create, ppsched_builder_set_name and ppsched_builder_finish; CALLBACK
 *   where the generator failed (the message has its status); INVALID_SCHEDULE where the check fails
 *   (the message has the first findings of ppsched_schedule_check). */
PPSCHED_API ppsched_status ppsched_schedule_generate_with(ppsched_schedule **out,
                                                          const ppsched_config *config,
                                                          const char *name,
                                                          ppsched_generate_function generate,
                                                          void *user, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
