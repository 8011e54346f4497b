/* SPDX-License-Identifier: Apache-2.0 */
/* The longest paths of an evaluated schedule: all that tie for an objective, as steps in topological order.
 *
 * Step 0 is time 0, where all paths begin. Each further step is a unit or a flush, or, for the makespan, the end of all
 * paths. So each step but the first waits for another, and leads to a goal. */
#ifndef PPSCHED_EVAL_LONGEST_PATHS_H
#define PPSCHED_EVAL_LONGEST_PATHS_H

#include <ppsched/bound.h>

#include "eval/wait_graph.h"

/* In place of a step: none. */
#define PPI_NO_STEP PPSCHED_NONE

/* A step waits for the steps in `edges` from the previous step's `edges_end` up to its own. */
struct ppi_path_step {
    size_t edges_end;
    uint32_t last_use; /* the last step that waits for it; 0: none */
    uint32_t longer[2],
        shorter[2]; /* stages whose ops lengthen it when slower, and shorten it when faster; PPSCHED_NONE: none */
};

/* A path's end that ties for the objective: the end of `last`, minus the start of `first` if that counts. */
struct ppi_path_end {
    uint32_t last, first; /* first: PPI_NO_STEP if it does not count */
};

struct ppi_longest_paths {
    const struct ppi_host *host;
    struct ppi_path_step *steps;
    uint32_t step_count;
    uint32_t *edges;
    struct ppi_path_end *goals;
    size_t goal_count;
};

/* The timeline must be one of ppi_evaluate and outlive `out`; `kind`: the kind of op whose durations count, 0 for all. */
ppsched_status ppi_longest_paths_gather(struct ppi_longest_paths *out, const ppsched_timeline *timeline, int32_t objective,
                                        int32_t kind, ppsched_error *error);
void ppi_longest_paths_clear(struct ppi_longest_paths *paths);

/* Index of a step's first edge. */
static inline size_t ppi_edges_begin(const struct ppi_longest_paths *paths, uint32_t step)
{
    return step > 0 ? paths->steps[step - 1].edges_end : 0;
}

#endif
