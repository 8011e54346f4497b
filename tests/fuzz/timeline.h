/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of every timeline, whatever the schedule and its costs are. */
#ifndef PPSCHED_TESTS_FUZZ_TIMELINE_H
#define PPSCHED_TESTS_FUZZ_TIMELINE_H

#include "fuzz/harness.h"

ppsched_metrics fuzz_metrics(const ppsched_timeline *timeline);

/* Whether two timelines of one schedule are equal to the last bit: spans and figures. */
bool fuzz_same_times(const ppsched_timeline *a, const ppsched_timeline *b);

/* The parts of each device sum to the whole: busy and idle to the makespan, why it is idle to that, its memory from the static
 * to the peak and back. */
void expect_parts_to_sum(const ppsched_timeline *timeline);

/* The latest starts, the critical path, slack and sensitivities to ops of a kind (0: of all) agree with the spans; of a
 * timeline of ppsched_schedule_evaluate with everything. */
void expect_explained(const ppsched_timeline *timeline, int32_t kind);

/* Nothing is better than the lower bounds of its problem in its placement; of a schedule of one iteration. */
void expect_bounded(const ppsched_timeline *timeline, const ppsched_config *config);

#endif
