/* SPDX-License-Identifier: Apache-2.0 */
/* The model's layers in a launch: what each stage has, what is computed again, and what of that a runtime can be told. */
#ifndef PPSCHED_LAUNCH_PARTS_H
#define PPSCHED_LAUNCH_PARTS_H

#include "layout/layout.h"
#include "launch/line.h"
#include "model/layers.h"

/* Which layers are computed again. */
enum ppi_recomputed {
    PPI_RECOMPUTED_NONE,
    PPI_RECOMPUTED_FIRST, /* of each stage the first few that have that kind */
    PPI_RECOMPUTED_ALL,   /* all layers that have that kind */
    PPI_RECOMPUTED_OTHER  /* others than that */
};

/* How far a runtime follows a split. */
struct ppi_split_rules {
    bool takes_list;         /* the model is a list of the caller's own layers, whatever these are */
    bool has_mtps;           /* else: there is a way to tell MTP layers */
    bool may_be_uneven;      /* stages may have any number of decoders */
    bool may_be_empty;       /* those in the middle none at all */
    bool may_recompute_any;  /* each layer as it likes */
    const char *first, *all; /* else: kinds of which the first few of each stage, or all layers may be */
};

struct ppi_parts {
    struct ppi_room room;
    const ppsched_layers *layers;
    const ppsched_split *split;
    ppsched_layout_stage *stages;
    uint32_t decoders, mtps; /* of the model */
    bool is_even;            /* all stages have as many decoders */
    enum ppi_recomputed recomputed;
    const char *kind;       /* of the first two */
    bool recomputes_mtps;   /* some MTP layer is computed again */
    uint32_t first;         /* how many of each stage */
    ppsched_layout *layout; /* what ppi_parts_lay_out made, or NULL */
};

/* Layers of the first stage's place are the embedding, those of the last one's the head with the loss, those called "mtp" MTP
 * layers, all others decoders. Where no layer has a place, embedding and head are taken to be there. The split was checked. */
ppsched_status ppi_parts_make(struct ppi_parts *out, const struct ppi_host *host, const ppsched_layers *layers,
                              const ppsched_split *split, ppsched_error *error);
void ppi_parts_clear(struct ppi_parts *parts);

/* Makes Megatron-LM's layout of it; REFUSED where that has none. */
ppsched_status ppi_parts_lay_out(struct ppi_parts *parts, uint32_t devices, ppsched_error *error);

/* OK, or REFUSED where a runtime cannot be told that split; `title` is what it calls itself. */
ppsched_status ppi_parts_fit(const struct ppi_parts *parts, const struct ppi_split_rules *rules, const char *title,
                             ppsched_error *error);

#endif
