/* SPDX-License-Identifier: Apache-2.0 */
/* Trips of activations to the host and back, and their places among the ops of a schedule. */
#ifndef PPSCHED_OFFLOAD_TRANSFERS_H
#define PPSCHED_OFFLOAD_TRANSFERS_H

#include "base/heap.h"
#include "eval/timeline.h"

/* A stage pass that may be offloaded. */
struct ppi_offload_transfer {
    uint32_t device, link;
    uint32_t chunk;             /* its stage is the device's so-and-so-many-th, from 0 */
    uint32_t forward, backward; /* positions of their units' first ops */
    double ready, due;          /* F's end, the backward's start */
    double offload, reload;     /* durations */
    double moved;               /* memory that goes */
    double start;               /* of the reload's place on its link */
    ppsched_op op;
    bool stays;     /* it never goes */
    bool is_picked; /* it goes if there is a place for its copies */
    bool goes;
};

/* What is placed, and how. `lead` and after are for who chooses. */
struct ppi_placing {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    const ppsched_timeline *plain;          /* of the schedule as it is */
    ppsched_span *spans;                    /* of its ops, in what is placed */
    uint32_t *chunk_of;                     /* of lanes */
    uint32_t *transfer_of;                  /* of stage passes; PPSCHED_NONE where they stay */
    struct ppi_offload_transfer *transfers; /* device by device, each in the order of its Fs */
    uint32_t count;
    uint32_t *ends;            /* of each device's trips */
    double *keys;              /* of trips, to sort them by */
    uint32_t *order, *scratch; /* of trips */
    double *free;              /* a link each */
    struct ppi_heap resident;  /* of picking */
    double lead;               /* how much earlier than they are needed reloads are to be done */
    uint32_t lead_ops;         /* if above 0, so many ops are between a reload and what needs it */
    bool is_forced;            /* trips go, too, whose copies do not fit in between; their backwards wait */
    bool is_late;              /* and reloads come right before them */
    double *limits, *peaks;    /* a device each: what is to hold, and what waits hold at best */
};

/* Makes room. The schedule, the config and `plain` are set. */
ppsched_status ppi_placing_make(struct ppi_placing *placing, ppsched_error *error);
void ppi_placing_clear(struct ppi_placing *placing);

/* Lists the trips of so many stages of each device, the lowest first, 0 for all. The schedule has been evaluated, so that each
 * backward is behind its F. */
void ppi_list_transfers(struct ppi_placing *placing, uint32_t chunks);

/* Has those trips of each device stay that are soonest needed again: at most that share of what all would move may go. */
void ppi_keep_shortest(const struct ppi_placing *placing, double share);

/* Takes the times of the schedule as it is, or with copies. */
void ppi_take_times(const struct ppi_placing *placing, const ppsched_timeline *timeline);

/* Makes the schedule in which the trips go that are picked and have a place. */
ppsched_status ppi_place_transfers(ppsched_schedule **out, const struct ppi_placing *placing, ppsched_error *error);

static inline uint32_t ppi_first_transfer(const struct ppi_placing *placing, uint32_t device)
{
    return device == 0 ? 0 : placing->ends[device - 1];
}

#endif
