/* SPDX-License-Identifier: Apache-2.0 */
/* A model as a list of layers, and its splits. A split says which layers are in which stage, and
 * which layers are recomputed. In these comments, F is a forward, and B is a backward. A backward
 * may be split into I, for the input gradient, and W, for the weight gradient.
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
#include <ppsched/pair.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layers of a model, in order.
 * Lifetime: immutable and reference-counted. The caller that makes a list holds its first
 *   reference. Configs copy the values that they use. Each plan holds its own reference.
 * Thread-safety: any number of threads may use a list at the same time. */
typedef struct ppsched_layers ppsched_layers;

/* The largest number of layers of a model, and the largest number of kinds of recomputation of a
 * layer. */
#define PPSCHED_MAX_LAYERS 65535
#define PPSCHED_MAX_RECOMPUTES 8

/* The stage in which a layer must be. */
enum ppsched_layer_place {
    PPSCHED_LAYER_PLACE_ANY = 0,
    PPSCHED_LAYER_PLACE_FIRST = 1, /* the layer is in the first stage. Example: the embedding.
                                      Layers with this place come before all other layers */
    PPSCHED_LAYER_PLACE_LAST = 2   /* the layer is in the last stage. Example: the head. Layers with
                                      this place come after all other layers */
};

/* Properties of a layer. */
enum ppsched_layer_flag {
    /* The layer is in the same stage as the layer after it. In an entry of several layers, each of
     * these layers is in the same stage as the layer after it. So the last layer of the entry is in
     * the same stage as the first layer after the entry. */
    PPSCHED_LAYER_FLAG_WITH_NEXT = 1,

    /* The last stage also holds the weights and static memory of this layer. Example: an embedding
     * that shares its weights with the head. Only for a layer of the first stage. */
    PPSCHED_LAYER_FLAG_TIED = 2,

    /* Each stage with such a layer, except the first stage, holds a copy of the weights and static
     * memory of all layers with PPSCHED_LAYER_PLACE_FIRST. Example: in Megatron-LM, stages with MTP
     * layers (multi-token prediction) hold such a copy of the embedding. If the last stage has such
     * a layer, this stage holds the copy in addition to tied weights. Not for a layer of the first
     * stage. */
    PPSCHED_LAYER_FLAG_COPIES_EMBEDDING = 4,

    /* The flag COPIES_EMBEDDING of other layers does not copy this layer. Example: a vision tower.
     * Only for a layer of the first stage. */
    PPSCHED_LAYER_FLAG_NOT_COPIED = 8,

    /* The layer's output has several residual streams (hyper-connections, as in DeepSeek-V4). Some
     * runtimes send only one stream from stage to stage. */
    PPSCHED_LAYER_FLAG_SEVERAL_STREAMS = 16
};

/* A kind of recomputation. The layer's backward computes some or all activations of the layer
 * again. So the layer holds less memory between its forward and its backward. A plain record: its
 * layout never changes.
 *   - When an I starts, it recomputes all recomputed layers of its stage. The activations of these
 *     layers are held until W ends.
 *   - A B recomputes one layer after another, and holds the recomputed activations of one layer at
 *     a time. The largest such memory of a layer in the stage counts during the whole B. */
typedef struct ppsched_recompute {
    const char *name;   /* name of the kind of recomputation, such as "selective" or "full". The
                           kinds of one layer must have different names */
    double time;        /* time of the recomputation, which is added to B, or to I if the backward
                           is split; 0 or more */
    double mem_forward; /* memory that the recomputed layer holds from F to the backward, for one
                           microbatch; at least 0, at most mem_forward of the layer */
} ppsched_recompute;

/* One layer, or several consecutive equal layers. Set `size` to sizeof of this struct. Times and
 * memory are in the caller's units. All values are finite. mem_backward_input and
 * mem_backward_weight are the amounts by which I and W change the memory: mem_backward_weight is 0
 * or less, and mem_backward_input may have any sign. All other values are 0 or more.
 *   - Backward times that are 0 are computed from backward = input + weight. If input and weight
 *     are both 0, each is half of backward.
 *   - If only mem_backward_input is 0, I releases the memory that W does not release. If only
 *     mem_backward_weight is 0, W releases the memory that I does not release. If both are 0, W
 *     releases all.
 *   - If mem_backward_input is positive, this memory is held from the start of I to the end of W,
 *     and also while a B runs.
 *   - From I to W a layer holds mem_forward + mem_backward_input, also if the layer is
 *     recomputed. */
typedef struct ppsched_layer {
    uint32_t size;
    uint32_t count;   /* number of consecutive equal layers; 0 means 1 */
    const char *name; /* "embedding", "decoder", "moe_decoder", "mtp", "head", or a name of the
                         caller's choice; copied */
    int32_t place;    /* enum ppsched_layer_place */
    uint32_t flags;   /* enum ppsched_layer_flag */
    double forward_time;
    double backward_time;
    double backward_input_time;
    double backward_weight_time;
    double mem_forward; /* activation memory of one microbatch, held from F to the backward */
    double mem_backward_input;
    double mem_backward_weight;
    double mem_static;
    double mem_weights;
    double output_bytes;                 /* bytes of the output of its forward, for one microbatch.
                                            The gradient of this output has the same size */
    const ppsched_recompute *recomputes; /* its kinds of recomputation; copied. NULL if there are
                                            none */
    uint32_t recompute_count;            /* length of `recomputes`, at most
                                            PPSCHED_MAX_RECOMPUTES */
    uint32_t type_count;                 /* number of device types, not counting type 0, for which
                                            device_scale has values; up to 255. All entries in which
                                            type_count is not 0 must have the same type_count */
    /* For a decoder or MTP layer of a hybrid model: its symbols in Megatron-LM's
     * --hybrid-layer-pattern, such as "M" or "*-"; copied. The symbols are: M Mamba-2, G gated
     * delta rule, * attention, + latent attention, D latent attention with an index, - MLP, E
     * experts. An empty text means that the pattern has no symbol for the layer. NULL means that
     * the layer is a transformer layer of a model that is not hybrid. */
    const char *hybrid_symbols;
    /* Factors on the times above for devices of types 1 to type_count
     * (PPSCHED_QUANTITY_LAYER_TYPES). The times above are for type 0. The list has four factors for
     * each type, in the order F, B, I, W. A factor is 0 or more; with 0 the op takes no time.
     * Copied. NULL: all factors are 1. The time that recomputation adds has a factor of its own for
     * each type: the time of all forwards of the model together on a device of this type, divided
     * by their time on a device of type 0. */
    const double *device_scale;
    /* The windows of the layer's F, I and W (pair.h); copied. The times of overlapped pairs are
     * computed from these windows. The windows of an op must together take as long as the op. NULL:
     * the windows are not known. Either all entries have windows, or none. Recomputation adds
     * windows before the windows of I. If the recomputation takes at least as long as F, all
     * windows of F are added. Otherwise one window is added, on the channel of F's first window. */
    const ppsched_pair_windows *windows;
    /* Additional memory of the layer if a plan cuts whole microbatches into slices
     * (ppsched_slice_options). The next two values are for a whole microbatch. Each is 0 or
     * more. */
    double mem_slice_state;     /* memory of the state that a slice gets from the slice before, such
                                   as the state of a scan. Each slice holds this state from its F to
                                   its backward */
    double mem_slice_gradients; /* memory of gradients of keys and values, which are summed over the
                                   backwards of the slices. With K slices, the device holds (K - 1)
                                   / K of this memory */
    double attention_share;     /* share of causal attention in the layer's times, from 0 to 1.
                                   Plans with slices use it, because the time of attention grows
                                   from slice to slice */
} ppsched_layer;

/* A split: how many layers each stage has, and how each layer is recomputed. Stages take the layers
 * in their order. Set `size` to sizeof of this struct. */
typedef struct ppsched_split {
    uint32_t size;
    uint32_t stages;           /* number S of virtual stages of the whole model */
    const uint32_t *layers;    /* number of layers of each stage, S values. A stage with 0 layers
                                  sends its input to the next stage */
    const uint8_t *recomputes; /* for each layer 0 (no recomputation), or the number of its kind of
                                  recomputation, counted from 1. NULL: 0 for all layers */
} ppsched_split;

/* Makes a list of layers from `count` entries. The caller owns one reference to `*out`.
 * `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH if an entry with windows has no window for F or no window
 *   for the backward; RANGE for a value that is not allowed, or if the windows of an op do not take
 *   as long as the op (`error->position` has the index of the entry); NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layers_create(const ppsched_layers **out,
                                                 const ppsched_layer *const *layers, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* ppsched_layers_retain takes one more reference, and returns its argument. ppsched_layers_release
 * gives one reference back. Both accept NULL. */
PPSCHED_API const ppsched_layers *ppsched_layers_retain(const ppsched_layers *layers);
PPSCHED_API void ppsched_layers_release(const ppsched_layers *layers);

/* The number of layers, and the number of entries. An entry of several equal layers counts as
 * several layers. */
PPSCHED_API uint32_t ppsched_layers_count(const ppsched_layers *layers);
PPSCHED_API uint32_t ppsched_layers_entries(const ppsched_layers *layers);

/* Returns an entry as the caller gave it, but with defaults of times and memory filled in. Its
 * pointers are borrowed from the list.
 * Errors: ARGUMENT; RANGE for an entry past the last; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_layers_get_entry(ppsched_layer *out,
                                                    const ppsched_layers *layers, uint32_t entry,
                                                    ppsched_error *error);

/* Makes a copy of `config` whose stages are the stages of `split`. The caller must destroy the
 * copy.
 *   - Times, memory, static memory and weights of a stage are the sums over its layers,
 *     recomputation included. The activation bytes of a stage are the output_bytes of its last
 *     layer. A stage without layers has the activation bytes of the stage before it.
 *   - Other sizes, latencies, bandwidths, limits, iterations, options and the placement do not
 *     change. A placement map is refused.
 *   - The call ignores the lists of `config` that have values per stage, and the overlapped_times
 *     of `config`.
 * Errors: ARGUMENT; STRUCT_SIZE; REFUSED for a placement map; NO_MEMORY; RANGE if the split
 *   - does not contain each layer once;
 *   - separates layers that must stay together;
 *   - puts a layer that must be in the first or the last stage into another stage;
 *   - has an unknown kind of recomputation. */
PPSCHED_API ppsched_status ppsched_config_from_layers(ppsched_config **out,
                                                      const ppsched_config *config,
                                                      const ppsched_layers *layers,
                                                      const ppsched_split *split,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
