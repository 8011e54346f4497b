/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-V by greedy planning with real costs, under any memory limits that hold one microbatch. Device r has stage r, here called
 * a, and stage 2D-1-r, here called z. */
#ifndef PPSCHED_STRATEGY_V_GREEDY_H
#define PPSCHED_STRATEGY_V_GREEDY_H

#include "search/greedy.h"

/* Whether a W may overrun a gap, if the device has the time to spare: before an F, before an I of z. Before an I of a it
 * always may. */
struct ppi_v_choice {
    bool before_forward, before_input;
};

/* Plans all ops into `out`, on the V placement; the idle times become the time that each device can spare in the next plan.
 * Returns the longest span of a device. */
double ppi_v_plan(struct ppi_greedy *greedy, const struct ppi_v_choice *choice);

#endif
