/* SPDX-License-Identifier: Apache-2.0 */
/* Heads are found in topological order, tails against it, and both only where a move can change them. The order of turns is
 * made when an order is read, and kept by shift.c. */
#include "search/graph.h"

#include <string.h>

#include "base/checked.h"
#include "search/periodic.h"
#include "search/price.h"

static uint32_t rows_of(const struct ppi_problem *problem)
{
    return 3 * problem->stages + 2;
}

static uint32_t row_of(const struct ppi_graph *graph, uint32_t stage, uint8_t kind)
{
    uint32_t link = ppi_link_of(graph->problem, stage, kind);
    return link < graph->links ? link + 1 : link + 2;
}

static uint32_t stage_of(const struct ppi_graph *graph, uint32_t row)
{
    uint32_t stages = graph->problem->stages;
    return row <= stages ? row - 1 : row <= graph->links ? graph->links - row : 3 * stages + 1 - row;
}

static uint8_t kind_of(const struct ppi_graph *graph, const struct ppi_node *node)
{
    if (!ppi_is_chained(graph, node))
        return PPSCHED_KIND_W;
    return node->row <= graph->problem->stages ? PPSCHED_KIND_F : ppi_is_split(graph, node) ? PPSCHED_KIND_I : PPSCHED_KIND_B;
}

/* --- memory --- */

bool ppi_graph_can_hold(const struct ppi_problem *problem)
{
    return (uint64_t)rows_of(problem) * problem->microbatches + 2 * (uint64_t)problem->devices < UINT32_MAX;
}

ppsched_status ppi_graph_make(struct ppi_graph *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                              ppsched_error *error)
{
    uint32_t rows = rows_of(problem), cells = rows * problem->microbatches;
    size_t ops = ppi_problem_ops(problem);
    struct ppi_graph graph = {
        .problem = problem,
        .microbatches = problem->microbatches,
        .links = 2 * problem->stages,
        .slices = problem->slices,
        .fronts = cells,
        .backs = cells + problem->devices,
        .node = ppi_arena_take_zeroed(arena, cells + 2 * (size_t)problem->devices, sizeof *graph.node),
        .by_turn = ppi_arena_take(arena, ops, sizeof *graph.by_turn),
        .queue = ppi_arena_take(arena, ops, sizeof *graph.queue),
        .level = ppi_arena_take(arena, ops, sizeof *graph.level),
        .first = ppi_arena_take(arena, problem->devices, sizeof *graph.first),
        .queued = ppi_arena_take(arena, problem->devices, sizeof *graph.queued),
        .device = ppi_arena_take(arena, rows, sizeof *graph.device),
        .list = ppi_arena_take(arena, ops + rows + problem->devices, sizeof *graph.list),
        .ends = ppi_arena_take(arena, ops, sizeof *graph.ends),
    };
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    if (status == PPSCHED_OK)
        *out = graph;
    return status;
}

/* --- heads and tails --- */

static void find_heads(struct ppi_graph *graph, uint32_t from)
{
    struct ppi_node *nodes = graph->node;
    for (uint32_t t = from; t < graph->count; t++) {
        struct ppi_node *node = &nodes[graph->by_turn[t]];
        double head = ppi_end_of(&nodes[node->before]);
        if (ppi_is_chained(graph, node))
            head = ppi_larger(head, ppi_end_of(node - graph->microbatches) + node->delay);
        node->head = head;
    }
}

static void find_tails(struct ppi_graph *graph, uint32_t until)
{
    struct ppi_node *nodes = graph->node;
    for (uint32_t t = until; t-- > 0;) {
        struct ppi_node *node = &nodes[graph->by_turn[t]];
        const struct ppi_node *behind = &nodes[node->behind];
        double tail = behind->length + behind->tail;
        if (ppi_is_chained(graph, node)) {
            const struct ppi_node *next = node + graph->microbatches;
            tail = ppi_larger(tail, next->delay + next->length + next->tail);
        }
        node->tail = tail;
    }
}

/* The tail of each device's back: minus the span's share of the device's first start. Returns whether one has changed. */
static bool move_backs(struct ppi_graph *graph)
{
    bool moved = false;
    for (uint32_t d = 0; d < graph->problem->devices && graph->problem->by_span; d++) {
        double start = graph->queued[d] > 0 ? graph->node[graph->queue[graph->first[d]]].head : 0;
        double tail = -start * graph->problem->span_share;
        moved = moved || graph->node[graph->backs + d].tail != tail;
        graph->node[graph->backs + d].tail = tail;
    }
    return moved;
}

void ppi_graph_update(struct ppi_graph *graph, uint32_t from, uint32_t until)
{
    find_heads(graph, from);
    find_tails(graph, move_backs(graph) ? graph->count : until);
}

double ppi_graph_objective(const struct ppi_graph *graph, uint32_t from, uint32_t *last)
{
    double most = -PPI_INFINITE, span = 0, makespan = 0;
    uint32_t devices = graph->problem->devices;
    for (uint32_t i = 0; i < devices; i++) {
        uint32_t d = (i + from) % devices, op = graph->node[graph->backs + d].before;
        if (graph->queued[d] == 0)
            continue;
        double end = ppi_end_of(&graph->node[op]), own = end + graph->node[graph->backs + d].tail;
        span = ppi_larger(span, end - graph->node[graph->queue[graph->first[d]]].head);
        makespan = ppi_larger(makespan, end);
        if (own <= most)
            continue;
        most = own;
        if (last != NULL)
            *last = op;
    }
    return ppi_objective(graph->problem->span_share, span, makespan);
}

double ppi_graph_excess(const struct ppi_graph *graph)
{
    double excess = 0;
    for (uint32_t d = 0; d < graph->problem->devices; d++)
        for (uint32_t i = 0; i < graph->queued[d]; i++)
            if (graph->node[graph->queue[graph->first[d] + i]].memory > 0)
                excess += ppi_larger(0, graph->level[graph->first[d] + i] - graph->problem->device[d].limit);
    return excess;
}

/* --- an order read and written --- */

static void clear_rows(struct ppi_graph *graph)
{
    const struct ppi_problem *problem = graph->problem;
    for (uint32_t row = 0; row < rows_of(problem); row++) {
        bool is_empty = row == 0 || row == graph->links + 1;
        const struct ppi_stage *stage = &problem->stage[is_empty ? 0 : stage_of(graph, row)];
        struct ppi_node node = {.row = row, .place = PPSCHED_NONE, .tail = -PPI_INFINITE};
        if (row > 1 && row <= graph->links && row != problem->stages + 1)
            node.delay = row <= problem->stages ? stage->forward_delay : stage->backward_delay;
        graph->device[row] = stage->device;
        const double delay = node.delay, latency = row <= problem->stages ? stage->forward_latency : stage->backward_latency;
        for (uint32_t m = 0; m < graph->microbatches; m++) {
            if (problem->ratio != NULL && delay > 0)
                node.delay = ppi_scaled_delay(delay, latency, problem->ratio[m].sent);
            graph->node[row * graph->microbatches + m] = node;
        }
    }
    memset(&graph->node[graph->fronts], 0, 2 * (size_t)problem->devices * sizeof *graph->node);
}

static void put_behind(struct ppi_graph *graph, uint32_t before, uint32_t behind)
{
    graph->node[before].behind = behind;
    graph->node[behind].before = before;
}

/* The op's node. `next`: the next microbatch, by row. Only an I has a W node; a B has none. */
static uint32_t take(const struct ppi_graph *graph, uint32_t *next, const ppsched_op *op)
{
    uint32_t row = row_of(graph, op->stage, op->kind), slices = graph->slices;
    if (slices > 1)
        return row * graph->microbatches + op->microbatch * slices + op->slice;
    while (op->kind == PPSCHED_KIND_W && next[row] + 1 < graph->microbatches &&
           graph->node[row * graph->microbatches + next[row]].place == PPSCHED_NONE)
        next[row]++;
    return row * graph->microbatches + next[row]++;
}

static void read_queues(struct ppi_graph *graph, const struct ppi_orders *orders)
{
    uint32_t *next = graph->list; /* microbatch by row */
    const struct ppi_problem *problem = graph->problem;
    memset(next, 0, rows_of(problem) * sizeof *next);
    graph->count = 0;
    for (uint32_t d = 0; d < problem->devices; d++) {
        uint32_t before = graph->fronts + d;
        double level = 0;
        graph->first[d] = graph->count;
        graph->queued[d] = (uint32_t)orders->count[d];
        for (uint32_t i = 0; i < graph->queued[d]; i++) {
            const ppsched_op *op = &orders->ops[orders->first[d] + i];
            uint32_t id = take(graph, next, op);
            struct ppi_node *node = &graph->node[id];
            node->place = i;
            if (op->kind == PPSCHED_KIND_I)
                ppi_node_weight(graph, node)->place = i; /* which follows */
            const uint32_t microbatch = id - node->row * graph->microbatches;
            node->length = ppi_problem_duration(problem, op->stage, op->kind, microbatch);
            node->memory = ppi_problem_memory(problem, op->stage, op->kind, microbatch);
            graph->level[graph->count] = level += node->memory;
            graph->queue[graph->count++] = id;
            put_behind(graph, before, id);
            before = id;
        }
        put_behind(graph, before, graph->backs + d);
    }
}

/* Gives turns to a device's ops until one waits for the op before it in the chain. */
static uint32_t take_turns(struct ppi_graph *graph, uint32_t device, uint32_t at, uint32_t *turn)
{
    for (; at < graph->queued[device]; at++) {
        uint32_t op = graph->queue[graph->first[device] + at];
        struct ppi_node *node = &graph->node[op];
        if (node->row > 1 && ppi_is_chained(graph, node) && (node - graph->microbatches)->mark != graph->mark)
            break;
        node->mark = graph->mark;
        node->turn = *turn;
        graph->by_turn[(*turn)++] = op;
    }
    return at;
}

static void find_turns(struct ppi_graph *graph)
{
    uint32_t devices = graph->problem->devices, turn = 0, *at = graph->list;
    graph->mark++;
    memset(at, 0, devices * sizeof *at);
    for (uint32_t before = PPSCHED_NONE; before != turn;) {
        before = turn;
        for (uint32_t d = 0; d < devices; d++)
            at[d] = take_turns(graph, d, at[d], &turn);
    }
}

void ppi_graph_read(struct ppi_graph *graph, const struct ppi_orders *orders)
{
    clear_rows(graph);
    read_queues(graph, orders);
    find_turns(graph);
    find_heads(graph, 0);
    move_backs(graph);
    find_tails(graph, graph->count);
}

void ppi_graph_write(const struct ppi_graph *graph, struct ppi_orders *orders)
{
    const struct ppi_shape shape = {.slices = graph->slices};
    for (uint32_t d = 0; d < graph->problem->devices; d++) {
        orders->count[d] = graph->queued[d];
        for (uint32_t i = 0; i < graph->queued[d]; i++) {
            uint32_t op = graph->queue[graph->first[d] + i];
            const struct ppi_node *node = &graph->node[op];
            orders->ops[orders->first[d] + i] = ppi_op_of_micro_slice(&shape, op - node->row * graph->microbatches,
                                                                      stage_of(graph, node->row), kind_of(graph, node));
        }
    }
}

uint32_t ppi_graph_compare(const struct ppi_graph *graph, const struct ppi_orders *orders, uint32_t *place)
{
    uint32_t *next = graph->list, apart = 0;
    memset(next, 0, rows_of(graph->problem) * sizeof *next);
    for (uint32_t d = 0; d < graph->problem->devices; d++) {
        if (graph->queued[d] != orders->count[d])
            return PPSCHED_NONE;
        for (uint32_t i = 0; i < graph->queued[d]; i++) {
            const ppsched_op *op = &orders->ops[orders->first[d] + i];
            uint32_t id = take(graph, next, op);
            const struct ppi_node *node = &graph->node[id];
            if (kind_of(graph, node) != op->kind)
                return PPSCHED_NONE;
            place[id] = i;
            apart += i > node->place ? i - node->place : node->place - i;
        }
    }
    return apart;
}
