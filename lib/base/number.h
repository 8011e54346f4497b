/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, without stdio and without locale. */
#ifndef PPSCHED_BASE_NUMBER_H
#define PPSCHED_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PPI_INTEGER_SIZE = 20, /* the longest integer: "-9223372036854775808" */
    PPI_NUMBER_SIZE = 32   /* the longest number: sign, 17 digits, point, exponent, leading zeros */
};

/* Writes an integer, without a NUL, and returns its length. */
size_t ppi_integer_to_text(char text[PPI_INTEGER_SIZE], int64_t value);

/* Writes the shortest decimal that reads back as the same double ("0.1", "78.265", "1e+30"), without a NUL, and returns its
 * length. Infinity and NaN become "Infinity", "-Infinity" and "NaN". */
size_t ppi_number_to_text(char text[PPI_NUMBER_SIZE], double value);

/* Reads a whole text as a decimal integer; false if it is none or does not fit. */
bool ppi_text_to_integer(const char *text, int64_t *out);

#endif
