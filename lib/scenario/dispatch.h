/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that runs ready tasks, with the planned order as priorities: units as tasks, with what each waits for and
 * releases. */
#ifndef PPSCHED_SCENARIO_DISPATCH_H
#define PPSCHED_SCENARIO_DISPATCH_H

#include "scenario/scenario.h"

/* A task releases another one, on another device by a message. */
struct ppi_release_edge {
    uint32_t from, task;
    bool is_message;
    double delay;
    uint64_t stream; /* random stream of its jitter */
    double early;    /* share of its task's time after which it is sent; 0: at the end */
};

/* A unit as a task. Tasks are numbered device by device, in planned order. */
struct ppi_dispatch_task {
    uint32_t device, stage;
    uint32_t needs; /* number of edges that release it */
    bool takes;     /* it adds memory */
    size_t first;   /* first of its edges; the next task's follow them */
    double duration;
    uint64_t stream;
    double taken, given; /* memory: added at its start, released at its end */
};

struct ppi_dispatch {
    struct ppi_host host;
    struct ppi_dispatch_task *tasks; /* [count + 1]; the last only ends the edges */
    struct ppi_release_edge *edges;
    uint32_t count, devices, runs; /* runs: parts between flushes */
    uint32_t *begin;               /* [devices][runs + 1]: first task of each run of a device, then the end */
    double *level;                 /* by task: memory of its device's tasks, in planned order, once it has started */
    double *cap;                   /* by device: limit on the memory of its tasks */
    double *base;                  /* by device: all other memory */
    bool sends_early;              /* of some edges */
};

/* For the timeline from which the graph was made. */
ppsched_status ppi_dispatch_make(struct ppi_dispatch *out, const ppsched_timeline *timeline, const struct ppi_costs *costs,
                                 const struct ppi_scenario_graph *graph, ppsched_error *error);
void ppi_dispatch_clear(struct ppi_dispatch *dispatch);

static inline uint32_t ppi_first_task(const struct ppi_dispatch *dispatch, uint32_t device, uint32_t run)
{
    return dispatch->begin[(size_t)device * (dispatch->runs + 1) + run];
}

/* --- one scenario --- */

struct ppi_dispatch_run; /* the state of one run */

/* Times of a task and of a message in a scenario. */
struct ppi_dispatch_times {
    const void *user;
    double (*task_time)(const void *user, const struct ppi_dispatch_task *task, uint32_t scenario);
    double (*message_time)(const void *user, const struct ppi_release_edge *edge, uint32_t scenario);
};

ppsched_status ppi_dispatch_run_make(struct ppi_dispatch_run **out, const struct ppi_dispatch *dispatch, ppsched_error *error);
void ppi_dispatch_run_destroy(struct ppi_dispatch_run *run);

/* Plays a scenario and returns the makespan. Adds to `causes` each device's share of it: the time of its tasks on the critical
 * path. Raises `peaks` to the memory it held. */
double ppi_dispatch_play(struct ppi_dispatch_run *run, const struct ppi_dispatch_times *times, uint32_t scenario,
                         double *causes, double *peaks);

#endif
