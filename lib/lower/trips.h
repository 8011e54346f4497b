/* SPDX-License-Identifier: Apache-2.0 */
/* Trips of activations to the host and back, and their places among the ops of a schedule. */
#ifndef PPSCHED_LOWER_TRIPS_H
#define PPSCHED_LOWER_TRIPS_H

#include "eval/timeline.h"

/* A stage pass that may be offloaded. */
struct ppi_trip {
    uint32_t device, link;
    uint32_t forward, backward; /* positions of their units' first ops */
    double ready, due;          /* F's end, the backward's start */
    double offload, reload;     /* durations */
    double start;               /* of the reload's place on its link */
    uint32_t rank;              /* among those of its device by the time between, the longest is 0 */
    ppsched_op op;
    bool goes;
};

/* What is placed, and how. `limits` and after are for who chooses. */
struct ppi_placing {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    const ppsched_timeline *plain; /* of the schedule as it is */
    ppsched_span *spans;           /* of its ops, in what is placed */
    struct ppi_trip *trips;
    uint32_t count;
    double *keys;              /* of trips, to sort them by */
    uint32_t *order, *scratch; /* of trips */
    double *free;              /* a link each */
    uint32_t *taken;           /* a device each: trips with a lower rank go */
    uint32_t *all;             /* and those before all of them were tried */
    double *limits, *peaks;    /* a device each: what waits are to hold, and hold */
    double *least;             /* likewise: what they hold at best */
    bool is_forced;            /* trips go, too, whose copies do not fit in between; their backwards wait */
    bool is_late;              /* and reloads come right before them */
    double lead;               /* how much earlier than they are needed reloads are to be done */
};

/* Lists the trips of lanes that are marked, and the trip of each stage pass, device by device. The schedule has been evaluated:
 * every backward comes behind its F. */
void ppi_list_trips(struct ppi_placing *placing, const uint8_t *marks, uint32_t *trip_of);

/* Ranks them; all are taken. */
void ppi_rank_trips(const struct ppi_placing *placing);

/* Takes the times of the schedule as it is, or with copies. */
void ppi_take_times(const struct ppi_placing *placing, const ppsched_timeline *timeline);

/* Makes the schedule in which the trips go for which there is a place. */
ppsched_status ppi_place_trips(ppsched_schedule **out, const struct ppi_placing *placing, const uint32_t *trip_of,
                               ppsched_error *error);

#endif
