/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-V by greedy planning with real costs, under any memory limits that hold one microbatch. Device r has stage r, here called
 * a, and stage 2D-1-r, here called z. */
#ifndef PPSCHED_STRATEGY_V_GREEDY_H
#define PPSCHED_STRATEGY_V_GREEDY_H

#include "search/greedy.h"

/* Whether a W may be put into a gap that it overruns, if the device can afford that: before an F, before an I of z. Before an I
 * of a it always may. */
struct ppi_v_choice {
    bool before_forward, before_input;
};

/* Room to plan in. */
struct ppi_v_greedy {
    struct ppi_greedy greedy;
    struct ppi_v_choice choice;
    struct ppi_v_turn *turn; /* a device each */
};

/* The problem is on the V placement, and must outlive the planner; its limits may change from plan to plan. */
ppsched_status ppi_v_greedy_make(struct ppi_v_greedy *out, const struct ppi_problem *problem, ppsched_error *error);
void ppi_v_greedy_clear(struct ppi_v_greedy *planner);

/* Forgets how long devices were idle in plans before. */
void ppi_v_greedy_forget(struct ppi_v_greedy *planner);

/* Plans all ops into `out`; how long devices are idle tells the next plan what each can afford. Returns the longest span of a
 * device. */
double ppi_v_greedy_plan(struct ppi_v_greedy *planner, struct ppi_v_choice choice, struct ppi_orders *out);

#endif
