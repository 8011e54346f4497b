/* SPDX-License-Identifier: Apache-2.0 */
/* A model as a list of layers, and splits of it: which layers each stage has, and which layers are
 * recomputed. Layers are not divided.
 *
 * Sample:
 *     const ppsched_layer decoder = {
 *         .size = sizeof decoder, .name = "decoder", .count = 16, .forward_time = 1};
 *     const ppsched_layer head = {
 *         .size = sizeof head, .name = "head", .place = PPSCHED_LAYER_PLACE_LAST,
 *         .forward_time = 2};
 *     const ppsched_layer *const entries[] = {&decoder, &head};
 *     const uint32_t counts[] = {5, 5, 5, 2};
 *     const ppsched_split split = {.size = sizeof split, .stages = 4, .layers = counts};
 *     ppsched_config *base = NULL, *config = NULL;
 *     const ppsched_layers *layers = NULL;
 *     ppsched_status status = ppsched_layers_create(&layers, entries, 2, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_config_create(&base, 4, 4, 8, NULL, NULL);
 *     if (status == PPSCHED_OK) // the costs of a stage are the sums over its layers
 *         status = ppsched_config_from_layers(&config, base, layers, &split, NULL);
 *     ppsched_config_destroy(config);
 *     ppsched_config_destroy(base);
 *     ppsched_layers_release(layers);
 */
#ifndef PPSCHED_LAYERS_H
#define PPSCHED_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layers of a model, in order.
 * Lifetime: immutable and reference-counted; the caller owns the first reference. Configs copy what
 *   they need; a plan holds a reference of its own.
 * Thread-safety: may be used by any number of threads at once. */
typedef struct ppsched_layers ppsched_layers;

/* Most layers of a model, and most kinds of recomputation of a layer. */
#define PPSCHED_MAX_LAYERS 65535
#define PPSCHED_MAX_RECOMPUTES 8

enum ppsched_layer_place {
    PPSCHED_LAYER_PLACE_ANY = 0,
    PPSCHED_LAYER_PLACE_FIRST = 1, /* in the first stage (embedding); must come before all other
                                      layers */
    PPSCHED_LAYER_PLACE_LAST = 2   /* in the last stage (head, loss); must come after all other
                                      layers */
};

enum ppsched_layer_flag {
    PPSCHED_LAYER_FLAG_WITH_NEXT = 1, /* in the same stage as the layer after it. In an entry of
                                         several layers this holds for each of them, so all are in
                                         one stage, with the first layer of the next entry */
    PPSCHED_LAYER_FLAG_TIED = 2,      /* the last stage holds its weights and static memory, too,
                                         such as those of an embedding whose weights the head
                                         shares. Only for layers with place FIRST */
    PPSCHED_LAYER_FLAG_COPIES_EMBEDDING = 4 /* each stage with such a layer, except the first stage,
                                               also holds the weights and static memory of all
                                               layers with place FIRST once, as Megatron-LM's stages
                                               with MTP layers do. The last stage holds them in
                                               addition to those that are tied. Not for layers with
                                               place FIRST */
};

/* A kind of recomputation of a layer: the backward computes activations again that F did not keep.
 * A plain record.
 *   - An I recomputes all such layers of its stage when it starts, and their activations are held
 *     until W ends.
 *   - A B recomputes one layer after another, so while it runs it holds those of one layer: the
 *     largest. */
typedef struct ppsched_recompute {
    const char *name;   /* such as "selective" or "full"; no two kinds of a layer have the same name
                           */
    double time;        /* added to the backward (to I, if it is split), >= 0 */
    double mem_forward; /* what a microbatch holds from F to the backward, 0 to the layer's
                           mem_forward */
} ppsched_recompute;

/* An entry: one layer, or several equal layers in a row. Sized: set `size`. Times and memory are in
 * the caller's units, finite and >= 0, except that mem_backward_weight is <= 0 and
 * mem_backward_input has any sign.
 *   - Of the three backward times, those that are 0 follow from backward = input + weight. If both
 *     input and weight are 0, each is half of backward.
 *   - If one of mem_backward_input and mem_backward_weight is 0, it releases what the other leaves.
 *     If both are 0, W releases all. A positive mem_backward_input is held from the start of I
 *     until W ends, and while a B runs.
 *   - From I to W a layer holds mem_forward + mem_backward_input, also if it is recomputed. */
typedef struct ppsched_layer {
    uint32_t size;
    uint32_t count;   /* number of layers; 0 means one */
    const char *name; /* "embedding", "decoder", "moe_decoder", "mtp", "head", or another name;
                         copied */
    int32_t place;    /* enum ppsched_layer_place */
    uint32_t flags;   /* bits of enum ppsched_layer_flag */
    double forward_time;
    double backward_time;
    double backward_input_time;
    double backward_weight_time;
    double mem_forward; /* of one microbatch */
    double mem_backward_input;
    double mem_backward_weight;
    double mem_static;
    double mem_weights;
    double output_bytes;                 /* bytes of the output of F for one microbatch, and of the
                                            gradient of this output */
    const ppsched_recompute *recomputes; /* its kinds of recomputation, copied; NULL if there are
                                            none */
    uint32_t recompute_count;            /* up to PPSCHED_MAX_RECOMPUTES */
    uint32_t reserved;                   /* 0 */
} ppsched_layer;

/* Which layers each stage has. Layers stay in order, so the number of layers of each stage says it
 * all. Sized: set `size`. */
typedef struct ppsched_split {
    uint32_t size;
    uint32_t stages;           /* S, virtual stages of the whole model */
    const uint32_t *layers;    /* number of layers of each stage, S values; a stage with 0 layers
                                  outputs its input */
    const uint8_t *recomputes; /* for each layer 0, or the number, from 1, of its kind of
                                  recomputation; NULL: 0 for all */
} ppsched_split;

/* Makes a list of `count` entries. `environment` may be NULL. The caller owns one reference to
 * `*out`.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, where `error->position` is the index of the entry;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layers_create(const ppsched_layers **out,
                                                 const ppsched_layer *const *layers, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* Adds a reference, which the caller releases. Returns its argument. NULL is accepted. */
PPSCHED_API const ppsched_layers *ppsched_layers_retain(const ppsched_layers *layers);

/* Releases a reference; the last release frees the layers. NULL is accepted. */
PPSCHED_API void ppsched_layers_release(const ppsched_layers *layers);

/* Number of layers, where each layer of an entry counts; and number of entries. */
PPSCHED_API uint32_t ppsched_layers_count(const ppsched_layers *layers);
PPSCHED_API uint32_t ppsched_layers_entries(const ppsched_layers *layers);

/* An entry as it was given, with all times and memory filled in; what it points to is borrowed.
 * Errors: ARGUMENT, RANGE past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_layers_get_entry(ppsched_layer *out,
                                                    const ppsched_layers *layers, uint32_t entry,
                                                    ppsched_error *error);

/* Makes a config like `config` whose stages are those of a split.
 *   - Times, memory, static memory and weights of each stage are the sums over its layers,
 *     including recomputation. The bytes of its activations are those of its last layer; for a
 *     stage without layers, those of the stage before.
 *   - All else stays: the other sizes, latencies, bandwidths, limits, iterations, placement and
 *     options.
 *   - Costs of stages, and overlapped_times, of `config` are not read.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE where the stages do not have each layer once, layers that
 *   must stay together are in two stages, a layer for the first or last stage is in another one, or
 *   a kind of recomputation is unknown; REFUSED where the placement is a map; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_from_layers(ppsched_config **out,
                                                      const ppsched_config *config,
                                                      const ppsched_layers *layers,
                                                      const ppsched_split *split,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
