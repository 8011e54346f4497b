/* SPDX-License-Identifier: Apache-2.0 */
/* How fast ends of devices advance where their ops repeat. Row r of a table has the end of each device after r repetitions;
 * row 0 is all 0. The time of a repetition in the long run is the largest mean of a cycle through the devices. */
#ifndef PPSCHED_BASE_CYCLE_MEAN_H
#define PPSCHED_BASE_CYCLE_MEAN_H

#include <stdbool.h>
#include <stdint.h>

/* After so many repetitions the time is no longer proven exactly; it is then an upper bound. */
enum { PPI_MOST_REPETITIONS = 64 };

/* Whether `count` repetitions suffice, for no device advances faster than `least` or than the slowest one. `*out`: the time. */
bool ppi_repeats(double *out, const double *ends, uint32_t devices, uint32_t count, double least);

/* The time after `count` repetitions: exact if there are as many as devices (Karp 1978), else an upper bound. */
double ppi_cycle_mean(const double *ends, uint32_t devices, uint32_t count);

#endif
