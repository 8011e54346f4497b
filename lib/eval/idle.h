/* SPDX-License-Identifier: Apache-2.0 */
/* Why devices are idle: how a wait is split along the path of the input that ends it. */
#ifndef PPSCHED_EVAL_IDLE_H
#define PPSCHED_EVAL_IDLE_H

#include "eval/timeline.h"

/* The part of a wait from `*from` to `to` up to `until`; `*from` advances to the rest. */
static inline double ppi_part_of_wait(double *from, double until, double to)
{
    double start = *from, end = until < to ? until : to;
    if (end <= start)
        return 0;
    *from = end;
    return end - start;
}

/* Adds waiting for the neighbour; before the first op of an iteration that is pipeline fill. */
static inline void ppi_add_waiting_for_neighbour(ppsched_idle *idle, bool has_computed, double time)
{
    *(has_computed ? &idle->neighbour : &idle->fill) += time;
}

/* Separates imbalance from waiting for neighbours, on all devices. */
void ppi_find_imbalance(ppsched_timeline *timeline);

#endif
