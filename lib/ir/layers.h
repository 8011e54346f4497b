/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a model's layers, and the config that a split of it makes: see <ppsched/layers.h>. */
#ifndef PPSCHED_IR_LAYERS_H
#define PPSCHED_IR_LAYERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <ppsched/layers.h>

#include "base/arena.h"
#include "ir/config.h"

/* Costs of a layer, or sums over layers; all but the last two are per microbatch. RELEASED: released at the end of I. ADDED:
 * what I takes instead. AGAIN: recomputed activations. The latter two are held from the start of I until the end of W. */
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
    double added; /* to the backward time */
};

struct ppi_layer_entry {
    ppsched_layer given;          /* completed; the list owns name and recomputes */
    struct ppi_layer_kind *kinds; /* without recomputation, then with each of its kinds */
};

struct ppsched_layers {
    ppsched_layers *self; /* mutable, to count references and to free; all else is constant */
    struct ppi_host host;
    atomic_uint references;
    struct ppi_arena arena;
    struct ppi_layer_entry *entries;
    uint32_t entry_count;
    uint32_t count;     /* of layers */
    uint32_t first;     /* layers that must be in the first stage */
    uint32_t last;      /* layers that must be in the last stage */
    uint32_t types;     /* of devices, after type 0, for which entries have other times; 0: none */
    bool has_windows;   /* all entries have windows */
    uint16_t *entry_of; /* by layer: index of its entry */
    bool *is_cut;       /* by layer: a stage may begin with it */
};

ppsched_status ppi_layers_make(const ppsched_layers **out, const struct ppi_host *host, const ppsched_layer *const *layers,
                               size_t count, ppsched_error *error);
/* Number of blocks: runs of layers that must be in one stage. */
static inline uint32_t ppi_count_blocks(const ppsched_layers *layers)
{
    uint32_t blocks = 1;
    for (uint32_t i = 1; i < layers->count; i++)
        blocks += layers->is_cut[i];
    return blocks;
}

/* A microbatch's costs as multiples of the layers': time of the forward, of the backward, memory of activations, bytes sent.
 * With slices they are those of a slice; `whole` is the size of its microbatch. */
struct ppi_microbatch_size {
    double time, backward, memory, bytes;
    uint32_t slices; /* 0 or 1: none are cut */
    double whole;
};

/* The same layers, with costs for another size of microbatch. */
ppsched_status ppi_layers_resize(const ppsched_layers **out, const ppsched_layers *layers,
                                 const struct ppi_microbatch_size *size, ppsched_error *error);

/* The same layers; no stage may begin between two adjacent layers called `name`. */
ppsched_status ppi_layers_join(const ppsched_layers **out, const ppsched_layers *layers, const char *name,
                               ppsched_error *error);

/* A copy of windows in the arena; NULL where there are none, or memory is short. */
const ppsched_pair_windows *ppi_layer_windows_copy(struct ppi_arena *arena, const ppsched_pair_windows *given);

/* The time of a layer's windows on a channel: forward, backward and weight gradient, without recomputation. */
double ppi_layer_work_on(const ppsched_layer *layer, uint32_t channel);

/* Layers that have windows, with what of their times is on one channel, and without recomputation. */
ppsched_status ppi_layers_on_channel(const ppsched_layers **out, const ppsched_layers *layers, uint32_t channel,
                                     ppsched_error *error);

/* The largest share of attention in a layer's times; 0 if none has any. */
double ppi_layers_most_attention(const ppsched_layers *layers);

/* The share of each stage of a split, by the layers' times without recomputation. */
void ppi_split_attention(double *shares, const ppsched_layers *layers, const ppsched_split *split);

/* Whether memory of some layer may rise inside a backward: it can be recomputed there, or its I takes some. */
bool ppi_layers_rise(const ppsched_layers *layers);

void ppi_layers_retain(const ppsched_layers *layers);
void ppi_layers_release(const ppsched_layers *layers);

static inline const struct ppi_layer_entry *ppi_layer_at(const ppsched_layers *layers, uint32_t layer)
{
    return &layers->entries[layers->entry_of[layer]];
}

/* The factor on the times of an entry's ops of a kind on devices of a type. */
static inline double ppi_type_scale(const ppsched_layers *layers, uint32_t entry, uint32_t type, uint32_t kind)
{
    const double *scale = layers->entries[entry].given.device_scale;
    return type == 0 || scale == NULL ? 1 : scale[(size_t)(type - 1) * PPSCHED_KIND_W + kind - PPSCHED_KIND_F];
}

/* The factor on what recomputation adds on devices of a type: that of all forwards together. */
double ppi_type_scale_again(const ppsched_layers *layers, uint32_t type);

/* The type of a device, as its times of layers differ. */
uint32_t ppi_type_of(const ppsched_config *config, const ppsched_layers *layers, uint32_t device);

/* Whether times of ops on devices differ by more than speeds. */
bool ppi_layers_are_scaled(const ppsched_config *config, const ppsched_layers *layers);

/* The least factor on the times of forwards on a device, by which pairs are scaled, too. */
double ppi_layers_pair_scale(const ppsched_config *config, const ppsched_layers *layers, uint32_t device);

/* The speed of a device over all layers together. */
double ppi_layers_speed(const ppsched_config *config, const ppsched_layers *layers, uint32_t device);

/* Times of a layer's ops on a device, without recomputation. */
struct ppi_layer_times {
    double forward, backward, input, weight;
};

struct ppi_layer_times ppi_layer_times_on(const ppsched_config *config, const ppsched_layers *layers, uint32_t entry,
                                          uint32_t device);

/* Checks that a split holds all layers and obeys their rules, else RANGE. */
ppsched_status ppi_split_check(const ppsched_layers *layers, const ppsched_split *split, ppsched_error *error);

/* The config of a checked split: `config`, with the stage costs from its layers. */
ppsched_status ppi_layers_config(ppsched_config **out, const ppsched_config *config, const ppsched_layers *layers,
                                 const ppsched_split *split, ppsched_error *error);

#endif
