/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by one pass over the last stage's queue, then copies all ops with the new numbers. */
#include "lower/renumber.h"

#include "base/error.h"
#include "ir/builder.h"

/* Fills in the new number of each microbatch; `next`: zeroed, one per iteration. */
static void find_numbers(uint32_t *numbers, uint32_t *next, const ppsched_schedule *schedule)
{
    uint32_t last = schedule->shape.stages - 1, microbatches = schedule->shape.microbatches;
    const ppsched_queue *queue = &schedule->queues[schedule->placement.device_of[last]];
    for (size_t i = 0; i < queue->count; i++) {
        const ppsched_op *op = &queue->ops[i];
        if (op->kind != PPSCHED_KIND_F || op->stage != last || op->slice != 0)
            continue;
        uint32_t iteration = op->microbatch / microbatches;
        numbers[op->microbatch] = iteration * microbatches + next[iteration]++;
    }
}

/* All ops, device by device, with their new numbers; NULL if memory is short. */
static ppsched_op *renumbered_ops(const ppsched_schedule *schedule, const uint32_t *numbers)
{
    ppsched_op *ops = ppi_allocate(&schedule->host, (size_t)schedule->op_count, sizeof *ops);
    for (uint64_t i = 0; i < schedule->op_count && ops != NULL; i++) {
        ops[i] = schedule->ops[i];
        if (ppi_kind_has_microbatch(ops[i].kind))
            ops[i].microbatch = numbers[ops[i].microbatch];
    }
    return ops;
}

/* Index of the end of each device's ops; NULL if memory is short. */
static size_t *ends_of(const ppsched_schedule *schedule)
{
    size_t *ends = ppi_allocate(&schedule->host, schedule->shape.devices, sizeof *ends);
    for (uint32_t d = 0; d < schedule->shape.devices && ends != NULL; d++)
        ends[d] = schedule->queues[d].first + schedule->queues[d].count;
    return ends;
}

static ppsched_status build(ppsched_schedule **out, const ppsched_schedule *schedule, const uint32_t *numbers,
                            ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_op *ops = renumbered_ops(schedule, numbers);
    size_t *ends = ends_of(schedule);
    ppsched_status status = ops == NULL || ends == NULL ? ppi_fail_memory(error, "the renumbered ops")
                                                        : ppi_builder_like(&builder, schedule, error);
    if (status == PPSCHED_OK) {
        ppi_builder_adopt(builder, ops, ends);
        ops = NULL;
        status = ppi_builder_finish(out, builder, error);
    }
    ppi_builder_destroy(builder);
    ppi_release(&schedule->host, ops);
    ppi_release(&schedule->host, ends);
    return status;
}

ppsched_status ppi_renumber(ppsched_schedule **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    size_t total = ppi_total_microbatches(&schedule->shape), room = total + schedule->shape.iterations;
    uint32_t *numbers = ppi_allocate_zeroed(&schedule->host, room, sizeof *numbers);
    if (numbers == NULL)
        return ppi_fail_memory(error, "the numbers of microbatches");
    find_numbers(numbers, numbers + total, schedule);
    ppsched_status status = build(out, schedule, numbers, error);
    ppi_release(&schedule->host, numbers);
    return status;
}
