/* SPDX-License-Identifier: Apache-2.0 */
/* The model's layers in a launch: what each stage has, what is computed again, and what of that a runtime can be told. */
#ifndef PPSCHED_LAUNCH_LAYERS_H
#define PPSCHED_LAUNCH_LAYERS_H

#include "ir/layers.h"
#include "ir/recompute_scope.h"
#include "launch/line.h"
#include "layout/layout.h"

/* How a runtime can be told which layers are computed again. */
enum ppi_recomputed {
    PPI_RECOMPUTED_NONE,
    PPI_RECOMPUTED_FIRST, /* by how many of each stage's decoders */
    PPI_RECOMPUTED_ALL,   /* by a word: all but the ends, or all of some names */
    PPI_RECOMPUTED_ANY    /* it is the script's */
};

/* Words of a runtime for all. */
enum { PPI_ALL_KINDS = 2 };

/* How far a runtime follows a split. */
struct ppi_split_rules {
    bool takes_list;                /* the model is a list of the caller's own layers, whatever these are */
    bool has_mtps;                  /* else: there is a way to tell MTP layers */
    bool may_be_uneven;             /* stages may have any number of decoders, but for these: */
    const char *even_on_v;          /* why not on a v, or NULL */
    bool may_be_empty;              /* those in the middle none at all */
    bool may_recompute_any;         /* each layer as it likes; else */
    bool by_name;                   /* `all` is all layers of any names, not all but the ends */
    const char *first;              /* kind of which the first few decoders of each stage may be, or NULL */
    bool by_stage;                  /* `first` has a number of each stage, not one of all */
    const char *all[PPI_ALL_KINDS]; /* kinds of which all may be, or NULL */
};

struct ppi_parts {
    struct ppi_arena arena;
    const ppsched_layers *layers;
    const ppsched_split *split;
    ppsched_layout_stage *stages;
    uint32_t decoders, mtps;        /* of the model */
    bool is_even;                   /* all stages have as many decoders */
    const char *kind;               /* of the first layer that is computed again; NULL: none is */
    bool has_kinds;                 /* some layer has kinds of recomputation */
    uint32_t first;                 /* the most layers of a stage that are computed again */
    enum ppi_recomputed recomputed; /* as the runtime that was asked last is told */
    ppsched_layout *layout;         /* what ppi_parts_lay_out made, or NULL */
};

/* Layers of the first stage's place are the embedding, those of the last one's the head with the loss, those called "mtp" MTP
 * layers, all others decoders. Where no layer has a place, embedding and head are taken to be there. The split was checked. */
ppsched_status ppi_parts_make(struct ppi_parts *out, const struct ppi_host *host, const ppsched_layers *layers,
                              const ppsched_split *split, ppsched_error *error);
void ppi_parts_clear(struct ppi_parts *parts);

/* The first layer with the name of an entry's layers. */
uint32_t ppi_parts_first_named(const struct ppi_parts *parts, uint32_t entry);

bool ppi_parts_is_recomputed(const struct ppi_parts *parts, uint32_t layer);

/* OK, or REFUSED where the head has its weights from the embedding, for a runtime that wants weights for each. `parts` may be
 * NULL. */
ppsched_status ppi_parts_are_untied(const struct ppi_parts *parts, const char *title, ppsched_error *error);

/* Makes Megatron-LM's layout of it; REFUSED where that has none. */
ppsched_status ppi_parts_lay_out(struct ppi_parts *parts, uint32_t devices, ppsched_error *error);

/* Whether the rules have a word or a number for a kind, and which layers that is of. */
bool ppi_rules_tell(const struct ppi_split_rules *rules, const char *kind, enum ppi_reach *reach);

/* Whether all stages must have as many decoders. */
static inline bool ppi_rules_divide_evenly(const struct ppi_split_rules *rules, bool is_v)
{
    return !rules->may_be_uneven || (rules->even_on_v != NULL && is_v);
}

/* How many of a stage's decoders have the kind. */
uint32_t ppi_parts_count_first(const struct ppi_parts *parts, uint32_t stage);

/* OK, or REFUSED where a runtime cannot be told that split; `title` is what it calls itself, `is_even` whether it divides
 * evenly. */
ppsched_status ppi_parts_fit(struct ppi_parts *parts, const struct ppi_split_rules *rules, bool is_even, const char *title,
                             ppsched_error *error);

#endif
