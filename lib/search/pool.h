/* SPDX-License-Identifier: Apache-2.0 */
/* Good orders that differ: a search starts from them and combines them. */
#ifndef PPSCHED_SEARCH_POOL_H
#define PPSCHED_SEARCH_POOL_H

#include "search/orders.h"

/* Measured: docs/performance.md. */
enum { PPI_POOL_SIZE = 24 }; /* most orders */

/* The most bytes of a pool; where orders are long it holds fewer, at least two. */
#define PPI_POOL_MEMORY ((size_t)64 << 20)

/* Orders of one problem; objectives differ when they are offered. */
struct ppi_pool {
    uint32_t count, size;
    double objective[PPI_POOL_SIZE];
    struct ppi_orders order[PPI_POOL_SIZE];
};

/* An empty pool, in the caller's arena. */
ppsched_status ppi_pool_make(struct ppi_pool *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                             ppsched_error *error);

/* Copies an order whose objective is new; where the pool is full it replaces the longest, unless that is shorter. */
void ppi_pool_offer(struct ppi_pool *pool, const struct ppi_orders *order, double objective);

/* Sorts by objective, the shortest first. */
void ppi_pool_sort(struct ppi_pool *pool);

#endif
