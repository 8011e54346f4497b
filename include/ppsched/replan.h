/* SPDX-License-Identifier: Apache-2.0 */
/* Replans a running job when its devices change. The result says with which split and which order
 * of devices the job continues, and which layers move between devices. It also says after how many
 * steps the move has saved more time than it took.
 *
 * Sample:
 *     const double speeds[] = {1, 1, 0.6, 1, 1}; // as measured; device 4 was added
 *     const uint32_t split[] = {8, 8, 8, 8}, lost[] = {1};
 *     const ppsched_layer decoder = {
 *         .size = sizeof decoder, .name = "decoder", .count = 32, .forward_time = 1};
 *     const ppsched_layer *const entries[] = {&decoder};
 *     const ppsched_layers *layers = NULL;
 *     ppsched_config *config = NULL; // all devices, those that are lost, too
 *     ppsched_replan *replan = NULL;
 *     ppsched_status status = ppsched_layers_create(&layers, entries, 1, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_config_create(&config, 5, 5, 16, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds, 5,
 *                                            NULL);
 *     if (status == PPSCHED_OK) {
 *         const ppsched_replan_options options = {.size = sizeof options,
 *                                                 .strategy = "1f1b",
 *                                                 .layers = layers,
 *                                                 .running_split = split,
 *                                                 .running_stages = 4,
 *                                                 .running_devices = 4,
 *                                                 .lost = lost,
 *                                                 .lost_count = 1};
 *         status = ppsched_replan_create(&replan, config, &options, NULL);
 *     }
 *     ppsched_replan_destroy(replan);
 *     ppsched_config_destroy(config);
 *     ppsched_layers_release(layers);
 */
#ifndef PPSCHED_REPLAN_H
#define PPSCHED_REPLAN_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/layers.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result: how a job continues.
 * Lifetime: the caller destroys it.
 * Thread-safety: it never changes; any number of threads may read it at the same time. */
typedef struct ppsched_replan ppsched_replan;

/* The running job, and what changes. Set `size` to sizeof of this struct. A field that is 0 has its
 * default. Lists behind pointers are read only during the call. */
typedef struct ppsched_replan_options {
    uint32_t size;
    uint32_t running_devices;          /* number of devices of the running job. Running devices have
                                          the first numbers in the config. All other devices are
                                          added by the change. Default: all devices are running */
    const char *strategy;              /* strategy of the running job; required */
    const ppsched_layers *layers;      /* the layers of the model; required */
    const uint32_t *running_split;     /* number of layers of each stage of the running job;
                                          required */
    const uint8_t *running_recomputes; /* recomputation of the running job, in the form of
                                          `recomputes` of ppsched_split. Default: no
                                          recomputation */
    const uint32_t *running_order;     /* number of the device in each place of the running
                                          pipeline. Default: devices are in the order of their
                                          numbers */
    const uint32_t *lost;              /* numbers of the lost devices, each once */
    const double *layer_bytes;         /* for each layer the number of bytes that a device receives
                                          when it gets this layer. Default: mem_static +
                                          mem_weights */
    uint32_t running_stages;           /* number of stages of the running job, a multiple of its
                                          devices; required */
    uint32_t lost_count;               /* length of `lost` */
    uint32_t layer_count;       /* length of layer_bytes and of running_recomputes; ignored if both
                                   are NULL */
    uint32_t group_size;        /* group size, for strategies that have one. Default: the number of
                                   devices of the running job; for the result, the number of devices
                                   after the change */
    uint32_t free_device_order; /* 1: the order of devices is searched, too. 0: devices that stay
                                   keep their order. Added devices take the places of lost devices;
                                   further added devices come last */
    uint32_t split_effort;      /* effort of the search for splits, as in ppsched_split_options.
                                   Default: 3, but 2 with several stages per device or with
                                   free_device_order */
    double load_bandwidth;      /* bytes per unit of time with which a device loads layers that no
                                   device holds any longer. Default: infinite */
    double restart_time;        /* time that a change takes in addition to moving and loading
                                   bytes */
    double steps;               /* number of steps that are still to run. The result minimises the
                                   time of these steps and of the move. Default: the result has the
                                   shortest step. Of several such results, the call takes the one
                                   that moves the fewest bytes */
} ppsched_replan_options;

/* The figures of a result. Set `size` to sizeof of this struct. */
typedef struct ppsched_replan_figures {
    uint32_t size;
    uint32_t can_stay;        /* 1: no device is lost, and the running split fits */
    uint32_t stays;           /* 1: the running split and order are kept */
    uint32_t fits;            /* 1: every device is within its memory limit */
    double running_step_time; /* time of a step with the running split and order, in the present
                                 state of the devices; 0 if a device is lost */
    double step_time;         /* time of a step with the result */
    double moved_bytes;       /* bytes that move from device to device */
    double loaded_bytes;      /* bytes that are loaded, because no device holds them any longer */
    double move_time;         /* restart_time, plus the time of the device that takes longest to
                                 move and load. Each device sends, receives and loads at the same
                                 time, layer after layer, with the latencies and bandwidths of the
                                 config. 0 if nothing changes */
    double pays_after;        /* number of steps after which the shorter steps have saved more time
                                 than the move took. 0 if nothing changes, or if the running split
                                 cannot stay */
    uint32_t group_size;      /* group size of the result: the group size of the options, or the
                                 nearest size that the strategy supports on these devices; 0 if the
                                 strategy has none */
    uint32_t reserved;        /* 0 */
} ppsched_replan_figures;

/* Consecutive layers that a device gets. A plain record. */
typedef struct ppsched_layer_move {
    uint32_t first_layer;
    uint32_t layer_count; /* number of layers that move */
    uint32_t from_device; /* the device that holds the layers; PPSCHED_NONE: they are loaded */
    uint32_t to_device;
    double bytes;
} ppsched_layer_move;

/* Finds how a running job continues.
 *   - `config` has all devices: first the devices of the running job, then the added devices. The
 *     lists of `config`, `running_order`, `lost` and the result use the numbers of these devices.
 *     Give measured speeds in device_speeds, device_scale and the lists of links of `config`. The
 *     job continues with the number of microbatches of `config`. Lists of `config` with values per
 *     stage are ignored.
 *   - The strategy and the number of stages per device do not change. Splits are searched as in
 *     plans. Then the call assigns layers to devices that already hold them, where this does not
 *     make the step longer. If several devices are equal, the call assigns them to places so that
 *     the fewest bytes move.
 *   - If no other split gives a shorter step, the running split is kept.
 * The config's progress callback may cancel the call.
 * Errors: ARGUMENT, STRUCT_SIZE, UNKNOWN_STRATEGY, LENGTH, CANCELLED, NO_MEMORY; RANGE for a device
 *   that is unknown or named twice, and for a split that does not suit the layers; REFUSED in these
 *   cases:
 *   - no device is left, or the strategy does not support the devices that are left;
 *   - the config has a placement map, a stage graph, stage_scale or a robust objective. */
PPSCHED_API ppsched_status ppsched_replan_create(ppsched_replan **out, const ppsched_config *config,
                                                 const ppsched_replan_options *options,
                                                 ppsched_error *error);

/* Frees the result. NULL is accepted. */
PPSCHED_API void ppsched_replan_destroy(ppsched_replan *replan);

/* Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_replan_get_figures(ppsched_replan_figures *out,
                                                      const ppsched_replan *replan,
                                                      ppsched_error *error);

/* These four functions fill buffers: see ppsched.h. Split: the number of layers of each stage.
 * Recomputes: for each layer, 0 (no recomputation), or the number of its kind of recomputation,
 * counted from 1. Device order: for each place in the pipeline, the number that the config gives to
 * the device in this place. Moves: in the order of the devices that get layers.
 * Errors: ARGUMENT, BUFFER. */
PPSCHED_API ppsched_status ppsched_replan_get_split(uint32_t *out, size_t capacity, size_t *needed,
                                                    const ppsched_replan *replan,
                                                    ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replan_get_recomputes(uint8_t *out, size_t capacity,
                                                         size_t *needed,
                                                         const ppsched_replan *replan,
                                                         ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replan_get_device_order(uint32_t *out, size_t capacity,
                                                           size_t *needed,
                                                           const ppsched_replan *replan,
                                                           ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replan_get_moves(ppsched_layer_move *out, size_t capacity,
                                                    size_t *needed, const ppsched_replan *replan,
                                                    ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
