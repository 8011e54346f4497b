/* SPDX-License-Identifier: Apache-2.0 */
/* Generates digits from a fraction of big integers until the digits so far identify the double. */
#include "base/shortest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A natural number in base 2^32, least significant word first. The largest needed are below 2^1130. */
enum { WORDS = 37 };

/* The top word, `word[used - 1]`, is not 0; a zero has `used` 0. */
struct big {
    uint32_t word[WORDS];
    int used;
};

static void big_set(struct big *x, uint64_t value)
{
    x->word[0] = (uint32_t)value;
    x->word[1] = (uint32_t)(value >> 32);
    x->used = value >> 32 != 0 ? 2 : value != 0 ? 1 : 0;
}

static void big_multiply(struct big *x, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < x->used; i++) {
        carry += (uint64_t)x->word[i] * factor;
        x->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        x->word[x->used++] = (uint32_t)carry;
}

static void big_shift_left(struct big *x, int bits)
{
    for (; bits >= 31; bits -= 31)
        big_multiply(x, (uint32_t)1 << 31);
    big_multiply(x, (uint32_t)1 << bits);
}

static void big_power_of_ten(struct big *x, int exponent)
{
    for (; exponent >= 9; exponent -= 9)
        big_multiply(x, 1000000000u);
    for (; exponent > 0; exponent--)
        big_multiply(x, 10u);
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    for (int i = a->used - 1; i >= 0; i--)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

static void big_add(struct big *sum, const struct big *a, const struct big *b)
{
    uint64_t carry = 0;
    int used = a->used > b->used ? a->used : b->used;
    for (int i = 0; i < used; i++) {
        carry += (i < a->used ? (uint64_t)a->word[i] : 0u) + (i < b->used ? b->word[i] : 0u);
        sum->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        sum->word[used++] = (uint32_t)carry;
    sum->used = used;
}

/* a -= b, where a >= b. */
static void big_subtract(struct big *a, const struct big *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < a->used; i++) {
        uint64_t taken = (i < b->used ? (uint64_t)b->word[i] : 0u) + borrow;
        borrow = taken > a->word[i];
        a->word[i] = (uint32_t)(a->word[i] - taken);
    }
    while (a->used > 0 && a->word[a->used - 1] == 0)
        a->used--;
}

/* The state of digit generation: value = remainder / scale, and the distances below / scale and above / scale to the borders of
 * the interval that reads back as the value. `closed`: the borders themselves read back as it (even mantissa). */
struct digits_state {
    struct big remainder, scale, below, above;
    bool closed;
};

static bool reaches(const struct digits_state *s)
{
    struct big sum;
    big_add(&sum, &s->remainder, &s->above);
    int order = big_compare(&sum, &s->scale);
    return s->closed ? order >= 0 : order > 0;
}

static void take_apart(struct digits_state *s, double value, int *exponent)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52);
    bool lower_gap = mantissa == 0 && biased > 1; /* the gap below a power of two is half the gap above */
    int e = (biased != 0 ? biased : 1) - 1075;
    if (biased != 0)
        mantissa |= (uint64_t)1 << 52;
    s->closed = mantissa % 2 == 0;
    int shift = lower_gap ? 2 : 1; /* doubled, so that half gaps are integers */
    big_set(&s->remainder, mantissa);
    big_set(&s->scale, 1);
    big_set(&s->below, 1);
    big_set(&s->above, 1);
    big_shift_left(&s->remainder, shift + (e > 0 ? e : 0));
    big_shift_left(&s->scale, shift + (e < 0 ? -e : 0));
    big_shift_left(&s->below, e > 0 ? e : 0);
    big_shift_left(&s->above, (lower_gap ? 1 : 0) + (e > 0 ? e : 0));
    int top = e + 52; /* floor(log2), too large for subnormals, which the fix-up corrects */
    while (biased == 0 && (mantissa >> (top - e)) == 0)
        top--;
    *exponent = top * 1233 / 4096; /* about log10; fix_up corrects it */
}

/* Scales so that the next digit is the first: remainder + above is at most 10 * scale, and more than scale. */
static void fix_up(struct digits_state *s, int *point)
{
    int k = *point;
    if (k >= 0) {
        big_power_of_ten(&s->scale, k);
    } else {
        big_power_of_ten(&s->remainder, -k);
        big_power_of_ten(&s->below, -k);
        big_power_of_ten(&s->above, -k);
    }
    while (reaches(s)) {
        big_multiply(&s->scale, 10);
        k++;
    }
    for (;;) {
        struct digits_state next = *s;
        big_multiply(&next.remainder, 10);
        big_multiply(&next.below, 10);
        big_multiply(&next.above, 10);
        if (reaches(&next))
            break;
        *s = next;
        k--;
    }
    *point = k;
}

size_t ppi_shortest_digits(char digits[PPI_SHORTEST_DIGITS], double value, int *point)
{
    struct digits_state s;
    size_t count = 0;
    take_apart(&s, value, point);
    fix_up(&s, point);
    for (;;) {
        int digit = 0;
        big_multiply(&s.remainder, 10);
        big_multiply(&s.below, 10);
        big_multiply(&s.above, 10);
        for (; big_compare(&s.remainder, &s.scale) >= 0; digit++)
            big_subtract(&s.remainder, &s.scale);
        int order = big_compare(&s.remainder, &s.below);
        bool low = s.closed ? order <= 0 : order < 0;
        bool high = reaches(&s);
        if (!low && !high && count + 1 < PPI_SHORTEST_DIGITS) {
            digits[count++] = (char)('0' + digit);
            continue;
        }
        struct big twice;
        big_add(&twice, &s.remainder, &s.remainder);
        bool up = high && (!low || big_compare(&twice, &s.scale) >= 0);
        digits[count++] = (char)('0' + digit + (up ? 1 : 0));
        return count;
    }
}
