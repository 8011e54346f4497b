/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule for any problem that has one: each microbatch goes on as soon as it can. Linear in the number of ops. */
#ifndef PPSCHED_SEARCH_STRAIGHT_H
#define PPSCHED_SEARCH_STRAIGHT_H

#include "search/attempt.h"

/* Keeps it where it is shorter than the best so far. The problem must have a schedule that fits. RANGE where times overflow. */
ppsched_status ppi_straight(struct ppi_attempt *attempt, ppsched_error *error);

#endif
