/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes of lowering one after another: see <ppsched/lower.h>. */
#ifndef PPSCHED_LOWER_LOWER_H
#define PPSCHED_LOWER_LOWER_H

#include <ppsched/lower.h>

#include "ir/schedule.h"
#include "lower/unshard_times.h"

/* INVALID_SCHEDULE comes without a message: the checker finds the reason. */
ppsched_status ppi_lower(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                         const ppsched_lower_options *options, ppsched_error *error);

/* Whether the options lower a stage graph: only just_in_time does, as the other policies are those of runtimes for chains. OK
 * without a graph. */
ppsched_status ppi_lower_takes_graph(const struct ppi_stage_graph *graph, const ppsched_lower_options *options,
                                     ppsched_error *error);

/* The same as ppi_lower, with each UNSHARD as in `unshards`; NULL: by the rule of the options' lookahead. */
ppsched_status ppi_lower_at(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                            const ppsched_lower_options *options, const struct ppi_unshard_times *unshards,
                            ppsched_error *error);

#endif
