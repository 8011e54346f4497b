/* SPDX-License-Identifier: Apache-2.0 */
#include "support/text_file.h"

#include <stdlib.h>

#ifdef _WIN32
#include <process.h>

/* tmpfile() there writes into the root folder, and fails when others do so, too. */
static FILE *open_file(struct text_file *text)
{
    static unsigned number;
    char name[FILENAME_MAX];
    snprintf(name, sizeof name, "%s/ppsched-test-%d-%u.txt", getenv("TEMP"), _getpid(), number++);
    text->file = fopen(name, "w+bTD"); /* removed when it is closed */
    return text->file;
}

char *close_text(struct text_file *text)
{
    text->size = (size_t)ftell(text->file);
    text->text = calloc(text->size + 1, 1);
    rewind(text->file);
    if (text->text == NULL || fread(text->text, 1, text->size, text->file) != text->size)
        abort();
    fclose(text->file);
    return text->text;
}
#else
static FILE *open_file(struct text_file *text)
{
    text->file = open_memstream(&text->text, &text->size);
    return text->file;
}

char *close_text(struct text_file *text)
{
    fclose(text->file);
    return text->text;
}
#endif

FILE *open_text(struct text_file *text)
{
    *text = (struct text_file){0};
    if (open_file(text) == NULL)
        abort();
    return text->file;
}
