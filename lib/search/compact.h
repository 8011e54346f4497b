/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction, known from project scheduling as justification: in the order of a schedule, each op moves to the earliest gap of
 * its device, not too far back, that dependencies and memory allow. It fills the warm-up of a repeated pattern with forwards;
 * applied forwards and backwards in time in turn, it shortens any schedule. */
#ifndef PPSCHED_SEARCH_COMPACT_H
#define PPSCHED_SEARCH_COMPACT_H

#include "bound/problem.h"
#include "ir/progress.h"
#include "search/orders.h"

struct ppi_compactor {
    const struct ppi_problem *problem;
    int32_t most;                  /* limit of stage passes that a device holds from F to W, whatever their memory */
    uint32_t look_back;            /* an op moves before at most so many ops of its device, so that the work is linear */
    double rounding;               /* by which an op may overlap the next */
    bool backwards;                /* the direction in time: the last op first */
    struct ppi_poll *poll;         /* that counts the work; NULL: none */
    double *end;                   /* of each op, by link (see periodic.h) and microbatch; negative where not yet known */
    double *delay;                 /* of each link of the chain, from the link before */
    struct ppi_compact_row *row;   /* one per device */
    struct ppi_compact_op *placed; /* memory of the rows */
};

/* In the caller's arena, for a problem that outlives it; without a limit on stage passes, and without rounding. */
ppsched_status ppi_compactor_make(struct ppi_compactor *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                  ppsched_error *error);

/* Replaces an order, with split or full backwards. `*span`: the longest time from a device's first start to its last end.
 * False, and nothing is written, where the order deadlocks, exceeds a limit, or the caller stops the search. */
bool ppi_compact(struct ppi_compactor *compactor, struct ppi_orders *orders, bool backwards, double *span);

/* The same forwards, but the Ws after a device's last F go into the gaps that are left, those of the oldest I first, and the
 * rest to the end. Where false, the order is destroyed. */
bool ppi_compact_and_fill(struct ppi_compactor *compactor, struct ppi_orders *orders, double *span);

#endif
