/* SPDX-License-Identifier: Apache-2.0 */
/* A command line of words with blanks in between, safe for a shell. */
#ifndef PPSCHED_LAUNCH_LINE_H
#define PPSCHED_LAUNCH_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `text` has space for the whole line and a NUL, or is NULL: then the line is only measured. */
struct ppi_line {
    char *text;
    size_t length;
    bool has_underscores; /* flags have underscores instead of hyphens */
};

/* The next word, which needs no quotes. */
void ppi_line_word(struct ppi_line *line, const char *word);

/* "flag number" */
void ppi_line_flag(struct ppi_line *line, const char *flag, uint32_t number);

/* "flag text", in quotes where needed */
void ppi_line_argument(struct ppi_line *line, const char *flag, const char *text);

/* "name=number", "name=text" */
void ppi_line_setting(struct ppi_line *line, const char *name, uint32_t number);
void ppi_line_choice(struct ppi_line *line, const char *name, const char *text);

/* More of the last word: a text, a number, a text in quotes where needed. */
void ppi_line_text(struct ppi_line *line, const char *text);
void ppi_line_number(struct ppi_line *line, uint32_t number);
void ppi_line_quoted(struct ppi_line *line, const char *text);

#endif
