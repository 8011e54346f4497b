/* SPDX-License-Identifier: Apache-2.0 */
/* List scheduling after a pattern: of the ops that a device could run next, the one that the pattern wants first. Real costs,
 * memory limits, warm-up and drain are kept by the schedule in the making. */
#ifndef PPSCHED_SEARCH_DISPATCH_H
#define PPSCHED_SEARCH_DISPATCH_H

#include "search/orders.h"
#include "search/partial.h"
#include "search/periodic.h"

struct ppi_dispatch {
    double weight_lag; /* how long after its I the pattern wants a W; infinite: only where nothing else can be run */
    bool holds_back;   /* no stage has more activations in flight than the pattern */
};

/* A pattern, and room to work in, for one problem. */
struct ppi_dispatch_room {
    struct ppi_periodic pattern;
    struct ppi_partial partial;
    struct ppi_ends ends;
    double *memory;
};

ppsched_status ppi_dispatch_room_make(struct ppi_dispatch_room *out, const struct ppi_problem *problem, ppsched_error *error);
void ppi_dispatch_room_clear(struct ppi_dispatch_room *room, const struct ppi_problem *problem);

/* Fills `out` after the pattern, which leaves the Ws open; returns the objective, infinite where times overflow. */
double ppi_dispatch(struct ppi_dispatch_room *room, const struct ppi_problem *problem, const struct ppi_dispatch *dispatch,
                    struct ppi_orders *out);

#endif
