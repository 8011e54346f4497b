/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over all splits of a small problem, and all recompute options that fit: stages get blocks one after
 * another, and what cannot be better than the best so far is cut off. */
#include <string.h>

#include "base/checked.h"
#include "split/split_search.h"

/* Problems with more splits are searched only. Measured: docs/performance.md. */
enum { MOST_SPLITS = 2000000 };

/* A problem is tiny where walks of all splits take at most so many visits: then these may exceed the search's share of
 * work. */
enum { TINY_VISITS = 2000000 };

struct enumerating {
    struct ppi_splitting *splitting;
    ppsched_error *error;
    ppsched_status status;
    double passes;       /* of each stage of a device, at least */
    bool has_kinds;      /* of recomputation, and limits */
    bool ends_late;      /* a device's last op need not be one that ends before the next device can go on */
    double *work;        /* by block: least time on a device of the blocks before it */
    double *input;       /* the same, until the stage before can continue */
    double *forward;     /* the same, until the next stage can continue */
    double *load;        /* of each device, for the stages that have blocks so far */
    uint32_t *taken;     /* of each device: the number of these stages */
    double *head, *tail; /* of each device: least time before its first op starts, and after its last ends */
    double *gone[2];     /* where speeds differ, of each stage: `forward` and `input` at the speeds of the stages before it */
    uint32_t *option;
    uint64_t most_visited;
};

static bool goes_on(const struct enumerating *all)
{
    return all->status == PPSCHED_OK && all->splitting->state.visited < all->most_visited;
}

static bool is_worse(const struct enumerating *all, double time)
{
    const struct ppi_split_price *best = &all->splitting->best;
    return best->overshoot <= 0 && time >= best->time * (1 - 1e-11);
}

/* --- recompute options of one split --- */

static void choose_from(struct enumerating *all, uint32_t device, uint32_t i);

/* All devices are chosen: prices the split with its options, and keeps it where it is the best. */
static void keep_choice(struct enumerating *all)
{
    struct ppi_splitting *splitting = all->splitting;
    double time = ppi_split_state_time(&splitting->state, all->option);
    if (is_worse(all, time))
        return;
    const struct ppi_split_price price = {0, time, 0};
    ppi_splitting_take(splitting, &price);
}

/* Continues with a device, unless even with nothing recomputed from there on it cannot be better. */
static void choose_device(struct enumerating *all, uint32_t device)
{
    struct ppi_split_state *state = &all->splitting->state;
    if (goes_on(all))
        all->status = ppi_splitting_poll(all->splitting, all->error);
    if (!goes_on(all))
        return;
    if (device == state->schedule->shape.devices) {
        keep_choice(all);
        return;
    }
    if (!is_worse(all, ppi_split_state_time(state, all->option)))
        choose_from(all, device, 0);
}

/* Whether the chosen options fit on a device, and on the one with the same stages in the other copy of the model. */
static bool has_room_for(const struct enumerating *all, const struct ppi_fit *pair)
{
    return ppi_fit_overshoot(all->option, &pair[0]) <= 0 &&
           (pair[0].holding == pair[1].holding || ppi_fit_overshoot(all->option, &pair[1]) <= 0);
}

/* Chooses the options of a device's stages from the i-th on; stages after the last chosen one recompute nothing. The last
 * stage has the first option that fits: later ones only cost more. */
static void choose_from(struct enumerating *all, uint32_t device, uint32_t i)
{
    const struct ppi_split_state *state = &all->splitting->state;
    const struct ppi_held_passes *holding = &state->holdings[device];
    uint32_t count = holding->count, stage = i < count ? holding->stages[i] : 0,
             partner = ppi_split_state_partner(state, device);
    if (count == 0 || partner < device) { /* its options are chosen already */
        choose_device(all, device + 1);
        return;
    }
    const struct ppi_fit pair[2] = {ppi_split_state_fit(state, device), ppi_split_state_fit(state, partner)};
    for (uint32_t d = 0; d < state->fronts[stage].count && goes_on(all); d++) {
        all->option[stage] = d;
        if (i + 1 < count) {
            choose_from(all, device, i + 1);
        } else if (has_room_for(all, pair)) {
            choose_device(all, device + 1);
            break;
        }
    }
    all->option[stage] = 0;
}

/* --- all splits --- */

static void try_split(struct enumerating *all)
{
    struct ppi_splitting *splitting = all->splitting;
    struct ppi_split_state *state = &splitting->state;
    bool better;
    all->status = ppi_splitting_try(splitting, &better, all->error);
    if (all->status != PPSCHED_OK || !all->has_kinds)
        return;
    memset(all->option, 0, state->stages * sizeof *all->option);
    for (uint32_t d = 0; d < state->schedule->shape.devices; d++) {
        const struct ppi_fit fit = ppi_split_state_fit(state, d);
        if (!ppi_fit_may(&fit))
            return;
    }
    choose_device(all, 0);
}

/* The least times of a stage on a device that is not as all others. */
struct stage_times {
    double work, forward, input; /* as sums over blocks */
};

static struct stage_times times_on(const struct enumerating *all, uint32_t stage, uint32_t device)
{
    const struct ppi_splitting *splitting = all->splitting;
    const struct ppi_split_state *state = &splitting->state;
    const uint32_t begin = splitting->at[stage], end = splitting->at[stage + 1];
    double time[PPI_COMPUTE_KINDS];
    if (state->types == NULL) {
        const double speed = state->speed[device];
        return (struct stage_times){(all->work[end] - all->work[begin]) / speed,
                                    (all->forward[end] - all->forward[begin]) / speed,
                                    (all->input[end] - all->input[begin]) / speed};
    }
    const struct ppi_type_times *types = &state->types[device];
    for (uint32_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        const double *sums = types->sums[kind];
        time[kind] = (sums[splitting->cut[end]] - sums[splitting->cut[begin]]) * types->scale[kind];
    }
    const double whole = time[PPSCHED_KIND_B], input = time[PPSCHED_KIND_I], forward = time[PPSCHED_KIND_F];
    const double work = state->pair_times != NULL ? (all->work[end] - all->work[begin]) * types->least
                                                  : forward + ppi_smaller(whole, input + time[PPSCHED_KIND_W]);
    return (struct stage_times){work, forward, ppi_smaller(whole, input)};
}

/* Finds what a stage adds to the chain on its device. */
PPI_APART void pass_chain(const struct enumerating *all, uint32_t stage)
{
    const struct stage_times times = times_on(all, stage, all->splitting->state.schedule->placement.device_of[stage]);
    all->gone[0][stage + 1] = all->gone[0][stage] + times.forward;
    all->gone[1][stage + 1] = all->gone[1][stage] + times.input;
}

/* Adds a stage to its devices' loads, or with `factor` -1 removes it; returns whether a better split remains possible. */
static bool add_stage(struct enumerating *all, uint32_t stage, double factor)
{
    const struct ppi_splitting *splitting = all->splitting;
    const struct ppi_placement *placement = &splitting->state.schedule->placement;
    uint32_t begin = splitting->at[stage], end = splitting->at[stage + 1];
    const double *speed = splitting->state.speed, added = factor * all->passes * (all->work[end] - all->work[begin]);
    bool possible = true;
    for (uint32_t copy = 0; copy < placement->copies; copy++) {
        uint32_t device = placement->device_of[(size_t)copy * splitting->state.stages + stage];
        all->load[device] += speed == NULL ? added : factor * all->passes * times_on(all, stage, device).work;
        all->taken[device] += factor > 0 ? 1 : PPSCHED_NONE; /* one less */
        if (factor > 0 && all->taken[device] == 1 && placement->copies == 1 && !splitting->state.walk.by_span) {
            all->head[device] = speed == NULL ? all->forward[begin] : all->gone[0][stage];
            all->tail[device] = all->ends_late ? 0 : speed == NULL ? all->input[begin] : all->gone[1][stage];
        }
        possible &= !is_worse(all, (all->load[device] + all->head[device] + all->tail[device]) * (1 - 1e-9));
    }
    return possible;
}

static void split_from(struct enumerating *all, uint32_t stage)
{
    struct ppi_splitting *splitting = all->splitting;
    uint32_t stages = splitting->state.stages, behind = 0, begin = splitting->at[stage];
    if (splitting->state.speed != NULL && stage > 0)
        pass_chain(all, stage - 1);
    if (stage + 1 == stages) {
        if (add_stage(all, stage, 1))
            try_split(all);
        add_stage(all, stage, -1);
        return;
    }
    for (uint32_t s = stage + 1; s < stages; s++)
        behind += ppi_split_least(splitting, s);
    for (uint32_t end = begin + ppi_split_least(splitting, stage); end + behind <= splitting->blocks && goes_on(all); end++) {
        splitting->at[stage + 1] = end;
        bool possible = add_stage(all, stage, 1);
        if (possible)
            split_from(all, stage + 1);
        splitting->at[stage + 1] = end;
        add_stage(all, stage, -1);
        if (!possible)
            break; /* more blocks take longer */
    }
}

/* --- the whole search --- */

/* Where pairs have windows, the device still runs all windows on one channel one after another: those of the channel with the
 * most work. Its last op may then end after its output is sent. */
static void sum_channel(struct enumerating *all)
{
    const struct ppi_splitting *splitting = all->splitting;
    const ppsched_layers *layers = splitting->state.layers;
    double work[PPSCHED_MAX_WINDOW_CHANNELS] = {0};
    uint32_t most = 0;
    for (uint32_t e = 0; e < layers->entry_count; e++)
        for (uint32_t c = 0; c < PPSCHED_MAX_WINDOW_CHANNELS; c++)
            work[c] += layers->entries[e].given.count * ppi_layer_work_on(&layers->entries[e].given, c);
    for (uint32_t c = 1; c < PPSCHED_MAX_WINDOW_CHANNELS; c++)
        most = work[c] > work[most] ? c : most;
    for (uint32_t b = 0; b < splitting->blocks; b++) {
        all->work[b + 1] = all->work[b];
        for (uint32_t layer = splitting->cut[b]; layer < splitting->cut[b + 1]; layer++)
            all->work[b + 1] += ppi_layer_work_on(&ppi_layer_at(layers, layer)->given, most);
    }
}

static void sum_blocks(struct enumerating *all)
{
    const struct ppi_splitting *splitting = all->splitting;
    const ppsched_layers *layers = splitting->state.layers;
    all->work[0] = all->input[0] = all->forward[0] = 0;
    for (uint32_t b = 0; b < splitting->blocks; b++) {
        all->work[b + 1] = all->work[b];
        all->input[b + 1] = all->input[b];
        all->forward[b + 1] = all->forward[b];
        for (uint32_t layer = splitting->cut[b]; layer < splitting->cut[b + 1]; layer++) {
            const double *cost = ppi_layer_at(layers, layer)->kinds[0].cost;
            double backward = cost[PPI_LAYER_BACKWARD], parts = cost[PPI_LAYER_INPUT] + cost[PPI_LAYER_WEIGHT];
            all->work[b + 1] += cost[PPI_LAYER_FORWARD] + ppi_smaller(backward, parts);
            all->input[b + 1] += ppi_smaller(backward, cost[PPI_LAYER_INPUT]);
            all->forward[b + 1] += cost[PPI_LAYER_FORWARD];
        }
    }
}

static bool has_kinds(const struct ppi_split_state *state)
{
    for (uint32_t e = 0; e < state->layers->entry_count && state->fronts != NULL; e++)
        if (state->layers->entries[e].given.recompute_count > 0)
            return true;
    return false;
}

/* The number of splits. */
static double count_splits(const struct ppi_splitting *splitting)
{
    uint32_t stages = splitting->state.stages;
    double places = splitting->blocks - 1.0 + (splitting->state.may_be_empty && stages > 2 ? stages - 2 : 0), count = 1;
    for (uint32_t i = 1; i < stages && count <= MOST_SPLITS; i++)
        count = count * (places - i + 1) / i;
    return count;
}

static ppsched_status make(struct enumerating *all, struct ppi_arena *arena, ppsched_error *error)
{
    const struct ppi_split_state *state = &all->splitting->state;
    size_t devices = state->schedule->shape.devices, blocks = all->splitting->blocks;
    uint32_t microbatches = state->schedule->flushes ? state->schedule->shape.microbatches
                                                     : ppi_total_microbatches(&state->schedule->shape);
    all->passes = microbatches / state->schedule->placement.copies * state->schedule->shape.slices;
    all->ends_late = state->walk.splits_backward || state->pair_times != NULL;
    all->work = ppi_arena_take(arena, blocks + 1, sizeof *all->work);
    all->input = ppi_arena_take(arena, blocks + 1, sizeof *all->input);
    all->forward = ppi_arena_take(arena, blocks + 1, sizeof *all->forward);
    all->load = ppi_arena_take_zeroed(arena, devices, sizeof *all->load);
    all->taken = ppi_arena_take_zeroed(arena, devices, sizeof *all->taken);
    all->head = ppi_arena_take_zeroed(arena, devices, sizeof *all->head);
    all->tail = ppi_arena_take_zeroed(arena, devices, sizeof *all->tail);
    all->option = ppi_arena_take_zeroed(arena, state->stages, sizeof *all->option);
    for (int i = 0; i < 2 && state->speed != NULL; i++)
        all->gone[i] = ppi_arena_take_zeroed(arena, state->stages + 1, sizeof **all->gone);
    return ppi_arena_check(arena, "all splits", error);
}

bool ppi_split_is_small(const struct ppi_splitting *splitting)
{
    return count_splits(splitting) <= MOST_SPLITS;
}

bool ppi_split_is_tiny(const struct ppi_splitting *splitting)
{
    return count_splits(splitting) * splitting->state.walk.count <= TINY_VISITS;
}

ppsched_status ppi_split_enumerate(struct ppi_splitting *splitting, uint64_t most_visited, ppsched_error *error)
{
    struct enumerating all = {.splitting = splitting, .error = error, .status = PPSCHED_OK};
    all.has_kinds = has_kinds(&splitting->state);
    all.status = make(&all, splitting->state.arena, error);
    if (all.status != PPSCHED_OK)
        return all.status;
    all.most_visited = splitting->state.visited + most_visited;
    sum_blocks(&all);
    if (splitting->state.pair_times != NULL)
        sum_channel(&all);
    for (uint32_t s = 0; s < splitting->state.stages; s++)
        splitting->now_pin[s] = PPSCHED_NONE;
    splitting->at[0] = 0;
    splitting->at[splitting->state.stages] = splitting->blocks;
    split_from(&all, 0);
    splitting->proved = all.status == PPSCHED_OK && goes_on(&all) && !splitting->state.builder.has_thinned;
    return all.status;
}
