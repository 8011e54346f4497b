/* SPDX-License-Identifier: Apache-2.0 */
/* The model's layers in a launch command: what each stage has, what is recomputed, and what of that a runtime can express. */
#ifndef PPSCHED_LAUNCH_LAYERS_H
#define PPSCHED_LAUNCH_LAYERS_H

#include "ir/layers.h"
#include "ir/recompute_scope.h"
#include "launch/line.h"
#include "layout/layout.h"

/* How a runtime is told which layers are recomputed. */
enum ppi_recomputed {
    PPI_RECOMPUTED_NONE,
    PPI_RECOMPUTED_FIRST, /* by a number of decoders of each stage */
    PPI_RECOMPUTED_ALL,   /* by a word: all but the ends, or all with some names */
    PPI_RECOMPUTED_ANY    /* by the training script */
};

/* Words of a runtime for all layers. */
enum { PPI_ALL_KINDS = 2 };

/* What a runtime supports of a split. */
struct ppi_split_rules {
    bool takes_list;                /* the model is a list of the caller's layers, of any types */
    bool has_mtps;                  /* else: MTP layers can be given */
    bool may_be_uneven;             /* stages may have any numbers of decoders, except: */
    const char *even_on_v;          /* why not on a V placement, or NULL */
    bool refuses_hybrids;           /* no model with Mamba, and none of single blocks */
    bool sends_one_stream;          /* from stage to stage, also where the model has several residual streams */
    bool may_be_empty;              /* stages other than the ends may have none */
    bool may_recompute_any;         /* each layer can choose; else */
    bool by_name;                   /* `all` applies to layers by their names, not to all but the ends */
    const char *first;              /* kind that the first few decoders of each stage may have, or NULL */
    bool by_stage;                  /* `first` has a number for each stage, not one for all */
    const char *all[PPI_ALL_KINDS]; /* kinds that all layers may have, or NULL */
};

struct ppi_parts {
    struct ppi_arena arena;
    const ppsched_layers *layers;
    const ppsched_split *split;
    ppsched_layout_stage *stages;
    uint32_t decoders, mtps;        /* of the model */
    bool is_even;                   /* all stages have equally many decoders */
    bool is_hybrid;                 /* some layer has hybrid_symbols */
    bool has_streams;               /* some layer has several residual streams */
    const char *kind;               /* of the first recomputed layer; NULL: none */
    bool has_kinds;                 /* some layer has recompute kinds */
    uint32_t first;                 /* the most recomputed layers of a stage */
    enum ppi_recomputed recomputed; /* for the runtime that was checked last */
    ppsched_layout *layout;         /* made by ppi_parts_lay_out, or NULL */
    const char *pattern;            /* made by ppi_hybrid_lay_out, or NULL */
};

/* Layers placed in the first stage are the embedding, those placed in the last the head with the loss, those called "mtp" MTP
 * layers, all others decoders. Where no layer has a place, embedding and head are assumed. The split was checked. */
ppsched_status ppi_parts_make(struct ppi_parts *out, const struct ppi_host *host, const ppsched_layers *layers,
                              const ppsched_split *split, ppsched_error *error);
void ppi_parts_clear(struct ppi_parts *parts);

/* The first layer with the name of an entry's layers. */
uint32_t ppi_parts_first_named(const struct ppi_parts *parts, uint32_t entry);

bool ppi_parts_is_recomputed(const struct ppi_parts *parts, uint32_t layer);

/* OK, or REFUSED where the head shares the embedding's weights, for a runtime that requires separate ones. `parts` may be
 * NULL. */
ppsched_status ppi_parts_are_untied(const struct ppi_parts *parts, const char *title, ppsched_error *error);

/* Makes Megatron-LM's layout of the split; REFUSED where there is none. */
ppsched_status ppi_parts_lay_out(struct ppi_parts *parts, uint32_t devices, ppsched_error *error);

/* Whether the rules have a word or a number for a kind; `*reach`: which layers that applies to. */
bool ppi_rules_tell(const struct ppi_split_rules *rules, const char *kind, enum ppi_reach *reach);

/* Whether all stages must have equally many decoders. */
static inline bool ppi_rules_divide_evenly(const struct ppi_split_rules *rules, bool is_v)
{
    return !rules->may_be_uneven || (rules->even_on_v != NULL && is_v);
}

/* The number of a stage's decoders that have the kind. */
uint32_t ppi_parts_count_first(const struct ppi_parts *parts, uint32_t stage);

/* OK, or REFUSED where a runtime cannot run the split. `title`: the runtime's name; `is_even`: whether it divides evenly. */
ppsched_status ppi_parts_fit(struct ppi_parts *parts, const struct ppi_split_rules *rules, bool is_even, const char *title,
                             ppsched_error *error);

#endif
