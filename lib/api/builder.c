/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: building a schedule op by op, and custom generators. The values of all ops are checked here. */
#include "ir/builder.h"

#include <string.h>

#include "api/log.h"
#include "api/null.h"
#include "base/utf8.h"
#include "check/check.h"
#include "ir/ports.h"

ppsched_status ppsched_builder_create(ppsched_builder **out, const ppsched_config *config, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    ppsched_status status = ppi_builder_create(out, config, PPSCHED_PLACEMENT_DEFAULT, "custom", error);
    if (status == PPSCHED_OK && config->weight_versions != 0)
        (*out)->weight_versions = config->weight_versions;
    return status;
}

void ppsched_builder_destroy(ppsched_builder *builder)
{
    ppi_builder_destroy(builder);
}

static bool leads_pair(const ppsched_op *op)
{
    return (op->flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
}

/* Checks the values of one op. `leader` is the op before it if the two are an overlapped pair, else NULL. */
static ppsched_status check_op(const ppsched_builder *builder, uint32_t device, size_t position, const ppsched_op *op,
                               const ppsched_op *leader, ppsched_error *error)
{
    struct ppi_place place = {device, op->stage, op->microbatch, (uint32_t)position};
    uint32_t microbatches = ppi_total_microbatches(&builder->shape);
    if (!ppi_kind_known(op->kind))
        return ppi_fail_at(error, PPSCHED_ERROR_ARGUMENT, place,
                           "device %u, position %zu: there is no kind %u; it must be 1 to %d", device, position,
                           (unsigned)op->kind, PPI_LAST_KIND);
    if ((op->flags & ~(PPSCHED_OP_FLAG_OVERLAPPED | PPSCHED_OP_FLAG_SLICED)) != 0)
        return ppi_fail_at(error, PPSCHED_ERROR_ARGUMENT, place, "device %u, position %zu: unknown flags", device, position);
    uint32_t slices = ppi_kind_has_microbatch(op->kind) ? builder->shape.slices : 1;
    if (op->slice >= slices && slices > 1)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "device %u, position %zu: slice is %u; it must be 0 to %u",
                           device, position, (unsigned)op->slice, slices - 1);
    if (op->slice >= slices)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "device %u, position %zu: slice is %u; it must be 0", device,
                           position, (unsigned)op->slice);
    if (op->stage >= builder->shape.stages)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "device %u, position %zu: stage is %u; it must be 0 to %u",
                           device, position, (unsigned)op->stage, builder->shape.stages - 1);
    if (ppi_kind_has_microbatch(op->kind) && op->microbatch >= microbatches)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "device %u, position %zu: microbatch is %u; it must be 0 to %u",
                           device, position, op->microbatch, microbatches - 1);
    if (!ppi_kind_has_microbatch(op->kind) && op->microbatch != PPSCHED_NONE)
        return ppi_fail_at(error, PPSCHED_ERROR_ARGUMENT, place,
                           "device %u, position %zu: %s has no microbatch; it must be PPSCHED_NONE", device, position,
                           ppi_kind_token(op->kind));
    if (leads_pair(op) && op->kind != PPSCHED_KIND_F)
        return ppi_fail_at(error, PPSCHED_ERROR_ARGUMENT, place,
                           "device %u, position %zu: %s cannot lead an overlapped pair; only F can", device, position,
                           ppi_kind_token(op->kind));
    if (leader != NULL && !ppi_is_backward(op->kind))
        return ppi_fail_at(error, PPSCHED_ERROR_ARGUMENT, place,
                           "device %u, position %zu: %s cannot end an overlapped pair; B or I can", device, position,
                           ppi_kind_token(op->kind));
    const char *refusal = ppi_refuse_place(builder->placement.graph, op);
    if (refusal != NULL)
        return ppi_fail_at(error, PPSCHED_ERROR_ARGUMENT, place, "device %u, position %zu: %s", device, position, refusal);
    return PPSCHED_OK;
}

/* Sets the SLICED flag of the last `count` ops of a device, whatever flags the caller set. */
static void mark_sliced(const ppsched_builder *builder, uint32_t device, size_t count)
{
    const struct ppi_segment *segment = &builder->segments[device];
    for (size_t i = segment->count - count; i < segment->count; i++) {
        bool is_sliced = builder->shape.slices > 1 && ppi_kind_has_microbatch(segment->ops[i].kind);
        segment->ops[i].flags &= PPSCHED_OP_FLAG_OVERLAPPED;
        segment->ops[i].flags |= is_sliced ? PPSCHED_OP_FLAG_SLICED : 0;
    }
}

ppsched_status ppsched_builder_append(ppsched_builder *builder, uint32_t device, const ppsched_op *ops, size_t count,
                                      ppsched_error *error)
{
    PPI_REQUIRE(builder);
    if (count > 0)
        PPI_REQUIRE(ops);
    if (device >= builder->shape.devices)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "device is %u; it must be 0 to %u", device, builder->shape.devices - 1);
    const struct ppi_segment *segment = &builder->segments[device];
    if (count > PPI_ELSEWHERE - 1 - segment->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "device %u: too many ops", device);
    const ppsched_op *before = segment->count > 0 ? &segment->ops[segment->count - 1] : NULL;
    for (size_t i = 0; i < count; i++) {
        const ppsched_op *leader = before != NULL && leads_pair(before) ? before : NULL;
        ppsched_status status = check_op(builder, device, segment->count + i, &ops[i], leader, error);
        if (status != PPSCHED_OK)
            return status;
        before = &ops[i];
    }
    ppsched_status status = ppi_builder_append(builder, device, ops, count, error);
    if (status == PPSCHED_OK)
        mark_sliced(builder, device, count);
    return status;
}

ppsched_status ppsched_builder_set_name(ppsched_builder *builder, const char *name, ppsched_error *error)
{
    PPI_REQUIRE(builder);
    PPI_REQUIRE(name);
    size_t size = strlen(name), broken = ppi_find_broken_utf8(name, size);
    if (broken < size)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the name is not UTF-8 from byte %zu on", broken);
    char *copy = ppi_copy_text(&builder->host, name);
    if (copy == NULL)
        return ppi_fail_memory(error, "the name");
    ppi_release(&builder->host, builder->name);
    builder->name = copy;
    return PPSCHED_OK;
}

ppsched_status ppsched_builder_set_flushes(ppsched_builder *builder, uint32_t flushes, ppsched_error *error)
{
    PPI_REQUIRE(builder);
    if (flushes > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "flushes is %u; it must be 0 or 1", flushes);
    builder->flushes = flushes != 0;
    return PPSCHED_OK;
}

ppsched_status ppsched_builder_set_weight_versions(ppsched_builder *builder, int64_t versions, ppsched_error *error)
{
    PPI_REQUIRE(builder);
    if (versions < 1 || versions > PPI_MOST_VERSIONS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "weight_versions is %lld; it must be 1 to %d", (long long)versions,
                        PPI_MOST_VERSIONS);
    builder->weight_versions = (uint32_t)versions;
    return PPSCHED_OK;
}

static ppsched_status finish(ppsched_schedule **out, ppsched_builder *builder, ppsched_error *error)
{
    for (uint32_t d = 0; d < builder->shape.devices; d++) {
        const struct ppi_segment *segment = &builder->segments[d];
        if (segment->count > 0 && leads_pair(&segment->ops[segment->count - 1]))
            return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE,
                               (struct ppi_place){d, PPSCHED_NONE, PPSCHED_NONE, (uint32_t)segment->count - 1},
                               "device %u: the last op leads an overlapped pair, but no op follows it", d);
    }
    return ppi_builder_finish(out, builder, error);
}

ppsched_status ppsched_builder_finish(ppsched_schedule **out, ppsched_builder *builder, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(builder);
    ppsched_status status = finish(out, builder, error);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "built");
    return status;
}

static ppsched_status check_custom(const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_findings findings = {0};
    return ppi_check(schedule, &findings, error);
}

ppsched_status ppsched_schedule_generate_with(ppsched_schedule **out, const ppsched_config *config, const char *name,
                                              ppsched_generate_function generate, void *user, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(generate);
    ppsched_status status = ppsched_builder_create(&builder, config, error);
    if (status == PPSCHED_OK && name != NULL)
        status = ppsched_builder_set_name(builder, name, error);
    if (status == PPSCHED_OK) {
        ppsched_status result = generate(user, config, builder);
        if (result != PPSCHED_OK)
            status = ppi_fail(error, PPSCHED_ERROR_CALLBACK, "the generator failed with status %d (%s)", result,
                              ppsched_status_text(result));
    }
    if (status == PPSCHED_OK)
        status = finish(&schedule, builder, error);
    ppsched_builder_destroy(builder);
    if (status == PPSCHED_OK)
        status = check_custom(schedule, error);
    if (status != PPSCHED_OK) {
        ppi_schedule_release(schedule);
        return status;
    }
    *out = schedule;
    ppi_log_schedule(schedule, "built");
    return status;
}
