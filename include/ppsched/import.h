/* SPDX-License-Identifier: Apache-2.0 */
/* Reads schedules from text that this library or other programs wrote. */
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

/* Reads a schedule from the `size` bytes at `data`, which need no NUL at their end. The caller owns
 * one reference to `*out`. `environment` may be NULL. `format` (enum ppsched_format) is CSV or
 * JSON.
 *
 * CSV: the CSV of PyTorch, in its forms compute_only and compute_comms.
 *   - There is one row per device. A cell has an op or an overlapped pair, or is empty where the
 *     device waits. In the form compute_comms, which has sends and receives, no cell is empty.
 *   - PyTorch 2.15's tokens WAIT_SEND_F and WAIT_SEND_B, which wait for sends, are ignored.
 *   - Lines end with LF or CRLF. Blanks around a cell are ignored. Each row has at least one op.
 *   - The sizes are found from the tokens: the largest stage number plus 1 is the number of stages,
 *     and the largest microbatch number plus 1 is the number of microbatches.
 *   - The placement is found from the rows: linear, loop, V, bidirectional, or otherwise a map.
 *   - With a bidirectional placement, the number of iterations is found from the rows. With other
 *     placements there is one iteration.
 *
 * JSON: the object that ppsched_schedule_export writes. It is read without loss.
 *   - Times and metrics are ignored; the evaluator computes them.
 *   - Keys may come in any order. No key may come twice. Unknown keys are ignored.
 *   - Without "placement", the placement is found from the queues.
 *
 * A UTF-8 byte order mark before the text is skipped. UTF-16 is refused; the message says so.
 *
 * The call reads each token completely, or fails. The schedule may be invalid:
 * ppsched_schedule_check finds what is wrong. Memory and time of the call are linear in `size`.
 * For this reason the call refuses a text that states sizes much larger than its number of ops.
 *
 * Errors: SYNTAX if the text does not follow its format. For a token that cannot be read,
 *   `error->device` is the row, and `error->position` is the column (in JSON, the index in "ops").
 *   INVALID_SCHEDULE if a stage is on two devices or on none, so that the rows have no placement
 *   (`device` and `position` are those that ppsched_schedule_check reports). REFUSED if sizes and
 *   placement do not agree. RANGE for sizes that are too large for the library or for the text.
 *   ARGUMENT, also for a format that cannot be read; STRUCT_SIZE, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_import(ppsched_schedule **out, int32_t format,
                                                   const char *data, size_t size,
                                                   const ppsched_environment *environment,
                                                   ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
