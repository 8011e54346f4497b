/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from the layers of two stages to the times of their pair. Identical layers have the same key, so that a search
 * over many splits finds few pairs. */
#include "split/pair_times.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/costs.h"
#include "pair/layers.h"
#include "split/split_state.h"

/* Slots of the table; visits counted for the square of a pair's windows. */
enum { PAIR_SLOTS = 1 << 12, A_SQUARE = 4 };

struct ppi_pair_key {
    uint32_t generation, kind, option;
    uint32_t like[4]; /* of the forward, then of the backward */
};

struct ppi_pair_slot {
    struct ppi_pair_key key;
    struct ppi_pair_ends spans;
};

static void sum_windows(const struct ppi_pair_times *times)
{
    const ppsched_layers *layers = times->builder->layers;
    times->forwards[0] = times->backwards[0] = 0;
    for (uint32_t i = 0; i < layers->count; i++) {
        const ppsched_pair_windows *windows = ppi_layer_at(layers, i)->given.windows;
        times->forwards[i + 1] = times->forwards[i] + (uint32_t)windows->forward_count;
        times->backwards[i + 1] = times->backwards[i] + (uint32_t)(windows->backward_count + windows->weight_count);
    }
}

ppsched_status ppi_pair_times_open(struct ppi_pair_times **out, struct ppi_arena *arena, struct ppi_front_builder *builder,
                                   const struct ppi_walk *walk, const ppsched_config *config, ppsched_error *error)
{
    const uint32_t devices = config->shape.devices;
    if (!walk->has_pair_times)
        return PPSCHED_OK;
    struct ppi_pair_slot *slots = ppi_arena_take_zeroed(arena, PAIR_SLOTS, sizeof *slots);
    struct ppi_pair_key *loaded = ppi_arena_take_zeroed(arena, walk->pair_count, sizeof *loaded);
    uint8_t *recomputes = ppi_arena_take_zeroed(arena, builder->layers->count, sizeof *recomputes);
    double *scale = ppi_arena_take(arena, devices, sizeof *scale);
    uint32_t *counts = ppi_arena_take(arena, 2 * (builder->layers->count + (size_t)1), sizeof *counts);
    uint8_t *exceeds = ppi_arena_take_zeroed(arena, walk->pair_count, sizeof *exceeds);
    *out = ppi_arena_take(arena, 1, sizeof **out);
    ppsched_status status = ppi_arena_check(arena, "the times of pairs", error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t d = 0; d < devices; d++) /* as the evaluator scales them */
        scale[d] = ppi_device_scale(config, PPSCHED_KIND_F, d) / ppi_speed_of(config, d);
    **out = (struct ppi_pair_times){
        builder, slots, loaded, recomputes, scale, counts, counts + builder->layers->count + 1, exceeds, .generation = 1};
    sum_windows(*out);
    return PPSCHED_OK;
}

void ppi_pair_times_forget(struct ppi_pair_times *times)
{
    times->generation++;
}

static struct ppi_pair_slot *slot_of(const struct ppi_pair_times *times, const struct ppi_pair_key *key)
{
    const uint32_t parts[] = {key->generation, key->kind, key->option, key->like[0], key->like[1], key->like[2], key->like[3]};
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hash = (hash ^ parts[i]) * 16777619u;
    return &times->slots[(hash >> 16 ^ hash) % PAIR_SLOTS];
}

static uint64_t count_windows(const ppsched_layers *layers, const struct ppi_layer_range *ranges)
{
    uint64_t count = 0;
    for (int i = 0; i < 2; i++)
        for (uint32_t layer = ranges[i].begin; layer < ranges[i].end; layer++) {
            const ppsched_pair_windows *windows = ppi_layer_at(layers, layer)->given.windows;
            count += i == 0 ? windows->forward_count : windows->backward_count + windows->weight_count;
        }
    return count;
}

/* Finds a pair; its time is infinite where it has too many windows. */
static ppsched_status find(struct ppi_pair_ends *out, struct ppi_pair_times *times, const struct ppi_layer_range *ranges,
                           const struct ppi_pair_key *key, uint64_t *visited, ppsched_error *error)
{
    const ppsched_layers *layers = times->builder->layers;
    const uint64_t count = count_windows(layers, ranges);
    ppsched_status status = PPSCHED_OK;
    *visited += A_SQUARE * count * count;
    if (key->option > 0)
        status = ppi_front_choose(times->recomputes, times->builder, ranges[1].begin, ranges[1].end, key->option - 1, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_layer_pair_find(out, layers, key->option > 0 ? times->recomputes : NULL, ranges, (uint8_t)key->kind,
                                 times->builder->arena->host, error);
    if (status != PPSCHED_ERROR_LENGTH)
        return status;
    *out = (struct ppi_pair_ends){PPI_INFINITE, PPI_INFINITE, PPI_INFINITE};
    return PPSCHED_OK;
}

static struct ppi_pair_key key_of(const struct ppi_pair_times *times, const struct ppi_pair_split *split, uint32_t forward,
                                  uint32_t backward, uint8_t kind)
{
    const uint32_t *f = &split->like[2 * (size_t)forward], *b = &split->like[2 * (size_t)backward];
    const uint32_t option = split->option != NULL ? split->option[backward] + 1 : 0;
    return (struct ppi_pair_key){times->generation, kind, option, {f[0], f[1], b[0], b[1]}};
}

/* The factor on times of pairs on a device with the forward of a stage: that of the forward, as the evaluator scales them. */
static double scale_of(const struct ppi_pair_times *times, const struct ppi_pair_split *split, uint32_t device,
                       uint32_t forward)
{
    const uint32_t *like = &split->like[2 * (size_t)forward];
    const double plain = split->forward[like[1]] - split->forward[like[0]];
    if (split->types == NULL || !(plain > 0))
        return times->scale[device];
    const double *sums = split->types[device].sums[PPSCHED_KIND_F];
    return times->scale[device] * ((sums[like[1]] - sums[like[0]]) / plain);
}

/* Whether any two stages together have too many windows without recomputation: a config has the times of all pairs. */
static bool exceeds_limit(const struct ppi_pair_times *times, const struct ppi_pair_split *split, uint32_t stages)
{
    uint32_t forward = 0, backward = 0;
    for (uint32_t s = 0; s < stages; s++) {
        const uint32_t begin = split->border[s], end = split->border[s + 1];
        const uint32_t forwards = times->forwards[end] - times->forwards[begin],
                       backwards = times->backwards[end] - times->backwards[begin];
        forward = forwards > forward ? forwards : forward;
        backward = backwards > backward ? backwards : backward;
    }
    return forward + backward > PPSCHED_MAX_WINDOWS;
}

static ppsched_status load_pair(struct ppi_pair_times *times, struct ppi_walk *walk, uint32_t pair,
                                const struct ppi_pair_split *split, uint64_t *visited, ppsched_error *error)
{
    const struct ppi_walk_pair *own = &walk->pairs[pair];
    const uint32_t stages = walk->schedule->shape.stages, forward = own->forward % stages, backward = own->backward % stages;
    const struct ppi_pair_key key = key_of(times, split, forward, backward, own->kind);
    ppsched_status status = PPSCHED_OK;
    if (memcmp(&key, &times->loaded[pair], sizeof key) == 0)
        return status;
    struct ppi_pair_slot *slot = slot_of(times, &key);
    if (memcmp(&key, &slot->key, sizeof key) != 0) {
        const struct ppi_layer_range ranges[] = {{split->border[forward], split->border[forward + 1]},
                                                 {split->border[backward], split->border[backward + 1]}};
        slot->key.generation = 0;
        status = find(&slot->spans, times, ranges, &key, visited, error);
    }
    if (status != PPSCHED_OK)
        return status;
    slot->key = times->loaded[pair] = key;
    times->exceeds[pair] = slot->spans.time == PPI_INFINITE;
    if (times->exceeds[pair])
        return status;
    const double scale = scale_of(times, split, walk->schedule->placement.device_of[own->forward], forward);
    ppi_walk_set_pair(walk, pair, slot->spans.time * scale, slot->spans.forward_end * scale, slot->spans.backward_end * scale);
    return status;
}

ppsched_status ppi_pair_times_load(struct ppi_pair_times *times, struct ppi_walk *walk, const struct ppi_pair_split *split,
                                   uint64_t *visited, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    times->is_refused = exceeds_limit(times, split, walk->schedule->shape.stages);
    for (uint32_t i = 0; i < walk->pair_count && status == PPSCHED_OK && !times->is_refused; i++) {
        status = load_pair(times, walk, i, split, visited, error);
        times->is_refused = times->exceeds[i] != 0;
    }
    return status;
}
