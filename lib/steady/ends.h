/* SPDX-License-Identifier: Apache-2.0 */
/* Times the ops of an order by their ends alone: no spans, and ops of 4 bytes. For rules without overlapped pairs, and problems
 * in which only activations change memory. */
#ifndef PPSCHED_STEADY_ENDS_H
#define PPSCHED_STEADY_ENDS_H

#include "eval/idle.h"
#include "steady/order.h"

/* Whether all schedules of a rule can be timed so. */
bool ppi_may_time_ends(const struct ppi_strategy *strategy, const ppsched_config *config);

/* Fills in `ends` of a packed order, in the arena, and makes a timeline with all figures but idle time, for which there is
 * memory. `*out` is NULL where only an evaluation tells what is wrong. Errors: NO_MEMORY, and those of the costs. */
ppsched_status ppi_time_ends(ppsched_timeline **out, struct ppi_steady_order *order, const ppsched_config *config,
                             bool wants_idle, struct ppi_arena *arena, ppsched_error *error);

/* As ppi_find_idle_of_repeats. */
void ppi_find_idle_by_ends(const struct ppi_steady_order *order, ppsched_timeline *timeline,
                           const struct ppi_repeated_part *parts, double times);

#endif
