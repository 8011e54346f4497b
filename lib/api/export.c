/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/null.h"
#include "base/checked.h"
#include "base/sized.h"
#include "format/formats.h"

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
    return format->fits != NULL ? format->fits(schedule, error) : PPSCHED_OK;
}

ppsched_status ppsched_export(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format,
                              const ppsched_export_options *options, ppsched_write_function write, void *user,
                              ppsched_error *error)
{
    ppsched_export_options taken;
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(write);
    ppsched_status status = ppi_check_choice("format", format, PPSCHED_FORMAT_TEXT, PPSCHED_FORMAT_SAIL, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_format *row = ppi_format_of(format);
    status = ppi_take_sized(&taken, sizeof taken, PPI_SIZE_UP_TO(ppsched_export_options, time_scale), options,
                            "ppsched_export_options", error);
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

struct buffer {
    char *text;
    size_t capacity, needed;
    bool is_counted; /* false: there are more bytes than a size_t can tell */
};

static int32_t write_to_buffer(void *user, const char *data, size_t size)
{
    struct buffer *buffer = user;
    if (buffer->needed <= buffer->capacity && size <= buffer->capacity - buffer->needed)
        memcpy(buffer->text + buffer->needed, data, size);
    buffer->is_counted = ppi_add_size(&buffer->needed, buffer->needed, size);
    return !buffer->is_counted;
}

ppsched_status ppsched_export_to_buffer(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format,
                                        const ppsched_export_options *options, char *buffer, size_t capacity, size_t *needed,
                                        ppsched_error *error)
{
    struct buffer target = {buffer, buffer != NULL ? capacity : 0, 0, true};
    PPI_REQUIRE(needed);
    if (capacity > 0)
        PPI_REQUIRE(buffer);
    ppsched_status status = ppsched_export(schedule, timeline, format, options, write_to_buffer, &target, error);
    if (!target.is_counted)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the text has more than %zu bytes, which no buffer can hold", SIZE_MAX);
    if (status != PPSCHED_OK)
        return status;
    *needed = target.needed;
    if (buffer != NULL && target.needed > capacity)
        return ppi_fail(error, PPSCHED_ERROR_BUFFER, "the text has %zu bytes, the buffer %zu", target.needed, capacity);
    return PPSCHED_OK;
}
