/* SPDX-License-Identifier: Apache-2.0 */
/* What the library says of problems without a schedule, and of many schedules at once, folded. */
#ifndef PPSCHED_TESTS_PLANS_H
#define PPSCHED_TESTS_PLANS_H

#include <stdint.h>

/* Lower bounds of all placements and objectives. */
uint64_t digest_of_bounds(void);

/* The same model in other numbers of stages and microbatches: all its lists. */
uint64_t digest_of_restaged(void);

/* Candidates in their order, their figures, the best one's times, the least limit. */
uint64_t digest_of_plans(void);

/* Likewise where microbatches are cut and differ, and times vary, in the planned order and as ops are ready. */
uint64_t digest_of_varied_plans(void);

#endif
