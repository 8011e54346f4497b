/* SPDX-License-Identifier: Apache-2.0 */
/* Adds OFFLOAD_WAITs, so that memory stays within limits whatever the times are: where an F or a RELOAD would exceed the
 * limit, its device first waits for as many of its offloads, in their order, as free enough memory. */
#ifndef PPSCHED_OFFLOAD_WAITS_H
#define PPSCHED_OFFLOAD_WAITS_H

#include "offload/transfers.h"

/* `limits`: by device. `peaks`: each device's peak by the order of its queue; over its limit where waits do not suffice.
 * Activations and static memory count. `schedule` has transfers of the placing, and no waits. */
ppsched_status ppi_hold(ppsched_schedule **out, double *peaks, const struct ppi_placing *placing,
                        const ppsched_schedule *schedule, const double *limits, ppsched_error *error);

#endif
