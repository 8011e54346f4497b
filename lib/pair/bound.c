/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds: what is left of a chain; what is left on a channel, with the least time before and behind it; and where windows
 * slow each other down, the least sum of the time with one channel busy and the time with several. */
#include "pair/bound.h"

#include "base/checked.h"

/* What is left at a state. */
struct left {
    double done[PPI_CHAINS];    /* of the window that runs */
    double release[PPI_CHAINS]; /* time until the next window may start: of a weight gradient that waits for the backward */
    double work[PPI_CHANNELS];
};

static struct left find_left(const struct ppi_pair *pair, const struct ppi_pair_state *state)
{
    struct left left = {{0}, {0}, {0}};
    for (uint32_t k = 0; k < PPI_CHAINS; k++) {
        const struct ppi_rest *rest = &pair->rest[k][state->next[k]];
        for (uint32_t c = 0; c < PPI_CHANNELS; c++)
            left.work[c] += rest->work[c];
        if ((state->running >> k & 1) == 0)
            continue;
        const ppsched_window *window = &pair->windows[k][state->next[k]];
        left.done[k] = window->time - state->left[k];
        left.work[window->channel] -= left.done[k];
    }
    uint32_t next = state->next[PPI_WEIGHT], ended = state->next[PPI_BACKWARD];
    if (next < pair->count[PPI_WEIGHT] && pair->windows[PPI_WEIGHT][next].after > ended) {
        const struct ppi_rest *rest = pair->rest[PPI_BACKWARD];
        left.release[PPI_WEIGHT] = rest[ended].time - rest[pair->windows[PPI_WEIGHT][next].after].time -
                                   left.done[PPI_BACKWARD];
    }
    return left;
}

/* The work on a channel, with the least time before and behind it. */
static double channel_bound(const struct ppi_pair *pair, const struct ppi_pair_state *state, const struct left *left,
                            uint32_t channel)
{
    double head = PPI_INFINITE, behind = PPI_INFINITE;
    for (uint32_t k = 0; k < PPI_CHAINS; k++) {
        double before = pair->rest[k][state->next[k]].head[channel];
        if (before == PPI_INFINITE)
            continue;
        if (before > 0)
            before -= left->done[k];
        head = ppi_smaller(head, before + left->release[k]);
        behind = ppi_smaller(behind, pair->behind[k][channel]);
    }
    return head == PPI_INFINITE ? 0 : head + left->work[channel] + behind;
}

/* The least y + sum of max(0, work - y / slowdown) over y >= 0: y is the time in which several run. It is convex, and bends
 * where one of them is done. */
static double least_sum(const double *work, const double *slowdown, uint32_t count)
{
    double least = PPI_INFINITE;
    for (uint32_t bend = 0; bend <= count; bend++) {
        double y = bend < count ? work[bend] * slowdown[bend] : 0, sum = y;
        for (uint32_t i = 0; i < count; i++)
            sum += ppi_larger(0, work[i] - y / slowdown[i]);
        least = ppi_smaller(least, sum);
    }
    return least;
}

static double slowed_bound(const struct ppi_pair *pair, const struct ppi_pair_state *state, const struct left *left)
{
    double work[PPI_CHAINS], slowdown[PPI_CHAINS];
    for (uint32_t k = 0; k < PPI_CHAINS; k++) {
        const struct ppi_rest *rest = &pair->rest[k][state->next[k]];
        work[k] = rest->time - left->done[k];
        slowdown[k] = PPI_INFINITE;
        for (uint32_t c = 0; c < PPI_CHANNELS; c++)
            if (rest->work[c] > 0)
                slowdown[k] = ppi_smaller(slowdown[k], pair->slowdown[c]);
        slowdown[k] = slowdown[k] == PPI_INFINITE ? 1 : slowdown[k];
    }
    return ppi_larger(least_sum(left->work, pair->slowdown, PPI_CHANNELS), least_sum(work, slowdown, PPI_CHAINS));
}

double ppi_pair_bound(const struct ppi_pair *pair, const struct ppi_pair_state *state)
{
    const struct left left = find_left(pair, state);
    double bound = 0;
    for (uint32_t k = 0; k < PPI_CHAINS; k++)
        bound = ppi_larger(bound, left.release[k] + pair->rest[k][state->next[k]].tail - left.done[k]);
    for (uint32_t c = 0; c < PPI_CHANNELS; c++)
        bound = ppi_larger(bound, channel_bound(pair, state, &left, c));
    if (pair->slows)
        bound = ppi_larger(bound, slowed_bound(pair, state, &left));
    return state->time + bound;
}
