/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that have a schedule keep less: see <ppsched/keep.h>. */
#ifndef PPSCHED_LOWER_KEEP_H
#define PPSCHED_LOWER_KEEP_H

#include <ppsched/keep.h>

#include "model/schedule.h"

ppsched_status ppi_recompute(ppsched_schedule **out, const ppsched_schedule *schedule, uint32_t chunks, ppsched_error *error);
ppsched_status ppi_offload(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                           const ppsched_offload_options *options, ppsched_error *error);

/* As few copies as hold the config's memory limits. Where none do, REFUSED, with a message and the least limit that was found
 * to work, or factor of them, in `*least`; NULL: without both, which take time. */
ppsched_status ppi_offload_to_fit(ppsched_schedule **out, double *least, const ppsched_schedule *schedule,
                                  const ppsched_config *config, ppsched_error *error);

/* The lane of an op in such a list. */
static inline size_t ppi_keep_lane(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return (size_t)ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch) * schedule->shape.stages + op->stage;
}

/* REFUSED where the schedule has an op that keeps less. */
ppsched_status ppi_require_whole(const ppsched_schedule *schedule, ppsched_error *error);

#endif
