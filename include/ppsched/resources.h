/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule needs of its runtime: links between devices, receive buffers, how long send
 * buffers live, and slots that a runtime allocates once. All of it follows from the order of the
 * ops alone, and holds at any speed. */
#ifndef PPSCHED_RESOURCES_H
#define PPSCHED_RESOURCES_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A directed pair of devices. 16 bytes, no padding. */
typedef struct ppsched_link {
    uint32_t sender;
    uint32_t receiver;
    uint32_t transfers;
    uint32_t most_in_flight; /* receives of it, at most at once, that `receiver` has come to and
                                whose consumers it has not run */
} ppsched_link;

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

/* Lists the links, in the order of the receiving devices and of their first receives. Fills a
 * buffer: see ppsched.h.
 * Errors: ARGUMENT; INVALID_SCHEDULE where sends and receives do not fit each other; BUFFER,
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_links(ppsched_link *out, size_t capacity,
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

/* --- communicators --- */

/* What devices set up between them before they run. */
enum ppsched_connecting {
    PPSCHED_CONNECTING_LINKS = 0, /* a communicator for each link, a directed pair of devices that
                                     hold neighbouring stages: those of one round are made in one
                                     collective call, as no device is in two of them */
    PPSCHED_CONNECTING_STAGES = 1 /* a first message for each pair of neighbouring stages on two
                                     devices, where all share one communicator: rounds of disjoint
                                     devices */
};

/* What is set up in a round: between two devices, and with STAGES the stages that these hold for
 * it. 20 bytes, no padding. */
typedef struct ppsched_connection {
    uint32_t round; /* from 0 */
    uint32_t sender;
    uint32_t receiver;
    uint32_t sending_stage;   /* with EDGES PPSCHED_NONE, as several may use it */
    uint32_t receiving_stage; /* likewise */
} ppsched_connection;

/* Lists what all devices set up, round by round in an order that is the same for all, so that none
 * waits for another in a circle. As PyTorch's directed P2P groups: pairs of devices in their order,
 * each in the first round where both are free, and each round twice, upwards and then downwards;
 * pairs of stages in the order of the stages likewise, upwards alone. It follows from the placement
 * alone, also of a schedule that is not lowered. `what`: enum ppsched_connecting. Fills a buffer:
 * see ppsched.h.
 * Errors: ARGUMENT, RANGE, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_connections(ppsched_connection *out,
                                                            size_t capacity, size_t *needed,
                                                            const ppsched_schedule *schedule,
                                                            int32_t what, ppsched_error *error);

/* --- slots --- */

/* What shares slots. */
enum ppsched_slot_use {
    PPSCHED_SLOT_USE_STAGE_MICROBATCH = 0, /* a slot for each live stage pass: from its F to its B,
                                              or to its W where the backward is split */
    PPSCHED_SLOT_USE_MICROBATCH = 1,       /* a slot for each live microbatch: from the first F of
                                              its stage passes on the device to the last B or W */
    PPSCHED_SLOT_USE_RECEIVE = 2           /* a slot for each received value: from its receive to
                                              the B or W of the stage pass; each stage has slots of
                                              its own for activations and for gradients */
};

/* Who holds a slot and when. Positions are those of the device's queue, both inclusive; an
 * overlapped pair has the position of its first op. 24 bytes, no padding. */
typedef struct ppsched_lifetime {
    uint32_t microbatch;
    uint32_t stage; /* PPSCHED_NONE with MICROBATCH */
    int32_t kind;   /* F; with RECEIVE RECV_F or RECV_B */
    uint32_t slot;  /* in its arena, from 0 */
    uint32_t first;
    uint32_t last;
} ppsched_lifetime;

/* Slots that are alike, to be allocated once. 20 bytes, no padding. */
typedef struct ppsched_arena {
    uint32_t stage; /* with RECEIVE, else PPSCHED_NONE */
    int32_t kind;   /* as of its lifetimes */
    uint32_t slots; /* the least that do: as many as live at once at most */
    uint32_t first; /* its lifetimes, in the list of these */
    uint32_t count;
} ppsched_arena;

/* Lists who holds which slot of a device, arena by arena: by stage, with RECEIVE activations before
 * gradients, then by microbatch. Each takes the lowest slot that is free, in the order of their
 * first positions, then last ones: as PyTorch's activation liveness and its proposed receive pools.
 * `use`: enum ppsched_slot_use; with RECEIVE a schedule that is not lowered has none. Fills a
 * buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE, also where there is no such device; INVALID_SCHEDULE where the order
 *   cannot be run; BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_lifetimes(ppsched_lifetime *out, size_t capacity,
                                                          size_t *needed,
                                                          const ppsched_schedule *schedule,
                                                          uint32_t device, int32_t use,
                                                          ppsched_error *error);

/* Lists the arenas of these. Those without a lifetime are left out. Fills a buffer: see ppsched.h.
 * Errors: as ppsched_schedule_get_lifetimes. */
PPSCHED_API ppsched_status ppsched_schedule_get_arenas(ppsched_arena *out, size_t capacity,
                                                       size_t *needed,
                                                       const ppsched_schedule *schedule,
                                                       uint32_t device, int32_t use,
                                                       ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
