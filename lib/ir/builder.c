/* SPDX-License-Identifier: Apache-2.0 */
/* A segment per device grows by doubling, or lies in one reserved block; finish moves all ops into one array. */
#include "ir/builder.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/stage_graph.h"

/* Takes ownership of the placement's table, also on failure. */
static ppsched_status make(ppsched_builder **out, const struct ppi_host *host, const struct ppi_shape *shape,
                           struct ppi_placement *placement, const char *name, ppsched_error *error)
{
    ppsched_builder *builder = ppi_allocate_zeroed(host, 1, sizeof *builder);
    struct ppi_segment *segments = ppi_allocate_zeroed(host, shape->devices, sizeof *segments);
    char *name_copy = ppi_copy_text(host, name);
    if (builder == NULL || segments == NULL || name_copy == NULL) {
        ppi_release(host, builder);
        ppi_release(host, segments);
        ppi_release(host, name_copy);
        ppi_placement_clear(placement, host);
        return ppi_fail_memory(error, "the builder");
    }
    builder->host = *host;
    builder->shape = *shape;
    builder->placement = *placement;
    builder->flushes = true;
    builder->weight_versions = 1;
    builder->name = name_copy;
    builder->segments = segments;
    *out = builder;
    return PPSCHED_OK;
}

ppsched_status ppi_builder_create(ppsched_builder **out, const ppsched_config *config, int32_t placement, const char *name,
                                  ppsched_error *error)
{
    struct ppi_placement place = {0};
    ppsched_status status = ppi_config_place(&place, config, placement, error);
    return status == PPSCHED_OK ? make(out, &config->host, &config->shape, &place, name, error) : status;
}

ppsched_status ppi_builder_like(ppsched_builder **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_placement place = schedule->placement;
    size_t size = (size_t)place.copies * schedule->shape.stages;
    place.device_of = ppi_allocate(&schedule->host, size, sizeof *place.device_of);
    if (place.device_of == NULL)
        return ppi_fail_memory(error, "the builder");
    memcpy(place.device_of, schedule->placement.device_of, size * sizeof *place.device_of);
    place.graph = ppi_stage_graph_retain(place.graph);
    ppsched_status status = make(out, &schedule->host, &schedule->shape, &place, schedule->name, error);
    if (status != PPSCHED_OK)
        return status;
    (*out)->flushes = schedule->flushes;
    (*out)->weight_versions = schedule->weight_versions;
    return PPSCHED_OK;
}

static void clear_segments(ppsched_builder *builder)
{
    for (uint32_t d = 0; d < builder->shape.devices; d++) {
        if (builder->block == NULL)
            ppi_release(&builder->host, builder->segments[d].ops);
        builder->segments[d] = (struct ppi_segment){0};
    }
    ppi_release(&builder->host, builder->block);
    builder->block = NULL;
}

void ppi_builder_destroy(ppsched_builder *builder)
{
    if (builder == NULL)
        return;
    struct ppi_host host = builder->host;
    clear_segments(builder);
    ppi_release(&host, builder->segments);
    ppi_placement_clear(&builder->placement, &host);
    ppi_release(&host, builder->name);
    ppi_release(&host, builder);
}

ppsched_status ppi_builder_reserve(ppsched_builder *builder, size_t count, ppsched_error *error)
{
    size_t total = 0;
    if (ppi_mul_size(&total, count, builder->shape.devices))
        builder->block = ppi_allocate(&builder->host, total, sizeof *builder->block);
    if (builder->block == NULL)
        return ppi_fail_memory(error, "the ops");
    for (uint32_t d = 0; d < builder->shape.devices; d++)
        builder->segments[d] = (struct ppi_segment){builder->block + d * count, 0, count};
    return PPSCHED_OK;
}

static bool grow(const ppsched_builder *builder, struct ppi_segment *segment, size_t count)
{
    size_t needed = 0;
    if (!ppi_add_size(&needed, segment->count, count))
        return false;
    if (needed <= segment->capacity)
        return true;
    size_t capacity = segment->capacity < SIZE_MAX / 4 ? segment->capacity * 2 + 16 : needed;
    if (capacity < needed)
        capacity = needed;
    ppsched_op *grown = ppi_allocate(&builder->host, capacity, sizeof *grown);
    if (grown == NULL)
        return false;
    if (segment->count > 0)
        memcpy(grown, segment->ops, segment->count * sizeof *grown);
    ppi_release(&builder->host, segment->ops);
    segment->ops = grown;
    segment->capacity = capacity;
    return true;
}

ppsched_status ppi_builder_append(ppsched_builder *builder, uint32_t device, const ppsched_op *ops, size_t count,
                                  ppsched_error *error)
{
    struct ppi_segment *segment = &builder->segments[device];
    if (!grow(builder, segment, count))
        return ppi_fail_memory(error, "the ops");
    if (count > 0)
        memcpy(segment->ops + segment->count, ops, count * sizeof *ops);
    segment->count += count;
    return PPSCHED_OK;
}

void ppi_builder_adopt(ppsched_builder *builder, ppsched_op *ops, const size_t *ends)
{
    size_t first = 0;
    builder->block = ops;
    for (uint32_t d = 0; d < builder->shape.devices; d++) {
        builder->segments[d] = (struct ppi_segment){ops + first, ends[d] - first, ends[d] - first};
        first = ends[d];
    }
}

static size_t total_count(const ppsched_builder *builder)
{
    size_t total = 0;
    for (uint32_t d = 0; d < builder->shape.devices; d++)
        total += builder->segments[d].count;
    return total;
}

/* All ops in one array: the block, without its gaps, or a new array. The builder's counts are unchanged. */
static ppsched_op *gather(const ppsched_builder *builder)
{
    ppsched_op *ops = builder->block;
    size_t filled = 0;
    if (ops == NULL)
        ops = ppi_allocate(&builder->host, total_count(builder), sizeof *ops);
    for (uint32_t d = 0; d < builder->shape.devices && ops != NULL; d++) {
        const struct ppi_segment *segment = &builder->segments[d];
        if (segment->count > 0 && segment->ops != ops + filled)
            memmove(ops + filled, segment->ops, segment->count * sizeof *ops);
        filled += segment->count;
    }
    return ops;
}

/* Moves everything into `schedule`; cannot fail. */
static void hand_over(ppsched_schedule *schedule, ppsched_builder *builder, ppsched_op *ops)
{
    size_t first = 0;
    schedule->ops = ops;
    for (uint32_t d = 0; d < builder->shape.devices; d++) {
        schedule->queues[d] = (struct ppsched_queue){ops + first, builder->segments[d].count, first, d};
        first += builder->segments[d].count;
    }
    schedule->op_count = first;
    if (builder->block == NULL) {
        clear_segments(builder);
        return;
    }
    builder->block = NULL; /* the schedule owns it now, with the segments in it */
    memset(builder->segments, 0, builder->shape.devices * sizeof *builder->segments);
}

static uint32_t *copy_placement(const ppsched_builder *builder)
{
    size_t count = (size_t)builder->placement.copies * builder->shape.stages;
    uint32_t *copy = ppi_allocate(&builder->host, count, sizeof *copy);
    if (copy != NULL)
        memcpy(copy, builder->placement.device_of, count * sizeof *copy);
    return copy;
}

ppsched_status ppi_builder_finish(ppsched_schedule **out, ppsched_builder *builder, ppsched_error *error)
{
    const struct ppi_host *host = &builder->host;
    ppsched_schedule *schedule = ppi_allocate_zeroed(host, 1, sizeof *schedule);
    if (schedule == NULL)
        return ppi_fail_memory(error, "the schedule");
    schedule->self = schedule;
    schedule->host = *host;
    atomic_init(&schedule->references, 1);
    atomic_init(&schedule->is_sound, false);
    atomic_init(&schedule->kinds, 0);
    for (int exact = 0; exact < 2; exact++) {
        atomic_init(&schedule->run_by[exact], 0);
        atomic_init(&schedule->refused_by[exact], 0);
    }
    schedule->shape = builder->shape;
    schedule->micro_slices = ppi_total_micro_slices(&builder->shape);
    schedule->placement = builder->placement;
    schedule->placement.device_of = copy_placement(builder);
    schedule->placement.graph = ppi_stage_graph_retain(builder->placement.graph);
    schedule->flushes = builder->flushes;
    schedule->weight_versions = builder->weight_versions;
    schedule->name = ppi_copy_text(host, builder->name);
    schedule->queues = ppi_allocate(host, builder->shape.devices, sizeof *schedule->queues);
    ppsched_op *ops = NULL;
    if (schedule->placement.device_of != NULL && schedule->name != NULL && schedule->queues != NULL)
        ops = gather(builder);
    if (ops == NULL) {
        ppi_schedule_release(schedule);
        return ppi_fail_memory(error, "the schedule");
    }
    hand_over(schedule, builder, ops);
    *out = schedule;
    return PPSCHED_OK;
}

struct ppi_op_writer ppi_op_writer_open(const ppsched_builder *builder, uint32_t device)
{
    const struct ppi_segment *segment = &builder->segments[device];
    return (struct ppi_op_writer){segment->ops + segment->count, segment->ops + segment->capacity, 0, builder->shape.slices};
}

void ppi_op_writer_close(ppsched_builder *builder, uint32_t device, const struct ppi_op_writer *writer)
{
    builder->segments[device].count = (size_t)(writer->next - builder->segments[device].ops);
}
