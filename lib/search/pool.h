/* SPDX-License-Identifier: Apache-2.0 */
/* Good orders that differ: what a search begins with, and combines. */
#ifndef PPSCHED_SEARCH_POOL_H
#define PPSCHED_SEARCH_POOL_H

#include "search/orders.h"

enum { PPI_POOL_SIZE = 24 };

/* The most bytes that a pool takes; where orders are long it holds fewer, but two. */
#define PPI_POOL_MEMORY ((size_t)64 << 20)

/* Orders of one problem, of different objectives. */
struct ppi_pool {
    uint32_t count, size;
    double objective[PPI_POOL_SIZE];
    struct ppi_orders order[PPI_POOL_SIZE];
};

/* An empty one, in a room of the caller's. */
ppsched_status ppi_pool_make(struct ppi_pool *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                             ppsched_error *error);

/* Copies an order whose objective is new, where there is room or the pool has one that is longer: the longest goes. */
void ppi_pool_offer(struct ppi_pool *pool, const struct ppi_orders *order, double objective);

/* The shortest first. */
void ppi_pool_sort(struct ppi_pool *pool);

#endif
