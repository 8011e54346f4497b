/* SPDX-License-Identifier: Apache-2.0 */
/* Events by time; those of the same time come in the order in which they were put in. */
#ifndef PPSCHED_BASE_HEAP_H
#define PPSCHED_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ppi_event {
    double time;
    uint64_t number; /* set by the heap */
    uint32_t index;
    int32_t what;
};

/* `events` is the owner's, with room for as many as there are at once. */
struct ppi_heap {
    struct ppi_event *events;
    size_t count;
    uint64_t given;
};

void ppi_heap_put(struct ppi_heap *heap, double time, int32_t what, uint32_t index);

/* The same with a rank of the owner's: the lower first at the same time, instead of the order in which they were put in. For
 * heaps all of whose events have one, or with ranks above all that come without. */
void ppi_heap_put_ranked(struct ppi_heap *heap, double time, uint64_t rank, int32_t what, uint32_t index);

/* Takes the earliest; false where there is none. */
bool ppi_heap_take(struct ppi_heap *heap, struct ppi_event *out);

#endif
