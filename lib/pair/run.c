/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that knows how windows go on: who is ready, how fast they run, and what ends next. */
#include "pair/run.h"

#include "base/checked.h"

void ppi_pair_start(const struct ppi_pair *pair, struct ppi_pair_state *state, uint32_t chain, struct ppi_pair_spans *spans)
{
    uint32_t next = state->next[chain];
    state->running |= (uint8_t)(1u << chain);
    state->left[chain] = pair->windows[chain][next].time;
    if (spans != NULL && spans->of[chain] != NULL)
        spans->of[chain][next].start = state->time;
}

/* How much longer the running window of a chain takes than alone. */
static double slowness(const struct ppi_pair *pair, const struct ppi_pair_state *state, uint32_t chain)
{
    bool is_alone = (state->running & (state->running - 1)) == 0;
    return is_alone ? 1 : pair->slowdown[pair->windows[chain][state->next[chain]].channel];
}

void ppi_pair_advance(const struct ppi_pair *pair, struct ppi_pair_state *state, struct ppi_pair_spans *spans)
{
    double slow[PPI_CHAINS] = {1, 1, 1}, step = PPI_INFINITE;
    for (uint32_t c = 0; c < PPI_CHAINS; c++)
        if ((state->running >> c & 1) != 0) {
            slow[c] = pair->slows ? slowness(pair, state, c) : 1;
            step = ppi_smaller(step, state->left[c] * slow[c]);
        }
    state->time += step;
    for (uint32_t c = 0; c < PPI_CHAINS; c++) {
        if ((state->running >> c & 1) == 0)
            continue;
        double left = pair->slows ? state->left[c] - step / slow[c] : state->left[c] - step;
        state->left[c] = left > pair->tolerance ? left : 0;
    }
    for (uint32_t c = 0; c < PPI_CHAINS; c++)
        if ((state->running >> c & 1) != 0 && state->left[c] == 0) {
            if (spans != NULL && spans->of[c] != NULL)
                spans->of[c][state->next[c]].end = state->time;
            state->running &= (uint8_t) ~(1u << c);
            state->next[c]++;
        }
}

/* The chains that are ready for a channel that is free. */
static uint32_t find_ready(const struct ppi_pair *pair, const struct ppi_pair_state *state)
{
    uint32_t busy = ppi_pair_busy(pair, state), ready = 0;
    for (uint32_t c = 0; c < PPI_CHAINS; c++)
        if (ppi_pair_is_ready(pair, state, c) && (busy >> pair->windows[c][state->next[c]].channel & 1) == 0)
            ready |= 1u << c;
    return ready;
}

/* Those of ready chains that want the same channel; 0 if each has its own. Of three chains there is at most one such set. */
static uint32_t find_rivals(const struct ppi_pair *pair, const struct ppi_pair_state *state, uint32_t ready)
{
    uint32_t rivals = 0;
    if ((ready & (ready - 1)) == 0)
        return 0;
    for (uint32_t a = 0; a < PPI_CHAINS; a++)
        for (uint32_t b = a + 1; b < PPI_CHAINS; b++)
            if ((ready >> a & ready >> b & 1) != 0 &&
                pair->windows[a][state->next[a]].channel == pair->windows[b][state->next[b]].channel)
                rivals |= 1u << a | 1u << b;
    return rivals;
}

static void start_all(const struct ppi_pair *pair, struct ppi_pair_state *state, uint32_t chains, struct ppi_pair_spans *spans)
{
    for (uint32_t c = 0; c < PPI_CHAINS; c++)
        if ((chains >> c & 1) != 0)
            ppi_pair_start(pair, state, c, spans);
}

uint32_t ppi_pair_go_on(const struct ppi_pair *pair, struct ppi_pair_state *state, struct ppi_pair_spans *spans)
{
    for (;;) {
        uint32_t ready = find_ready(pair, state), rivals = find_rivals(pair, state, ready);
        if (rivals != 0)
            return rivals;
        start_all(pair, state, ready, spans);
        if (state->running == 0)
            return 0;
        ppi_pair_advance(pair, state, spans);
    }
}

uint32_t ppi_pair_choose(const struct ppi_pair *pair, struct ppi_pair_state *state, uint32_t chain,
                         struct ppi_pair_spans *spans)
{
    uint32_t ready = find_ready(pair, state);
    start_all(pair, state, (ready & ~find_rivals(pair, state, ready)) | 1u << chain, spans);
    ppi_pair_advance(pair, state, spans);
    return ppi_pair_go_on(pair, state, spans);
}
