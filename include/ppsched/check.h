/* SPDX-License-Identifier: Apache-2.0 */
/* The checker finds out whether a schedule is complete and can be executed. If not, the checker
 * says what is wrong with the schedule. */
#ifndef PPSCHED_CHECK_H
#define PPSCHED_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/export_macro.h>
#include <ppsched/op.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is wrong in a schedule. */
enum ppsched_finding_kind {
    PPSCHED_FINDING_KIND_MISSING = 1,   /* `op` is on no device, but belongs on `device` */
    PPSCHED_FINDING_KIND_DUPLICATE = 2, /* `op` is in the queue a second time, or repeats work of
                                           `other`: `op` is a second backward, or a W in addition to
                                           a B */
    PPSCHED_FINDING_KIND_MISPLACED = 3, /* `op` is on `device`, but belongs on `other_device`. With
                                           a stage graph, `op` may belong on no device, because its
                                           stage does not have this op; then `other_device` is
                                           PPSCHED_NONE */
    PPSCHED_FINDING_KIND_CYCLE = 4,   /* one wait of a wait cycle: `op` waits for `other`, which is
                                         on the device of the next finding. In the last finding of
                                         the cycle, `other` is on the device of the first finding */
    PPSCHED_FINDING_KIND_BLOCKED = 5, /* `op` waits for `other`, which is missing or misplaced */
    PPSCHED_FINDING_KIND_CONFLICT = 6 /* `op` and `other` must not both be in the schedule: a
                                         RECOMPUTE and an OFFLOAD of one stage pass; a second
                                         REDUCE_GRAD while another REDUCE_GRAD is in flight; or, for
                                         a stage on several devices, a B on one device and an I on
                                         another */
};

/* One finding of the checker. 44 bytes, no padding. */
typedef struct ppsched_finding {
    int32_t kind;            /* enum ppsched_finding_kind */
    uint32_t device;         /* the device of `op`; with MISSING the device on which `op` belongs */
    uint32_t position;       /* index of `op` in the device's queue; PPSCHED_NONE for MISSING */
    uint32_t other_device;   /* the device of `other`; with MISPLACED the device on which `op`
                                belongs; otherwise PPSCHED_NONE */
    uint32_t other_position; /* index of `other` in its device's queue, or PPSCHED_NONE */
    ppsched_op op;           /* the op that the finding is about */
    ppsched_op other;        /* the other op; its kind is 0 if there is none */
} ppsched_finding;

/* Checks that a schedule is valid. (A stage pass is all ops of one slice of one microbatch on one
 * stage.)
 *   - Every stage pass has one F, and either one B, or one I and one W. Each of these ops is on the
 *     device of its stage. If the schedule has no backward at all, F is enough. With a stage graph,
 *     a stage has only the ops of its passes (enum ppsched_stage_passes), for the microbatches that
 *     it runs, on each of its devices.
 *   - A stage pass with an OFFLOAD has one RELOAD. A stage pass with a RELOAD or an OFFLOAD_WAIT
 *     has an OFFLOAD. RELOAD and RECOMPUTE come before the backward.
 *   - If a device has a WAIT_REDUCE_GRAD, it has at most one reduction in flight: after each of its
 *     REDUCE_GRADs comes the WAIT_REDUCE_GRAD of the same stage, before the next REDUCE_GRAD.
 *   - All queues can run to their end, without a wait cycle.
 * The result is OK for a valid schedule. Otherwise it is INVALID_SCHEDULE, with up to four findings
 * in the message of `error`. The call writes up to `capacity` findings to `out`, and the number of
 * all findings to `*count`. `count` may be NULL. A `capacity` below the number of all findings is
 * no error. The time of the call is linear in the number of ops.
 * Errors: ARGUMENT; INVALID_SCHEDULE; REFUSED for a stage graph with overlapped pairs, or with ops
 *   other than F, B, I, W, sends and receives; NO_MEMORY. On ARGUMENT and REFUSED, the call writes
 *   neither findings nor `*count`. On NO_MEMORY, it does not write `*count`, but some findings may
 *   be in `out`. */
PPSCHED_API ppsched_status ppsched_schedule_check(ppsched_finding *out, size_t capacity,
                                                  size_t *count, const ppsched_schedule *schedule,
                                                  ppsched_error *error);

/* Writes a finding in words, as one line. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, also if the finding or one of its ops has an unknown kind; BUFFER. */
PPSCHED_API ppsched_status ppsched_finding_write_text(char *out, size_t capacity, size_t *needed,
                                                      const ppsched_finding *finding,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
