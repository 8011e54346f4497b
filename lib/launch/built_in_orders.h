/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which of the orders that a runtime makes itself, each with its own name there, equals a schedule's order. */
#ifndef PPSCHED_LAUNCH_BUILT_IN_ORDERS_H
#define PPSCHED_LAUNCH_BUILT_IN_ORDERS_H

#include <stdbool.h>

#include "ir/schedule.h"

struct ppi_strategy;

struct ppi_class {
    const char *name;                             /* the runtime's name of it */
    const struct ppi_strategy *strategy;          /* with the same rule */
    bool (*takes)(const struct ppi_shape *shape); /* sizes that the runtime supports; NULL: all of the rule */
    bool single;                                  /* PyTorch: a class of one stage per rank, not of a list */
    const char *more;                             /* further words of the command, or NULL */
};

/* Rules for sizes: M is at least D; a multiple of the rounds, max(1, M div D); a multiple of D. */
bool ppi_fills_devices(const struct ppi_shape *shape);
bool ppi_has_whole_rounds(const struct ppi_shape *shape);
bool ppi_has_whole_groups(const struct ppi_shape *shape);

/* `*out`: the first of `count` classes that makes the schedule's order, or NULL. The group size of interleaved ones is a
 * round. The schedule has one iteration. Errors: NO_MEMORY. */
ppsched_status ppi_class_find(const struct ppi_class **out, const struct ppi_class *classes, size_t count,
                              const ppsched_schedule *schedule, ppsched_error *error);

#endif
