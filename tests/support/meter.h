/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that knows how much is in use, and can fail once. Needs the library alone, so that fuzzers and benchmarks can
 * link it. */
#ifndef PPSCHED_TESTS_METER_H
#define PPSCHED_TESTS_METER_H

#include <ppsched/ppsched.h>

#include <stdbool.h>

struct meter {
    size_t used, peak;      /* bytes */
    uint32_t until_failure; /* allocations up to the one that fails, that one included; 0: none does */
    bool has_failed;
};

/* An environment that allocates so; the meter must outlive what is made in it. */
ppsched_environment metered_environment(struct meter *meter);

#endif
