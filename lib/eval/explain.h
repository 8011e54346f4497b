/* SPDX-License-Identifier: Apache-2.0 */
/* Why a timeline is as long as it is. Arguments are those of the public calls, and have been checked. */
#ifndef PPSCHED_EVAL_EXPLAIN_H
#define PPSCHED_EVAL_EXPLAIN_H

#include <ppsched/explain.h>

#include "eval/timeline.h"

/* `out` (NULL: none) is filled where `capacity` is enough for all; `*count` tells in any case how many there are. */
ppsched_status ppi_critical_path(ppsched_critical_op *out, size_t capacity, size_t *count, const ppsched_timeline *timeline,
                                 ppsched_error *error);

/* The same of a timeline of a schedule with ops that keep less. */
ppsched_status ppi_critical_path_with_copies(ppsched_critical_op *out, size_t capacity, size_t *count,
                                             const ppsched_timeline *timeline, ppsched_error *error);

/* The lists have room; latest starts are there. */
void ppi_device_slack(double *out, const ppsched_timeline *timeline);
void ppi_stage_slack(double *out, const ppsched_timeline *timeline);

/* Who hears how far the work is, and may stop it; `tell` may be NULL. */
struct ppi_listener {
    ppsched_progress_function tell;
    void *user;
};

/* `out` has room for all stages. */
ppsched_status ppi_sensitivities(ppsched_sensitivity *out, const ppsched_timeline *timeline, int32_t objective, int32_t kind,
                                 const struct ppi_listener *listener, ppsched_error *error);

#endif
