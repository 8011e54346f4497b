/* SPDX-License-Identifier: Apache-2.0 */
/* An unsorted array: an offer replaces the longest order, and one whose objective equals another's is taken for the same
 * order. */
#include "search/pool.h"

#include "base/checked.h"

ppsched_status ppi_pool_make(struct ppi_pool *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                             ppsched_error *error)
{
    size_t affordable = PPI_POOL_MEMORY / (ppi_problem_ops(problem) * sizeof(ppsched_op));
    ppsched_status status = PPSCHED_OK;
    out->count = 0;
    out->size = affordable < 2 ? 2 : affordable < PPI_POOL_SIZE ? (uint32_t)affordable : PPI_POOL_SIZE;
    for (uint32_t i = 0; i < out->size && status == PPSCHED_OK; i++)
        status = ppi_orders_make(&out->order[i], arena, problem, error);
    return status;
}

void ppi_pool_offer(struct ppi_pool *pool, const struct ppi_orders *order, double objective)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->objective[i] == objective)
            return;
        if (pool->objective[i] > pool->objective[longest])
            longest = i;
    }
    if (pool->count < pool->size)
        longest = pool->count++;
    else if (objective > pool->objective[longest])
        return;
    pool->objective[longest] = objective;
    ppi_orders_copy(&pool->order[longest], order);
}

void ppi_pool_sort(struct ppi_pool *pool)
{
    for (uint32_t i = 1; i < pool->count; i++)
        for (uint32_t j = i; j > 0 && pool->objective[j] < pool->objective[j - 1]; j--) {
            double objective = pool->objective[j];
            struct ppi_orders order = pool->order[j];
            pool->objective[j] = pool->objective[j - 1];
            pool->order[j] = pool->order[j - 1];
            pool->objective[j - 1] = objective;
            pool->order[j - 1] = order;
        }
}
