/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON object that the library writes. Keys may come in any order; sizes and placement are checked together when all
 * are known. */
#include <string.h>

#include "base/error.h"
#include "format/json_reader.h"
#include "ir/config.h"
#include "ir/stage_graph.h"

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

/* Memory for a list: as many values as the rest of the text can have. */
static uint32_t *take_list(struct ppi_json_reader *r)
{
    return ppi_allocate(&r->reading->host, (size_t)(r->json.end - r->json.next) / 2 + 2, sizeof(uint32_t));
}

static ppsched_status read_stage_number(struct ppi_json_reader *r, struct ppi_stage_lists *lists)
{
    int64_t value = 0;
    ppsched_status status = ppi_read_count(r, 0, PPSCHED_MAX_CELLS, &value);
    lists->values[lists->total++] = (uint32_t)value;
    lists->counts[lists->stages]++;
    return status;
}

/* The list of one stage: an array, a number alone, or null for none. */
static ppsched_status read_list(struct ppi_json_reader *r, struct ppi_stage_lists *lists, bool may_be_null)
{
    struct ppi_json_list list;
    bool more = false;
    lists->counts[lists->stages] = 0;
    if (may_be_null && ppi_json_peek(&r->json) == 'n')
        return ppi_json_skip(&r->json);
    if (!may_be_null && ppi_json_peek(&r->json) != '[')
        return read_stage_number(r, lists);
    const char *at = r->json.next;
    ppsched_status status = ppi_json_open(&r->json, '[', &list);
    if (status == PPSCHED_OK)
        status = ppi_json_more(&r->json, &list, &more);
    while (status == PPSCHED_OK && more) {
        status = read_stage_number(r, lists);
        if (status == PPSCHED_OK)
            status = ppi_json_more(&r->json, &list, &more);
    }
    if (status == PPSCHED_OK && may_be_null && lists->counts[lists->stages] == 0)
        return ppi_json_fail(&r->json, at, "a stage runs at least one microbatch");
    return status;
}

static ppsched_status read_lists(struct ppi_json_reader *r, struct ppi_stage_lists *lists, bool may_be_null)
{
    struct ppi_json_list list;
    bool more = false;
    ppsched_status status = ppi_json_open(&r->json, '[', &list);
    lists->counts = take_list(r);
    lists->values = take_list(r);
    if (lists->counts == NULL || lists->values == NULL)
        return ppi_fail_memory(r->json.error, "the stage graph");
    if (status == PPSCHED_OK)
        status = ppi_json_more(&r->json, &list, &more);
    while (status == PPSCHED_OK && more) {
        status = read_list(r, lists, may_be_null);
        if (lists->stages++ == PPSCHED_MAX_STAGES)
            return ppi_json_fail(&r->json, r->json.next, "there are more values than there can be stages");
        if (status == PPSCHED_OK)
            status = ppi_json_more(&r->json, &list, &more);
    }
    return status;
}

static ppsched_status read_map(void *user)
{
    struct ppi_json_reader *r = user;
    return read_lists(r, &r->reading->sets, false);
}

static ppsched_status read_inputs(void *user)
{
    struct ppi_json_reader *r = user;
    return read_lists(r, &r->reading->inputs, false);
}

static ppsched_status read_runs(void *user)
{
    struct ppi_json_reader *r = user;
    return read_lists(r, &r->reading->runs, true);
}

static ppsched_status read_pass(struct ppi_json_reader *r, int32_t *pass)
{
    struct ppi_json_string string;
    ppsched_status status = ppi_json_string(&r->json, &string);
    if (status != PPSCHED_OK)
        return status;
    for (*pass = PPSCHED_STAGE_PASSES_FORWARD_BACKWARD; *pass <= PPSCHED_STAGE_PASSES_FORWARD; ++*pass)
        if (ppi_json_equals(&string, ppi_stage_passes_name(*pass)))
            return PPSCHED_OK;
    return ppi_json_fail(&r->json, string.text, "the passes of a stage are FB, FI or F");
}

static ppsched_status read_passes(void *user)
{
    struct ppi_json_reader *r = user;
    struct ppi_json_list list;
    bool more = false;
    ppsched_status status = ppi_json_open(&r->json, '[', &list);
    r->reading->passes = (int32_t *)(void *)take_list(r);
    if (r->reading->passes == NULL)
        return ppi_fail_memory(r->json.error, "the stage graph");
    if (status == PPSCHED_OK)
        status = ppi_json_more(&r->json, &list, &more);
    while (status == PPSCHED_OK && more) {
        status = read_pass(r, &r->reading->passes[r->reading->passes_count++]);
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
    {"stage_inputs", read_inputs, false},
    {"stage_passes", read_passes, false},
    {"stage_microbatches", read_runs, false},
};

/* Checks the values of all keys together. */
static ppsched_status check_whole(const struct ppi_json_reader *r)
{
    const struct ppi_reading *reading = r->reading;
    if (r->devices != reading->devices)
        return ppi_fail(reading->error, PPSCHED_ERROR_SYNTAX, "the text has %u queue%p for %lld device%p", reading->devices,
                        (long long)r->devices);
    if ((reading->sets.counts != NULL) != (reading->placement == PPSCHED_PLACEMENT_MAP))
        return ppi_fail(reading->error, PPSCHED_ERROR_SYNTAX,
                        "placement \"map\" and the list \"stage_devices\" need each other; the text has only one of them");
    const struct {
        const char *name;
        size_t count;
        bool is_there;
    } lists[] = {{"stage_devices", reading->sets.stages, reading->sets.counts != NULL},
                 {"stage_inputs", reading->inputs.stages, reading->inputs.counts != NULL},
                 {"stage_passes", reading->passes_count, reading->passes != NULL},
                 {"stage_microbatches", reading->runs.stages, reading->runs.counts != NULL}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (lists[i].is_there && (int64_t)lists[i].count != reading->said_stages)
            return ppi_fail(reading->error, PPSCHED_ERROR_SYNTAX, "%s has %zu value%p for %lld stage%p", lists[i].name,
                            lists[i].count, (long long)reading->said_stages);
    return PPSCHED_OK;
}

/* Upper bound of the number of ops: one per string, and one more where it may be a pair. */
static size_t count_json_ops(const char *text, size_t size)
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
        status = ppi_reading_reserve(reading, count_json_ops(data, size));
    if (status == PPSCHED_OK)
        status = ppi_json_object(&r.json, members, sizeof members / sizeof members[0], &r);
    if (status == PPSCHED_OK)
        status = ppi_json_finish(&r.json);
    return status == PPSCHED_OK ? check_whole(&r) : status;
}
