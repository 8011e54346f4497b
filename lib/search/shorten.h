/* SPDX-License-Identifier: Apache-2.0 */
/* A search for many microbatches: the best orders so far are shortened to few, improved there, and lengthened again. What is
 * gained at the start and the end of a pipeline is the same with few microbatches, at a fraction of the work. */
#ifndef PPSCHED_SEARCH_SHORTEN_H
#define PPSCHED_SEARCH_SHORTEN_H

#include "search/attempt.h"

/* Times above the lower bound by this share of it are good enough to stop. */
#define PPI_NEAR_GOAL 1e-4

/* Whether a config gives no list by microbatch. */
bool ppi_has_equal_microbatches(const ppsched_config *config);

/* Whether orders are shortened: there are many equal microbatches on a chain of stages, and the objective is not robust. */
bool ppi_may_shorten(const struct ppi_attempt *attempt);

/* The best is at most PPI_NEAR_GOAL above the goal. */
static inline bool ppi_is_near_goal(const struct ppi_attempt *attempt)
{
    return attempt->objective <= attempt->goal * (1 + PPI_NEAR_GOAL);
}

/* Repeats parts of the best of another attempt, of fewer microbatches and without pairs, and keeps what is shorter. `*found`:
 * some part can be repeated. The pricers of both are left empty. Errors: NO_MEMORY, CANCELLED, RANGE. */
ppsched_status ppi_lengthen(struct ppi_attempt *attempt, struct ppi_attempt *few, bool *found, ppsched_error *error);

struct ppi_shortening {
    uint32_t iterations; /* for which the attempt plans */
    double visits;       /* of ops by tabu search, at least */
    double passes;       /* the same, as passes over all ops of the shorter orders */
    bool repeats;        /* with twice the microbatches each time, while these are too few to tell how long all take */
};

/* Nothing could be lengthened again; the best has more time above the lower bound than the best with few microbatches, as its
 * period is longer than the bound's; or no more. */
enum ppi_shortened { PPI_NOT_LENGTHENED, PPI_LONGER, PPI_AS_SHORT };

/* Shortens the orders of the attempt's pool, which stays, and lengthens the best that is found. The attempt's pricer is left
 * empty. Errors: NO_MEMORY, CANCELLED, RANGE. */
ppsched_status ppi_shorten(enum ppi_shortened *out, struct ppi_attempt *attempt, const struct ppi_shortening *shortening,
                           ppsched_error *error);

#endif
