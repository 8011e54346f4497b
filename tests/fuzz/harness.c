/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/harness.h"

#include <string.h>

enum { UNTOUCHED = 0xA5 };

ppsched_error fresh_error(void)
{
    ppsched_error error;
    memset(&error, UNTOUCHED, sizeof error);
    return error;
}

/* Number of bytes of the UTF-8 character that begins here, 0 where none does. Overlong forms are not looked for. */
static size_t character_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xC2 ? 0 : text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : text[0] < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

static void expect_line(const char *text, size_t capacity)
{
    const char *end = memchr(text, '\0', capacity);
    EXPECT(end != NULL && end > text);
    while (text < end) {
        size_t length = character_length((const unsigned char *)text);
        EXPECT(length > 0 && length <= (size_t)(end - text));
        EXPECT((unsigned char)*text >= 0x20 && *text != 0x7F);
        text += length;
    }
}

bool accepted(ppsched_status status, const ppsched_error *error)
{
    ppsched_error untouched = fresh_error();
    if (status == PPSCHED_OK) {
        EXPECT(memcmp(error, &untouched, sizeof untouched) == 0);
        return true;
    }
    EXPECT(status != PPSCHED_ERROR_INTERNAL);
    EXPECT(error->status == status);
    expect_line(error->message, sizeof error->message);
    return false;
}
