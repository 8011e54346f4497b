/* SPDX-License-Identifier: Apache-2.0 */
/* A channel is a queue of chains. A window starts when its chain is at the front and the window is ready. */
#include "pair/given_order.h"

#include "base/error.h"

struct queues {
    uint8_t *chains[PPI_CHANNELS]; /* whose window is next, in turn */
    uint32_t at[PPI_CHANNELS], count[PPI_CHANNELS];
};

static uint32_t chain_of(int32_t kind)
{
    uint32_t chain = 0;
    while (chain < PPI_CHAINS && ppi_chain_kind(chain) != kind)
        chain++;
    return chain;
}

/* Puts one window in its channel's queue; `next` counts those of each chain. */
static ppsched_status put(struct queues *queues, const struct ppi_pair *pair, int32_t kind, uint32_t next[PPI_CHAINS],
                          size_t position, ppsched_error *error)
{
    uint32_t chain = chain_of(kind);
    struct ppi_place place = PPI_NOWHERE;
    place.position = (uint32_t)position;
    if (chain == PPI_CHAINS)
        return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, place,
                           "position %zu of the order has kind %d; it must be F, B or W", position, kind);
    if (next[chain] == pair->count[chain])
        return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, place,
                           "position %zu of the order names another window of %s, and all of these come before it", position,
                           ppi_chain_name(chain));
    const ppsched_window *window = &pair->windows[chain][next[chain]];
    if (window->after > next[PPI_BACKWARD])
        return ppi_fail_at(
            error, PPSCHED_ERROR_INVALID_SCHEDULE, place,
            "position %zu of the order is window %u of weight, before the %u window%p of the backward that it needs", position,
            next[chain], window->after);
    next[chain]++;
    queues->chains[window->channel][queues->count[window->channel]++] = (uint8_t)chain;
    return PPSCHED_OK;
}

static ppsched_status fill(struct queues *queues, const struct ppi_pair *pair, const int32_t *kinds, size_t count,
                           struct ppi_arena *arena, ppsched_error *error)
{
    uint32_t next[PPI_CHAINS] = {0};
    for (uint32_t c = 0; c < PPI_CHANNELS; c++)
        queues->chains[c] = ppi_arena_take(arena, pair->total, 1);
    ppsched_status status = ppi_arena_check(arena, "an order of windows", error);
    if (status == PPSCHED_OK && count != pair->total)
        return ppi_fail(error, PPSCHED_ERROR_INVALID_SCHEDULE, "the order has %zu window%p, the pair %u", count, pair->total);
    for (size_t i = 0; i < count && status == PPSCHED_OK; i++)
        status = put(queues, pair, kinds[i], next, i, error);
    return status;
}

/* Starts what is at the front of queues of free channels, and ready. */
static void start_fronts(const struct ppi_pair *pair, struct queues *queues, struct ppi_pair_state *state,
                         struct ppi_pair_spans *spans)
{
    uint32_t busy = ppi_pair_busy(pair, state);
    for (uint32_t c = 0; c < PPI_CHANNELS; c++) {
        if ((busy >> c & 1) != 0 || queues->at[c] == queues->count[c])
            continue;
        uint32_t chain = queues->chains[c][queues->at[c]];
        if (!ppi_pair_is_ready(pair, state, chain) || pair->windows[chain][state->next[chain]].channel != c)
            continue;
        ppi_pair_start(pair, state, chain, spans);
        queues->at[c]++;
    }
}

/* An order that has each window after those that it needs never stops before its end: the first of it that has not run may. */
ppsched_status ppi_pair_run_given(double *time, const struct ppi_pair *pair, const int32_t *kinds, size_t count,
                                  struct ppi_pair_spans *spans, struct ppi_arena *arena, ppsched_error *error)
{
    struct queues queues = {{0}, {0}, {0}};
    struct ppi_pair_state state = {0};
    ppsched_status status = fill(&queues, pair, kinds, count, arena, error);
    if (status != PPSCHED_OK)
        return status;
    for (;;) {
        start_fronts(pair, &queues, &state, spans);
        if (state.running == 0)
            break;
        ppi_pair_advance(pair, &state, spans);
    }
    *time = state.time;
    return PPSCHED_OK;
}
