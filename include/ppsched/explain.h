/* SPDX-License-Identifier: Apache-2.0 */
/* Why an evaluated schedule takes as long as it does: its critical path, the slack of devices and
 * stages, and what slower and faster stages would do.
 *
 * All calls read a timeline of ppsched_schedule_evaluate, and are as thread-safe as that; those of
 * ppsched_schedule_evaluate_transfers are an ARGUMENT error. */
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

/* Why an op of the critical path starts when it does. An input from its own device is never the
 * reason, as the previous op of the device ends no earlier. */
enum ppsched_reason {
    PPSCHED_REASON_BEGIN = 1,   /* it is its device's first, and starts at 0 */
    PPSCHED_REASON_DEVICE = 2,  /* the previous F, B, I or W of its device ends then */
    PPSCHED_REASON_INPUT = 3,   /* what another device made has just arrived */
    PPSCHED_REASON_FLUSH = 4,   /* the iteration before ends then, on another device */
    PPSCHED_REASON_COPY = 5,    /* a copy ends then: that of its own RELOAD, or one for which its
                                  device stood still in an OFFLOAD_WAIT; for a copy, the one before
                                  it on its device or link, or that of its OFFLOAD */
    PPSCHED_REASON_TRANSFER = 6 /* where senders wait: what an op of its device sent has arrived,
                                  that of the previous op or of its own I */
};

/* An op of the critical path; an overlapped pair is one, with its first op. 40 bytes, no
 * padding. */
typedef struct ppsched_critical_op {
    uint32_t device;
    uint32_t position; /* in the device's queue */
    ppsched_op op;
    int32_t reason; /* enum ppsched_reason; what it waited for is the op before it in the path */
    double start;
    double end;
} ppsched_critical_op;

/* What an objective does, per unit of time, when ops take a little longer or less. 16 bytes, no
 * padding. */
typedef struct ppsched_sensitivity {
    double more; /* it grows by that, per unit by which each op takes longer */
    double less; /* it falls by that, per unit by which each op takes less */
} ppsched_sensitivity;

/* The chain of ops from time 0 to the makespan in which each starts exactly when what it waited for
 * was there. Fills a buffer: see ppsched.h.
 *   - That is at the end of the op before it in the path, plus what the way between devices takes
 *     after an INPUT or a TRANSFER; to the last bit as the evaluator adds it. All of them have
 *     slack 0.
 *   - Where an op waited for several things at once, the previous op of its device goes first, then
 *     the flush, then the input of its F, then that of its B or I, then its own I, then a copy; of
 *     several devices that end an iteration or the makespan, the lowest. RECOMPUTE, OFFLOAD and
 *     RELOAD may be on it as any op; OFFLOAD_WAIT is not, as the copy is.
 * Timelines with EARLIEST_ONLY serve as well. Time and memory are linear in the ops of the
 * schedule.
 * Errors: ARGUMENT, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_timeline_get_critical_path(ppsched_critical_op *out,
                                                              size_t capacity, size_t *needed,
                                                              const ppsched_timeline *timeline,
                                                              ppsched_error *error);

/* The least slack (latest start less start) of the F, B, I and W of each device, or of each stage:
 * how much later all of it may come without a longer makespan; infinite where there are none of
 * them. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, also with EARLIEST_ONLY; BUFFER. */
PPSCHED_API ppsched_status ppsched_timeline_get_device_slack(double *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_stage_slack(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            ppsched_error *error);

/* For each stage: what the objective (enum ppsched_objective) gains per unit of time when every op
 * of that stage and `kind` (F, B, I or W; 0: all four) takes a small amount longer, and what it
 * loses per unit when they take a small amount less. Fills a buffer: see ppsched.h.
 *   - These are the exact one-sided derivatives, in the order of the schedule as it is: where
 *     several ways are the longest, one that grows counts for `more`, and all must shrink for
 *     `less`, so `less` is at most `more` for the makespan. They hold as far as no other way
 *     becomes the longest one.
 *   - Lengths that differ by less than 1e-12 of the makespan are taken as equal, as sums of
 *     different order are rounded differently.
 *   - For the span both may be negative: a device that begins later and ends as before has a
 *     shorter one.
 *   - An op that takes 0 cannot take less, and counts for `more` alone.
 *   - An overlapped pair counts each of its ops where it takes the sum of both, and none where the
 *     config gave its duration (PPSCHED_QUANTITY_OVERLAPPED_TIMES).
 * Timelines with EARLIEST_ONLY serve as well. Memory is linear in the ops. So is time where longest
 * ways part and meet again soon, or keep to the order of the stages. At worst, where they go to and
 * fro between all stages from beginning to end, it is besides linear in the ops that some longest
 * way goes through, for each 16 stages; for the span also in the devices that tie for it, likewise:
 * v_half on 2048 devices with 1024 microbatches and equal costs takes 10 s.
 * `tell` (NULL: nobody) hears how far it has come, and may stop it: it is called with `user` in the
 * caller's thread, at least once in 65,536 ops of 16 stages, which take some milliseconds; the
 * `best` that it is told is infinite.
 * Errors: ARGUMENT, BUFFER, NO_MEMORY; CANCELLED where `tell` returned other than 0: `out` holds
 *   the first stages then, up to where it was stopped. */
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
