/* SPDX-License-Identifier: Apache-2.0 */
/* A stable merge sort of indices, inline so that the comparison is inlined too. */
#ifndef PPSCHED_BASE_SORT_H
#define PPSCHED_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts `items`; `scratch` has the same capacity. Returns whichever of the two arrays holds the result. */
static inline uint32_t *ppi_sort(uint32_t *items, uint32_t *scratch, size_t count,
                                 bool (*goes_before)(const void *context, uint32_t a, uint32_t b), const void *context)
{
    for (size_t width = 1; width < count; width *= 2) {
        uint32_t *in = items, *out = scratch;
        for (size_t from = 0; from < count; from += 2 * width) {
            size_t middle = from + width < count ? from + width : count;
            size_t to = middle + width < count ? middle + width : count;
            for (size_t a = from, b = middle, k = from; k < to; k++)
                out[k] = a == middle || (b < to && goes_before(context, in[b], in[a])) ? in[b++] : in[a++];
        }
        items = out;
        scratch = in;
    }
    return items;
}

#endif
