/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that fails at one of its calls, and counts them. */
#ifndef PPSCHED_TESTS_FAILING_ALLOCATOR_H
#define PPSCHED_TESTS_FAILING_ALLOCATOR_H

#include <ppsched/ppsched.h>

struct failing_allocator {
    int live;          /* blocks in use */
    int until_failure; /* calls before the one that fails; counts down, negative: none will, or it has failed */
    int keeps_failing; /* 1: so do all that follow it */
    int asked;         /* calls */
    int failed;        /* calls that failed */
};

/* An environment that allocates so; the allocator must outlive what is made in it. */
ppsched_environment failing_environment(struct failing_allocator *allocator);

#endif
