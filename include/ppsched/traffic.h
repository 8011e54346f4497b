/* SPDX-License-Identifier: Apache-2.0 */
/* What a lowered schedule needs of its runtime: edges between devices, receive buffers, and how
 * long send buffers live. All of it follows from the order of the ops alone, and holds at any
 * speed. */
#ifndef PPSCHED_TRAFFIC_H
#define PPSCHED_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A directed pair of devices. 16 bytes, no padding. */
typedef struct ppsched_edge {
    uint32_t sender;
    uint32_t receiver;
    uint32_t transfers;
    uint32_t most_in_flight; /* receives of it, at most at once, that `receiver` has come to and
                                whose consumers it has not run */
} ppsched_edge;

/* What a comm op of a device's queue holds. Positions are those of the queue; PPSCHED_NONE for ops
 * of other kinds. 8 bytes, no padding. */
typedef struct ppsched_op_buffer {
    uint32_t slot;  /* of a receive: number of its buffer on this device, which serves one receive
                       after another; else PPSCHED_NONE */
    uint32_t until; /* the op behind which the buffer is free: of a receive its consumer; of a send
                       the first compute op of this device that can only run when the other device
                       has used the value, PPSCHED_NONE where there is none before the queue's
                       end */
} ppsched_op_buffer;

/* Lists the edges, in the order of the receiving devices and of their first receives. Fills a
 * buffer: see ppsched.h.
 * Errors: ARGUMENT; INVALID_SCHEDULE where sends and receives do not fit each other; BUFFER,
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_edges(ppsched_edge *out, size_t capacity,
                                                      size_t *needed,
                                                      const ppsched_schedule *schedule,
                                                      ppsched_error *error);

/* Lists what each op of a device's queue holds, a record an op. Fills a buffer: see ppsched.h.
 * `*slots` (may be NULL) gets how many receive buffers the device needs: as many as it has receives
 * in flight at once.
 * Errors: ARGUMENT; RANGE where there is no such device; INVALID_SCHEDULE where sends and receives
 *   do not fit each other; BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_buffers(ppsched_op_buffer *out, size_t capacity,
                                                        size_t *needed, uint32_t *slots,
                                                        const ppsched_schedule *schedule,
                                                        uint32_t device, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
