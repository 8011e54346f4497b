/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate recomputes heads and tails of the moved ops alone. A shift that is made repairs the topological order between
 * the places of the two ops, and updates the graph from there. */
#include "search/shift.h"

#include <string.h>

#include "base/checked.h"
#include "base/inline.h"

static uint32_t *queue_of(const struct ppi_graph *graph, const struct ppi_shift *shift)
{
    return graph->queue + graph->first[shift->device];
}

/* --- what is allowed --- */

/* The op of the same kind and stage before (-1) or after (1) another, where microbatches have slices. */
PPI_APART const struct ppi_node *neighbour_micro_slice(const struct ppi_graph *graph, const struct ppi_node *node, int side)
{
    const struct ppi_node *first = graph->node + (size_t)node->row * graph->microbatches;
    bool is_backward = node->row > graph->problem->stages;
    uint32_t turn = ppi_micro_slice_in_turn(graph->problem, is_backward, (uint32_t)(node - first));
    for (turn += (uint32_t)side; turn < graph->microbatches; turn += (uint32_t)side) { /* below 0 it wraps around */
        const struct ppi_node *other = first + ppi_micro_slice_in_turn(graph->problem, is_backward, turn);
        if (other->place != PPSCHED_NONE)
            return other;
    }
    return NULL;
}

/* The op before (-1) or after (1) another in its row, skipping Ws of Bs; NULL where there is none. */
static const struct ppi_node *neighbour(const struct ppi_graph *graph, const struct ppi_node *node, int side)
{
    const struct ppi_node *first = graph->node + (size_t)node->row * graph->microbatches;
    const struct ppi_node *end = first + graph->microbatches;
    if (graph->slices > 1)
        return neighbour_micro_slice(graph, node, side);
    for (node += side; node >= first && node < end; node += side)
        if (node->place != PPSCHED_NONE)
            return node;
    return NULL;
}

/* Whether an op may move to the front: not past the one before it in its row, its I, or anything that the op before it in the
 * chain waits for, as that one would then start no earlier than the passed op ends. */
static bool may_go_forward(const struct ppi_graph *graph, const struct ppi_shift *shift)
{
    const uint32_t *queue = queue_of(graph, shift);
    const struct ppi_node *node = &graph->node[queue[shift->from]], *passed = &graph->node[queue[shift->to]];
    const struct ppi_node *chain = node - graph->microbatches, *before = neighbour(graph, node, -1);
    if (before != NULL && before->place >= shift->to)
        return false;
    if (!ppi_is_chained(graph, node))
        return ppi_node_input(graph, node)->place < shift->to;
    return node->row == 1 || (chain != passed && chain->head < ppi_end_of(passed));
}

/* Whether an op may move to the back: not past the next one of its row, its W, or anything that waits for the op after it in
 * the chain. */
static bool may_go_back(const struct ppi_graph *graph, const struct ppi_shift *shift)
{
    const uint32_t *queue = queue_of(graph, shift);
    const struct ppi_node *node = &graph->node[queue[shift->from]], *passed = &graph->node[queue[shift->to]];
    const struct ppi_node *chain = node + graph->microbatches, *next = neighbour(graph, node, 1);
    if (next != NULL && next->place <= shift->to)
        return false;
    if (ppi_is_split(graph, node) && ppi_node_weight(graph, node)->place <= shift->to)
        return false;
    return node->row >= graph->links || (chain != passed && passed->head < ppi_end_of(chain));
}

bool ppi_shift_is_allowed(const struct ppi_graph *graph, const struct ppi_shift *shift)
{
    return shift->to < shift->from ? may_go_forward(graph, shift) : may_go_back(graph, shift);
}

/* --- what it would cost --- */

static double over(double level, double limit)
{
    return level > limit ? level - limit : 0;
}

double ppi_shift_excess(const struct ppi_graph *graph, const struct ppi_shift *shift)
{
    const uint32_t *queue = queue_of(graph, shift);
    const double *level = graph->level + graph->first[shift->device];
    double limit = graph->problem->device[shift->device].limit, memory = graph->node[queue[shift->from]].memory, change = 0;
    bool is_forward = shift->to < shift->from;
    uint32_t first = is_forward ? shift->to : shift->from + 1, end = is_forward ? shift->from : shift->to + 1;
    if (memory == 0 || limit == PPI_INFINITE)
        return 0;
    for (uint32_t i = first; i < end; i++)
        if (graph->node[queue[i]].memory > 0)
            change += over(level[i] + (is_forward ? memory : -memory), limit) - over(level[i], limit);
    if (memory > 0)
        change += over(is_forward ? level[shift->to] - graph->node[queue[shift->to]].memory + memory : level[shift->to],
                       limit) -
                  over(level[shift->from], limit);
    return change;
}

/* The i-th of the moved ops, from the front on, in their new order. */
static inline const struct ppi_node *shifted(const struct ppi_graph *graph, const struct ppi_shift *shift, uint32_t i)
{
    const uint32_t *queue = queue_of(graph, shift);
    if (shift->to < shift->from)
        return &graph->node[queue[i == 0 ? shift->from : shift->to + i - 1]];
    return &graph->node[queue[i == shift->to - shift->from ? shift->from : shift->from + i + 1]];
}

double ppi_shift_estimate(const struct ppi_graph *graph, const struct ppi_shift *shift)
{
    uint32_t left = shift->to < shift->from ? shift->to : shift->from, width = shift->to + shift->from - 2 * left + 1;
    const uint32_t *queue = queue_of(graph, shift) + left;
    const struct ppi_node *behind = &graph->node[graph->node[queue[width - 1]].behind];
    double end = ppi_end_of(&graph->node[graph->node[queue[0]].before]), rest = behind->length + behind->tail;
    double longest = -PPI_INFINITE;
    for (uint32_t i = 0; i < width; i++) {
        const struct ppi_node *node = shifted(graph, shift, i);
        if (ppi_is_chained(graph, node))
            end = ppi_larger(end, ppi_end_of(node - graph->microbatches) + node->delay);
        graph->ends[i] = end += node->length;
    }
    for (uint32_t i = width; i-- > 0;) {
        const struct ppi_node *node = shifted(graph, shift, i), *next = node + graph->microbatches;
        if (ppi_is_chained(graph, node))
            rest = ppi_larger(rest, next->delay + next->length + next->tail);
        longest = ppi_larger(longest, graph->ends[i] + rest);
        rest += node->length;
    }
    return longest;
}

/* --- made --- */

static void reorder(struct ppi_graph *graph, const struct ppi_shift *shift)
{
    uint32_t *queue = queue_of(graph, shift), op = queue[shift->from];
    uint32_t left = shift->to < shift->from ? shift->to : shift->from, right = shift->to + shift->from - left;
    uint32_t before = graph->node[queue[left]].before, behind = graph->node[queue[right]].behind;
    double *level = graph->level + graph->first[shift->device], held = left > 0 ? level[left - 1] : 0;
    if (shift->to < shift->from)
        memmove(queue + left + 1, queue + left, (right - left) * sizeof *queue);
    else
        memmove(queue + left, queue + left + 1, (right - left) * sizeof *queue);
    queue[shift->to] = op;
    for (uint32_t i = left; i <= right; i++) {
        struct ppi_node *node = &graph->node[queue[i]];
        node->place = i;
        node->before = before;
        graph->node[before].behind = queue[i];
        level[i] = held += node->memory;
        before = queue[i];
    }
    graph->node[before].behind = behind;
    graph->node[behind].before = before;
}

static void set_turn(struct ppi_graph *graph, uint32_t turn, uint32_t op)
{
    graph->by_turn[turn] = op;
    graph->node[op].turn = turn;
}

/* The op gets an earlier turn; ops in between that it depends on go before it. */
static void advance(struct ppi_graph *graph, uint32_t op, uint32_t to)
{
    uint32_t from = graph->node[op].turn, put = to, kept = 0;
    graph->node[op].mark = ++graph->mark;
    for (uint32_t t = from; t-- > to;) {
        struct ppi_node *node = &graph->node[graph->by_turn[t]];
        if (graph->node[node->behind].mark == graph->mark ||
            (ppi_is_chained(graph, node) && (node + graph->microbatches)->mark == graph->mark))
            node->mark = graph->mark;
        else
            graph->list[kept++] = graph->by_turn[t];
    }
    for (uint32_t t = to; t <= from; t++)
        if (graph->node[graph->by_turn[t]].mark == graph->mark)
            set_turn(graph, put++, graph->by_turn[t]);
    while (kept > 0)
        set_turn(graph, put++, graph->list[--kept]);
}

/* The op gets a later turn; ops in between that depend on it go after it. */
static void delay(struct ppi_graph *graph, uint32_t op, uint32_t to)
{
    uint32_t from = graph->node[op].turn, put = from, kept = 0;
    graph->node[op].mark = ++graph->mark;
    graph->list[kept++] = op;
    for (uint32_t t = from + 1; t <= to; t++) {
        uint32_t own = graph->by_turn[t];
        struct ppi_node *node = &graph->node[own];
        if (graph->node[node->before].mark == graph->mark ||
            (ppi_is_chained(graph, node) && (node - graph->microbatches)->mark == graph->mark)) {
            node->mark = graph->mark;
            graph->list[kept++] = own;
        } else
            set_turn(graph, put++, own);
    }
    for (uint32_t i = 0; i < kept; i++)
        set_turn(graph, put++, graph->list[i]);
}

void ppi_shift_apply(struct ppi_graph *graph, const struct ppi_shift *shift)
{
    const uint32_t *queue = queue_of(graph, shift);
    uint32_t op = queue[shift->from], turn = graph->node[op].turn, passed = graph->node[queue[shift->to]].turn;
    reorder(graph, shift);
    if (shift->to < shift->from) {
        advance(graph, op, passed);
        ppi_graph_update(graph, passed, turn + 1);
    } else {
        delay(graph, op, passed);
        ppi_graph_update(graph, turn, passed + 1);
    }
}
