/* SPDX-License-Identifier: Apache-2.0 */
/* What a device holds at once, in stage passes: it follows from the order alone, so that the memory of any split of the layers
 * is told without the schedule. */
#ifndef PPSCHED_SPLIT_HELD_PASSES_H
#define PPSCHED_SPLIT_HELD_PASSES_H

#include "base/arena.h"
#include "ir/op.h"
#include "ir/schedule.h"

/* How far a stage pass is that holds memory. */
enum ppi_held {
    PPI_HELD_KEPT,   /* its backward has not begun */
    PPI_HELD_WEIGHT, /* its weight gradient alone is left */
    PPI_HELD_INPUT,  /* its I runs, */
    PPI_HELD_WHOLE,  /* its B: these two count where memory rises inside backwards, else they are among those kept */
    PPI_HELD
};

/* The stages of a device, and the largest sets of stage passes that it holds: none is within another. A set has `width` numbers
 * a stage, of passes by how far they are: two, or all four where memory rises inside backwards. */
struct ppi_held_passes {
    uint32_t *stages;
    uint32_t count; /* of stages */
    uint32_t width;
    uint32_t *sets; /* `set_count` rows of width * count numbers */
    uint32_t set_count;
    double *passes; /* the same as width * count columns of `set_count` numbers */
    bool *has_any;  /* of each column: not all of it is 0 */
};

/* Of each device of a valid schedule, for one iteration; `rises`: memory does, inside backwards. NO_MEMORY. */
ppsched_status ppi_holding_make(struct ppi_held_passes **out, struct ppi_arena *arena, const ppsched_schedule *schedule,
                                bool rises, ppsched_error *error);

/* Whether a B is among what a device runs; told where memory rises. */
bool ppi_holding_has_whole(const struct ppi_held_passes *holding);

/* Whether so many devices hold the same in both. */
bool ppi_holdings_are_alike(const struct ppi_held_passes *a, const struct ppi_held_passes *b, uint32_t devices);

#endif
