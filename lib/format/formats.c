/* SPDX-License-Identifier: Apache-2.0 */
#include "format/formats.h"

static const struct ppi_format *const table[] = {
    [PPSCHED_FORMAT_TEXT] = &ppi_text_format,         [PPSCHED_FORMAT_CSV] = &ppi_csv_format,
    [PPSCHED_FORMAT_JSON] = &ppi_json_format,         [PPSCHED_FORMAT_CHROME_TRACE] = &ppi_chrome_trace_format,
    [PPSCHED_FORMAT_MEGATRON] = &ppi_megatron_format, [PPSCHED_FORMAT_DEEPSPEED] = &ppi_deepspeed_format,
    [PPSCHED_FORMAT_SAIL] = &ppi_sail_format,
};

const struct ppi_format *ppi_format_of(int32_t format)
{
    return format >= 0 && format < (int32_t)(sizeof table / sizeof table[0]) ? table[format] : NULL;
}
