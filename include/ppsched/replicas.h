/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas that differ: data-parallel pipelines of different speeds share a global batch. The
 * functions find a number of microbatches and a split for each replica, so that the slowest replica
 * ends as early as possible. Times are in the units of the configs.
 *
 * Sample:
 *     const double slow[] = {1, 1, 1, 0.5};
 *     const ppsched_layer decoder = {
 *         .size = sizeof decoder, .name = "decoder", .count = 32, .forward_time = 1};
 *     const ppsched_layer *const entries[] = {&decoder};
 *     const ppsched_layers *layers = NULL;
 *     ppsched_config *plain = NULL, *other = NULL;
 *     ppsched_replicas *replicas = NULL;
 *     ppsched_status status = ppsched_layers_create(&layers, entries, 1, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_config_create(&plain, 4, 4, 1, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_config_copy(&other, plain, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_config_set_values(other, PPSCHED_QUANTITY_DEVICE_SPEEDS, slow, 4, NULL);
 *     if (status == PPSCHED_OK) {
 *         const ppsched_config *const configs[] = {plain, plain, other};
 *         const ppsched_replicas_options options = {.size = sizeof options,
 *                                                   .microbatches = 48,
 *                                                   .strategy = "1f1b",
 *                                                   .layers = layers};
 *         status = ppsched_replicas_create(&replicas, configs, 3, &options, NULL);
 *     }
 *     ppsched_replicas_destroy(replicas);
 *     ppsched_config_destroy(other);
 *     ppsched_config_destroy(plain);
 *     ppsched_layers_release(layers);
 */
#ifndef PPSCHED_REPLICAS_H
#define PPSCHED_REPLICAS_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/layers.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result: the share of each replica.
 * Lifetime: the caller destroys it.
 * Thread-safety: the shares never change; any number of threads may read them at the same time. */
typedef struct ppsched_replicas ppsched_replicas;

/* What the replicas share. Set `size` to sizeof of this struct. A field that is 0 has its default.
 * Data behind pointers is read only during the call. */
typedef struct ppsched_replicas_options {
    uint32_t size;
    uint32_t microbatches;        /* number of microbatches of the global batch, for all replicas
                                     together; at least one for each replica. Required */
    const char *strategy;         /* name of the strategy of all replicas; required */
    const ppsched_layers *layers; /* the layers of the model; required */
    uint32_t chunks;              /* number of stages per device. Default: 1 */
    uint32_t group_size;          /* group size of strategies with groups. Default: the number of
                                     devices of the replica */
    uint32_t free_device_order;   /* 1: the order of devices is searched, too */
    uint32_t split_effort;        /* effort of the search for splits, as `effort` of
                                     ppsched_split_options. Default: 3, or 2 with several stages per
                                     device */
} ppsched_replicas_options;

/* The figures of all replicas. Set `size` to sizeof of this struct. */
typedef struct ppsched_replicas_figures {
    uint32_t size;
    uint32_t proved;        /* 1: no other shares, splits or orders of devices give a shorter
                               step */
    double step_time;       /* step time of the replica that takes longest */
    double equal_step_time; /* the value that `step_time` would have if all replicas had equal
                               shares and their best splits. If the number of microbatches is not a
                               multiple of the number of replicas, the first replicas have one
                               microbatch more. 0 if a replica cannot run its equal share */
} ppsched_replicas_figures;

/* The share of a replica. Set `size` to sizeof of this struct. Its pointers are borrowed from the
 * ppsched_replicas. */
typedef struct ppsched_replica {
    uint32_t size;
    uint32_t microbatches;        /* number of microbatches of the replica */
    uint32_t stages;              /* length of `split` */
    uint32_t devices;             /* length of device_order */
    uint32_t layers;              /* length of `recomputes` */
    uint32_t proved;              /* 1: no other split of the replica takes less time with this
                                     number of microbatches */
    double step_time;             /* step time of this replica alone */
    const uint32_t *split;        /* number of layers of each stage */
    const uint32_t *device_order; /* for each place in the pipeline, the number of the device in
                                     this place, as in the replica's config */
    const uint8_t *recomputes;    /* for each layer 0 (no recomputation), or the number of its kind
                                     of recomputation, counted from 1 */
} ppsched_replica;

/* Finds the shares with which the slowest replica takes the least time. The progress callback of a
 * config may cancel the call.
 *   - `configs` has `count` configs, one for each replica, with the replica's devices and their
 *     speeds, links and limits. The call ignores the numbers of microbatches of these configs, and
 *     their lists with values per stage. Equal replicas may share one config. The call then takes
 *     less time.
 *   - For each number of microbatches, a replica has the split that the search of plans finds. With
 *     these splits, no other shares are better than the result. This holds although the call skips
 *     some searches. It skips the search for a replica with m microbatches only if a lower bound on
 *     the time of this replica with m microbatches is above the step time of the result.
 *   - Every replica takes at least one microbatch, and fits the memory limits.
 * In the training, the loss of a replica must be the sum of the losses of its microbatches, divided
 * by the number of microbatches of the whole global batch. It must not be the mean over the
 * replica's own microbatches.
 * Errors: ARGUMENT, STRUCT_SIZE, UNKNOWN_STRATEGY, RANGE, CANCELLED, NO_MEMORY; REFUSED in these
 *   cases:
 *   - the strategy supports none of the shares, or no shares fit the memory limits;
 *   - a config has a placement map, a stage graph, stage_scale, a robust objective, or microbatches
 *     with different costs. */
PPSCHED_API ppsched_status ppsched_replicas_create(ppsched_replicas **out,
                                                   const ppsched_config *const *configs,
                                                   size_t count,
                                                   const ppsched_replicas_options *options,
                                                   ppsched_error *error);

/* Frees the shares. NULL is accepted. */
PPSCHED_API void ppsched_replicas_destroy(ppsched_replicas *replicas);

/* Returns the figures of all replicas.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_replicas_get_figures(ppsched_replicas_figures *out,
                                                        const ppsched_replicas *replicas,
                                                        ppsched_error *error);

/* Returns the share of a replica. `replica` is its index in `configs`.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE if there is no such replica. */
PPSCHED_API ppsched_status ppsched_replicas_get_replica(ppsched_replica *out,
                                                        const ppsched_replicas *replicas,
                                                        size_t replica, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
