/* SPDX-License-Identifier: Apache-2.0 */
/* Checked size arithmetic; comparison of doubles, and what the build must guarantee about their rounding. */
#ifndef PPSCHED_BASE_CHECKED_H
#define PPSCHED_BASE_CHECKED_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results are identical to the last bit on every platform where each operation rounds to an IEEE 754 double. */
#if FLT_RADIX != 2 || DBL_MANT_DIG != 53 || DBL_MAX_EXP != 1024 || DBL_MIN_EXP != -1021
#error "double must be the 64 bits of IEEE 754"
#elif FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2
#error "arithmetic must round to double; on 32-bit x86 compile with -msse2 -mfpmath=sse"
#elif defined __FAST_MATH__
#error "arithmetic must be that of the source: compile without -ffast-math and -Ofast"
#endif

/* *out = a * b; false, and *out untouched, if that overflows. */
static inline bool ppi_mul_size(size_t *out, size_t a, size_t b)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

/* *out = a + b; false, and *out untouched, if that overflows. */
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
