/* SPDX-License-Identifier: Apache-2.0 */
/* The stage passes that a device holds at once. They follow from the order alone, so that the memory of any split of the
 * layers is found without the schedule. */
#ifndef PPSCHED_SPLIT_HELD_PASSES_H
#define PPSCHED_SPLIT_HELD_PASSES_H

#include "base/arena.h"
#include "ir/op.h"
#include "ir/schedule.h"

/* The state of a stage pass that holds memory. */
enum ppi_held {
    PPI_HELD_KEPT,   /* its backward has not begun */
    PPI_HELD_WEIGHT, /* only its weight gradient is left */
    PPI_HELD_INPUT,  /* its I runs, */
    PPI_HELD_WHOLE,  /* its B runs. These two are used where memory rises inside backwards; else such passes count as kept */
    PPI_HELD
};

/* The stages of a device, and the maximal sets of stage passes that it holds: none contains another. A set has `width` numbers
 * per stage, of passes by state: two, or all four where memory rises inside backwards. */
struct ppi_held_passes {
    uint32_t *stages;
    uint32_t count; /* of stages */
    uint32_t width;
    uint32_t *sets; /* `set_count` rows of width * count numbers */
    uint32_t set_count;
    double *passes; /* the same as `width` * `count` columns of `set_count` numbers */
    bool *has_any;  /* of each column: whether some number is not 0 */
};

/* For each device of a valid schedule, of one iteration. `rises`: memory rises inside backwards. NO_MEMORY. */
ppsched_status ppi_holding_make(struct ppi_held_passes **out, struct ppi_arena *arena, const ppsched_schedule *schedule,
                                bool rises, ppsched_error *error);

/* Whether a device runs a B; known only where memory rises. */
bool ppi_holding_has_whole(const struct ppi_held_passes *holding);

/* Whether the first `devices` devices hold the same sets in both. */
bool ppi_holdings_are_alike(const struct ppi_held_passes *a, const struct ppi_held_passes *b, uint32_t devices);

#endif
