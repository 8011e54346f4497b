/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that runs what is ready, with the planned order as priorities: units as tasks, what each waits for and releases. */
#ifndef PPSCHED_SCENARIO_DISPATCH_H
#define PPSCHED_SCENARIO_DISPATCH_H

#include "scenario/scenario.h"

/* What a task releases: another task, on another device by a message. */
struct ppi_release_edge {
    uint32_t from, task;
    bool is_message;
    double delay;
    uint64_t stream; /* of its jitter */
};

/* A unit. Tasks are numbered device by device, in the planned order. */
struct ppi_dispatch_task {
    uint32_t device, stage;
    uint32_t needs; /* edges that release it */
    bool takes;     /* it takes memory */
    size_t first;   /* of its edges; behind them are those of the next task */
    double duration;
    uint64_t stream;
    double taken, given; /* memory: at its start, back at its end */
};

struct ppi_dispatch {
    struct ppi_host host;
    struct ppi_dispatch_task *tasks; /* `count`, and one that ends the edges */
    struct ppi_release_edge *edges;
    uint32_t count, devices, runs; /* runs: those behind a flush, and the first */
    uint32_t *begin;               /* of each device the first task of each run, and one that ends them */
    double *level;                 /* by task: most that its device holds of tasks, as planned, until it has started */
    double *cap;                   /* by device: what tasks may hold at once */
    double *base;                  /* and what it holds beside */
};

/* For the timeline that the graph was made of. */
ppsched_status ppi_dispatch_make(struct ppi_dispatch *out, const ppsched_timeline *timeline, const struct ppi_costs *costs,
                                 const struct ppi_scenario_graph *graph, ppsched_error *error);
void ppi_dispatch_clear(struct ppi_dispatch *dispatch);

static inline uint32_t ppi_first_task(const struct ppi_dispatch *dispatch, uint32_t device, uint32_t run)
{
    return dispatch->begin[(size_t)device * (dispatch->runs + 1) + run];
}

/* --- one scenario --- */

struct ppi_dispatch_run; /* its state */

/* How long a task and a message take in a scenario. */
struct ppi_dispatch_times {
    const void *user;
    double (*task_time)(const void *user, const struct ppi_dispatch_task *task, uint32_t scenario);
    double (*message_time)(const void *user, const struct ppi_release_edge *edge, uint32_t scenario);
};

ppsched_status ppi_dispatch_run_make(struct ppi_dispatch_run **out, const struct ppi_dispatch *dispatch, ppsched_error *error);
void ppi_dispatch_run_destroy(struct ppi_dispatch_run *run);

/* Returns the makespan. Adds to each device's share of it in `causes`, and raises `peaks` to what a device held. */
double ppi_dispatch_play(struct ppi_dispatch_run *run, const struct ppi_dispatch_times *times, uint32_t scenario,
                         double *causes, double *peaks);

#endif
