/* SPDX-License-Identifier: Apache-2.0 */
/* A file that becomes a text: the one of memory that POSIX has, or one that is read again. */
#ifndef PPSCHED_TESTS_TEXT_FILE_H
#define PPSCHED_TESTS_TEXT_FILE_H

#include <stdio.h>

struct text_file {
    FILE *file;
    char *text;
    size_t size;
};

/* Opens a file in *text, which must stay where it is, and returns it. */
FILE *open_text(struct text_file *text);

/* Closes it and returns what was written, which the caller frees. */
char *close_text(struct text_file *text);

#endif
