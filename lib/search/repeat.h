/* SPDX-License-Identifier: Apache-2.0 */
/* List schedules after repeating patterns of several periods: from the shortest that leaves each device time for its ops to one
 * that keeps within the memory limits. */
#ifndef PPSCHED_SEARCH_REPEAT_H
#define PPSCHED_SEARCH_REPEAT_H

#include "search/attempt.h"

/* Keeps what is shorter than the best so far. Two periods at least. */
ppsched_status ppi_repeat(struct ppi_attempt *attempt, int periods, ppsched_error *error);

/* A schedule for any problem that has one that fits: each microbatch goes on as soon as it can. Linear in the number of ops.
 * RANGE where times overflow. */
ppsched_status ppi_straight(struct ppi_attempt *attempt, ppsched_error *error);

#endif
