/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages: one line for what a call made, and a warning if a result is over its memory limit. What a call tries and
 * discards is not logged. */
#ifndef PPSCHED_API_LOG_H
#define PPSCHED_API_LOG_H

#include "eval/timeline.h"
#include "plan/plan.h"

/* `done`: what was done, such as "generated". */
void ppi_log_schedule(const ppsched_schedule *schedule, const char *done);

void ppi_log_timeline(const ppsched_timeline *timeline);

void ppi_log_plan(const ppsched_plan *plan);

#endif
