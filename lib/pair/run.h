/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a pair's windows from one choice to the next. */
#ifndef PPSCHED_PAIR_RUN_H
#define PPSCHED_PAIR_RUN_H

#include "pair/problem.h"

/* Where a pair is at a moment. A chain runs at most one window: its next one. */
struct ppi_pair_state {
    double time;
    double left[PPI_CHAINS]; /* work of the windows that run; 0 in others */
    uint16_t next[PPI_CHAINS];
    uint8_t running; /* a bit for each chain */
};

/* Starts and ends of all windows, by chain; any may be NULL. */
struct ppi_pair_spans {
    ppsched_span *of[PPI_CHAINS];
};

/* Goes on until several windows are ready for one channel, and returns their chains, a bit each; 0 at the end of the pair. */
uint32_t ppi_pair_go_on(const struct ppi_pair *pair, struct ppi_pair_state *state, struct ppi_pair_spans *spans);

/* The same, after one of the chains that were returned is started, and windows for other channels with it. */
uint32_t ppi_pair_choose(const struct ppi_pair *pair, struct ppi_pair_state *state, uint32_t chain,
                         struct ppi_pair_spans *spans);

/* Starts the next window of a chain. */
void ppi_pair_start(const struct ppi_pair *pair, struct ppi_pair_state *state, uint32_t chain, struct ppi_pair_spans *spans);

/* Goes on until the next window ends, and all that end with it. Some window runs. */
void ppi_pair_advance(const struct ppi_pair *pair, struct ppi_pair_state *state, struct ppi_pair_spans *spans);

/* Whether a chain's next window may start, but for its channel. */
static inline bool ppi_pair_is_ready(const struct ppi_pair *pair, const struct ppi_pair_state *state, uint32_t chain)
{
    uint32_t next = state->next[chain];
    return (state->running >> chain & 1) == 0 && next < pair->count[chain] &&
           pair->windows[chain][next].after <= state->next[PPI_BACKWARD];
}

/* A bit for each channel that is busy. */
static inline uint32_t ppi_pair_busy(const struct ppi_pair *pair, const struct ppi_pair_state *state)
{
    uint32_t busy = 0;
    for (uint32_t c = 0; c < PPI_CHAINS; c++)
        if ((state->running >> c & 1) != 0)
            busy |= 1u << pair->windows[c][state->next[c]].channel;
    return busy;
}

#endif
