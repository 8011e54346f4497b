/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of every schedule, valid or not, whatever is done with it. */
#ifndef PPSCHED_TESTS_FUZZ_SCHEDULE_H
#define PPSCHED_TESTS_FUZZ_SCHEDULE_H

#include "fuzz/bytes.h"
#include "fuzz/harness.h"

/* Checks the schedule, times and explains it, lowers it in all ways, proves and times what comes out, and writes all of that in
 * all formats; `bytes` choose the options. A schedule that the checker finds valid must be timed, an invalid one refused.
 * Returns whether it is valid. */
bool expect_sound(const ppsched_schedule *schedule, const ppsched_config *config, struct bytes *bytes);

#endif
