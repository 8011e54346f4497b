/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: shortest, exact, and the same in every locale. */
#include "support/problem.h"

#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(double value)
{
    static char text[PPI_NUMBER_SIZE + 1];
    text[ppi_number_to_text(text, value)] = '\0';
    return text;
}

static void test_plain_values(void **state)
{
    (void)state;
    assert_string_equal(text_of(0), "0");
    assert_string_equal(text_of(-0.0), "0");
    assert_string_equal(text_of(1), "1");
    assert_string_equal(text_of(-2.5), "-2.5");
    assert_string_equal(text_of(0.1), "0.1");
    assert_string_equal(text_of(78.265), "78.265");
    assert_string_equal(text_of(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(text_of(1.0 / 3), "0.3333333333333333");
    assert_string_equal(text_of(1e21), "1e+21");
    assert_string_equal(text_of(1e16), "10000000000000000");
    assert_string_equal(text_of(1.5e-7), "1.5e-7");
    assert_string_equal(text_of(5e-324), "5e-324");
    assert_string_equal(text_of(1.7976931348623157e308), "1.7976931348623157e+308");
    assert_string_equal(text_of(INFINITY), "Infinity");
    assert_string_equal(text_of(-INFINITY), "-Infinity");
    assert_string_equal(text_of(NAN), "NaN");
}

/* Digits without sign, point, exponent and outer zeros. */
static size_t significant(const char *text)
{
    size_t count = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (count == 0 && *text == '0'))
            continue;
        count++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return count - zeros;
}

static void expect_shortest(double value)
{
    const char *text = text_of(value);
    char other[40];
    assert_true(strtod(text, NULL) == value);
    size_t digits = significant(text);
    if (digits < 2)
        return;
    snprintf(other, sizeof other, "%.*e", (int)digits - 2, value);
    if (strtod(other, NULL) == value)
        fail_msg("%s has a shorter form %s", text, other);
}

static void test_random_values_read_back_and_are_shortest(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_next(&seed);
        double value;
        if (i % 4 == 1)
            value = random_below(&seed, 100000) / 1000.0 * random_below(&seed, 50);
        else if (i % 4 == 2)
            value = ldexp(1, (int)random_below(&seed, 2000) - 1070);
        else
            memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            expect_shortest(fabs(value));
    }
}

static void test_integers(void **state)
{
    char text[PPI_INTEGER_SIZE + 1];
    int64_t value = 0;
    (void)state;
    text[ppi_integer_to_text(text, INT64_MIN)] = '\0';
    assert_string_equal(text, "-9223372036854775808");
    assert_true(ppi_text_to_integer(text, &value) && value == INT64_MIN);
    assert_true(ppi_text_to_integer("9223372036854775807", &value) && value == INT64_MAX);
    for (int64_t number = -1200; number <= 1200; number += 3) {
        text[ppi_integer_to_text(text, number)] = '\0';
        assert_true(ppi_text_to_integer(text, &value) && value == number);
    }
    assert_false(ppi_text_to_integer("9223372036854775808", &value));
    assert_false(ppi_text_to_integer("-9223372036854775809", &value));
    assert_false(ppi_text_to_integer("", &value));
    assert_false(ppi_text_to_integer("-", &value));
    assert_false(ppi_text_to_integer("4 ", &value));
    assert_false(ppi_text_to_integer("+4", &value));
    assert_false(ppi_text_to_integer("4.0", &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_values),
        cmocka_unit_test(test_random_values_read_back_and_are_shortest),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
