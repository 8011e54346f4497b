/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: reading a schedule from text in a format. */
#include <ppsched/import.h>

#include <string.h>

#include "api/log.h"
#include "api/null.h"
#include "format/formats.h"

/* Skips the byte order mark that Excel and some editors write before UTF-8. A text with that of UTF-16 is refused. */
static ppsched_status skip_mark(const char **data, size_t *size, ppsched_error *error)
{
    if (*size >= 2 && (memcmp(*data, "\xFF\xFE", 2) == 0 || memcmp(*data, "\xFE\xFF", 2) == 0))
        return ppi_fail(error, PPSCHED_ERROR_SYNTAX, "the text is UTF-16; save it as UTF-8");
    if (*size >= 3 && memcmp(*data, "\xEF\xBB\xBF", 3) == 0) {
        *data += 3;
        *size -= 3;
    }
    return PPSCHED_OK;
}

ppsched_status ppsched_schedule_import(ppsched_schedule **out, int32_t format, const char *data, size_t size,
                                       const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    struct ppi_reading reading;
    PPI_REQUIRE(out);
    if (size > 0)
        PPI_REQUIRE(data);
    const struct ppi_format *row;
    ppsched_status status = ppi_format_find(&row, format, error);
    if (status != PPSCHED_OK)
        return status;
    if (row->read == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "format %s can only be written; csv and json can be read", row->name);
    const char *text = size > 0 ? data : "";
    status = skip_mark(&text, &size, error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_reading_start(&reading, &host, error);
    status = row->read(&reading, text, size);
    if (status == PPSCHED_OK)
        status = ppi_reading_finish(out, &reading);
    ppi_reading_clear(&reading);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "read");
    return status;
}
