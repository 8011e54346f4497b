/* SPDX-License-Identifier: Apache-2.0 */
#include <ppsched/import.h>

#include "api/log.h"
#include "api/null.h"
#include "format/formats.h"

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
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "format %s is written, not read; csv and json are read", row->name);
    status = ppi_host_take(&host, environment, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_reading_start(&reading, &host, error);
    status = row->read(&reading, size > 0 ? data : "", size);
    if (status == PPSCHED_OK)
        status = ppi_reading_finish(out, &reading);
    ppi_reading_clear(&reading);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "read");
    return status;
}
