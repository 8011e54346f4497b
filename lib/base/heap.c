/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap in an array: the children of event i are 2i + 1 and 2i + 2. */
#include "base/heap.h"

static bool goes_before(const struct ppi_event *a, const struct ppi_event *b)
{
    return a->time < b->time || (!(b->time < a->time) && a->number < b->number);
}

void ppi_heap_put(struct ppi_heap *heap, double time, int32_t what, uint32_t index)
{
    ppi_heap_put_ranked(heap, time, heap->given++, what, index);
}

void ppi_heap_put_ranked(struct ppi_heap *heap, double time, uint64_t rank, int32_t what, uint32_t index)
{
    struct ppi_event event = {time, rank, index, what};
    size_t i = heap->count++;
    for (; i > 0 && goes_before(&event, &heap->events[(i - 1) / 2]); i = (i - 1) / 2)
        heap->events[i] = heap->events[(i - 1) / 2];
    heap->events[i] = event;
}

bool ppi_heap_take(struct ppi_heap *heap, struct ppi_event *out)
{
    if (heap->count == 0)
        return false;
    *out = heap->events[0];
    struct ppi_event last = heap->events[--heap->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && goes_before(&heap->events[child + 1], &heap->events[child]))
            child++;
        if (!goes_before(&heap->events[child], &last))
            break;
        heap->events[i] = heap->events[child];
    }
    heap->events[i] = last;
    return true;
}
