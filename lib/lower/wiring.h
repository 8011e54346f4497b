/* SPDX-License-Identifier: Apache-2.0 */
/* How the comm ops of a lowered schedule hang together: which receive takes which send, which queue each is in, and what
 * every compute op waits for. Ops are numbered over all devices, as in the schedule. */
#ifndef PPSCHED_LOWER_WIRING_H
#define PPSCHED_LOWER_WIRING_H

#include <ppsched/channel.h>

#include "model/schedule.h"

#define PPI_NO_OP 4294967295u

/* An op. */
struct ppi_wire {
    uint32_t device;
    uint32_t partner; /* of a send its receive and the reverse; of a compute op the first receive that it waits for; NO_OP */
    uint32_t queue;   /* of a comm op */
    uint32_t place;   /* of a comm op in its queue */
    uint32_t batch;   /* place of the first op of its batch; its own where nothing is batched */
    uint32_t channel, number; /* of a send: what carries it, and how many it carries before */
    uint32_t link;            /* of a send: number of the directed pair of devices */
};

struct ppi_wiring {
    struct ppi_host host;
    const ppsched_schedule *schedule;
    struct ppi_wire *wires;
    uint32_t count; /* of ops; more are refused */
    uint32_t queue_count, channel_count, link_count;
    uint32_t *queue_first;   /* where each queue begins in `queued`, and at last its end */
    uint32_t *queued;        /* comm ops by queue, in order */
    uint32_t *channel_first; /* likewise the sends of each channel */
    uint32_t *carried;
};

/* INVALID_SCHEDULE where a send or a receive has no partner, stands twice, or is of no use where it is. */
ppsched_status ppi_wiring_make(struct ppi_wiring *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                               ppsched_error *error);
void ppi_wiring_clear(struct ppi_wiring *wiring);

static inline bool ppi_is_comm(const ppsched_op *op)
{
    return ppi_is_send(op->kind) || ppi_is_receive(op->kind);
}

#endif
