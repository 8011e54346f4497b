/* SPDX-License-Identifier: Apache-2.0 */
/* Replans a running job when its devices change: devices are slower than planned, are lost, or are
 * added. The result says with which split and which order of devices the job continues, and which
 * layers move between devices. It also says after how many steps the move has saved as much time as
 * it took. Times and memory are in the units of the config.
 *
 * Sample:
 *     const double speeds[] = {1, 1, 0.6, 1, 1}; // as measured; device 4 was added
 *     const uint32_t split[] = {8, 8, 8, 8}, lost[] = {1};
 *     const ppsched_layer decoder = {
 *         .size = sizeof decoder, .name = "decoder", .count = 32, .forward_time = 1};
 *     const ppsched_layer *const entries[] = {&decoder};
 *     const ppsched_layers *layers = NULL;
 *     ppsched_config *config = NULL; // all devices, lost devices included
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
 * Thread-safety: a result never changes; any number of threads may read it at the same time. */
typedef struct ppsched_replan ppsched_replan;

/* The running job, and what changes. Set `size` to sizeof of this struct. A field that is 0 has its
 * default. All lists are read only during the call. */
typedef struct ppsched_replan_options {
    uint32_t size;
    uint32_t running_devices;          /* number of devices of the running job, lost devices
                                          included. These devices have the first numbers in the
                                          config. All other devices of the config are added by the
                                          change. Default: all devices are devices of the running
                                          job */
    const char *strategy;              /* strategy of the running job; required */
    const ppsched_layers *layers;      /* the layers of the model; required */
    const uint32_t *running_split;     /* number of layers of each stage of the running job;
                                          required */
    const uint8_t *running_recomputes; /* recomputation of each layer in the running job, as
                                          `recomputes` of ppsched_split. Default: no
                                          recomputation */
    const uint32_t *running_order;     /* for each place in the running pipeline, the number of the
                                          device in this place. Default: devices are in the order of
                                          their numbers */
    const uint32_t *lost;              /* numbers of the devices of the running job that are lost,
                                          each once */
    const double *layer_bytes;         /* for each layer, the number of bytes that a device must
                                          receive to get this layer. Default: mem_static +
                                          mem_weights of the layer */
    uint32_t running_stages;           /* number of stages of the running job, a multiple of
                                          running_devices; required */
    uint32_t lost_count;               /* length of `lost` */
    uint32_t layer_count;       /* length of layer_bytes and of running_recomputes: the number of
                                   layers of the model. Ignored if both are NULL */
    uint32_t group_size;        /* group size of the running job and of the result, for strategies
                                   that have one. Default: for the running job the number of its
                                   devices, for the result the number of devices after the change */
    uint32_t free_device_order; /* 1: the order of devices is searched, too. 0: devices that stay
                                   keep their order. Added devices take the places of lost devices.
                                   If there are more added devices than lost devices, the further
                                   added devices come last */
    uint32_t split_effort;      /* effort of the search for splits, as in ppsched_split_options.
                                   Default: 3, but 2 with several stages per device or with
                                   free_device_order */
    double load_bandwidth;      /* bandwidth in bytes per unit of time with which a device loads
                                   layers that no device holds any longer. Default: infinite */
    double restart_time;        /* time of a change in addition to the time of moving and loading
                                   layers */
    double steps;               /* number of steps that are still to run. The result then minimises
                                   the time of these steps plus the time of the move. Default: the
                                   result has the shortest step. If several results have this step
                                   time, the result is the one whose move takes the shortest time;
                                   if these times are equal too, the one that moves the fewest
                                   bytes */
} ppsched_replan_options;

/* The figures of a result. Set `size` to sizeof of this struct. */
typedef struct ppsched_replan_figures {
    uint32_t size;
    uint32_t can_stay;        /* 1: no device is lost, and the running split fits into memory */
    uint32_t stays;           /* 1: the running split and order are kept */
    uint32_t fits;            /* 1: every device is within its memory limit */
    double running_step_time; /* time of a step with the running split and order on the devices as
                                 they are now; 0 if a device is lost */
    double step_time;         /* time of a step with the result */
    double moved_bytes;       /* bytes that move from device to device */
    double loaded_bytes;      /* bytes that are loaded, because no device holds them any longer */
    double move_time;         /* restart_time, plus the time of the device that takes longest to
                                 move and load its layers. A device can send, receive and load at
                                 the same time. It sends, receives and loads one layer after the
                                 other. Links have the latencies and bandwidths of the config. 0 if
                                 nothing changes */
    double pays_after;        /* number of steps, rounded up, after which the shorter steps have
                                 saved as much time as the move took. 0 if steps do not become
                                 shorter, or if can_stay is 0 */
    uint32_t group_size;      /* group size of the result: the group size of the options or, if the
                                 strategy does not support it on the devices of the result, the
                                 nearest size that it supports. 0 if the strategy has no group
                                 size */
    uint32_t reserved;        /* 0 */
} ppsched_replan_figures;

/* A move: consecutive layers that a device gets. A plain record: its layout never changes. */
typedef struct ppsched_layer_move {
    uint32_t first_layer; /* index of the first layer that moves */
    uint32_t layer_count; /* number of layers that move */
    uint32_t from_device; /* the device that sends the layers; PPSCHED_NONE: the layers are
                             loaded */
    uint32_t to_device;   /* the device that gets the layers */
    double bytes;         /* number of bytes of all these layers together */
} ppsched_layer_move;

/* Finds how a running job continues. The config's progress callback may cancel the call.
 *   - `config` has all devices: first the devices of the running job, lost devices included, then
 *     the added devices. The lists of `config`, `running_order`, `lost` and the result use the
 *     numbers of these devices.
 *   - Give measured speeds in device_speeds, device_scale and the lists of links of `config`. The
 *     job continues with the number of microbatches of `config`. The call ignores lists of `config`
 *     with values per stage.
 *   - The strategy and the number of stages per device do not change. The call searches for splits
 *     as plans do. Then it moves layers back to the devices that hold them now, if this does not
 *     make the step longer.
 *   - If several devices are equal, and the result has up to 256 devices, the call assigns the
 *     equal devices to places in the pipeline so that the fewest bytes move. With more than 256
 *     devices, there is no such assignment.
 *   - If no other split gives a shorter step, the running split is kept.
 * Errors: ARGUMENT, STRUCT_SIZE, UNKNOWN_STRATEGY, LENGTH, CANCELLED, NO_MEMORY; RANGE for a device
 *   that is unknown or named twice, and for a running split that does not suit the layers; REFUSED
 *   in these cases:
 *   - no device is left, or the strategy does not support the devices that are left;
 *   - the config has a placement map, a stage graph, stage_scale or a robust objective. */
PPSCHED_API ppsched_status ppsched_replan_create(ppsched_replan **out, const ppsched_config *config,
                                                 const ppsched_replan_options *options,
                                                 ppsched_error *error);

/* Frees the result. NULL is accepted. */
PPSCHED_API void ppsched_replan_destroy(ppsched_replan *replan);

/* Returns the figures of a result.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_replan_get_figures(ppsched_replan_figures *out,
                                                      const ppsched_replan *replan,
                                                      ppsched_error *error);

/* The next four functions return parts of a result. They fill buffers: see ppsched.h.
 *   - Split: the number of layers of each stage.
 *   - Recomputes: for each layer, 0 (no recomputation), or the number of its kind of recomputation,
 *     counted from 1.
 *   - Device order: for each place in the pipeline, the number of the device in this place.
 *   - Moves: the moves, in the order of the devices that get layers.
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
