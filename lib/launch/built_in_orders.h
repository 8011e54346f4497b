/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that a runtime makes by itself, by the name that it has for each: does one of them make this very order? */
#ifndef PPSCHED_LAUNCH_BUILT_IN_ORDERS_H
#define PPSCHED_LAUNCH_BUILT_IN_ORDERS_H

#include <stdbool.h>

#include "ir/schedule.h"

struct ppi_strategy;

struct ppi_class {
    const char *name;                             /* as the runtime calls it */
    const struct ppi_strategy *strategy;          /* whose rule it follows */
    bool (*takes)(const struct ppi_shape *shape); /* the sizes that the runtime takes; NULL: all that the rule serves */
    bool single;                                  /* PyTorch: takes one stage a rank, not a list of them */
    const char *more;                             /* further words of a line, or NULL */
};

/* Sizes that runtimes take: M is D or more; a multiple of the rounds, max(1, M div D); a multiple of D. */
bool ppi_fills_devices(const struct ppi_shape *shape);
bool ppi_has_whole_rounds(const struct ppi_shape *shape);
bool ppi_has_whole_groups(const struct ppi_shape *shape);

/* `*out` gets the first of `count` classes that makes the schedule's order, or NULL. A group of an interleaved one is a round.
 * The schedule has one iteration. Errors: NO_MEMORY. */
ppsched_status ppi_class_find(const struct ppi_class **out, const struct ppi_class *classes, size_t count,
                              const ppsched_schedule *schedule, ppsched_error *error);

#endif
