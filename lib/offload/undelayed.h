/* SPDX-License-Identifier: Apache-2.0 */
/* Prices placed transfers without an evaluation, where each device has a link of its own, copies slow nothing, there is one
 * iteration, and only activations change. */
#ifndef PPSCHED_OFFLOAD_UNDELAYED_H
#define PPSCHED_OFFLOAD_UNDELAYED_H

#include "offload/transfers.h"

/* Finds out whether that is so, and allocates. */
ppsched_status ppi_undelayed_make(struct ppi_placing *placing, ppsched_error *error);
void ppi_undelayed_clear(struct ppi_placing *placing);

/* Fills in the peak of each device, as an evaluation of the schedule with transfers finds them. False where a copy would delay
 * an op; if not, all ops but copies have the times of `placing->plain`. */
bool ppi_price_undelayed(double *peaks, const struct ppi_placing *placing, const ppsched_schedule *schedule);

/* Whether a device is over `placing->limits`; false too where that is not found out so. Copies may delay ops. */
bool ppi_is_over_anyway(struct ppi_placing *placing, const ppsched_schedule *schedule);

/* As ppi_price_undelayed where copies delay ops, whose times become `placing->delayed`; also the extent of each device, from
 * its first op to the end of its last, and the makespan. False where only an evaluation tells: of pairs whose times are given,
 * and of what has no valid times. */
bool ppi_price_delayed(double *peaks, ppsched_span *extents, double *step, struct ppi_placing *placing,
                       const ppsched_schedule *schedule);

/* The placing takes over the times in `placing->delayed`. */
void ppi_take_delayed(struct ppi_placing *placing);

/* Sets the first start and the last end of each device; of a choice whose copies delay ops. */
void ppi_set_extents(ppsched_timeline *timeline, const ppsched_span *extents);

#endif
