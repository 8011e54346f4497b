/* SPDX-License-Identifier: Apache-2.0 */
#include "portability/fold.h"

#include <string.h>

static void fold_byte(uint64_t *digest, unsigned char byte)
{
    *digest = (*digest ^ byte) * UINT64_C(0x100000001B3);
}

void fold_integer(uint64_t *digest, uint64_t value)
{
    for (int shift = 0; shift < 64; shift += 8)
        fold_byte(digest, (unsigned char)(value >> shift & 0xFF));
}

void fold_number(uint64_t *digest, double value)
{
    uint64_t bits = UINT64_C(0x7FF8000000000000);
    if (value == value)
        memcpy(&bits, &value, sizeof bits);
    fold_integer(digest, bits);
}

void fold_numbers(uint64_t *digest, const double *values, size_t count)
{
    fold_integer(digest, count);
    for (size_t i = 0; i < count; i++)
        fold_number(digest, values[i]);
}

void fold_text(uint64_t *digest, const char *text, size_t size)
{
    fold_integer(digest, size);
    for (size_t i = 0; i < size; i++)
        fold_byte(digest, (unsigned char)text[i]);
}
