/* SPDX-License-Identifier: Apache-2.0 */
/* Why a timeline is as long as it is. Arguments are those of the public calls, and have been checked. */
#ifndef PPSCHED_EVAL_EXPLAIN_H
#define PPSCHED_EVAL_EXPLAIN_H

#include <ppsched/explain.h>

#include "eval/timeline.h"

ppsched_status ppi_critical_path(const ppsched_timeline *timeline, ppsched_critical_op *path, size_t capacity, size_t *count,
                                 ppsched_error *error);

/* Both lists have room; latest starts are there. Either may be NULL. */
void ppi_least_slack(const ppsched_timeline *timeline, double *by_device, double *by_stage);

/* `out` has room for all stages. */
ppsched_status ppi_sensitivities(const ppsched_timeline *timeline, int32_t objective, int32_t kind, ppsched_sensitivity *out,
                                 ppsched_error *error);

#endif
