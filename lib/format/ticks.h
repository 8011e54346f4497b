/* SPDX-License-Identifier: Apache-2.0 */
/* Times for readers that add and subtract them as doubles: all are whole numbers of one tick of 2^-k, few enough that sums and
 * differences are exact, and written with all their digits. */
#ifndef PPSCHED_FORMAT_TICKS_H
#define PPSCHED_FORMAT_TICKS_H

#include "base/writer.h"

struct ppi_ticks {
    int bits;     /* k, which may be negative */
    double up[2]; /* their product is 2^k */
};

/* The least k, from 10 on, for which half a tick is below 2^-20 of the shortest length, unless the latest time would exceed
 * 2^52 ticks. Neither argument is negative; 0: there is none. */
struct ppi_ticks ppi_ticks_for(double shortest, double latest);

/* The nearest whole number of ticks; monotonic. The time is at most the latest. */
uint64_t ppi_tick_of(const struct ppi_ticks *ticks, double time);

/* Writes a text, usually the name of a field, then a number of ticks as a JSON number, exactly. */
void ppi_write_ticks(struct ppi_writer *writer, const char *before, const struct ppi_ticks *ticks, uint64_t count);

#endif
