/* SPDX-License-Identifier: Apache-2.0 */
/* Random models by their layers, splits of them and problems for them. Times and memory are multiples of 1/8, so that sums are
 * exact. */
#ifndef PPSCHED_TESTS_DRAWN_LAYERS_H
#define PPSCHED_TESTS_DRAWN_LAYERS_H

#include "support/layered.h"

enum { DRAWN_KINDS = 3, DRAWN_LAYERS = 64, DRAWN_STAGES = 16 };

/* What the end of I releases of a layer, or its start adds. */
enum drawn_input { INPUT_RELEASES = 1, INPUT_ADDS = 2, INPUT_EITHER = 3 };

struct drawn_layers {
    ppsched_layer entries[MOST_ENTRIES]; /* all unlike each other */
    ppsched_recompute kinds[MOST_ENTRIES][DRAWN_KINDS];
    size_t entry_count;
    uint32_t count, first, last; /* layers; those for the first stage, and for the last one */
    const ppsched_layers *layers;
};

/* So many layers, at most DRAWN_LAYERS and at least 3, in up to `entries` entries, of which the first and the last may have
 * their place, with up to `kinds` kinds of recomputation each. The caller clears it. */
struct drawn_layers *draw_layers(uint32_t count, uint32_t entries, uint32_t kinds, enum drawn_input input, uint64_t *seed);
void clear_layers(struct drawn_layers *drawn);

/* How many layers each stage gets, and what each layer recomputes: about half of them something. */
void draw_split(uint32_t counts[DRAWN_STAGES], uint8_t recomputes[DRAWN_LAYERS], const struct drawn_layers *drawn,
                uint32_t stages, int may_be_empty, uint64_t *seed);

/* So many eighths below a number, for a quantity. */
void set_eighths(ppsched_config *config, int32_t quantity, size_t count, uint32_t below, uint64_t *seed);

#endif
