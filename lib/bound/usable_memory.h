/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a device's memory its activations can fill: they come in as many sizes as its stage passes have, and a rest into
 * which none of them fits stays free. */
#ifndef PPSCHED_BOUND_USABLE_MEMORY_H
#define PPSCHED_BOUND_USABLE_MEMORY_H

#include <stdint.h>

enum { PPI_MOST_SIZES = 6 }; /* of stage passes on a device; with more, all memory counts as usable */

/* Unlike sizes of stage passes, the largest first. */
struct ppi_pass_sizes {
    double size[PPI_MOST_SIZES];
    uint32_t count; /* above PPI_MOST_SIZES: there are more */
};

/* Adds a size, unless it is there or is 0. */
void ppi_pass_sizes_add(struct ppi_pass_sizes *sizes, double size);

/* The largest sum of any numbers of these sizes that is not above `room` by more than `slack`; `room` if that is less, if no
 * size fits, or if to find the sum takes too long. `room` is positive. */
double ppi_usable_memory(const struct ppi_pass_sizes *sizes, double room, double slack);

#endif
