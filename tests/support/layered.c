/* SPDX-License-Identifier: Apache-2.0 */
#include "support/layered.h"

#include "support/uneven.h"

#include <stdlib.h>

static const ppsched_recompute kinds[] = {{"selective", 0.25, 0.5}, {"full", 1, 0.125}};

const ppsched_layers *make_layers(const ppsched_layer *entries, size_t count)
{
    const ppsched_layer **list = malloc(count * sizeof *list);
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    assert_non_null(list);
    for (size_t i = 0; i < count; i++)
        list[i] = &entries[i];
    expect_ok(ppsched_layers_create(&layers, list, count, NULL, &error), &error);
    free(list);
    return layers;
}

static const ppsched_layers *make(uint32_t decoders, uint32_t flags, const ppsched_recompute *recomputes,
                                  uint32_t recompute_count)
{
    const ppsched_layer entries[] = {
        LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .flags = flags, .forward_time = 0.25, .backward_time = 0.25,
              .mem_static = 1, .mem_weights = 0.25, .output_bytes = 8),
        LAYER("decoder", .count = decoders, .forward_time = 1, .backward_time = 2, .mem_forward = 1, .mem_static = 1,
              .mem_weights = 0.5, .output_bytes = 8, .recomputes = recomputes, .recompute_count = recompute_count),
        LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .forward_time = 0.75, .backward_time = 1.5, .mem_forward = 0.5,
              .mem_static = 1, .mem_weights = 0.25)};
    return make_layers(entries, 3);
}

const ppsched_layers *make_model(uint32_t decoders)
{
    return make(decoders, PPSCHED_LAYER_FLAG_TIED, kinds, 2);
}

const ppsched_layers *make_untied_model(uint32_t decoders)
{
    return make(decoders, 0, kinds, 2);
}

const ppsched_layers *make_plain_model(uint32_t decoders)
{
    return make(decoders, PPSCHED_LAYER_FLAG_TIED, NULL, 0);
}

const ppsched_layers *draw_uneven_layers(uint32_t count, uint64_t *seed)
{
    double numbers[MOST_ENTRIES][6];
    ppsched_recompute own[MOST_ENTRIES][2];
    ppsched_layer entries[MOST_ENTRIES];
    draw_uneven(&numbers[0][0], (size_t)6 * MOST_ENTRIES, 0.25, seed);
    for (uint32_t i = 0; i < count && i < MOST_ENTRIES; i++) {
        const double *n = numbers[i];
        own[i][0] = (ppsched_recompute){"selective", n[3] / 2, n[4] / 4 + 0.25};
        own[i][1] = (ppsched_recompute){"full", n[3], n[4] / 16};
        entries[i] = (ppsched_layer)LAYER("layer", .forward_time = n[0], .backward_time = 2 * n[1], .mem_forward = 1 + n[2],
                                          .mem_weights = n[5], .output_bytes = 1, .recomputes = own[i], .recompute_count = 2);
    }
    return make_layers(entries, count);
}

ppsched_split split_of(const uint32_t *layers, uint32_t stages, const uint8_t *recomputes)
{
    return (ppsched_split){.size = sizeof(ppsched_split), .stages = stages, .layers = layers, .recomputes = recomputes};
}
