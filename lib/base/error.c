/* SPDX-License-Identifier: Apache-2.0 */
/* The message is formatted before the record is cleared, as its arguments may be the old message. */
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/format.h"

static void fill(ppsched_error *error, ppsched_status status, struct ppi_place place, const char *format, va_list arguments)
{
    char message[sizeof error->message];
    ppi_format(message, sizeof message, format, arguments);
    memset(error, 0, sizeof *error);
    error->status = status;
    error->device = place.device;
    error->stage = place.stage;
    error->microbatch = place.microbatch;
    error->position = place.position;
    memcpy(error->message, message, strlen(message) + 1);
}

ppsched_status ppi_fail(ppsched_error *error, ppsched_status status, const char *format, ...)
{
    va_list arguments;
    if (error == NULL)
        return status;
    va_start(arguments, format);
    fill(error, status, PPI_NOWHERE, format, arguments);
    va_end(arguments);
    return status;
}

ppsched_status ppi_fail_at(ppsched_error *error, ppsched_status status, struct ppi_place place, const char *format, ...)
{
    va_list arguments;
    if (error == NULL)
        return status;
    va_start(arguments, format);
    fill(error, status, place, format, arguments);
    va_end(arguments);
    return status;
}

ppsched_status ppi_check_choice(const char *what, int32_t given, int32_t first, int32_t last, ppsched_error *error)
{
    if (given >= first && given <= last)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "there is no %s %d; it must be %d to %d", what, given, first, last);
}

ppsched_status ppi_fail_memory(ppsched_error *error, const char *purpose)
{
    return ppi_fail(error, PPSCHED_ERROR_NO_MEMORY, "out of memory for %s", purpose);
}

ppsched_status ppi_fail_divisor(ppsched_error *error, const char *what, uint32_t number, const char *by, uint32_t wanted)
{
    uint32_t below = wanted < number ? wanted : number, above = wanted;
    while (below > 1 && number % below != 0)
        below--;
    while (above < number && number % above != 0)
        above++;
    if (above > number || number % above != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s %u does not divide %u %s; %u does", by, wanted, number, what, below);
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s %u does not divide %u %s; %u and %u do", by, wanted, number, what, below,
                    above);
}
