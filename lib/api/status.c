/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: names and texts of status codes. */
#include <ppsched/status.h>

#include <stddef.h>

struct row {
    const char *name, *text;
};

#define ROW(status, words) [status] = {#status, words}

static const struct row rows[] = {
    ROW(PPSCHED_OK, "no error"),
    ROW(PPSCHED_ERROR_ARGUMENT, "a null pointer or an unknown value"),
    ROW(PPSCHED_ERROR_NO_MEMORY, "out of memory"),
    ROW(PPSCHED_ERROR_RANGE, "a number out of its range"),
    ROW(PPSCHED_ERROR_LENGTH, "a list of the wrong length"),
    ROW(PPSCHED_ERROR_STRUCT_SIZE, "a struct of the wrong size"),
    ROW(PPSCHED_ERROR_UNKNOWN_STRATEGY, "no such strategy"),
    ROW(PPSCHED_ERROR_UNKNOWN_OPTION, "no such option"),
    ROW(PPSCHED_ERROR_REFUSED, "the problem cannot be solved as given"),
    ROW(PPSCHED_ERROR_INVALID_SCHEDULE, "the schedule is incomplete or cannot be run"),
    ROW(PPSCHED_ERROR_MISMATCH, "schedule and config have different shapes"),
    ROW(PPSCHED_ERROR_BUFFER, "the buffer is too small"),
    ROW(PPSCHED_ERROR_WRITER, "the writer stopped"),
    ROW(PPSCHED_ERROR_CALLBACK, "the generator failed"),
    ROW(PPSCHED_ERROR_INTERNAL, "a defect of the library"),
    ROW(PPSCHED_ERROR_CANCELLED, "cancelled by the caller"),
    ROW(PPSCHED_ERROR_SYNTAX, "the text is not what its format says"),
};

static const struct row *row_of(ppsched_status status)
{
    return status >= 0 && (size_t)status < sizeof rows / sizeof rows[0] ? &rows[status] : NULL;
}

const char *ppsched_status_name(ppsched_status status)
{
    const struct row *row = row_of(status);
    return row != NULL ? row->name : "unknown status";
}

const char *ppsched_status_text(ppsched_status status)
{
    const struct row *row = row_of(status);
    return row != NULL ? row->text : "unknown status";
}
