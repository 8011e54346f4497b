/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of a greedy plan that repeat: once the state after a round is an earlier one, later by some time, all that follows is
 * the same. These rounds are left out of the plan, and their ops written at the end. */
#ifndef PPSCHED_SEARCH_REPEAT_H
#define PPSCHED_SEARCH_REPEAT_H

#include "search/greedy.h"

/* A state, with which later ones are compared. A round puts one F and one I of each stage at most. */
struct ppi_repeat {
    uint32_t round, next; /* of the state; and when it is taken anew */
    double *clock, *idle; /* by device */
    size_t put, *due;     /* ops so far; and, by device, Ws that have run */
    bool *asked;          /* by device: since then, a choice depended on how much longer another had been idle */
    uint32_t *done;       /* by stage and kind */
    double worst_idle;
    bool is_over; /* it is not looked for any more */
};

/* In the caller's arena. */
ppsched_status ppi_repeat_make(struct ppi_repeat *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error);

/* Starts with a new plan. */
void ppi_repeat_start(struct ppi_repeat *repeat, const struct ppi_greedy *greedy);

/* Notes that a choice depended on how much longer another device has been idle. */
static inline void ppi_repeat_note(struct ppi_repeat *repeat, uint32_t device)
{
    repeat->asked[device] = true;
}

/* After a round, before which so many were: where an earlier state has come back, leaves out what came since then, as often as
 * it repeats until a stage has no forwards left. The plan goes on with fewer microbatches, at the time after these rounds. */
void ppi_repeat_rounds(struct ppi_repeat *repeat, struct ppi_greedy *greedy, uint32_t round);

#endif
