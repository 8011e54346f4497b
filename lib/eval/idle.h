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

/* Positions of a device's queue that run again and again. */
struct ppi_repeated_part {
    size_t from, to;
};

/* Fills `idle` without `imbalance`, with a part of each queue that runs `times` times more: every wait of the part is as long
 * then. No part begins an iteration. The loop need not have run. */
struct ppi_event_loop;
void ppi_find_idle_of_repeats(struct ppi_event_loop *loop, ppsched_timeline *timeline, const struct ppi_repeated_part *parts,
                              double times);

/* Separates imbalance from waiting for neighbours, on all devices. */
void ppi_find_imbalance(ppsched_timeline *timeline);

#endif
