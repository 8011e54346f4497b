/* SPDX-License-Identifier: Apache-2.0 */
/* The two-call way to give a text to the caller. */
#ifndef PPSCHED_API_BUFFER_H
#define PPSCHED_API_BUFFER_H

#include <string.h>

#include <ppsched/status.h>

/* Copies `text` with its NUL; `*needed` (may be NULL) gets the length. NULL with 0 only asks. */
static inline ppsched_status ppi_give_text(const char *text, size_t length, char *buffer, size_t capacity, size_t *needed)
{
    if (needed != NULL)
        *needed = length;
    if (buffer == NULL)
        return capacity == 0 ? PPSCHED_OK : PPSCHED_ERROR_ARGUMENT;
    if (length >= capacity)
        return PPSCHED_ERROR_BUFFER;
    memcpy(buffer, text, length + 1);
    return PPSCHED_OK;
}

#endif
