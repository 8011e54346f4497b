/* SPDX-License-Identifier: Apache-2.0 */
/* A row of numbers of which ranges are raised and asked for their largest, each in logarithmic time: a tree over them. */
#ifndef PPSCHED_SCENARIO_MAX_TREE_H
#define PPSCHED_SCENARIO_MAX_TREE_H

#include "base/arena.h"

struct ppi_levels {
    uint32_t width; /* places of the tree's lowest row: a power of 2 */
    uint32_t count;
    double *most;  /* of each part, with what was added to it as a whole; parts of part i are 2i and 2i + 1 */
    double *added; /* to the part as a whole */
};

/* In a room, which is to be checked. */
void ppi_levels_make(struct ppi_levels *out, struct ppi_arena *arena, uint32_t count);
void ppi_levels_reset(struct ppi_levels *levels, const double *values);

/* From `first` to before `end`; minus infinity where that is nothing. */
double ppi_levels_most(const struct ppi_levels *levels, uint32_t first, uint32_t end);
void ppi_levels_add(struct ppi_levels *levels, uint32_t first, uint32_t end, double value);

/* The number at a place is minus infinity from now on. */
void ppi_levels_drop(struct ppi_levels *levels, uint32_t place);

#endif
