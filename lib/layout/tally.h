/* SPDX-License-Identifier: Apache-2.0 */
/* Layers as they come, counted and held against Megatron-LM's rules: validate_layer_layout of its
 * pipeline_parallel_layer_layout.py, and what its configuration and launcher ask before. */
#ifndef PPSCHED_LAYOUT_TALLY_H
#define PPSCHED_LAYOUT_TALLY_H

#include <ppsched/layout.h>

/* Where a layer is: its stage, and its place in the text; PPSCHED_NONE where there is none. */
struct ppi_layer_place {
    uint32_t stage, position;
};

/* What has come so far. */
struct ppi_tally {
    ppsched_layout_stage *stages; /* filled where it is not NULL; then the stages have been counted before */
    uint32_t stage;               /* the one that layers go to */
    uint32_t layers;              /* of all kinds */
    uint32_t embeddings, decoders, mtps, heads;
    char first, last; /* kinds of the first and the last layer; 0: none came */
    struct ppi_layer_place first_place, last_place;
    struct ppi_layer_place second_embedding, second_head; /* where one is again */
    struct ppi_layer_place late_decoder;                  /* the first behind an MTP layer */
    struct ppi_layer_place mtp, other_mtp;                /* the first, and the first in another stage */
};

void ppi_tally_start(struct ppi_tally *tally, ppsched_layout_stage *stages);

/* `count` of a kind, E, t, m or L, or of bars; `position` in the text, or PPSCHED_NONE. RANGE where there are too many. */
ppsched_status ppi_tally_put(struct ppi_tally *tally, char kind, size_t count, uint32_t position, ppsched_error *error);

/* Whether what came is a layout for so many devices. */
ppsched_status ppi_tally_check(const struct ppi_tally *tally, uint32_t devices, const ppsched_layout_rules *rules,
                               ppsched_error *error);

#endif
