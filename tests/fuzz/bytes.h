/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzzer's bytes, taken one after another as the values that drive a target; past their end all are 0. */
#ifndef PPSCHED_TESTS_FUZZ_BYTES_H
#define PPSCHED_TESTS_FUZZ_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *next;
    size_t left;
};

uint8_t take_u8(struct bytes *bytes);
uint32_t take_u32(struct bytes *bytes);

/* 0 to `bound` - 1, from one byte; `bound` is 1 to 256. */
uint32_t take_below(struct bytes *bytes, uint32_t bound);

/* A small number, or one at the edge of a type or of the library's bounds. */
int64_t take_integer(struct bytes *bytes);

/* An ordinary number, 0 to 15.9375 in sixteenths; or any: also NaN, infinities, -0, subnormal, largest, negative. */
double take_number(struct bytes *bytes);
double take_any_number(struct bytes *bytes);

/* A text of up to `capacity` - 1 bytes and a NUL; returns `buffer`. */
const char *take_text(struct bytes *bytes, char *buffer, size_t capacity);

/* A sized struct as a caller may hand it over: sometimes of another size, sometimes with bytes set behind what the library
 * knows. */
struct handed {
    _Alignas(16) unsigned char memory[256];
};

/* Puts a struct of `size` bytes there; returns its place. */
const void *hand_over(struct bytes *bytes, struct handed *handed, const void *own, size_t size);

#endif
