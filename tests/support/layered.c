/* SPDX-License-Identifier: Apache-2.0 */
#include "support/layered.h"

static const ppsched_recompute kinds[] = {{"selective", 0.25, 0.5}, {"full", 1, 0.125}};

const ppsched_layers *make_layers(const ppsched_layer *entries, size_t count)
{
    const ppsched_layer *list[MOST_ENTRIES];
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    assert_true(count <= MOST_ENTRIES);
    for (size_t i = 0; i < count; i++)
        list[i] = &entries[i];
    expect_ok(ppsched_layers_create(&layers, list, count, NULL, &error), &error);
    return layers;
}

static const ppsched_layers *make(uint32_t decoders, const ppsched_recompute *recomputes, uint32_t recompute_count)
{
    const ppsched_layer entries[] = {
        LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .flags = PPSCHED_LAYER_FLAG_TIED, .forward_time = 0.25,
              .backward_time = 0.25, .mem_static = 1, .mem_weights = 0.25, .output_bytes = 8),
        LAYER("decoder", .count = decoders, .forward_time = 1, .backward_time = 2, .mem_forward = 1, .mem_static = 1,
              .mem_weights = 0.5, .output_bytes = 8, .recomputes = recomputes, .recompute_count = recompute_count),
        LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .forward_time = 0.75, .backward_time = 1.5, .mem_forward = 0.5,
              .mem_static = 1, .mem_weights = 0.25)};
    return make_layers(entries, 3);
}

const ppsched_layers *make_model(uint32_t decoders)
{
    return make(decoders, kinds, 2);
}

const ppsched_layers *make_plain_model(uint32_t decoders)
{
    return make(decoders, NULL, 0);
}

ppsched_split split_of(const uint32_t *layers, uint32_t stages, const uint8_t *recomputes)
{
    return (ppsched_split){.size = sizeof(ppsched_split), .stages = stages, .layers = layers, .recomputes = recomputes};
}
