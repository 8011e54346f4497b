/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction, known from project scheduling as justification: the ops of a schedule go, in its order, one after another to the
 * earliest gap of their device, not too far back, that dependencies and memory allow. From a repeated pattern that fills the
 * warm-up with forwards; done forwards and backwards in time in turn, it shortens any schedule. */
#ifndef PPSCHED_SEARCH_COMPACT_H
#define PPSCHED_SEARCH_COMPACT_H

#include "bound/problem.h"
#include "ir/progress.h"
#include "search/orders.h"

struct ppi_compactor {
    const struct ppi_problem *problem;
    int32_t most;                  /* stage passes that a device may hold from F to W, whatever their memory */
    uint32_t look_back;            /* an op goes before so many of its device at most, so that the work is linear */
    double rounding;               /* an op may overlap the next by as much */
    bool backwards;                /* in time: the last op first */
    struct ppi_poll *poll;         /* that is told of the work; NULL: none */
    double *end;                   /* of each op, by link (see periodic.h) and microbatch; negative where not yet known */
    double *delay;                 /* of each link of the chain, from the link before */
    struct ppi_compact_row *row;   /* one a device */
    struct ppi_compact_op *placed; /* what the rows consist of */
};

/* In a room of the caller's, for a problem that outlives it; there is no bound on stage passes, and no rounding. */
ppsched_status ppi_compactor_make(struct ppi_compactor *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                  ppsched_error *error);

/* Replaces an order of split or joined backwards. `*span`: the longest time from a device's first start to its last end. False,
 * and nothing is written, where the order cannot be run, or goes over a limit, or the watch wants no more. */
bool ppi_compact(struct ppi_compactor *compactor, struct ppi_orders *orders, bool backwards, double *span);

/* Likewise, forwards, but the Ws behind a device's last F go into the gaps that are left, those of the oldest I first, and
 * behind all others. Where false, the order is of no use any more. */
bool ppi_compact_and_fill(struct ppi_compactor *compactor, struct ppi_orders *orders, double *span);

#endif
