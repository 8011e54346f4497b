/* SPDX-License-Identifier: Apache-2.0 */
/* Trace Event JSON, as Perfetto and chrome://tracing read it: a process for the schedule, a track a device, a memory counter a
 * device. Format: "Trace Event Format" (Google, 2016). */
#include "format/formats.h"

static void write_track_names(struct ppi_writer *writer, const ppsched_schedule *schedule)
{
    ppi_write_text(writer, "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"name\": ");
    ppi_write_json_string(writer, schedule->name);
    ppi_write_text(writer, "}}");
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        ppi_write_text(writer, ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": ");
        ppi_write_integer(writer, d);
        ppi_write_text(writer, ", \"args\": {\"name\": \"device ");
        ppi_write_integer(writer, d);
        ppi_write_text(writer, "\"}},\n{\"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": 0, \"tid\": ");
        ppi_write_integer(writer, d);
        ppi_write_text(writer, ", \"args\": {\"sort_index\": ");
        ppi_write_integer(writer, d);
        ppi_write_text(writer, "}}");
    }
}

static void write_details(struct ppi_writer *writer, const ppsched_op *unit)
{
    for (size_t i = 0; i < ppi_unit_length(unit); i++) {
        bool second = i > 0;
        ppi_write_text(writer, second ? ", \"overlapped_kind\": \"" : "\"kind\": \"");
        ppi_write_text(writer, ppi_kind_text(unit[i].kind));
        ppi_write_text(writer, second ? "\", \"overlapped_stage\": " : "\", \"stage\": ");
        ppi_write_integer(writer, unit[i].stage);
        if (ppi_kind_has_microbatch(unit[i].kind)) {
            ppi_write_text(writer, second ? ", \"overlapped_microbatch\": " : ", \"microbatch\": ");
            ppi_write_integer(writer, unit[i].microbatch);
        }
    }
}

static void write_unit(struct ppi_writer *writer, uint32_t device, const ppsched_op *unit, const ppsched_span *span,
                       double scale)
{
    char token[PPI_UNIT_TOKEN_SIZE];
    double start = span->start * scale;
    ppi_write_text(writer, ",\n{\"name\": \"");
    ppi_write(writer, token, ppi_unit_token(token, unit));
    ppi_write_text(writer, ppi_is_compute(unit->kind) ? "\", \"cat\": \"compute\", \"ph\": \"X\", \"pid\": 0, \"tid\": "
                                                      : "\", \"cat\": \"communication\", \"ph\": \"X\", \"pid\": 0, \"tid\": ");
    ppi_write_integer(writer, device);
    ppi_write_text(writer, ", \"ts\": ");
    ppi_write_json_number(writer, start);
    ppi_write_text(writer, ", \"dur\": ");
    ppi_write_json_number(writer, span->end * scale - start);
    ppi_write_text(writer, ", \"args\": {");
    write_details(writer, unit);
    ppi_write_text(writer, "}}");
}

static void write_memory(struct ppi_writer *writer, uint32_t device, double time, double memory)
{
    ppi_write_text(writer, ",\n{\"name\": \"memory of device ");
    ppi_write_integer(writer, device);
    ppi_write_text(writer, "\", \"ph\": \"C\", \"pid\": 0, \"ts\": ");
    ppi_write_json_number(writer, time);
    ppi_write_text(writer, ", \"args\": {\"memory\": ");
    ppi_write_json_number(writer, memory);
    ppi_write_text(writer, "}}");
}

static void write_trace(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                        const ppsched_export_options *options)
{
    double scale = options->time_scale != 0 ? options->time_scale : 1;
    ppi_write_text(writer, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
    write_track_names(writer, schedule);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        const ppsched_span *spans = ppi_spans_of(timeline, queue);
        for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i]))
            write_unit(writer, d, &queue->ops[i], &spans[i], scale);
        struct ppi_memory_walk walk = ppi_memory_walk_start(timeline, d);
        ppsched_memory_point point;
        while (ppi_memory_walk_next(&walk, &point))
            write_memory(writer, d, point.time * scale, point.memory);
    }
    ppi_write_text(writer, "\n]}\n");
}

const struct ppi_format ppi_chrome_trace_format = {.name = "chrome trace", .needs_timeline = true, .write = write_trace};
