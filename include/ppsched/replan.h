/* SPDX-License-Identifier: Apache-2.0 */
/* A running job whose devices change: the split and the order of devices to go on with, what moves
 * between devices, and after how many steps the move pays.
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

/* What to go on with.
 * Lifetime: the caller destroys it.
 * Thread-safety: it does not change; any number of threads may read it at once. */
typedef struct ppsched_replan ppsched_replan;

/* The running job, and what changes. Sized: set `size`; zero means the default. What pointers lead
 * to is read during the call only. */
typedef struct ppsched_replan_options {
    uint32_t size;
    uint32_t running_devices;          /* devices of the running job: those with the first numbers
                                          in the config. The others are added. 0: all */
    const char *strategy;              /* that of the running job; required */
    const ppsched_layers *layers;      /* required */
    const uint32_t *running_split;     /* layers of each stage; required */
    const uint8_t *running_recomputes; /* as `recomputes` of ppsched_split. Default: none */
    const uint32_t *running_order;     /* the device in each place, one for each running device.
                                          Default: as they are numbered */
    const uint32_t *lost;              /* numbers of the devices that are lost, each once */
    const double *layer_bytes;         /* what a device that gets a layer must receive, of each
                                          layer. Default: mem_static + mem_weights */
    uint32_t running_stages;           /* a multiple of the running devices; required */
    uint32_t lost_count;
    uint32_t layer_count;       /* length of layer_bytes, and of running_recomputes; not read
                                          without them */
    uint32_t group_size;        /* of strategies with groups. Default: the devices; after a change
                                          those that are left */
    uint32_t free_device_order; /* 1: the order of devices is searched, too. 0: those that
                                          stay keep their order; those added take the places of
                                          those lost, and then come last */
    uint32_t split_effort;      /* as `effort` of ppsched_split_options. Default: 3, with several
                                   stages per device 2 */
    double load_bandwidth;      /* bytes per unit of time at which a device loads layers that
                                          no device holds any more. Default: infinite */
    double restart_time;        /* that a change takes in addition to the bytes */
    double steps;               /* steps still to run: the result is that with which they and
                                          the move take the least time. Default: many, so that the
                                          shortest step is best, and of these what moves least */
} ppsched_replan_options;

/* The figures of a result. Sized. */
typedef struct ppsched_replan_figures {
    uint32_t size;
    uint32_t can_stay;        /* 1: nothing is lost, and the running split fits */
    uint32_t stays;           /* 1: the running split and order are kept */
    uint32_t fits;            /* 1: within the memory limit of each device */
    double running_step_time; /* a step of the running split and order on the devices as they are
                                 now; 0 if a device is lost */
    double step_time;         /* a step with the result */
    double moved_bytes;       /* from device to device */
    double loaded_bytes;      /* that no device holds any more */
    double move_time;         /* restart_time, and the time of the device that moves and loads for
                                 longest. Each device sends, receives and loads at the same time, by
                                 the latencies and bandwidths of the config, layer after layer.
                                 0 if it stays */
    double pays_after;        /* steps after which the move has paid; 0 if it stays, or cannot */
    uint32_t group_size; /* of the result, for strategies with groups: that of the options, or the
                                 nearest that the strategy supports on these devices; else 0 */
    uint32_t reserved;   /* 0 */
} ppsched_replan_figures;

/* Layers that a device gets. A plain record. */
typedef struct ppsched_layer_move {
    uint32_t first_layer;
    uint32_t layer_count; /* in a row */
    uint32_t from_device; /* the device that holds them, or PPSCHED_NONE: they are loaded */
    uint32_t to_device;
    double bytes;
} ppsched_layer_move;

/* Finds with what a running job goes on.
 *   - `config` has all devices: those of the running job, then those added, with the numbers that
 *     its lists, `running_order`, `lost` and the result use. Measured factors are its
 *     device_speeds, device_scale and links. Its microbatches are those from now on. Its lists for
 *     stages are not read.
 *   - The strategy and the number of stages per device stay. Splits are searched as by plans; then
 *     stages give layers back to those that hold them, where that does not make the step longer.
 *     Of devices that are alike, each gets the place for which the fewest bytes move.
 *   - The running split is kept if nothing is shorter.
 * The config's progress callback may cancel it.
 * Errors: ARGUMENT, STRUCT_SIZE, UNKNOWN_STRATEGY; LENGTH; RANGE for a device that is unknown or
 *   named twice, and for a split that is not one of the layers; REFUSED if no device is left, or
 *   the strategy does not support what is left, and for a config with a placement map, a stage
 *   graph, stage_scale or a robust objective; CANCELLED, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_replan_create(ppsched_replan **out, const ppsched_config *config,
                                                 const ppsched_replan_options *options,
                                                 ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_replan_destroy(ppsched_replan *replan);

/* Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_replan_get_figures(ppsched_replan_figures *out,
                                                      const ppsched_replan *replan,
                                                      ppsched_error *error);

/* The number of layers of each stage; for each layer 0, or the number from 1 of its kind of
 * recomputation; the device in each place, by its number in the config; and what moves, by the
 * device that gets it. They fill buffers: see ppsched.h.
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
