/* SPDX-License-Identifier: Apache-2.0 */
/* A price reuses what the split before had: only changed stages get new times and fronts, and only their devices are fitted
 * again. A known critical path, or overshoot, ends it before the walk where the split cannot be good enough. */
#include "split/split_state.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/inline.h"
#include "ir/costs.h"

/* Visits counted for a price in addition to its walk: for itself, for each stage, each changed stage, and each changed
 * device. Measured: docs/performance.md. */
enum { A_PRICE = 64, A_STAGE = 5, A_CHANGE = 32, A_DEVICE = 32 };

/* --- creation --- */

static bool copies_embedding(const struct ppi_layer_entry *entry)
{
    return (entry->given.flags & PPSCHED_LAYER_FLAG_COPIES_EMBEDDING) != 0;
}

static void sum_layers(struct ppi_split_state *state)
{
    const ppsched_layers *layers = state->layers;
    for (int cost = 0; cost < PPI_LAYER_COSTS; cost++) {
        double *sums = state->sums[cost];
        sums[0] = 0;
        for (uint32_t i = 0; i < layers->count; i++)
            sums[i + 1] = sums[i] + ppi_layer_at(layers, i)->kinds[0].cost[cost];
    }
    for (uint32_t e = 0; e < layers->entry_count; e++) {
        const ppsched_layer *layer = &layers->entries[e].given;
        double memory = layer->count * (layer->mem_static + state->versions * layer->mem_weights);
        state->tied += (layer->flags & PPSCHED_LAYER_FLAG_TIED) != 0 ? memory : 0;
        bool is_copied = layer->place == PPSCHED_LAYER_PLACE_FIRST && (layer->flags & PPSCHED_LAYER_FLAG_NOT_COPIED) == 0;
        state->first += is_copied ? memory : 0;
    }
    for (uint32_t i = 0; state->copies != NULL && i < layers->count; i++)
        state->copies[i + 1] = state->copies[i] + copies_embedding(ppi_layer_at(layers, i));
    for (uint32_t e = 0; e < layers->entry_count; e++)
        state->has_bytes |= layers->entries[e].given.output_bytes > 0;
    state->has_bytes &= state->config->values[PPSCHED_QUANTITY_P2P_BANDWIDTH].values != NULL;
}

static ppsched_status reserve_state(struct ppi_split_state *state, bool has_same, ppsched_error *error)
{
    struct ppi_arena *arena = state->arena;
    size_t stages = state->stages, devices = state->schedule->shape.devices, layers = state->layers->count;
    for (int cost = 0; cost < PPI_LAYER_COSTS; cost++)
        state->sums[cost] = ppi_arena_take(arena, layers + 1, sizeof *state->sums[cost]);
    for (uint32_t e = 0; e < state->layers->entry_count && state->copies == NULL; e++)
        if (copies_embedding(&state->layers->entries[e]))
            state->copies = ppi_arena_take_zeroed(arena, layers + 1, sizeof *state->copies);
    if (state->config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL || has_same)
        state->fronts = ppi_arena_take_zeroed(arena, stages, sizeof *state->fronts);
    state->border = ppi_arena_take(arena, stages + 1, sizeof *state->border);
    state->like = ppi_arena_take_zeroed(arena, 2 * stages, sizeof *state->like);
    state->option = ppi_arena_take_zeroed(arena, stages, sizeof *state->option);
    state->weight = ppi_arena_take_zeroed(arena, stages * PPI_WALK_KINDS, sizeof *state->weight);
    state->backward_weight = ppi_arena_take(arena, stages, sizeof *state->backward_weight);
    state->pin = ppi_arena_take(arena, stages, sizeof *state->pin);
    state->load = ppi_arena_take_zeroed(arena, devices, sizeof *state->load);
    state->is_stale = ppi_arena_take_zeroed(arena, devices, sizeof *state->is_stale);
    state->overshoots = ppi_arena_take_zeroed(arena, devices, sizeof *state->overshoots);
    return ppi_arena_check(arena, "the split", error);
}

ppsched_status ppi_split_state_make(struct ppi_split_state *out, struct ppi_arena *arena, const ppsched_config *config,
                                    const ppsched_layers *layers, const ppsched_schedule *schedule, const double *overhead,
                                    double overhead_scale, const struct ppi_same_kind *same, bool by_span, ppsched_error *error)
{
    *out = (struct ppi_split_state){.config = config,
                                    .layers = layers,
                                    .schedule = schedule,
                                    .arena = arena,
                                    .most_overshoot = PPI_INFINITE,
                                    .most_time = PPI_INFINITE};
    memcpy(out->overhead, overhead, sizeof out->overhead);
    out->stages = schedule->shape.stages;
    out->versions = config->weight_versions != 0 ? config->weight_versions : schedule->weight_versions;
    ppsched_status status = reserve_state(out, same != NULL, error);
    if (status == PPSCHED_OK)
        status = ppi_split_state_take_speeds(out, overhead_scale, error);
    if (status == PPSCHED_OK)
        status = ppi_walk_make(
            &out->walk, arena, schedule,
            &(struct ppi_walk_options){by_span, config->senders_wait, config->windows != NULL && layers->has_windows}, error);
    if (status == PPSCHED_OK)
        status = ppi_holding_make(&out->holdings, arena, schedule, ppi_layers_rise(layers), error);
    if (status == PPSCHED_OK)
        status = ppi_builder_open(&out->builder, arena, layers, same, error);
    if (status == PPSCHED_OK)
        status = ppi_pair_times_open(&out->pair_times, arena, &out->builder, &out->walk, config, error);
    if (status == PPSCHED_OK)
        status = ppi_fitted_open(&out->fitted, arena, schedule->shape.devices, out->stages, error);
    if (status == PPSCHED_OK)
        status = ppi_long_paths_open(&out->long_paths, arena, &out->walk, ppi_split_state_rows(out), error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        out->builder.has_whole |= ppi_holding_has_whole(&out->holdings[d]);
    sum_layers(out);
    for (uint32_t s = 0; s <= out->stages; s++)
        out->border[s] = PPSCHED_NONE;
    for (uint32_t s = 0; s < out->stages; s++)
        out->pin[s] = PPSCHED_NONE, out->backward_weight[s] = 1, out->like[2 * (size_t)s] = PPSCHED_NONE;
    return PPSCHED_OK;
}

void ppi_split_state_leave_out(struct ppi_split_state *state, uint32_t microbatches)
{
    const struct ppi_shape *shape = &state->schedule->shape;
    const double *overhead = state->overhead;
    double backward = state->walk.splits_backward ? overhead[PPSCHED_KIND_I] + overhead[PPSCHED_KIND_W]
                                                  : overhead[PPSCHED_KIND_B];
    state->left_out = (double)microbatches * shape->slices;
    state->pass_overhead = (overhead[PPSCHED_KIND_F] + backward) * shape->stages / shape->devices;
}

/* --- what a stage costs --- */

static double between(const struct ppi_split_state *state, int cost, uint32_t stage)
{
    const uint32_t *like = &state->like[2 * (size_t)stage];
    return state->sums[cost][like[1]] - state->sums[cost][like[0]];
}

static double added_to(const struct ppi_split_state *state, uint32_t stage)
{
    return state->fronts != NULL ? state->fronts[stage].options[state->option[stage]].added : 0;
}

/* The times of a stage at speed 1, without overhead. */
PPI_INLINE void take_plain_times(double *out, const struct ppi_split_state *state, uint32_t stage)
{
    const double added = added_to(state, stage);
    out[PPSCHED_KIND_F] = between(state, PPI_LAYER_FORWARD, stage);
    out[PPSCHED_KIND_B] = between(state, PPI_LAYER_BACKWARD, stage) + added;
    out[PPSCHED_KIND_I] = between(state, PPI_LAYER_INPUT, stage) + added;
    out[PPSCHED_KIND_W] = between(state, PPI_LAYER_WEIGHT, stage);
}

/* The time of a stage's ops of a kind on a device that differs by more than its speed. */
static double time_on(const struct ppi_split_state *state, uint32_t stage, uint32_t device, int kind)
{
    const struct ppi_type_times *times = &state->types[device];
    const uint32_t *like = &state->like[2 * (size_t)stage];
    const double added = kind == PPSCHED_KIND_B || kind == PPSCHED_KIND_I ? added_to(state, stage) * times->again : 0;
    return (times->sums[kind][like[1]] - times->sums[kind][like[0]] + added) * times->scale[kind];
}

/* Sets the times of a stage on the devices of its copies. */
PPI_APART void load_times_at_speeds(struct ppi_split_state *state, uint32_t stage)
{
    const struct ppi_placement *placement = &state->schedule->placement;
    double plain[PPI_COMPUTE_KINDS] = {0}, duration[PPI_COMPUTE_KINDS] = {0};
    take_plain_times(plain, state, stage);
    for (uint32_t copy = 0; copy < placement->copies; copy++) {
        const uint32_t row = copy * state->stages + stage, device = placement->device_of[row];
        const double own = state->own_overhead != NULL ? state->own_overhead[device] : 0;
        for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
            duration[kind] = (state->types != NULL ? time_on(state, stage, device, kind) : plain[kind] / state->speed[device]) +
                             own + state->overhead[kind];
        ppi_walk_set_times_in(&state->walk, copy, stage, duration);
        ppi_long_paths_set_times(&state->long_paths, row, duration);
    }
}

PPI_INLINE void load_times(struct ppi_split_state *state, uint32_t stage)
{
    double duration[PPI_COMPUTE_KINDS] = {0};
    if (state->speed != NULL) {
        load_times_at_speeds(state, stage);
        return;
    }
    take_plain_times(duration, state, stage);
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        duration[kind] += state->overhead[kind];
    ppi_walk_set_times(&state->walk, stage, duration);
    ppi_long_paths_set_times(&state->long_paths, stage, duration);
}

/* The delay over the border before a stage, on an idle link. */
static double delay_over(const struct ppi_split_state *state, uint32_t stage, uint32_t from, uint32_t to)
{
    uint32_t layer = state->border[stage];
    double bytes = layer > 0 ? ppi_layer_at(state->layers, layer - 1)->given.output_bytes : 0;
    struct ppi_transfer_cost cost = ppi_link_cost_of(state->config, bytes, from, to);
    return cost.occupancy + cost.latency;
}

static void load_delays(struct ppi_split_state *state)
{
    const struct ppi_placement *placement = &state->schedule->placement;
    for (uint32_t copy = 0; copy < placement->copies; copy++)
        for (uint32_t s = 0; s < state->stages; s++) {
            const uint32_t *device = placement->device_of + (size_t)copy * state->stages + s;
            ppi_walk_set_delays(&state->walk, copy, s, s > 0 ? delay_over(state, s, device[-1], device[0]) : 0,
                                s + 1 < state->stages ? delay_over(state, s + 1, device[1], device[0]) : 0);
        }
}

/* --- memory --- */

static double limit_of(const struct ppi_split_state *state, uint32_t device)
{
    const struct ppi_values *limit = &state->config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    return limit->values != NULL ? ppi_value_at(limit, device) : PPI_INFINITE;
}

/* Static memory of a device's stages. */
static double fixed_of(const struct ppi_split_state *state, const struct ppi_held_passes *holding)
{
    double sum = 0;
    for (uint32_t i = 0; i < holding->count; i++) {
        uint32_t stage = holding->stages[i];
        sum += between(state, PPI_LAYER_STATIC, stage) + state->versions * between(state, PPI_LAYER_WEIGHTS, stage);
        sum += ppi_split_state_copied(state, stage, state->like[2 * (size_t)stage], state->like[2 * (size_t)stage + 1]);
    }
    return sum;
}

/* Memory of a device for activations. */
static double room_of(const struct ppi_split_state *state, uint32_t device)
{
    double fixed = fixed_of(state, &state->holdings[device]);
    return limit_of(state, device) * (1 + 5e-10) - fixed; /* half of the rounding that the evaluator allows */
}

struct ppi_fit ppi_split_state_fit(const struct ppi_split_state *state, uint32_t device)
{
    return (struct ppi_fit){&state->holdings[device], state->fronts, state->backward_weight, state->pin,
                            room_of(state, device)};
}

/* Fits a device; returns its overshoot. */
static double fit_device(struct ppi_split_state *state, uint32_t device)
{
    const struct ppi_fit fit = ppi_split_state_fit(state, device);
    double overshoot = ppi_fit_device(state->option, &fit, &state->visited);
    return fit.room < 0 && overshoot <= 0 ? -fit.room : overshoot;
}

static double fit_or_remember(struct ppi_split_state *state, uint32_t device)
{
    const struct ppi_held_passes *holding = &state->holdings[device];
    uint32_t *options;
    double *overshoot;
    bool known = ppi_fitted_find(&state->fitted, device, holding, state->like, state->pin, &options, &overshoot);
    if (options == NULL)
        return fit_device(state, device);
    if (!known)
        *overshoot = fit_device(state, device);
    for (uint32_t i = 0; i < holding->count; i++) {
        uint32_t *option = &state->option[holding->stages[i]];
        if (known)
            *option = options[i];
        else
            options[i] = *option;
    }
    return *overshoot;
}

uint32_t ppi_split_state_partner(const struct ppi_split_state *state, uint32_t device)
{
    const struct ppi_placement *placement = &state->schedule->placement;
    if (placement->copies == 1)
        return device;
    uint32_t stage = state->holdings[device].stages[0], first = placement->device_of[stage];
    return first != device ? first : placement->device_of[state->stages + stage];
}

/* Fits a pair of devices together, at the first of them. */
static void fit_with_partner(struct ppi_split_state *state, uint32_t device, uint32_t partner)
{
    const struct ppi_fit pair[2] = {ppi_split_state_fit(state, device), ppi_split_state_fit(state, partner)};
    if (device < partner)
        ppi_fit_pair(state->option, pair, &state->visited);
    state->overshoots[device] = ppi_larger(0, ppi_fit_overshoot(state->option, &pair[0]));
}

static void fit_one(struct ppi_split_state *state, uint32_t device)
{
    uint32_t partner = ppi_split_state_partner(state, device);
    if (partner != device)
        fit_with_partner(state, device, partner);
    else
        state->overshoots[device] = fit_or_remember(state, device);
}

static void fit_stale(struct ppi_split_state *state)
{
    for (uint32_t d = 0; d < state->schedule->shape.devices; d++) {
        if (!state->is_stale[d])
            continue;
        double work = 0, typed = 0;
        state->visited += A_DEVICE + 16 * (uint64_t)state->holdings[d].count;
        if (state->fronts != NULL)
            fit_one(state, d);
        for (uint32_t i = 0; i < state->holdings[d].count; i++) {
            uint32_t stage = state->holdings[d].stages[i];
            load_times(state, stage);
            work += ppi_split_work(state, state->like[2 * stage], state->like[2 * stage + 1]) + added_to(state, stage);
            if (state->types != NULL)
                typed += time_on(state, stage, d, PPSCHED_KIND_F) + time_on(state, stage, d, PPSCHED_KIND_B);
        }
        state->load[d] = state->types != NULL ? typed : state->speed == NULL ? work : work / state->speed[d];
        if (state->own_overhead != NULL)
            state->load[d] += ppi_split_pass_overhead(state, d) * state->holdings[d].count;
        state->is_stale[d] = false;
    }
}

/* --- changes --- */

/* Layers of one entry are identical to the same number of its first ones. Returns whether `like` has changed. */
static bool put_like(struct ppi_split_state *state, uint32_t stage)
{
    const ppsched_layers *layers = state->layers;
    uint32_t begin = state->border[stage], end = state->border[stage + 1], *like = &state->like[2 * (size_t)stage];
    bool is_one = begin < end && layers->entry_of[begin] == layers->entry_of[end - 1];
    uint32_t first = is_one ? state->builder.begin[layers->entry_of[begin]] : begin, last = first + (end - begin);
    bool differs = like[0] != first || like[1] != last;
    like[0] = first;
    like[1] = last;
    return differs;
}

static ppsched_status change_stage(struct ppi_split_state *state, uint32_t stage, ppsched_error *error)
{
    const struct ppi_placement *placement = &state->schedule->placement;
    state->visited++;
    if (!put_like(state, stage))
        return PPSCHED_OK;
    state->visited += A_CHANGE;
    for (uint32_t copy = 0; copy < placement->copies; copy++)
        state->is_stale[placement->device_of[(size_t)copy * state->stages + stage]] = true;
    if (state->fronts == NULL)
        return PPSCHED_OK;
    return ppi_front_make(&state->fronts[stage], &state->builder, state->border[stage], state->border[stage + 1], error);
}

uint32_t ppi_split_state_most_loaded(const struct ppi_split_state *state)
{
    uint32_t most = 0;
    for (uint32_t d = 1; d < state->schedule->shape.devices; d++)
        most = state->load[d] > state->load[most] ? d : most;
    return most;
}

/* Time of the microbatches left out. With two model copies each runs half of them. */
static double time_left_out(const struct ppi_split_state *state)
{
    if (state->left_out <= 0)
        return 0;
    double load = state->load[ppi_split_state_most_loaded(state)] / state->schedule->placement.copies;
    return state->left_out * (load + state->pass_overhead);
}

/* The exact time of the present split, without microbatches left out; infinite where its pairs have too many windows. */
static double walk_time(struct ppi_split_state *state)
{
    const struct ppi_pair_split split = {state->border, state->like, state->fronts != NULL ? state->option : NULL, state->types,
                                         state->sums[PPI_LAYER_FORWARD]};
    if (state->pair_times != NULL && state->status == PPSCHED_OK)
        state->status = ppi_pair_times_load(state->pair_times, &state->walk, &split, &state->visited, NULL);
    state->visited += state->walk.count;
    const double time = ppi_walk_price(&state->walk);
    return state->pair_times != NULL && state->pair_times->is_refused ? PPI_INFINITE : time;
}

/* Infinite where it is known to be too long. Known paths bound only a makespan without times of pairs: the path of a span ends
 * at its device's first op, and pairs are shorter than their ops. */
static double time_of_state(struct ppi_split_state *state)
{
    bool asks = state->most_time < PPI_INFINITE && !state->walk.by_span && state->pair_times == NULL;
    double beside = time_left_out(state), most = state->most_time - beside;
    if (asks && ppi_long_paths_take_longer(&state->long_paths, most, &state->visited))
        return PPI_INFINITE;
    double time = walk_time(state);
    if (asks && time > most)
        ppi_long_paths_keep(&state->long_paths, &state->walk, time, state->has_bytes, &state->visited);
    return time + beside;
}

static struct ppi_split_price price_of(struct ppi_split_state *state)
{
    struct ppi_split_price price = {.time = PPI_INFINITE};
    for (uint32_t d = 0; d < state->schedule->shape.devices; d++) {
        price.overshoot += state->overshoots[d];
        price.unevenness += state->load[d] * state->load[d];
    }
    if (price.overshoot <= state->most_overshoot * (1 + 1e-9))
        price.time = time_of_state(state);
    state->visited += A_PRICE + A_STAGE * (uint64_t)state->stages + 8 * (state->builder.work - state->worked);
    state->worked = state->builder.work;
    return price;
}

ppsched_status ppi_split_state_set(struct ppi_split_state *state, const uint32_t *border, struct ppi_split_price *price,
                                   ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    bool first_time = state->border[0] == PPSCHED_NONE;
    uint32_t before = state->border[0];
    state->border[0] = border[0];
    for (uint32_t s = 0; s < state->stages && status == PPSCHED_OK; s++) {
        bool same = before == border[s] && state->border[s + 1] == border[s + 1];
        before = state->border[s + 1];
        state->border[s + 1] = border[s + 1];
        if (!same)
            status = change_stage(state, s, error);
    }
    if (status != PPSCHED_OK)
        return status;
    if (state->has_bytes || first_time)
        load_delays(state);
    fit_stale(state);
    *price = price_of(state);
    return state->status == PPSCHED_OK ? PPSCHED_OK : ppi_fail_memory(error, "the times of pairs");
}

void ppi_split_state_pin(struct ppi_split_state *state, uint32_t stage, uint32_t pin, struct ppi_split_price *price)
{
    ppi_split_state_set_pin(state, stage, pin);
    fit_stale(state);
    *price = price_of(state);
}

static void make_stale(struct ppi_split_state *state)
{
    ppi_fitted_forget(&state->fitted);
    for (uint32_t d = 0; d < state->schedule->shape.devices; d++)
        state->is_stale[d] = true;
}

void ppi_split_state_choose_by(struct ppi_split_state *state, const double *weight)
{
    memcpy(state->backward_weight, weight, state->stages * sizeof *weight);
    make_stale(state);
}

void ppi_split_state_choose_alike(struct ppi_split_state *state)
{
    for (uint32_t s = 0; s < state->stages; s++)
        state->backward_weight[s] = 1;
    make_stale(state);
}

void ppi_split_state_recompute(struct ppi_split_state *state, const struct ppi_same_kind *same)
{
    ppi_builder_recompute(&state->builder, same);
    if (state->pair_times != NULL)
        ppi_pair_times_forget(state->pair_times);
    for (uint32_t s = 0; s <= state->stages; s++)
        state->border[s] = PPSCHED_NONE;
    for (uint32_t s = 0; s < state->stages; s++) {
        state->pin[s] = PPSCHED_NONE;
        state->like[2 * (size_t)s] = PPSCHED_NONE;
    }
    ppi_split_state_choose_alike(state);
}

void ppi_split_state_choose_by_path(struct ppi_split_state *state)
{
    for (uint32_t s = 0; s < state->stages; s++) {
        const double *weight = &state->weight[(size_t)s * PPI_WALK_KINDS];
        state->backward_weight[s] = weight[PPSCHED_KIND_B - 1] + weight[PPSCHED_KIND_I - 1] + 0.01;
    }
    make_stale(state);
}

double ppi_split_state_time(struct ppi_split_state *state, const uint32_t *option)
{
    memcpy(state->option, option, state->stages * sizeof *option);
    for (uint32_t s = 0; s < state->stages; s++)
        load_times(state, s);
    make_stale(state);
    return walk_time(state);
}

bool ppi_split_is_better(const struct ppi_split_price *a, const struct ppi_split_price *b)
{
    if (a->overshoot != b->overshoot && (a->overshoot > b->overshoot * (1 + 1e-9) || b->overshoot > a->overshoot * (1 + 1e-9)))
        return a->overshoot < b->overshoot;
    if (a->time > b->time * (1 + 1e-11) || b->time > a->time * (1 + 1e-11))
        return a->time < b->time;
    return a->unevenness < b->unevenness * (1 - 1e-11);
}
