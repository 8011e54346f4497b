/* SPDX-License-Identifier: Apache-2.0 */
/* With several stages per device, splits that differ much compete by successive halving: all first splits are priced and
 * improved by a local search; then the better half continues, each with twice the visits, until one is left, which gets half
 * of all. */
#include <string.h>

#include "base/checked.h"
#include "split/improve.h"

/* Up to two runners of each first split; then the best split before. */
enum { RUNNERS = 2 * PPI_SPLIT_STARTS, BEFORE = RUNNERS };

/* The least prices of each runner in the first round; random walks of the last one; with fewer prices in all than FEW only the
 * best continues. Measured: docs/performance.md. */
enum { LEAST_PRICES = 30, LAST_WALKS = 2, FEW = 120 };

/* A split that competes. */
struct ppi_split_runner {
    uint32_t *at, *pin, *option;
    double *weight;
    struct ppi_split_price price;
};

static ppsched_status reserve_runners(struct ppi_splitting *splitting, ppsched_error *error)
{
    struct ppi_arena *arena = splitting->state.arena;
    size_t stages = splitting->state.stages;
    if (splitting->runners != NULL)
        return PPSCHED_OK;
    struct ppi_split_runner *runners = ppi_arena_take_zeroed(arena, RUNNERS + 1, sizeof *runners);
    for (int i = 0; i <= RUNNERS && !arena->is_short; i++) {
        runners[i].at = ppi_arena_take_zeroed(arena, stages + 1, sizeof *runners[i].at);
        runners[i].pin = ppi_arena_take_zeroed(arena, stages, sizeof *runners[i].pin);
        runners[i].option = ppi_arena_take_zeroed(arena, stages, sizeof *runners[i].option);
        runners[i].weight = ppi_arena_take_zeroed(arena, stages, sizeof *runners[i].weight);
    }
    ppsched_status status = ppi_arena_check(arena, "the split", error);
    if (status == PPSCHED_OK)
        splitting->runners = runners;
    return status;
}

static void copy_runner(struct ppi_split_runner *to, const struct ppi_split_runner *from, size_t stages)
{
    memcpy(to->at, from->at, (stages + 1) * sizeof *to->at);
    memcpy(to->pin, from->pin, stages * sizeof *to->pin);
    memcpy(to->option, from->option, stages * sizeof *to->option);
    memcpy(to->weight, from->weight, stages * sizeof *to->weight);
    to->price = from->price;
}

static struct ppi_split_runner best_of(struct ppi_splitting *splitting)
{
    return (struct ppi_split_runner){splitting->best_at, splitting->best_pin, splitting->best_option, splitting->best_weight,
                                     splitting->best};
}

static void keep_best(struct ppi_splitting *splitting, struct ppi_split_runner *to)
{
    const struct ppi_split_runner best = best_of(splitting);
    copy_runner(to, &best, splitting->state.stages);
}

static void put_best(struct ppi_splitting *splitting, const struct ppi_split_runner *from)
{
    struct ppi_split_runner best = best_of(splitting);
    copy_runner(&best, from, splitting->state.stages);
    splitting->best = best.price;
}

static void sort(struct ppi_split_runner *runners, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && ppi_split_is_better(&runners[k].price, &runners[k - 1].price); k--) {
            const struct ppi_split_runner runner = runners[k];
            runners[k] = runners[k - 1];
            runners[k - 1] = runner;
        }
}

/* Prices the best split again, with options chosen for equally critical stages. */
static ppsched_status try_alike(struct ppi_splitting *splitting, ppsched_error *error)
{
    bool better;
    ppi_splitting_go_back(splitting);
    ppi_split_state_choose_alike(&splitting->state);
    splitting->now = (struct ppi_split_price)PPI_NO_SPLIT;
    return ppi_splitting_try(splitting, &better, error);
}

/* Runners: the best split before, and the balanced splits but the first, sorted. */
static ppsched_status line_up(struct ppi_improving *improving, int count, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    struct ppi_split_runner *runners = splitting->runners;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < count && status == PPSCHED_OK; i++) {
        splitting->best = splitting->now = (struct ppi_split_price)PPI_NO_SPLIT;
        ppi_split_state_choose_alike(&splitting->state);
        status = i == 0 ? try_alike(splitting, error) : ppi_splitting_try_start(splitting, i, error);
        keep_best(splitting, &runners[i]);
    }
    sort(runners, (uint32_t)count);
    return status;
}

/* Makes two neighbouring runners of each of the first `count` / 2. */
static void double_all(struct ppi_splitting *splitting, uint32_t count)
{
    struct ppi_split_runner *runners = splitting->runners;
    for (uint32_t i = count / 2; i-- > 0;) {
        const struct ppi_split_runner other = runners[2 * i];
        runners[2 * i] = runners[i];
        if (i > 0)
            runners[i] = other;
        copy_runner(&runners[2 * i + 1], &runners[2 * i], splitting->state.stages);
    }
}

/* A local search with moves only; `by_path`: options are chosen by the critical path. */
static ppsched_status go_down(struct ppi_improving *improving, bool by_path, ppsched_error *error)
{
    ppsched_status status = try_alike(improving->splitting, error);
    improving->by_path = by_path;
    improving->only_moves = true;
    if (status == PPSCHED_OK)
        status = ppi_split_local_search(improving, error);
    improving->by_path = improving->only_moves = false;
    return status;
}

static ppsched_status walk_on(struct ppi_improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    ppi_splitting_go_back(splitting);
    return ppi_split_random_walk(improving, splitting->most_visited, error);
}

/* `count` runners continue, each with so many visits. */
static ppsched_status run_all(struct ppi_improving *improving, uint32_t count, bool is_first, uint64_t visits,
                              ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    uint64_t whole = splitting->most_visited;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < count && status == PPSCHED_OK; i++) {
        put_best(splitting, &splitting->runners[i]);
        splitting->most_visited = splitting->state.visited + visits;
        status = is_first ? go_down(improving, improving->may_pin && i % 2 == 1, error) : walk_on(improving, error);
        keep_best(splitting, &splitting->runners[i]);
    }
    splitting->most_visited = whole;
    sort(splitting->runners, count);
    return status;
}

/* The best runner gets the rest. */
static ppsched_status run_last(struct ppi_improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    const uint64_t whole = splitting->most_visited;
    ppsched_status status = PPSCHED_OK;
    put_best(splitting, &splitting->runners[0]);
    for (unsigned left = LAST_WALKS; left > 0 && splitting->state.visited < whole && status == PPSCHED_OK; left--) {
        splitting->most_visited = splitting->state.visited + (whole - splitting->state.visited) / left;
        status = walk_on(improving, error);
    }
    splitting->most_visited = whole;
    if (ppi_split_is_better(&splitting->runners[BEFORE].price, &splitting->best))
        put_best(splitting, &splitting->runners[BEFORE]);
    return status;
}

ppsched_status ppi_split_successive_halving(struct ppi_improving *improving, ppsched_error *error)
{
    struct ppi_splitting *splitting = improving->splitting;
    const uint64_t length = splitting->most_visited - splitting->state.visited;
    uint64_t prices = length / 2 / splitting->state.walk.count;
    uint32_t of_each = improving->may_pin ? 2 : 1, count = PPI_SPLIT_STARTS * of_each, levels = 1;
    ppsched_status status = reserve_runners(splitting, error);
    if (status != PPSCHED_OK)
        return status;
    while (count > of_each && (prices < FEW || prices / count < LEAST_PRICES))
        count -= of_each;
    for (uint32_t left = count / 2; left > 1; left /= 2)
        levels++;
    keep_best(splitting, &splitting->runners[BEFORE]);
    status = line_up(improving, prices < FEW ? 1 : PPI_SPLIT_STARTS, error);
    if (of_each == 2)
        double_all(splitting, count);
    for (uint32_t left = count; (left > 1 || left == count) && status == PPSCHED_OK; left /= 2)
        status = run_all(improving, left, left == count, length / 2 / levels / left, error);
    return status == PPSCHED_OK ? run_last(improving, error) : status;
}
