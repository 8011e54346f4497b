/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, built from list.h and indexed by number. */
#include "format/formats.h"

#include "base/error.h"

static const struct ppi_format *const all_formats[] = {
#define PPI_FORMAT(number, name, file) [PPSCHED_FORMAT_##number] = &ppi_##name##_format,
#include "format/list.h"
#undef PPI_FORMAT
};

enum { COUNT = sizeof all_formats / sizeof all_formats[0] };

ppsched_status ppi_format_find(const struct ppi_format **out, int32_t format, ppsched_error *error)
{
    ppsched_status status = ppi_check_choice("format", format, 1, COUNT - 1, error);
    if (status == PPSCHED_OK)
        *out = all_formats[format];
    return status;
}
