/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a search: balanced splits, repair, improvement, and enumeration where the problem is small; and the present and
 * best split that all of them share. */
#include "split/promising_moves.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* Visits between two calls of the progress callback: some milliseconds. */
enum { POLL = 1000000 };

/* Lists where stages may begin. */
static void list_cuts(struct ppi_splitting *splitting, const ppsched_layers *layers)
{
    splitting->cut[0] = 0;
    splitting->blocks = 1;
    for (uint32_t layer = 1; layer < layers->count; layer++)
        if (layers->is_cut[layer])
            splitting->cut[splitting->blocks++] = layer;
    splitting->cut[splitting->blocks] = layers->count;
}

static ppsched_status reserve_splitting(struct ppi_splitting *splitting, struct ppi_arena *arena, size_t layers,
                                        ppsched_error *error)
{
    size_t stages = splitting->state.stages;
    splitting->cut = ppi_arena_take(arena, layers + 1, sizeof *splitting->cut);
    splitting->at = ppi_arena_take(arena, stages + 1, sizeof *splitting->at);
    splitting->border = ppi_arena_take(arena, stages + 1, sizeof *splitting->border);
    splitting->best_at = ppi_arena_take(arena, stages + 1, sizeof *splitting->best_at);
    splitting->now_at = ppi_arena_take_zeroed(arena, stages + 1, sizeof *splitting->now_at);
    splitting->now_pin = ppi_arena_take_zeroed(arena, stages, sizeof *splitting->now_pin);
    splitting->best_weight = ppi_arena_take_zeroed(arena, stages, sizeof *splitting->best_weight);
    splitting->best_pin = ppi_arena_take_zeroed(arena, stages, sizeof *splitting->best_pin);
    splitting->best_option = ppi_arena_take_zeroed(arena, stages, sizeof *splitting->best_option);
    splitting->moves = ppi_arena_take_zeroed(arena, 1, sizeof *splitting->moves);
    return ppi_arena_check(arena, "the split", error);
}

static ppsched_status check_blocks(const struct ppi_splitting *splitting, ppsched_error *error)
{
    uint32_t least = 0, stages = splitting->state.stages;
    for (uint32_t s = 0; s < stages; s++)
        least += ppi_split_least(splitting, s);
    if (splitting->blocks < least)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%u stage%p need %u layer%p that can be separated, not %u; use fewer stages", stages, least,
                        splitting->blocks);
    return PPSCHED_OK;
}

ppsched_status ppi_splitting_poll(struct ppi_splitting *splitting, ppsched_error *error)
{
    const struct ppi_split_state *state = &splitting->state;
    if (state->status != PPSCHED_OK)
        return ppi_fail_memory(error, "the times of pairs");
    if (state->config->progress == NULL || state->visited < splitting->next_poll)
        return PPSCHED_OK;
    splitting->next_poll = state->visited + POLL;
    return ppi_config_tell(state->config, 1, PPI_INFINITE) == 0
               ? PPSCHED_OK
               : ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the search for a split was cancelled");
}

/* Converts the present split to layers. Pins are those of `now`, except for stages with other layers. */
static void take_borders(struct ppi_splitting *splitting)
{
    const uint32_t *at = splitting->at, *now = splitting->now_at;
    for (uint32_t s = 0; s < splitting->state.stages; s++) {
        splitting->border[s] = splitting->cut[at[s]];
        ppi_split_state_set_pin(&splitting->state, s,
                                at[s] == now[s] && at[s + 1] == now[s + 1] ? splitting->now_pin[s] : PPSCHED_NONE);
    }
    splitting->border[splitting->state.stages] = splitting->cut[at[splitting->state.stages]];
}

ppsched_status ppi_splitting_price(struct ppi_splitting *splitting, struct ppi_split_price *price, ppsched_error *error)
{
    ppsched_status status = ppi_splitting_poll(splitting, error);
    take_borders(splitting);
    return status == PPSCHED_OK ? ppi_split_state_set(&splitting->state, splitting->border, price, error) : status;
}

ppsched_status ppi_splitting_price_near(struct ppi_splitting *splitting, double share, struct ppi_split_price *price,
                                        ppsched_error *error)
{
    const struct ppi_split_price *now = &splitting->now;
    splitting->state.most_overshoot = now->overshoot;
    splitting->state.most_time = now->overshoot > 0 ? PPI_INFINITE : now->time * (1 + share); /* overshoot comes first */
    ppsched_status status = ppi_splitting_price(splitting, price, error);
    splitting->state.most_overshoot = splitting->state.most_time = PPI_INFINITE;
    return status;
}

ppsched_status ppi_splitting_try(struct ppi_splitting *splitting, bool *better, ppsched_error *error)
{
    struct ppi_split_price price;
    ppsched_status status = ppi_splitting_price_near(splitting, 0, &price, error);
    *better = status == PPSCHED_OK && ppi_split_is_better(&price, &splitting->now);
    if (*better)
        ppi_splitting_take(splitting, &price);
    return status;
}

void ppi_splitting_take(struct ppi_splitting *splitting, const struct ppi_split_price *price)
{
    size_t stages = splitting->state.stages;
    splitting->now = *price;
    memcpy(splitting->now_at, splitting->at, (stages + 1) * sizeof *splitting->at);
    memcpy(splitting->now_pin, splitting->state.pin, stages * sizeof *splitting->now_pin);
    if (!ppi_split_is_better(price, &splitting->best))
        return;
    splitting->best = *price;
    memcpy(splitting->best_at, splitting->at, (stages + 1) * sizeof *splitting->at);
    memcpy(splitting->best_pin, splitting->now_pin, stages * sizeof *splitting->best_pin);
    memcpy(splitting->best_option, splitting->state.option, stages * sizeof *splitting->best_option);
    memcpy(splitting->best_weight, splitting->state.backward_weight, stages * sizeof *splitting->best_weight);
}

void ppi_splitting_go_back(struct ppi_splitting *splitting)
{
    size_t stages = splitting->state.stages;
    memcpy(splitting->at, splitting->best_at, (stages + 1) * sizeof *splitting->at);
    memcpy(splitting->now_at, splitting->best_at, (stages + 1) * sizeof *splitting->at);
    memcpy(splitting->now_pin, splitting->best_pin, stages * sizeof *splitting->now_pin);
    ppi_split_state_choose_by(&splitting->state, splitting->best_weight);
}

/* The present split becomes one given by the layers of each stage, which begin at cuts. */
static void put_fixed(struct ppi_splitting *splitting, const uint32_t *layers)
{
    uint32_t block = 0, end = 0;
    for (uint32_t s = 0; s < splitting->state.stages; s++) {
        splitting->at[s] = block;
        for (end += layers[s]; splitting->cut[block] < end; block++)
            continue;
    }
    splitting->at[splitting->state.stages] = block;
}

/* Tries all splits, with so many visits, or more where there are very few. */
static ppsched_status enumerate(struct ppi_splitting *splitting, const struct ppi_split_question *question, uint64_t visits,
                                ppsched_error *error)
{
    if (visits < question->small_visited && ppi_split_is_tiny(splitting))
        visits = question->small_visited;
    return ppi_split_enumerate(splitting, visits, error);
}

/* Tries all splits where there are few, once a good one is known; otherwise, or where that takes too long, searches. */
static ppsched_status search(struct ppi_splitting *splitting, const struct ppi_split_question *question, ppsched_error *error)
{
    uint64_t most_visited = question->most_visited;
    ppsched_status status = PPSCHED_OK;
    if (ppi_split_is_small(splitting)) {
        splitting->most_visited = most_visited / 256;
        status = ppi_split_improve(splitting, error);
        if (status == PPSCHED_OK)
            status = enumerate(splitting, question, most_visited / 4, error);
        splitting->state.visited = splitting->next_poll = 0;
    }
    splitting->most_visited = most_visited;
    return status == PPSCHED_OK && !splitting->proved ? ppi_split_improve(splitting, error) : status;
}

/* Local search from the best split; all splits where there are few. */
static ppsched_status search_near(struct ppi_splitting *splitting, const struct ppi_split_question *question,
                                  ppsched_error *error)
{
    splitting->most_visited = question->most_visited;
    ppsched_status status = ppi_split_improve_near(splitting, error);
    if (status == PPSCHED_OK && ppi_split_is_small(splitting))
        status = enumerate(splitting, question, question->most_visited, error);
    return status;
}

static ppsched_status search_from(struct ppi_splitting *splitting, const struct ppi_split_question *question,
                                  ppsched_error *error)
{
    bool better;
    ppsched_status status = PPSCHED_OK;
    if (question->most_visited == 0 || (question->must_fit && splitting->best.overshoot > 0 && question->start == NULL))
        return status;
    if (question->start != NULL) {
        put_fixed(splitting, question->start);
        status = ppi_splitting_try(splitting, &better, error);
    }
    if (status == PPSCHED_OK && question->only_near)
        return search_near(splitting, question, error);
    return status == PPSCHED_OK ? search(splitting, question, error) : status;
}

ppsched_status ppi_splitting_open(struct ppi_splitting *out, struct ppi_arena *arena, const struct ppi_split_question *question,
                                  ppsched_error *error)
{
    *out = (struct ppi_splitting){.now = PPI_NO_SPLIT, .best = PPI_NO_SPLIT};
    if (question->schedule->op_count > PPI_SPLIT_MOST_OPS)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "a schedule of %lld op%p is too large for a split search, which supports at most %d; use fewer microbatches",
            (long long)question->schedule->op_count, PPI_SPLIT_MOST_OPS);
    ppsched_status status = ppi_split_state_make(&out->state, arena, question->config, question->layers, question->schedule,
                                                 question->overhead, question->overhead_scale, question->same,
                                                 question->by_span, error);
    if (status == PPSCHED_OK)
        status = reserve_splitting(out, arena, question->layers->count, error);
    if (status != PPSCHED_OK)
        return status;
    out->state.may_be_empty = question->may_be_empty;
    if (question->left_out > 0)
        ppi_split_state_leave_out(&out->state, question->left_out);
    list_cuts(out, question->layers);
    status = check_blocks(out, error);
    return status == PPSCHED_OK ? ppi_split_moves_open(out->moves, out, error) : status;
}

/* Forgets an earlier search. */
static void forget(struct ppi_splitting *splitting, const struct ppi_split_question *question)
{
    ppi_split_state_recompute(&splitting->state, question->same);
    splitting->now = splitting->best = (struct ppi_split_price)PPI_NO_SPLIT;
    splitting->state.visited = splitting->next_poll = 0;
    splitting->first_overshoot = 0;
    splitting->proved = false;
    for (uint32_t s = 0; s < splitting->state.stages; s++)
        splitting->now_pin[s] = PPSCHED_NONE;
}

ppsched_status ppi_splitting_try_start(struct ppi_splitting *splitting, int start, ppsched_error *error)
{
    struct ppi_split_price price = PPI_NO_SPLIT;
    bool better;
    ppi_balance(splitting, start);
    ppsched_status status = ppi_splitting_price(splitting, &price, error);
    splitting->first_overshoot = price.overshoot;
    if (status == PPSCHED_OK && price.overshoot > 0)
        status = ppi_split_repair(splitting, error);
    return status == PPSCHED_OK ? ppi_splitting_try(splitting, &better, error) : status;
}

/* Tries balanced splits, repaired where they exceed memory. `any`: only until one fits. */
static ppsched_status try_balanced(struct ppi_splitting *splitting, bool any, ppsched_error *error)
{
    bool has_chunks = splitting->state.stages > splitting->state.schedule->shape.devices;
    ppsched_status status = ppi_splitting_try_start(splitting, 0, error);
    double first_overshoot = splitting->first_overshoot;
    for (int i = 2; i < PPI_SPLIT_TILTS && first_overshoot > 0 && has_chunks && status == PPSCHED_OK; i += 2)
        if (!any || splitting->best.overshoot > 0)
            status = ppi_splitting_try_start(splitting, i, error);
    for (int i = PPI_SPLIT_TILTS; i < PPI_SPLIT_STARTS && has_chunks && status == PPSCHED_OK; i++)
        if (!any || splitting->best.overshoot > 0)
            status = ppi_splitting_try_start(splitting, i, error);
    splitting->first_overshoot = first_overshoot;
    return status;
}

ppsched_status ppi_splitting_search(struct ppi_splitting *splitting, const struct ppi_split_question *question,
                                    ppsched_error *error)
{
    bool better;
    forget(splitting, question);
    if (question->fixed == NULL) {
        ppsched_status status = question->start != NULL ? PPSCHED_OK
                                                        : try_balanced(splitting, question->most_visited == 0, error);
        return status == PPSCHED_OK ? search_from(splitting, question, error) : status;
    }
    put_fixed(splitting, question->fixed);
    ppsched_status status = ppi_splitting_try(splitting, &better, error);
    splitting->first_overshoot = splitting->now.overshoot;
    return status;
}

ppsched_status ppi_splitting_go_on(struct ppi_splitting *splitting, const struct ppi_splitting *from,
                                   const struct ppi_split_question *question, ppsched_error *error)
{
    const size_t stages = splitting->state.stages;
    forget(splitting, question);
    splitting->first_overshoot = from->first_overshoot;
    memcpy(splitting->best_at, from->best_at, (stages + 1) * sizeof *splitting->best_at);
    memcpy(splitting->best_pin, from->best_pin, stages * sizeof *splitting->best_pin);
    memcpy(splitting->best_option, from->best_option, stages * sizeof *splitting->best_option);
    memcpy(splitting->best_weight, from->best_weight, stages * sizeof *splitting->best_weight);
    return ppi_split_improve_on(splitting, question->most_visited, error);
}

ppsched_status ppi_splitting_tell(struct ppi_splitting *splitting, uint32_t *layers, uint8_t *recomputes, ppsched_error *error)
{
    ppsched_status status = splitting->state.status == PPSCHED_OK ? PPSCHED_OK : ppi_fail_memory(error, "the times of pairs");
    for (uint32_t s = 0; s < splitting->state.stages && status == PPSCHED_OK; s++) {
        uint32_t begin = splitting->cut[splitting->best_at[s]], end = splitting->cut[splitting->best_at[s + 1]];
        layers[s] = end - begin;
        status = ppi_front_choose(recomputes, &splitting->state.builder, begin, end, splitting->best_option[s], error);
    }
    return status;
}
