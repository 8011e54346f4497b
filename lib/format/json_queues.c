/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the queues of the JSON object: one per device, in order. */
#include "base/error.h"
#include "format/json_reader.h"

static ppsched_status refuse_token(struct ppi_json_reader *r, const struct ppi_json_string *string, size_t position,
                                   const char *reason)
{
    char quote[PPI_QUOTE_SIZE];
    uint32_t device = r->reading->devices;
    ppi_quote(quote, string->text, string->end);
    return ppi_fail_at(r->json.error, PPSCHED_ERROR_SYNTAX,
                       (struct ppi_place){device, PPSCHED_NONE, PPSCHED_NONE, (uint32_t)position},
                       "device %u, entry %zu of ops: cannot read \"%s\": %s", device, position, quote, reason);
}

/* The longest token: a pair, each character as \uXXXX, and some blanks. */
enum { LONGEST_ESCAPED = 512 };

/* One entry of "ops": an op or a pair. */
static ppsched_status read_token(struct ppi_json_reader *r, size_t position)
{
    struct ppi_json_string string;
    char decoded[LONGEST_ESCAPED];
    ppsched_op unit[2];
    size_t count = 0;
    ppsched_status status = ppi_json_string(&r->json, &string);
    if (status != PPSCHED_OK)
        return status;
    const char *text = string.text, *end = string.end;
    if (string.has_escapes) {
        if ((size_t)(end - text) > sizeof decoded)
            return refuse_token(r, &string, position, "it is too long");
        text = decoded;
        end = decoded + ppi_json_decode(&string, decoded);
    }
    const char *reason = ppi_read_unit(text, end, PPI_LAST_KIND, unit, &count);
    if (reason == NULL && count == 0)
        reason = "it is empty";
    if (reason != NULL)
        return refuse_token(r, &string, position, reason);
    for (size_t i = 0; i < count; i++)
        ppi_reading_add(r->reading, &unit[i]);
    r->reading->has_slices = r->reading->has_slices || (unit[0].flags & PPSCHED_OP_FLAG_SLICED) != 0 ||
                             (unit[count - 1].flags & PPSCHED_OP_FLAG_SLICED) != 0;
    return PPSCHED_OK;
}

/* An array whose items `read` reads; `*count` gets their number. */
static ppsched_status read_items(struct ppi_json_reader *r, ppsched_status (*read)(struct ppi_json_reader *r, size_t position),
                                 size_t *count)
{
    struct ppi_json_list list;
    bool more = false;
    ppsched_status status = ppi_json_open(&r->json, '[', &list);
    if (status == PPSCHED_OK)
        status = ppi_json_more(&r->json, &list, &more);
    for (*count = 0; status == PPSCHED_OK && more; ++*count) {
        status = read(r, *count);
        if (status == PPSCHED_OK)
            status = ppi_json_more(&r->json, &list, &more);
    }
    return status;
}

static ppsched_status read_time(struct ppi_json_reader *r, size_t position)
{
    (void)position;
    return ppi_json_number_or_null(&r->json);
}

/* A queue that is being read. */
struct queue {
    struct ppi_json_reader *reader;
    size_t units, starts, ends; /* entries of each list */
    bool has_starts, has_ends;
};

static ppsched_status read_device(void *user)
{
    struct ppi_json_reader *r = ((struct queue *)user)->reader;
    int64_t device = 0;
    ppsched_status status = ppi_read_count(r, 0, PPSCHED_MAX_STAGES - 1, &device);
    if (status == PPSCHED_OK && device != r->reading->devices)
        return ppi_fail(r->json.error, PPSCHED_ERROR_SYNTAX,
                        "queue %u is of device %lld; queues must be in the order of devices", r->reading->devices,
                        (long long)device);
    return status;
}

static ppsched_status read_ops(void *user)
{
    struct queue *queue = user;
    return read_items(queue->reader, read_token, &queue->units);
}

static ppsched_status read_starts(void *user)
{
    struct queue *queue = user;
    queue->has_starts = true;
    return read_items(queue->reader, read_time, &queue->starts);
}

static ppsched_status read_ends(void *user)
{
    struct queue *queue = user;
    queue->has_ends = true;
    return read_items(queue->reader, read_time, &queue->ends);
}

static ppsched_status read_queue(struct ppi_json_reader *r, size_t position)
{
    static const struct ppi_json_member members[] = {
        {"device", read_device, true}, {"ops", read_ops, true}, {"start", read_starts, false}, {"end", read_ends, false}};
    struct queue queue = {.reader = r};
    ppsched_status status = ppi_json_object(&r->json, members, sizeof members / sizeof members[0], &queue);
    if (status != PPSCHED_OK)
        return status;
    if ((queue.has_starts && queue.starts != queue.units) || (queue.has_ends && queue.ends != queue.units))
        return ppi_fail_at(r->json.error, PPSCHED_ERROR_SYNTAX,
                           (struct ppi_place){(uint32_t)position, PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE},
                           "device %zu has %zu entries in ops, but %zu times in start or end", position, queue.units,
                           queue.has_starts && queue.starts != queue.units ? queue.starts : queue.ends);
    return ppi_reading_end_device(r->reading);
}

ppsched_status ppi_read_queues(void *user)
{
    size_t count = 0;
    return read_items(user, read_queue, &count);
}
