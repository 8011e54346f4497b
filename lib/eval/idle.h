/* SPDX-License-Identifier: Apache-2.0 */
/* Why devices are idle: how a wait is split along the way of the value that ends it. */
#ifndef PPSCHED_EVAL_IDLE_H
#define PPSCHED_EVAL_IDLE_H

#include "eval/timeline.h"

/* The part of a wait from `*from` to `to` that is over at `until`; `*from` moves on to the rest. */
static inline double ppi_part_of_wait(double *from, double until, double to)
{
    double start = *from, end = until < to ? until : to;
    if (end <= start)
        return 0;
    *from = end;
    return end - start;
}

/* Adds waiting for the neighbour; before the first op of an iteration that is fill. */
static inline void ppi_add_waiting_for_neighbour(ppsched_idle *idle, bool has_computed, double time)
{
    *(has_computed ? &idle->neighbour : &idle->fill) += time;
}

/* Takes imbalance out of waiting for neighbours, on all devices. */
void ppi_find_imbalance(ppsched_timeline *timeline);

#endif
