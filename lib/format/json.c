/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON object: sizes, a queue per device with tokens, starts and ends, the metrics, and the schedule's other
 * properties. */
#include "eval/memory.h"
#include "format/formats.h"
#include "format/json_reader.h"
#include "ir/stage_graph.h"

static void write_tokens(struct ppi_writer *writer, const ppsched_queue *queue)
{
    char token[PPI_UNIT_TOKEN_SIZE];
    ppi_write_text(writer, ", \"ops\": [");
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        ppi_write_text(writer, i > 0 ? ", \"" : "\"");
        ppi_write(writer, token, ppi_unit_token(token, &queue->ops[i]));
        ppi_write(writer, "\"", 1);
    }
    ppi_write(writer, "]", 1);
}

static void write_times(struct ppi_writer *writer, const ppsched_queue *queue, const ppsched_span *spans, bool ends)
{
    ppi_write_text(writer, ends ? ", \"end\": [" : ", \"start\": [");
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        if (i > 0)
            ppi_write_text(writer, ", ");
        ppi_write_json_number(writer, ends ? spans[i].end : spans[i].start);
    }
    ppi_write(writer, "]", 1);
}

static void write_queues(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline)
{
    ppi_write_text(writer, ",\n \"queues\": [");
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        ppi_write_field(writer, d > 0 ? ",\n  {\"device\": " : "\n  {\"device\": ", d);
        write_tokens(writer, queue);
        if (timeline != NULL) {
            write_times(writer, queue, ppi_spans_of(timeline, queue), false);
            write_times(writer, queue, ppi_spans_of(timeline, queue), true);
        }
        ppi_write(writer, "}", 1);
    }
    ppi_write(writer, "]", 1);
}

/* A figure of each device, at an offset of records of a size. */
static void write_devices(struct ppi_writer *writer, const ppsched_timeline *timeline, const char *name, const void *records,
                          size_t size, size_t offset)
{
    ppi_write_text(writer, name);
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        if (d > 0)
            ppi_write_text(writer, ", ");
        ppi_write_json_number(writer, *(const double *)(const void *)((const char *)records + d * size + offset));
    }
    ppi_write(writer, "]", 1);
}

static void write_device_figure(struct ppi_writer *writer, const ppsched_timeline *timeline, const char *name, size_t offset)
{
    write_devices(writer, timeline, name, timeline->devices, sizeof timeline->devices[0], offset);
}

static void write_idle(struct ppi_writer *writer, const ppsched_timeline *timeline)
{
    static const struct {
        const char *name;
        size_t offset;
    } causes[] = {{"{\n  \"fill\": [", offsetof(ppsched_idle, fill)},
                  {",\n  \"drain\": [", offsetof(ppsched_idle, drain)},
                  {",\n  \"neighbour\": [", offsetof(ppsched_idle, neighbour)},
                  {",\n  \"imbalance\": [", offsetof(ppsched_idle, imbalance)},
                  {",\n  \"transfer\": [", offsetof(ppsched_idle, transfer)},
                  {",\n  \"link\": [", offsetof(ppsched_idle, link)},
                  {",\n  \"edge\": [", offsetof(ppsched_idle, link)}, /* its name before 1.0 */
                  {",\n  \"head_of_line\": [", offsetof(ppsched_idle, head_of_line)}};
    ppi_write_text(writer, ",\n \"idle_by_cause\": ");
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        write_devices(writer, timeline, causes[i].name, timeline->idle, sizeof timeline->idle[0], causes[i].offset);
    if (timeline->has_sharding)
        write_devices(writer, timeline, ",\n  \"weights\": [", timeline->idle, sizeof timeline->idle[0],
                      offsetof(ppsched_idle, weights));
    if (timeline->saving != NULL)
        write_devices(writer, timeline, ",\n  \"reload\": [", timeline->idle, sizeof timeline->idle[0],
                      offsetof(ppsched_idle, reload));
    if (timeline->call_times != NULL)
        write_devices(writer, timeline, ",\n  \"calls\": [", timeline->idle, sizeof timeline->idle[0],
                      offsetof(ppsched_idle, calls));
    if (timeline->has_speeds)
        write_devices(writer, timeline, ",\n  \"slow_devices\": [", timeline->idle, sizeof timeline->idle[0],
                      offsetof(ppsched_idle, slow_devices));
    ppi_write(writer, "}", 1);
}

/* Peaks by cause, where there are more causes than activations, static memory and weights. */
static void write_peaks(struct ppi_writer *writer, const ppsched_timeline *timeline)
{
    if (timeline->memory == NULL || !timeline->memory->is_used)
        return;
    ppi_write_text(writer, ",\n \"peak_by_cause\": ");
    for (int32_t cause = 0; cause < PPI_CAUSES; cause++) {
        ppi_write_text(writer, cause == 0 ? "{\"" : ",\n  \"");
        ppi_write_text(writer, ppi_cause_name(cause));
        write_devices(writer, timeline, "\": [", timeline->peak_causes, PPI_CAUSES * sizeof *timeline->peak_causes,
                      (size_t)cause * sizeof *timeline->peak_causes);
    }
    ppi_write(writer, "}", 1);
}

static void write_metrics(struct ppi_writer *writer, const ppsched_timeline *timeline)
{
    const ppsched_metrics *metrics = &timeline->metrics;
    ppi_write_figure(writer, ",\n \"metrics\": {\"makespan\": ", metrics->makespan);
    ppi_write_figure(writer, ", \"span\": ", metrics->span);
    ppi_write_figure(writer, ",\n  \"bubble\": {\"of_total\": ", metrics->bubble_of_total);
    ppi_write_figure(writer, ", \"of_ideal\": ", metrics->bubble_of_ideal);
    ppi_write_figure(writer, ", \"of_span\": ", metrics->bubble_of_span);
    write_device_figure(writer, timeline, "},\n  \"busy\": [", offsetof(ppsched_device_metrics, busy));
    write_device_figure(writer, timeline, ",\n  \"idle\": [", offsetof(ppsched_device_metrics, idle));
    write_device_figure(writer, timeline, ",\n  \"peak_memory\": [", offsetof(ppsched_device_metrics, peak_memory));
    ppi_write(writer, "}", 1);
    if (timeline->idle != NULL)
        write_idle(writer, timeline);
    write_peaks(writer, timeline);
}

static void write_numbers(struct ppi_writer *writer, const uint32_t *numbers, uint32_t count)
{
    ppi_write(writer, "[", 1);
    for (uint32_t i = 0; i < count; i++)
        ppi_write_field(writer, i > 0 ? ", " : "", numbers[i]);
    ppi_write(writer, "]", 1);
}

/* The microbatches of a stage; null for all. */
static void write_microbatches(struct ppi_writer *writer, const struct ppi_stage_graph *graph, uint32_t stage)
{
    bool has_all = true, is_first = true;
    for (uint32_t m = 0; m < graph->microbatches; m++)
        has_all = has_all && ppi_stage_runs(graph, stage, m);
    ppi_write_text(writer, has_all ? "null" : "[");
    for (uint32_t m = 0; m < graph->microbatches && !has_all; m++)
        if (ppi_stage_runs(graph, stage, m)) {
            ppi_write_field(writer, is_first ? "" : ", ", m);
            is_first = false;
        }
    ppi_write_text(writer, has_all ? "" : "]");
}

static void write_graph(struct ppi_writer *writer, const struct ppi_stage_graph *graph)
{
    static const char *const passes[] = {NULL, "\"FB\"", "\"FI\"", "\"F\""};
    for (uint32_t s = 0; s < graph->stages; s++) {
        ppi_write_text(writer, s > 0 ? ", " : ",\n \"stage_inputs\": [");
        write_numbers(writer, graph->inputs + graph->input_first[s], graph->input_first[s + 1] - graph->input_first[s]);
    }
    for (uint32_t s = 0; s < graph->stages; s++) {
        ppi_write_text(writer, s > 0 ? ", " : "],\n \"stage_passes\": [");
        ppi_write_text(writer, passes[graph->passes[s]]);
    }
    for (uint32_t s = 0; s < graph->stages && graph->runs != NULL; s++) {
        ppi_write_text(writer, s > 0 ? ", " : "],\n \"stage_microbatches\": [");
        write_microbatches(writer, graph, s);
    }
    ppi_write(writer, "]", 1);
}

/* Properties of a schedule other than sizes and queues. */
static void write_properties(struct ppi_writer *writer, const ppsched_schedule *schedule)
{
    ppi_write_text(writer, schedule->flushes ? ",\n \"flushes\": true" : ",\n \"flushes\": false");
    ppi_write_field(writer, ", \"weight_versions\": ", schedule->weight_versions);
    if (schedule->placement.graph != NULL)
        write_graph(writer, schedule->placement.graph);
    if (schedule->placement.kind != PPSCHED_PLACEMENT_MAP)
        return;
    ppi_write_text(writer, ", \"stage_devices\": [");
    for (uint32_t s = 0; s < schedule->shape.stages; s++) {
        uint32_t count;
        const uint32_t *devices = ppi_devices_of(&schedule->placement, s, &count);
        if (s > 0)
            ppi_write_text(writer, ", ");
        if (count > 1)
            write_numbers(writer, devices, count);
        else
            ppi_write_field(writer, "", devices[0]);
    }
    ppi_write(writer, "]", 1);
}

static void write_json(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                       const ppsched_export_options *options)
{
    (void)options;
    ppi_write_text(writer, "{\"strategy\": ");
    ppi_write_json_string(writer, schedule->name);
    ppi_write_text(writer, ", \"placement\": ");
    ppi_write_json_string(writer, ppi_placement_name(schedule->placement.kind));
    ppi_write_field(writer, ",\n \"devices\": ", schedule->shape.devices);
    ppi_write_field(writer, ", \"stages\": ", schedule->shape.stages);
    ppi_write_field(writer, ", \"microbatches\": ", schedule->shape.microbatches);
    ppi_write_field(writer, ", \"iterations\": ", schedule->shape.iterations);
    if (schedule->shape.slices > 1)
        ppi_write_field(writer, ", \"slices\": ", schedule->shape.slices);
    write_queues(writer, schedule, timeline);
    if (timeline != NULL)
        write_metrics(writer, timeline);
    write_properties(writer, schedule);
    ppi_write_text(writer, "}\n");
}

const struct ppi_format ppi_json_format = {
    .name = "json", .tells_graphs = true, .tells_slices = true, .write = write_json, .read = ppi_read_json};
