/* SPDX-License-Identifier: Apache-2.0 */
/* Results folded into a number, byte by byte in an order that does not depend on the machine (FNV-1a, 64 bits). */
#ifndef PPSCHED_TESTS_FOLD_H
#define PPSCHED_TESTS_FOLD_H

#include <stddef.h>
#include <stdint.h>

#define FOLD_START UINT64_C(0xCBF29CE484222325)

void fold_integer(uint64_t *digest, uint64_t value);

/* All bits of a number; NaNs are all one, as their bits mean nothing. */
void fold_number(uint64_t *digest, double value);

void fold_numbers(uint64_t *digest, const double *values, size_t count);

/* A text and its length. */
void fold_text(uint64_t *digest, const char *text, size_t size);

#endif
