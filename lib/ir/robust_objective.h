/* SPDX-License-Identifier: Apache-2.0 */
/* What searches make short where times vary: a figure of many scenarios. */
#ifndef PPSCHED_IR_ROBUST_OBJECTIVE_H
#define PPSCHED_IR_ROBUST_OBJECTIVE_H

#include <ppsched/scenarios.h>

#include "base/host.h"

/* Owns the lists of its options. */
struct ppi_scenario_goal {
    ppsched_scenario_options options;
    double *lists;
    double quantile;
    uint32_t count; /* of scenarios */
    int32_t rank_by;
};

/* Copies what it is asked for; all is sound. */
ppsched_status ppi_scenario_goal_make(struct ppi_scenario_goal **out, const struct ppi_host *host,
                                      const struct ppi_scenario_goal *asked, ppsched_error *error);
void ppi_scenario_goal_destroy(struct ppi_scenario_goal *goal, const struct ppi_host *host);

#endif
