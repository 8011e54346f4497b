/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the most promising moves until one is better, and, where none is, other recompute options for single stages. */
#include "split/improve.h"

#include "split/promising_moves.h"

/* Stages from which moves are estimated at once: the work grows with their number times that of all stages.
 * Measured: docs/performance.md. */
enum { MOST_GIVERS = 64 };

/* Lists promising moves; with many stages only from some random ones. */
static void find_moves(struct ppi_improving *improving)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint32_t stages = splitting->state.stages;
    ppi_split_moves_start(splitting->moves, false);
    splitting->state.visited += (uint64_t)stages * (stages < MOST_GIVERS ? stages : MOST_GIVERS) / 4;
    if (stages <= MOST_GIVERS) {
        for (uint32_t from = 0; from < stages; from++)
            ppi_split_moves_offer(splitting->moves, from);
        return;
    }
    for (int i = 0; i < MOST_GIVERS; i++)
        ppi_split_moves_offer(splitting->moves, ppi_split_random_below(improving, stages));
}

/* Tries the most promising moves until one is better. */
static ppsched_status try_moves(struct ppi_improving *improving, bool *better, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    ppsched_status status = PPSCHED_OK;
    *better = false;
    for (uint32_t i = 0; i < splitting->moves->count && !*better && ppi_split_goes_on(improving) && status == PPSCHED_OK; i++) {
        const struct ppi_split_move *move = &splitting->moves->list[i];
        ppi_split_move(splitting->at, move->from, move->to);
        status = ppi_splitting_try(splitting, better, error);
        if (!*better)
            ppi_split_move(splitting->at, move->to, move->from);
    }
    return status;
}

/* Pins an option for a stage: with several stages per device, another one may then recompute more or less. */
static bool try_pin(struct ppi_improving *improving, uint32_t stage, uint32_t pin)
{
    struct ppi_splitting *splitting = improving->splitting;
    struct ppi_split_price price;
    uint32_t had = splitting->state.pin[stage];
    splitting->state.most_overshoot = splitting->now.overshoot;
    splitting->state.most_time = splitting->now.overshoot > 0 ? PPI_INFINITE : splitting->now.time;
    ppi_split_state_pin(&splitting->state, stage, pin, &price);
    splitting->state.most_overshoot = splitting->state.most_time = PPI_INFINITE;
    if (ppi_split_is_better(&price, &splitting->now)) {
        ppi_splitting_take(splitting, &price);
        return true;
    }
    splitting->state.most_overshoot = -1; /* options only, no time */
    ppi_split_state_pin(&splitting->state, stage, had, &price);
    splitting->state.most_overshoot = PPI_INFINITE;
    return false;
}

static ppsched_status try_pins(struct ppi_improving *improving, bool *better, ppsched_error *error)
{
    const struct ppi_split_state *state = &improving->splitting->state;
    if (state->fronts == NULL || state->stages == state->schedule->shape.devices)
        return PPSCHED_OK;
    ppsched_status status = ppi_splitting_try(improving->splitting, better,
                                              error); /* the last move left another split as the present one */
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t i = 0, first = ppi_split_random_below(improving, state->stages);
         i < state->stages && ppi_split_goes_on(improving) && status == PPSCHED_OK; i++) {
        status = ppi_splitting_poll(improving->splitting, error);
        uint32_t stage = (first + i) % state->stages, option = state->option[stage];
        if (option > 0)
            *better |= try_pin(improving, stage, option - 1);
        if (option == state->option[stage] && option + 1 < state->fronts[stage].count)
            *better |= try_pin(improving, stage, option + 1);
    }
    return status;
}

/* Chooses options for the present critical path; another path may become critical. */
static ppsched_status choose_by_path(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct ppi_split_price price;
    ppi_split_state_choose_by_path(&splitting->state);
    ppsched_status status = ppi_splitting_price(splitting, &price, error);
    if (status == PPSCHED_OK)
        ppi_splitting_take(splitting, &price);
    ppi_split_state_weigh(&splitting->state);
    return status;
}

ppsched_status ppi_split_local_search(struct ppi_improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    bool better = true;
    ppsched_status status = PPSCHED_OK;
    while (better && ppi_split_goes_on(improving) && status == PPSCHED_OK) {
        ppi_split_state_weigh(&splitting->state);
        if (improving->by_path)
            status = choose_by_path(splitting, error);
        find_moves(improving);
        if (status == PPSCHED_OK)
            status = try_moves(improving, &better, error);
        if (status == PPSCHED_OK && !better && !improving->only_moves)
            status = try_pins(improving, &better, error);
    }
    return status;
}
