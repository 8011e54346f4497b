/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that fails at one of its calls, and counts them; or has each block end where memory ends, so that who reads or
 * writes behind it is stopped, and be full of what is no number, no pointer and not 0. */
#ifndef PPSCHED_TESTS_FAILING_ALLOCATOR_H
#define PPSCHED_TESTS_FAILING_ALLOCATOR_H

#include <ppsched/ppsched.h>

struct failing_allocator {
    int live;          /* blocks in use */
    int until_failure; /* calls before the one that fails; counts down, negative: none will, or it has failed */
    int keeps_failing; /* 1: so do all that follow it */
    int asked;         /* calls */
    int failed;        /* calls that failed */
    int is_guarded;    /* 1: blocks end where memory ends */
};

/* An environment that allocates so; the allocator must outlive what is made in it. */
ppsched_environment failing_environment(struct failing_allocator *allocator);

#endif
