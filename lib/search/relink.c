/* SPDX-License-Identifier: Apache-2.0 */
/* Tabu search and path relinking (Peng, Lü and Cheng, "A tabu search/path relinking algorithm to solve the job shop scheduling
 * problem", 2015): many orders are improved for a short time, the best for longer; then, repeatedly, two of them are taken,
 * and an order half-way between them is improved. */
#include "base/checked.h"
#include "search/explore.h"
#include "search/tabu.h"

/* Measured: docs/performance.md. */
enum {
    FIRST_STALE = 200,    /* steps without gain before the next order has its turn; doubled each time the pool is halved */
    STALE = 500,          /* the same for an order made from two */
    KEPT = 10,            /* orders that are combined */
    KICKS = 30,           /* random shifts, where two orders are nearly identical */
    KICK_REACH = 6,       /* most places of such a shift */
    INTENSE_IN_TEN = 2,   /* of ten children, how many come from the best order alone */
    LEAST_APART = 20,     /* sum of differences in place below which two orders are nearly identical */
    TRIES_PER_PLACE = 20, /* draws of neighbours to swap, per place to change: some cannot be swapped yet */
    MOST_IDLE = 40,       /* children without gain before all orders but the best are dropped */
    LEAST_STEPS = 500,    /* of tabu search; with work for fewer no search is made */
    LARGE = 50000         /* ops that exceed the caches: each visit takes about four times as long */
};

struct relinking {
    struct ppi_tabu tabu;
    struct ppi_pool *pool;
    struct ppi_orders child;
    uint32_t *place; /* of each op in the order that is approached */
};

/* --- from one order to another --- */

/* Makes so many random shifts, or as many as the remaining work allows. */
static ppsched_status kick(struct ppi_tabu *tabu, uint32_t kicks, ppsched_error *error)
{
    const struct ppi_graph *graph = &tabu->graph;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t tries = 0, made = 0; made < kicks && tries < 50 * kicks && status == PPSCHED_OK; tries++) {
        uint32_t d = ppi_tabu_random(tabu, graph->problem->devices), count = graph->queued[d];
        uint32_t from = ppi_tabu_random(tabu, count > 0 ? count : 1), reach = 1 + ppi_tabu_random(tabu, KICK_REACH);
        bool is_left = ppi_tabu_random(tabu, 2) == 0;
        struct ppi_shift shift = {d, from, is_left ? from - reach : from + reach};
        tabu->visits += 1;
        if (shift.to >= count || !ppi_shift_is_allowed(graph, &shift)) /* below 0 it wraps around */
            continue;
        ppi_tabu_shift(tabu, &shift);
        status = ppi_tabu_report(tabu, error);
        made++;
        if (!ppi_tabu_goes_on(tabu))
            break;
    }
    return status;
}

/* Swaps neighbours that are in the opposite order in `goal`, until half of the difference is gone. `*apart`: the sum of
 * differences in place at first; 0 where the orders have different ops. */
static ppsched_status approach(struct relinking *relinking, const struct ppi_orders *goal, uint32_t *apart,
                               ppsched_error *error)
{
    struct ppi_tabu *tabu = &relinking->tabu;
    const struct ppi_graph *graph = &tabu->graph;
    ppsched_status status = PPSCHED_OK;
    *apart = ppi_graph_compare(graph, goal, relinking->place);
    if (*apart == PPSCHED_NONE)
        *apart = 0;
    tabu->visits += graph->count;
    for (uint64_t tries = 0, made = 0; made < *apart / 4 && tries < (uint64_t)TRIES_PER_PLACE * *apart; tries++) {
        uint32_t d = ppi_tabu_random(tabu, graph->problem->devices), count = graph->queued[d];
        uint32_t i = ppi_tabu_random(tabu, count > 0 ? count : 1);
        const uint32_t *queue = graph->queue + graph->first[d];
        const struct ppi_shift shift = {d, i + 1, i};
        tabu->visits += 1;
        if (i + 1 >= count || relinking->place[queue[i]] < relinking->place[queue[i + 1]] ||
            !ppi_shift_is_allowed(graph, &shift))
            continue;
        ppi_tabu_apply(tabu, &shift);
        status = ppi_tabu_report(tabu, error);
        made++;
        if (status != PPSCHED_OK || !ppi_tabu_goes_on(tabu))
            break;
    }
    return status;
}

/* --- the search --- */

static void drop_pairs(struct ppi_pool *pool)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pool->count; i++) {
        struct ppi_orders order = pool->order[i];
        if (ppi_orders_have_pairs(&order))
            continue;
        pool->order[i] = pool->order[kept];
        pool->order[kept] = order;
        pool->objective[kept++] = pool->objective[i];
    }
    pool->count = kept;
}

static ppsched_status improve_all(struct relinking *relinking, uint32_t stale, ppsched_error *error)
{
    struct ppi_pool *pool = relinking->pool;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < pool->count && ppi_tabu_goes_on(&relinking->tabu) && status == PPSCHED_OK; i++) {
        ppi_graph_read(&relinking->tabu.graph, &pool->order[i]);
        status = ppi_tabu_local_search(&relinking->tabu, &pool->order[i], stale, &pool->objective[i], error);
    }
    ppi_pool_sort(pool);
    return status;
}

/* Halves the pool repeatedly, with twice the time for the rest: successive halving. */
static ppsched_status select_best(struct relinking *relinking, ppsched_error *error)
{
    struct ppi_pool *pool = relinking->pool;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t stale = FIRST_STALE; ppi_tabu_goes_on(&relinking->tabu) && status == PPSCHED_OK; stale *= 2) {
        status = improve_all(relinking, stale, error);
        if (pool->count <= KEPT)
            break;
        pool->count = pool->count / 2 < KEPT ? KEPT : pool->count / 2;
    }
    return status;
}

/* Makes an order from two of the pool, or from the best alone. */
static ppsched_status combine(struct relinking *relinking, ppsched_error *error)
{
    struct ppi_tabu *tabu = &relinking->tabu;
    struct ppi_pool *pool = relinking->pool;
    bool is_alone = pool->count < 2 || ppi_tabu_random(tabu, 10) < INTENSE_IN_TEN;
    uint32_t first = is_alone ? 0 : ppi_tabu_random(tabu, pool->count), apart = 0;
    ppsched_status status = PPSCHED_OK;
    ppi_graph_read(&tabu->graph, &pool->order[first]);
    tabu->visits += 3.0 * tabu->graph.count;
    if (!is_alone)
        status = approach(relinking, &pool->order[(first + 1 + ppi_tabu_random(tabu, pool->count - 1)) % pool->count], &apart,
                          error);
    if (apart < LEAST_APART && status == PPSCHED_OK)
        status = kick(tabu, is_alone ? 1 + ppi_tabu_random(tabu, KICKS) : KICKS, error);
    return status;
}

/* Improves the order in the graph, and offers the result to the pool. */
static ppsched_status improve_present(struct relinking *relinking, ppsched_error *error)
{
    double objective = PPI_INFINITE;
    ppsched_status status = ppi_tabu_local_search(&relinking->tabu, &relinking->child, STALE, &objective, error);
    if (ppi_is_finite(objective))
        ppi_pool_offer(relinking->pool, &relinking->child, objective);
    ppi_pool_sort(relinking->pool);
    return status;
}

/* Keeps only the best, and fills the pool with orders far from it. */
static ppsched_status start_again(struct relinking *relinking, ppsched_error *error)
{
    struct ppi_pool *pool = relinking->pool;
    ppsched_status status = PPSCHED_OK;
    pool->count = 1;
    for (uint32_t i = 1; i < pool->size && ppi_tabu_goes_on(&relinking->tabu) && status == PPSCHED_OK; i++) {
        ppi_graph_read(&relinking->tabu.graph, &pool->order[0]);
        status = kick(&relinking->tabu, relinking->tabu.graph.count, error);
        if (status == PPSCHED_OK)
            status = improve_present(relinking, error);
    }
    return status;
}

static ppsched_status search(struct relinking *relinking, ppsched_error *error)
{
    ppsched_status status = select_best(relinking, error);
    struct ppi_pool *pool = relinking->pool;
    pool->size = pool->count;
    for (uint32_t idle = 0; pool->count > 0 && ppi_tabu_goes_on(&relinking->tabu) && status == PPSCHED_OK; idle++) {
        double best = pool->objective[0];
        if (idle > MOST_IDLE) {
            status = start_again(relinking, error);
            idle = 0;
            continue;
        }
        status = combine(relinking, error);
        if (status == PPSCHED_OK)
            status = improve_present(relinking, error);
        if (pool->objective[0] < best)
            idle = 0;
    }
    return status;
}

ppsched_status ppi_relink(struct ppi_attempt *attempt, struct ppi_pool *pool, double visits, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &attempt->config->host};
    struct relinking relinking = {.pool = pool};
    size_t ops = ppi_problem_ops(&attempt->problem);
    drop_pairs(pool);
    double least = (double)LEAST_STEPS * (double)ops * (ops > LARGE ? 4 : 1);
    if (pool->count == 0 || visits < least || !ppi_attempt_goes_on(attempt) || !ppi_graph_can_hold(&attempt->problem))
        return PPSCHED_OK;
    size_t nodes = ops + (2 * (size_t)attempt->problem.microbatches);
    relinking.place = ppi_arena_take(&arena, nodes, sizeof *relinking.place);
    ppsched_status status = ppi_orders_make(&relinking.child, &arena, &attempt->problem, error);
    if (status == PPSCHED_OK)
        status = ppi_tabu_make(&relinking.tabu, &arena, attempt, visits, error);
    if (status == PPSCHED_OK)
        status = search(&relinking, error);
    ppi_arena_clear(&arena);
    return status;
}
