/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the best states among those with the same number of ended windows, a layer each, by their bounds. */
#include "pair/beam.h"

#include "base/checked.h"
#include "pair/bound.h"

enum { NARROW = 8 /* for pairs that are solved exactly afterwards */, WIDE = 256, WORK = 20000 /* states of a wide beam */ };

struct node {
    struct ppi_pair_state state;
    double bound;
    uint32_t rivals;
    uint32_t from;  /* the node before; that of the start: itself */
    uint8_t chosen; /* there */
};

struct beam {
    const struct ppi_pair *pair;
    struct node *nodes; /* `width` for each layer */
    uint32_t *count;    /* of each layer */
    uint32_t width;
    double time;   /* of the best order */
    uint32_t last; /* the node whose choice ends it */
    uint8_t chosen;
    bool dropped; /* a state that could have led to a shorter order */
};

static bool is_equal(const struct ppi_pair *pair, const struct ppi_pair_state *a, const struct ppi_pair_state *b)
{
    if (a->next[0] != b->next[0] || a->next[1] != b->next[1] || a->running != b->running)
        return false;
    for (uint32_t k = 0; k < PPI_CHAINS; k++)
        if (a->left[k] - b->left[k] > pair->tolerance || b->left[k] - a->left[k] > pair->tolerance)
            return false;
    return true; /* in a layer the third chain follows from the others */
}

/* Where a state goes in its layer: the place of an equal one, a free one, or that of the worst. */
static struct node *find_place(struct beam *beam, const struct node *node, uint32_t layer)
{
    struct node *nodes = &beam->nodes[(size_t)layer * beam->width], *worst = nodes;
    for (uint32_t i = 0; i < beam->count[layer]; i++) {
        if (is_equal(beam->pair, &nodes[i].state, &node->state))
            return node->state.time < nodes[i].state.time ? &nodes[i] : NULL;
        if (nodes[i].bound > worst->bound)
            worst = &nodes[i];
    }
    if (beam->count[layer] < beam->width)
        return &nodes[beam->count[layer]++];
    beam->dropped = true;
    return node->bound < worst->bound ? worst : NULL;
}

static void expand(struct beam *beam, uint32_t index)
{
    for (uint8_t k = 0; k < PPI_CHAINS; k++) {
        const struct node *from = &beam->nodes[index];
        if ((from->rivals >> k & 1) == 0)
            continue;
        struct node node = {.state = from->state, .from = index, .chosen = k};
        node.rivals = ppi_pair_choose(beam->pair, &node.state, k, NULL);
        node.bound = ppi_pair_bound(beam->pair, &node.state);
        if (node.bound >= beam->time - beam->pair->tolerance)
            continue;
        if (node.rivals == 0) {
            beam->time = node.state.time;
            beam->last = index;
            beam->chosen = k;
            continue;
        }
        struct node *place = find_place(beam, &node, (uint32_t)node.state.next[0] + node.state.next[1] + node.state.next[2]);
        if (place != NULL)
            *place = node;
    }
}

static void trace_back(const struct beam *beam, struct ppi_pair_choices *choices)
{
    uint32_t count = 1;
    for (uint32_t at = beam->last; beam->nodes[at].from != at; at = beam->nodes[at].from)
        count++;
    choices->count = count;
    choices->chain[--count] = beam->chosen;
    for (uint32_t at = beam->last; count > 0; at = beam->nodes[at].from)
        choices->chain[--count] = beam->nodes[at].chosen;
}

static uint32_t width_of(const struct ppi_pair *pair)
{
    if (pair->total <= PPSCHED_EXACT_WINDOWS)
        return NARROW;
    return pair->total * WIDE <= WORK ? WIDE : WORK / pair->total;
}

ppsched_status ppi_pair_beam(const struct ppi_pair *pair, struct ppi_arena *arena, struct ppi_pair_choices *choices,
                             struct ppi_pair_answer *answer, ppsched_error *error)
{
    struct beam beam = {.pair = pair, .width = width_of(pair), .time = PPI_INFINITE};
    beam.nodes = ppi_arena_take(arena, (size_t)pair->total * beam.width, sizeof *beam.nodes);
    beam.count = ppi_arena_take_zeroed(arena, pair->total, sizeof *beam.count);
    ppsched_status status = ppi_arena_check(arena, "the search for an order of windows", error);
    if (status != PPSCHED_OK)
        return status;
    struct node first = {.bound = 0};
    first.rivals = ppi_pair_go_on(pair, &first.state, NULL);
    double bound = ppi_pair_bound(pair, &first.state);
    uint32_t layer = (uint32_t)first.state.next[0] + first.state.next[1] + first.state.next[2];
    first.from = layer * beam.width;
    beam.nodes[first.from] = first;
    beam.count[layer] = 1;
    for (; layer < pair->total; layer++)
        for (uint32_t i = 0; i < beam.count[layer]; i++)
            expand(&beam, layer * beam.width + i);
    trace_back(&beam, choices);
    answer->time = beam.time;
    answer->is_best = !beam.dropped || beam.time <= bound + pair->tolerance;
    return PPSCHED_OK;
}
