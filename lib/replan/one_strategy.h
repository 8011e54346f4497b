/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one strategy for some of the devices of a config, from which replan and replicas take their splits. */
#ifndef PPSCHED_REPLAN_ONE_STRATEGY_H
#define PPSCHED_REPLAN_ONE_STRATEGY_H

#include "plan/plan.h"

/* What is planned. group_size: 0 for strategies without groups. */
struct ppi_one_strategy {
    const char *strategy;
    uint32_t chunks, group_size, split_effort;
    const ppsched_layers *layers;
    bool frees_order;
};

/* Makes the plan, of one candidate, for devices in this order. */
ppsched_status ppi_one_strategy_plan(ppsched_plan **out, const ppsched_config *whole, const uint32_t *devices, uint32_t count,
                                     const struct ppi_one_strategy *asked, ppsched_error *error);

#endif
