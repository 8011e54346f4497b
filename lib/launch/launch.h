/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments with which training runtimes run a schedule: a descriptor per runtime checks whether it can, and writes the
 * command line. */
#ifndef PPSCHED_LAUNCH_LAUNCH_H
#define PPSCHED_LAUNCH_LAUNCH_H

#include <ppsched/launch.h>

#include "launch/built_in_orders.h"
#include "launch/layers.h"
#include "launch/line.h"
#include "order/order_1f1b.h"

struct ppi_sail_kind;

/* By how many decoders the first and the last stage get less than their share; `each`: layers per stage that give the right
 * number of stages, 0: not needed. `lists_modules`: no such numbers make the split, so modules are listed. */
struct ppi_end_layers {
    uint32_t first_less, last_less, each;
    bool lists_modules;
};

/* The request, and what a runtime's `fits` sets for its `write`. */
struct ppi_launch {
    const ppsched_schedule *schedule;
    const char *csv;                     /* the caller's file, or NULL */
    uint32_t layers;                     /* decoders of the model; 0: unknown */
    struct ppi_parts *parts;             /* NULL: the split is unknown */
    uint32_t micro_batch, data_parallel; /* samples of a microbatch, replicas; 0: unknown */
    bool exact;
    bool order_alone; /* what else the model's layers ask of the order is another question */

    struct ppi_order_1f1b order;      /* MEGATRON, SAIL */
    const struct ppi_class *maker;    /* with classes: the one that makes the order; NULL: a file is used */
    bool lowered;                     /* PYTORCH: the CSV has other ops than computation */
    const struct ppi_sail_kind *kind; /* SAIL */
    struct ppi_end_layers ends;       /* TORCHTITAN */
};

struct ppi_runtime {
    const char *name;  /* on the command line */
    const char *title; /* its own name */
    /* OK, or REFUSED with the reason. The schedule is valid, and has one iteration. */
    ppsched_status (*fits)(struct ppi_launch *launch, ppsched_error *error);
    void (*write)(const struct ppi_launch *launch, struct ppi_line *line);
    /* For a runtime that makes orders of only some strategies: OK, or REFUSED with the rule; NULL: `fits` checks it. Checked
     * before the split, which does not matter then. */
    ppsched_status (*check_strategy)(const struct ppi_strategy *strategy, const struct ppi_shape *shape, ppsched_error *error);
    struct ppi_split_rules rules;
    /* Whether `rules.first` is allowed with an order; NULL: with all that `fits`. */
    bool (*may_recompute_first)(const ppsched_schedule *schedule);
    bool cuts;           /* may run slices; `fits` checks which */
    bool may_plan_alike; /* `fits` asks whether the launch is exact, as it may plan an order of its kind */
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

/* Finds a runtime by number. ARGUMENT where there is none. */
ppsched_status ppi_runtime_find(const struct ppi_runtime **out, int32_t runtime, ppsched_error *error);

/* Whether a runtime can run the schedule, else REFUSED with the reason. */
ppsched_status ppi_launch_ask(struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error);

/* The same; the reason also names other runtimes that can. */
ppsched_status ppi_launch_fits(struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error);

/* The caller's file, or "schedule.csv". */
const char *ppi_csv_of(const struct ppi_launch *launch);

/* Stages per device, where all devices have equally many. */
uint32_t ppi_chunks_of(const ppsched_schedule *schedule);

/* The most stage passes on a device between their F and their backward; with `weights`, and their weight gradient. */
uint32_t ppi_most_held(const ppsched_schedule *schedule, bool weights);

/* Whether all stages are on the devices of a placement with equally many stages per device. */
bool ppi_is_placed(const ppsched_schedule *schedule, int32_t placement);

#endif
