/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that cannot overflow unseen, and doubles that are told apart. */
#ifndef PPSCHED_BASE_CHECKED_H
#define PPSCHED_BASE_CHECKED_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b; false, and *out untouched, where that does not fit. */
static inline bool ppi_mul_size(size_t *out, size_t a, size_t b)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

/* *out = a + b; false, and *out untouched, where that does not fit. */
static inline bool ppi_add_size(size_t *out, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

#define PPI_INFINITE ((double)INFINITY)

/* A double that is neither NaN nor infinite. */
static inline bool ppi_is_finite(double x)
{
    return x - x == 0.0;
}

static inline double ppi_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double ppi_smaller(double a, double b)
{
    return a < b ? a : b;
}

#endif
