/* SPDX-License-Identifier: Apache-2.0 */
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

size_t ppi_printable_length(const char *text, size_t size)
{
    unsigned char lead = (unsigned char)text[0];
    size_t length = ppi_utf8_length(text, size);
    bool is_control = lead < 0x20 || lead == 0x7F || (lead == 0xC2 && length == 2 && (unsigned char)text[1] < 0xA0);
    return is_control ? 0 : length;
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
