/* SPDX-License-Identifier: Apache-2.0 */
/* List schedules after repeating patterns of several periods: from the shortest that leaves each device time for its ops to one
 * that keeps within the memory limits. */
#ifndef PPSCHED_SEARCH_REPEAT_H
#define PPSCHED_SEARCH_REPEAT_H

#include "search/orders.h"
#include "search/problem.h"
#include "search/watch.h"

/* Replaces `orders` where a schedule is shorter than `*objective`, and lowers that; stops at `goal`. Two periods at least. */
ppsched_status ppi_repeat(const struct ppi_problem *problem, int periods, double goal, struct ppi_watch *watch,
                          struct ppi_orders *orders, double *objective, ppsched_error *error);

#endif
