/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule for any problem that has one: each microbatch goes on as soon as it can. Linear in the number of ops. */
#ifndef PPSCHED_SEARCH_STRAIGHT_H
#define PPSCHED_SEARCH_STRAIGHT_H

#include "search/orders.h"
#include "search/problem.h"

/* Fills `out` and sets `*objective`. The problem must have a schedule that fits. RANGE where times overflow. */
ppsched_status ppi_straight(const struct ppi_problem *problem, struct ppi_orders *out, double *objective, ppsched_error *error);

#endif
