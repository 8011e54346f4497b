/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern of layers as a text: names, each with a count or none, and groups in brackets that are repeated. */
#include <string.h>

#include "base/error.h"
#include "description/json.h"

enum { DEEPEST = 8, LONGEST_GROUP = 24, KIND_NAME_SIZE = 64 };

/* --- reading --- */

struct reader {
    struct ppi_draft *draft;
    const char *text, *next;
    ppsched_error *error;
};

static ppsched_status fail(const struct reader *reader, const char *what)
{
    return ppi_fail(reader->error, PPSCHED_ERROR_RANGE,
                    "layers, character %zu: %s; such a text has names, counts and groups, such as \"2xa 10x[5xb c]\"",
                    (size_t)(reader->next - reader->text) + 1, what);
}

static void skip_blanks(struct reader *reader)
{
    reader->next += strspn(reader->next, " \t\r\n");
}

/* A count and the x after it; 1 if there is none. */
static ppsched_status read_count(struct reader *reader, uint32_t *count)
{
    *count = 1;
    if (*reader->next < '0' || *reader->next > '9')
        return PPSCHED_OK;
    uint32_t sum = 0;
    for (; *reader->next >= '0' && *reader->next <= '9'; reader->next++)
        sum = sum <= PPI_MOST_LAYERS ? sum * 10 + (uint32_t)(*reader->next - '0') : sum;
    if (*reader->next != 'x')
        return fail(reader, "x is missing after the count");
    reader->next++;
    if (sum == 0 || sum > PPI_MOST_LAYERS)
        return fail(reader, "the count before it must be 1 to 65471");
    *count = sum;
    return PPSCHED_OK;
}

/* Adds the layers from `first` on `count` - 1 more times. */
static ppsched_status repeat(struct reader *reader, uint32_t first, uint32_t count)
{
    struct ppi_draft *draft = reader->draft;
    uint32_t end = draft->info.layer_count;
    if (end == first)
        return PPSCHED_OK; /* an empty group, which no count makes longer */
    if ((uint64_t)(end - first) * count + first > PPI_MOST_LAYERS)
        return fail(reader, "there are more than 65471 layers up to here");
    for (uint32_t i = 1; i < count && !draft->arena.is_short; i++)
        for (uint32_t layer = first; layer < end; layer++)
            ppi_draft_add_layer_of(draft, draft->layers[layer]);
    return PPSCHED_OK;
}

static ppsched_status read_name(struct reader *reader)
{
    const struct ppi_draft *draft = reader->draft;
    size_t length = strcspn(reader->next, " \t\r\n[]");
    for (uint32_t i = 0; i < draft->info.kind_count; i++)
        if (strlen(draft->kinds[i]->name) == length && memcmp(draft->kinds[i]->name, reader->next, length) == 0) {
            ppi_draft_add_layer_of(reader->draft, i);
            reader->next += length;
            return PPSCHED_OK;
        }
    char name[KIND_NAME_SIZE];
    size_t shown = length < sizeof name ? length : sizeof name - 1;
    memcpy(name, reader->next, shown);
    name[shown] = '\0';
    return ppi_fail(reader->error, PPSCHED_ERROR_RANGE, "layers, character %zu: there is no kind %q; did you mean %q?",
                    (size_t)(reader->next - reader->text) + 1, name, ppi_draft_nearest_kind(draft, name));
}

static ppsched_status read_items(struct reader *reader, uint32_t depth);

static ppsched_status read_item(struct reader *reader, uint32_t depth)
{
    uint32_t first = reader->draft->info.layer_count, count;
    ppsched_status status = read_count(reader, &count);
    if (status != PPSCHED_OK)
        return status;
    if (*reader->next != '[') {
        status = *reader->next == '\0' || *reader->next == ']' ? fail(reader, "a name is missing") : read_name(reader);
        return status == PPSCHED_OK ? repeat(reader, first, count) : status;
    }
    if (depth == DEEPEST)
        return fail(reader, "groups are nested too deeply");
    reader->next++;
    status = read_items(reader, depth + 1);
    if (status == PPSCHED_OK && reader->draft->arena.is_short)
        return PPSCHED_OK; /* told when the draft is finished */
    if (status == PPSCHED_OK && *reader->next != ']')
        status = fail(reader, "] is missing");
    if (status != PPSCHED_OK)
        return status;
    reader->next++;
    return repeat(reader, first, count);
}

/* Up to the end of the text or a closing bracket. */
static ppsched_status read_items(struct reader *reader, uint32_t depth)
{
    ppsched_status status = PPSCHED_OK;
    skip_blanks(reader);
    while (status == PPSCHED_OK && *reader->next != '\0' && *reader->next != ']' && !reader->draft->arena.is_short) {
        status = read_item(reader, depth);
        skip_blanks(reader);
    }
    return status;
}

ppsched_status ppi_read_pattern(struct ppi_draft *draft, const char *text, ppsched_error *error)
{
    struct reader reader = {draft, text, text, error};
    ppsched_status status = read_items(&reader, 0);
    if (status == PPSCHED_OK && *reader.next == ']' && !draft->arena.is_short)
        return fail(&reader, "no [ is open before it");
    return status;
}

/* --- writing --- */

/* How often the `period` layers from `first` on stand there one after the other. */
static uint32_t repeats_of(const ppsched_description_info *info, uint32_t first, uint32_t period)
{
    uint32_t same = 0;
    while (first + period + same < info->layer_count && info->layers[first + same] == info->layers[first + period + same])
        same++;
    return same / period + 1;
}

/* The period at `first` that leaves out most layers; of equal ones the shortest. */
static uint32_t best_period(const ppsched_description_info *info, uint32_t first)
{
    uint32_t best = 1, most = 0;
    for (uint32_t period = 1; period <= LONGEST_GROUP && first + 2 * period <= info->layer_count; period++) {
        uint32_t left_out = period * (repeats_of(info, first, period) - 1);
        if (left_out > most) {
            most = left_out;
            best = period;
        }
    }
    return best;
}

static void write_count(struct ppi_writer *writer, uint32_t count)
{
    if (count == 1)
        return;
    ppi_write_integer(writer, count);
    ppi_write_text(writer, "x");
}

/* Names with the lengths of their runs. */
static void write_runs(struct ppi_writer *writer, const ppsched_description_info *info, uint32_t first, uint32_t count)
{
    for (uint32_t layer = first, end; layer < first + count; layer = end) {
        for (end = layer + 1; end < first + count && info->layers[end] == info->layers[layer]; end++)
            continue;
        ppi_write_text(writer, layer > first ? " " : "");
        write_count(writer, end - layer);
        ppi_write_json_characters(writer, info->kinds[info->layers[layer]]->name);
    }
}

void ppi_write_pattern(struct ppi_writer *writer, const ppsched_description_info *info)
{
    for (uint32_t layer = 0; layer < info->layer_count;) {
        uint32_t period = best_period(info, layer), count = repeats_of(info, layer, period);
        ppi_write_text(writer, layer > 0 ? " " : "");
        write_count(writer, count);
        ppi_write_text(writer, period > 1 ? "[" : "");
        write_runs(writer, info, layer, period);
        ppi_write_text(writer, period > 1 ? "]" : "");
        layer += period * count;
    }
}
