/* SPDX-License-Identifier: Apache-2.0 */
/* Progress callback of a search that may run long, and cancelling by it. */
#ifndef PPSCHED_IR_PROGRESS_H
#define PPSCHED_IR_PROGRESS_H

#include "ir/config.h"

/* The current part of the work, `from` and `to` as shares of the whole. `told` never decreases; `is_stopped` is never reset. */
struct ppi_poll {
    const ppsched_config *config; /* whose callback is called */
    double from, to, told;        /* told: the share last reported */
    double best;                  /* the objective of the best schedule so far; infinite: none yet */
    double visits;                /* of ops, since the last call of the callback */
    bool is_stopped;              /* the caller has cancelled */
};

/* Starts with all the work as one part. */
struct ppi_poll ppi_poll_start(const ppsched_config *config);

/* Starts the next part, which ends at `share` of the whole. */
void ppi_poll_go_on(struct ppi_poll *poll, double share);

/* Reports that `share` of the current part is done. CANCELLED if the caller cancels. */
ppsched_status ppi_poll_report(struct ppi_poll *poll, double share, ppsched_error *error);

/* A callback for another search that is a part of this one; its user is this one's poll. */
int32_t ppi_poll_pass_on(void *poll, const ppsched_progress *progress);

/* Calls the callback with the last share; CANCELLED if the caller cancels. */
ppsched_status ppi_poll_ask(struct ppi_poll *poll, ppsched_error *error);

/* Visits of ops between two calls of the callback, exceeded by at most one pass over all ops: some 10 to 30 ms. */
#define PPI_VISITS_UNASKED 5e5

/* Counts work: visits of ops, each a few dozen nanoseconds. CANCELLED if the caller cancels; code that cannot return that may
 * end early, and its caller asks again with 0 visits. */
static inline ppsched_status ppi_poll_spend(struct ppi_poll *poll, double visits, ppsched_error *error)
{
    poll->visits += visits;
    return poll->visits < PPI_VISITS_UNASKED && !poll->is_stopped ? PPSCHED_OK : ppi_poll_ask(poll, error);
}

#endif
