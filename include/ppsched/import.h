/* SPDX-License-Identifier: Apache-2.0 */
/* Import: reads schedules from text that other programs or this library wrote. */
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

/* Reads a schedule from the `size` bytes at `data`, which need no NUL at the end. `environment` may
 * be NULL. The caller owns one reference to `*out`. `format` (enum ppsched_format) is CSV or JSON.
 *
 * CSV: that of PyTorch, compute_only or compute_comms.
 *   - One row per device. A cell is an op or an overlapped pair. In a text without communication
 *     ops it may be empty: the device waits.
 *   - Lines end with LF or CRLF. Blanks around a cell are ignored. Each row has at least one op.
 *   - Sizes follow from the tokens: stages and microbatches from 0 to the largest number, in one
 *     iteration.
 *   - The placement follows from the rows: linear, loop, V, bidirectional, else a map. If it is
 *     bidirectional, the number of iterations follows, too.
 *
 * JSON: the object that ppsched_schedule_export writes, which is read without loss.
 *   - Times and metrics are not kept, as the evaluator makes them.
 *   - Keys may come in any order, but none twice. Unknown keys are ignored.
 *   - Without "placement", the placement follows from the queues.
 *
 * A UTF-8 byte order mark at the start is skipped. UTF-16 is refused, and the message says so.
 *
 * Tokens are read in full or refused. The schedule need not be valid: ppsched_schedule_check finds
 * that. Memory and time are linear in `size`: a text that names large sizes but has ops for only a
 * small part of them is refused.
 *
 * Errors: SYNTAX where the text does not follow its format; `error->device` and `error->position`
 *   are row and column (in JSON: the index in "ops") of a token that cannot be read.
 *   INVALID_SCHEDULE where the rows show no placement, because a stage is on two devices or on none
 *   (`device` and `position` as in ppsched_schedule_check). REFUSED where sizes and placement do
 *   not agree. RANGE for sizes above those of the library, or too large for the text. ARGUMENT,
 *   also for another format; STRUCT_SIZE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_import(ppsched_schedule **out, int32_t format,
                                                   const char *data, size_t size,
                                                   const ppsched_environment *environment,
                                                   ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
