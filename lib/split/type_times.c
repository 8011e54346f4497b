/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that differ by more than their speeds: for each, the times of its type's layers as sums, and its speed over all
 * layers, for first splits and the choice of moves; that is the speed where they differ by speeds alone. */
#include "base/error.h"
#include "ir/costs.h"
#include "split/load.h"
#include "split/split_state.h"

/* Sums over layers of their times on devices of a type, by kind. */
static void sum_on_type(const struct ppi_split_state *state, double *sums, uint32_t type)
{
    static const uint8_t costs[] = {[PPSCHED_KIND_F] = PPI_LAYER_FORWARD,
                                    [PPSCHED_KIND_B] = PPI_LAYER_BACKWARD,
                                    [PPSCHED_KIND_I] = PPI_LAYER_INPUT,
                                    [PPSCHED_KIND_W] = PPI_LAYER_WEIGHT};
    const ppsched_layers *layers = state->layers;
    for (uint32_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        sums[0] = 0;
        for (uint32_t i = 0; i < layers->count; i++)
            sums[i + 1] = sums[i] + ppi_layer_at(layers, i)->kinds[0].cost[costs[kind]] *
                                        ppi_type_scale(layers, layers->entry_of[i], type, kind);
        sums += layers->count + 1;
    }
}

/* The least factor on times of a device's ops. */
static double least_scale(const struct ppi_split_state *state, uint32_t device)
{
    const uint32_t type = ppi_type_of(state->config, state->layers, device);
    double least = PPI_INFINITE;
    for (uint32_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        for (uint32_t e = 0; e < state->layers->entry_count; e++)
            least = ppi_smaller(least, ppi_type_scale(state->layers, e, type, kind) * state->types[device].scale[kind]);
    return least;
}

static ppsched_status take_types(struct ppi_split_state *state, ppsched_error *error)
{
    const uint32_t devices = state->schedule->shape.devices, types = state->layers->types + 1;
    const size_t instances = (size_t)state->schedule->placement.copies * state->stages, each = state->layers->count + (size_t)1;
    double *sums = ppi_arena_take(state->arena, PPI_WALK_KINDS * each * types, sizeof *sums);
    state->types = ppi_arena_take_zeroed(state->arena, devices, sizeof *state->types);
    state->speed = ppi_arena_take(state->arena, devices, sizeof *state->speed);
    state->instance_weight = ppi_arena_take_zeroed(state->arena, instances * PPI_WALK_KINDS, sizeof *state->instance_weight);
    ppsched_status status = ppi_arena_check(state->arena, "the split", error);
    for (uint32_t type = 0; type < types && status == PPSCHED_OK; type++)
        sum_on_type(state, sums + type * PPI_WALK_KINDS * each, type);
    for (uint32_t d = 0; d < devices && status == PPSCHED_OK; d++) {
        const uint32_t type = ppi_type_of(state->config, state->layers, d);
        struct ppi_type_times *times = &state->types[d];
        for (uint32_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
            times->sums[kind] = sums + (type * (size_t)PPI_WALK_KINDS + kind - PPSCHED_KIND_F) * each;
            times->scale[kind] = ppi_device_scale(state->config, kind, d) / ppi_speed_of(state->config, d);
        }
        times->least = least_scale(state, d);
        times->again = ppi_type_scale_again(state->layers, type);
        state->speed[d] = ppi_layers_speed(state->config, state->layers, d);
    }
    return status;
}

static ppsched_status take_overheads(struct ppi_split_state *state, double scale, ppsched_error *error)
{
    const uint32_t devices = state->schedule->shape.devices;
    state->own_overhead = ppi_arena_take(state->arena, devices, sizeof *state->own_overhead);
    ppsched_status status = ppi_arena_check(state->arena, "the split", error);
    for (uint32_t d = 0; d < devices && status == PPSCHED_OK; d++)
        state->own_overhead[d] = ppi_device_overhead(state->config, d) * scale;
    return status;
}

/* Takes nothing where all speeds are 1, and devices have no overhead of their own. */
ppsched_status ppi_split_state_take_speeds(struct ppi_split_state *state, double overhead_scale, ppsched_error *error)
{
    const uint32_t devices = state->schedule->shape.devices;
    const size_t instances = (size_t)state->schedule->placement.copies * state->stages;
    bool differs = state->config->values[PPSCHED_QUANTITY_DEVICE_OVERHEAD].values != NULL;
    if (differs && take_overheads(state, overhead_scale, error) != PPSCHED_OK)
        return PPSCHED_ERROR_NO_MEMORY;
    for (uint32_t d = 0; d < devices; d++)
        differs |= ppi_speed_of(state->config, d) != 1;
    if (ppi_layers_are_scaled(state->config, state->layers))
        return take_types(state, error);
    if (!differs)
        return PPSCHED_OK;
    double *speed = ppi_arena_take(state->arena, devices, sizeof *speed);
    state->instance_weight = ppi_arena_take_zeroed(state->arena, instances * PPI_WALK_KINDS, sizeof *state->instance_weight);
    ppsched_status status = ppi_arena_check(state->arena, "the split", error);
    for (uint32_t d = 0; d < devices && status == PPSCHED_OK; d++)
        speed[d] = ppi_speed_of(state->config, d);
    state->speed = speed;
    return status;
}

/* Times of a layer's ops on a device, where backwards may have another factor in pairs. */
static struct ppi_layer_times least_times_on(const ppsched_config *config, const ppsched_layers *layers, uint32_t entry,
                                             uint32_t device, double in_pairs)
{
    struct ppi_layer_times own = ppi_layer_times_on(config, layers, entry, device);
    const double *cost = layers->entries[entry].kinds[0].cost;
    if (in_pairs == PPI_INFINITE)
        return own;
    own.backward = ppi_smaller(own.backward, cost[PPI_LAYER_BACKWARD] * in_pairs);
    own.input = ppi_smaller(own.input, cost[PPI_LAYER_INPUT] * in_pairs);
    own.weight = ppi_smaller(own.weight, cost[PPI_LAYER_WEIGHT] * in_pairs);
    return own;
}

ppsched_status ppi_split_types_make(struct ppi_split_types *out, const ppsched_config *config, const ppsched_layers *layers,
                                    bool pairs, ppsched_error *error)
{
    const uint32_t devices = config->shape.devices;
    const size_t entries = layers->entry_count, times = entries * devices;
    *out = (struct ppi_split_types){0};
    double *room = ppi_allocate(&config->host, times + 2 * entries + devices, sizeof *room);
    if (room == NULL)
        return ppi_fail_memory(error, "the bound");
    *out = (struct ppi_split_types){room, room + times, room + times + entries, room + times + 2 * entries};
    for (uint32_t d = 0; d < devices; d++) {
        out->speeds[d] = ppi_layers_speed(config, layers, d);
        const double in_pairs = pairs ? ppi_layers_pair_scale(config, layers, d) : PPI_INFINITE;
        for (uint32_t e = 0; e < entries; e++) {
            const struct ppi_layer_times own = least_times_on(config, layers, e, d, in_pairs);
            const double split = own.input + own.weight, path = own.forward + ppi_smaller(own.backward, own.input);
            out->work[d * entries + e] = own.forward +
                                         (config->has_whole_backwards ? own.backward : ppi_smaller(own.backward, split));
            out->forward[e] = d > 0 ? ppi_smaller(out->forward[e], own.forward) : own.forward;
            out->path[e] = d > 0 ? ppi_smaller(out->path[e], path) : path;
        }
    }
    return PPSCHED_OK;
}
