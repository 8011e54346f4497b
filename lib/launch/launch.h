/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments with which training runtimes run a schedule: a row a runtime, that says whether it can and writes the line. */
#ifndef PPSCHED_LAUNCH_LAUNCH_H
#define PPSCHED_LAUNCH_LAUNCH_H

#include <ppsched/launch.h>

#include "launch/built_in_orders.h"
#include "launch/layers.h"
#include "launch/line.h"
#include "order/order_1f1b.h"

struct ppi_sail_kind;

/* How many decoders fewer than its share the first and the last stage get; `each`: layers of a stage, of which as many stages
 * come out, 0 where that need not be told. Or no such numbers make the split, and modules are listed. */
struct ppi_end_layers {
    uint32_t first_less, last_less, each;
    bool lists_modules;
};

/* What is asked, and what a runtime's `fits` leaves for its `write`. */
struct ppi_launch {
    const ppsched_schedule *schedule;
    const char *csv;                     /* the caller's file, or NULL */
    uint32_t layers;                     /* decoders of the model; 0: unknown */
    struct ppi_parts *parts;             /* NULL where the split is unknown */
    uint32_t micro_batch, data_parallel; /* samples of a microbatch, replicas; 0: unknown */
    bool exact;

    struct ppi_order_1f1b order;      /* MEGATRON, SAIL */
    const struct ppi_class *maker;    /* of those that have classes: what makes the order; NULL: a file does */
    bool lowered;                     /* PYTORCH: the CSV has other ops than computation */
    const struct ppi_sail_kind *kind; /* SAIL */
    struct ppi_end_layers ends;       /* TORCHTITAN */
};

struct ppi_runtime {
    const char *name;  /* on the command line */
    const char *title; /* as it calls itself */
    /* OK, or REFUSED with the reason. The schedule can be run, and has one iteration. */
    ppsched_status (*fits)(struct ppi_launch *launch, ppsched_error *error);
    void (*write)(const struct ppi_launch *launch, struct ppi_line *line);
    /* Of one that makes the orders of some strategies alone: OK, or REFUSED with what it wants; NULL: `fits` tells. Told before
     * anything of splits, which do not mend that. */
    ppsched_status (*check_strategy)(const struct ppi_strategy *strategy, const struct ppi_shape *shape, ppsched_error *error);
    struct ppi_split_rules rules;
    /* Whether `rules.first` goes with an order; NULL: with any that `fits`. */
    bool (*may_recompute_first)(const ppsched_schedule *schedule);
    bool cuts; /* it may run slices: `fits` says which */
};

#define PPI_RUNTIME(number, name, file) extern const struct ppi_runtime ppi_##name##_runtime;
#include "launch/list.h"
#undef PPI_RUNTIME

enum {
#define PPI_RUNTIME(number, name, file) PPI_LAST_RUNTIME_IS_##number,
#include "launch/list.h"
#undef PPI_RUNTIME
    PPI_RUNTIMES,
    PPI_LAST_RUNTIME = PPI_RUNTIMES /* they are numbered from 1 */
};

/* By number. ARGUMENT where there is no such runtime. */
ppsched_status ppi_runtime_find(const struct ppi_runtime **out, int32_t runtime, ppsched_error *error);

/* Whether a runtime can run the schedule, else REFUSED with the reason. */
ppsched_status ppi_launch_ask(struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error);

/* The same; the reason tells which others can, too. */
ppsched_status ppi_launch_fits(struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error);

/* The caller's file, or "schedule.csv". */
const char *ppi_csv_of(const struct ppi_launch *launch);

/* Stages a device, where all have as many. */
uint32_t ppi_chunks_of(const ppsched_schedule *schedule);

/* Most stage passes between their F and their backward on a device; with `weights`, and their weight gradient. */
uint32_t ppi_most_held(const ppsched_schedule *schedule, bool weights);

/* Whether all ops are F, B, I and W. */
bool ppi_only_computes(const ppsched_schedule *schedule);

/* Whether all stages are where a placement has them, as many on each device. */
bool ppi_is_placed(const ppsched_schedule *schedule, int32_t placement);

#endif
