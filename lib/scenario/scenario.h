/* SPDX-License-Identifier: Apache-2.0 */
/* Many evaluations of one schedule: its units in an order in which each comes behind all that it waits for, found once, and
 * swept for several scenarios side by side. */
#ifndef PPSCHED_SCENARIO_SCENARIO_H
#define PPSCHED_SCENARIO_SCENARIO_H

#include <ppsched/scenarios.h>

#include "base/sized.h"
#include "eval/wait_graph.h"

/* In place of what a node waits for: time 0. Nodes are numbered from 1. */
enum { PPI_BEGINNING = 0 };

/* A unit: an op or an overlapped pair; or a flush, of PPSCHED_NONE as its device. */
struct ppi_scenario_node {
    uint32_t turn;     /* the node before it on its device, or the flush; of a flush: where its nodes begin in `before` */
    uint32_t input[2]; /* what other devices made, or what was sent before it; BEGINNING: nothing */
    uint32_t device, stage;
    uint32_t op;     /* the first of the unit, among all ops of the schedule */
    double duration; /* times all factors that are the same in each scenario */
    double delay[2]; /* likewise */
    uint64_t stream, message_stream[2];
};

struct ppi_scenario_graph {
    struct ppi_host host;
    struct ppi_scenario_node *nodes; /* `count`, of which the first stands for the beginning */
    uint32_t count;
    uint32_t *before; /* what each flush waits for, `workers` each */
    uint32_t *last;   /* each worker's last node, `workers` of them, in the order of devices */
    uint32_t workers;
};

struct ppsched_scenarios {
    struct ppi_host host;
    double *makespans, *sorted, *causes, *peaks;
    uint32_t devices;
    ppsched_scenario_metrics metrics;
};

/* The graph of a timeline, which need not outlive it. Lists of options that are by scenario are not taken into it. */
ppsched_status ppi_scenario_graph_make(struct ppi_scenario_graph *out, const ppsched_timeline *timeline,
                                       const struct ppi_costs *costs, const ppsched_scenario_options *options,
                                       ppsched_error *error);
void ppi_scenario_graph_clear(struct ppi_scenario_graph *graph);

/* Evaluates; options are sound. */
ppsched_status ppi_scenarios_run(ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 uint32_t count, const ppsched_scenario_options *options, ppsched_error *error);
/* A caller's options, of any version's size. */
static inline ppsched_status ppi_take_scenario_options(ppsched_scenario_options *own, const ppsched_scenario_options *given,
                                                       ppsched_error *error)
{
    return ppi_take_sized(own, sizeof *own, sizeof(ppsched_scenario_options), given, "ppsched_scenario_options", error);
}

/* Lists of a schedule's devices and stages, and the rest of the options; without stages their factors are not looked at. */
ppsched_status ppi_scenario_options_check(const ppsched_scenario_options *options, uint32_t devices, uint32_t stages,
                                          int64_t count, ppsched_error *error);

/* The factors that jitter draws from; NULL: there is none. */
struct ppi_scenario_tables {
    double *jitter, *message_jitter;
};

ppsched_status ppi_scenario_tables_make(struct ppi_scenario_tables *out, const struct ppi_host *host,
                                        const ppsched_scenario_options *options, ppsched_error *error);
void ppi_scenario_tables_clear(struct ppi_scenario_tables *tables, const struct ppi_host *host);

/* The same of a schedule that is timed already, with these costs, and has no ops that keep less; with the options' tables. */
ppsched_status ppi_scenarios_run_timed(ppsched_scenarios **out, const ppsched_timeline *timeline, const struct ppi_costs *costs,
                                       const ppsched_config *config, uint32_t count, const ppsched_scenario_options *options,
                                       const struct ppi_scenario_tables *tables, ppsched_error *error);

/* What they are ranked by: enum ppsched_rank_by, but STEP. */
double ppi_scenarios_figure(const ppsched_scenarios *scenarios, int32_t rank_by, double quantile);

/* The config with the times of an average scenario: those of devices, stages and links times their factors. On a placement of
 * one copy. */
ppsched_status ppi_expected_config(ppsched_config **out, const ppsched_config *config, const ppsched_scenario_options *options,
                                   uint32_t count, int32_t placement, ppsched_error *error);

/* See ppsched_scenarios_get_quantile; q is sound. */
double ppi_scenarios_quantile(const ppsched_scenarios *scenarios, double q);

void ppi_scenarios_destroy(ppsched_scenarios *scenarios);

#endif
