/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best schedule of a problem: schedules after repeating patterns, local search, beam search. */
#ifndef PPSCHED_SEARCH_EXPLORE_H
#define PPSCHED_SEARCH_EXPLORE_H

#include "search/orders.h"
#include "search/problem.h"
#include "search/watch.h"

enum { PPI_MOST_EFFORT = 12, PPI_DEFAULT_EFFORT = 4 };

/* Replaces `orders` where it finds better ones than those of `*objective` (infinite: there are none yet), and lowers that.
 * `goal`: nothing below it is hoped for. One more of `effort` is about twice the work; 0 does nothing. The problem must have a
 * schedule that fits. */
ppsched_status ppi_explore(const struct ppi_problem *problem, const ppsched_config *config, int32_t placement, int64_t effort,
                           double goal, struct ppi_watch *watch, struct ppi_orders *orders, double *objective,
                           ppsched_error *error);

#endif
