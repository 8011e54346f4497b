/* SPDX-License-Identifier: Apache-2.0 */
/* A problem with a stage graph in the layout for searches and bounds: one iteration as tasks (an op each, once for all of its
 * devices), with what each waits for, and what it takes on its devices. */
#ifndef PPSCHED_BOUND_WEB_H
#define PPSCHED_BOUND_WEB_H

#include "base/arena.h"
#include "bound/bound.h"
#include "ir/costs.h"
#include "ir/stage_graph.h"

/* A wait between two tasks: the later may start `delay` after the end of the earlier. */
struct ppi_thread {
    uint32_t task;
    double delay;
};

struct ppi_task_node {
    ppsched_op op;
    double duration;
    double starts_with, ends_with; /* changes of the memory of its devices at its start and at its end */
    double head, tail;             /* the least time before its start, and after its end */
    const uint32_t *devices;
    uint32_t device_count;
    uint32_t before_first, before_count, after_first, after_count; /* of its threads */
};

struct ppi_web {
    struct ppi_placement place; /* owned */
    uint32_t devices, count;
    struct ppi_task_node *tasks; /* in an order in which they could run: microbatch by microbatch */
    struct ppi_thread *before, *after;
    double *limit, *fixed; /* by device: of activations, with a tolerance (infinite: none); and what it always holds */
    double *work;          /* by device */
    bool has_limits;
};

/* Backwards are B; or I and W, where the config allows it; or, for bounds, the shortest parts of both. */
enum ppi_web_form { PPI_WEB_WHOLE, PPI_WEB_SPLIT, PPI_WEB_RELAXED };

/* In the caller's arena; the placement is cleared by the caller. Errors: RANGE where the config's lists contradict each other;
 * REFUSED, NO_MEMORY. */
ppsched_status ppi_web_make(struct ppi_web *out, struct ppi_arena *arena, const ppsched_config *config, int32_t placement,
                            enum ppi_web_form form, ppsched_error *error);

/* The bound of a makespan: of paths, of work, and of each device alone (Jackson's preemptive schedule, as in one_machine.h). */
struct ppi_web_bound {
    double path, work, one_machine;
    uint32_t device; /* of the largest of the last two */
};

/* Needs work space in the arena. */
ppsched_status ppi_web_find_bound(struct ppi_web_bound *out, const struct ppi_web *web, struct ppi_arena *arena,
                                  ppsched_error *error);

/* The bound of a config with a stage graph, which holds for whole and for split backwards. */
ppsched_status ppi_graph_bound(ppsched_bound *out, const ppsched_config *config, const struct ppi_bound_question *question,
                               ppsched_error *error);

#endif
