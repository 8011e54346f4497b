/* SPDX-License-Identifier: Apache-2.0 */
/* Every word is measured and, where there is a buffer, copied; words that a shell would change are put in single quotes. */
#include "launch/line.h"

#include <string.h>

static void put(struct ppi_line *line, const char *text, size_t size)
{
    if (line->text != NULL) {
        memcpy(line->text + line->length, text, size);
        line->text[line->length + size] = '\0';
    }
    line->length += size;
}

void ppi_line_text(struct ppi_line *line, const char *text)
{
    put(line, text, strlen(text));
}

void ppi_line_number(struct ppi_line *line, uint32_t number)
{
    char digits[10];
    size_t first = sizeof digits;
    do
        digits[--first] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    put(line, digits + first, sizeof digits - first);
}

void ppi_line_word(struct ppi_line *line, const char *word)
{
    if (line->length > 0)
        put(line, " ", 1);
    ppi_line_text(line, word);
}

/* The next word, with underscores after its first two hyphens where the line has them. */
static void put_flag(struct ppi_line *line, const char *flag)
{
    size_t start = line->length + (line->length > 0) + 2;
    ppi_line_word(line, flag);
    for (size_t i = start; i < line->length && line->has_underscores && line->text != NULL; i++)
        if (line->text[i] == '-')
            line->text[i] = '_';
}

void ppi_line_flag(struct ppi_line *line, const char *flag, uint32_t number)
{
    put_flag(line, flag);
    ppi_line_text(line, " ");
    ppi_line_number(line, number);
}

void ppi_line_setting(struct ppi_line *line, const char *name, uint32_t number)
{
    ppi_line_word(line, name);
    ppi_line_text(line, "=");
    ppi_line_number(line, number);
}

void ppi_line_choice(struct ppi_line *line, const char *name, const char *text)
{
    ppi_line_word(line, name);
    ppi_line_text(line, "=");
    ppi_line_text(line, text);
}

/* Whether a shell needs no quotes for the text. */
static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    return text[strspn(text, plain)] == '\0';
}

void ppi_line_quoted(struct ppi_line *line, const char *text)
{
    if (is_plain(text)) {
        ppi_line_text(line, text);
        return;
    }
    put(line, "'", 1);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            ppi_line_text(line, "'\\''");
        else
            put(line, text, 1);
    put(line, "'", 1);
}

void ppi_line_argument(struct ppi_line *line, const char *flag, const char *text)
{
    put_flag(line, flag);
    ppi_line_text(line, " ");
    ppi_line_quoted(line, text);
}
