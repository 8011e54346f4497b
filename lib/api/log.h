/* SPDX-License-Identifier: Apache-2.0 */
/* What a call made, told to its host: a line a call, and a warning where a result is over its limit. Of what is tried and
 * thrown away inside a call nothing is told. */
#ifndef PPSCHED_API_LOG_H
#define PPSCHED_API_LOG_H

#include "eval/timeline.h"
#include "plan/plan.h"

/* `done`: what was done, such as "generated". */
void ppi_log_schedule(const ppsched_schedule *schedule, const char *done);

void ppi_log_timeline(const ppsched_timeline *timeline);

void ppi_log_plan(const ppsched_plan *plan);

#endif
