/* SPDX-License-Identifier: Apache-2.0 */
/* Two chains are two jobs of a job shop. Where both are ready for one channel nothing runs, so all that counts is which window
 * of each is next, and when: a shortest path over these pairs of windows. */
#include "pair/chains.h"

#include "base/checked.h"

/* The earliest moment at which two windows are both ready for one channel. */
struct meeting {
    double time;
    uint32_t from;  /* the meeting before; itself: there is none */
    uint8_t chosen; /* the chain that was chosen there */
};

struct paths {
    const struct ppi_pair *pair;
    struct meeting *meetings; /* by window of the forward, then of the backward; the last one is the end */
    uint32_t columns;
};

static void arrive(const struct paths *paths, const struct ppi_pair_state *state, uint32_t from, uint8_t chosen)
{
    struct meeting *there = &paths->meetings[state->next[PPI_FORWARD] * paths->columns + state->next[PPI_BACKWARD]];
    if (state->time < there->time)
        *there = (struct meeting){state->time, from, chosen};
}

/* Goes on from a meeting, either way. */
static void leave(const struct paths *paths, uint32_t index)
{
    for (uint8_t chain = 0; chain < PPI_WEIGHT; chain++) {
        struct ppi_pair_state state = {.time = paths->meetings[index].time};
        state.next[PPI_FORWARD] = (uint16_t)(index / paths->columns);
        state.next[PPI_BACKWARD] = (uint16_t)(index % paths->columns);
        ppi_pair_choose(paths->pair, &state, chain, NULL);
        arrive(paths, &state, index, chain);
    }
}

static void trace_paths(const struct paths *paths, uint32_t last, struct ppi_pair_choices *choices)
{
    choices->count = 0;
    for (uint32_t at = last; paths->meetings[at].from != at; at = paths->meetings[at].from)
        choices->chain[choices->count++] = paths->meetings[at].chosen;
    for (uint32_t i = 0; i < choices->count / 2; i++) {
        uint8_t swapped = choices->chain[i];
        choices->chain[i] = choices->chain[choices->count - 1 - i];
        choices->chain[choices->count - 1 - i] = swapped;
    }
}

double ppi_pair_order_chains(const struct ppi_pair *pair, struct ppi_arena *arena, struct ppi_pair_choices *choices)
{
    struct paths paths = {pair, NULL, pair->count[PPI_BACKWARD] + 1};
    const uint32_t last = (pair->count[PPI_FORWARD] + 1) * paths.columns - 1;
    paths.meetings = ppi_arena_take(arena, (size_t)last + 1, sizeof *paths.meetings);
    if (paths.meetings == NULL)
        return PPI_INFINITE;
    for (uint32_t i = 0; i <= last; i++)
        paths.meetings[i].time = PPI_INFINITE;
    struct ppi_pair_state state = {0};
    ppi_pair_go_on(pair, &state, NULL);
    uint32_t first = state.next[PPI_FORWARD] * paths.columns + state.next[PPI_BACKWARD];
    arrive(&paths, &state, first, 0);
    for (uint32_t i = first; i < last; i++)
        if (paths.meetings[i].time < PPI_INFINITE)
            leave(&paths, i);
    trace_paths(&paths, last, choices);
    return paths.meetings[last].time;
}
