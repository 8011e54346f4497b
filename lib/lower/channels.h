/* SPDX-License-Identifier: Apache-2.0 */
/* How far the devices and their comm ops are in a run under a channel model: what the proof and the evaluation with transfers
 * share. Ops are numbered as in the wiring. */
#ifndef PPSCHED_LOWER_CHANNELS_H
#define PPSCHED_LOWER_CHANNELS_H

#include "lower/wiring.h"

struct ppi_channels {
    struct ppi_wiring wiring;
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
ppsched_status ppi_channels_make(struct ppi_channels *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error);
void ppi_channels_clear(struct ppi_channels *channels);

/* A comm op is to be looked at. */
void ppi_channels_tell(struct ppi_channels *channels, uint32_t i);

/* The next one to look at; false where there is none. */
bool ppi_channels_next(struct ppi_channels *channels, uint32_t *i);

/* A comm op is done; what may have its turn now is told. */
void ppi_channels_finish(struct ppi_channels *channels, uint32_t i);

/* A message has been received; the receive of the next one is told. */
void ppi_channels_take(struct ppi_channels *channels, uint32_t send);

/* Whether all comm ops are done. */
bool ppi_channels_all_done(const struct ppi_channels *channels);

static inline bool ppi_channels_issued(const struct ppi_channels *channels, uint32_t i)
{
    uint32_t device = channels->wiring.wires[i].device;
    return i < channels->schedule->queues[device].first + channels->position[device];
}

/* Whether it is a comm op's turn: it is issued, and all in its queue before its batch are done. */
static inline bool ppi_channels_turn(const struct ppi_channels *channels, uint32_t i)
{
    const struct ppi_wire *wire = &channels->wiring.wires[i];
    return ppi_channels_issued(channels, i) && wire->batch <= channels->head[wire->queue];
}

/* Whether all its channel's messages before a send have been received. */
static inline bool ppi_channels_oldest(const struct ppi_channels *channels, uint32_t send)
{
    const struct ppi_wire *wire = &channels->wiring.wires[send];
    return channels->received[wire->channel] == wire->number;
}

#endif
