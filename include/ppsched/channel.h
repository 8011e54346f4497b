/* SPDX-License-Identifier: Apache-2.0 */
/* Channel models describe how a runtime sends and receives. With a channel model, the library can
 * prove that a lowered schedule does not deadlock. */
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

/* Which sends and receives of a device wait for each other. Sends and receives of one channel run
 * one after another, in the order of the device's queue. A send or receive may start when all sends
 * and receives before it in its channel are done. */
enum ppsched_channel_order {
    PPSCHED_CHANNEL_ORDER_GROUP = 0,     /* one channel per device: all sends and receives use one
                                            communicator */
    PPSCHED_CHANNEL_ORDER_DIRECTION = 1, /* two channels per device: one for activations, one for
                                            gradients */
    PPSCHED_CHANNEL_ORDER_PAIR = 2,      /* one channel for each link (directed pair of devices) */
    PPSCHED_CHANNEL_ORDER_NONE = 3,      /* no channels: no send or receive waits for another.
                                            Example: each transfer has a unique tag */
    PPSCHED_CHANNEL_ORDER_SENDS = 4      /* one channel for all sends of a device. In an evaluation
                                            a send occupies this channel until its value has
                                            arrived. Receives wait for no other send or receive of
                                            their device. Examples: ASTRA-sim, and network cards
                                            that send one message after another */
};

/* A channel model. Set `size` to sizeof of this struct. With all other fields 0, the order is GROUP
 * and no flag is set.
 *
 * A device issues a send or a receive when it reaches this op in its queue. Without `blocking`, the
 * device then continues immediately. It waits only before a compute op, until the receives of the
 * inputs of this op are done. Within a channel, the transfers from one device to another arrive in
 * the order in which they are sent. So a receive waits until its own transfer is the oldest that
 * has not been received. But with NONE and SENDS, a receive never waits for other transfers.
 * Source: PyTorch's batched isend and irecv, NCCL's order of point-to-point calls. */
typedef struct ppsched_channel_model {
    uint32_t size;
    int32_t order;       /* enum ppsched_channel_order */
    uint32_t rendezvous; /* 1: a send also waits until its receive may start. 0: sends are buffered,
                            that is, a send does not wait for its receive */
    uint32_t batched;    /* 1: consecutive sends and receives in a device's queue start together, as
                            a batch. The channel continues when all of them are done */
    uint32_t blocking;   /* 1: a device does nothing else until its send, receive or batch is done.
                            The device then has one channel, whatever `order` is */
} ppsched_channel_model;

/* One wait of a wait cycle. The device `device` waits in the op `op`, which is at `position` in the
 * device's queue. The device waits for the device of the next wait in the cycle. After the last
 * wait of the cycle, the next wait is the first. If this wait and the next wait have the same
 * device, `op` waits for another op of this device. There are two cases. Either the other op is
 * before `op` in the channel of `op`. Or `op` and the other op are receives, and the value of the
 * other op was sent earlier, so it also arrives earlier. 20 bytes, no padding. */
typedef struct ppsched_wait {
    uint32_t device;   /* the device that waits */
    uint32_t position; /* position of `op` in the device's queue */
    ppsched_op op;     /* the op in which the device waits */
} ppsched_wait;

/* Proves that a lowered schedule runs to its end in a channel model, or finds a deadlock. The call
 * returns OK if the schedule runs to its end. Otherwise it returns INVALID_SCHEDULE, with the wait
 * cycle in the message of `error`.
 *   - The call writes up to `capacity` waits of the cycle to `out`. `*count` receives the number of
 *     waits of the cycle, or 0 if there is no deadlock. `count` may be NULL. It is no error if the
 *     cycle has more waits than `capacity`.
 *   - If there are several wait cycles, the call reports one of the shortest. The report begins
 *     with the lowest device of this cycle.
 *   - For each wait the message names the device for which the waiting device waits. If a device
 *     waits for itself, the message names the op for which it waits, and the position of this op.
 *   - One run of the model is a proof for all speeds: a schedule that runs to its end at one speed
 *     does so at every speed.
 * Errors: ARGUMENT; STRUCT_SIZE; RANGE; NO_MEMORY; INVALID_SCHEDULE for a deadlock, and also if
 *   sends and receives do not match (one is missing, repeated, on the wrong device or too late). If
 *   they do not match, `*count` is 0. On an error other than INVALID_SCHEDULE nothing is
 *   written. */
PPSCHED_API ppsched_status ppsched_schedule_prove(ppsched_wait *out, size_t capacity, size_t *count,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_channel_model *model,
                                                  ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
