/* SPDX-License-Identifier: Apache-2.0 */
/* Models by their layers, as tests need them. */
#ifndef PPSCHED_TESTS_LAYERED_H
#define PPSCHED_TESTS_LAYERED_H

#include "support/problem.h"

/* An entry. */
#define LAYER(...)                                                                                                             \
    {                                                                                                                          \
        .size = sizeof(ppsched_layer), .name = __VA_ARGS__                                                                     \
    }

enum { MOST_ENTRIES = 8 };

/* A list of entries; fails the running test where the library does. */
const ppsched_layers *make_layers(const ppsched_layer *entries, size_t count);

/* An embedding for the first stage, whose weights are tied; so many decoders (F 1, B 2, memory 1, weights 0.5) with the kinds
 * "selective" (0.25 more, 0.5 remains) and "full" (1 more, 0.125 remains); a head for the last stage. */
const ppsched_layers *make_model(uint32_t decoders);

/* The same with weights for embedding and head each. */
const ppsched_layers *make_untied_model(uint32_t decoders);

/* The same without kinds of recomputation. */
const ppsched_layers *make_plain_model(uint32_t decoders);

/* So many layers, up to MOST_ENTRIES, that all differ, with the kinds "selective" and "full". */
const ppsched_layers *draw_uneven_layers(uint32_t count, uint64_t *seed);

/* A split of so many stages; `recomputes` may be NULL. */
ppsched_split split_of(const uint32_t *layers, uint32_t stages, const uint8_t *recomputes);

#endif
