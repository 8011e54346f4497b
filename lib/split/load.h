/* SPDX-License-Identifier: Apache-2.0 */
/* The problem of the lower bound for all splits, and what its parts share. */
#ifndef PPSCHED_SPLIT_LOAD_H
#define PPSCHED_SPLIT_LOAD_H

#include "base/checked.h"
#include "ir/layers.h"

/* Where devices differ by more than speeds: the least times of layers, by entry. */
struct ppi_split_types {
    double *work;           /* of a forward and a backward; by device, then by entry */
    double *forward, *path; /* on the device that runs it fastest: of a forward, and of that with an input gradient */
    double *speeds;         /* of devices over all layers */
};

/* A problem of the lower bound: the least work of the fullest device. */
struct ppi_split_load {
    const ppsched_layers *layers;        /* costs are of the candidate's microbatches, or of its slices */
    const uint32_t *device_of;           /* of each stage of the first copy of the model */
    const struct ppi_values *speeds;     /* of devices */
    const struct ppi_split_types *types; /* NULL where devices differ by speeds alone */
    uint32_t devices, stages, copies;
    double passes[2];                   /* of each copy: its microbatches, weighted by their scale; 0: no copy */
    double overhead;                    /* least time of a stage pass in addition to its layers, without that of devices */
    double own_overhead;                /* how often a stage pass has that of its device, at least */
    const struct ppi_values *overheads; /* of devices */
    bool may_be_empty;                  /* other than the first and the last stage */
    bool any_order;                     /* the bound holds for each order of the devices, too */
    bool has_whole_backwards;           /* all backwards are whole; otherwise some may be split */
    bool is_chain;                      /* the makespan of a flushed iteration with one stage per device */
};

/* A lower bound for all splits of the layers, all recomputation and all orders. */
double ppi_split_bound(const struct ppi_split_load *load);

/* The least time of one microbatch's path over all layers and back; each layer is on the device that runs it fastest. */
double ppi_split_path(const ppsched_layers *layers, const struct ppi_values *speeds, const struct ppi_split_types *types);

/* Finds the least times of layers on devices that differ by more than speeds; ppi_release(host, out->work) frees them. `pairs`:
 * backwards may be in pairs with given times, which are scaled as the forwards of these are. */
ppsched_status ppi_split_types_make(struct ppi_split_types *out, const ppsched_config *config, const ppsched_layers *layers,
                                    bool pairs, ppsched_error *error);

/* --- its parts --- */

/* The bound where devices have several stages, or the model two copies; between a lower bound and a time that is enough. */
double ppi_load_bound_of_units(const struct ppi_split_load *load, double low, double high);

/* The speed of a device that differs by its speed alone. */
static inline double ppi_load_speed(const struct ppi_split_load *load, uint32_t device)
{
    return load->speeds->values != NULL ? ppi_value_at(load->speeds, device) : 1;
}

/* The least time of a stage pass on a device in addition to its layers. */
static inline double ppi_load_overhead(const struct ppi_split_load *load, uint32_t device)
{
    if (load->overheads->values == NULL)
        return load->overhead;
    return load->overhead + load->own_overhead * ppi_value_at(load->overheads, device);
}

/* The work of a layer at speed 1: a forward and the least backward, as an order may have full backwards or split ones. */
static inline double ppi_load_work_of(const struct ppi_split_load *load, uint32_t layer)
{
    const double *cost = ppi_layer_at(load->layers, layer)->kinds[0].cost;
    const double split = cost[PPI_LAYER_INPUT] + cost[PPI_LAYER_WEIGHT], whole = cost[PPI_LAYER_BACKWARD];
    return ppi_layer_at(load->layers, layer)->given.forward_time +
           (load->has_whole_backwards ? whole : ppi_smaller(whole, split));
}

/* The work of layers that must stay together, and their time on the forward path. Returns where they end. */
uint32_t ppi_load_sum_block(const struct ppi_split_load *load, uint32_t begin, double *work, double *path);

/* The time on a device of layers, where devices differ by more than speeds. */
double ppi_load_typed_time(const struct ppi_split_load *load, uint32_t device, uint32_t begin, uint32_t end);

/* The time on a device of layers whose work at speed 1 is `work`. */
static inline double ppi_load_time_on(const struct ppi_split_load *load, uint32_t device, uint32_t begin, uint32_t end,
                                      double work)
{
    return load->types != NULL ? ppi_load_typed_time(load, device, begin, end) : work / ppi_load_speed(load, device);
}

/* Whether `needed` is within `time`; if not, lowers `*next`, the next time to try, to it. */
static inline bool ppi_load_is_within(double needed, double time, double *next)
{
    if (needed <= time)
        return true;
    *next = ppi_smaller(*next, needed);
    return false;
}

/* Whether devices hold all layers by a time; if not, lowers `*next` to the next time that may be enough. */
typedef bool (*ppi_load_holds_function)(const void *what, double time, double *next);

/* The least time that is enough, between a lower bound of it and a time that is enough. */
double ppi_load_least_time(ppi_load_holds_function holds, const void *what, double low, double high);

#endif
