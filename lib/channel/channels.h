/* SPDX-License-Identifier: Apache-2.0 */
/* What the comm ops of a lowered schedule wait for under a channel model: each is in a queue of its device, and each transfer
 * goes through a channel. Ops are numbered over all devices, as in the schedule. */
#ifndef PPSCHED_CHANNEL_CHANNELS_H
#define PPSCHED_CHANNEL_CHANNELS_H

#include <ppsched/channel.h>

#include "ir/transfer.h"

/* An op of the schedule. */
struct ppi_comm {
    uint32_t device;
    uint32_t transfer; /* number of the transfer of a comm op, or awaited by a compute op of a chain; or PPSCHED_NONE */
    uint32_t queue;    /* of a comm op */
    uint32_t place;    /* of a comm op: index in its queue */
    uint32_t batch;    /* `place` of the first op of its batch; its own `place` without batches */
};

/* A transfer, by number. */
struct ppi_route {
    uint32_t channel; /* the channel that carries it */
    uint32_t place;   /* index in its channel */
    uint32_t link;    /* number of the link */
};

struct ppi_channels {
    const ppsched_schedule *schedule;
    struct ppi_transfers transfers;
    struct ppi_comm *comms; /* by op */
    struct ppi_route *routes;
    uint32_t queue_count, channel_count, link_count;
    uint32_t *queue_first;   /* index in `queued` of each queue's first op, then the end */
    uint32_t *queued;        /* comm ops by queue, in order */
    uint32_t *channel_first; /* the same of each channel's transfers in `carried`, in order of their sends */
    uint32_t *carried;
};

/* INVALID_SCHEDULE if a send or receive has no partner, is duplicate, or is misplaced. */
ppsched_status ppi_channels_make(struct ppi_channels *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error);
void ppi_channels_clear(struct ppi_channels *channels);

/* The ops of the transfer of a comm op, or awaited by a compute op. */
static inline const struct ppi_transfer_ops *ppi_moved_by(const struct ppi_channels *channels, uint32_t i)
{
    return &channels->transfers.ops[channels->comms[i].transfer];
}

/* The receive that a compute op of a chain waits for; PPSCHED_NONE: none. */
static inline uint32_t ppi_awaited_by(const struct ppi_channels *channels, uint32_t i)
{
    return channels->comms[i].transfer != PPSCHED_NONE ? ppi_moved_by(channels, i)->receive : PPSCHED_NONE;
}

#endif
