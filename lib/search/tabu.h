/* SPDX-License-Identifier: Apache-2.0 */
/* Tabu search over the order of ops: of all shifts of an op to an end of its block of the critical path the one that promises
 * most is made, whether it shortens anything or not, and may not be undone for a while (Nowicki and Smutnicki, "A fast taboo
 * search algorithm for the job shop problem", 1996). */
#ifndef PPSCHED_SEARCH_TABU_H
#define PPSCHED_SEARCH_TABU_H

#include "search/attempt.h"
#include "search/shift.h"

struct ppi_tabu {
    struct ppi_attempt *attempt;
    struct ppi_graph graph;
    uint32_t *until; /* by a hash of two ops: the step from which on the first may go before the second again */
    uint32_t *path;  /* the critical one, the last op first */
    uint32_t path_count;
    uint32_t steps;
    double visits, most_visits; /* of ops: so far, and when to end */
    double told;                /* visits at the last report */
    double best;                /* objective of this descent, within all limits */
    double excess;              /* of the present order: what devices hold above their limits, summed over places */
    double weight;              /* time for which one of it counts */
    double least_weight, rounding;
    int32_t run; /* steps since it was 0, or was not: then negative */
    uint64_t random;
};

/* In a room of the caller's. */
ppsched_status ppi_tabu_make(struct ppi_tabu *out, struct ppi_arena *arena, struct ppi_attempt *attempt, double most_visits,
                             ppsched_error *error);

/* Whether work is left, and a shorter schedule may exist. */
static inline bool ppi_tabu_goes_on(const struct ppi_tabu *tabu)
{
    return tabu->visits < tabu->most_visits && ppi_attempt_goes_on(tabu->attempt);
}

/* Tells the watch, if there has been much work since the last time. CANCELLED where it says so. */
ppsched_status ppi_tabu_report(struct ppi_tabu *tabu, ppsched_error *error);

/* Searches from an order on until so many steps have found nothing shorter. `order` becomes the best that was met, and
 * `*objective` its time; the attempt keeps what is shorter than its own. CANCELLED where the watch says so. */
ppsched_status ppi_tabu_local_search(struct ppi_tabu *tabu, struct ppi_orders *order, uint32_t stale, double *objective,
                                     ppsched_error *error);

/* Makes an allowed shift of the present order, and forbids undoing it. */
void ppi_tabu_shift(struct ppi_tabu *tabu, const struct ppi_shift *shift);

/* Makes one, and may undo it. */
void ppi_tabu_apply(struct ppi_tabu *tabu, const struct ppi_shift *shift);

/* Below `limit`. */
uint32_t ppi_tabu_random(struct ppi_tabu *tabu, uint32_t limit);

#endif
