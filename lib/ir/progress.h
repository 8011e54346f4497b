/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of a search that may run long, and the caller's wish to stop it. */
#ifndef PPSCHED_IR_PROGRESS_H
#define PPSCHED_IR_PROGRESS_H

#include "ir/config.h"

/* The present part of the work, from one share of the whole to another. */
struct ppi_poll {
    const ppsched_config *config; /* whose callback is called */
    double from, to, told;        /* told: the last share that was */
    double best;                  /* the objective of the best schedule so far; infinite where there is none */
    double visits;                /* of ops, since the caller was asked last */
    bool is_stopped;              /* the caller wants no more, which holds from then on */
};

/* All the work is one part. */
struct ppi_poll ppi_poll_start(const ppsched_config *config);

/* The next part begins, which ends at that share of the whole. */
void ppi_poll_go_on(struct ppi_poll *poll, double share);

/* Tells that a share of the present part is done. CANCELLED where the caller wants no more. */
ppsched_status ppi_poll_report(struct ppi_poll *poll, double share, ppsched_error *error);

/* Asks the caller, who has not been asked for long. */
ppsched_status ppi_poll_ask(struct ppi_poll *poll, ppsched_error *error);

/* Visits of ops between two questions, at most but for a single pass over all ops: some 10 to 30 ms. */
#define PPI_VISITS_UNASKED 5e5

/* Counts work: visits of ops, each a few dozen nanoseconds. CANCELLED where the caller wants no more; what cannot say so may
 * end early, and whoever called it asks again, with no visits. */
static inline ppsched_status ppi_poll_spend(struct ppi_poll *poll, double visits, ppsched_error *error)
{
    poll->visits += visits;
    return poll->visits < PPI_VISITS_UNASKED && !poll->is_stopped ? PPSCHED_OK : ppi_poll_ask(poll, error);
}

#endif
