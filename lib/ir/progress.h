/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of a search that may run long, and the caller's wish to stop it. */
#ifndef PPSCHED_IR_PROGRESS_H
#define PPSCHED_IR_PROGRESS_H

#include "ir/config.h"

/* The present part of the work, from one share of the whole to another. */
struct ppi_watch {
    const ppsched_config *config; /* whose callback is called */
    double from, to, told;        /* told: the last share that was */
    double best;                  /* the objective of the best schedule so far; infinite where there is none */
    double visits;                /* of ops, since the caller was asked last */
    bool is_stopped;              /* the caller wants no more, which holds from then on */
};

/* All the work is one part. */
struct ppi_watch ppi_watch_start(const ppsched_config *config);

/* The next part begins, which ends at that share of the whole. */
void ppi_watch_go_on(struct ppi_watch *watch, double share);

/* Tells that a share of the present part is done. CANCELLED where the caller wants no more. */
ppsched_status ppi_watch_report(struct ppi_watch *watch, double share, ppsched_error *error);

/* Asks the caller, who has not been asked for long. */
ppsched_status ppi_watch_ask(struct ppi_watch *watch, ppsched_error *error);

/* Visits of ops between two questions, at most but for a single pass over all ops: some 10 to 30 ms. */
#define PPI_VISITS_UNASKED 5e5

/* Counts work: visits of ops, each a few dozen nanoseconds. CANCELLED where the caller wants no more; what cannot say so may
 * end early, and whoever called it asks again, with no visits. */
static inline ppsched_status ppi_watch_spend(struct ppi_watch *watch, double visits, ppsched_error *error)
{
    watch->visits += visits;
    return watch->visits < PPI_VISITS_UNASKED && !watch->is_stopped ? PPSCHED_OK : ppi_watch_ask(watch, error);
}

#endif
