/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a model's layers, and the config of a split of it: see <ppsched/layers.h>. */
#ifndef PPSCHED_IR_LAYERS_H
#define PPSCHED_IR_LAYERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <ppsched/layers.h>

#include "base/arena.h"
#include "ir/config.h"

/* What a layer, or a sum of layers, costs: per microbatch but for the last two. RELEASED is what the end of I gives back, ADDED
 * what I takes instead, and AGAIN what is computed again: both from I's start until W's end. */
enum ppi_layer_cost {
    PPI_LAYER_FORWARD,
    PPI_LAYER_BACKWARD,
    PPI_LAYER_INPUT,
    PPI_LAYER_WEIGHT,
    PPI_LAYER_MEM_FORWARD,
    PPI_LAYER_MEM_RELEASED,
    PPI_LAYER_MEM_WEIGHT,
    PPI_LAYER_MEM_AGAIN,
    PPI_LAYER_MEM_ADDED,
    PPI_LAYER_STATIC,
    PPI_LAYER_WEIGHTS,
    PPI_LAYER_COSTS
};

/* An entry's costs with one kind of recomputation; 0 is none. */
struct ppi_layer_kind {
    double cost[PPI_LAYER_COSTS];
    double added; /* to the backward */
};

struct ppi_layer_entry {
    ppsched_layer given;          /* completed; name and recomputes are the list's */
    struct ppi_layer_kind *kinds; /* none, then its own */
};

struct ppsched_layers {
    ppsched_layers *self; /* for who changes the count, and for who frees it; all else is constant */
    struct ppi_host host;
    atomic_uint references;
    struct ppi_arena arena;
    struct ppi_layer_entry *entries;
    uint32_t entry_count;
    uint32_t count;     /* layers */
    uint32_t first;     /* how many belong into the first stage */
    uint32_t last;      /* how many into the last */
    uint16_t *entry_of; /* of each layer */
    bool *is_cut;       /* of each layer, whether a stage may begin with it */
};

ppsched_status ppi_layers_make(const ppsched_layers **out, const struct ppi_host *host, const ppsched_layer *const *layers,
                               size_t count, ppsched_error *error);
/* What cannot be apart is one block. */
static inline uint32_t ppi_count_blocks(const ppsched_layers *layers)
{
    uint32_t blocks = 1;
    for (uint32_t i = 1; i < layers->count; i++)
        blocks += layers->is_cut[i];
    return blocks;
}

/* What a microbatch takes as a multiple of what layers say: its forward's time, its backward's, memory of activations and
 * bytes. */
struct ppi_microbatch_size {
    double time, backward, memory, bytes;
};

/* The same layers with microbatches of another size. */
ppsched_status ppi_layers_resize(const ppsched_layers **out, const ppsched_layers *layers,
                                 const struct ppi_microbatch_size *size, ppsched_error *error);

/* The same layers, of which those with a name are not apart where they are behind each other. */
ppsched_status ppi_layers_join(const ppsched_layers **out, const ppsched_layers *layers, const char *name,
                               ppsched_error *error);

/* Whether memory of some layer may rise inside a backward: it can be computed again there, or its I takes some. */
bool ppi_layers_rise(const ppsched_layers *layers);

void ppi_layers_retain(const ppsched_layers *layers);
void ppi_layers_release(const ppsched_layers *layers);

static inline const struct ppi_layer_entry *ppi_layer_at(const ppsched_layers *layers, uint32_t layer)
{
    return &layers->entries[layers->entry_of[layer]];
}

/* Whether a split holds all layers as it should, else RANGE. */
ppsched_status ppi_split_check(const ppsched_layers *layers, const ppsched_split *split, ppsched_error *error);

/* The config of a split that was checked: like `config`, apart from what stages cost. */
ppsched_status ppi_layers_config(ppsched_config **out, const ppsched_config *config, const ppsched_layers *layers,
                                 const ppsched_split *split, ppsched_error *error);

#endif
