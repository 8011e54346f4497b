/* SPDX-License-Identifier: Apache-2.0 */
/* Counts layers one by one and checks them against Megatron-LM's rules: validate_layer_layout of its
 * pipeline_parallel_layer_layout.py, and the checks of its configuration and launcher. */
#ifndef PPSCHED_LAYOUT_TALLY_H
#define PPSCHED_LAYOUT_TALLY_H

#include <ppsched/layout.h>

/* The stage of a layer and its position in the text; PPSCHED_NONE: unknown, or there is no such layer. */
struct ppi_layer_place {
    uint32_t stage, position;
};

/* The layers so far. */
struct ppi_tally {
    ppsched_layout_stage *stages; /* filled unless NULL; with capacity for all, as counted by a first pass */
    uint32_t stage;               /* the current one */
    uint32_t layers;              /* of all kinds */
    uint32_t embeddings, decoders, mtps, heads;
    char first, last; /* kinds of the first and the last layer; 0: none yet */
    struct ppi_layer_place first_place, last_place;
    struct ppi_layer_place second_embedding, second_head; /* PPSCHED_NONE: at most one */
    struct ppi_layer_place late_decoder;                  /* the first after an MTP layer */
    struct ppi_layer_place mtp, other_mtp;                /* the first, and the first in another stage */
};

void ppi_tally_start(struct ppi_tally *tally, ppsched_layout_stage *stages);

/* Adds `count` layers of kind E, t, m or L, or bars (|); `position` in the text, or PPSCHED_NONE. RANGE if there are too
 * many. */
ppsched_status ppi_tally_put(struct ppi_tally *tally, char kind, size_t count, uint32_t position, ppsched_error *error);

/* REFUSED if the layers are no valid layout for `devices`. */
ppsched_status ppi_tally_check(const struct ppi_tally *tally, uint32_t devices, const ppsched_layout_rules *rules,
                               ppsched_error *error);

#endif
