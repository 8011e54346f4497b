/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the search for a better split share. */
#ifndef PPSCHED_SPLIT_IMPROVE_H
#define PPSCHED_SPLIT_IMPROVE_H

#include "split/split_search.h"

struct ppi_improving {
    struct ppi_splitting *splitting;
    uint64_t random;
    uint32_t *old_pin;
    double *old_weight;
    bool only_moves; /* goes down by these, and leaves sets as they are */
    bool by_path;    /* sets are chosen by what is on the longest way */
    bool has_chunks; /* several stages a device */
    bool may_pin;    /* devices can choose which of their stages recompute */
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

/* From all first splits, where a device has several stages. */
ppsched_status ppi_split_successive_halving(struct ppi_improving *improving, ppsched_error *error);

/* From the split at hand to one that no move of those tried makes better. */
ppsched_status ppi_split_local_search(struct ppi_improving *improving, ppsched_error *error);

/* From the split at hand with ever smaller steps, until so much was visited, and then down. */
ppsched_status ppi_split_random_walk(struct ppi_improving *improving, uint64_t until, ppsched_error *error);

#endif
