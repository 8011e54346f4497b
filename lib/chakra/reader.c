/* SPDX-License-Identifier: Apache-2.0 */
/* Reads each trace in two passes, one to count its nodes; a device's ops are sorted by node id, and their amounts go to
 * costs.c. */
#include "chakra/reader.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/format.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "chakra/protobuf.h"
#include "chakra/traces.h"
#include "format/reading.h"

/* A lower bound of a node's bytes: id, a name such as 0F0, type. */
enum { SHORTEST_NODE = 7 };

#define MOST_AMOUNT ((uint64_t)1 << 53) /* up to which doubles hold all whole numbers */

/* A node. */
struct entry {
    uint64_t id, amount;
    ppsched_op unit[2];
    size_t length; /* ops; 0: a node of a flush */
};

/* The fields of a node. */
struct node {
    uint64_t id, type, micros, bytes;
    struct ppi_span name;
};

/* The writer of a trace, from its metadata: texts of the version and the schema, and whether they are the library's. */
struct writer {
    struct ppi_span version, schema;
    bool is_library, has_process, has_input;
};

struct reader {
    struct ppi_reading reading;
    struct writer writer; /* of the present trace */
    const ppsched_chakra_trace *traces;
    size_t count;
    ppsched_error *error;
    struct ppi_chakra_scales scales;
    uint64_t devices;      /* 0: the number of traces */
    uint64_t *amounts;     /* by op */
    struct entry *entries; /* of the present trace */
    uint32_t *order, *scratch;
    uint32_t rank; /* of the present trace */
    uint32_t node;
};

static ppsched_status fail(const struct reader *reader, const char *what)
{
    struct ppi_place place = {reader->rank, PPSCHED_NONE, PPSCHED_NONE, reader->node};
    if (reader->node == PPSCHED_NONE)
        return ppi_fail_at(reader->error, PPSCHED_ERROR_SYNTAX, place, "rank %u: %s", reader->rank, what);
    return ppi_fail_at(reader->error, PPSCHED_ERROR_SYNTAX, place, "rank %u, node %u: %s", reader->rank, reader->node, what);
}

/* --- messages --- */

/* Value of an attribute: an integer, a double, or a text. */
struct attribute {
    struct ppi_span name, text;
    uint64_t integer;
    double number;
};

static bool is_integer_field(uint32_t number)
{
    return number == 7 || number == 9 || number == 11 || number == PPI_CHAKRA_UINT64 || number == 27;
}

static bool take_attribute(struct ppi_span from, struct attribute *attribute)
{
    struct ppi_proto_field field;
    *attribute = (struct attribute){0};
    while (from.next < from.end) {
        if (!ppi_proto_take_field(&from, &field))
            return false;
        if (field.number == PPI_CHAKRA_ATTRIBUTE_NAME && field.type == PPI_PROTO_BYTES)
            attribute->name = field.bytes;
        else if (is_integer_field(field.number) && field.type == PPI_PROTO_VARINT)
            attribute->integer = field.value;
        else if (field.number == PPI_CHAKRA_DOUBLE && field.type == PPI_PROTO_64)
            memcpy(&attribute->number, &field.value, sizeof attribute->number);
        else if (field.number == PPI_CHAKRA_STRING && field.type == PPI_PROTO_BYTES)
            attribute->text = field.bytes;
    }
    return true;
}

static bool is_text(struct ppi_span span, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(span.end - span.next) == size && (size == 0 || memcmp(span.next, text, size) == 0);
}

static bool begins_with(struct ppi_span span, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(span.end - span.next) >= size && memcmp(span.next, text, size) == 0;
}

static bool take_node(struct ppi_span from, struct node *node)
{
    struct ppi_proto_field field;
    struct attribute attribute;
    *node = (struct node){0};
    while (from.next < from.end) {
        if (!ppi_proto_take_field(&from, &field))
            return false;
        if (field.type == PPI_PROTO_BYTES && field.number == PPI_CHAKRA_NAME)
            node->name = field.bytes;
        else if (field.type == PPI_PROTO_BYTES && field.number == PPI_CHAKRA_ATTRIBUTE) {
            if (!take_attribute(field.bytes, &attribute))
                return false;
            if (is_text(attribute.name, "comm_size"))
                node->bytes = attribute.integer;
        } else if (field.type == PPI_PROTO_VARINT && field.number == PPI_CHAKRA_ID)
            node->id = field.value;
        else if (field.type == PPI_PROTO_VARINT && field.number == PPI_CHAKRA_TYPE)
            node->type = field.value;
        else if (field.type == PPI_PROTO_VARINT && field.number == PPI_CHAKRA_DURATION)
            node->micros = field.value;
    }
    return true;
}

/* --- the first message --- */

static ppsched_status take_name(struct reader *reader, struct ppi_span text)
{
    size_t size = (size_t)(text.end - text.next);
    struct ppi_reading *reading = &reader->reading;
    if (size == 0 || memchr(text.next, '\0', size) != NULL || ppi_find_broken_utf8(text.next, size) < size)
        return fail(reader, "the schedule's name is not UTF-8");
    char *name = ppi_allocate(&reading->host, size + 1, 1);
    if (name == NULL)
        return ppi_fail_memory(reader->error, "the name");
    memcpy(name, text.next, size);
    name[size] = '\0';
    ppi_release(&reading->host, reading->name);
    reading->name = name;
    return PPSCHED_OK;
}

/* A count for all traces. */
static ppsched_status take_count(const struct reader *reader, const struct attribute *attribute, int64_t most, int64_t *out)
{
    if (attribute->integer < 1 || attribute->integer > (uint64_t)most)
        return fail(reader, "a number of devices, microbatches, iterations or weight versions is out of range");
    *out = (int64_t)attribute->integer;
    return PPSCHED_OK;
}

static ppsched_status take_scale(const struct reader *reader, const struct attribute *attribute, double *out)
{
    if (!ppi_is_finite(attribute->number) || attribute->number <= 0)
        return fail(reader, "a scale is not above 0");
    *out = attribute->number;
    return PPSCHED_OK;
}

static ppsched_status use_attribute(struct reader *reader, const struct attribute *attribute)
{
    struct ppi_reading *reading = &reader->reading;
    struct ppi_span name = attribute->name;
    int64_t value = 0;
    ppsched_status status = PPSCHED_OK;
    if (is_text(name, "schedule"))
        return take_name(reader, attribute->text);
    if (is_text(name, "microbatches"))
        return take_count(reader, attribute, PPSCHED_MAX_CELLS, &reading->said_microbatches);
    if (is_text(name, "iterations"))
        return take_count(reader, attribute, PPSCHED_MAX_CELLS, &reading->iterations);
    if (is_text(name, "time_scale"))
        return take_scale(reader, attribute, &reader->scales.time);
    if (is_text(name, "bytes_scale"))
        return take_scale(reader, attribute, &reader->scales.bytes);
    if (is_text(name, "sizes"))
        reader->scales.has_times = is_text(attribute->text, "times");
    if (is_text(name, "flushes"))
        reading->flushes = attribute->integer != 0;
    if (is_text(name, "devices")) {
        status = take_count(reader, attribute, PPSCHED_MAX_STAGES, &value);
        reader->devices = (uint64_t)value;
    } else if (is_text(name, "weight_versions")) {
        status = take_count(reader, attribute, PPI_MOST_VERSIONS, &value);
        reading->weight_versions = (uint32_t)value;
    }
    return status;
}

static void note_writer(struct writer *writer, const struct attribute *attribute)
{
    if (is_text(attribute->name, "schema"))
        writer->schema = attribute->text;
    writer->is_library |= is_text(attribute->name, "schedule");
    writer->has_process |= is_text(attribute->name, "pid") || is_text(attribute->name, "start_ts");
    writer->has_input |= is_text(attribute->name, "input_file");
}

/* Reads the first message of a trace; of the first trace its attributes are used. The version is not required, as not all
 * writers fill it. */
static ppsched_status take_metadata(struct reader *reader, struct ppi_span *span)
{
    struct ppi_span metadata;
    struct ppi_proto_field field;
    struct attribute attribute;
    ppsched_status status = PPSCHED_OK;
    reader->writer = (struct writer){0};
    if (!ppi_proto_take_record(span, &metadata))
        return fail(reader, "it is cut off, or not a Chakra trace");
    while (status == PPSCHED_OK && metadata.next < metadata.end) {
        if (!ppi_proto_take_field(&metadata, &field) || field.type != PPI_PROTO_BYTES ||
            field.number > PPI_CHAKRA_METADATA_ATTRIBUTE)
            return fail(reader, "it does not begin with the metadata of a Chakra trace");
        if (field.number == PPI_CHAKRA_VERSION)
            reader->writer.version = field.bytes;
        else if (!take_attribute(field.bytes, &attribute))
            return fail(reader, "an attribute cannot be read");
        else
            note_writer(&reader->writer, &attribute);
        if (field.number == PPI_CHAKRA_METADATA_ATTRIBUTE && reader->rank == 0)
            status = use_attribute(reader, &attribute);
    }
    return status;
}

/* --- nodes --- */

/* The number of compute nodes of a trace, and their total time, up to the first node that cannot be read. */
struct durations {
    uint64_t count, micros;
};

static struct durations add_durations(const ppsched_chakra_trace *trace)
{
    struct durations found = {0};
    struct ppi_span span = {trace->data, trace->data + trace->length}, record;
    struct node node;
    bool goes_on = ppi_proto_take_record(&span, &record);
    while (goes_on && ppi_proto_take_record(&span, &record) && take_node(record, &node)) {
        goes_on = node.micros <= MOST_AMOUNT - found.micros;
        if (goes_on && node.type == PPI_CHAKRA_COMP && node.micros > 0)
            found = (struct durations){found.count + 1, found.micros + node.micros};
    }
    return found;
}

/* Room for what a message says of the writer, and of the compute nodes. */
enum { PART_SIZE = 128 };

/* Who wrote the trace, from its metadata. */
static void print_writer(char part[PART_SIZE], const struct writer *writer)
{
    const char *converted = writer->has_process ? "PyTorch's traces" : writer->has_input ? "text files" : NULL;
    struct ppi_span told = writer->schema.next < writer->schema.end ? writer->schema : writer->version;
    char quote[PPI_QUOTE_SIZE], schema[PART_SIZE] = "";
    ppi_quote(quote, told.next, told.end);
    if (told.next < told.end)
        ppi_print(schema, sizeof schema, " (schema \"%s\")", quote);
    if (converted != NULL)
        ppi_print(part, PART_SIZE, "Chakra's converter of %s%s wrote the trace", converted, schema);
    else
        ppi_print(part, PART_SIZE, "the trace%s does not say which program wrote it", schema);
}

static void print_durations(char part[PART_SIZE], struct durations found)
{
    if (found.count == 0)
        ppi_print(part, PART_SIZE, "no compute node has a duration that can be read");
    else if (found.count == 1)
        ppi_print(part, PART_SIZE, "its compute node takes %llu microsecond%s", (unsigned long long)found.micros,
                  found.micros == 1 ? "" : "s");
    else
        ppi_print(part, PART_SIZE, "its %llu compute nodes take %llu microseconds", (unsigned long long)found.count,
                  (unsigned long long)found.micros);
}

/* Refuses a trace of another writer, whose nodes are not ops of a pipeline. */
static ppsched_status fail_writer(const struct reader *reader, struct ppi_span name)
{
    struct ppi_place place = {reader->rank, PPSCHED_NONE, PPSCHED_NONE, reader->node};
    char quote[PPI_QUOTE_SIZE], writer[PART_SIZE], durations[PART_SIZE];
    ppi_quote(quote, name.next, name.end);
    print_writer(writer, &reader->writer);
    print_durations(durations, add_durations(&reader->traces[reader->rank]));
    return ppi_fail_at(
        reader->error, PPSCHED_ERROR_SYNTAX, place,
        "rank %u, node %u: its name \"%s\" is not a pipeline op; %s, and %s; name nodes by their ops, such as 0F0 "
        "and 1SEND_F0",
        reader->rank, reader->node, quote, writer, durations);
}

static ppsched_status fail_name(const struct reader *reader, struct ppi_span name, const char *reason)
{
    struct ppi_place place = {reader->rank, PPSCHED_NONE, PPSCHED_NONE, reader->node};
    char quote[PPI_QUOTE_SIZE];
    ppi_quote(quote, name.next, name.end);
    return ppi_fail_at(reader->error, PPSCHED_ERROR_SYNTAX, place,
                       "rank %u, node %u: its name \"%s\" is not an op as this library writes it: %s", reader->rank,
                       reader->node, quote, reason);
}

/* Reads the op or pair of a device's node. */
static ppsched_status make_entry(const struct reader *reader, const struct node *node, struct entry *entry)
{
    *entry = (struct entry){.id = node->id};
    if (begins_with(node->name, PPI_CHAKRA_FLUSH))
        return PPSCHED_OK;
    const char *reason = ppi_read_unit(node->name.next, node->name.end, PPSCHED_KIND_RECV_B, entry->unit, &entry->length);
    if ((reason != NULL || entry->length == 0) && !reader->writer.is_library)
        return fail_writer(reader, node->name);
    if (reason != NULL || entry->length == 0)
        return fail_name(reader, node->name, reason != NULL ? reason : "it is empty");
    uint8_t kind = entry->unit[0].kind;
    uint64_t type = ppi_is_compute(kind) ? PPI_CHAKRA_COMP : ppi_is_send(kind) ? PPI_CHAKRA_SEND : PPI_CHAKRA_RECV;
    entry->amount = type == PPI_CHAKRA_COMP ? node->micros : node->bytes;
    if (node->type != type)
        return fail_name(reader, node->name, "its type is not that of the op");
    if (entry->amount == 0 || entry->amount > MOST_AMOUNT)
        return fail_name(reader, node->name,
                         type == PPI_CHAKRA_COMP ? "its duration_micros is missing, or too large"
                                                 : "its comm_size is missing, or too large");
    return PPSCHED_OK;
}

static bool goes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct entry *entries = context;
    return entries[a].id < entries[b].id;
}

/* Adds a device's ops in the order of their ids. */
static ppsched_status add_in_order(struct reader *reader, size_t count)
{
    for (size_t k = 0; k < count; k++)
        reader->order[k] = (uint32_t)k;
    const uint32_t *order = ppi_sort(reader->order, reader->scratch, count, goes_before, reader->entries);
    for (size_t k = 0; k < count; k++) {
        const struct entry *entry = &reader->entries[order[k]];
        reader->node = order[k];
        if (k > 0 && reader->entries[order[k - 1]].id == entry->id)
            return fail(reader, "its id is used twice");
        for (size_t i = 0; i < entry->length; i++) {
            reader->amounts[reader->reading.count] = i == 0 ? entry->amount : 0;
            ppi_reading_add(&reader->reading, &entry->unit[i]);
        }
    }
    reader->node = PPSCHED_NONE;
    if (ppi_reading_device_count(&reader->reading) == 0)
        return fail(reader, "it has no op");
    return ppi_reading_end_device(&reader->reading);
}

/* Reads the trace of a device, or checks that of a link, which is not used. */
static ppsched_status read_trace(struct reader *reader, bool is_link)
{
    const ppsched_chakra_trace *trace = &reader->traces[reader->rank];
    struct ppi_span span = {trace->data, trace->data + trace->length}, record;
    struct node node;
    size_t count = 0;
    reader->node = PPSCHED_NONE;
    ppsched_status status = take_metadata(reader, &span);
    for (; status == PPSCHED_OK && span.next < span.end; count++) {
        reader->node = (uint32_t)count;
        if (!ppi_proto_take_record(&span, &record) || !take_node(record, &node))
            return fail(reader, "it is cut off, or cannot be read");
        if (!is_link)
            status = make_entry(reader, &node, &reader->entries[count]);
        else if (!begins_with(node.name, PPI_CHAKRA_LINK))
            return fail_name(reader, node.name, "the trace is of a link");
    }
    return status == PPSCHED_OK && !is_link ? add_in_order(reader, count) : status;
}

/* --- all traces --- */

/* Counts the nodes of a trace; SYNTAX where one is truncated. */
static ppsched_status count_nodes(struct reader *reader, uint32_t rank, size_t *count)
{
    const ppsched_chakra_trace *trace = &reader->traces[rank];
    struct ppi_span span = {trace->data, trace->data + trace->length}, record;
    reader->rank = rank;
    reader->node = PPSCHED_NONE;
    *count = 0;
    if (!ppi_proto_take_record(&span, &record))
        return fail(reader, "it is empty, cut off, or not a Chakra trace");
    for (; span.next < span.end; ++*count) {
        reader->node = (uint32_t)*count;
        if (*count >= PPSCHED_NONE - 1)
            return fail(reader, "there are too many nodes");
        if (!ppi_proto_take_record(&span, &record) || record.end - record.next < SHORTEST_NODE)
            return fail(reader, "it is cut off, or cannot be read");
    }
    return PPSCHED_OK;
}

static ppsched_status make_room(struct reader *reader)
{
    const struct ppi_host *host = &reader->reading.host;
    size_t all = 0, most = 0, count = 0;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t rank = 0; status == PPSCHED_OK && rank < reader->count; rank++) {
        status = count_nodes(reader, rank, &count);
        all += count;
        most = count > most ? count : most;
    }
    if (status == PPSCHED_OK)
        status = ppi_reading_reserve(&reader->reading, 2 * all);
    if (status != PPSCHED_OK)
        return status;
    reader->amounts = ppi_allocate(host, 2 * all, sizeof *reader->amounts);
    reader->entries = ppi_allocate(host, most, sizeof *reader->entries);
    reader->order = ppi_allocate(host, most, sizeof *reader->order);
    reader->scratch = ppi_allocate(host, most, sizeof *reader->scratch);
    if (reader->amounts == NULL || reader->entries == NULL || reader->order == NULL || reader->scratch == NULL)
        return ppi_fail_memory(reader->error, "the nodes");
    return PPSCHED_OK;
}

static ppsched_status read_all(struct reader *reader)
{
    ppsched_status status = make_room(reader);
    for (reader->rank = 0; status == PPSCHED_OK && reader->rank < reader->count; reader->rank++) {
        status = read_trace(reader, reader->rank > 0 && reader->rank >= reader->devices);
        if (reader->rank == 0 && reader->devices == 0)
            reader->devices = reader->count;
    }
    if (status == PPSCHED_OK && reader->devices > reader->count)
        return ppi_fail(reader->error, PPSCHED_ERROR_SYNTAX, "the traces are of %llu device%p, and their number is %zu",
                        (unsigned long long)reader->devices, reader->count);
    return status;
}

static void clear(struct reader *reader)
{
    const struct ppi_host host = reader->reading.host;
    ppi_release(&host, reader->scratch);
    ppi_release(&host, reader->order);
    ppi_release(&host, reader->entries);
    ppi_release(&host, reader->amounts);
    ppi_reading_clear(&reader->reading);
}

ppsched_status ppi_chakra_read(ppsched_schedule **schedule, ppsched_config **config, const ppsched_chakra_trace *traces,
                               size_t count, const struct ppi_host *host, ppsched_error *error)
{
    struct reader reader = {.traces = traces, .count = count, .error = error, .scales = {1, 1, false}};
    ppsched_schedule *made = NULL;
    ppi_reading_start(&reader.reading, host, error);
    ppsched_status status = read_all(&reader);
    if (status == PPSCHED_OK)
        status = ppi_reading_finish(&made, &reader.reading);
    if (status == PPSCHED_OK)
        status = ppi_chakra_find_costs(config, made, reader.amounts, &reader.scales, error);
    clear(&reader);
    if (status == PPSCHED_OK)
        *schedule = made;
    else if (made != NULL)
        ppi_schedule_release(made);
    return status;
}
