/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule: for each device the queue of its ops, in the order in which they run. Built by a
 * strategy, by a builder, or by the caller's generator; the same thing in all three cases. */
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

/* Immutable and reference-counted.
 * Lifetime: until the last reference is released.
 * Thread-safety: may be shared, retained and released by any number of threads. */
typedef struct ppsched_schedule ppsched_schedule;

/* One device's ops. Borrowed from its schedule and valid as long as that.
 * Thread-safety: as the schedule. */
typedef struct ppsched_queue ppsched_queue;

/* Collects ops.
 * Lifetime: the caller destroys it, also when it has been finished.
 * Thread-safety: one thread at a time. */
typedef struct ppsched_builder ppsched_builder;

/* --- by a strategy --- */

/* Builds a strategy's schedule for the problem. `*out` gets one reference.
 * Errors: ARGUMENT, UNKNOWN_STRATEGY, UNKNOWN_OPTION, RANGE, REFUSED, CANCELLED, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_generate(ppsched_schedule **out,
                                                     const ppsched_config *config,
                                                     const char *strategy, ppsched_error *error);

/* One more reference. Returns its argument. */
PPSCHED_API const ppsched_schedule *ppsched_schedule_retain(const ppsched_schedule *schedule);

/* Gives a reference back; the last one frees. NULL is accepted. */
PPSCHED_API void ppsched_schedule_release(const ppsched_schedule *schedule);

/* --- reading it --- */

/* Name of the strategy, or the name that the builder was given. Borrowed. */
PPSCHED_API const char *ppsched_schedule_name(const ppsched_schedule *schedule);

/* The sizes. Microbatches are per iteration. */
PPSCHED_API uint32_t ppsched_schedule_devices(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_stages(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_microbatches(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_iterations(const ppsched_schedule *schedule);

/* Slices of each microbatch; 1 where they are whole. */
PPSCHED_API uint32_t ppsched_schedule_slices(const ppsched_schedule *schedule);

/* The placement (never DEFAULT). */
PPSCHED_API int32_t ppsched_schedule_placement(const ppsched_schedule *schedule);

/* The device that runs a stage for a microbatch; PPSCHED_NONE out of range. */
PPSCHED_API uint32_t ppsched_schedule_device_of(const ppsched_schedule *schedule, uint32_t stage,
                                                uint32_t microbatch);

/* The device at the other end of a transfer: that of the next stage for SEND_F and RECV_B, that of
 * the stage before for RECV_F and SEND_B. PPSCHED_NONE for an op of another kind, out of range, and
 * where there is no such stage. */
PPSCHED_API uint32_t ppsched_schedule_peer_of(const ppsched_schedule *schedule,
                                              const ppsched_op *op);

/* 1 where an iteration starts only when the one before has ended everywhere, else 0. */
PPSCHED_API uint32_t ppsched_schedule_flushes(const ppsched_schedule *schedule);

/* Versions of the weights that live at once. */
PPSCHED_API uint32_t ppsched_schedule_weight_versions(const ppsched_schedule *schedule);

/* Number of ops on all devices. */
PPSCHED_API uint64_t ppsched_schedule_op_count(const ppsched_schedule *schedule);

/* One device's queue, borrowed; NULL where there is no such device. */
PPSCHED_API const ppsched_queue *ppsched_schedule_queue(const ppsched_schedule *schedule,
                                                        uint32_t device);

/* The queue's ops, borrowed, and their number. An overlapped pair is two neighbouring ops. */
PPSCHED_API const ppsched_op *ppsched_queue_ops(const ppsched_queue *queue, size_t *count);

/* --- by a builder --- */

/* Starts a schedule of the caller's own, with the config's sizes and placement. The config may be
 * destroyed before it.
 * Errors: ARGUMENT; REFUSED where the config's stages do not suit its placement; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_builder_create(ppsched_builder **out,
                                                  const ppsched_config *config,
                                                  ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_builder_destroy(ppsched_builder *builder);

/* Appends `count` ops to a device's queue. Their order is not checked here (ppsched_schedule_check
 * does), their values are. Nothing is appended on failure.
 * Errors: ARGUMENT, also for an unknown kind or flag, a microbatch where the kind has none, and an
 *   overlapped pair that is not an F and a B or I; RANGE where there is no such device, stage,
 *   microbatch or slice, or there are too many ops; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_builder_append(ppsched_builder *builder, uint32_t device,
                                                  const ppsched_op *ops, size_t count,
                                                  ppsched_error *error);

/* Name of the schedule: UTF-8, copied. Default: "custom".
 * Errors: ARGUMENT, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_builder_set_name(ppsched_builder *builder, const char *name,
                                                    ppsched_error *error);

/* Whether iterations flush: 0 or 1. Default: 1.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_builder_set_flushes(ppsched_builder *builder, uint32_t flushes,
                                                       ppsched_error *error);

/* Versions of the weights that live at once, 1 to 1024. Default: the config's, or 1.
 * Errors: ARGUMENT, RANGE. */
PPSCHED_API ppsched_status ppsched_builder_set_weight_versions(ppsched_builder *builder,
                                                               int64_t versions,
                                                               ppsched_error *error);

/* Makes the schedule and empties the builder. `*out` gets one reference. The schedule need not be
 * valid: ppsched_schedule_check tells, evaluation refuses.
 * Errors: ARGUMENT; INVALID_SCHEDULE where a queue ends in the middle of an overlapped pair;
 *   NO_MEMORY. Then the builder keeps its ops. */
PPSCHED_API ppsched_status ppsched_builder_finish(ppsched_schedule **out, ppsched_builder *builder,
                                                  ppsched_error *error);

/* --- by the caller's generator --- */

/* Appends ops to `builder`. Returns PPSCHED_OK, or what went wrong. */
typedef ppsched_status (*ppsched_generate_function)(void *user, const ppsched_config *config,
                                                    ppsched_builder *builder);

/* Builds a schedule with the caller's generator, and checks it. `name` may be NULL. `*out` gets one
 * reference.
 * Errors: as ppsched_builder_create, ppsched_builder_set_name and ppsched_builder_finish; CALLBACK
 *   where the generator failed; INVALID_SCHEDULE with what ppsched_schedule_check found first. */
PPSCHED_API ppsched_status ppsched_schedule_generate_with(ppsched_schedule **out,
                                                          const ppsched_config *config,
                                                          const char *name,
                                                          ppsched_generate_function generate,
                                                          void *user, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
