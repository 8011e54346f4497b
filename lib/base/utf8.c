/* SPDX-License-Identifier: Apache-2.0 */
/* Characters are validated by the ranges of their lead and second byte; format characters are a sorted table of ranges. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t ppi_utf8_length(const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char lead = bytes[0], low = 0x80, high = 0xBF; /* bounds of the second byte */
    size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length < 2)
        return length;
    if (lead == 0xE0)
        low = 0xA0; /* shorter forms exist */
    if (lead == 0xED)
        high = 0x9F; /* surrogates */
    if (lead == 0xF0)
        low = 0x90;
    if (lead == 0xF4)
        high = 0x8F; /* above 0x10FFFF */
    if (size < length || bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((bytes[i] & 0xC0u) != 0x80u)
            return 0;
    return length;
}

/* Decodes a valid character of `length` bytes. */
static uint32_t decode(const char *text, size_t length)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t character = (unsigned char)text[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        character = character << 6 | ((unsigned char)text[i] & 0x3Fu);
    return character;
}

/* Control characters, line separators and format characters: invisible, or they change how others are shown. */
static bool is_obeyed(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x0600, 0x0605},   {0x061C, 0x061C},
                  {0x06DD, 0x06DD},   {0x070F, 0x070F},   {0x0890, 0x0891},   {0x08E2, 0x08E2},   {0x180E, 0x180E},
                  {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
                  {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
                  {0xE0000, 0xE007F}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && ranges[i].first <= character; i++)
        if (character <= ranges[i].last)
            return true;
    return false;
}

size_t ppi_printable_length(const char *text, size_t size)
{
    size_t length = ppi_utf8_length(text, size);
    return length > 0 && is_obeyed(decode(text, length)) ? 0 : length;
}

size_t ppi_find_broken_utf8(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size) {
        uint64_t word;
        if (size - i >= sizeof word) { /* ASCII eight bytes at a time */
            memcpy(&word, text + i, sizeof word);
            if ((word & 0x8080808080808080u) == 0) {
                i += sizeof word;
                continue;
            }
        }
        size_t length = ppi_utf8_length(text + i, size - i);
        if (length == 0)
            return i;
        i += length;
    }
    return size;
}

size_t ppi_put_utf8(char out[4], uint32_t character)
{
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (character & 0x3F));
        character >>= 6;
    }
    out[0] = (char)(leads[length] | character);
    return length;
}
