/* SPDX-License-Identifier: Apache-2.0 */
/* One op of a device moves to another place of its queue, and those between move by one: which shifts are allowed, and their
 * cost (Balas and Vazacopoulos, "Guided local search with shifting bottleneck for job shop scheduling", 1998). */
#ifndef PPSCHED_SEARCH_SHIFT_H
#define PPSCHED_SEARCH_SHIFT_H

#include "search/graph.h"

struct ppi_shift {
    uint32_t device, from, to; /* places, which differ */
};

/* Whether all rows stay in order and no deadlock results. Sufficient, not necessary: it refuses some valid shifts. */
bool ppi_shift_is_allowed(const struct ppi_graph *graph, const struct ppi_shift *shift);

/* The longest path through the ops that an allowed shift would move, with heads and tails of all others as they are. Where
 * neighbours change places that is a lower bound of the objective, unless a device's first start changes; with more ops
 * between it is an estimate. Linear in the places between. */
double ppi_shift_estimate(const struct ppi_graph *graph, const struct ppi_shift *shift);

/* By how much ppi_graph_excess would change. */
double ppi_shift_excess(const struct ppi_graph *graph, const struct ppi_shift *shift);

/* Makes an allowed shift. */
void ppi_shift_apply(struct ppi_graph *graph, const struct ppi_shift *shift);

#endif
