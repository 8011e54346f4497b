/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: says of any schedule whether it is complete and executable, and if not, why. */
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

enum ppsched_finding_kind {
    PPSCHED_FINDING_KIND_MISSING = 1,   /* `op` is on no device; `device` is where it belongs */
    PPSCHED_FINDING_KIND_DUPLICATE = 2, /* `op` stood before already, or repeats work that B, or I
                                           and W, did before */
    PPSCHED_FINDING_KIND_MISPLACED = 3, /* `op` is on `device`, but belongs to `other_device` */
    PPSCHED_FINDING_KIND_CYCLE = 4,   /* `op` waits for `other`, on the device of the next finding;
                                           the last waits for the first */
    PPSCHED_FINDING_KIND_BLOCKED = 5, /* `op` waits for `other`, which is missing or misplaced */
    PPSCHED_FINDING_KIND_CONFLICT = 6 /* `op` and `other` do not go together: a stage pass is
                                         recomputed, or offloaded, or neither */
};

/* One thing that is wrong. 44 bytes, no padding. */
typedef struct ppsched_finding {
    int32_t kind;            /* enum ppsched_finding_kind */
    uint32_t device;         /* where */
    uint32_t position;       /* index in the device's queue; PPSCHED_NONE for a missing op */
    uint32_t other_device;   /* where `other` is; PPSCHED_NONE where there is none */
    uint32_t other_position; /* likewise */
    ppsched_op op;
    ppsched_op other; /* kind 0 where there is none */
} ppsched_finding;

/* Checks that every stage pass has one F and either one B or one I with one W, on the device that
 * holds the stage, that what is offloaded is reloaded, once, and what is reloaded was offloaded,
 * that RELOAD and RECOMPUTE come before the backward that needs them, and that the queues can be
 * run to their end. Linear in the ops.
 *   - OK for a valid schedule, else INVALID_SCHEDULE with the first finding in `error`.
 *   - Up to `capacity` findings go to `out`; `*count` (may be NULL) gets how many there are. Where
 *     `out` is too small that is no error: this is a report.
 * Errors: ARGUMENT; INVALID_SCHEDULE; NO_MEMORY. But for INVALID_SCHEDULE nothing is written on
 *   failure. */
PPSCHED_API ppsched_status ppsched_schedule_check(ppsched_finding *out, size_t capacity,
                                                  size_t *count, const ppsched_schedule *schedule,
                                                  ppsched_error *error);

/* Writes a finding in words, one line. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, also where it or one of its ops is of an unknown kind; BUFFER. */
PPSCHED_API ppsched_status ppsched_finding_write_text(char *out, size_t capacity, size_t *needed,
                                                      const ppsched_finding *finding,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
