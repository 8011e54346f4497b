/* SPDX-License-Identifier: Apache-2.0 */
/* Forbidden pairs of ops are in a hash table with the step at which each expires. A penalty on memory overshoot is doubled
 * while there is some, and halved while there is none. */
#include "search/tabu.h"

#include "base/checked.h"

/* Measured: docs/performance.md. */
enum {
    TABLE_BITS = 16,   /* of a hash of two ops; a collision only forbids or allows a shift wrongly */
    LEAST_TENURE = 15, /* steps for which a shift may not be undone; up to twice as many, at random */
    REACH = 48         /* most places of a shift: bounds the work on long blocks */
};

/* xorshift64* (Vigna 2016), the same on every platform. */
uint32_t ppi_tabu_random(struct ppi_tabu *tabu, uint32_t limit)
{
    tabu->random ^= tabu->random >> 12;
    tabu->random ^= tabu->random << 25;
    tabu->random ^= tabu->random >> 27;
    return (uint32_t)((tabu->random * 0x2545f4914f6cdd1du >> 32) * limit >> 32);
}

/* The mean time of an op per mean memory of an F. `*rounding`: a small share of that memory. */
static double mean_time(const struct ppi_problem *problem, double *rounding)
{
    double time = 0, memory = 0;
    for (uint32_t s = 0; s < problem->stages; s++) {
        time += problem->stage[s].duration[PPSCHED_KIND_B] + problem->stage[s].duration[PPSCHED_KIND_F];
        memory += problem->stage[s].memory[PPSCHED_KIND_F];
    }
    *rounding = 1e-7 * memory / problem->stages;
    return memory > 0 ? time / 3 / memory : time;
}

ppsched_status ppi_tabu_make(struct ppi_tabu *out, struct ppi_arena *arena, struct ppi_attempt *attempt, double most_visits,
                             ppsched_error *error)
{
    struct ppi_tabu tabu = {.attempt = attempt, .most_visits = most_visits, .random = 88172645463325252u};
    tabu.until = ppi_arena_take_zeroed(arena, (size_t)1 << TABLE_BITS, sizeof *tabu.until);
    tabu.path = ppi_arena_take(arena, ppi_problem_ops(&attempt->problem), sizeof *tabu.path);
    ppsched_status status = ppi_graph_make(&tabu.graph, arena, &attempt->problem, error);
    tabu.least_weight = mean_time(&attempt->problem, &tabu.rounding) / 1000;
    if (status == PPSCHED_OK)
        *out = tabu;
    return status;
}

/* --- what is forbidden --- */

static uint32_t *until_of(const struct ppi_tabu *tabu, uint32_t first, uint32_t second)
{
    return &tabu->until[((uint64_t)first << 32 | second) * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS)];
}

/* Whether it puts an op before another that had to go after it. */
static bool is_forbidden(const struct ppi_tabu *tabu, const struct ppi_shift *shift)
{
    const uint32_t *queue = tabu->graph.queue + tabu->graph.first[shift->device];
    uint32_t op = queue[shift->from];
    for (uint32_t i = shift->to; i < shift->from; i++)
        if (*until_of(tabu, op, queue[i]) > tabu->steps)
            return true;
    for (uint32_t i = shift->from + 1; i <= shift->to; i++)
        if (*until_of(tabu, queue[i], op) > tabu->steps)
            return true;
    return false;
}

void ppi_tabu_shift(struct ppi_tabu *tabu, const struct ppi_shift *shift)
{
    const uint32_t *queue = tabu->graph.queue + tabu->graph.first[shift->device];
    uint32_t op = queue[shift->from], until = tabu->steps + LEAST_TENURE + ppi_tabu_random(tabu, LEAST_TENURE);
    for (uint32_t i = shift->to; i < shift->from; i++)
        *until_of(tabu, queue[i], op) = until;
    for (uint32_t i = shift->from + 1; i <= shift->to; i++)
        *until_of(tabu, op, queue[i]) = until;
    ppi_tabu_apply(tabu, shift);
    tabu->steps++;
}

/* The overshoot is updated by sums of doubles: less than `rounding` counts as none. */
void ppi_tabu_apply(struct ppi_tabu *tabu, const struct ppi_shift *shift)
{
    tabu->excess += ppi_shift_excess(&tabu->graph, shift);
    ppi_shift_apply(&tabu->graph, shift);
    tabu->visits += tabu->graph.count;
}

/* --- the critical path, and what could be shifted on it --- */

/* A critical path; of several a random one. */
static void find_path(struct ppi_tabu *tabu)
{
    const struct ppi_graph *graph = &tabu->graph;
    uint32_t op = 0;
    ppi_graph_objective(graph, ppi_tabu_random(tabu, graph->problem->devices), &op);
    for (tabu->path_count = 0;;) {
        const struct ppi_node *node = &graph->node[op];
        bool device = ppi_waits_for_device(graph, node), chain = ppi_waits_for_chain(graph, node);
        tabu->path[tabu->path_count++] = op;
        if (!device && !chain)
            break;
        op = device && (!chain || ppi_tabu_random(tabu, 2) == 0) ? node->before : op - graph->microbatches;
    }
    tabu->visits += tabu->path_count;
}

struct choice {
    struct ppi_shift shift;
    double cost;
    uint32_t equals;
};

static void consider(struct ppi_tabu *tabu, struct choice *choice, uint32_t device, uint32_t from, uint32_t to)
{
    const struct ppi_shift shift = {device, from, to};
    if (!ppi_shift_is_allowed(&tabu->graph, &shift))
        return;
    double excess = tabu->excess + ppi_shift_excess(&tabu->graph, &shift);
    double time = ppi_shift_estimate(&tabu->graph, &shift), cost = time;
    tabu->visits += 2.0 + (to > from ? to - from : from - to);
    if (excess > tabu->rounding)
        cost += tabu->weight * excess;
    if (cost > choice->cost || ((excess > tabu->rounding || time >= tabu->best) && is_forbidden(tabu, &shift)))
        return;
    choice->equals = cost < choice->cost ? 1 : choice->equals + 1;
    if (choice->equals > 1 && ppi_tabu_random(tabu, choice->equals) != 0)
        return;
    choice->cost = cost;
    choice->shift = shift;
}

/* A block: ops of a device on the critical path, without idle time between them. Only an op that leaves it at an end can
 * shorten the path; at the path's own ends none can. */
struct block {
    uint32_t device, first, last;
    bool starts_path, ends_path;
};

static void consider_block(struct ppi_tabu *tabu, struct choice *choice, const struct block *block)
{
    uint32_t width = block->last - block->first, reach = width < REACH ? width : REACH;
    for (uint32_t i = 1; i <= reach && !block->starts_path; i++) {
        consider(tabu, choice, block->device, block->first + i, block->first);
        if (i > 1)
            consider(tabu, choice, block->device, block->first, block->first + i);
    }
    for (uint32_t i = 1; i <= reach && !block->ends_path; i++) {
        consider(tabu, choice, block->device, block->last - i, block->last);
        if (i > 1)
            consider(tabu, choice, block->device, block->last, block->last - i);
    }
}

/* Shifts for a device over its limit: a later place for the op that takes memory, an earlier one for an op that frees some. */
static void consider_excess(struct ppi_tabu *tabu, struct choice *choice)
{
    const struct ppi_graph *graph = &tabu->graph;
    uint32_t devices = graph->problem->devices, first = ppi_tabu_random(tabu, devices);
    for (uint32_t k = 0; k < devices; k++) {
        uint32_t d = (first + k) % devices, i = 0;
        const double *level = graph->level + graph->first[d];
        const uint32_t *queue = graph->queue + graph->first[d];
        while (i < graph->queued[d] && !(level[i] > graph->problem->device[d].limit && graph->node[queue[i]].memory > 0))
            i++;
        tabu->visits += i;
        if (i == graph->queued[d])
            continue;
        for (uint32_t j = i + 1; j < graph->queued[d] && j - i <= REACH; j++) {
            consider(tabu, choice, d, i, j);
            if (graph->node[queue[j]].memory < 0)
                consider(tabu, choice, d, j, i);
        }
        return;
    }
}

static struct choice choose(struct ppi_tabu *tabu)
{
    const struct ppi_graph *graph = &tabu->graph;
    struct choice choice = {.cost = PPI_INFINITE};
    if (tabu->excess > tabu->rounding)
        consider_excess(tabu, &choice);
    find_path(tabu);
    for (uint32_t i = 0, end; i < tabu->path_count; i = end) {
        const struct ppi_node *last = &graph->node[tabu->path[i]], *first = last;
        for (end = i + 1; end < tabu->path_count && first->place > 0 && first->before == tabu->path[end]; end++)
            first = &graph->node[tabu->path[end]];
        const struct block block = {graph->device[last->row], first->place, last->place, end == tabu->path_count, i == 0};
        consider_block(tabu, &choice, &block);
    }
    return choice;
}

/* --- the local search --- */

static void keep(struct ppi_tabu *tabu, const struct ppi_orders *order)
{
    if (!(tabu->best < tabu->attempt->objective))
        return;
    ppi_orders_copy(&tabu->attempt->candidate, order);
    ppi_attempt_keep(tabu->attempt, tabu->best);
}

ppsched_status ppi_tabu_report(struct ppi_tabu *tabu, ppsched_error *error)
{
    double unasked = tabu->visits - tabu->told;
    if (unasked < PPI_VISITS_UNASKED)
        return PPSCHED_OK;
    tabu->told = tabu->visits;
    return ppi_poll_report(&tabu->attempt->poll, tabu->visits / tabu->most_visits, error);
}

/* Doubles the penalty on overshoot after each PATIENCE steps with some, and halves it after each PATIENCE steps without. */
static void weigh(struct ppi_tabu *tabu)
{
    enum { PATIENCE = 10 };
    bool fits = tabu->excess <= tabu->rounding;
    tabu->run = fits ? (tabu->run > 0 ? tabu->run + 1 : 1) : (tabu->run < 0 ? tabu->run - 1 : -1);
    if (tabu->run % PATIENCE != 0)
        return;
    tabu->weight = fits ? ppi_larger(tabu->weight / 2, tabu->least_weight) : tabu->weight * 2;
}

ppsched_status ppi_tabu_local_search(struct ppi_tabu *tabu, struct ppi_orders *order, uint32_t stale, double *objective,
                                     ppsched_error *error)
{
    struct ppi_graph *graph = &tabu->graph;
    ppsched_status status = PPSCHED_OK;
    double present = ppi_graph_objective(graph, 0, NULL);
    tabu->best = PPI_INFINITE;
    tabu->excess = ppi_graph_excess(graph);
    tabu->weight = 1000 * tabu->least_weight;
    tabu->run = 0;
    for (uint32_t since = 0;; since++) {
        if (tabu->excess <= tabu->rounding && present < tabu->best) {
            tabu->best = present;
            tabu->visits += graph->count;
            since = 0;
            ppi_graph_write(graph, order);
            keep(tabu, order);
        }
        if (since >= stale || !ppi_tabu_goes_on(tabu) || status != PPSCHED_OK)
            break;
        const struct choice choice = choose(tabu);
        if (choice.cost == PPI_INFINITE)
            break;
        ppi_tabu_shift(tabu, &choice.shift);
        present = ppi_graph_objective(graph, 0, NULL);
        weigh(tabu);
        status = ppi_tabu_report(tabu, error);
    }
    *objective = tabu->best;
    return status;
}
