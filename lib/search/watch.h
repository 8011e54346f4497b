/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of a search that may run long, and the caller's wish to stop it. */
#ifndef PPSCHED_SEARCH_WATCH_H
#define PPSCHED_SEARCH_WATCH_H

#include "model/config.h"

/* The present part of the work, from one share of the whole to another. */
struct ppi_watch {
    const ppsched_config *config; /* whose callback is called */
    double from, to, told;        /* told: the last share that was */
    double best;                  /* the objective of the best schedule so far; infinite where there is none */
};

/* All the work is one part. */
struct ppi_watch ppi_watch_start(const ppsched_config *config);

/* The next part begins, which ends at that share of the whole. */
void ppi_watch_go_on(struct ppi_watch *watch, double share);

/* Tells that a share of the present part is done. CANCELLED where the caller wants no more. */
ppsched_status ppi_watch_report(struct ppi_watch *watch, double share, ppsched_error *error);

#endif
