/* SPDX-License-Identifier: Apache-2.0 */
/* Adds REDUCE_GRADs: a stage's follows the op that makes its last weight gradient of an iteration. */
#include "base/error.h"
#include "lower/passes.h"

/* The op of a unit that makes a weight gradient, or NULL; the second op of a pair is its backward. */
static const ppsched_op *weight_of(const ppsched_op *unit)
{
    const ppsched_op *op = &unit[ppi_unit_length(unit) - 1];
    return op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_W ? op : NULL;
}

/* Number of micro-slices of an iteration that a model copy runs. */
static uint32_t share(const ppsched_schedule *schedule, uint32_t copy)
{
    uint32_t all = schedule->shape.microbatches, own = all;
    if (schedule->placement.copies > 1)
        own = copy == 1 ? all / 2 : all - all / 2;
    return own * schedule->shape.slices;
}

/* `made` counts the weight gradients, by iteration, copy and stage. */
static ppsched_status reduce_device(ppsched_builder *out, const ppsched_schedule *schedule, uint32_t device, uint32_t *made,
                                    ppsched_error *error)
{
    const ppsched_queue *queue = &schedule->queues[device];
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < queue->count && status == PPSCHED_OK; i += ppi_unit_length(&queue->ops[i])) {
        const ppsched_op *unit = &queue->ops[i], *weight = weight_of(unit);
        status = ppi_builder_append(out, device, unit, ppi_unit_length(unit), error);
        if (status != PPSCHED_OK || weight == NULL)
            continue;
        uint32_t copy = ppi_copy_of(&schedule->placement, &schedule->shape, weight->microbatch);
        size_t instance = (size_t)(weight->microbatch / schedule->shape.microbatches) * schedule->placement.copies + copy;
        if (++made[instance * schedule->shape.stages + weight->stage] < share(schedule, copy))
            continue;
        ppsched_op reduce = {.microbatch = PPSCHED_NONE, .stage = weight->stage, .kind = PPSCHED_KIND_REDUCE_GRAD};
        status = ppi_builder_append(out, device, &reduce, 1, error);
    }
    return status;
}

ppsched_status ppi_reduce_gradients(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    size_t instances = (size_t)schedule->shape.iterations * schedule->placement.copies;
    uint32_t *made = ppi_allocate_zeroed(&schedule->host, instances * schedule->shape.stages, sizeof *made);
    if (made == NULL)
        return ppi_fail_memory(error, "the lowering");
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        status = reduce_device(out, schedule, d, made, error);
    ppi_release(&schedule->host, made);
    return status;
}
