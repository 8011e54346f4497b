/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-V by greedy planning with real costs, under any memory limit that holds one microbatch. */
#ifndef PPSCHED_STRATEGY_V_GREEDY_H
#define PPSCHED_STRATEGY_V_GREEDY_H

#include "strategy/searches/v_planner.h"

/* Whether a W may be put into a gap that it overruns, if the device can afford that: before an F, before an I of z. Before an I
 * of a it always may. */
struct ppi_v_choice {
    bool before_forward, before_input;
};

/* Plans all ops into `ops`. `spare`: by how much each device may idle longer than the busiest does, as known from a plan
 * before. Returns the longest span of a device. */
double ppi_v_greedy(struct ppi_v_planner *planner, struct ppi_v_choice choice, const double *spare, bool *of_a,
                    ppsched_op *ops);

#endif
