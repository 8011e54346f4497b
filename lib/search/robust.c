/* SPDX-License-Identifier: Apache-2.0 */
/* An order for a robust objective: of those that a search has found, the best over many scenarios, improved by moves of single
 * ops. All orders are timed in the same scenarios (common random numbers), so that a few of them are enough to compare two
 * orders; a move is tried in an eighth of them first. */
#include "base/checked.h"
#include "base/error.h"
#include "scenario/scenario.h"
#include "search/explore.h"
#include "search/graph.h"
#include "search/shift.h"

/* Measured: docs/performance.md. */
enum {
    REACH = 4,        /* places that an op is moved, at most */
    MOST = 256,       /* scenarios that are timed, at most */
    LEAST_TRIED = 16, /* scenarios of the first trial, at least */
    STALE = 4000,     /* moves in a row without gain before the search ends */
    TRIES = 400,      /* shifts that are drawn to find one that is allowed */
    COST = 3          /* work of an order in addition to its scenarios, in scenarios */
};

struct hardening {
    struct ppi_attempt *attempt;
    const struct ppi_robust_objective *goal;
    struct ppi_scenario_tables tables;
    ppsched_config stated; /* a copy without a progress callback of the caller's config, whose lists it shares */
    struct ppi_graph graph;
    struct ppi_pricer pricer;
    struct ppi_orders present, next;
    double figure, glance; /* robust objective of the present order: in all scenarios, and in the first few */
    uint32_t all, few;     /* numbers of scenarios; few <= all */
    double visits, most_visits;
    uint32_t idle; /* moves since the last with a gain */
    uint64_t random;
};

static uint32_t draw(struct hardening *h, uint32_t limit)
{
    h->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = (h->random ^ (h->random >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t)(((x ^ (x >> 27)) >> 32) % limit);
}

/* Counts work, an eighth of a visit per op and scenario, and asks whether to continue. */
static ppsched_status spend(struct hardening *h, double orders, ppsched_error *error)
{
    double visits = orders * (double)ppi_problem_ops(&h->attempt->problem) / 8;
    h->visits += visits;
    ppsched_status status = ppi_poll_spend(&h->attempt->poll, visits, error);
    return status == PPSCHED_OK ? ppi_poll_report(&h->attempt->poll, ppi_smaller(1, h->visits / h->most_visits), error)
                                : status;
}

/* The robust objective of an order in the first `count` scenarios. */
static ppsched_status price(struct hardening *h, const struct ppi_orders *orders, uint32_t count, double *figure,
                            ppsched_error *error)
{
    ppsched_scenarios *scenarios = NULL;
    double objective;
    ppsched_status status = spend(h, (double)count + COST, error);
    if (status == PPSCHED_OK)
        status = ppi_pricer_put(&h->pricer, &h->stated, h->attempt->placement, orders, error);
    if (status == PPSCHED_OK)
        status = ppi_pricer_time(&h->pricer, 0, &objective, error);
    if (status == PPSCHED_OK)
        status = ppi_scenarios_run_timed(&scenarios, h->pricer.timeline, &h->pricer.timeline->costs, &h->stated, count,
                                         &h->goal->options, &h->tables, error);
    if (status == PPSCHED_OK)
        *figure = ppi_scenarios_figure(scenarios, h->goal->rank_by, h->goal->quantile);
    ppi_scenarios_destroy(scenarios);
    return status;
}

/* --- moves --- */

/* Sets `next` to the present order with one op moved; false where no shift that was drawn is allowed without more memory
 * overshoot. */
static bool move_one(struct hardening *h)
{
    struct ppi_graph *graph = &h->graph;
    for (int i = 0; i < TRIES; i++) {
        uint32_t device = draw(h, h->attempt->problem.devices), count = graph->queued[device];
        if (count < 2)
            continue;
        uint32_t from = draw(h, count), reach = 1 + draw(h, REACH);
        struct ppi_shift shift = {device, from, draw(h, 2) == 0 ? from - reach : from + reach};
        if (shift.to >= count || !ppi_shift_is_allowed(graph, &shift) || ppi_shift_excess(graph, &shift) > 0)
            continue; /* below 0 it wraps around */
        ppi_shift_apply(graph, &shift);
        ppi_graph_write(graph, &h->next);
        return true;
    }
    return false;
}

/* Keeps the moved order where it is no worse in a few scenarios and better in all; else goes back. */
static ppsched_status judge(struct hardening *h, ppsched_error *error)
{
    double glance = PPI_INFINITE, figure = PPI_INFINITE;
    ppsched_status status = price(h, &h->next, h->few, &glance, error);
    if (status == PPSCHED_OK && glance <= h->glance)
        status = price(h, &h->next, h->all, &figure, error);
    if (status == PPSCHED_OK && figure < h->figure) {
        ppi_orders_copy(&h->present, &h->next);
        h->figure = figure;
        h->glance = glance;
        h->idle = 0;
    } else {
        h->idle++;
        ppi_graph_read(&h->graph, &h->present);
    }
    return status;
}

static ppsched_status improve(struct hardening *h, ppsched_error *error)
{
    ppsched_status status = price(h, &h->present, h->few, &h->glance, error);
    ppi_graph_read(&h->graph, &h->present);
    while (status == PPSCHED_OK && h->visits < h->most_visits && h->idle < STALE && move_one(h))
        status = judge(h, error);
    return status;
}

/* --- where to begin --- */

static ppsched_status take_best(struct hardening *h, const struct ppi_orders *orders, ppsched_error *error)
{
    double figure = PPI_INFINITE;
    ppsched_status status = price(h, orders, h->all, &figure, error);
    if (status == PPSCHED_OK && figure < h->figure) {
        ppi_orders_copy(&h->present, orders);
        h->figure = figure;
    }
    return status;
}

static ppsched_status choose_start(struct hardening *h, const struct ppi_pool *pool, ppsched_error *error)
{
    ppsched_status status = take_best(h, &h->attempt->best, error);
    for (uint32_t i = 0; pool != NULL && i < pool->count && status == PPSCHED_OK; i++)
        status = take_best(h, &pool->order[i], error);
    return status;
}

/* The order becomes the attempt's best, whatever its time in the average scenario. */
static ppsched_status hand_over(struct hardening *h, ppsched_error *error)
{
    struct ppi_attempt *attempt = h->attempt;
    ppi_orders_copy(&attempt->candidate, &h->present);
    ppi_pricer_clear(&attempt->pricer);
    ppsched_status status = ppi_attempt_price(attempt, &attempt->objective, error);
    if (status == PPSCHED_OK) {
        struct ppi_orders best = attempt->best;
        attempt->best = attempt->candidate;
        attempt->candidate = best;
    }
    return status;
}

ppsched_status ppi_make_robust(struct ppi_attempt *attempt, const struct ppi_pool *pool, const ppsched_config *stated,
                               double visits, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &attempt->config->host};
    struct hardening h = {.attempt = attempt,
                          .goal = stated->goal,
                          .stated = *stated,
                          .figure = PPI_INFINITE,
                          .all = stated->goal->count < MOST ? stated->goal->count : MOST,
                          .most_visits = visits};
    h.few = h.all / 8 > LEAST_TRIED ? h.all / 8 : h.all < LEAST_TRIED ? h.all : LEAST_TRIED;
    h.stated.progress = NULL;
    ppsched_status status = ppi_orders_make(&h.present, &arena, &attempt->problem, error);
    if (status == PPSCHED_OK)
        status = ppi_orders_make(&h.next, &arena, &attempt->problem, error);
    if (status == PPSCHED_OK)
        status = ppi_scenario_tables_make(&h.tables, arena.host, &h.goal->options, error);
    if (status == PPSCHED_OK)
        status = choose_start(&h, pool, error);
    if (status == PPSCHED_OK && ppi_graph_can_hold(&attempt->problem) &&
        !ppi_orders_have_pairs(&h.present)) { /* which moves do not support */
        status = ppi_graph_make(&h.graph, &arena, &attempt->problem, error);
        if (status == PPSCHED_OK)
            status = improve(&h, error);
    }
    if (status == PPSCHED_OK)
        status = hand_over(&h, error);
    ppi_scenario_tables_clear(&h.tables, arena.host);
    ppi_pricer_clear(&h.pricer);
    ppi_arena_clear(&arena);
    return status;
}
