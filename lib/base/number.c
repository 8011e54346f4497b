/* SPDX-License-Identifier: Apache-2.0 */
/* Short decimals are found by a multiplication and a division; all other doubles take the exact digits of shortest.h. */
#include "base/number.h"

#include <string.h>

#include "base/checked.h"
#include "base/shortest.h"

size_t ppi_integer_to_text(char text[PPI_INTEGER_SIZE], int64_t value)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t length = value < 0 ? 2 : 1;
    for (uint64_t more = rest; more >= 10; more /= 10)
        length++;
    text[0] = '-';
    for (size_t i = length; i > (size_t)(value < 0); rest /= 10)
        text[--i] = (char)('0' + rest % 10);
    return length;
}

/* Powers of ten up to the largest number of decimals tried; a double holds each exactly. */
static const double power_of_ten[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

/* Most times are short decimals: looks for the fewest decimals k with value == digits / 10^k. Both are exact and the division
 * rounds to nearest, so such a decimal reads back as `value`, and fewer decimals would not. */
static bool short_decimal(double value, uint64_t *digits, int *decimals)
{
    const double largest = 9007199254740992.0; /* 2^53 */
    if (value >= largest / 2 || (value > 0 && value < 1e-5))
        return false;
    for (int k = 0; k < (int)(sizeof power_of_ten / sizeof power_of_ten[0]); k++) {
        double scaled = value * power_of_ten[k] + 0.5;
        if (scaled >= largest / 2)
            return false;
        uint64_t rounded = (uint64_t)scaled;
        if ((double)rounded / power_of_ten[k] == value) {
            *digits = rounded;
            *decimals = k;
            return true;
        }
    }
    return false;
}

static size_t fixed(char *text, uint64_t digits, int decimals)
{
    char integer[PPI_INTEGER_SIZE];
    size_t count = ppi_integer_to_text(integer, (int64_t)digits), length = 0;
    int before = (int)count - decimals; /* digits before the point */
    if (decimals == 0) {
        memcpy(text, integer, count);
        return count;
    }
    if (before <= 0) {
        text[length++] = '0';
        text[length++] = '.';
        for (; before < 0; before++)
            text[length++] = '0';
        memcpy(text + length, integer, count);
        return length + count;
    }
    memcpy(text, integer, (size_t)before);
    text[before] = '.';
    memcpy(text + before + 1, integer + before, (size_t)decimals);
    return count + 1;
}

static size_t scientific(char *text, const char *digits, size_t count, int exponent)
{
    size_t length = 0;
    text[length++] = digits[0];
    if (count > 1) {
        text[length++] = '.';
        memcpy(text + length, digits + 1, count - 1);
        length += count - 1;
    }
    text[length++] = 'e';
    text[length++] = exponent < 0 ? '-' : '+';
    return length + ppi_integer_to_text(text + length, exponent < 0 ? -exponent : exponent);
}

/* Writes the shortest digits 0.d1d2... * 10^point in plain or scientific notation. */
static size_t from_digits(char *text, const char *digits, size_t count, int point)
{
    size_t length = 0;
    if (point < -5 || point > 17)
        return scientific(text, digits, count, point - 1);
    if (point <= 0) {
        text[length++] = '0';
        text[length++] = '.';
        for (int i = point; i < 0; i++)
            text[length++] = '0';
        memcpy(text + length, digits, count);
        return length + count;
    }
    for (size_t i = 0; i < count || (int)i < point; i++) {
        if ((int)i == point)
            text[length++] = '.';
        text[length++] = i < count ? digits[i] : '0';
    }
    return length;
}

static size_t copy_word(char *text, const char *word)
{
    size_t length = strlen(word);
    memcpy(text, word, length);
    return length;
}

/* Writes a number that is not negative. */
static size_t magnitude(char *text, double value)
{
    char digits[PPI_SHORTEST_DIGITS];
    uint64_t integer;
    int decimals;
    if (!ppi_is_finite(value))
        return copy_word(text, "Infinity");
    if (short_decimal(value, &integer, &decimals))
        return fixed(text, integer, decimals);
    int point = 0;
    size_t count = ppi_shortest_digits(digits, value, &point);
    return from_digits(text, digits, count, point);
}

size_t ppi_number_to_text(char text[PPI_NUMBER_SIZE], double value)
{
    if (value != value)
        return copy_word(text, "NaN");
    if (!(value < 0))
        return magnitude(text, value);
    text[0] = '-';
    return 1 + magnitude(text + 1, -value);
}

bool ppi_text_to_integer(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    uint64_t value = 0, largest = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    if (negative)
        text++;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (largest - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = !negative ? (int64_t)value : value == largest ? INT64_MIN : -(int64_t)value;
    return true;
}
