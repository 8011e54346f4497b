/* SPDX-License-Identifier: Apache-2.0 */
#include "support/drawn_layers.h"

#include <stdlib.h>
#include <string.h>

static double eighths(uint64_t *seed, uint32_t below)
{
    return random_below(seed, below) / 8.0;
}

/* Of the three that sum to 0 one or two are given. */
static void draw_memory(ppsched_layer *layer, enum drawn_input input, uint64_t *seed)
{
    uint32_t held = random_below(seed, 25);
    int adds = input == INPUT_EITHER ? random_below(seed, 2) == 0 : input == INPUT_ADDS;
    double share = random_below(seed, 4) == 0 ? 0 : random_below(seed, adds ? 17 : held + 1) / 8.0;
    layer->mem_forward = held / 8.0;
    layer->mem_backward_input = adds ? share : -share;
    if (random_below(seed, 2) == 0)
        layer->mem_backward_weight = -layer->mem_forward - layer->mem_backward_input;
}

/* Kinds keep nothing, all, or any part. */
static void draw_kinds(ppsched_layer *layer, ppsched_recompute *kinds, uint32_t most, uint64_t *seed)
{
    static const char *const names[DRAWN_KINDS] = {"selective", "block", "full"};
    layer->recomputes = kinds;
    layer->recompute_count = random_below(seed, most + 1);
    for (uint32_t k = 0; k < layer->recompute_count; k++) {
        uint32_t which = random_below(seed, 6), held = (uint32_t)(8 * layer->mem_forward);
        kinds[k] = (ppsched_recompute){names[k], eighths(seed, 12), eighths(seed, held + 1)};
        if (which < 2)
            kinds[k].mem_forward = which == 0 ? 0 : layer->mem_forward;
    }
}

static void draw_entry(struct drawn_layers *drawn, uint32_t count, uint32_t kinds, enum drawn_input input, uint64_t *seed)
{
    ppsched_layer *layer = &drawn->entries[drawn->entry_count];
    *layer = (ppsched_layer)LAYER("layer", .count = count, .forward_time = eighths(seed, 16),
                                  .backward_input_time = eighths(seed, 16), .backward_weight_time = eighths(seed, 16),
                                  .mem_static = eighths(seed, 16), .mem_weights = eighths(seed, 8),
                                  .output_bytes = eighths(seed, 16));
    draw_memory(layer, input, seed);
    draw_kinds(layer, drawn->kinds[drawn->entry_count++], kinds, seed);
    drawn->count += count;
}

static void place_ends(struct drawn_layers *drawn, uint64_t *seed)
{
    ppsched_layer *first = &drawn->entries[0], *last = &drawn->entries[drawn->entry_count - 1];
    if (drawn->entry_count > 1 && random_below(seed, 2) == 0 && first->count <= 2) {
        first->place = PPSCHED_LAYER_PLACE_FIRST;
        first->flags = random_below(seed, 2) ? PPSCHED_LAYER_FLAG_TIED : 0;
        drawn->first = first->count;
    }
    if (drawn->entry_count > 2 && random_below(seed, 2) == 0 && last->count <= 2) {
        last->place = PPSCHED_LAYER_PLACE_LAST;
        drawn->last = last->count;
    }
}

struct drawn_layers *draw_layers(uint32_t count, uint32_t entries, uint32_t kinds, enum drawn_input input, uint64_t *seed)
{
    struct drawn_layers *drawn = calloc(1, sizeof *drawn);
    assert_non_null(drawn);
    while (drawn->count < count) {
        uint32_t left = count - drawn->count, number = 1 + random_below(seed, left < 3 ? left : 3);
        draw_entry(drawn, drawn->entry_count + 1 == entries ? left : number, kinds, input, seed);
    }
    place_ends(drawn, seed);
    drawn->layers = make_layers(drawn->entries, drawn->entry_count);
    return drawn;
}

void clear_layers(struct drawn_layers *drawn)
{
    ppsched_layers_release(drawn->layers);
    free(drawn);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Borders anywhere behind the layers of the first stage and before those of the last one; no two alike where no stage may be
 * empty. */
static void draw_borders(uint32_t *borders, const struct drawn_layers *drawn, uint32_t stages, int may_be_empty, uint64_t *seed)
{
    uint32_t apart = may_be_empty ? 0 : 1;
    uint32_t low = drawn->first > apart ? drawn->first : apart, last = drawn->last > apart ? drawn->last : apart;
    uint32_t places = drawn->count - last - low + 1; /* of a border */
    uint32_t spare = places - apart * (stages - 2);
    assert_true(places >= apart * (stages - 1));
    for (uint32_t s = 0; s + 1 < stages; s++)
        borders[s] = random_below(seed, spare);
    qsort(borders, stages - 1, sizeof *borders, by_size);
    for (uint32_t s = 0; s + 1 < stages; s++)
        borders[s] += low + s * apart;
}

void draw_split(uint32_t counts[DRAWN_STAGES], uint8_t recomputes[DRAWN_LAYERS], const struct drawn_layers *drawn,
                uint32_t stages, int may_be_empty, uint64_t *seed)
{
    uint32_t borders[DRAWN_STAGES], before = 0, layer = 0;
    if (stages > 1)
        draw_borders(borders, drawn, stages, may_be_empty, seed);
    borders[stages - 1] = drawn->count;
    for (uint32_t s = 0; s < stages; s++) {
        counts[s] = borders[s] - before;
        before = borders[s];
    }
    for (size_t e = 0; e < drawn->entry_count; e++)
        for (uint32_t i = 0; i < drawn->entries[e].count; i++)
            recomputes[layer++] = (uint8_t)random_below(seed, drawn->entries[e].recompute_count + 1);
}

void set_eighths(ppsched_config *config, int32_t quantity, size_t count, uint32_t below, uint64_t *seed)
{
    double *list = malloc(count * sizeof *list);
    ppsched_error error;
    assert_non_null(list);
    for (size_t i = 0; i < count; i++)
        list[i] = eighths(seed, below);
    expect_ok(ppsched_config_set_values(config, quantity, list, count, &error), &error);
    free(list);
}
