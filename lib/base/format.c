/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions append to a sink of fixed capacity; once something has been cut, the sink counts as full. */
#include "base/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

struct sink {
    char *buffer;
    size_t capacity, length;
    bool is_one; /* the last number put */
};

static void put(struct sink *sink, const char *text, size_t size)
{
    size_t room = sink->capacity - 1 - sink->length;
    size_t taken = size <= room ? size : room;
    if (taken < size) /* do not cut a UTF-8 character in two */
        while (taken > 0 && ((unsigned char)text[taken] & 0xC0u) == 0x80u)
            taken--;
    memcpy(sink->buffer + sink->length, text, taken);
    sink->length += taken;
    if (taken < size)
        sink->capacity = sink->length + 1;
}

static void put_signed(struct sink *sink, long long value)
{
    char digits[PPI_INTEGER_SIZE];
    sink->is_one = value == 1;
    put(sink, digits, ppi_integer_to_text(digits, value));
}

static void put_unsigned(struct sink *sink, uint64_t value)
{
    bool is_one = value == 1;
    if (value > INT64_MAX / 10) /* the last digit separately, as the whole may not fit an int64_t */
        put_unsigned(sink, value / 10), value %= 10;
    put_signed(sink, (long long)value);
    sink->is_one = is_one;
}

/* Puts the ending of a noun that counts in the last number. */
static void put_plural(struct sink *sink)
{
    bool is_long = sink->length >= 2 && memcmp(sink->buffer + sink->length - 2, "ch", 2) == 0;
    if (!sink->is_one)
        put(sink, is_long ? "es" : "s", is_long ? 2 : 1);
}

enum { LONGEST_QUOTE = 64 }; /* bytes of a caller's text in a message; the rest becomes "..." */

/* Puts a caller's text: control characters and invalid UTF-8 become '?', and a long text is cut. */
static void put_quoted(struct sink *sink, const char *text)
{
    const char *end = text + strlen(text), *start = text;
    while (text < end && text - start < LONGEST_QUOTE) {
        size_t length = ppi_printable_length(text, (size_t)(end - text));
        put(sink, length == 0 ? "?" : text, length == 0 ? 1 : length);
        text += length == 0 ? 1 : length;
    }
    if (text < end)
        put(sink, "...", 3);
}

/* Handles one conversion, `format` after its '%'; returns what follows it. */
static const char *convert(struct sink *sink, const char *format, va_list *arguments)
{
    char digits[PPI_NUMBER_SIZE];
    const char *text;
    switch (*format) {
    case 's':
        text = va_arg(*arguments, const char *);
        text = text != NULL ? text : "(null)";
        put(sink, text, strlen(text));
        return format + 1;
    case 'q':
        put_quoted(sink, va_arg(*arguments, const char *));
        return format + 1;
    case 'u':
        put_signed(sink, va_arg(*arguments, unsigned));
        return format + 1;
    case 'd':
        put_signed(sink, va_arg(*arguments, int));
        return format + 1;
    case 'g':
        put(sink, digits, ppi_number_to_text(digits, va_arg(*arguments, double)));
        return format + 1;
    case 'p':
        put_plural(sink);
        return format + 1;
    case 'z':
        put_unsigned(sink, va_arg(*arguments, size_t));
        return format + 2;
    case 'l':
        put_signed(sink, va_arg(*arguments, long long));
        return format + 3;
    default:
        put(sink, "%", 1);
        return format + 1;
    }
}

void ppi_format(char *buffer, size_t capacity, const char *format, va_list arguments)
{
    struct sink sink = {buffer, capacity, 0, false};
    va_list copy;
    if (capacity == 0)
        return;
    va_copy(copy, arguments);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        put(&sink, format, plain);
        format += plain;
        if (*format == '%')
            format = convert(&sink, format + 1, &copy);
    }
    va_end(copy);
    buffer[sink.length] = '\0';
}

void ppi_print(char *buffer, size_t capacity, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ppi_format(buffer, capacity, format, arguments);
    va_end(arguments);
}
