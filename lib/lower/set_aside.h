/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering keeps ops of memory saving in place: they are taken out, the rest is lowered, and they are put back. */
#ifndef PPSCHED_LOWER_SET_ASIDE_H
#define PPSCHED_LOWER_SET_ASIDE_H

#include "ir/schedule.h"

/* Makes the schedule without them. */
ppsched_status ppi_take_saving_out(ppsched_schedule **out, const ppsched_schedule *schedule, ppsched_error *error);

/* Adds the ops of memory saving of `schedule` to `lowered`; both have the same compute ops in the same order on each device.
 * Copies start right after the compute op before them, as sends do; ops that make the device wait, and copies after those, are
 * right before the next compute op, so that the device has sent and requested all it can. Batches of comm ops are not
 * divided. */
ppsched_status ppi_put_saving_back(ppsched_schedule **out, const ppsched_schedule *lowered, const ppsched_schedule *schedule,
                                   ppsched_error *error);

#endif
