/* SPDX-License-Identifier: Apache-2.0 */
/* Compares names, and finds the known name nearest to a misspelt one. */
#ifndef PPSCHED_BASE_NEAREST_H
#define PPSCHED_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Equal up to case and '-' for '_'. */
bool ppi_same_name(const char *a, const char *b);

/* The search for the nearest known name by edit distance; of equally near ones the first wins. */
struct ppi_nearest {
    const char *wanted;
    const char *answer; /* NULL until one is offered */
    size_t distance;
};

struct ppi_nearest ppi_nearest_start(const char *wanted);

/* Offers a known name; `answer` is what to suggest for it. */
void ppi_nearest_offer(struct ppi_nearest *search, const char *known, const char *answer);

#endif
