/* SPDX-License-Identifier: Apache-2.0 */
/* Times for readers that add and subtract them as doubles: all are whole numbers of one tick of 2^-k, few enough that sums and
 * differences have no error, and written with all their digits. */
#ifndef PPSCHED_FORMAT_TICKS_H
#define PPSCHED_FORMAT_TICKS_H

#include "format/writer.h"

struct ppi_ticks {
    int bits;     /* k, which may be negative */
    double up[2]; /* their product is 2^k */
};

/* The least k from 10 on of which half a tick is below 2^-20 of the shortest length; but all times up to the latest are 2^52
 * ticks at most. Neither is negative; 0: there is none. */
struct ppi_ticks ppi_ticks_for(double shortest, double latest);

/* The nearest whole number of ticks: of equal times the same, of a later time no fewer. The time is at most the latest. */
uint64_t ppi_tick_of(const struct ppi_ticks *ticks, double time);

/* A text, the name of a field as a rule, and behind it a number of ticks as a JSON number, exactly. */
void ppi_write_ticks(struct ppi_writer *writer, const char *before, const struct ppi_ticks *ticks, uint64_t count);

#endif
