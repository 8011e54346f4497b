/* SPDX-License-Identifier: Apache-2.0 */
/* What searches find must not get worse, nor cost more. */
#ifndef PPSCHED_TESTS_NO_WORSE_H
#define PPSCHED_TESTS_NO_WORSE_H

#include <stdint.h>

/* What was found of some problems. */
struct found {
    uint32_t held, evaluations; /* limits that hold, and how often a listener was told */
    double steps;               /* together, of those that hold */
};

/* As many limits are held as before, in steps that are no longer together, with no more evaluations. Who finds more, or shorter
 * ones, writes the new figures where the old ones are. */
void expect_no_worse(const struct found *found, const struct found *before);

#endif
