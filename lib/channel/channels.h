/* SPDX-License-Identifier: Apache-2.0 */
/* What the comm ops of a lowered schedule wait for under a channel model: the queue of its device that each is in, the channel
 * that each transfer goes through. Ops are numbered over all devices, as in the schedule. */
#ifndef PPSCHED_CHANNEL_CHANNELS_H
#define PPSCHED_CHANNEL_CHANNELS_H

#include <ppsched/channel.h>

#include "ir/transfer.h"

/* An op. */
struct ppi_comm {
    uint32_t device;
    uint32_t transfer; /* number of what a comm op moves, or a compute op waits for; PPSCHED_NONE */
    uint32_t queue;    /* of a comm op */
    uint32_t place;    /* of a comm op in its queue */
    uint32_t batch;    /* place of the first op of its batch; its own where nothing is batched */
};

/* A transfer, by number. */
struct ppi_route {
    uint32_t channel; /* what carries it */
    uint32_t place;   /* how many that carries before */
    uint32_t link;    /* number of the directed pair of devices */
};

struct ppi_channels {
    const ppsched_schedule *schedule;
    struct ppi_transfers transfers;
    struct ppi_comm *comms; /* by op */
    struct ppi_route *routes;
    uint32_t queue_count, channel_count, link_count;
    uint32_t *queue_first;   /* where each queue begins in `queued`, and at last its end */
    uint32_t *queued;        /* comm ops by queue, in order */
    uint32_t *channel_first; /* likewise the transfers of each channel, in the order of their sends */
    uint32_t *carried;
};

/* INVALID_SCHEDULE where a send or a receive has no partner, stands twice, or is of no use where it is. */
ppsched_status ppi_channels_make(struct ppi_channels *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error);
void ppi_channels_clear(struct ppi_channels *channels);

/* The ops of what a comm op moves, or a compute op waits for. */
static inline const struct ppi_transfer_ops *ppi_moved_by(const struct ppi_channels *channels, uint32_t i)
{
    return &channels->transfers.ops[channels->comms[i].transfer];
}

/* The receive for which a compute op waits; PPSCHED_NONE where there is none. */
static inline uint32_t ppi_awaited_by(const struct ppi_channels *channels, uint32_t i)
{
    return channels->comms[i].transfer != PPSCHED_NONE ? ppi_moved_by(channels, i)->receive : PPSCHED_NONE;
}

#endif
