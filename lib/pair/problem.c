/* SPDX-License-Identifier: Apache-2.0 */
/* Checks windows, and adds up what is left of each chain from its end to its beginning. */
#include "pair/problem.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

static const char *const names[PPI_CHAINS] = {"forward", "backward", "weight"};

const char *ppi_chain_name(uint32_t chain)
{
    return names[chain];
}

/* How much shorter than the sum of all windows a difference of times is that does not count. */
static const double TIE = 1e-9;

static ppsched_status check_window(const struct ppi_pair *pair, uint32_t chain, uint32_t index, ppsched_error *error)
{
    const ppsched_window *window = &pair->windows[chain][index];
    struct ppi_place place = PPI_NOWHERE;
    place.position = index;
    if (!(window->time >= 0 && ppi_is_finite(window->time)))
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "window %u of %s takes %g; it must be finite and at least 0",
                           index, names[chain], window->time);
    if (window->channel >= PPI_CHANNELS)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "window %u of %s is on channel %u; channels are 0 to %d", index,
                           names[chain], window->channel, PPI_CHANNELS - 1);
    if (chain != PPI_WEIGHT && window->after != 0)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                           "window %u of %s is after %u of the backward; only windows of weight may be", index, names[chain],
                           window->after);
    if (window->after > pair->count[PPI_BACKWARD])
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                           "window %u of weight is after %u window%p of the backward, which has %u", index, window->after,
                           pair->count[PPI_BACKWARD]);
    return PPSCHED_OK;
}

static ppsched_status take_chain(struct ppi_pair *pair, uint32_t chain, const ppsched_window *windows, size_t count,
                                 ppsched_error *error)
{
    if (count > 0 && windows == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s is NULL, and its count %zu", names[chain], count);
    if (count == 0 && chain != PPI_WEIGHT)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has no windows; a pair is a forward and a backward", names[chain]);
    if (count > PPSCHED_MAX_WINDOWS || pair->total + count > PPSCHED_MAX_WINDOWS)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "a pair has at most %d window%p; with %s there are more",
                        PPSCHED_MAX_WINDOWS, names[chain]);
    pair->windows[chain] = windows;
    pair->count[chain] = (uint32_t)count;
    pair->total += (uint32_t)count;
    return PPSCHED_OK;
}

static ppsched_status check_all(struct ppi_pair *pair, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t c = 0; c < PPI_CHAINS; c++)
        for (uint32_t i = 0; i < pair->count[c] && status == PPSCHED_OK; i++) {
            status = check_window(pair, c, i, error);
            pair->serial += pair->windows[c][i].time;
        }
    if (status == PPSCHED_OK && !ppi_is_finite(pair->serial))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the times of the windows add up to more than a double can hold");
    pair->tolerance = pair->serial * TIE;
    return status;
}

static ppsched_status take_slowdown(struct ppi_pair *pair, const ppsched_pair_windows *given, ppsched_error *error)
{
    for (uint32_t c = 0; c < PPI_CHANNELS; c++) {
        double slowdown = given->slowdown[c] == 0 ? 1 : given->slowdown[c];
        if (!(slowdown >= 1 && ppi_is_finite(slowdown * pair->serial)))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "slowdown of channel %u is %g; it must be finite and at least 1", c,
                            slowdown);
        pair->slowdown[c] = slowdown;
        pair->slows |= slowdown > 1;
    }
    return PPSCHED_OK;
}

/* The longest tail of weight windows that wait for exactly the first `ended` windows of the backward. */
static double tail_of_waiting(const struct ppi_pair *pair, uint32_t ended)
{
    for (uint32_t i = 0; i < pair->count[PPI_WEIGHT]; i++)
        if (pair->windows[PPI_WEIGHT][i].after >= ended)
            return pair->windows[PPI_WEIGHT][i].after == ended ? pair->rest[PPI_WEIGHT][i].time : 0;
    return 0;
}

static void add_up(struct ppi_pair *pair, uint32_t chain)
{
    struct ppi_rest *rest = pair->rest[chain], *last = &rest[pair->count[chain]];
    *last = (struct ppi_rest){0};
    for (uint32_t c = 0; c < PPI_CHANNELS; c++)
        last->head[c] = PPI_INFINITE;
    for (uint32_t i = pair->count[chain]; i-- > 0;) {
        const ppsched_window *window = &pair->windows[chain][i];
        rest[i] = rest[i + 1];
        rest[i].time += window->time;
        rest[i].work[window->channel] += window->time;
        for (uint32_t c = 0; c < PPI_CHANNELS; c++)
            rest[i].head[c] += window->time;
        rest[i].head[window->channel] = 0;
        double behind = rest[i + 1].tail;
        if (chain == PPI_BACKWARD)
            behind = ppi_larger(behind, tail_of_waiting(pair, i + 1));
        rest[i].tail = behind + window->time;
        if (rest[i + 1].head[window->channel] == PPI_INFINITE) /* the last on its channel */
            pair->behind[chain][window->channel] = behind;
    }
}

static ppsched_status check_given(struct ppi_pair *pair, const ppsched_pair_windows *given, ppsched_error *error)
{
    *pair = (struct ppi_pair){0};
    ppsched_status status = take_chain(pair, PPI_FORWARD, given->forward, given->forward_count, error);
    if (status == PPSCHED_OK)
        status = take_chain(pair, PPI_BACKWARD, given->backward, given->backward_count, error);
    if (status == PPSCHED_OK)
        status = take_chain(pair, PPI_WEIGHT, given->weight, given->weight_count, error);
    if (status == PPSCHED_OK)
        status = check_all(pair, error);
    if (status == PPSCHED_OK)
        status = take_slowdown(pair, given, error);
    return status;
}

ppsched_status ppi_pair_count(size_t *out, const ppsched_pair_windows *given, ppsched_error *error)
{
    struct ppi_pair pair;
    ppsched_status status = check_given(&pair, given, error);
    *out = pair.total;
    return status;
}

ppsched_status ppi_pair_take(struct ppi_pair *pair, const ppsched_pair_windows *given, struct ppi_arena *arena,
                             ppsched_error *error)
{
    ppsched_status status = check_given(pair, given, error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t c = 0; c < PPI_CHAINS; c++)
        pair->rest[c] = ppi_arena_take(arena, (size_t)pair->count[c] + 1, sizeof *pair->rest[c]);
    status = ppi_arena_check(arena, "a pair's windows", error);
    for (uint32_t c = PPI_CHAINS; status == PPSCHED_OK && c-- > 0;) /* weight first, whose tails the backward needs */
        add_up(pair, c);
    return status;
}
