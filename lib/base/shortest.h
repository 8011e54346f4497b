/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest decimal digits of a double, after Steele and White, "How to print floating-point numbers accurately" (1990). */
#ifndef PPSCHED_BASE_SHORTEST_H
#define PPSCHED_BASE_SHORTEST_H

#include <stddef.h>

enum { PPI_SHORTEST_DIGITS = 17 };

/* For a finite value > 0: writes the fewest digits d1d2... such that 0.d1d2... * 10^point reads back as `value`, and of those
 * the ones nearest to it; returns their number. Exact, by big integers. */
size_t ppi_shortest_digits(char digits[PPI_SHORTEST_DIGITS], double value, int *point);

#endif
