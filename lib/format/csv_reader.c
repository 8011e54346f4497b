/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's CSV, compute_only and compute_comms: row i is rank i, a cell is an op, an overlapped pair, or nothing. */
#include "format/csv_reader.h"

#include <string.h>

#include "base/error.h"

/* The position of a cell. */
struct cell {
    uint32_t rank;
    size_t column;
};

struct csv_table {
    struct ppi_reading *reading;
    const char *next, *end;
    struct cell at;
    struct cell idle, communication; /* the first of each; column NO_COLUMN: none */
};

#define NO_COLUMN SIZE_MAX

static ppsched_status refuse_cell(const struct csv_table *table, const struct cell *cell, const char *text, const char *end,
                                  const char *reason)
{
    char quote[PPI_QUOTE_SIZE];
    ppi_quote(quote, text, end);
    return ppi_fail_at(table->reading->error, PPSCHED_ERROR_SYNTAX,
                       (struct ppi_place){cell->rank, PPSCHED_NONE, PPSCHED_NONE, (uint32_t)cell->column},
                       "rank %u, column %zu: cannot read \"%s\": %s", cell->rank, cell->column, quote, reason);
}

static bool ends_cell(char c)
{
    return c == ',' || c == '\n' || c == '\r';
}

/* Upper bound of the number of ops: cells that are not empty, and the second halves of pairs. */
static size_t count_ops(const char *text, size_t size)
{
    size_t count = 0;
    char before = ',';
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        count += (size_t)((!ends_cell(c) && ends_cell(before)) || c == ';');
        before = c;
    }
    return count;
}

/* Adds the ops of a cell, of which there may be none. */
static void add(struct csv_table *table, const ppsched_op *unit, size_t count)
{
    struct cell *first = count == 0 ? &table->idle : ppi_is_compute(unit->kind) ? NULL : &table->communication;
    if (first != NULL && first->column == NO_COLUMN)
        *first = table->at;
    for (size_t i = 0; i < count; i++)
        ppi_reading_add(table->reading, &unit[i]);
}

/* Where the cell that starts here ends: at a comma, a line's end, or the text's. */
static const char *find_cell_end(const char *text, const char *end)
{
    while (text < end && *text != ',' && *text != '\n')
        text++;
    return text;
}

static const char *skip_digits(const char *text, const char *end)
{
    while (text < end && *text >= '0' && *text <= '9')
        text++;
    return text;
}

/* Whether a cell is a wait of PyTorch 2.15 for a send. */
static bool waits_for_send(const char *text, const char *end)
{
    static const char *const waits[] = {"WAIT_SEND_F", "WAIT_SEND_B"};
    while (text < end && *text == ' ')
        text++;
    while (text < end && end[-1] == ' ')
        end--;
    const char *word = skip_digits(text, end);
    for (size_t i = 0; word > text && i < sizeof waits / sizeof waits[0]; i++) {
        size_t length = strlen(waits[i]);
        if ((size_t)(end - word) < length || memcmp(word, waits[i], length) != 0)
            continue;
        return word + length < end && skip_digits(word + length, end) == end;
    }
    return false;
}

/* A wait for a send says nothing about the order of ops and is dropped. */
static void drop_wait(struct csv_table *table)
{
    if (table->communication.column == NO_COLUMN)
        table->communication = table->at;
}

/* NULL, or why a cell is no unit of this format. */
static const char *read_unit(const char *text, const char *end, ppsched_op unit[2], size_t *count)
{
    const char *reason = ppi_read_unit(text, end, PPI_LAST_KIND, unit, count);
    for (size_t i = 0; reason == NULL && i < *count; i++) {
        if (!ppi_is_of_pytorch(unit[i].kind))
            return "its kind is not one of this format, such as F, B, I and W";
        if ((unit[i].flags & PPSCHED_OP_FLAG_SLICED) != 0)
            return "this format has no slices of microbatches; use json";
    }
    return reason;
}

/* Reads any cell. */
static ppsched_status read_rare_cell(struct csv_table *table)
{
    ppsched_op unit[2];
    size_t count = 0;
    const char *text = table->next, *behind = find_cell_end(text, table->end), *end = behind;
    if (behind < table->end && *behind == '\n' && end > text && end[-1] == '\r')
        end--;
    table->next = behind;
    if (waits_for_send(text, end)) {
        drop_wait(table);
        return PPSCHED_OK;
    }
    const char *reason = read_unit(text, end, unit, &count);
    if (reason != NULL)
        return refuse_cell(table, &table->at, text, end, reason);
    add(table, unit, count);
    return PPSCHED_OK;
}

/* Reads a cell; most are an op and nothing else. */
static ppsched_status read_cell(struct csv_table *table)
{
    ppsched_op op;
    const char *next = table->next;
    if (ppi_read_op(&next, table->end, PPSCHED_KIND_REDUCE_GRAD, &op) != NULL ||
        (next < table->end && *next != ',' && *next != '\n'))
        return read_rare_cell(table);
    add(table, &op, 1);
    table->next = next;
    return PPSCHED_OK;
}

static ppsched_status read_row(struct csv_table *table)
{
    ppsched_status status = read_cell(table);
    while (status == PPSCHED_OK && table->next < table->end && *table->next == ',') {
        table->next++;
        table->at.column++;
        status = read_cell(table);
    }
    if (status != PPSCHED_OK)
        return status;
    if (ppi_reading_device_count(table->reading) == 0)
        return ppi_fail_at(table->reading->error, PPSCHED_ERROR_SYNTAX,
                           (struct ppi_place){table->at.rank, PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE},
                           "rank %u: the row has no op; each row of the text is a rank and needs at least one op",
                           table->at.rank);
    table->next += table->next < table->end; /* the newline */
    table->at = (struct cell){table->at.rank + 1, 0};
    return ppi_reading_end_device(table->reading);
}

static ppsched_status refuse_idle(const struct csv_table *table)
{
    const struct cell *idle = &table->idle, *other = &table->communication;
    return ppi_fail_at(table->reading->error, PPSCHED_ERROR_SYNTAX,
                       (struct ppi_place){idle->rank, PPSCHED_NONE, PPSCHED_NONE, (uint32_t)idle->column},
                       "rank %u, column %zu is empty, but the text has communication ops (rank %u, column %zu); with these no "
                       "cell may be empty",
                       idle->rank, idle->column, other->rank, other->column);
}

ppsched_status ppi_read_csv(struct ppi_reading *reading, const char *data, size_t size)
{
    struct csv_table table = {
        .reading = reading, .next = data, .end = data + size, .idle.column = NO_COLUMN, .communication.column = NO_COLUMN};
    if (size == 0)
        return ppi_fail(reading->error, PPSCHED_ERROR_SYNTAX, "the text is empty");
    ppsched_status status = ppi_reading_reserve(reading, count_ops(data, size));
    while (status == PPSCHED_OK && table.next < table.end)
        status = read_row(&table);
    if (status == PPSCHED_OK && table.idle.column != NO_COLUMN && table.communication.column != NO_COLUMN)
        status = refuse_idle(&table);
    return status;
}
