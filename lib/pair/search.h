/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best order of three chains. */
#ifndef PPSCHED_PAIR_SEARCH_H
#define PPSCHED_PAIR_SEARCH_H

#include "pair/chains.h"

struct ppi_pair_answer {
    double time;
    bool is_best; /* proved: no order is shorter */
};

/* Finds an order; with up to PPSCHED_EXACT_WINDOWS windows the best. NO_MEMORY. */
ppsched_status ppi_pair_search(const struct ppi_pair *pair, struct ppi_arena *arena, struct ppi_pair_choices *choices,
                               struct ppi_pair_answer *answer, ppsched_error *error);

#endif
