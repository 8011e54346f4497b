/* SPDX-License-Identifier: Apache-2.0 */
/* The UNSHARDs of a lowered schedule as choices: each may be anywhere from the first position inside the window of kept stages
 * to right before the unit that needs it first. */
#ifndef PPSCHED_LOWER_UNSHARD_TIMES_H
#define PPSCHED_LOWER_UNSHARD_TIMES_H

#include <ppsched/lower.h>

#include "ir/schedule.h"

/* An UNSHARD. Positions are in the device's queue of compute ops; `first` <= `at` <= `use`. */
struct ppi_gather {
    uint32_t device, stage;
    size_t first; /* the earliest op that it may precede */
    size_t use;   /* first op of the unit that needs it */
    size_t at;    /* the op that it precedes */
};

/* Device by device, in order of use. */
struct ppi_unshard_times {
    struct ppi_host host;
    struct ppi_gather *list;
    size_t count;
};

void ppi_unshard_times_clear(struct ppi_unshard_times *unshards);

/* Chooses the position of each, for a schedule of only compute ops and `options` with `unshard`: as late as can be hidden by
 * the compute before it, and within the memory limits if possible. INVALID_SCHEDULE comes without a message. */
ppsched_status ppi_choose_unshard_times(struct ppi_unshard_times *out, const ppsched_schedule *schedule,
                                        const ppsched_config *config, const ppsched_lower_options *options,
                                        ppsched_error *error);

#endif
