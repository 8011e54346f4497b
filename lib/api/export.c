/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: writing a schedule as text in a format, through a callback or to a buffer. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/buffer.h"
#include "base/checked.h"
#include "base/sized.h"
#include "format/formats.h"
#include "ir/stage_graph.h"

static ppsched_status check_arguments(const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                                      const struct ppi_format *format, const ppsched_export_options *options,
                                      ppsched_error *error)
{
    if (format->needs_timeline && timeline == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "format %s needs a timeline; evaluate the schedule first", format->name);
    if (timeline != NULL && timeline->schedule != schedule)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the timeline is of another schedule");
    if (!ppi_is_finite(options->time_scale) || options->time_scale < 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "time_scale is %g; it must be finite and at least 0", options->time_scale);
    if (timeline != NULL && !ppi_is_finite(timeline->metrics.makespan * options->time_scale))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "time_scale %g makes times too large for a double", options->time_scale);
    if (schedule->placement.graph != NULL && !format->tells_graphs)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "format %s cannot say which stages feed each other, leave out passes or run on several devices; use json, "
            "text or chrome_trace",
            format->name);
    if (schedule->shape.slices > 1 && !format->tells_slices)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "format %s supports only whole microbatches, and the schedule has %u slice%p of each; use json, text or "
            "chrome_trace",
            format->name, schedule->shape.slices);
    return format->fits != NULL ? format->fits(schedule, error) : PPSCHED_OK;
}

ppsched_status ppsched_schedule_export(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format,
                                       const ppsched_export_options *options, ppsched_write_function write, void *user,
                                       ppsched_error *error)
{
    ppsched_export_options taken;
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(write);
    const struct ppi_format *row;
    ppsched_status status = ppi_format_find(&row, format, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_take_sized(&taken, sizeof taken, sizeof(ppsched_export_options), options, "ppsched_export_options", error);
    if (status == PPSCHED_OK)
        status = check_arguments(schedule, timeline, row, &taken, error);
    if (status != PPSCHED_OK)
        return status;
    struct ppi_writer *writer = ppi_allocate(&schedule->host, 1, sizeof *writer);
    if (writer == NULL)
        return ppi_fail_memory(error, "the export");
    ppi_writer_start(writer, write, user);
    row->write(writer, schedule, timeline, &taken);
    status = ppi_writer_finish(writer, error);
    ppi_release(&schedule->host, writer);
    return status;
}

/* A text that is written to a caller's buffer up to its capacity, less one byte for the NUL. */
struct target {
    char *text;
    size_t room, length;
    bool is_counted; /* false: the length exceeds SIZE_MAX */
};

static int32_t write_to_buffer(void *user, const char *data, size_t size)
{
    struct target *target = user;
    if (target->length <= target->room && size <= target->room - target->length)
        memcpy(target->text + target->length, data, size);
    target->is_counted = ppi_add_size(&target->length, target->length, size) && target->length < SIZE_MAX;
    return !target->is_counted;
}

ppsched_status ppsched_schedule_export_to_buffer(char *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule,
                                                 const ppsched_timeline *timeline, int32_t format,
                                                 const ppsched_export_options *options, ppsched_error *error)
{
    struct target target = {out, capacity > 0 ? capacity - 1 : 0, 0, true};
    PPI_REQUIRE_BUFFER(out, capacity);
    ppsched_status status = ppsched_schedule_export(schedule, timeline, format, options, write_to_buffer, &target, error);
    if (!target.is_counted)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the text has %zu byte%p or more, which no buffer can hold", SIZE_MAX);
    if (status == PPSCHED_OK)
        status = ppi_check_text_room(out, capacity, target.length, error);
    if (status == PPSCHED_OK && out != NULL)
        out[target.length] = '\0';
    return ppi_tell_needed(needed, target.length + 1, status);
}
