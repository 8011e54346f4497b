/* SPDX-License-Identifier: Apache-2.0 */
/* The time of an iteration in the long run, if each device repeats its queue and nothing waits for an optimizer. */
#ifndef PPSCHED_EVAL_PERIOD_H
#define PPSCHED_EVAL_PERIOD_H

#include "eval/timeline.h"

/* Of a schedule with compute ops alone; of several iterations, the first counts. Errors: REFUSED, and those of ppi_evaluate. */
ppsched_status ppi_find_period(double *out, const ppsched_schedule *schedule, const ppsched_config *config,
                               ppsched_error *error);

#endif
