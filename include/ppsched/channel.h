/* SPDX-License-Identifier: Apache-2.0 */
/* Channel models: how a runtime sends and receives. And the proof that a lowered schedule does not
 * deadlock there. */
#ifndef PPSCHED_CHANNEL_H
#define PPSCHED_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/export_macro.h>
#include <ppsched/op.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which sends and receives of a device wait for each other. Those of one channel run one after
 * another, in the order of the device's queue: the turn of one comes when all before it in the
 * channel are done. */
enum ppsched_channel_order {
    PPSCHED_CHANNEL_ORDER_GROUP = 0,     /* one channel per device: one communicator for all */
    PPSCHED_CHANNEL_ORDER_DIRECTION = 1, /* one channel for activations, one for gradients */
    PPSCHED_CHANNEL_ORDER_PAIR = 2,      /* one channel for each link (directed pair of devices) */
    PPSCHED_CHANNEL_ORDER_NONE = 3,      /* no channels: none waits for another, as when each
                                            transfer has a unique tag */
    PPSCHED_CHANNEL_ORDER_SENDS = 4      /* one channel for all sends of a device; in an evaluation
                                            a send occupies it until its value has arrived. Receives
                                            wait for no other. As in ASTRA-sim, and network cards
                                            that send one message after another */
};

/* A channel model. Sized: set `size`; zero means the first choice.
 *
 * A device issues a send or a receive when it reaches it in its queue, and continues at once. Only
 * compute ops wait, for the receives of their inputs. Within a channel the transfers from one
 * device to another arrive in the order in which they are sent: if the oldest is not the one that a
 * receive expects, the receive waits. With NONE and SENDS a receive never waits for other
 * transfers.
 * Source: PyTorch's batched isend and irecv, NCCL's order of point-to-point calls. */
typedef struct ppsched_channel_model {
    uint32_t size;
    int32_t order;       /* enum ppsched_channel_order */
    uint32_t rendezvous; /* 1: a send starts when it and its receive both have their turn; 0: when
                            it has its own turn (buffered) */
    uint32_t batched;    /* 1: neighbouring sends and receives of a device start together, as a
                            batch; the channel continues when all of them are done */
    uint32_t blocking;   /* 1: a device does nothing else until its send, receive or batch is done.
                            It then has one channel, whatever `order` is */
} ppsched_channel_model;

/* One wait of a wait cycle: `device` waits in `op`, at `position` of its queue, for the device of
 * the next wait; the last waits for that of the first. If both are the same device, `op` waits for
 * another of its ops: one before it in its channel, or the receive of a value that was sent first.
 * 20 bytes, no padding. */
typedef struct ppsched_wait {
    uint32_t device;
    uint32_t position;
    ppsched_op op;
} ppsched_wait;

/* Proves that a lowered schedule ends in a channel model, or finds a deadlock. The result is OK if
 * it ends, or INVALID_SCHEDULE with the wait cycle in the message of `error`.
 *   - The call writes up to `capacity` waits of the cycle to `out`, and to `*count` (may be NULL)
 *     how many there are in all: 0 if there is no deadlock. More waits than `capacity` are no
 *     error: this is a report.
 *   - If there are several wait cycles, it reports a shortest one, from its lowest device on.
 *   - The message names for each wait the device that it waits for; if that is the same device, the
 *     op and its position.
 *   - One run of the model is a proof, as no run depends on speeds: the schedule always ends, or
 *     never.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; INVALID_SCHEDULE also, with `*count` 0, where sends and
 *   receives do not match: one is missing, repeated, on the wrong device or too late; NO_MEMORY. On
 *   errors other than INVALID_SCHEDULE nothing is written. */
PPSCHED_API ppsched_status ppsched_schedule_prove(ppsched_wait *out, size_t capacity, size_t *count,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_channel_model *model,
                                                  ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
