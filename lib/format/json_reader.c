/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON object that the library writes. Keys may come in any order; sizes and placement are checked together when all
 * are known. */
#include <string.h>

#include "base/error.h"
#include "format/json_reader.h"
#include "ir/config.h"

ppsched_status ppi_read_count(struct ppi_json_reader *r, int64_t least, int64_t largest, int64_t *value)
{
    ppi_json_peek(&r->json);
    const char *at = r->json.next;
    ppsched_status status = ppi_json_integer(&r->json, value);
    if (status == PPSCHED_OK && (*value < least || *value > largest))
        return ppi_fail(r->json.error, PPSCHED_ERROR_RANGE, "byte %zu: the number is %lld; it must be %lld to %lld",
                        (size_t)(at - r->json.start), (long long)*value, (long long)least, (long long)largest);
    return status;
}

static ppsched_status read_stages(void *user)
{
    struct ppi_json_reader *r = user;
    return ppi_read_count(r, 1, PPSCHED_MAX_STAGES, &r->reading->said_stages);
}

static ppsched_status read_microbatches(void *user)
{
    struct ppi_json_reader *r = user;
    return ppi_read_count(r, 1, PPSCHED_MAX_CELLS, &r->reading->said_microbatches);
}

static ppsched_status read_iterations(void *user)
{
    struct ppi_json_reader *r = user;
    return ppi_read_count(r, 1, PPSCHED_MAX_CELLS, &r->reading->iterations);
}

static ppsched_status read_slices(void *user)
{
    struct ppi_json_reader *r = user;
    return ppi_read_count(r, 1, PPSCHED_MAX_SLICES, &r->reading->slices);
}

static ppsched_status read_devices(void *user)
{
    struct ppi_json_reader *r = user;
    return ppi_read_count(r, 1, PPSCHED_MAX_STAGES, &r->devices);
}

static ppsched_status read_name(void *user)
{
    struct ppi_json_reader *r = user;
    struct ppi_json_string string;
    ppsched_status status = ppi_json_string(&r->json, &string);
    if (status != PPSCHED_OK)
        return status;
    size_t size = (size_t)(string.end - string.text) + 1;
    char *name = ppi_allocate(&r->reading->host, size, 1);
    if (name == NULL)
        return ppi_fail_memory(r->json.error, "the name");
    r->reading->name = name;
    size_t length = ppi_json_decode(&string, name);
    name[length] = '\0';
    return strlen(name) == length ? PPSCHED_OK : ppi_json_fail(&r->json, string.text, "a name must not hold a NUL");
}

static ppsched_status read_placement(void *user)
{
    struct ppi_json_reader *r = user;
    struct ppi_json_string string;
    ppsched_status status = ppi_json_string(&r->json, &string);
    if (status != PPSCHED_OK)
        return status;
    for (int32_t kind = PPSCHED_PLACEMENT_LINEAR; kind <= PPSCHED_PLACEMENT_MAP; kind++)
        if (ppi_json_equals(&string, ppi_placement_name(kind))) {
            r->reading->placement = kind;
            return PPSCHED_OK;
        }
    return ppi_json_fail(&r->json, string.text, "a placement is linear, loop, v, bidirectional or map");
}

static ppsched_status read_flushes(void *user)
{
    struct ppi_json_reader *r = user;
    return ppi_json_bool(&r->json, &r->reading->flushes);
}

static ppsched_status read_weight_versions(void *user)
{
    struct ppi_json_reader *r = user;
    int64_t versions = 0;
    ppsched_status status = ppi_read_count(r, 1, PPI_MOST_VERSIONS, &versions);
    r->reading->weight_versions = (uint32_t)versions;
    return status;
}

/* Memory for the map: as many values as the rest of the text has commas, but never more than there may be stages. */
static ppsched_status read_map(void *user)
{
    struct ppi_json_reader *r = user;
    struct ppi_json_list list;
    bool more = false;
    size_t room = (size_t)(r->json.end - r->json.next) / 2 + 1;
    ppsched_status status = ppi_json_open(&r->json, '[', &list);
    room = room < PPSCHED_MAX_STAGES ? room : PPSCHED_MAX_STAGES;
    r->reading->map = ppi_allocate(&r->reading->host, room, sizeof *r->reading->map);
    if (r->reading->map == NULL)
        return ppi_fail_memory(r->json.error, "the placement");
    if (status == PPSCHED_OK)
        status = ppi_json_more(&r->json, &list, &more);
    while (status == PPSCHED_OK && more) {
        int64_t device = 0;
        status = ppi_read_count(r, 0, PPSCHED_MAX_STAGES - 1, &device);
        if (r->map_count == room)
            return ppi_json_fail(&r->json, r->json.next, "there are more values than there can be stages");
        r->reading->map[r->map_count++] = (uint32_t)device;
        if (status == PPSCHED_OK)
            status = ppi_json_more(&r->json, &list, &more);
    }
    return status;
}

static ppsched_status pass_over_object(void *user)
{
    struct ppi_json_reader *r = user;
    if (ppi_json_peek(&r->json) != '{')
        return ppi_json_fail(&r->json, r->json.next, "expected an object");
    return ppi_json_skip(&r->json);
}

static const struct ppi_json_member members[] = {
    {"strategy", read_name, true},
    {"placement", read_placement, false},
    {"devices", read_devices, true},
    {"stages", read_stages, true},
    {"microbatches", read_microbatches, true},
    {"iterations", read_iterations, true},
    {"slices", read_slices, false},
    {"queues", ppi_read_queues, true},
    {"metrics", pass_over_object, false},
    {"idle_by_cause", pass_over_object, false},
    {"peak_by_cause", pass_over_object, false},
    {"flushes", read_flushes, false},
    {"weight_versions", read_weight_versions, false},
    {"stage_devices", read_map, false},
};

/* Checks the values of all keys together. */
static ppsched_status check_whole(const struct ppi_json_reader *r)
{
    const struct ppi_reading *reading = r->reading;
    if (r->devices != reading->devices)
        return ppi_fail(reading->error, PPSCHED_ERROR_SYNTAX, "the text has %u queues for %lld devices", reading->devices,
                        (long long)r->devices);
    if ((reading->map != NULL) != (reading->placement == PPSCHED_PLACEMENT_MAP))
        return ppi_fail(reading->error, PPSCHED_ERROR_SYNTAX,
                        "placement \"map\" and the list \"stage_devices\" need each other; the text has only one of them");
    if (reading->map != NULL && (int64_t)r->map_count != reading->said_stages)
        return ppi_fail(reading->error, PPSCHED_ERROR_SYNTAX, "stage_devices has %zu values for %lld stages", r->map_count,
                        (long long)reading->said_stages);
    return PPSCHED_OK;
}

/* Upper bound of the number of ops: one per string, and one more where it may be a pair. */
static size_t count_ops(const char *text, size_t size)
{
    size_t quotes = 0, pairs = 0;
    for (size_t i = 0; i < size; i++) {
        quotes += text[i] == '"';
        pairs += (size_t)(text[i] == ';' || text[i] == '\\'); /* an escape can be a ';' */
    }
    return quotes / 2 + pairs;
}

ppsched_status ppi_read_json(struct ppi_reading *reading, const char *data, size_t size)
{
    struct ppi_json_reader r = {.reading = reading};
    ppsched_status status = ppi_json_start(&r.json, data, size, reading->error);
    if (status == PPSCHED_OK)
        status = ppi_reading_reserve(reading, count_ops(data, size));
    if (status == PPSCHED_OK)
        status = ppi_json_object(&r.json, members, sizeof members / sizeof members[0], &r);
    if (status == PPSCHED_OK)
        status = ppi_json_finish(&r.json);
    return status == PPSCHED_OK ? check_whole(&r) : status;
}
