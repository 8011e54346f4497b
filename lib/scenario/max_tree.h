/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with range addition and range maximum, each in logarithmic time: a segment tree. */
#ifndef PPSCHED_SCENARIO_MAX_TREE_H
#define PPSCHED_SCENARIO_MAX_TREE_H

#include "base/arena.h"

struct ppi_levels {
    uint32_t width; /* leaves of the tree: a power of 2, at least `count` */
    uint32_t count;
    double *most;  /* by part: maximum, with `added`; the parts of part i are 2i and 2i + 1 */
    double *added; /* by part: added to all of it */
};

/* Makes it in an arena, which the caller checks. */
void ppi_levels_make(struct ppi_levels *out, struct ppi_arena *arena, uint32_t count);
void ppi_levels_reset(struct ppi_levels *levels, const double *values);

/* The maximum from `first` to before `end`; minus infinity if that is empty. */
double ppi_levels_most(const struct ppi_levels *levels, uint32_t first, uint32_t end);
void ppi_levels_add(struct ppi_levels *levels, uint32_t first, uint32_t end, double value);

/* Sets the number at a place to minus infinity until the next reset. */
void ppi_levels_drop(struct ppi_levels *levels, uint32_t place);

#endif
