/* SPDX-License-Identifier: Apache-2.0 */
/* What searches minimise under varying times: a figure of many scenarios. */
#ifndef PPSCHED_IR_ROBUST_OBJECTIVE_H
#define PPSCHED_IR_ROBUST_OBJECTIVE_H

#include <ppsched/scenarios.h>

#include "base/host.h"

/* Owns the lists of its options. */
struct ppi_robust_objective {
    ppsched_scenario_options options;
    double *lists;
    double quantile;
    uint32_t count; /* of scenarios */
    int32_t rank_by;
};

/* Copies a valid objective, with its lists. */
ppsched_status ppi_robust_objective_make(struct ppi_robust_objective **out, const struct ppi_host *host,
                                         const struct ppi_robust_objective *asked, ppsched_error *error);
void ppi_robust_objective_destroy(struct ppi_robust_objective *goal, const struct ppi_host *host);

#endif
