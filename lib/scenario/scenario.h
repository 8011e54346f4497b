/* SPDX-License-Identifier: Apache-2.0 */
/* Many evaluations of one schedule: its units in topological order, found once, and swept for several scenarios at a time. */
#ifndef PPSCHED_SCENARIO_SCENARIO_H
#define PPSCHED_SCENARIO_SCENARIO_H

#include <ppsched/scenarios.h>

#include "base/sized.h"
#include "eval/wait_graph.h"
#include "ir/stage_graph.h"

/* In place of a node: time 0. Nodes are numbered from 1. */
enum { PPI_BEGINNING = 0 };

/* A unit (an op or an overlapped pair), or a flush, whose device is PPSCHED_NONE. All that it waits for has lower numbers. */
struct ppi_scenario_node {
    uint32_t turn;     /* the node before it on its device, or the flush; of a flush: index of its first node in `before` */
    uint32_t input[2]; /* inputs from other devices, or sends before it; PPI_BEGINNING: none */
    uint32_t device, stage;
    uint32_t op;     /* first op of the unit, among all ops of the schedule */
    double duration; /* with all factors that are the same in each scenario */
    double delay[2]; /* the same */
    uint64_t stream, message_stream[2];
};

/* Another wait of a unit, in a stage graph: for an input, or for its turn on another device of its stage. */
struct ppi_scenario_wait {
    uint32_t node;
    bool is_message;
    double delay;
    uint64_t stream;
};

/* When both ops of a pair end, after its start, if it takes `time`; in other units the end of the unit. */
struct ppi_ends_in_pair {
    double of[2], time;
};

struct ppi_scenario_graph {
    struct ppi_host host;
    struct ppi_scenario_node *nodes; /* [count]; the first stands for time 0 */
    uint32_t count;
    uint32_t *before; /* [flushes][workers]: nodes that each flush waits for */
    uint32_t *last;   /* [workers]: last node of each, in order of devices */
    uint32_t workers;
    struct ppi_ends_in_pair *ends;  /* by node; NULL: both ops of a pair end with it */
    struct ppi_scenario_wait *more; /* in a stage graph; then units have no `input` */
    size_t *more_end;               /* by node: the end of its own in `more`, which are behind those of the node before; NULL
                                     * of a chain */
};

/* When the output of an op of a node is there, after the start of the node, which takes `time`. */
static inline double ppi_node_output(const struct ppi_ends_in_pair *ends, bool backward, double time)
{
    return time == ends->time || !(ends->time > 0) ? ends->of[backward] : ends->of[backward] * (time / ends->time);
}

/* The largest factor of the devices on which a unit runs. */
static inline double ppi_largest_factor(const struct ppi_placement *placement, const struct ppi_scenario_node *node,
                                        const double *factors)
{
    uint32_t count;
    double largest = factors[node->device];
    if (placement->graph == NULL || !placement->graph->has_sets)
        return largest;
    const uint32_t *devices = ppi_devices_of(placement, node->stage, &count);
    for (uint32_t i = 0; i < count; i++)
        largest = factors[devices[i]] > largest ? factors[devices[i]] : largest;
    return largest;
}

/* Whether the i-th input of a node comes from a backward. */
static inline bool ppi_reads_gradient(const ppsched_schedule *schedule, const struct ppi_scenario_node *node, int i)
{
    return schedule->ops[node->op + (ppi_unit_length(&schedule->ops[node->op]) == 2 ? (uint32_t)i : 0)].kind != PPSCHED_KIND_F;
}

struct ppsched_scenarios {
    struct ppi_host host;
    double *makespans, *sorted, *causes, *peaks;
    uint32_t devices;
    ppsched_scenario_metrics metrics;
};

/* Makes the graph of a timeline, which need not outlive it. Factors given per scenario are not included. */
ppsched_status ppi_scenario_graph_make(struct ppi_scenario_graph *out, const ppsched_timeline *timeline,
                                       const struct ppi_costs *costs, const ppsched_scenario_options *options,
                                       ppsched_error *error);
void ppi_scenario_graph_clear(struct ppi_scenario_graph *graph);

/* Evaluates; the options are valid. */
ppsched_status ppi_scenarios_run(ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 uint32_t count, const ppsched_scenario_options *options, ppsched_error *error);
/* Copies in a caller's options, of any version's size. */
static inline ppsched_status ppi_take_scenario_options(ppsched_scenario_options *own, const ppsched_scenario_options *given,
                                                       ppsched_error *error)
{
    return ppi_take_sized(own, sizeof *own, sizeof(ppsched_scenario_options), given, "ppsched_scenario_options", error);
}

/* Checks options against a schedule's devices and stages; with 0 stages their factors are not checked. */
ppsched_status ppi_scenario_options_check(const ppsched_scenario_options *options, uint32_t devices, uint32_t stages,
                                          int64_t count, ppsched_error *error);

/* The tables of factors that jitter draws from; NULL: no jitter. */
struct ppi_scenario_tables {
    double *jitter, *message_jitter;
};

ppsched_status ppi_scenario_tables_make(struct ppi_scenario_tables *out, const struct ppi_host *host,
                                        const ppsched_scenario_options *options, ppsched_error *error);
void ppi_scenario_tables_clear(struct ppi_scenario_tables *tables, const struct ppi_host *host);

/* The same for a schedule that is already timed, with these costs, without ops of memory saving; with the options' tables. */
ppsched_status ppi_scenarios_run_timed(ppsched_scenarios **out, const ppsched_timeline *timeline, const struct ppi_costs *costs,
                                       const ppsched_config *config, uint32_t count, const ppsched_scenario_options *options,
                                       const struct ppi_scenario_tables *tables, ppsched_error *error);

/* The figure of enum ppsched_rank_by, except STEP. */
double ppi_scenarios_figure(const ppsched_scenarios *scenarios, int32_t rank_by, double quantile);

/* The config with the times of an average scenario: times of devices, stages and links multiplied by their mean factors. For a
 * placement of one copy. */
ppsched_status ppi_expected_config(ppsched_config **out, const ppsched_config *config, const ppsched_scenario_options *options,
                                   uint32_t count, int32_t placement, ppsched_error *error);

/* The config with the speeds of devices divided by their mean factors, and links by theirs. For any placement and stages. */
ppsched_status ppi_average_config(ppsched_config **out, const ppsched_config *config, const ppsched_scenario_options *options,
                                  uint32_t count, ppsched_error *error);

/* See ppsched_scenarios_get_quantile; q is valid. */
double ppi_scenarios_quantile(const ppsched_scenarios *scenarios, double q);

void ppi_scenarios_destroy(ppsched_scenarios *scenarios);

#endif
