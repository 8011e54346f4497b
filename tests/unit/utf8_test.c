/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 by its definition (RFC 3629): each character is written in the least number of bytes that hold it, and only what is
 * written so is read. */
#include "support/problem.h"

#include "base/utf8.h"

#include <string.h>

/* Whether a number is a character; its bytes. */
static int is_character(uint32_t number)
{
    return number < 0xD800 || (number > 0xDFFF && number < 0x110000);
}

static size_t encode(unsigned char *out, uint32_t number)
{
    if (number < 1u << 7) {
        out[0] = (unsigned char)number;
        return 1;
    }
    size_t length = number < 1u << 11 ? 2 : number < 1u << 16 ? 3 : 4;
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)(0x80 + (number >> (6 * (length - 1 - i))) % 64);
    out[0] = (unsigned char)(256 - (256 >> length) + (number >> (6 * (length - 1))));
    return length;
}

/* How many of `size` bytes are the character that begins there: what reads as one of some length, and is written just so. */
static size_t length_of(const unsigned char *bytes, size_t size)
{
    for (size_t length = 1; length <= size && length <= 4; length++) {
        uint32_t number = length == 1 ? bytes[0] : bytes[0] % (1u << (7 - length));
        unsigned char own[4];
        for (size_t i = 1; i < length; i++)
            number = number * 64 + bytes[i] % 64;
        if (is_character(number) && encode(own, number) == length && memcmp(own, bytes, length) == 0)
            return length;
    }
    return 0;
}

static void test_each_character(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 0x110000; number++) {
        unsigned char own[4];
        char told[4];
        if (!is_character(number))
            continue;
        size_t length = encode(own, number);
        if (ppi_put_utf8(told, number) != length || memcmp(told, own, length) != 0 || ppi_utf8_length(told, length) != length)
            fail_msg("U+%04X", number);
        for (size_t size = 1; size < length; size++)
            assert_int_equal(ppi_utf8_length(told, size), 0);
    }
}

static void test_any_bytes(void **state)
{
    static const unsigned char ends[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    (void)state;
    for (uint32_t i = 0; i < 256 * 256; i++)
        for (size_t k = 0; k < sizeof ends * sizeof ends; k++) {
            const unsigned char bytes[] = {(unsigned char)(i / 256), (unsigned char)i, ends[k / sizeof ends],
                                           ends[k % sizeof ends]};
            if (ppi_utf8_length((const char *)bytes, 4) != length_of(bytes, 4))
                fail_msg("%02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
        }
}

/* The first broken byte, wherever it is among eight; and of characters that are cut off at the end. */
static void test_where_it_breaks(void **state)
{
    uint64_t seed = 8;
    (void)state;
    for (int trial = 0; trial < 20000; trial++) {
        unsigned char text[40];
        size_t size = 0, broken = 0, cut;
        while (size < 30)
            size += random_below(&seed, 3) > 0 ? encode(text + size, random_below(&seed, 128))
                                               : encode(text + size, random_below(&seed, 0xD800));
        cut = random_below(&seed, (uint32_t)size + 1);
        if (random_below(&seed, 2) == 0)
            text[random_below(&seed, (uint32_t)size)] = (unsigned char)(128 + random_below(&seed, 128));
        while (broken < cut && length_of(text + broken, cut - broken) > 0)
            broken += length_of(text + broken, cut - broken);
        assert_int_equal(ppi_find_broken_utf8((const char *)text, cut), broken);
    }
}

/* What a terminal obeys, at the ends of each range. */
static void test_printable(void **state)
{
    static const uint32_t hidden[] = {0x00,   0x1F,   0x7F,   0x9F,   0xAD,   0x61C,  0x200B,
                                      0x200F, 0x2028, 0x202E, 0x2060, 0xFEFF, 0xE007F};
    static const uint32_t shown[] = {0x20,   0x7E,   0xA0,   0xAC,   0xAE,   0x61B,  0x200A,
                                     0x2010, 0x2027, 0x202F, 0x2070, 0xFF00, 0xE0080};
    char bytes[4];
    (void)state;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        assert_int_equal(ppi_printable_length(bytes, ppi_put_utf8(bytes, hidden[i])), 0);
        assert_int_equal(ppi_printable_length(bytes, ppi_put_utf8(bytes, shown[i])), ppi_put_utf8(bytes, shown[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_character), cmocka_unit_test(test_any_bytes),
                                       cmocka_unit_test(test_where_it_breaks), cmocka_unit_test(test_printable)};
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
