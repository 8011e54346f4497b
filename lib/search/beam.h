/* SPDX-License-Identifier: Apache-2.0 */
/* Beam search over list schedules: of all schedules in the making with as many ops, the most promising ones are kept and
 * continued. With room for one it is a greedy list schedule. */
#ifndef PPSCHED_SEARCH_BEAM_H
#define PPSCHED_SEARCH_BEAM_H

#include "search/attempt.h"

/* The most bytes that a beam holds. Where more would be needed it is narrower, or passes over the last candidates of a step. */
#define PPI_BEAM_MEMORY ((size_t)256 << 20)

/* How promising a schedule is: its bound, and with small weights what the bound does not see. */
struct ppi_beam {
    uint32_t width;      /* schedules that are kept */
    uint32_t crowd;      /* most of them that agree in the Fs and Is that are done; 0: any number */
    double mean_weight;  /* of the devices' mean bound: idle time anywhere */
    double chain_weight; /* of the bound by chains of ops and by memory */
};

/* Keeps the schedule that it finds where that is shorter than the best so far. CANCELLED where the watch says so. */
ppsched_status ppi_beam_search(struct ppi_attempt *attempt, const struct ppi_beam *beam, ppsched_error *error);

#endif
