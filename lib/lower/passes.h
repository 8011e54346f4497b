/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of lowering. Each appends the changed ops of a schedule to an empty builder of the same shape. */
#ifndef PPSCHED_LOWER_PASSES_H
#define PPSCHED_LOWER_PASSES_H

#include <ppsched/lower.h>

#include "ir/builder.h"
#include "lower/unshard_times.h"

ppsched_status ppi_merge_backwards(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error);
ppsched_status ppi_split_backwards(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error);
ppsched_status ppi_unshard(ppsched_builder *out, const ppsched_schedule *schedule, const ppsched_lower_options *options,
                           const struct ppi_unshard_times *unshards, ppsched_error *error);

/* Values of reduce_grad. */
enum { PPI_WAITS_IN_TURNS = 2, PPI_WAITS_AT_ONCE = 3, PPI_WAITS_LATE = 4 };
ppsched_status ppi_reduce_gradients(ppsched_builder *out, const ppsched_schedule *schedule, uint32_t waits, uint32_t every,
                                    ppsched_error *error);

/* INVALID_SCHEDULE comes without a message: the checker finds the reason. With `has_waits`, a wait for each REDUCE_GRAD
 * has a turn of its own after it. */
ppsched_status ppi_lower_in_turns(ppsched_builder *out, const ppsched_schedule *schedule, bool has_waits, ppsched_error *error);
ppsched_status ppi_lower_by_time(ppsched_builder *out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 ppsched_error *error);
ppsched_status ppi_lower_just_in_time(ppsched_builder *out, const ppsched_schedule *schedule, uint32_t lead,
                                      ppsched_error *error);

/* For a lowered schedule. */
ppsched_status ppi_defer_receives(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error);

#endif
