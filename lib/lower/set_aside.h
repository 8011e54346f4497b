/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering leaves ops that keep less where they are: they are taken out, what remains is lowered, and they are put back. */
#ifndef PPSCHED_LOWER_SET_ASIDE_H
#define PPSCHED_LOWER_SET_ASIDE_H

#include "ir/schedule.h"

/* The schedule without them. */
ppsched_status ppi_take_saving_out(ppsched_schedule **out, const ppsched_schedule *schedule, ppsched_error *error);

/* `lowered` with the ops that keep less of `schedule`, whose compute ops are the same in the same order on each device. Copies
 * begin right behind the compute op before them, as values do that are sent; what makes the device wait, and copies behind
 * that, stand right before the next compute op, so that it has sent and asked for all that it can. Batches of comm ops stay
 * whole. */
ppsched_status ppi_put_saving_back(ppsched_schedule **out, const ppsched_schedule *lowered, const ppsched_schedule *schedule,
                                   ppsched_error *error);

#endif
