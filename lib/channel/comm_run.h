/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of devices and their comm ops in a run under a channel model; shared by the proof and the evaluation with transfers.
 * Ops are numbered over all devices, as in the schedule. */
#ifndef PPSCHED_CHANNEL_COMM_RUN_H
#define PPSCHED_CHANNEL_COMM_RUN_H

#include "channel/channels.h"

struct ppi_comm_run {
    struct ppi_channels channels;
    const ppsched_schedule *schedule;
    ppsched_channel_model model; /* with blocking: one queue per device */
    bool *done;                  /* by comm op */
    uint32_t *position;          /* by device: ops before it are issued or have run */
    uint32_t *head;              /* by queue: the first place that is not done */
    uint32_t *received;          /* by channel: number of transfers received, which is in channel order */
    uint32_t *news;              /* comm ops to examine, oldest first */
    uint32_t news_first, news_count;
    uint32_t *come; /* on a stage graph, by stage: how many devices have come to its next op; else NULL */
    bool *has_come; /* by device */
};

/* Makes a run before its start. INVALID_SCHEDULE if comm ops do not match. */
ppsched_status ppi_comm_run_make(struct ppi_comm_run *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error);
void ppi_comm_run_clear(struct ppi_comm_run *run);

/* The comm op with this number. */
static inline const struct ppi_comm *ppi_comm_at(const struct ppi_comm_run *run, uint32_t i)
{
    return &run->channels.comms[i];
}

/* Enters a comm op to be examined. */
void ppi_comm_tell(struct ppi_comm_run *run, uint32_t i);

/* The next comm op to examine; false: none. */
bool ppi_comm_next(struct ppi_comm_run *run, uint32_t *i);

/* Marks a comm op as done; enters comm ops whose turn may have come. */
void ppi_comm_finish(struct ppi_comm_run *run, uint32_t i);

/* Marks a transfer as received; enters the receive of its channel's next one. */
void ppi_comm_take(struct ppi_comm_run *run, uint32_t transfer);

/* Whether all comm ops are done. */
bool ppi_comm_all_done(const struct ppi_comm_run *run);

/* The same for a stage graph. */
uint32_t ppi_comm_missing_on_graph(const struct ppi_comm_run *run, uint32_t device, uint32_t i);

/* The same for a chain. */
static inline uint32_t ppi_comm_missing_in_chain(const struct ppi_comm_run *run, uint32_t i)
{
    uint32_t receive = ppi_awaited_by(&run->channels, i);
    return receive != PPSCHED_NONE && !run->done[receive] ? receive : PPSCHED_NONE;
}

/* A receive of a device's compute op that is not done; PPSCHED_NONE if there is none. */
static inline uint32_t ppi_comm_missing(const struct ppi_comm_run *run, uint32_t device, uint32_t i)
{
    return run->come != NULL ? ppi_comm_missing_on_graph(run, device, i) : ppi_comm_missing_in_chain(run, i);
}

/* On a stage graph: a device has come to its compute op `i`, and can run it. Whether it is the last of the op's devices. */
bool ppi_comm_gathers(struct ppi_comm_run *run, uint32_t device, uint32_t i);

/* A device that has not come to an op to which another has. */
uint32_t ppi_comm_absent(const struct ppi_comm_run *run, const ppsched_op *op);

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

/* Whether all transfers before it in its channel have been received. */
static inline bool ppi_comm_oldest(const struct ppi_comm_run *run, uint32_t transfer)
{
    const struct ppi_route *route = &run->channels.routes[transfer];
    return run->received[route->channel] == route->place;
}

#endif
