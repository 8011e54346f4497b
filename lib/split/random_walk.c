/* SPDX-License-Identifier: Apache-2.0 */
/* Random steps away from a split that no move improves: each is kept where it is not much worse, by a share of the time that
 * falls to 0 as in threshold accepting. */
#include "split/improve.h"

#include <string.h>

#include "split/promising_moves.h"

/* The share of the time by which a step may be worse at first; larger with several stages per device, where local optima are
 * harder to leave. Measured: docs/performance.md. */
#define WIDEST 0.0025
#define CHUNK_WIDEST 0.005

/* Random stages of which the one with most, or least, criticality is chosen. */
enum { LOOKED_AT = 4 };

/* Whether a price is at most a share of the time worse than the present one. */
static bool is_near(const struct ppi_split_price *price, const struct ppi_split_price *now, double share)
{
    if (price->overshoot > 0 && price->overshoot >= now->overshoot)
        return price->overshoot <= now->overshoot && price->time <= now->time * (1 + share);
    return price->time <= now->time * (1 + share) || price->overshoot < now->overshoot;
}

/* The criticality of a stage, for the time of all layers: its part of the critical path. */
static double weight_of(const struct ppi_split_state *state, uint32_t stage)
{
    static const int costs[] = {PPI_LAYER_FORWARD, PPI_LAYER_BACKWARD, PPI_LAYER_INPUT, PPI_LAYER_WEIGHT};
    const double *weight = &state->weight[(size_t)stage * (PPI_COMPUTE_KINDS - 1)];
    double sum = 0;
    for (int kind = 0; kind < PPI_COMPUTE_KINDS - 1; kind++)
        sum += weight[kind] * state->sums[costs[kind]][state->layers->count];
    return sum;
}

/* Of some random stages the least critical one. */
static uint32_t find_light(struct ppi_improving *improving)
{
    const struct ppi_split_state *state = &improving->splitting->state;
    uint32_t found = ppi_split_random_below(improving, state->stages);
    for (int i = 1; i < LOOKED_AT; i++) {
        uint32_t other = ppi_split_random_below(improving, state->stages);
        found = weight_of(state, other) < weight_of(state, found) ? other : found;
    }
    return found;
}

/* A random stage; every other time the most critical of some. */
static uint32_t find_stage(struct ppi_improving *improving)
{
    const struct ppi_split_state *state = &improving->splitting->state;
    uint32_t found = ppi_split_random_below(improving, state->stages);
    if (ppi_split_random_below(improving, 2) == 0)
        return found;
    for (int i = 1; i < LOOKED_AT; i++) {
        uint32_t other = ppi_split_random_below(improving, state->stages);
        found = weight_of(state, other) > weight_of(state, found) ? other : found;
    }
    return found;
}

/* A run of neighbouring devices, longer ones more rarely; every other time it starts at the first or ends at the last. */
static void find_run(struct ppi_improving *improving, uint32_t *first, uint32_t *count)
{
    uint32_t devices = improving->splitting->state.schedule->shape.devices, most = 1;
    while (most < devices && ppi_split_random_below(improving, 8) < 5)
        most *= 2;
    *count = 1 + ppi_split_random_below(improving, most < devices ? most : devices);
    uint32_t where = ppi_split_random_below(improving, 4), last = devices - *count;
    *first = where == 0 ? 0 : where == 1 ? last : ppi_split_random_below(improving, last + 1);
}

static bool pin(struct ppi_splitting *splitting, uint32_t stage, uint32_t option)
{
    bool changes = splitting->now_pin[stage] != option;
    splitting->now_pin[stage] = option;
    return changes;
}

/* Unpins the other stages of a device. */
static bool unpin_others(struct ppi_splitting *splitting, const struct ppi_held_passes *holding, uint32_t but)
{
    bool changes = false;
    for (uint32_t i = 0; i < holding->count; i++)
        if (i != but)
            changes |= pin(splitting, holding->stages[i], PPSCHED_NONE);
    return changes;
}

/* On a run of devices, pins less or more recomputation for the same stage, or unpins it. */
static bool change_pins(struct ppi_improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t first, count;
    find_run(improving, &first, &count);
    uint32_t which = ppi_split_random_below(improving, splitting->state.holdings[first].count);
    uint32_t how = ppi_split_random_below(improving, 4);
    bool changed = false;
    for (uint32_t d = first; d < first + count; d++) {
        const struct ppi_held_passes *holding = &splitting->state.holdings[d];
        if (which >= holding->count)
            continue;
        uint32_t stage = holding->stages[which], option = splitting->state.option[stage];
        uint32_t more = option + 1 < splitting->state.fronts[stage].count ? option + 1 : option,
                 less = option > 0 ? option - 1 : 0;
        changed |= how < 2 && unpin_others(splitting, holding, which);
        changed |= pin(splitting, stage, how == 0 ? PPSCHED_NONE : how == 3 ? more : less);
    }
    return changed;
}

/* Changes the pin of one stage. */
static bool change_pin(struct ppi_improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t stage = find_stage(improving), option = splitting->state.option[stage];
    uint32_t count = splitting->state.fronts[stage].count, pin = splitting->now_pin[stage];
    switch (ppi_split_random_below(improving, 4)) {
    case 0:
        pin = PPSCHED_NONE;
        break;
    case 1:
        pin = ppi_split_random_below(improving, count);
        break;
    case 2:
        pin = option > 0 ? option - 1 : 0;
        break;
    default:
        pin = option + 1 < count ? option + 1 : option;
    }
    if (pin == splitting->now_pin[stage] || count == 1)
        return false;
    splitting->now_pin[stage] = pin;
    return true;
}

static bool change_sets(struct ppi_improving *improving)
{
    return ppi_split_random_below(improving, 4) == 0 ? change_pins(improving) : change_pin(improving);
}

/* Moves a block between two stages of a device, and in the same way on its neighbours. */
static bool change_device(struct ppi_improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t device, count;
    find_run(improving, &device, &count);
    const struct ppi_held_passes *first = &splitting->state.holdings[device];
    uint32_t from = ppi_split_random_below(improving, first->count), to = ppi_split_random_below(improving, first->count);
    bool changed = false;
    for (uint32_t d = device; d < device + count && from != to; d++) {
        const struct ppi_held_passes *holding = &splitting->state.holdings[d];
        if (from < holding->count && to < holding->count && ppi_split_may_give(splitting, holding->stages[from])) {
            ppi_split_move(splitting->at, holding->stages[from], holding->stages[to]);
            changed = true;
        }
    }
    return changed;
}

static bool change_split(struct ppi_improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t stages = splitting->state.stages, from = find_stage(improving), to = ppi_split_random_below(improving, stages);
    if (ppi_split_random_below(improving, 3) == 0 && stages > splitting->state.schedule->shape.devices)
        return change_device(improving);
    if (ppi_split_random_below(improving, 2) == 0)
        to = from > 0 && (from + 1 == stages || ppi_split_random_below(improving, 2) == 0) ? from - 1 : from + 1;
    if (improving->has_chunks && ppi_split_random_below(improving, 5) < 2)
        to = find_light(improving);
    if (from == to || !ppi_split_may_give(splitting, from))
        return false;
    ppi_split_move(splitting->at, from, to);
    return true;
}

static void weigh(struct ppi_split_state *state)
{
    ppi_split_state_weigh(state);
    state->visited += state->walk.count / state->schedule->shape.devices;
}

/* Chooses all options again for the present critical path, without pins. */
static ppsched_status step_by_path(struct ppi_improving *improving, double share, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    struct ppi_split_state *state = &splitting->state;
    struct ppi_split_price price;
    ppsched_status status = ppi_splitting_price(splitting, &price, error);
    ppi_split_state_weigh(state);
    memcpy(improving->old_weight, state->backward_weight, state->stages * sizeof *improving->old_weight);
    ppi_split_state_choose_by_path(state);
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

/* One random step, which is kept where it is not much worse. */
static ppsched_status step(struct ppi_improving *improving, double share, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    size_t stages = splitting->state.stages;
    struct ppi_split_price price;
    memcpy(improving->old_pin, splitting->now_pin, stages * sizeof *improving->old_pin);
    if (improving->may_pin && ppi_split_random_below(improving, 64) == 0)
        return step_by_path(improving, share, error);
    bool pins = improving->may_pin && ppi_split_random_below(improving, 2) == 0;
    if (pins ? !change_sets(improving) : !change_split(improving)) {
        splitting->state.visited += 16;
        return PPSCHED_OK;
    }
    ppsched_status status = ppi_splitting_price_near(splitting, share, &price, error);
    if (status == PPSCHED_OK && is_near(&price, &splitting->now, share)) {
        ppi_splitting_take(splitting, &price);
        weigh(&splitting->state);
        return PPSCHED_OK;
    }
    memcpy(splitting->at, splitting->now_at, (stages + 1) * sizeof *splitting->at);
    memcpy(splitting->now_pin, improving->old_pin, stages * sizeof *improving->old_pin);
    return status;
}

ppsched_status ppi_split_random_walk(struct ppi_improving *improving, uint64_t until, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    const double widest = improving->has_chunks ? CHUNK_WIDEST : WIDEST;
    uint64_t from = splitting->state.visited;
    ppsched_status status = ppi_splitting_price(splitting, &splitting->now, error);
    weigh(&splitting->state);
    while (splitting->state.visited < until && status == PPSCHED_OK) {
        double left = (double)(until - splitting->state.visited) / (double)(until - from);
        status = step(improving, widest * left * left, error);
    }
    return status == PPSCHED_OK ? ppi_split_local_search(improving, error) : status;
}
