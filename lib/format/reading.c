/* SPDX-License-Identifier: Apache-2.0 */
/* Collects ops in one array, device by device; at the end sizes, slices and placement are derived and checked, and the array
 * becomes the schedule's. */
#include "format/reading.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "format/placement.h"
#include "ir/builder.h"
#include "ir/ports.h"

/* A complete schedule has at least two ops per stage pass. A text with less than one op for 16 stage passes is refused, as it
 * would only make the reader allocate; up to 4096 stage passes it is not, so that the checker can report what is missing. */
enum { PASSES_PER_OP = 16, PASSES_FOR_ALL = 4096 };

void ppi_reading_start(struct ppi_reading *reading, const struct ppi_host *host, ppsched_error *error)
{
    *reading = (struct ppi_reading){.host = *host, .error = error, .slices = 1, .flushes = true, .weight_versions = 1};
}

void ppi_reading_clear(struct ppi_reading *reading)
{
    ppi_release(&reading->host, reading->ops);
    ppi_release(&reading->host, reading->ends);
    ppi_release(&reading->host, reading->name);
    ppi_release(&reading->host, reading->map);
    ppi_release(&reading->host, reading->sets.counts);
    ppi_release(&reading->host, reading->sets.values);
    ppi_release(&reading->host, reading->inputs.counts);
    ppi_release(&reading->host, reading->inputs.values);
    ppi_release(&reading->host, reading->runs.counts);
    ppi_release(&reading->host, reading->runs.values);
    ppi_release(&reading->host, reading->passes);
}

ppsched_status ppi_reading_reserve(struct ppi_reading *reading, size_t count)
{
    reading->ops = ppi_allocate(&reading->host, count, sizeof *reading->ops);
    reading->capacity = count;
    return reading->ops != NULL ? PPSCHED_OK : ppi_fail_memory(reading->error, "the ops");
}

static bool grow_ends(struct ppi_reading *reading)
{
    uint32_t capacity = reading->device_capacity * 2 + 16;
    size_t *grown = ppi_allocate(&reading->host, capacity, sizeof *grown);
    if (grown == NULL)
        return false;
    if (reading->devices > 0)
        memcpy(grown, reading->ends, reading->devices * sizeof *grown);
    ppi_release(&reading->host, reading->ends);
    reading->ends = grown;
    reading->device_capacity = capacity;
    return true;
}

size_t ppi_reading_device_count(const struct ppi_reading *reading)
{
    return reading->count - ppi_reading_first(reading, reading->devices);
}

ppsched_status ppi_reading_end_device(struct ppi_reading *reading)
{
    if (reading->devices == PPSCHED_MAX_STAGES)
        return ppi_fail(reading->error, PPSCHED_ERROR_RANGE, "there are more than %d device%p", PPSCHED_MAX_STAGES);
    if (ppi_reading_device_count(reading) >= PPSCHED_NONE - 1)
        return ppi_fail(reading->error, PPSCHED_ERROR_RANGE, "device %u: too many ops", reading->devices);
    if (reading->devices == reading->device_capacity && !grow_ends(reading))
        return ppi_fail_memory(reading->error, "the devices");
    reading->ends[reading->devices++] = reading->count;
    return PPSCHED_OK;
}

/* Refuses an op whose stage or microbatch exceeds the sizes in the text. */
static ppsched_status refuse_op_beyond(const struct ppi_reading *reading, const struct ppi_shape *shape)
{
    char token[PPI_TOKEN_SIZE];
    uint32_t microbatches = ppi_total_microbatches(shape), device = 0;
    size_t i = 0;
    while (reading->ops[i].stage < shape->stages &&
           (reading->ops[i].microbatch == PPSCHED_NONE || reading->ops[i].microbatch < microbatches))
        i++;
    while (reading->ends[device] <= i)
        device++;
    ppi_op_token(token, &reading->ops[i]);
    size_t position = i - ppi_reading_first(reading, device);
    struct ppi_place place = {device, reading->ops[i].stage, reading->ops[i].microbatch, (uint32_t)position};
    return ppi_fail_at(reading->error, PPSCHED_ERROR_RANGE, place,
                       "device %u, op %zu: %s is out of range; the text has %u stage%p and %u microbatch%p in all", device,
                       position, token, shape->stages, microbatches);
}

/* Whether an op's slice is within the number of slices in the text. */
static bool has_its_slice(const ppsched_op *op, uint32_t slices)
{
    if (slices == 1 || !ppi_kind_has_microbatch(op->kind))
        return (op->flags & PPSCHED_OP_FLAG_SLICED) == 0;
    return (op->flags & PPSCHED_OP_FLAG_SLICED) != 0 && op->slice < slices;
}

static ppsched_status check_slices(const struct ppi_reading *reading, uint32_t slices)
{
    char token[PPI_TOKEN_SIZE];
    size_t i = 0;
    uint32_t device = 0;
    bool are_whole = slices == 1 && !reading->has_slices;
    while (!are_whole && i < reading->count && has_its_slice(&reading->ops[i], slices))
        i++;
    if (are_whole || i == reading->count)
        return PPSCHED_OK;
    while (reading->ends[device] <= i)
        device++;
    ppi_op_token(token, &reading->ops[i]);
    size_t position = i - ppi_reading_first(reading, device);
    struct ppi_place place = {device, reading->ops[i].stage, reading->ops[i].microbatch, (uint32_t)position};
    if (slices == 1)
        return ppi_fail_at(reading->error, PPSCHED_ERROR_RANGE, place,
                           "device %u, op %zu: %s has a slice, but the text has no \"slices\"", device, position, token);
    return ppi_fail_at(reading->error, PPSCHED_ERROR_RANGE, place,
                       "device %u, op %zu: %s needs the number of one of the text's %u slice%p, 0 to %u", device, position,
                       token, slices, slices - 1);
}

/* The sizes: as the text says, else from the tokens. */
static ppsched_status make_shape(struct ppi_shape *shape, const struct ppi_reading *reading)
{
    int64_t stages = reading->said_stages != 0 ? reading->said_stages : reading->stages;
    int64_t microbatches = reading->said_microbatches != 0 ? reading->said_microbatches : reading->microbatches;
    int64_t iterations = reading->iterations != 0 ? reading->iterations : 1;
    if (microbatches == 0)
        return ppi_fail(reading->error, PPSCHED_ERROR_RANGE,
                        "no op of the text has a microbatch; a schedule has F and B, or F, I and W");
    ppsched_status status = ppi_shape_make(shape, reading->devices, stages, microbatches, iterations, reading->error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(shape, reading->slices, reading->error);
    if (status == PPSCHED_OK)
        status = check_slices(reading, shape->slices);
    if (status != PPSCHED_OK)
        return status;
    if (reading->stages > shape->stages || reading->microbatches > ppi_total_microbatches(shape))
        return refuse_op_beyond(reading, shape);
    size_t passes = (size_t)shape->stages * ppi_total_micro_slices(shape);
    if (passes <= PASSES_FOR_ALL || (passes - PASSES_FOR_ALL) / PASSES_PER_OP <= reading->count)
        return PPSCHED_OK;
    return ppi_fail(reading->error, PPSCHED_ERROR_RANGE,
                    "%u stage%p and %u microbatch%p need %zu op%p or more, but the text has %zu: too few for these sizes",
                    shape->stages, ppi_total_microbatches(shape), 2 * passes, reading->count);
}

/* Finds the placement, then the iterations. */
static ppsched_status place(struct ppi_shape *shape, struct ppi_reading *reading)
{
    if (reading->placement != PPSCHED_PLACEMENT_DEFAULT)
        return PPSCHED_OK;
    struct ppi_shape whole = *shape;
    whole.microbatches = ppi_total_microbatches(shape);
    whole.iterations = 1;
    ppsched_status status = ppi_find_placement(reading, &whole);
    if (status != PPSCHED_OK || reading->said_microbatches != 0)
        return status;
    shape->iterations = reading->iterations != 0 ? (uint32_t)reading->iterations : 1;
    shape->microbatches = whole.microbatches / shape->iterations;
    return PPSCHED_OK;
}

/* Frees memory reserved for ops that were not read. */
static ppsched_status trim(struct ppi_reading *reading)
{
    if (reading->capacity - reading->count <= reading->count / 8)
        return PPSCHED_OK;
    ppsched_op *ops = ppi_allocate(&reading->host, reading->count, sizeof *ops);
    if (ops == NULL)
        return ppi_fail_memory(reading->error, "the ops");
    if (reading->count > 0)
        memcpy(ops, reading->ops, reading->count * sizeof *ops);
    ppi_release(&reading->host, reading->ops);
    reading->ops = ops;
    reading->capacity = reading->count;
    return PPSCHED_OK;
}

static ppsched_status build(ppsched_schedule **out, struct ppi_reading *reading, const ppsched_config *config)
{
    ppsched_builder *builder = NULL;
    const char *name = reading->name != NULL ? reading->name : "custom";
    ppsched_status status = ppi_builder_create(&builder, config, PPSCHED_PLACEMENT_DEFAULT, name, reading->error);
    if (status != PPSCHED_OK)
        return status;
    builder->flushes = reading->flushes;
    builder->weight_versions = reading->weight_versions;
    ppi_builder_adopt(builder, reading->ops, reading->ends);
    reading->ops = NULL;
    status = ppi_builder_finish(out, builder, reading->error);
    ppi_builder_destroy(builder);
    return status;
}

/* The devices of each stage: a map, unless a stage has several. */
static ppsched_status set_devices(ppsched_config *config, const struct ppi_stage_lists *sets, ppsched_error *error)
{
    bool has_several = false;
    for (uint32_t s = 0; s < sets->stages; s++)
        has_several |= sets->counts[s] != 1;
    if (has_several)
        return ppi_config_set_stage_devices(config, sets->counts, sets->values, sets->stages, error);
    return ppi_config_set_placement(config, PPSCHED_PLACEMENT_MAP, sets->values, sets->stages, error);
}

/* The stage graph, and the devices of each stage for a map. */
static ppsched_status set_graph(ppsched_config *config, const struct ppi_reading *reading)
{
    const struct ppi_stage_lists *sets = &reading->sets, *inputs = &reading->inputs, *runs = &reading->runs;
    ppsched_status status = PPSCHED_OK;
    if (sets->counts != NULL)
        status = set_devices(config, sets, reading->error);
    if (status == PPSCHED_OK && inputs->counts != NULL)
        status = ppi_config_set_stage_inputs(config, inputs->counts, inputs->values, inputs->stages, reading->error);
    if (status == PPSCHED_OK && reading->passes != NULL)
        status = ppi_config_set_stage_passes(config, reading->passes, reading->passes_count, reading->error);
    const uint32_t *run = runs->values;
    for (uint32_t s = 0; s < runs->stages && status == PPSCHED_OK; run += runs->counts[s++])
        if (runs->counts[s] > 0)
            status = ppi_config_set_stage_microbatches(config, s, run, runs->counts[s], reading->error);
    return status;
}

/* Checks the places that sends and receives name. */
static ppsched_status check_places(const struct ppi_reading *reading, const struct ppi_stage_graph *graph)
{
    char token[PPI_TOKEN_SIZE];
    uint32_t device = 0;
    if (graph == NULL && !reading->has_places)
        return PPSCHED_OK;
    for (size_t i = 0; i < reading->count; i++) {
        const char *reason = ppi_refuse_place(graph, &reading->ops[i]);
        while (reading->ends[device] <= i)
            device++;
        if (reason == NULL)
            continue;
        size_t position = i - ppi_reading_first(reading, device);
        ppi_op_token(token, &reading->ops[i]);
        return ppi_fail_at(reading->error, PPSCHED_ERROR_SYNTAX,
                           (struct ppi_place){device, reading->ops[i].stage, reading->ops[i].microbatch, (uint32_t)position},
                           "device %u, op %zu: %s: %s", device, position, token, reason);
    }
    return PPSCHED_OK;
}

ppsched_status ppi_reading_finish(ppsched_schedule **out, struct ppi_reading *reading)
{
    struct ppi_shape shape = {0};
    ppsched_config *config = NULL;
    ppsched_status status = make_shape(&shape, reading);
    if (status == PPSCHED_OK)
        status = place(&shape, reading);
    if (status == PPSCHED_OK)
        status = trim(reading);
    if (status == PPSCHED_OK)
        status = ppi_config_create(&config, &shape, &reading->host, reading->error);
    if (status == PPSCHED_OK && reading->sets.counts == NULL)
        status = ppi_config_set_placement(config, reading->placement, reading->map, shape.stages, reading->error);
    if (status == PPSCHED_OK)
        status = set_graph(config, reading);
    if (status == PPSCHED_OK)
        status = check_places(reading, config->graph);
    if (status == PPSCHED_OK)
        status = build(out, reading, config);
    ppi_config_destroy(config);
    return status;
}
