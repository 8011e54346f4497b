/* SPDX-License-Identifier: Apache-2.0 */
/* How promising a schedule in the making is. */
#ifndef PPSCHED_SEARCH_OUTLOOK_H
#define PPSCHED_SEARCH_OUTLOOK_H

#include "search/partial.h"

struct ppi_outlook {
    double bound; /* no schedule that begins like this has a smaller objective; infinite: none can be completed */
    double chain; /* bound by chains of ops over several devices, and by memory */
    double mean;  /* mean over devices of the bound by their own work */
};

/* Room to work in, for one problem. */
struct ppi_outlook_room {
    struct ppi_stream *streams;
    bool *changed; /* by device */
};

ppsched_status ppi_outlook_room_make(struct ppi_outlook_room *out, const struct ppi_problem *problem, ppsched_error *error);
void ppi_outlook_room_clear(struct ppi_outlook_room *room, const struct ppi_problem *problem);

/* After a step on `device`; what is kept in the schedule from its outlook before is used. PPSCHED_NONE: there is none. */
struct ppi_outlook ppi_outlook(const struct ppi_outlook_room *room, const struct ppi_problem *problem,
                               struct ppi_partial *partial, uint32_t device);

#endif
