/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best schedule of a problem: schedules after repeating patterns, local search, beam search. */
#ifndef PPSCHED_SEARCH_EXPLORE_H
#define PPSCHED_SEARCH_EXPLORE_H

#include "search/attempt.h"

enum { PPI_MOST_EFFORT = 12, PPI_DEFAULT_EFFORT = 4 };

/* Looks for what is shorter than the best so far. One more of `effort` is about twice the work; 0 does nothing. The problem
 * must have a schedule that fits. */
ppsched_status ppi_explore(struct ppi_attempt *attempt, int64_t effort, ppsched_error *error);

#endif
