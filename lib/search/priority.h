/* SPDX-License-Identifier: Apache-2.0 */
/* How promising a partial schedule is. */
#ifndef PPSCHED_SEARCH_PRIORITY_H
#define PPSCHED_SEARCH_PRIORITY_H

#include "search/partial_schedule.h"

struct ppi_priority {
    double bound; /* no schedule that begins like this has a smaller objective; infinite: it cannot be completed */
    double mean;  /* mean over devices of the bound by their own work */
};

/* The ops of a kind that a stage has still to run: the earliest start of the first, and how long they take. */
struct ppi_stream {
    double head, load;
    double chain; /* the load where they are Fs or Is, else 0 */
};

/* The most streams that a device has at once. */
static inline size_t ppi_priority_streams(const struct ppi_problem *problem)
{
    return 4 * (size_t)problem->most_stages;
}

/* After at most one step since the priority before, parts of which are kept in the schedule. `streams`: work space. */
struct ppi_priority ppi_priority(struct ppi_partial *partial, struct ppi_stream *streams);

#endif
