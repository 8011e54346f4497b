/* SPDX-License-Identifier: Apache-2.0 */
/* Prices placed transfers without an evaluation, where they delay no op. */
#ifndef PPSCHED_OFFLOAD_UNDELAYED_H
#define PPSCHED_OFFLOAD_UNDELAYED_H

#include "offload/transfers.h"

/* Whether placings of the schedule can be priced so: each device has a link of its own, copies slow nothing, there is one
 * iteration, and only activations change. */
bool ppi_may_be_undelayed(const struct ppi_placing *placing);

/* Fills in the peak of each device, as an evaluation of the schedule with transfers finds them. False where a copy would delay
 * an op, so that only an evaluation tells; if not, all ops but copies have the times of `placing->plain`. */
bool ppi_price_undelayed(double *peaks, const struct ppi_placing *placing, const ppsched_schedule *schedule);

#endif
