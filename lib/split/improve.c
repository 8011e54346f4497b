/* SPDX-License-Identifier: Apache-2.0 */
/* Better splits by moving blocks between stages. How often a stage's ops are on the critical path estimates the gain of a
 * move; the most promising ones are priced. Where none helps, a random walk leaves the local optimum. With one stage per
 * device this is repeated in ever longer rounds until some find nothing; with several, splits compete by successive
 * halving. */
#include <string.h>

#include "base/checked.h"
#include "split/improve.h"

/* Most random walks of a round; the first has 2^-WALKS of its visits. */
enum { WALKS = 8 };

/* The first round's visits, or number of prices where these take more; the factor from one round's length to the next; rounds
 * without gain before the search ends. */
enum { FIRST_ROUND = 500000, FIRST_PRICES = 64, LONGER = 4, MOST_IDLE = 4 };

/* With several stages per device one long round is better than many. The first one has LONG_ROUND visits, some 50 ms
 * (docs/performance.md), or one LONG_PART-th of many, to find out whether there is any gain; where rounds without empty stages
 * alternate with others, at most one TURN_PART-th. */
enum { LONG_ROUND = 25000000, LONG_PART = 8, TURN_PART = 3 };

/* Local search from the best split, which a walk may have found, with visits in addition to the search's own. */
static ppsched_status end_at_best(struct ppi_improving *improving, uint64_t visits, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    bool better;
    ppi_splitting_go_back(splitting);
    splitting->now = (struct ppi_split_price)PPI_NO_SPLIT;
    splitting->most_visited = splitting->state.visited + visits;
    ppsched_status status = ppi_splitting_try(splitting, &better, error);
    return status == PPSCHED_OK ? ppi_split_local_search(improving, error) : status;
}

/* Random walks from the best, each twice as long, until three have found nothing. */
static ppsched_status walk_on_at_random(struct ppi_improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint64_t left = splitting->most_visited > splitting->state.visited ? splitting->most_visited - splitting->state.visited : 0;
    uint64_t length = left >> WALKS;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0, idle = 0; i < WALKS && idle < 3 && ppi_split_goes_on(improving) && status == PPSCHED_OK; i++, length *= 2) {
        const struct ppi_split_price before = splitting->best;
        ppi_splitting_go_back(splitting);
        status = ppi_split_random_walk(improving, splitting->state.visited + length, error);
        idle = ppi_split_is_better(&splitting->best, &before) ? 0 : idle + 1;
    }
    return status;
}

/* Local search from the best balanced split, with at most half of the visits, then random walks. */
static ppsched_status go_on_from_best(struct ppi_improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint64_t whole = splitting->most_visited, half = (whole - splitting->state.visited) / 2;
    bool better;
    splitting->now = (struct ppi_split_price)PPI_NO_SPLIT;
    ppi_splitting_go_back(splitting);
    ppi_split_state_choose_alike(&splitting->state);
    splitting->most_visited = splitting->state.visited + half;
    ppsched_status status = ppi_splitting_try(splitting, &better, error);
    if (status == PPSCHED_OK)
        status = ppi_split_local_search(improving, error);
    splitting->most_visited = whole;
    return status == PPSCHED_OK ? walk_on_at_random(improving, error) : status;
}

static ppsched_status open_improving(struct ppi_improving *out, struct ppi_splitting *splitting, ppsched_error *error)
{
    uint32_t stages = splitting->state.stages;
    *out = (struct ppi_improving){.splitting = splitting, .random = 1};
    out->old_weight = ppi_arena_take(splitting->state.arena, stages, sizeof *out->old_weight);
    out->old_pin = ppi_arena_take(splitting->state.arena, stages, sizeof *out->old_pin);
    out->has_chunks = stages > splitting->state.schedule->shape.devices;
    out->may_pin = splitting->state.fronts != NULL && out->has_chunks;
    return ppi_arena_check(splitting->state.arena, "the split", error);
}

/* One round, up to `end` or the end of the search. */
static ppsched_status go_round(struct ppi_improving *improving, uint64_t end, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint64_t whole = splitting->most_visited;
    splitting->most_visited = end < whole ? end : whole;
    ppsched_status status = improving->has_chunks ? ppi_split_successive_halving(improving, error)
                                                  : go_on_from_best(improving, error);
    splitting->most_visited = whole;
    return status;
}

/* Better in overshoot or time, not only in evenness. */
static bool is_shorter(const struct ppi_split_price *price, const struct ppi_split_price *before)
{
    return ppi_split_is_better(price, before) &&
           (price->overshoot < before->overshoot || price->time < before->time * (1 - 1e-11));
}

static uint64_t first_length(const struct ppi_improving *improving, bool takes_turns)
{
    const struct ppi_splitting *splitting = improving->splitting;
    uint64_t length = (uint64_t)FIRST_PRICES * splitting->state.walk.count;
    length = length < FIRST_ROUND ? FIRST_ROUND : length;
    uint64_t whole = splitting->most_visited, part = whole / LONG_PART > LONG_ROUND ? whole / LONG_PART : LONG_ROUND;
    if (!improving->has_chunks)
        return length;
    part = part < whole ? part : whole;
    part = takes_turns && part > whole / TURN_PART ? whole / TURN_PART : part;
    return part > length ? part : length;
}

/* The last round gets all that is left where that is too little for another. Where stages may be empty every other round
 * leaves none empty, with several stages per device the first: most of the best splits have no empty stage, and are found
 * sooner without. There, and where first splits exceed a limit, the search ends only after two rounds without gain. */
static ppsched_status go_rounds(struct ppi_improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    const bool may_be_empty = splitting->state.may_be_empty, takes_turns = splitting->blocks >= splitting->state.stages;
    uint64_t length = first_length(improving, may_be_empty && takes_turns);
    ppsched_status status = PPSCHED_OK;
    int most_idle = !improving->has_chunks                                            ? MOST_IDLE
                    : (may_be_empty && takes_turns) || splitting->first_overshoot > 0 ? 2
                                                                                      : 1;
    splitting->state.may_be_empty = may_be_empty && !(improving->has_chunks && takes_turns);
    for (int idle = 0; idle < most_idle && ppi_split_goes_on(improving) && status == PPSCHED_OK; length *= LONGER) {
        const struct ppi_split_price before = splitting->best;
        bool is_last = splitting->most_visited - splitting->state.visited < 2 * length;
        status = go_round(improving, is_last ? splitting->most_visited : splitting->state.visited + length, error);
        idle = is_shorter(&splitting->best, &before) ? 0 : idle + 1;
        splitting->state.may_be_empty = may_be_empty && !(takes_turns && splitting->state.may_be_empty);
    }
    splitting->state.may_be_empty = may_be_empty;
    return status;
}

ppsched_status ppi_split_improve(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct ppi_improving improving;
    ppsched_status status = open_improving(&improving, splitting, error);
    if (splitting->state.stages == 1 || !ppi_split_goes_on(&improving))
        return status;
    if (status == PPSCHED_OK)
        status = go_rounds(&improving, error);
    return status == PPSCHED_OK ? end_at_best(&improving, splitting->most_visited / 8, error) : status;
}

ppsched_status ppi_split_improve_near(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct ppi_improving improving;
    ppsched_status status = open_improving(&improving, splitting, error);
    return status == PPSCHED_OK ? end_at_best(&improving, splitting->most_visited, error) : status;
}

ppsched_status ppi_split_improve_on(struct ppi_splitting *splitting, uint64_t visits, ppsched_error *error)
{
    struct ppi_improving improving;
    ppsched_status status = open_improving(&improving, splitting, error);
    if (status == PPSCHED_OK)
        status = end_at_best(&improving, visits / 4, error);
    if (status != PPSCHED_OK || visits == 0)
        return status;
    ppi_splitting_go_back(splitting);
    splitting->most_visited = splitting->state.visited + visits;
    status = ppi_split_random_walk(&improving, splitting->most_visited, error);
    return status == PPSCHED_OK ? end_at_best(&improving, visits / 4, error) : status;
}
