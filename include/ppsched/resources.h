/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that a runtime needs to run a schedule: links between devices, receive buffers,
 * lifetimes of send buffers, communicators, and slots that a runtime allocates once. Resources
 * depend only on the order of the ops and on the placement, not on times. */
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

/* A link: a directed pair of devices. 16 bytes, no padding. */
typedef struct ppsched_link {
    uint32_t sender;         /* the device that sends */
    uint32_t receiver;       /* the device that receives */
    uint32_t transfers;      /* number of transfers in the whole schedule */
    uint32_t most_in_flight; /* the largest number of receives of this link that are open at one
                                time. A receive is open from the time at which `receiver` reaches it
                                until the op that needs its value has run */
} ppsched_link;

/* The buffer of a send or receive in a device's queue. For other kinds of op, both members are
 * PPSCHED_NONE. 8 bytes, no padding. */
typedef struct ppsched_op_buffer {
    uint32_t slot;  /* for a receive: number of its buffer on this device. Another receive may use
                       the buffer after `until`. For a send: PPSCHED_NONE */
    uint32_t until; /* the buffer is free after the op at this position in the queue. For a receive,
                       this is the op that needs the value. For a send, this is the first compute op
                       of this device that can run only after the other device has used the value.
                       PPSCHED_NONE if there is no such op before the end of the queue */
} ppsched_op_buffer;

/* Lists the links of a lowered schedule, in the order of their receiving devices. Links to the same
 * device are in the order in which this device has its first receive of each link. Fills a buffer:
 * see ppsched.h.
 * Errors: ARGUMENT; INVALID_SCHEDULE where sends and receives do not match; BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_links(ppsched_link *out, size_t capacity,
                                                      size_t *needed,
                                                      const ppsched_schedule *schedule,
                                                      ppsched_error *error);

/* Lists the buffers of a device's queue, one record per op. Fills a buffer: see ppsched.h. `*slots`
 * (may be NULL) receives how many receive buffers the device needs: the largest number of receives
 * that are open at one time.
 * Errors: ARGUMENT; RANGE where there is no such device; INVALID_SCHEDULE where sends and receives
 *   do not match; BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_buffers(ppsched_op_buffer *out, size_t capacity,
                                                        size_t *needed, uint32_t *slots,
                                                        const ppsched_schedule *schedule,
                                                        uint32_t device, ppsched_error *error);

/* --- communicators --- */

/* The connections that devices set up before they run a schedule. */
enum ppsched_connecting {
    PPSCHED_CONNECTING_LINKS = 0, /* a communicator for each directed pair of devices that have
                                     neighbouring stages. No device is in two communicators of a
                                     round, so one collective call can make all communicators of a
                                     round */
    PPSCHED_CONNECTING_STAGES = 1 /* a first message for each pair of neighbouring stages that are
                                     on different devices. All messages share one communicator. In a
                                     round, each device sends or receives at most one message */
};

/* One connection: a communicator of two devices or, with STAGES, a message. 20 bytes, no
 * padding. */
typedef struct ppsched_connection {
    uint32_t round;           /* number of the round, from 0 */
    uint32_t sender;          /* the device that sends */
    uint32_t receiver;        /* the device that receives */
    uint32_t sending_stage;   /* the sending stage; PPSCHED_NONE with LINKS, because several stages
                                 may use the communicator */
    uint32_t receiving_stage; /* the receiving stage; PPSCHED_NONE with LINKS */
} ppsched_connection;

/* Lists the connections of all devices, round by round. Each device must make its connections in
 * this order; devices may deadlock otherwise. `what`: enum ppsched_connecting. Fills a buffer: see
 * ppsched.h.
 *   - LINKS works like PyTorch's directed P2P groups. Each pair of devices, in ascending order, is
 *     put in the first round in which both devices are free. Then each round becomes two rounds. In
 *     the first of these two rounds, the device with the lower number sends to the other device of
 *     the pair. In the second, the device with the lower number receives from the other device.
 *   - With STAGES, each pair of stages, in ascending order, is put in the first round in which both
 *     devices are free. Messages go only from a stage to the next.
 *   - On a stage graph, the neighbours of a stage are the stages that read its output. Each device
 *     of the stage has a connection to each other device that holds a neighbour.
 *   - The list depends only on the placement, so the schedule need not be lowered.
 * Errors: ARGUMENT, RANGE, BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_connections(ppsched_connection *out,
                                                            size_t capacity, size_t *needed,
                                                            const ppsched_schedule *schedule,
                                                            int32_t what, ppsched_error *error);

/* --- slots --- */

/* What a slot holds. If microbatches have slices, each slice counts as a microbatch. */
enum ppsched_slot_use {
    PPSCHED_SLOT_USE_STAGE_MICROBATCH = 0, /* a slot for each live stage pass: from its F to its B,
                                              or to its W if the backward is split */
    PPSCHED_SLOT_USE_MICROBATCH = 1,       /* a slot for each live microbatch: from the first F of
                                              its stage passes on the device to the last B or W */
    PPSCHED_SLOT_USE_RECEIVE = 2           /* a slot for each received value: from its receive to
                                              the B of the stage pass, or to its W if the backward
                                              is split. Each stage has separate slots for
                                              activations and for gradients */
};

/* A use of a slot by one value: from the op at `first` to the op at `last`, both included. `first`
 * and `last` are positions in the device's queue. An overlapped pair has the position of its first
 * op. 24 bytes, no padding. */
typedef struct ppsched_lifetime {
    uint32_t microbatch; /* the number m of the microbatch, as in ppsched_op. If microbatches have K
                            slices, slice k has the number m * K + k */
    uint32_t stage;      /* the stage; PPSCHED_NONE with MICROBATCH */
    int32_t kind;        /* with RECEIVE: RECV_F for an activation, RECV_B for a gradient. Otherwise
                            F */
    uint32_t slot;       /* number of the slot in its arena, from 0 */
    uint32_t first;      /* position of the op that takes the slot */
    uint32_t last;       /* position of the last op that uses the value */
} ppsched_lifetime;

/* An arena: a set of equal slots that a runtime allocates once. 20 bytes, no padding. */
typedef struct ppsched_arena {
    uint32_t stage; /* the stage of the arena with RECEIVE; otherwise PPSCHED_NONE */
    int32_t kind;   /* `kind` of its lifetimes (ppsched_lifetime) */
    uint32_t slots; /* number of slots that the arena needs: the largest number of lifetimes that
                       overlap at one time */
    uint32_t first; /* index of its first lifetime in ppsched_schedule_get_lifetimes */
    uint32_t count; /* number of its lifetimes */
} ppsched_arena;

/* Lists the lifetimes of a device's slots. `use`: enum ppsched_slot_use. Fills a buffer: see
 * ppsched.h.
 *   - The list is ordered by stage and then by microbatch. With RECEIVE, all activations of a stage
 *     come before its gradients. So the lifetimes of an arena are consecutive.
 *   - Slots are given to lifetimes in the order of `first` and, where `first` is equal, of `last`.
 *     Each lifetime gets the lowest free slot, as in PyTorch's activation liveness and its proposed
 *     receive pools.
 *   - With RECEIVE, a schedule that is not lowered has no lifetimes.
 *   - In a schedule of forwards only, the lifetime of a value ends with the last op on the device
 *     that reads the value. The value of a stage pass is read by its F, by its SEND_F, by the F of
 *     the next stage if that stage is on the same device, and by the Fs of the later slices of its
 *     microbatch. A received value is read by the F of the stage pass.
 *   - On a stage graph, a stage pass holds its slot until its backward has ended, and all ops that
 *     read its output have read it. These ops are its SEND_Fs, and on the same device the Fs of the
 *     stages that read its output.
 *   - On a stage graph with RECEIVE, a stage has an arena for each place from which it receives.
 *     See ppsched_schedule_place_of for places. The arenas are in ascending order of places. The op
 *     at `first` names the place. A stage without a backward needs a received value until its F has
 *     ended.
 * Errors: ARGUMENT; RANGE, also where there is no such device; INVALID_SCHEDULE where a stage pass
 *   of the device is incomplete or out of order; BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_get_lifetimes(ppsched_lifetime *out, size_t capacity,
                                                          size_t *needed,
                                                          const ppsched_schedule *schedule,
                                                          uint32_t device, int32_t use,
                                                          ppsched_error *error);

/* Lists the arenas of the lifetimes that ppsched_schedule_get_lifetimes lists. Arenas without a
 * lifetime are left out. Fills a buffer: see ppsched.h.
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
