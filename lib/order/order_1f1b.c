/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the order of one device at a time and compares it with the queue, up to the first difference. */
#include "order/order_1f1b.h"

#include "base/error.h"
#include "order/compare.h"

/* Number of forwards of the first device's first chunk before those of its second. */
static uint32_t leading_run(const ppsched_schedule *schedule)
{
    const ppsched_queue *queue = &schedule->queues[0];
    uint32_t run = 0;
    for (size_t i = 0; i < queue->count; i++) {
        if (queue->ops[i].kind != PPSCHED_KIND_F)
            continue;
        if (queue->ops[i].stage != 0 || run == schedule->shape.microbatches)
            break;
        run++;
    }
    return run > 0 ? run : 1;
}

struct ppi_order_1f1b ppi_order_of(const ppsched_schedule *schedule)
{
    const struct ppi_shape *shape = &schedule->shape;
    uint32_t chunks = shape->stages / shape->devices;
    chunks = chunks > 0 ? chunks : 1;
    return (struct ppi_order_1f1b){shape->devices, chunks, shape->microbatches,
                                   chunks == 1 ? shape->devices : leading_run(schedule), false};
}

static ppsched_status refuse_op(const ppsched_queue *queue, size_t i, const ppsched_op *wanted, const char *runtime,
                                ppsched_error *error)
{
    char has[PPI_UNIT_TOKEN_SIZE] = "nothing", wants[PPI_TOKEN_SIZE] = "nothing";
    const ppsched_op *op = i < queue->count ? &queue->ops[i] : wanted;
    if (i < queue->count)
        ppi_unit_token(has, op);
    if (wanted != NULL)
        ppi_op_token(wants, wanted);
    struct ppi_place place = {queue->device, op->stage, op->microbatch, (uint32_t)i};
    return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                       "%s runs 1F1B orders: device %u has %s at position %zu, where %s would run %s", runtime, queue->device,
                       has, i, runtime, wants);
}

/* `ops` has capacity for a device's ops. */
static ppsched_status queue_has_order(const ppsched_queue *queue, const struct ppi_order_1f1b *order, ppsched_op *ops,
                                      const char *runtime, ppsched_error *error)
{
    size_t count = (size_t)(2 * ppi_visits_of(order));
    struct ppi_op_writer writer = {.next = ops, .end = ops + count, .slices = 1};
    uint64_t warmup = ppi_warmup_of(order, queue->device);
    if (order->chunks == 1)
        ppi_put_1f1b(queue->device, order->microbatches, (uint32_t)warmup, order->overlapped, &writer);
    else
        ppi_put_interleaved_1f1b(order, queue->device, warmup, &writer);
    uint32_t i = ppi_first_difference(queue, ops, count);
    return i == PPSCHED_NONE ? PPSCHED_OK : refuse_op(queue, i, i < count ? &ops[i] : NULL, runtime, error);
}

ppsched_status ppi_has_sliced_order(const ppsched_schedule *schedule, const char *runtime, ppsched_error *error)
{
    const struct ppi_shape *shape = &schedule->shape;
    const uint32_t micro_slices = shape->microbatches * shape->slices;
    if (shape->stages != shape->devices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s runs slices with one stage on each of %u device%p, not %u in all",
                        runtime, shape->devices, shape->stages);
    ppsched_op *ops = ppi_allocate(&schedule->host, micro_slices, 2 * sizeof *ops);
    if (ops == NULL)
        return ppi_fail_memory(error, "the order of a runtime");
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < shape->devices && status == PPSCHED_OK; d++) {
        const size_t count = 2 * (size_t)micro_slices;
        struct ppi_op_writer writer = {.next = ops, .end = ops + count, .slices = shape->slices};
        ppi_put_sliced_1f1b(d, micro_slices, (uint64_t)shape->devices - 1 - d + shape->slices - 1, &writer);
        uint32_t i = ppi_first_difference(&schedule->queues[d], ops, count);
        if (i != PPSCHED_NONE)
            status = refuse_op(&schedule->queues[d], i, i < count ? &ops[i] : NULL, runtime, error);
    }
    ppi_release(&schedule->host, ops);
    return status;
}

ppsched_status ppi_has_order(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order, const char *runtime,
                             ppsched_error *error)
{
    const struct ppi_shape *shape = &schedule->shape;
    if (!schedule->flushes)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s flushes after every iteration, the schedule does not", runtime);
    if (shape->iterations != 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s supports schedules of one iteration, not of %u", runtime,
                        shape->iterations);
    if (shape->stages != order->devices * order->chunks)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s needs the same number of stages on each of %u device%p, not %u in all", runtime, shape->devices,
                        shape->stages);
    ppsched_op *ops = ppi_allocate(&schedule->host, (size_t)ppi_visits_of(order), 2 * sizeof *ops);
    if (ops == NULL)
        return ppi_fail_memory(error, "the order of a runtime");
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < shape->devices && status == PPSCHED_OK; d++)
        status = queue_has_order(&schedule->queues[d], order, ops, runtime, error);
    ppi_release(&schedule->host, ops);
    return status;
}

/* The group size that the last device's warm-up shows; the smallest possible if it runs all forwards first. 0: none. */
static uint64_t wide_group_of(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order)
{
    const ppsched_queue *queue = &schedule->queues[schedule->shape.devices - 1];
    uint64_t forwards = 0, visits = ppi_visits_of(order), steps = order->chunks - 1;
    while (forwards < queue->count && queue->ops[forwards].kind == PPSCHED_KIND_F &&
           ppi_unit_length(&queue->ops[forwards]) == 1)
        forwards++;
    if (forwards < 2)
        return 0;
    uint64_t warmup = forwards - 1; /* without the forward of the first pair, or the additional one for overlapped pairs */
    if (forwards >= visits)
        return (warmup + steps - 1) / steps;
    return warmup % steps == 0 ? warmup / steps : 0;
}

ppsched_status ppi_find_order(struct ppi_order_1f1b *order, const ppsched_schedule *schedule, const char *runtime,
                              ppsched_error *error)
{
    ppsched_status status = ppi_has_order(schedule, order, runtime, error);
    if (status != PPSCHED_ERROR_REFUSED || order->chunks == 1)
        return status;
    struct ppi_order_1f1b wide = *order;
    uint64_t group = wide_group_of(schedule, order);
    if (group <= order->microbatches || group > UINT32_MAX)
        return status;
    wide.group_size = (uint32_t)group;
    ppsched_status found = ppi_has_order(schedule, &wide, runtime, NULL);
    if (found == PPSCHED_OK)
        *order = wide;
    return found == PPSCHED_ERROR_NO_MEMORY ? ppi_fail_memory(error, "the order of a runtime")
           : found == PPSCHED_OK            ? found
                                            : status;
}
