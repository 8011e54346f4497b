/* SPDX-License-Identifier: Apache-2.0 */
/* Better splits by moving blocks from stage to stage. How often a stage's ops are on a longest way tells what a move would be
 * worth if no other way became longest; the most promising are priced. Where none helps, walks of random steps, which may be a
 * little worse at first and less and less, lead away from there and down again. */
#include <string.h>

#include "base/checked.h"
#include "split/moves.h"

enum { MOST_GIVERS = 64, WALKS = 8, CHUNK_WALKS = 2, FEW = 500 };

/* The share of the time by which a step may be worse at first. */
#define WIDEST 0.0025

struct improving {
    struct ppi_splitting *splitting;
    struct ppi_split_moves *moves;
    uint64_t random;
    uint32_t *old_pin;
    double *old_weight;
    bool by_way;     /* sets are chosen by what is on the longest way */
    bool has_chunks; /* several stages a device */
    bool may_pin;    /* devices can choose which of their stages recompute */
};

static uint32_t random_below(struct improving *improving, uint32_t limit)
{
    improving->random = improving->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((improving->random >> 33) * limit >> 31);
}

/* Of very many stages some are looked at as givers, others the next time. */
static void find_moves(struct improving *improving)
{
    uint32_t stages = improving->splitting->state.stages;
    ppi_split_moves_start(improving->moves, false);
    improving->splitting->state.visited += (uint64_t)stages * (stages < MOST_GIVERS ? stages : MOST_GIVERS) / 4;
    if (stages <= MOST_GIVERS) {
        for (uint32_t from = 0; from < stages; from++)
            ppi_split_moves_offer(improving->moves, from);
        return;
    }
    for (int i = 0; i < MOST_GIVERS; i++)
        ppi_split_moves_offer(improving->moves, random_below(improving, stages));
}

static bool goes_on(const struct improving *improving)
{
    return improving->splitting->state.visited < improving->splitting->most_visited;
}

/* Tries the moves that promise most, until one is better. */
static ppsched_status try_moves(struct improving *improving, bool *better, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    ppsched_status status = PPSCHED_OK;
    *better = false;
    for (uint32_t i = 0; i < improving->moves->count && !*better && goes_on(improving) && status == PPSCHED_OK; i++) {
        const struct ppi_split_move *move = &improving->moves->list[i];
        ppi_split_move(splitting->at, move->from, move->to);
        status = ppi_splitting_try(splitting, better, error);
        if (!*better)
            ppi_split_move(splitting->at, move->to, move->from);
    }
    return status;
}

/* Where a device has several stages, another of them may recompute more, so that this one recomputes less. */
static bool try_pin(struct improving *improving, uint32_t stage, uint32_t pin)
{
    struct ppi_splitting *splitting = improving->splitting;
    struct ppi_split_price price;
    uint32_t had = splitting->state.pin[stage];
    ppi_split_state_pin(&splitting->state, stage, pin, &price);
    if (ppi_split_is_better(&price, &splitting->now)) {
        ppi_splitting_take(splitting, &price);
        return true;
    }
    ppi_split_state_pin(&splitting->state, stage, had, &price);
    return false;
}

static ppsched_status try_pins(struct improving *improving, bool *better, ppsched_error *error)
{
    const struct ppi_split_state *state = &improving->splitting->state;
    if (state->menus == NULL || state->stages == state->schedule->shape.devices)
        return PPSCHED_OK;
    ppsched_status status = ppi_splitting_try(improving->splitting, better, error); /* the last move left another at hand */
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t i = 0, first = random_below(improving, state->stages);
         i < state->stages && goes_on(improving) && status == PPSCHED_OK; i++) {
        status = ppi_splitting_poll(improving->splitting, error);
        uint32_t stage = (first + i) % state->stages, dish = state->dish[stage];
        if (dish > 0)
            *better |= try_pin(improving, stage, dish - 1);
        if (dish == state->dish[stage] && dish + 1 < state->menus[stage].count)
            *better |= try_pin(improving, stage, dish + 1);
    }
    return status;
}

/* The sets for the longest way as it is; another way may be longest then. */
static ppsched_status choose_by_way(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct ppi_split_price price;
    ppi_split_state_choose_by_way(&splitting->state);
    ppsched_status status = ppi_splitting_price(splitting, &price, error);
    if (status == PPSCHED_OK)
        ppi_splitting_take(splitting, &price);
    ppi_split_state_weigh(&splitting->state);
    return status;
}

/* To a split that no move of those tried makes better. */
static ppsched_status descend(struct improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    bool better = true;
    ppsched_status status = PPSCHED_OK;
    while (better && goes_on(improving) && status == PPSCHED_OK) {
        ppi_split_state_weigh(&splitting->state);
        if (improving->by_way)
            status = choose_by_way(splitting, error);
        find_moves(improving);
        if (status == PPSCHED_OK)
            status = try_moves(improving, &better, error);
        if (status == PPSCHED_OK && !better)
            status = try_pins(improving, &better, error);
    }
    return status;
}

/* --- wandering --- */

/* Whether a price is not much worse than that at hand: by a share of the time, which falls as the search goes on. */
static bool is_near(const struct ppi_split_price *price, const struct ppi_split_price *now, double share)
{
    if (price->lack > 0 && price->lack >= now->lack)
        return price->lack <= now->lack && price->time <= now->time * (1 + share);
    return price->time <= now->time * (1 + share) || price->lack < now->lack;
}

/* Another set for a stage that can choose. */
static bool change_pin(struct improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t stage = random_below(improving, splitting->state.stages), dish = splitting->state.dish[stage];
    uint32_t count = splitting->state.menus[stage].count, pin = splitting->now_pin[stage];
    switch (random_below(improving, 4)) {
    case 0:
        pin = PPSCHED_NONE;
        break;
    case 1:
        pin = random_below(improving, count);
        break;
    case 2:
        pin = dish > 0 ? dish - 1 : 0;
        break;
    default:
        pin = dish + 1 < count ? dish + 1 : dish;
    }
    if (pin == splitting->now_pin[stage] || count == 1)
        return false;
    splitting->now_pin[stage] = pin;
    return true;
}

/* From one stage of a device to another, and likewise of some devices behind it. */
static bool change_device(struct improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t devices = splitting->state.schedule->shape.devices;
    uint32_t device = random_below(improving, devices),
             count = random_below(improving, 2) == 0 ? 1 : random_below(improving, devices);
    const struct ppi_holding *first = &splitting->state.holdings[device];
    uint32_t from = random_below(improving, first->count), to = random_below(improving, first->count);
    bool changed = false;
    for (uint32_t d = device; d < devices && d < device + count && from != to; d++) {
        const struct ppi_holding *holding = &splitting->state.holdings[d];
        if (from < holding->count && to < holding->count && ppi_split_may_give(splitting, holding->stages[from])) {
            ppi_split_move(splitting->at, holding->stages[from], holding->stages[to]);
            changed = true;
        }
    }
    return changed;
}

static bool change_split(struct improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t stages = splitting->state.stages, from = random_below(improving, stages), to = random_below(improving, stages);
    if (random_below(improving, 3) == 0 && stages > splitting->state.schedule->shape.devices)
        return change_device(improving);
    if (random_below(improving, 2) == 0)
        to = from > 0 && (from + 1 == stages || random_below(improving, 2) == 0) ? from - 1 : from + 1;
    if (from == to || !ppi_split_may_give(splitting, from))
        return false;
    ppi_split_move(splitting->at, from, to);
    return true;
}

/* All sets anew, for the longest way as it is, and without pins. */
static ppsched_status step_by_way(struct improving *improving, double share, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    struct ppi_split_state *state = &splitting->state;
    struct ppi_split_price price;
    ppsched_status status = ppi_splitting_price(splitting, &price, error);
    ppi_split_state_weigh(state);
    memcpy(improving->old_weight, state->backward_weight, state->stages * sizeof *improving->old_weight);
    ppi_split_state_choose_by_way(state);
    for (uint32_t s = 0; s < state->stages; s++)
        splitting->now_pin[s] = PPSCHED_NONE;
    if (status == PPSCHED_OK)
        status = ppi_splitting_price(splitting, &price, error);
    if (status == PPSCHED_OK && is_near(&price, &splitting->now, share)) {
        ppi_splitting_take(splitting, &price);
        return PPSCHED_OK;
    }
    memcpy(splitting->now_pin, improving->old_pin, state->stages * sizeof *improving->old_pin);
    ppi_split_state_choose_by(state, improving->old_weight);
    return status;
}

/* One step anywhere, which is taken where it is not much worse. */
static ppsched_status step(struct improving *improving, double share, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    size_t stages = splitting->state.stages;
    struct ppi_split_price price;
    memcpy(improving->old_pin, splitting->now_pin, stages * sizeof *improving->old_pin);
    if (improving->may_pin && random_below(improving, 64) == 0)
        return step_by_way(improving, share, error);
    bool pins = improving->may_pin && random_below(improving, 2) == 0;
    if (pins ? !change_pin(improving) : !change_split(improving)) {
        splitting->state.visited += 16;
        return PPSCHED_OK;
    }
    ppsched_status status = ppi_splitting_price_near(splitting, share, &price, error);
    if (status == PPSCHED_OK && is_near(&price, &splitting->now, share)) {
        ppi_splitting_take(splitting, &price);
        return PPSCHED_OK;
    }
    memcpy(splitting->at, splitting->now_at, (stages + 1) * sizeof *splitting->at);
    memcpy(splitting->now_pin, improving->old_pin, stages * sizeof *improving->old_pin);
    return status;
}

/* From the split at hand with ever smaller steps, then down. */
static ppsched_status wander(struct improving *improving, uint64_t until, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint64_t from = splitting->state.visited;
    ppsched_status status = ppi_splitting_price(splitting, &splitting->now, error);
    while (splitting->state.visited < until && status == PPSCHED_OK) {
        double left = (double)(until - splitting->state.visited) / (double)(until - from);
        status = step(improving, WIDEST * left * left, error);
    }
    return status == PPSCHED_OK ? descend(improving, error) : status;
}

/* From the best of the balanced splits, or with stages of a device that grow or shrink from the first to the last: down, with
 * sets chosen by the longest way or not, and then on from there. */
static ppsched_status start(struct improving *improving, int number, bool by_way, uint64_t until, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint64_t whole = splitting->most_visited;
    bool better;
    ppsched_status status;
    splitting->now = (struct ppi_split_price)PPI_NO_SPLIT;
    if (number == 0) {
        ppi_splitting_go_back(splitting);
        ppi_split_state_choose_alike(&splitting->state);
        status = ppi_splitting_try(splitting, &better, error);
    } else {
        ppi_split_state_choose_alike(&splitting->state);
        status = ppi_splitting_try_start(splitting, number, error);
    }
    splitting->most_visited = until;
    improving->by_way = by_way;
    if (status == PPSCHED_OK)
        status = descend(improving, error);
    improving->by_way = false;
    if (status == PPSCHED_OK && improving->has_chunks && splitting->state.visited < until)
        status = wander(improving, until, error);
    splitting->most_visited = whole;
    return status;
}

/* With several stages a device half of the search, else down alone, which is soon done. */
static ppsched_status start_all(struct improving *improving, ppsched_error *error)
{
    const struct ppi_splitting *splitting = improving->splitting;
    uint64_t prices = splitting->most_visited / splitting->state.walk.count; /* that there is time for */
    int starts = !improving->has_chunks || prices < FEW ? 1 : PPI_SPLIT_STARTS,
        ways = improving->may_pin && prices >= FEW ? 2 : 1;
    uint64_t each = splitting->most_visited / (2 * (unsigned)(starts * ways));
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < starts * ways && (i == 0 || goes_on(improving)) && status == PPSCHED_OK; i++)
        status = start(improving, i / ways, i % ways == 1, each * ((unsigned)i + 1), error);
    return status;
}

/* Down from the best, which a walk may have come by; with visits beside the search's own. */
static ppsched_status end_at_best(struct improving *improving, uint64_t visits, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    bool better;
    ppi_splitting_go_back(splitting);
    splitting->now = (struct ppi_split_price)PPI_NO_SPLIT;
    splitting->most_visited = splitting->state.visited + visits;
    ppsched_status status = ppi_splitting_try(splitting, &better, error);
    return status == PPSCHED_OK ? descend(improving, error) : status;
}

/* Ever longer walks from the best. With one stage a device, where there is little to choose, until three have found nothing. */
static ppsched_status wander_on(struct improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    int walks = improving->has_chunks ? CHUNK_WALKS : WALKS;
    uint64_t left = splitting->most_visited > splitting->state.visited ? splitting->most_visited - splitting->state.visited : 0;
    uint64_t length = left >> walks;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0, idle = 0; i < walks && goes_on(improving) && status == PPSCHED_OK; i++, length *= 2) {
        const struct ppi_split_price before = splitting->best;
        ppi_splitting_go_back(splitting);
        status = wander(improving, splitting->state.visited + length, error);
        idle = ppi_split_is_better(&splitting->best, &before) ? 0 : idle + 1;
        if (idle == 3 && !improving->has_chunks)
            break;
    }
    return status == PPSCHED_OK ? end_at_best(improving, splitting->most_visited / 8, error) : status;
}

static ppsched_status open_improving(struct improving *out, struct ppi_splitting *splitting, ppsched_error *error)
{
    uint32_t stages = splitting->state.stages;
    *out = (struct improving){.splitting = splitting, .moves = splitting->moves, .random = 1};
    out->old_weight = ppi_room_take(splitting->state.room, stages, sizeof *out->old_weight);
    out->old_pin = ppi_room_take(splitting->state.room, stages, sizeof *out->old_pin);
    out->has_chunks = stages > splitting->state.schedule->shape.devices;
    out->may_pin = splitting->state.menus != NULL && out->has_chunks;
    return ppi_room_check(splitting->state.room, "the split", error);
}

ppsched_status ppi_split_improve(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct improving improving;
    ppsched_status status = open_improving(&improving, splitting, error);
    if (splitting->state.stages == 1 || !goes_on(&improving))
        return status;
    if (status == PPSCHED_OK)
        status = start_all(&improving, error);
    if (status == PPSCHED_OK)
        status = wander_on(&improving, error);
    return status;
}

ppsched_status ppi_split_improve_near(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct improving improving;
    ppsched_status status = open_improving(&improving, splitting, error);
    return status == PPSCHED_OK ? end_at_best(&improving, splitting->most_visited, error) : status;
}
