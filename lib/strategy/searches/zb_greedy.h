/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy planning of a zero-bubble schedule, one stage a device, under memory limits with real costs: first as many warm-up
 * forwards as memory and the first backward allow, then in each round one forward and one I a device, with Ws where they fit
 * into gaps or where memory needs them. After the heuristic in the code of "Zero Bubble Pipeline Parallelism" (Qi et al. 2023,
 * arXiv 2401.10241); the even warm-up is ours. */
#ifndef PPSCHED_STRATEGY_ZB_GREEDY_H
#define PPSCHED_STRATEGY_ZB_GREEDY_H

#include "search/greedy.h"

/* The choices that a plan is made with. */
struct ppi_zb_choice {
    bool bubble_before_first_backward; /* stop the warm-up before it delays the first backward, or let it do so */
    bool backward_first;               /* leave a forward out where it would delay a backward of the next device */
    bool fill_small_gaps;              /* put a W into a gap that it overruns, even if the device is not behind the others */
    bool even_warmup; /* warm-ups fall from the first device's evenly to the last's, or by what each can run before its first I:
                       * with memory for few forwards that ends with some devices that have none and wait for each microbatch */
};

/* Plans into `out` for one stage a device. Returns the longest span; infinite where the choices leave ops out, go over a limit,
 * or lead beyond `below`. */
double ppi_zb_plan(struct ppi_greedy *greedy, const struct ppi_zb_choice *choice, double below, struct ppi_orders *out);

#endif
