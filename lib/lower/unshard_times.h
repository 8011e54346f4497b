/* SPDX-License-Identifier: Apache-2.0 */
/* The UNSHARDs of a lowered schedule as choices: each may stand anywhere from where the window of stages that are kept lets it
 * in to right before the unit that needs it first. */
#ifndef PPSCHED_LOWER_UNSHARD_TIMES_H
#define PPSCHED_LOWER_UNSHARD_TIMES_H

#include <ppsched/lower.h>

#include "ir/schedule.h"

/* Positions are in the device's queue of computing ops. */
struct ppi_gather {
    uint32_t device, stage;
    size_t first; /* the earliest that it may stand before */
    size_t use;   /* begin of the unit that needs it */
    size_t at;    /* what it stands before */
};

/* Device by device, in the order of use. */
struct ppi_unshard_times {
    struct ppi_host host;
    struct ppi_gather *list;
    size_t count;
};

void ppi_unshard_times_clear(struct ppi_unshard_times *unshards);

/* Chooses where each stands, for a schedule of computing ops alone and `options` with `unshard`: as late as hides behind the
 * compute before it, and within the memory limits where that can be. INVALID_SCHEDULE comes without the reason. */
ppsched_status ppi_choose_unshard_times(struct ppi_unshard_times *out, const ppsched_schedule *schedule,
                                        const ppsched_config *config, const ppsched_lower_options *options,
                                        ppsched_error *error);

#endif
