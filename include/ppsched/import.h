/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules from text that other programs, or this library, wrote. */
#ifndef PPSCHED_IMPORT_H
#define PPSCHED_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/environment.h>
#include <ppsched/export.h>
#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a schedule from the `size` bytes at `data`, which need no terminating NUL. `environment`
 * may be NULL. `*out` gets one reference. `format` (enum ppsched_format) is one of:
 *
 * CSV: PyTorch's, compute_only or compute_comms.
 *   - A row a device, a cell an op, an overlapped pair, or nothing where the device waits (not in a
 *     text with communication ops).
 *   - Lines end with LF or CRLF, blanks around a cell do not matter, a row holds one op at least.
 *   - The sizes are what the tokens show: stages and microbatches from 0 to the largest, in one
 *     iteration.
 *   - The placement is what the rows show: linear, loop, v, bidirectional, else a map;
 *     bidirectional rows also show the iterations.
 *
 * JSON: the object that ppsched_schedule_export writes, which is read without loss.
 *   - Times and metrics are not kept, the evaluator makes them.
 *   - Keys may come in any order; none may stand twice, and those that the library does not know
 *     are passed over.
 *   - Without "placement" it is what the queues show.
 *
 * A UTF-8 byte order mark before the text is no part of it; UTF-16 is refused by its name.
 *
 * The reading is strict: a token is read whole or refused. The schedule need not be valid;
 * ppsched_schedule_check tells. Memory and time are linear in `size`: a text whose ops can fill but
 * a small part of the sizes that it names is refused.
 *
 * Errors: SYNTAX where the text is not what its format says; `error->device` and `error->position`
 *   tell the row and the column (in JSON: the index in "ops") of a token that cannot be read.
 *   INVALID_SCHEDULE where the rows show no placement, because a stage is on two devices or on none
 *   (`device` and `position` as in ppsched_schedule_check). REFUSED where sizes and placement do
 *   not agree, RANGE for sizes beyond the library's or the text's. ARGUMENT, also for a format that
 *   is not read; STRUCT_SIZE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_import(ppsched_schedule **out, int32_t format,
                                                   const char *data, size_t size,
                                                   const ppsched_environment *environment,
                                                   ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
