/* SPDX-License-Identifier: Apache-2.0 */
/* All formats by number: PPI_FORMAT(PPSCHED_FORMAT_..., ppi_..._format, the file that defines it). The build reads the files
 * from here. To use a format include format/formats.h. */
PPI_FORMAT(TEXT, text, "text.c")
PPI_FORMAT(CSV, csv, "csv.c")
PPI_FORMAT(JSON, json, "json.c")
PPI_FORMAT(CHROME_TRACE, chrome_trace, "chrome_trace.c")
PPI_FORMAT(MEGATRON, megatron, "megatron.c")
PPI_FORMAT(DEEPSPEED, deepspeed, "deepspeed.c")
PPI_FORMAT(SAIL, sail, "sail.c")
