/* SPDX-License-Identifier: Apache-2.0 */
/* An order as the disjunctive graph of a job shop (Roy and Sussmann 1964): an op's head is when it starts, its tail the least
 * time from its end to that of the objective. Both give an estimate of what moving an op would cost in a few steps, and a move
 * changes only heads after it and tails before it.
 *
 * A stage runs the microbatches of each kind in ascending order, identical or not; for slices see bound/problem.h. */
#ifndef PPSCHED_SEARCH_GRAPH_H
#define PPSCHED_SEARCH_GRAPH_H

#include "bound/problem.h"
#include "search/orders.h"

/* An op, or an end of a device's queue: a cache line. */
struct ppi_node {
    double length, delay;    /* delay: after the op before it in the chain (see periodic.h) */
    double head, tail;       /* tail: -infinite where nothing follows */
    double memory;           /* of activations that it adds */
    uint32_t before, behind; /* nodes of its device */
    uint32_t place;          /* in its device's queue; PPSCHED_NONE: not an op of this order */
    uint32_t turn;           /* in a topological order of all */
    uint32_t row;
    uint32_t mark; /* equals the graph's where the last shift has marked it */
};

/* Nodes are in rows of M: an empty row, the 2S links of the chain, an empty row, the Ws in the order of their Is. After the
 * rows come the front of each device's queue and its back, whose tail is minus the span's share of the device's first start.
 * Between calls heads, tails, levels and turns are those of the queues. */
struct ppi_graph {
    const struct ppi_problem *problem;
    uint32_t microbatches, links; /* M and 2S */
    uint32_t slices;              /* of a microbatch: so many microbatches here are one */
    uint32_t fronts, backs;       /* those of device 0 */
    uint32_t count;               /* ops */
    uint32_t mark;
    struct ppi_node *node;
    uint32_t *by_turn;
    uint32_t *queue;          /* ops by device and place */
    double *level;            /* the device's activations after each */
    uint32_t *first, *queued; /* by device: where its queue begins, how long it is */
    uint32_t *device;         /* by row */
    uint32_t *list;           /* scratch: one per op */
    double *ends;             /* the same */
};

/* In the caller's arena, for a problem that outlives it. */
ppsched_status ppi_graph_make(struct ppi_graph *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                              ppsched_error *error);

/* Whether a problem's nodes can be numbered in 32 bits. */
bool ppi_graph_can_hold(const struct ppi_problem *problem);

/* Reads an order without deadlock and overlapped pairs; microbatches are taken in ascending order. */
void ppi_graph_read(struct ppi_graph *graph, const struct ppi_orders *orders);

void ppi_graph_write(const struct ppi_graph *graph, struct ppi_orders *orders);

/* The objective; `*last` (may be NULL): the op that ends it, of several that of the first device from `from` on,
 * cyclically. */
double ppi_graph_objective(const struct ppi_graph *graph, uint32_t from, uint32_t *last);

/* Writes the place of each op in another order of the same ops, and returns the sum of differences in place; PPSCHED_NONE
 * where it has other ops. */
uint32_t ppi_graph_compare(const struct ppi_graph *graph, const struct ppi_orders *orders, uint32_t *place);

/* The overshoot over the memory limits, summed over all ops that take memory. */
double ppi_graph_excess(const struct ppi_graph *graph);

/* Updates heads from turn `from` on, and tails before turn `until`. */
void ppi_graph_update(struct ppi_graph *graph, uint32_t from, uint32_t until);

/* --- nodes --- */

static inline bool ppi_is_chained(const struct ppi_graph *graph, const struct ppi_node *node)
{
    return node->row <= graph->links;
}

/* The W of an I. */
static inline struct ppi_node *ppi_node_weight(const struct ppi_graph *graph, const struct ppi_node *input)
{
    return graph->node + (input - graph->node) + (size_t)(graph->problem->stages + 1) * graph->microbatches;
}

static inline struct ppi_node *ppi_node_input(const struct ppi_graph *graph, const struct ppi_node *weight)
{
    return graph->node + (weight - graph->node) - (size_t)(graph->problem->stages + 1) * graph->microbatches;
}

/* Whether it is an I with a W, not a B. */
static inline bool ppi_is_split(const struct ppi_graph *graph, const struct ppi_node *node)
{
    return node->row > graph->problem->stages && ppi_is_chained(graph, node) &&
           ppi_node_weight(graph, node)->place != PPSCHED_NONE;
}

static inline double ppi_end_of(const struct ppi_node *node)
{
    return node->head + node->length;
}

/* Whether an op starts exactly at the end of the one before it on its device (below: in the chain). */
static inline bool ppi_waits_for_device(const struct ppi_graph *graph, const struct ppi_node *node)
{
    return node->place > 0 && ppi_end_of(&graph->node[node->before]) == node->head;
}

static inline bool ppi_waits_for_chain(const struct ppi_graph *graph, const struct ppi_node *node)
{
    return node->row > 1 && ppi_is_chained(graph, node) && ppi_end_of(node - graph->microbatches) + node->delay == node->head;
}

#endif
