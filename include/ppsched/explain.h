/* SPDX-License-Identifier: Apache-2.0 */
/* What determines the time of an evaluated schedule: its critical path, the slack of devices and
 * stages, and the effect of slower and faster stages.
 *
 * All calls read a timeline of ppsched_schedule_evaluate. Any number of threads may make these
 * calls at the same time. For a timeline of ppsched_schedule_evaluate_transfers, the calls return
 * ARGUMENT. */
#ifndef PPSCHED_EXPLAIN_H
#define PPSCHED_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/bound.h>
#include <ppsched/config.h>
#include <ppsched/evaluate.h>
#include <ppsched/export_macro.h>
#include <ppsched/op.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why an op of the critical path starts when it does. An input that was computed on the op's own
 * device is never the reason, because the previous op of the device never ends before this input is
 * computed. */
enum ppsched_reason {
    PPSCHED_REASON_BEGIN = 1,   /* the op is the first of its device, and starts at 0 */
    PPSCHED_REASON_DEVICE = 2,  /* the previous F, B, I or W of its device ends at this time */
    PPSCHED_REASON_INPUT = 3,   /* an input from another device arrives at this time */
    PPSCHED_REASON_FLUSH = 4,   /* the iteration before ends at this time, on another device */
    PPSCHED_REASON_COPY = 5,    /* a copy ends at this time. If the op is a compute op, this is the
                                   copy of its own RELOAD, or a copy for which its device waited in
                                   an OFFLOAD_WAIT. If the op is an OFFLOAD or RELOAD, this is the
                                   copy before its copy on the same device or link. For a RELOAD,
                                   this may also be the copy of its OFFLOAD */
    PPSCHED_REASON_TRANSFER = 6 /* only where senders wait (enum ppsched_sender_waits): the device
                                   waited for a transfer that ends at this time. The wait was after
                                   the previous op of the device or, for a W, after the I of this
                                   W */
};

/* An op of the critical path. An overlapped pair is one entry, with its first op. 40 bytes, no
 * padding. */
typedef struct ppsched_critical_op {
    uint32_t device;   /* the device that runs the op */
    uint32_t position; /* position of the op in the device's queue */
    ppsched_op op;     /* the op, or the first op of an overlapped pair */
    int32_t reason;    /* enum ppsched_reason. The op waited for the op before it in the path */
    double start;      /* time when the op starts */
    double end;        /* time when the op ends */
} ppsched_critical_op;

/* How an objective (makespan or span) changes when ops take a little more or a little less time.
 * Both members are rates: a change of the objective, per unit of time that each op changes. 16
 * bytes, no padding. */
typedef struct ppsched_sensitivity {
    double more; /* how much the objective rises if each op takes one unit of time longer */
    double less; /* how much the objective falls if each op takes one unit of time less */
} ppsched_sensitivity;

/* The critical path: a chain of ops from time 0 to the makespan. Each op of the path starts exactly
 * at the time of the event that its `reason` names. Fills a buffer: see ppsched.h.
 *   - An op starts at the end of the op before it in the path or, if its reason is INPUT or
 *     TRANSFER, later by the time of the transfer. The times are exactly the evaluator's times. All
 *     ops of the path have slack 0.
 *   - If an op waited for several things that became ready at the same time, its reason is the
 *     first of these in the following list: the previous op of its device; the flush; the input of
 *     its F; the input of its B or I; its own I; a copy. (An overlapped pair has an F and a B or
 *     I.)
 *   - If an iteration or the schedule ends on several devices at the same time, the path goes
 *     through the device with the lowest number.
 *   - RECOMPUTE, OFFLOAD and RELOAD may be on the path. An OFFLOAD_WAIT is never on the path: the
 *     copy for which it waits takes its place.
 * The call also accepts timelines with EARLIEST_ONLY. Time and memory of the call are linear in the
 * number of ops.
 * Errors: ARGUMENT, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_timeline_get_critical_path(ppsched_critical_op *out,
                                                              size_t capacity, size_t *needed,
                                                              const ppsched_timeline *timeline,
                                                              ppsched_error *error);

/* The first function returns for each device the least slack (latest start minus start) of its F,
 * B, I and W, in the caller's unit of time. The second function returns this slack for each stage.
 * If all these ops of a device or stage start later by this slack, the makespan stays the same. The
 * value is infinite for a device or stage without such ops. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, also with EARLIEST_ONLY; BUFFER. */
PPSCHED_API ppsched_status ppsched_timeline_get_device_slack(double *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_stage_slack(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            ppsched_error *error);

/* The sensitivity of the objective (enum ppsched_objective) to each stage: how the objective
 * changes if all ops of the stage of kind `kind` (F, B, I or W; 0: all four) take a little longer
 * (`more`) or a little less time (`less`). Fills a buffer: see ppsched.h.
 *   - The values are the exact one-sided derivatives for the order of the schedule. They hold for
 *     changes so small that no other path becomes the longest.
 *   - If several paths are longest, the makespan rises if one of them gets longer (`more`), but
 *     falls only if all of them get shorter (`less`). So for the makespan, `less` is at most
 *     `more`.
 *   - Paths count as equally long if their lengths differ by less than 1e-12 of the makespan,
 *     because sums in different orders are rounded differently.
 *   - For the span, both `more` and `less` may be negative, because a device that starts later and
 *     ends at the same time has a shorter span.
 *   - An op that takes no time cannot take less time, so it counts only for `more`.
 *   - If an overlapped pair takes the sum of the times of both ops, both ops count. If the config
 *     gives the duration of the pair (PPSCHED_QUANTITY_OVERLAPPED_TIMES), neither op counts.
 *   - The call also accepts timelines with EARLIEST_ONLY.
 *   - The memory of the call is linear in the number of ops. The time of the call is linear, too,
 *     if longest paths follow the order of the stages, or if they branch but soon meet again.
 *   - In the worst case, longest paths go back and forth between all stages from start to end. Each
 *     group of 16 stages then adds a time that is linear in the number of ops on longest paths. For
 *     the span, this time is also proportional to the number of devices that have the longest span.
 *     Example: v_half on 2048 devices with 1024 microbatches and equal costs takes 10 s.
 *   - `tell` is a progress callback, which may stop the call, or NULL. `tell` runs on the caller's
 *     thread, with `user`. The call goes over the ops once for each group of 16 stages. The call
 *     runs `tell` at least once for each 65,536 ops that it goes over, which takes some
 *     milliseconds. In the ppsched_progress that `tell` receives, `best` is always infinite.
 * Errors: ARGUMENT, also for a schedule with RECOMPUTE, OFFLOAD or RELOAD; BUFFER, NO_MEMORY;
 *   CANCELLED where `tell` returned a value other than 0 (`out` then has the stages that were
 *   done). */
PPSCHED_API ppsched_status ppsched_timeline_get_sensitivities(ppsched_sensitivity *out,
                                                              size_t capacity, size_t *needed,
                                                              const ppsched_timeline *timeline,
                                                              int32_t objective, int32_t kind,
                                                              ppsched_progress_function tell,
                                                              void *user, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
