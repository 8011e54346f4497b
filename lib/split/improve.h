/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the search for a better split. */
#ifndef PPSCHED_SPLIT_IMPROVE_H
#define PPSCHED_SPLIT_IMPROVE_H

#include "split/split_search.h"

struct ppi_improving {
    struct ppi_splitting *splitting;
    uint64_t random;
    uint32_t *old_pin;
    double *old_weight;
    bool only_moves; /* local search only moves blocks, and does not change pins */
    bool by_path;    /* options are chosen by criticality, on the critical path */
    bool has_chunks; /* several stages per device */
    bool may_pin;    /* devices can choose which of their stages recompute: pins are tried */
};

static inline uint32_t ppi_split_random_below(struct ppi_improving *improving, uint32_t limit)
{
    improving->random = improving->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((improving->random >> 33) * limit >> 31);
}

static inline bool ppi_split_goes_on(const struct ppi_improving *improving)
{
    return improving->splitting->state.visited < improving->splitting->most_visited;
}

/* Starts from all first splits, where a device has several stages. */
ppsched_status ppi_split_successive_halving(struct ppi_improving *improving, ppsched_error *error);

/* From the present split to one that none of the tried moves improves. */
ppsched_status ppi_split_local_search(struct ppi_improving *improving, ppsched_error *error);

/* A random walk from the present split, whose steps may be worse by less and less, until so many visits; then a local
 * search. */
ppsched_status ppi_split_random_walk(struct ppi_improving *improving, uint64_t until, ppsched_error *error);

#endif
