/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks are powers of two, so times divide exactly; digits come from 64-bit arithmetic where the fraction is short, else from
 * a large integer in base 10^9. */
#include "format/ticks.h"

/* --- the tick --- */

enum {
    LEAST_BITS = 10,
    ERROR_BITS = 20, /* the rounding error is below 2^-20 of the shortest length */
    MOST_COUNT = 52, /* a time is at most 2^52 ticks, so that twice that is exact too */
};

static double power_of_two(int exponent)
{
    double power = 1;
    for (int i = exponent; i > 0; i--)
        power *= 2;
    for (int i = exponent; i < 0; i++)
        power /= 2;
    return power;
}

/* The least e for which a number above 0 is at most 2^e. */
static int exponent_of(double number)
{
    int exponent = 0;
    for (; number > 1; number /= 2)
        exponent++;
    for (; number <= 0.5; number *= 2)
        exponent--;
    return exponent;
}

struct ppi_ticks ppi_ticks_for(double shortest, double latest)
{
    int bits = LEAST_BITS;
    for (double least = power_of_two(ERROR_BITS - 1 - LEAST_BITS); shortest > 0 && shortest <= least; least /= 2)
        bits++;
    if (latest > 0 && bits > MOST_COUNT - exponent_of(latest))
        bits = MOST_COUNT - exponent_of(latest);
    return (struct ppi_ticks){bits, {power_of_two(bits / 2), power_of_two(bits - bits / 2)}};
}

uint64_t ppi_tick_of(const struct ppi_ticks *ticks, double time)
{
    double count = time * ticks->up[0] * ticks->up[1];
    uint64_t whole = (uint64_t)count;
    return whole + (count - (double)whole >= 0.5);
}

/* --- digits --- */

enum {
    LIMBS = 96,        /* 2^52 * 5^1126 has 804 digits, 2^1024 309 */
    LIMB = 1000000000, /* nine digits */
    LIMB_DIGITS = 9,
    MOST_SHIFTED = 60 /* bits of a fraction of which ten times fit into 64 bits */
};

struct whole {
    uint32_t limbs[LIMBS]; /* the lowest first */
    size_t count;
};

static void multiply(struct whole *whole, uint32_t factor)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < whole->count; i++) {
        carry += (uint64_t)whole->limbs[i] * factor;
        whole->limbs[i] = (uint32_t)(carry % LIMB);
        carry /= LIMB;
    }
    for (; carry > 0; carry /= LIMB)
        whole->limbs[whole->count++] = (uint32_t)(carry % LIMB);
}

/* All digits, the highest first. */
static size_t write_digits(const struct whole *whole, char *text)
{
    size_t length = 0;
    for (size_t i = whole->count; i-- > 0;) {
        uint32_t rest = whole->limbs[i];
        for (size_t k = LIMB_DIGITS; k-- > 0; rest /= 10)
            text[length + k] = (char)('0' + rest % 10);
        length += LIMB_DIGITS;
    }
    return length;
}

/* count * 2^-bits is count * 5^bits with a point before its last `bits` digits. */
static void write_long(struct ppi_writer *writer, int bits, uint64_t count)
{
    struct whole whole = {{(uint32_t)(count % LIMB), (uint32_t)(count / LIMB)}, 2};
    char text[LIMBS * LIMB_DIGITS] = {0};
    size_t places = bits > 0 ? (size_t)bits : 0, first = 0;
    for (int i = 0; i < bits; i++)
        multiply(&whole, 5);
    for (int i = bits; i < 0; i++)
        multiply(&whole, 2);
    size_t length = write_digits(&whole, text);
    while (text[first] == '0') /* another digit follows: the count is not 0 */
        first++;
    if (length - first > places)
        ppi_write(writer, text + first, length - first - places);
    else
        ppi_write(writer, "0", 1);
    for (; places > 0 && text[length - 1] == '0'; places--)
        length--;
    if (places == 0)
        return;
    ppi_write(writer, ".", 1);
    if (places > length - first)
        ppi_write_repeated(writer, '0', places - (length - first));
    else
        first = length - places;
    ppi_write(writer, text + first, length - first);
}

static void write_short(struct ppi_writer *writer, int bits, uint64_t count)
{
    char text[MOST_SHIFTED + 1] = ".";
    size_t length = 1;
    uint64_t rest = count & (((uint64_t)1 << bits) - 1);
    ppi_write_integer(writer, (int64_t)(count >> bits));
    for (; rest > 0; rest &= ((uint64_t)1 << bits) - 1) {
        rest *= 10;
        text[length++] = (char)('0' + (rest >> bits));
    }
    if (length > 1)
        ppi_write(writer, text, length);
}

void ppi_write_ticks(struct ppi_writer *writer, const char *before, const struct ppi_ticks *ticks, uint64_t count)
{
    ppi_write_text(writer, before);
    if (count == 0)
        ppi_write(writer, "0", 1);
    else if (ticks->bits >= 0 && ticks->bits <= MOST_SHIFTED)
        write_short(writer, ticks->bits, count);
    else
        write_long(writer, ticks->bits, count);
}
