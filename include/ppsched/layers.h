/* SPDX-License-Identifier: Apache-2.0 */
/* A model by its layers, and splits of it: which whole layers are in which stage, and which of them
 * compute their activations again.
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
 *     if (status == PPSCHED_OK) // the stages' costs are those of their layers
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
 * Lifetime: immutable and reference-counted; the maker holds the first reference. Configs copy what
 *   they need; plans hold a reference of their own.
 * Thread-safety: may be used by any number of threads at once. */
typedef struct ppsched_layers ppsched_layers;

/* Most layers of a model, and most kinds of recomputation of a layer. */
#define PPSCHED_MAX_LAYERS 65535
#define PPSCHED_MAX_RECOMPUTES 8

enum ppsched_layer_place {
    PPSCHED_LAYER_PLACE_ANY = 0,
    PPSCHED_LAYER_PLACE_FIRST = 1, /* in the first stage (embedding); only before all others */
    PPSCHED_LAYER_PLACE_LAST = 2   /* in the last stage (head, loss); only behind all others */
};

enum ppsched_layer_flag {
    PPSCHED_LAYER_FLAG_WITH_NEXT = 1, /* never in another stage than the layer after it; of several
                                         equal ones the last with what follows, and each with the
                                         one after it */
    PPSCHED_LAYER_FLAG_TIED = 2,      /* the last stage holds its weights and static memory too, as
                                         an embedding whose weights the head shares; only of a layer
                                         in the first stage */
    PPSCHED_LAYER_FLAG_COPIES_EMBEDDING =
        4, /* each stage with such layers, but the first, holds the
                                               weights and static memory of those with place FIRST
                                               too, once, as Megatron-LM's stages with MTP layers
                                               do, the last beside what is tied; not of a layer in
                                               the first stage */
    PPSCHED_LAYER_FLAG_NOT_COPIED =
        8 /* stages with such copies do not hold it: a tower in the first
                                         stage; only of a layer in the first stage */
};

/* A way to keep less of a layer's activations: they are computed again in its backward. A plain
 * record. An I computes all such layers of its stage again when it starts, and they stay until W
 * ends; a B computes one after the other again, so that it holds the largest while it runs. */
typedef struct ppsched_recompute {
    const char *name;   /* such as "selective" or "full"; no two of a layer alike */
    double time;        /* added to the backward (to I where it is split), >= 0 */
    double mem_forward; /* what remains of a microbatch's memory until then, 0 to the layer's own */
} ppsched_recompute;

/* One layer, or several equal ones behind each other. Sized: set `size`. Times and memory in the
 * caller's units, finite and >= 0; mem_backward_weight is <= 0, mem_backward_input of any sign.
 *   - Of the three backward times those that are 0 are what is left of backward = input + weight;
 *     where both of these are 0, each is half of backward.
 *   - Of mem_backward_input and mem_backward_weight one that is 0 releases what the other leaves;
 *     where both are 0, W releases all. A positive mem_backward_input is taken when I starts, until
 *     W ends, and while a B runs. From I to W a layer holds mem_forward + mem_backward_input, also
 *     one that is computed again. */
typedef struct ppsched_layer {
    uint32_t size;
    uint32_t count;   /* how many; 0 means one */
    const char *name; /* "embedding", "decoder", "moe_decoder", "mtp", "head", or the caller's own;
                         copied */
    int32_t place;    /* enum ppsched_layer_place */
    uint32_t flags;   /* enum ppsched_layer_flag */
    double forward_time;
    double backward_time;
    double backward_input_time;
    double backward_weight_time;
    double mem_forward; /* of one microbatch */
    double mem_backward_input;
    double mem_backward_weight;
    double mem_static;
    double mem_weights;
    double output_bytes;                 /* of what its forward hands on, for one microbatch; its
                                            gradient has as many */
    const ppsched_recompute *recomputes; /* its kinds, copied; NULL where there are none */
    uint32_t recompute_count;            /* up to PPSCHED_MAX_RECOMPUTES */
    uint32_t reserved;                   /* 0 */
} ppsched_layer;

/* Which layers are in which stage: they stay in order, so it takes their number alone. Sized: set
 * `size`. */
typedef struct ppsched_split {
    uint32_t size;
    uint32_t stages;           /* S, virtual stages of the whole model */
    const uint32_t *layers;    /* of each stage how many, S values; 0 is a stage that hands on what
                                  it gets */
    const uint8_t *recomputes; /* of each layer 0, or the number from 1 of its kind of
                                  recomputation; NULL: 0 for all */
} ppsched_split;

/* Makes a list of `count` entries. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, where `error->position` is the entry's index; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layers_create(const ppsched_layers **out,
                                                 const ppsched_layer *const *layers, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* One more reference, which ppsched_layers_release gives back; returns its argument. NULL is
 * accepted by both. */
PPSCHED_API const ppsched_layers *ppsched_layers_retain(const ppsched_layers *layers);
PPSCHED_API void ppsched_layers_release(const ppsched_layers *layers);

/* How many layers there are, equal ones counted one by one; and how many entries. */
PPSCHED_API uint32_t ppsched_layers_count(const ppsched_layers *layers);
PPSCHED_API uint32_t ppsched_layers_entries(const ppsched_layers *layers);

/* An entry as it was given, with all times filled in; what it points to is borrowed.
 * Errors: ARGUMENT, RANGE past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_layers_get_entry(ppsched_layer *out,
                                                    const ppsched_layers *layers, uint32_t entry,
                                                    ppsched_error *error);

/* A config like `config` whose stages are those of a split of the layers: times, memory, static
 * memory and weights of each stage are the sums over its layers, recomputation included; its
 * activations have the bytes of its last layer, of a stage without layers those of the one before.
 *   - Sizes but that of stages, latencies, bandwidths, limits, iterations, placement (a map is
 *     refused) and options stay.
 *   - What `config` says of stages, and overlapped_times, is not read.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE where the split does not hold all layers once, parts some
 *   that must stay together, has a first or last layer in another stage or an unknown kind of
 *   recomputation; REFUSED for a map; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_from_layers(ppsched_config **out,
                                                      const ppsched_config *config,
                                                      const ppsched_layers *layers,
                                                      const ppsched_split *split,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
