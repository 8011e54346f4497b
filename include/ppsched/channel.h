/* SPDX-License-Identifier: Apache-2.0 */
/* How a runtime sends and receives, and the proof that a lowered schedule cannot hang there. */
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

/* Which comm ops of a device wait for each other: it has channels, and those of one channel run in
 * the order of the device's ops, each when all before it are done. */
enum ppsched_channel_order {
    PPSCHED_CHANNEL_ORDER_GROUP = 0,     /* one channel a device: one communicator for all */
    PPSCHED_CHANNEL_ORDER_DIRECTION = 1, /* one for activations, one for gradients */
    PPSCHED_CHANNEL_ORDER_PAIR = 2,      /* one for each link, a directed pair of devices */
    PPSCHED_CHANNEL_ORDER_NONE = 3,      /* none: each waits for itself alone, as with a tag of its
                                            own */
    PPSCHED_CHANNEL_ORDER_SENDS = 4      /* one for all sends of a device, which one has from its
                                            start until its value is there; each receive waits for
                                            itself alone. As ASTRA-sim, and network cards that send
                                            one message after another */
};

/* How a runtime sends. Sized: set `size`; zero means the first choice.
 *
 * A device issues its comm ops as it comes to them and goes on; only a compute op waits, for the
 * receive of its input. Between two devices the transfers of a channel arrive in the order in which
 * they are sent: a receive takes the oldest, and if that is not the one it expects, it waits.
 * Source: PyTorch's batched isend and irecv, NCCL's order of point-to-point calls. */
typedef struct ppsched_channel_model {
    uint32_t size;
    int32_t order;       /* enum ppsched_channel_order */
    uint32_t rendezvous; /* 1: a send starts when its receive has its turn as well; 0: when its own
                            turn comes (buffered) */
    uint32_t batched;    /* 1: neighbouring comm ops of a device start together, and the channel
                            goes on when all are done */
    uint32_t blocking;   /* 1: a device does nothing else until its comm op, or batch of them, is
                            done; it then has one channel, whatever `order` says */
} ppsched_channel_model;

/* A wait of a circle: `device` waits in `op`, at `position` of its queue, for the device of the
 * next wait; the last for that of the first. That may be the same device, where an op waits for
 * another of its own: one before it in its channel, or the receive of what was sent first, which
 * stands later. 20 bytes, no padding. */
typedef struct ppsched_wait {
    uint32_t device;
    uint32_t position;
    ppsched_op op;
} ppsched_wait;

/* Tells whether a lowered schedule always comes to its end under the model: OK, or INVALID_SCHEDULE
 * with the circle in words.
 *   - Up to `capacity` waits of the circle go to `out`; `*count` (may be NULL) gets how many there
 *     are, 0 where it is safe. Where `out` is too small that is no error: this is a report.
 *   - Of several circles it is a shortest one that devices wait in, the lowest device first.
 *   - The words name for each wait the device, or what it waits for on its own one, and where.
 *   - No run of the model depends on speeds: it ends always or never.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; INVALID_SCHEDULE also where a send has no receive, or an
 *   input is never received, of which there is no circle; NO_MEMORY. But for INVALID_SCHEDULE
 *   nothing is written on failure. */
PPSCHED_API ppsched_status ppsched_schedule_prove(ppsched_wait *out, size_t capacity, size_t *count,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_channel_model *model,
                                                  ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
