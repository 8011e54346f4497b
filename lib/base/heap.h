/* SPDX-License-Identifier: Apache-2.0 */
/* A priority queue of events by time; events of the same time come in the order in which they were put in. */
#ifndef PPSCHED_BASE_HEAP_H
#define PPSCHED_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ppi_event {
    double time;
    uint64_t number; /* rank at equal times: set by the heap, or given */
    uint32_t index;
    int32_t what;
};

/* `events` belongs to the owner, with capacity for the largest number at once. `events[0]` is the earliest. */
struct ppi_heap {
    struct ppi_event *events;
    size_t count;
    uint64_t given;
};

void ppi_heap_put(struct ppi_heap *heap, double time, int32_t what, uint32_t index);

/* The same with a given rank: at equal times the lower rank comes first. Either all events of a heap are given ranks, or given
 * ranks are above all numbers of events without. */
void ppi_heap_put_ranked(struct ppi_heap *heap, double time, uint64_t rank, int32_t what, uint32_t index);

/* Takes the earliest event; false if there is none. */
bool ppi_heap_take(struct ppi_heap *heap, struct ppi_event *out);

#endif
