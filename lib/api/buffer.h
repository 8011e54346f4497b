/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a caller's buffer: `out`, `capacity` and `needed` as described in <ppsched/ppsched.h>. A call first checks `out` and
 * `capacity`, then counts the items and checks that they fit. Then it does what may still fail, fills `out` unless it is NULL,
 * and ends with ppi_tell_needed. */
#ifndef PPSCHED_API_BUFFER_H
#define PPSCHED_API_BUFFER_H

#include <string.h>

#include "api/null.h"

/* Returns ARGUMENT from the calling function if `out` is NULL and `capacity` is not 0. */
#define PPI_REQUIRE_BUFFER(out, capacity)                                                                                      \
    do {                                                                                                                       \
        if ((capacity) > 0)                                                                                                    \
            PPI_REQUIRE(out);                                                                                                  \
    } while (0)

/* OK if `count` items fit, or if `out` is NULL; else BUFFER. `items` is the plural noun for the message. */
static inline ppsched_status ppi_check_room(const void *out, size_t capacity, size_t count, const char *items,
                                            ppsched_error *error)
{
    if (out == NULL || count <= capacity)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_BUFFER, "the buffer has room for %zu of %zu %s", capacity, count, items);
}

/* The same for a text of `length` bytes and its NUL. If it does not fit, `out` becomes the empty text. */
static inline ppsched_status ppi_check_text_room(char *out, size_t capacity, size_t length, ppsched_error *error)
{
    ppsched_status status = ppi_check_room(out, capacity, length + 1, "bytes", error);
    if (status != PPSCHED_OK && capacity > 0)
        out[0] = '\0';
    return status;
}

/* Sets `*needed` to the number of items if the status is OK or BUFFER. Returns the status. */
static inline ppsched_status ppi_tell_needed(size_t *needed, size_t count, ppsched_status status)
{
    if (needed != NULL && (status == PPSCHED_OK || status == PPSCHED_ERROR_BUFFER))
        *needed = count;
    return status;
}

/* The same for the length of a report, if the status is OK or INVALID_SCHEDULE. */
static inline ppsched_status ppi_tell_count(size_t *count, size_t found, ppsched_status status)
{
    if (count != NULL && (status == PPSCHED_OK || status == PPSCHED_ERROR_INVALID_SCHEDULE))
        *count = found;
    return status;
}

/* Copies out a text that is in memory: checks, fills and sets `*needed`. */
static inline ppsched_status ppi_give_text(char *out, size_t capacity, size_t *needed, const char *text, size_t length,
                                           ppsched_error *error)
{
    ppsched_status status = ppi_check_text_room(out, capacity, length, error);
    if (status == PPSCHED_OK && out != NULL)
        memcpy(out, text, length + 1);
    return ppi_tell_needed(needed, length + 1, status);
}

#endif
