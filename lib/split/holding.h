/* SPDX-License-Identifier: Apache-2.0 */
/* What a device holds at once, in stage passes: it follows from the order alone, so that the memory of any split of the layers
 * is told without the schedule. */
#ifndef PPSCHED_SPLIT_HOLDING_H
#define PPSCHED_SPLIT_HOLDING_H

#include "base/room.h"
#include "model/op.h"
#include "model/schedule.h"

/* The stages of a device, and the largest sets of stage passes that it holds: none is within another. A set has two numbers a
 * stage: passes whose backward has not run, and those whose weight gradient alone is left. */
struct ppi_holding {
    uint32_t *stages;
    uint32_t count; /* of stages */
    uint32_t *sets; /* `set_count` rows of 2 * count numbers */
    uint32_t set_count;
    double *passes; /* the same as 2 * count columns of `set_count` numbers */
    bool *has_any;  /* of each column: not all of it is 0 */
};

/* Of each device of a valid schedule, for one iteration. NO_MEMORY. */
ppsched_status ppi_holding_make(struct ppi_holding **out, struct ppi_room *room, const ppsched_schedule *schedule,
                                ppsched_error *error);

/* Whether so many devices hold the same in both. */
bool ppi_holdings_are_alike(const struct ppi_holding *a, const struct ppi_holding *b, uint32_t devices);

#endif
