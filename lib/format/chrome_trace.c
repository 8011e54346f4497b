/* SPDX-License-Identifier: Apache-2.0 */
/* Trace Event JSON, as Perfetto and chrome://tracing read it: a process for the schedule, a track and a memory counter per
 * device. Communication, sharding ops that take time and copies have tracks below it, with an arrow (a flow) from each SEND to
 * its RECV. Viewers add and subtract times, so all are whole numbers of a tick; the exact times are among the arguments.
 * Format: "Trace Event Format" (Google, 2016). */
#include "eval/memory.h"
#include "format/formats.h"
#include "format/ticks.h"
#include "ir/transfer.h"

/* Sends (or receives) of a device that overlap have a track each, up to so many. */
enum { MOST_TRACKS = 16 };

struct tracks {
    uint32_t used;
    double end[MOST_TRACKS]; /* of the last event */
};

struct trace {
    struct ppi_writer *writer;
    const ppsched_schedule *schedule;
    const ppsched_timeline *timeline;
    double scale;
    struct ppi_ticks ticks;            /* of times, scaled */
    struct ppi_transfers transfers;    /* empty without comm ops */
    struct ppi_memory_workspace *room; /* from ppi_memory_room_make */
};

/* Tracks of a device in the order shown: its own, sends, receives, UNSHARD and REDUCE_GRAD, and copies. */
static uint64_t tracks_of_device(const struct trace *trace)
{
    return (trace->transfers.ops != NULL ? 1 + 2 * MOST_TRACKS : 1) + (uint64_t)trace->timeline->has_sharding +
           (trace->timeline->saving != NULL ? 2 : 0);
}

/* Track numbers: first those of the devices, then for each device its sends and receives, then for each its sharding ops. */
static uint64_t comm_track(const struct trace *trace, uint32_t device, bool send, uint32_t number)
{
    return trace->schedule->shape.devices + ((uint64_t)device * 2 + !send) * MOST_TRACKS + number;
}

static uint64_t sharding_track(const struct trace *trace, uint32_t device)
{
    return comm_track(trace, trace->schedule->shape.devices, true, device);
}

/* The tracks of OFFLOAD and RELOAD, after all these. */
static uint64_t copy_track(const struct trace *trace, uint32_t device, bool reloads)
{
    return sharding_track(trace, trace->schedule->shape.devices) + 2 * (uint64_t)device + reloads;
}

/* Names a track; tracks are shown by their sort index, a device's tracks one below the other. */
static void write_track(const struct trace *trace, uint64_t track, uint32_t device, const char *what, uint32_t number,
                        uint64_t sort_index)
{
    ppi_write_field(trace->writer, ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": ", track);
    ppi_write_field(trace->writer, ", \"args\": {\"name\": \"device ", device);
    ppi_write_text(trace->writer, what);
    if (number > 0)
        ppi_write_field(trace->writer, " ", number + 1);
    ppi_write_field(trace->writer, "\"}},\n{\"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": 0, \"tid\": ", track);
    ppi_write_field(trace->writer, ", \"args\": {\"sort_index\": ", sort_index);
    ppi_write_text(trace->writer, "}}");
}

static void write_devices(const struct trace *trace)
{
    uint64_t step = tracks_of_device(trace);
    ppi_write_text(trace->writer, "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"name\": ");
    ppi_write_json_string(trace->writer, trace->schedule->name);
    ppi_write_text(trace->writer, "}}");
    for (uint32_t d = 0; d < trace->schedule->shape.devices; d++)
        write_track(trace, d, d, "", 0, d * step);
    for (uint32_t d = 0; trace->timeline->has_sharding && d < trace->schedule->shape.devices; d++)
        write_track(trace, sharding_track(trace, d), d, " gather and reduce", 0, (d + 1) * step - 1);
    for (uint32_t d = 0; trace->timeline->saving != NULL && d < trace->schedule->shape.devices; d++) {
        write_track(trace, copy_track(trace, d, false), d, " offload", 0, (d + 1) * step - 2);
        write_track(trace, copy_track(trace, d, true), d, " reload", 0, (d + 1) * step - 1);
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

static uint64_t tick_of(const struct trace *trace, double time)
{
    return ppi_tick_of(&trace->ticks, time * trace->scale);
}

static void write_unit(const struct trace *trace, uint64_t track, const ppsched_op *unit, const ppsched_span *span)
{
    struct ppi_writer *writer = trace->writer;
    char token[PPI_UNIT_TOKEN_SIZE];
    uint64_t start = tick_of(trace, span->start);
    ppi_write_text(writer, ",\n{\"name\": \"");
    ppi_write(writer, token, ppi_unit_token(token, unit));
    ppi_write_text(writer, ppi_is_compute(unit->kind) ? "\", \"cat\": \"compute\"" : "\", \"cat\": \"communication\"");
    ppi_write_field(writer, ", \"ph\": \"X\", \"pid\": 0, \"tid\": ", track);
    ppi_write_ticks(writer, ", \"ts\": ", &trace->ticks, start);
    ppi_write_ticks(writer, ", \"dur\": ", &trace->ticks, tick_of(trace, span->end) - start);
    ppi_write_text(writer, ", \"args\": {");
    write_details(writer, unit);
    ppi_write_figure(writer, ", \"start\": ", span->start);
    ppi_write_figure(writer, ", \"end\": ", span->end);
    ppi_write_text(writer, "}}");
}

/* An end of an arrow, in the event before it. */
static void write_arrow_end(const struct trace *trace, uint64_t track, const ppsched_op *op, uint32_t number, double time)
{
    ppi_write_text(trace->writer, ppi_goes_back(op->kind) ? ",\n{\"name\": \"gradient\"" : ",\n{\"name\": \"activation\"");
    ppi_write_text(trace->writer, ", \"cat\": \"transfer\", \"ph\": ");
    ppi_write_text(trace->writer, ppi_is_send(op->kind) ? "\"s\"" : "\"f\", \"bp\": \"e\"");
    ppi_write_field(trace->writer, ", \"id\": ", number);
    ppi_write_field(trace->writer, ", \"pid\": 0, \"tid\": ", track);
    ppi_write_ticks(trace->writer, ", \"ts\": ", &trace->ticks, tick_of(trace, time));
    ppi_write_text(trace->writer, "}");
}

/* The span drawn for a receive: from when it is posted and its data is sent, until the data arrives. */
static ppsched_span receiving(const struct trace *trace, const ppsched_op *op, ppsched_span span, ppsched_span sending)
{
    double delay = ppi_delay_of(&trace->timeline->costs, trace->schedule, op, op->kind == PPSCHED_KIND_RECV_B);
    double there = span.start < span.end ? span.end : sending.end + delay;
    double start = span.start > sending.start ? span.start : sending.start;
    return (ppsched_span){start, there > start ? there : start};
}

/* The first free track, or a new one; where there are no more, the event is shortened to start when one is free. */
static uint32_t take_track(struct tracks *tracks, ppsched_span *span)
{
    uint32_t number = 0;
    while (number < tracks->used && tracks->end[number] > span->start)
        number++;
    if (number == MOST_TRACKS) {
        double free_from = tracks->end[--number];
        *span = (ppsched_span){free_from, span->end > free_from ? span->end : free_from};
    }
    tracks->end[number] = span->end;
    return number;
}

static void write_comm(const struct trace *trace, uint32_t device, const ppsched_op *op, ppsched_span span,
                       struct tracks *tracks)
{
    bool send = ppi_is_send(op->kind);
    uint32_t number = ppi_comm_number(trace->schedule, device, op);
    const struct ppi_transfer_ops *ops = number != PPSCHED_NONE ? &trace->transfers.ops[number] : NULL;
    bool paired = ops != NULL && ppi_is_paired(ops);
    if (paired && !send)
        span = receiving(trace, op, span, trace->timeline->spans[ops->send]);
    double arrow = span.start;
    uint32_t place = take_track(tracks, &span);
    uint64_t track = comm_track(trace, device, send, place);
    if (place == tracks->used) {
        uint64_t sort_index = device * tracks_of_device(trace) + 1 + (send ? 0 : MOST_TRACKS) + place;
        write_track(trace, track, device, send ? " send" : " receive", place, sort_index);
        tracks->used++;
    }
    write_unit(trace, track, op, &span);
    if (paired)
        write_arrow_end(trace, track, op, number, arrow);
}

static uint64_t track_of(const struct trace *trace, uint32_t device, const ppsched_op *op)
{
    bool shards = op->kind == PPSCHED_KIND_UNSHARD || op->kind == PPSCHED_KIND_REDUCE_GRAD;
    if (ppi_is_copy(op->kind) && trace->timeline->saving != NULL)
        return copy_track(trace, device, op->kind == PPSCHED_KIND_RELOAD);
    return shards && trace->timeline->has_sharding ? sharding_track(trace, device) : device;
}

/* The counter of a device's memory. */
struct counter {
    const struct trace *trace;
    uint32_t device;
};

static void write_memory(const struct trace *trace, uint32_t device, double time, double memory)
{
    struct ppi_writer *writer = trace->writer;
    ppi_write_text(writer, ",\n{\"name\": \"memory of device ");
    ppi_write_integer(writer, device);
    ppi_write_ticks(writer, "\", \"ph\": \"C\", \"pid\": 0, \"ts\": ", &trace->ticks, tick_of(trace, time));
    ppi_write_text(writer, ", \"args\": {\"memory\": ");
    ppi_write_json_number(writer, memory);
    ppi_write_text(writer, "}}");
}

static void count_step(void *user, double time, uint32_t position, const double *by_cause, double level)
{
    const struct counter *counter = user;
    (void)position;
    (void)by_cause;
    write_memory(counter->trace, counter->device, time, level);
}

static void write_device(const struct trace *trace, uint32_t device)
{
    const ppsched_queue *queue = &trace->schedule->queues[device];
    const ppsched_span *spans = ppi_spans_of(trace->timeline, queue);
    struct tracks sends = {.used = 0}, receives = {.used = 0};
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        if (ppi_is_comm(&queue->ops[i]))
            write_comm(trace, device, &queue->ops[i], spans[i], ppi_is_send(queue->ops[i].kind) ? &sends : &receives);
        else
            write_unit(trace, track_of(trace, device, &queue->ops[i]), &queue->ops[i], &spans[i]);
    }
    struct counter counter = {trace, device};
    const struct ppi_memory_listener listener = {.user = &counter, .step = count_step};
    write_memory(trace, device, 0, trace->timeline->devices[device].static_memory);
    ppi_memory_go_through(trace->timeline, device, trace->room, &listener);
}

/* The tick for a timeline, from its shortest op and its latest end. */
static struct ppi_ticks ticks_of(const ppsched_timeline *timeline, uint64_t ops, double scale)
{
    double shortest = 0, latest = timeline->metrics.makespan * scale;
    for (uint64_t i = 0; i < ops; i++) {
        double length = (timeline->spans[i].end - timeline->spans[i].start) * scale;
        if (length > 0 && (shortest == 0 || length < shortest))
            shortest = length;
    }
    return ppi_ticks_for(shortest, latest);
}

static void write_trace(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                        const ppsched_export_options *options)
{
    const double scale = options->time_scale != 0 ? options->time_scale : 1;
    struct trace trace = {writer,        schedule, timeline, scale, ticks_of(timeline, schedule->op_count, scale),
                          {.ops = NULL}, NULL};
    if (ppi_has_comm_ops(schedule) && ppi_transfers_find(&trace.transfers, schedule, NULL) != PPSCHED_OK) {
        writer->out_of_memory = "the transfers";
        return;
    }
    if (ppi_memory_room_make(&trace.room, timeline, NULL) != PPSCHED_OK) {
        writer->out_of_memory = "the memory curve";
        ppi_transfers_clear(&trace.transfers);
        return;
    }
    ppi_write_text(writer, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
    write_devices(&trace);
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        write_device(&trace, d);
    ppi_write_text(writer, "\n]}\n");
    ppi_memory_room_destroy(trace.room);
    ppi_transfers_clear(&trace.transfers);
}

const struct ppi_format ppi_chrome_trace_format = {
    .name = "chrome_trace", .needs_timeline = true, .tells_graphs = true, .tells_slices = true, .write = write_trace};
