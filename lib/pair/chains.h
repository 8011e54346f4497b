/* SPDX-License-Identifier: Apache-2.0 */
/* The best order of two chains, without a weight gradient: exact at any length. */
#ifndef PPSCHED_PAIR_CHAINS_H
#define PPSCHED_PAIR_CHAINS_H

#include "pair/run.h"

/* The choices of an order: the chain that is chosen each time that there is a choice. */
struct ppi_pair_choices {
    uint8_t *chain; /* room for one a window */
    uint32_t count;
};

/* Finds the best order; its time, or infinite where memory is short. */
double ppi_pair_order_chains(const struct ppi_pair *pair, struct ppi_arena *arena, struct ppi_pair_choices *choices);

#endif
