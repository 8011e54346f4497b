/* SPDX-License-Identifier: Apache-2.0 */
/* The problems whose results are folded: sizes, and costs that no two roundings treat alike. */
#ifndef PPSCHED_TESTS_PROBLEMS_H
#define PPSCHED_TESTS_PROBLEMS_H

#include <stdint.h>

#include <ppsched/ppsched.h>

/* Problem `number` of a strategy; NULL past the last. The caller destroys it. */
ppsched_config *problem_of(uint32_t strategy, int number);

enum costs {
    COSTS_UNIT,
    COSTS_DECIMAL, /* decimals that no double holds, latencies, memory that is released in two steps, two versions */
    COSTS_LINKS,   /* full backwards by share, bandwidths, bytes, overlapped pairs */
    COSTS_SPREAD,  /* from 5e-324 to 1e16: most sums round */
    COSTS_LIMITED, /* decimals under a memory limit */
    COSTS_COUNT
};

/* A problem of these sizes. */
ppsched_config *make_problem(uint32_t devices, uint32_t stages, uint32_t microbatches, uint32_t iterations, enum costs costs);

#endif
