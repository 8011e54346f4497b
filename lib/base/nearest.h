/* SPDX-License-Identifier: Apache-2.0 */
/* Names: when two are the same, and which known one a wrong one is nearest to. */
#ifndef PPSCHED_BASE_NEAREST_H
#define PPSCHED_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Equal but for case and '-' for '_'. */
bool ppi_same_name(const char *a, const char *b);

/* The search for the nearest known name by edit distance; the first of equals stays. */
struct ppi_nearest {
    const char *wanted;
    const char *answer; /* NULL until one is offered */
    size_t distance;
};

struct ppi_nearest ppi_nearest_start(const char *wanted);

/* Offers a known name; `answer` is what to propose for it. */
void ppi_nearest_offer(struct ppi_nearest *search, const char *known, const char *answer);

#endif
