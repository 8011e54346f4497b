/* SPDX-License-Identifier: Apache-2.0 */
/* Justification, known from project scheduling: the ops of a schedule go, in its order, one after another to the earliest gap
 * of their device, not too far back, that dependencies and memory allow. None runs later than before; done forwards and
 * backwards in time in turn, this shortens a schedule. */
#ifndef PPSCHED_STRATEGY_V_JUSTIFY_H
#define PPSCHED_STRATEGY_V_JUSTIFY_H

#include "strategy/searches/v_chain.h"

struct ppi_v_row;

struct ppi_v_justifier {
    const struct ppi_v_problem *problem;
    bool backwards;         /* in time: the last op first */
    double rounding;        /* an op may overlap the next by as much */
    double *ends;           /* of all ops, by device, microbatch and pass; negative where not yet known */
    struct ppi_v_row *rows; /* one a device */
    uint32_t *ready;        /* devices whose next op may have what it waits for */
    uint32_t ready_count;
};

ppsched_status ppi_v_justifier_make(struct ppi_v_justifier *out, const struct ppi_v_problem *problem, ppsched_error *error);
void ppi_v_justifier_clear(struct ppi_v_justifier *justifier);

/* Reads an order that keeps to the memory, device by device, and writes the new one with the times of the pass (below 0 where
 * it went backwards). False where the order cannot be run. */
bool ppi_v_justify(struct ppi_v_justifier *justifier, bool backwards, const struct ppi_v_step *from, struct ppi_v_step *to);

/* The longest time from a device's first start to its last end. */
double ppi_v_longest_span(const struct ppi_v_problem *problem, const struct ppi_v_step *steps);

#endif
