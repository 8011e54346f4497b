/* SPDX-License-Identifier: Apache-2.0 */
/* All numbers of all sizes but the smallest are tried; as many of the smallest as fit fill what these leave. */
#include "bound/usable_memory.h"

#include "base/checked.h"

#define MOST_TRIED 256.0  /* sums; of more, the largest is almost the room, and a plan asks for the bound of each candidate */
#define MOST_COUNT 0x1p53 /* of stage passes: each whole number up to it is a double */

void ppi_pass_sizes_add(struct ppi_pass_sizes *sizes, double size)
{
    uint32_t i = 0;
    if (size <= 0 || sizes->count > PPI_MOST_SIZES)
        return;
    while (i < sizes->count && sizes->size[i] > size)
        i++;
    if (i < sizes->count && sizes->size[i] == size)
        return;
    if (sizes->count++ == PPI_MOST_SIZES)
        return;
    for (uint32_t j = sizes->count - 1; j > i; j--)
        sizes->size[j] = sizes->size[j - 1];
    sizes->size[i] = size;
}

/* How many of a size fit. */
static double count_in(double room, double size)
{
    const double count = room / size;
    return count < MOST_COUNT ? (double)(uint64_t)count : MOST_COUNT;
}

/* The largest sum up to `room` that has `taken` of the sizes before `first`. */
static double largest_sum(const struct ppi_pass_sizes *sizes, uint32_t first, double taken, double room)
{
    const double size = sizes->size[first], most = count_in(room - taken, size);
    double largest = 0;
    if (first + 1 == sizes->count)
        return taken + most * size;
    for (double count = 0; count <= most; count++)
        largest = ppi_larger(largest, largest_sum(sizes, first + 1, taken + count * size, room));
    return largest;
}

double ppi_usable_memory(const struct ppi_pass_sizes *sizes, double room, double slack)
{
    double tried = 1;
    if (sizes->count == 0 || sizes->count > PPI_MOST_SIZES)
        return room;
    for (uint32_t i = 0; i + 1 < sizes->count; i++)
        tried *= count_in(room + slack, sizes->size[i]) + 1;
    if (!(tried <= MOST_TRIED) || count_in(room + slack, sizes->size[sizes->count - 1]) == MOST_COUNT)
        return room;
    const double largest = largest_sum(sizes, 0, 0, room + slack);
    return largest > 0 ? ppi_smaller(largest, room) : room;
}
