/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns that every device of a V placement repeats, made from real costs: one microbatch runs through, each of its ops at
 * the first time that is free in its device's period, and all others follow it a period apart. The faster it runs through, the
 * fewer are in flight; a longer period holds fewer, delays from device to device more. */
#ifndef PPSCHED_STRATEGY_V_PATTERN_H
#define PPSCHED_STRATEGY_V_PATTERN_H

#include "strategy/searches/v_planner.h"

enum { PPI_V_SLOTS = 6 }; /* F, I and W of a device's two stages */

/* What a pattern is made from. */
struct ppi_v_recipe {
    double period;
    double share;       /* part of its time for which an op has its device for itself: with less than 1 patterns get tighter */
    double delay[2];    /* of F from device to device on the way down, beside the real one: up to the turn, and behind it */
    uint32_t turn;      /* a device */
    bool delays_inputs; /* I likewise */
    bool full_backward; /* no W: I is all of the backward */
};

/* An op of a pattern. */
struct ppi_v_slot {
    double start, length; /* the first microbatch's start; how long it has its device for itself */
    double phase;         /* the start modulo the period */
    uint32_t turn;        /* whole periods in the start */
    uint16_t stage;
    uint8_t kind;
};

struct ppi_v_row {
    struct ppi_v_slot *slot[PPI_V_SLOTS]; /* of one device */
    uint32_t used;
};

struct ppi_v_pattern {
    double period;
    uint32_t most_turns; /* a start has */
    bool fine;           /* none has more */
    bool full_backward;
    struct ppi_v_slot *slot; /* in the order in which they were laid */
    uint32_t used;
    struct ppi_v_row *row;
    double *input_end; /* by stage */
};

ppsched_status ppi_v_pattern_make(struct ppi_v_pattern *out, const struct ppi_v_planner *planner, ppsched_error *error);
void ppi_v_pattern_clear(struct ppi_v_pattern *pattern, const struct ppi_v_planner *planner);

/* Makes a pattern; false where repeating it goes over a memory limit, or takes absurdly long. */
bool ppi_v_pattern_lay(struct ppi_v_pattern *pattern, const struct ppi_v_planner *planner, const struct ppi_v_recipe *recipe);

#endif
