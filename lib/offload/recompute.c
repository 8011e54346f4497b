/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a RECOMPUTE before the backward of each stage pass that is recomputed. */
#include "base/error.h"
#include "ir/builder.h"
#include "offload/offload.h"

/* Marks so many stages of each device, the lowest first, 0 for all: one byte per stage instance of the placement. */
static ppsched_status mark_chunks(uint8_t **out, const ppsched_schedule *schedule, uint32_t chunks, ppsched_error *error)
{
    const struct ppi_placement *placement = &schedule->placement;
    uint32_t stages = schedule->shape.stages;
    uint8_t *marks = ppi_allocate_zeroed(&schedule->host, (size_t)placement->copies * stages, sizeof *marks);
    uint32_t *count = ppi_allocate_zeroed(&schedule->host, schedule->shape.devices, sizeof *count);
    if (marks == NULL || count == NULL) {
        ppi_release(&schedule->host, marks);
        ppi_release(&schedule->host, count);
        return ppi_fail_memory(error, "the marks");
    }
    for (uint32_t s = 0; s < stages; s++)
        for (uint32_t copy = 0; copy < placement->copies; copy++) {
            size_t instance = (size_t)copy * stages + s;
            marks[instance] = chunks == 0 || count[placement->device_of[instance]]++ < chunks;
        }
    ppi_release(&schedule->host, count);
    *out = marks;
    return PPSCHED_OK;
}

ppsched_status ppi_require_whole(const ppsched_schedule *schedule, bool recomputes, ppsched_error *error)
{
    if (ppi_is_forward_only(schedule))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "the schedule has no backward, so no activation can be recomputed or offloaded");
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            const ppsched_op *op = &schedule->queues[d].ops[i];
            if (ppi_keeps_less(op->kind) && !(recomputes && op->kind == PPSCHED_KIND_RECOMPUTE))
                return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){d, op->stage, op->microbatch, (uint32_t)i},
                                   "device %u has %s at position %zu: the schedule has recomputation or offload already", d,
                                   ppi_kind_token(op->kind), i);
        }
    return PPSCHED_OK;
}

static ppsched_status put_unit(ppsched_builder *builder, const ppsched_schedule *schedule, uint32_t device,
                               const ppsched_op *unit, const uint8_t *marks, ppsched_error *error)
{
    size_t length = ppi_unit_length(unit);
    ppsched_op recompute = unit[length - 1];
    ppsched_status status = PPSCHED_OK;
    if (ppi_is_backward(recompute.kind) && marks[ppi_keep_instance(schedule, &recompute)]) {
        recompute.kind = PPSCHED_KIND_RECOMPUTE;
        recompute.flags &= PPSCHED_OP_FLAG_SLICED;
        status = ppi_builder_append(builder, device, &recompute, 1, error);
    }
    return status == PPSCHED_OK ? ppi_builder_append(builder, device, unit, length, error) : status;
}

static ppsched_status put_marked(ppsched_builder *builder, const ppsched_schedule *schedule, const uint8_t *marks,
                                 ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        for (size_t i = 0; i < queue->count && status == PPSCHED_OK; i += ppi_unit_length(&queue->ops[i]))
            status = put_unit(builder, schedule, d, &queue->ops[i], marks, error);
    }
    return status;
}

ppsched_status ppi_recompute(ppsched_schedule **out, const ppsched_schedule *schedule, uint32_t chunks, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    uint8_t *marks = NULL;
    ppsched_status status = ppi_require_whole(schedule, false, error);
    if (status == PPSCHED_OK)
        status = mark_chunks(&marks, schedule, chunks, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_like(&builder, schedule, error);
    if (status == PPSCHED_OK)
        status = put_marked(builder, schedule, marks, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    ppi_release(&schedule->host, marks);
    return status;
}
