/* SPDX-License-Identifier: Apache-2.0 */
/* How far the devices and their comm ops are in a run under a channel model: what the proof and the evaluation with transfers
 * share. Ops are numbered over all devices, as in the schedule. */
#ifndef PPSCHED_CHANNEL_COMM_RUN_H
#define PPSCHED_CHANNEL_COMM_RUN_H

#include "channel/channels.h"

struct ppi_comm_run {
    struct ppi_channels channels;
    const ppsched_schedule *schedule;
    ppsched_channel_model model; /* one queue a device where it blocks */
    bool *done;                  /* comm ops */
    uint32_t *position;          /* of each device: ops before it are issued or have run */
    uint32_t *head;              /* of each queue: the first place that is not done */
    uint32_t *received;          /* of each channel */
    uint32_t *news;              /* comm ops to look at, the oldest first */
    uint32_t news_first, news_count;
};

/* Nothing has run. INVALID_SCHEDULE where comm ops do not fit each other. */
ppsched_status ppi_comm_run_make(struct ppi_comm_run *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error);
void ppi_comm_run_clear(struct ppi_comm_run *run);

/* A comm op is to be looked at. */
void ppi_comm_tell(struct ppi_comm_run *run, uint32_t i);

/* The next one to look at; false where there is none. */
bool ppi_comm_next(struct ppi_comm_run *run, uint32_t *i);

/* A comm op is done; what may have its turn now is told. */
void ppi_comm_finish(struct ppi_comm_run *run, uint32_t i);

/* A transfer has been received; the receive of its channel's next one is told. */
void ppi_comm_take(struct ppi_comm_run *run, uint32_t transfer);

/* Whether all comm ops are done. */
bool ppi_comm_all_done(const struct ppi_comm_run *run);

static inline bool ppi_comm_issued(const struct ppi_comm_run *run, uint32_t i)
{
    uint32_t device = run->channels.comms[i].device;
    return i < run->schedule->queues[device].first + run->position[device];
}

/* Whether it is a comm op's turn: it is issued, and all in its queue before its batch are done. */
static inline bool ppi_comm_turn(const struct ppi_comm_run *run, uint32_t i)
{
    const struct ppi_comm *comm = &run->channels.comms[i];
    return ppi_comm_issued(run, i) && comm->batch <= run->head[comm->queue];
}

/* Whether all its channel's transfers before one have been received. */
static inline bool ppi_comm_oldest(const struct ppi_comm_run *run, uint32_t transfer)
{
    const struct ppi_route *route = &run->channels.routes[transfer];
    return run->received[route->channel] == route->place;
}

#endif
