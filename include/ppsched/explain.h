/* SPDX-License-Identifier: Apache-2.0 */
/* Why an evaluated schedule takes as long as it does: its critical path, the slack of devices and
 * stages, and the effect of slower and faster stages.
 *
 * All calls read a timeline of ppsched_schedule_evaluate, with the thread-safety of reading one. A
 * timeline of ppsched_schedule_evaluate_transfers is an ARGUMENT error. */
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

/* Why an op of the critical path starts when it does. An input from the op's own device is never
 * the reason, as the previous op of the device ends no earlier. */
enum ppsched_reason {
    PPSCHED_REASON_BEGIN = 1,   /* it is its device's first op, and starts at 0 */
    PPSCHED_REASON_DEVICE = 2,  /* the previous F, B, I or W of its device ends then */
    PPSCHED_REASON_INPUT = 3,   /* its input from another device arrives then */
    PPSCHED_REASON_FLUSH = 4,   /* the iteration before ends then, on another device */
    PPSCHED_REASON_COPY = 5,    /* a copy ends then. For an op: that of its own RELOAD, or one for
                                   which its device waited in an OFFLOAD_WAIT. For a copy: the one
                                   before it on its device or link, or that of its OFFLOAD */
    PPSCHED_REASON_TRANSFER = 6 /* where senders wait (enum ppsched_sender_waits): the transfer that
                                   is counted after the previous op of its device, or after its own
                                   I, ends then */
};

/* An op of the critical path. An overlapped pair is one entry, with its first op. 40 bytes, no
 * padding. */
typedef struct ppsched_critical_op {
    uint32_t device;
    uint32_t position; /* in the device's queue */
    ppsched_op op;
    int32_t reason; /* enum ppsched_reason; it waited for the op before it in the path */
    double start;
    double end;
} ppsched_critical_op;

/* How an objective changes, per unit of time, when ops take a little longer or a little less. 16
 * bytes, no padding. */
typedef struct ppsched_sensitivity {
    double more; /* how much it rises if each op takes longer, per unit of time */
    double less; /* how much it falls if each op takes less, per unit of time */
} ppsched_sensitivity;

/* The chain of ops from time 0 to the makespan in which each op starts exactly when what it waited
 * for is ready. Fills a buffer: see ppsched.h.
 *   - That is at the end of the op before it in the path; after an INPUT or a TRANSFER, the time of
 *     the transfer is added. The sums are the evaluator's, to the last bit. All ops of the path
 *     have slack 0.
 *   - If an op waited for several things that were ready at once, the first of these is the reason:
 *     the previous op of its device, the flush, the input of its F, the input of its B or I, its
 *     own I, a copy. Of several devices that end an iteration or the makespan at once, it is the
 *     lowest.
 *   - RECOMPUTE, OFFLOAD and RELOAD may be on the path like any op. OFFLOAD_WAIT never is, as its
 *     copy is.
 * Timelines with EARLIEST_ONLY are accepted too. Time and memory are linear in the ops of the
 * schedule.
 * Errors: ARGUMENT, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_timeline_get_critical_path(ppsched_critical_op *out,
                                                              size_t capacity, size_t *needed,
                                                              const ppsched_timeline *timeline,
                                                              ppsched_error *error);

/* The least slack (latest start minus start) of the F, B, I and W of each device, or of each stage:
 * how much later all of them may start without a longer makespan. Infinite for a device or stage
 * without such ops. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, also with EARLIEST_ONLY; BUFFER. */
PPSCHED_API ppsched_status ppsched_timeline_get_device_slack(double *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_stage_slack(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            ppsched_error *error);

/* For each stage: how much the objective (enum ppsched_objective) rises per unit of time when every
 * op of that stage and `kind` (F, B, I or W; 0: all four) takes a little longer, and how much it
 * falls per unit when they take a little less. Fills a buffer: see ppsched.h.
 *   - These are the exact one-sided derivatives for the order of the schedule. If several paths are
 *     longest, one that grows is enough for `more`, but all must shrink for `less`; so for the
 *     makespan `less` is at most `more`. They hold until another path becomes the longest.
 *   - Lengths that differ by less than 1e-12 of the makespan count as equal, as sums in different
 *     orders round differently.
 *   - For the span both may be negative: a device that starts later and ends at the same time has a
 *     shorter span.
 *   - An op that takes 0 cannot take less, and counts for `more` alone.
 *   - An overlapped pair counts each of its ops if it takes the sum of both, and none if the config
 *     gives its duration (PPSCHED_QUANTITY_OVERLAPPED_TIMES).
 * Timelines with EARLIEST_ONLY are accepted too. Memory is linear in the ops. Time is linear too if
 * longest paths that part soon meet again, or keep to the order of the stages. In the worst case,
 * where longest paths go back and forth between all stages from start to end, each group of 16
 * stages adds a time that is linear in the ops on longest paths, and for the span also in the
 * devices that tie for it. Example: v_half on 2048 devices with 1024 microbatches and equal costs
 * takes 10 s.
 * `tell` (NULL: none) is a progress callback, which may stop the call. It is called with `user` on
 * the caller's thread, at least once per 65,536 ops of 16 stages, which take some milliseconds;
 * `best` is always infinite.
 * Errors: ARGUMENT, also for a schedule with RECOMPUTE, OFFLOAD or RELOAD; BUFFER, NO_MEMORY;
 *   CANCELLED where `tell` returned other than 0: then `out` has the first stages, up to where the
 *   call was stopped. */
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
