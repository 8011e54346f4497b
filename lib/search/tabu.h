/* SPDX-License-Identifier: Apache-2.0 */
/* Tabu search over the order of ops: of all shifts of an op to an end of its block of the critical path the most promising one
 * is made, even where it is longer, and may not be undone for some steps (Nowicki and Smutnicki, "A fast taboo search
 * algorithm for the job shop problem", 1996). */
#ifndef PPSCHED_SEARCH_TABU_H
#define PPSCHED_SEARCH_TABU_H

#include "search/attempt.h"
#include "search/shift.h"

struct ppi_tabu {
    struct ppi_attempt *attempt;
    struct ppi_graph graph;
    uint32_t *until; /* by a hash of two ops: the step from which the first may go before the second again */
    uint32_t *path;  /* the critical one, the last op first */
    uint32_t path_count;
    uint32_t steps;
    double visits, most_visits; /* of ops: so far, and where to end */
    double told;                /* `visits` at the last report of progress */
    double best;                /* objective of this local search, within all limits */
    double excess;              /* of the present order: overshoot over the limits, summed over places */
    double weight;              /* penalty: time per unit of `excess`; at least `least_weight` */
    double least_weight, rounding;
    int32_t run; /* steps in a row without overshoot; negative: with some */
    uint64_t random;
};

/* In the caller's arena. */
ppsched_status ppi_tabu_make(struct ppi_tabu *out, struct ppi_arena *arena, struct ppi_attempt *attempt, double most_visits,
                             ppsched_error *error);

/* Whether work is left, and a shorter schedule may exist. */
static inline bool ppi_tabu_goes_on(const struct ppi_tabu *tabu)
{
    return tabu->visits < tabu->most_visits && ppi_attempt_goes_on(tabu->attempt);
}

/* Reports progress where there has been enough work since the last report. CANCELLED where the callback stops the search. */
ppsched_status ppi_tabu_report(struct ppi_tabu *tabu, ppsched_error *error);

/* Searches from the graph's order until `stale` steps have found nothing shorter. `order` becomes the best found, and
 * `*objective` its time; the attempt keeps it where it is shorter than its own. CANCELLED as above. */
ppsched_status ppi_tabu_local_search(struct ppi_tabu *tabu, struct ppi_orders *order, uint32_t stale, double *objective,
                                     ppsched_error *error);

/* Makes an allowed shift of the present order, and forbids undoing it. */
void ppi_tabu_shift(struct ppi_tabu *tabu, const struct ppi_shift *shift);

/* Makes an allowed shift, which may be undone. */
void ppi_tabu_apply(struct ppi_tabu *tabu, const struct ppi_shift *shift);

/* A random number below `limit`. */
uint32_t ppi_tabu_random(struct ppi_tabu *tabu, uint32_t limit);

#endif
