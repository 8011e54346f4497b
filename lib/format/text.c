/* SPDX-License-Identifier: Apache-2.0 */
/* A grid for terminals: a row per device, time to the right, idle time dotted.
 *
 * A cell starts with the op's label, is filled with dashes and ends in a blank; where it is too narrow for its label, it has
 * only the kind's letter. With one stage per device labels have no stage. Below a device that sends is a row of its sends: '>'
 * for an activation, '<' for a gradient. */
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "format/formats.h"

/* Columns by default, and rows, at most; columns of a tick of the axis, and of the grid, at least. */
enum { MOST_COLUMNS = 20000, MOST_ROWS = 1024, LABEL_SIZE = 2 * PPI_TOKEN_SIZE + 1, LEAST_TICK = 10, LEAST_COLUMNS = 20 };

struct grid {
    const ppsched_schedule *schedule;
    const ppsched_timeline *timeline;
    struct ppi_writer *writer;
    bool names_stage;
    size_t margin;  /* columns of the row headers */
    size_t columns; /* columns of the grid itself */
    double makespan;
};

static size_t put_op_label(char *text, const struct grid *grid, const ppsched_op *op)
{
    char token[PPI_TOKEN_SIZE];
    size_t length = ppi_op_token(token, op), skipped = 0;
    while (!grid->names_stage && token[skipped] >= '0' && token[skipped] <= '9')
        skipped++;
    memcpy(text, token + skipped, length - skipped);
    return length - skipped;
}

static size_t put_label(char text[LABEL_SIZE], const struct grid *grid, const ppsched_op *unit)
{
    size_t length = put_op_label(text, grid, unit);
    if (ppi_unit_length(unit) == 2) {
        text[length++] = '+';
        length += put_op_label(text + length, grid, unit + 1);
    }
    return length;
}

/* The column of a time, by its share of the makespan, which may be tiny or huge. */
static size_t column_of(const struct grid *grid, double time)
{
    return grid->makespan > 0 ? (size_t)(time / grid->makespan * (double)grid->columns + 0.5) : 0;
}

static size_t digits_of(uint32_t number)
{
    char text[PPI_INTEGER_SIZE];
    return ppi_integer_to_text(text, number);
}

/* The columns with which every label is whole, at most `most`. */
static size_t choose_columns(const struct grid *grid, size_t most)
{
    double columns = 0;
    char label[LABEL_SIZE];
    for (uint32_t d = 0; d < grid->schedule->shape.devices; d++) {
        const ppsched_queue *queue = &grid->schedule->queues[d];
        const ppsched_span *spans = ppi_spans_of(grid->timeline, queue);
        for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
            double share = ppi_is_compute(queue->ops[i].kind) ? (spans[i].end - spans[i].start) / grid->makespan : 0;
            double wanted = (double)(put_label(label, grid, &queue->ops[i]) + 1);
            if (share > 0 && wanted > columns * share)
                columns = wanted / share;
        }
    }
    return columns < (double)most ? (size_t)(columns + 0.5) : most;
}

/* A figure for people: rounded to six significant digits, where its size allows that. */
static double rounded(double value)
{
    double unit = 1;
    while (value > 0 && value * unit < 99999.95 && unit < 1e15)
        unit *= 10;
    return value < 1e15 && value * unit >= 1 ? (double)(uint64_t)(value * unit + 0.5) / unit : value;
}

static void write_rounded(struct ppi_writer *writer, double value)
{
    ppi_write_number(writer, rounded(value));
}

/* Columns of the longest peak. */
static size_t peak_columns(const struct grid *grid)
{
    char text[PPI_NUMBER_SIZE];
    size_t most = 0;
    for (uint32_t d = 0; d < grid->schedule->shape.devices; d++) {
        size_t length = ppi_number_to_text(text, rounded(grid->timeline->devices[d].peak_memory));
        most = length > most ? length : most;
    }
    return most;
}

/* A name from a file must not control the terminal: control characters become '?'. */
static void write_name(struct ppi_writer *writer, const char *name)
{
    const char *end = name + strlen(name);
    while (name < end) {
        size_t length = ppi_printable_length(name, (size_t)(end - name)), taken = length != 0 ? length : 1;
        ppi_write(writer, length != 0 ? name : "?", taken);
        name += taken;
    }
}

static void write_summary(const struct grid *grid)
{
    const ppsched_metrics *metrics = &grid->timeline->metrics;
    struct ppi_writer *writer = grid->writer;
    write_name(writer, grid->schedule->name);
    ppi_write_text(writer, ": makespan ");
    write_rounded(writer, metrics->makespan);
    ppi_write_text(writer, ", span ");
    write_rounded(writer, metrics->span);
    ppi_write_text(writer, "; bubble ");
    write_rounded(writer, metrics->bubble_of_total);
    ppi_write_text(writer, " of total, ");
    write_rounded(writer, metrics->bubble_of_ideal);
    ppi_write_text(writer, " of ideal, ");
    write_rounded(writer, metrics->bubble_of_span);
    ppi_write_text(writer, " of span\n");
}

/* A round step of the axis, 1, 2 or 5 times a power of ten, of at least LEAST_TICK columns; 0: none. */
static double tick_step(const struct grid *grid)
{
    static const double factors[] = {2, 2.5, 2};
    double per_column = grid->makespan / (double)grid->columns, step = 1;
    if (!(grid->makespan > 0) || grid->columns == 0)
        return 0;
    while (step > LEAST_TICK * per_column)
        step /= 10;
    for (int i = 0; step < LEAST_TICK * per_column && step < grid->makespan; i++)
        step *= factors[i % 3];
    return step;
}

static void write_axis(const struct grid *grid)
{
    struct ppi_writer *writer = grid->writer;
    double step = tick_step(grid);
    size_t column = 0;
    ppi_write_text(writer, "time");
    ppi_write_repeated(writer, ' ', grid->margin - 4);
    for (uint32_t k = 0; step > 0 && k * step < grid->makespan; k++) {
        char text[PPI_NUMBER_SIZE];
        size_t at = column_of(grid, k * step), length = ppi_number_to_text(text, rounded(k * step));
        if (at < column || at + length > grid->columns)
            continue;
        ppi_write_repeated(writer, ' ', at - column);
        ppi_write(writer, text, length);
        column = at + length + 1 <= grid->columns ? at + length : grid->columns;
    }
    ppi_write_text(writer, "\n");
}

static void write_cell(const struct grid *grid, const ppsched_op *unit, size_t width)
{
    char label[LABEL_SIZE];
    size_t length = put_label(label, grid, unit);
    if (width == 0)
        return;
    if (length > width - (width > 1)) {
        label[0] = ppi_kind_token(unit->kind)[0];
        length = 1;
    }
    ppi_write(grid->writer, label, length);
    if (width > length) {
        ppi_write_repeated(grid->writer, '-', width - length - 1);
        ppi_write(grid->writer, " ", 1);
    }
}

static void write_row(const struct grid *grid, uint32_t device)
{
    const ppsched_queue *queue = &grid->schedule->queues[device];
    const ppsched_span *spans = ppi_spans_of(grid->timeline, queue);
    struct ppi_writer *writer = grid->writer;
    size_t column = 0;
    ppi_write_text(writer, "device ");
    ppi_write_integer(writer, device);
    ppi_write_repeated(writer, ' ', grid->margin - 7 - digits_of(device));
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        size_t start = column_of(grid, spans[i].start), end = column_of(grid, spans[i].end);
        if (!ppi_is_compute(queue->ops[i].kind))
            continue;
        ppi_write_repeated(writer, '.', start - column);
        write_cell(grid, &queue->ops[i], end - start);
        column = end;
    }
    ppi_write_repeated(writer, '.', grid->columns - column);
    ppi_write_text(writer, "  peak ");
    write_rounded(writer, grid->timeline->devices[device].peak_memory);
    ppi_write_text(writer, "\n");
}

static bool sends(const ppsched_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        if (ppi_is_send(queue->ops[i].kind))
            return true;
    return false;
}

/* At least one column for each send while columns are left. */
static void write_sends(const struct grid *grid, uint32_t device)
{
    const ppsched_queue *queue = &grid->schedule->queues[device];
    const ppsched_span *spans = ppi_spans_of(grid->timeline, queue);
    struct ppi_writer *writer = grid->writer;
    size_t column = 0;
    if (!sends(queue))
        return;
    ppi_write_text(writer, "  sends");
    ppi_write_repeated(writer, ' ', grid->margin - 7);
    for (size_t i = 0; i < queue->count; i++) {
        if (!ppi_is_send(queue->ops[i].kind))
            continue;
        size_t start = column_of(grid, spans[i].start), end = column_of(grid, spans[i].end);
        start = start < column ? column : start;
        end = end > start ? end : start + 1;
        end = end < grid->columns ? end : grid->columns;
        if (start >= end)
            continue;
        ppi_write_repeated(writer, '.', start - column);
        ppi_write_repeated(writer, queue->ops[i].kind == PPSCHED_KIND_SEND_F ? '>' : '<', end - start);
        column = end;
    }
    ppi_write_repeated(writer, '.', grid->columns - column);
    ppi_write_text(writer, "\n");
}

static void write_device(const struct grid *grid, uint32_t device)
{
    write_row(grid, device);
    write_sends(grid, device);
}

/* With many devices only the first and the last ones. */
static void write_rows(const struct grid *grid)
{
    const uint32_t devices = grid->schedule->shape.devices, first = devices > MOST_ROWS ? MOST_ROWS / 2 : devices;
    const uint32_t last = devices > MOST_ROWS ? devices - (MOST_ROWS - first - 1) : devices;
    for (uint32_t d = 0; d < first; d++)
        write_device(grid, d);
    if (last > first) {
        ppi_write_text(grid->writer, "... ");
        ppi_write_integer(grid->writer, last - first);
        ppi_write_text(grid->writer, " more devices ...\n");
    }
    for (uint32_t d = last; d < devices; d++)
        write_device(grid, d);
}

static void write_grid(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                       const ppsched_export_options *options)
{
    struct grid grid = {.schedule = schedule, .timeline = timeline, .writer = writer};
    size_t most = options->text_columns != 0 ? options->text_columns : MOST_COLUMNS;
    grid.names_stage = schedule->shape.stages != schedule->shape.devices || schedule->placement.copies > 1;
    grid.margin = 9 + digits_of(schedule->shape.devices - 1) - 1;
    size_t around = grid.margin + strlen("  peak ") + peak_columns(&grid);
    grid.makespan = timeline->metrics.makespan;
    grid.columns = choose_columns(&grid, most > around + LEAST_COLUMNS ? most - around : LEAST_COLUMNS);
    write_summary(&grid);
    write_axis(&grid);
    write_rows(&grid);
}

const struct ppi_format ppi_text_format = {
    .name = "text", .needs_timeline = true, .tells_graphs = true, .tells_slices = true, .write = write_grid};
