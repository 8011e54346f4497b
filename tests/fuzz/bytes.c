/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/bytes.h"

#include <math.h>
#include <string.h>

uint8_t take_u8(struct bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->next++;
}

uint32_t take_u32(struct bytes *bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 8 | take_u8(bytes);
    return value;
}

uint32_t take_below(struct bytes *bytes, uint32_t bound)
{
    return take_u8(bytes) % bound;
}

int64_t take_integer(struct bytes *bytes)
{
    static const int64_t odd[] = {-1,          INT64_MIN,  INT64_MAX,  INT32_MIN,   INT32_MAX,           UINT32_MAX,
                                  65535,       65536,      1024,       1025,        1073741824,          1073741825,
                                  0x1FFFFFFFF, 4294967296, 4294967297, -4294967295, 9223372032559808512, 32768};
    uint8_t code = take_u8(bytes);
    return code < 224 ? code % 32 : odd[(code - 224) % (sizeof odd / sizeof odd[0])];
}

double take_number(struct bytes *bytes)
{
    return take_u8(bytes) / 16.0;
}

double take_any_number(struct bytes *bytes)
{
    static const double odd[] = {0,
                                 -0.0,
                                 NAN,
                                 INFINITY,
                                 -INFINITY,
                                 4.9406564584124654e-324,
                                 1e-310,
                                 1e-300,
                                 1e308,
                                 -1e308,
                                 1.7976931348623157e308,
                                 1e300,
                                 1e150,
                                 1e-9,
                                 1 + 1e-9,
                                 0.1,
                                 1.0 / 3,
                                 -1,
                                 9007199254740993.0,
                                 1e16};
    uint8_t code = take_u8(bytes);
    uint64_t bits;
    double value;
    if (code < 192)
        return code / 16.0;
    if (code < 250)
        return odd[code % (sizeof odd / sizeof odd[0])];
    bits = (uint64_t)take_u32(bytes) << 32 | take_u32(bytes);
    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *take_text(struct bytes *bytes, char *buffer, size_t capacity)
{
    size_t length = take_u8(bytes);
    length = length < capacity ? length : capacity - 1;
    for (size_t i = 0; i < length; i++)
        buffer[i] = (char)take_u8(bytes);
    buffer[length] = '\0';
    return buffer;
}

const void *hand_over(struct bytes *bytes, struct handed *handed, const void *own, size_t size)
{
    uint8_t code = take_u8(bytes);
    uint32_t told = (uint32_t)size;
    memset(handed, code % 2 != 0 ? 1 : 0, sizeof *handed);
    memcpy(handed->memory, own, size);
    if (code >= 240)
        told = code == 240 ? 0 : code == 241 ? UINT32_MAX : code < 248 ? told - (code - 241u) * 4 : told + (code - 247u) * 2;
    memcpy(handed->memory, &told, sizeof told);
    return handed->memory;
}
