/* SPDX-License-Identifier: Apache-2.0 */
/* Writes schedules and timelines as text for other programs.
 *
 * Sample:
 *     char text[4096];
 *     ppsched_config *config = NULL;
 *     ppsched_schedule *schedule = NULL;
 *     ppsched_status status = ppsched_config_create(&config, 4, 4, 8, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_generate(&schedule, config, "1f1b", NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_export_to_buffer(text, sizeof text, NULL, schedule, NULL,
 *                                                    PPSCHED_FORMAT_CSV, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         puts(text);
 *     ppsched_schedule_release(schedule);
 *     ppsched_config_destroy(config);
 */
#ifndef PPSCHED_EXPORT_H
#define PPSCHED_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/evaluate.h>
#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Formats. */
enum ppsched_format {
    PPSCHED_FORMAT_TEXT = 1,         /* a grid for terminals: one row per device, time to the right.
                                        With more than 1024 devices it shows only the first 512 and
                                        the last 511 devices */
    PPSCHED_FORMAT_CSV = 2,          /* PyTorch's CSV: one row per device, one cell per op. The CSV
                                        has PyTorch's form compute_only if each op is F, B, I or W,
                                        otherwise the form compute_comms */
    PPSCHED_FORMAT_JSON = 3,         /* JSON: one object. It has the sizes, the tokens of each
                                        queue, the starts and ends of ops, the metrics and the
                                        flags */
    PPSCHED_FORMAT_CHROME_TRACE = 4, /* Trace Event JSON with tracks, arrows and memory counters,
                                        for Perfetto and chrome://tracing */
    PPSCHED_FORMAT_MEGATRON = 5,     /* Megatron-LM, only for 1F1B and interleaved 1F1B: a JSON
                                        object with the schedule table, the warm-up counts and the
                                        order lists */
    PPSCHED_FORMAT_DEEPSPEED = 6,    /* DeepSpeed, only for 1F1B: instruction lists with buffer ids,
                                        one line per rank */
    PPSCHED_FORMAT_SAIL = 7          /* sail-sg's zero-bubble runtime: JSON with one list of
                                        scheduled nodes per rank */
};

/* Options of exports. Each option has an effect in only one format. Set `size` to sizeof of this
 * struct. A field that is 0 has its default. */
typedef struct ppsched_export_options {
    uint32_t size;
    uint32_t text_columns; /* only for TEXT: the largest width of a device's row, in columns. But
                              at least 20 columns are for ops. 0: the row is as wide as its labels
                              need in full */
    double time_scale;     /* only for CHROME_TRACE: microseconds per unit of time. 0 means 1 */
} ppsched_export_options;

/* Receives the next `size` bytes of the text; there is no NUL at their end. Returns 0 to continue.
 * Any other value stops the call. */
typedef int32_t (*ppsched_write_function)(void *user, const char *data, size_t size);

/* Writes a schedule in a format (enum ppsched_format). `options` may be NULL.
 *   - `timeline` must be a timeline of this schedule. It may be NULL for CSV, MEGATRON, DEEPSPEED
 *     and JSON. JSON without a timeline has no times and no metrics.
 *   - The text is ASCII, or UTF-8 if a name in it needs UTF-8. If an argument is wrong, nothing is
 *     written.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; WRITER if `write` stopped the call; NO_MEMORY; REFUSED if
 *   the format does not support the schedule, or the runtime of the format cannot run it. */
PPSCHED_API ppsched_status ppsched_schedule_export(const ppsched_schedule *schedule,
                                                   const ppsched_timeline *timeline, int32_t format,
                                                   const ppsched_export_options *options,
                                                   ppsched_write_function write, void *user,
                                                   ppsched_error *error);

/* Writes the text of ppsched_schedule_export to a buffer: see ppsched.h.
 * Errors: BUFFER, and all errors of ppsched_schedule_export except WRITER. */
PPSCHED_API ppsched_status ppsched_schedule_export_to_buffer(
    char *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule,
    const ppsched_timeline *timeline, int32_t format, const ppsched_export_options *options,
    ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
