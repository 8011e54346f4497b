/* SPDX-License-Identifier: Apache-2.0 */
/* Explains a timeline's length: critical path, slack, sensitivities. Arguments are those of the public calls, already
 * checked. */
#ifndef PPSCHED_EVAL_EXPLAIN_H
#define PPSCHED_EVAL_EXPLAIN_H

#include <ppsched/explain.h>

#include "eval/timeline.h"

/* `out` (NULL: none) is filled if `capacity` suffices for all; `*count` is set to their number in any case. */
ppsched_status ppi_critical_path(ppsched_critical_op *out, size_t capacity, size_t *count, const ppsched_timeline *timeline,
                                 ppsched_error *error);

/* The same for a schedule with ops of memory saving. */
ppsched_status ppi_critical_path_with_copies(ppsched_critical_op *out, size_t capacity, size_t *count,
                                             const ppsched_timeline *timeline, ppsched_error *error);

/* `out`: one value per device, or per stage. The timeline has latest starts. */
void ppi_device_slack(double *out, const ppsched_timeline *timeline);
void ppi_stage_slack(double *out, const ppsched_timeline *timeline);

/* The caller's progress callback, which may cancel; `tell` may be NULL. */
struct ppi_listener {
    ppsched_progress_function tell;
    void *user;
};

/* `out` has one record per stage. */
ppsched_status ppi_sensitivities(ppsched_sensitivity *out, const ppsched_timeline *timeline, int32_t objective, int32_t kind,
                                 const struct ppi_listener *listener, ppsched_error *error);

#endif
