/* SPDX-License-Identifier: Apache-2.0 */
/* One op of a device goes to another place of its queue, and those between move by one: what may be shifted, and what it would
 * cost (Balas and Vazacopoulos, "Guided local search with shifting bottleneck for job shop scheduling", 1998). */
#ifndef PPSCHED_SEARCH_SHIFT_H
#define PPSCHED_SEARCH_SHIFT_H

#include "search/graph.h"

struct ppi_shift {
    uint32_t device, from, to; /* places, which differ */
};

/* Whether all rows stay in order, and nothing comes before what it needs. Turns down some that would do. */
bool ppi_shift_is_allowed(const struct ppi_graph *graph, const struct ppi_shift *shift);

/* The longest path through the ops that an allowed shift moves, were it made, with heads and tails of all others as they
 * are: where neighbours change places the objective would be no shorter, unless a device's first start changed; with more
 * between it may be. Linear in the places between. */
double ppi_shift_estimate(const struct ppi_graph *graph, const struct ppi_shift *shift);

/* By how much ppi_graph_excess would change. */
double ppi_shift_excess(const struct ppi_graph *graph, const struct ppi_shift *shift);

/* Makes an allowed one. */
void ppi_shift_apply(struct ppi_graph *graph, const struct ppi_shift *shift);

#endif
