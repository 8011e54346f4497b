/* SPDX-License-Identifier: Apache-2.0 */
/* Orders in one array per problem, with a fixed part for each device. */
#include "search/orders.h"

#include <string.h>

#include "base/error.h"

/* Space for the ops of a stage; PPSCHED_MAX_CELLS bounds the total. */
static size_t space_of_stage(const struct ppi_problem *problem)
{
    return (size_t)PPI_OPS_OF_PASS * problem->microbatches;
}

size_t ppi_orders_space(const struct ppi_problem *problem)
{
    return space_of_stage(problem) * problem->stages;
}

ppsched_status ppi_orders_make(struct ppi_orders *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error)
{
    ppsched_op *ops = ppi_arena_take(arena, ppi_orders_space(problem), sizeof *ops);
    return ppi_orders_make_in(out, arena, problem, ops, error);
}

ppsched_status ppi_orders_make_in(struct ppi_orders *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                  ppsched_op *ops, ppsched_error *error)
{
    const size_t each = space_of_stage(problem);
    struct ppi_orders orders = {.devices = problem->devices,
                                .first = ppi_arena_take(arena, (size_t)problem->devices + 1, sizeof *orders.first),
                                .count = ppi_arena_take(arena, problem->devices, sizeof *orders.count),
                                .ops = ops};
    ppsched_status status = ops == NULL ? ppi_fail_memory(error, "the search") : ppi_arena_check(arena, "the search", error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t d = 0; d < problem->devices; d++) {
        orders.first[d] = each * problem->device[d].first;
        orders.count[d] = each * problem->device[d].count;
    }
    orders.first[problem->devices] = each * problem->stages;
    *out = orders;
    return PPSCHED_OK;
}

bool ppi_orders_are_full(const struct ppi_orders *orders)
{
    for (uint32_t d = 0; d < orders->devices; d++)
        if (orders->count[d] != orders->first[d + 1] - orders->first[d])
            return false;
    return true;
}

void ppi_orders_copy(struct ppi_orders *to, const struct ppi_orders *from)
{
    memcpy(to->count, from->count, from->devices * sizeof *to->count);
    memcpy(to->ops, from->ops, from->first[from->devices] * sizeof *to->ops);
}

void ppi_orders_read(struct ppi_orders *to, const ppsched_schedule *schedule)
{
    for (uint32_t d = 0; d < to->devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        to->count[d] = queue->count;
        if (queue->count > 0)
            memcpy(to->ops + to->first[d], queue->ops, queue->count * sizeof *to->ops);
    }
}

bool ppi_orders_have_pairs(const struct ppi_orders *orders)
{
    for (uint32_t d = 0; d < orders->devices; d++)
        for (size_t i = 0; i < orders->count[d]; i++)
            if ((orders->ops[orders->first[d] + i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0)
                return true;
    return false;
}
