/* SPDX-License-Identifier: Apache-2.0 */
#include "format/order_1f1b.h"

#include "base/error.h"

struct ppi_visit ppi_table_entry(const struct ppi_order_1f1b *order, uint64_t k)
{
    uint64_t group = k / ((uint64_t)order->group_size * order->chunks), first = group * order->group_size;
    uint64_t left = order->microbatches - first, size = left < order->group_size ? left : order->group_size;
    uint64_t inside = k - first * order->chunks;
    return (struct ppi_visit){(uint32_t)(first + inside % size), (uint32_t)(inside / size), false, false};
}

uint64_t ppi_warmup_of(const struct ppi_order_1f1b *order, uint32_t device)
{
    uint64_t behind = order->devices - 1 - device, visits = ppi_visits_of(order);
    uint64_t warmup = order->chunks == 1 ? behind : 2 * behind + (uint64_t)(order->chunks - 1) * order->group_size;
    warmup += order->overlapped;
    return warmup < visits ? warmup : visits;
}

static struct ppi_visit backward_entry(const struct ppi_order_1f1b *order, uint64_t k)
{
    struct ppi_visit visit = ppi_table_entry(order, k);
    return (struct ppi_visit){visit.microbatch, order->chunks - 1 - visit.chunk, true, false};
}

struct ppi_visit ppi_visit_at(const struct ppi_order_1f1b *order, uint32_t device, uint64_t position)
{
    uint64_t warmup = ppi_warmup_of(order, device), visits = ppi_visits_of(order);
    if (position < warmup)
        return ppi_table_entry(order, position);
    if (position >= 2 * visits - warmup)
        return backward_entry(order, position - visits);
    uint64_t pair = (position - warmup) / 2;
    if ((position - warmup) % 2 == 1)
        return backward_entry(order, pair);
    struct ppi_visit visit = ppi_table_entry(order, warmup + pair);
    visit.overlapped = order->overlapped;
    return visit;
}

/* Forwards of the first device's first chunk before those of its second. */
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

static ppsched_op op_of(const struct ppi_order_1f1b *order, uint32_t device, struct ppi_visit visit)
{
    return (ppsched_op){.microbatch = visit.microbatch,
                        .stage = (uint16_t)(visit.chunk * order->devices + device),
                        .kind = visit.backward ? PPSCHED_KIND_B : PPSCHED_KIND_F,
                        .flags = visit.overlapped ? PPSCHED_OP_FLAG_OVERLAPPED : 0};
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

static bool same_op(const ppsched_op *a, const ppsched_op *b)
{
    return a->kind == b->kind && a->stage == b->stage && a->microbatch == b->microbatch && a->slice == b->slice &&
           a->flags == b->flags;
}

static ppsched_status queue_has_order(const ppsched_queue *queue, const struct ppi_order_1f1b *order, const char *runtime,
                                      ppsched_error *error)
{
    uint64_t ops = 2 * ppi_visits_of(order);
    for (uint64_t i = 0; i < ops; i++) {
        ppsched_op wanted = op_of(order, queue->device, ppi_visit_at(order, queue->device, i));
        if (i >= queue->count || !same_op(&queue->ops[i], &wanted))
            return refuse_op(queue, (size_t)i, &wanted, runtime, error);
    }
    return queue->count == ops ? PPSCHED_OK : refuse_op(queue, (size_t)ops, NULL, runtime, error);
}

ppsched_status ppi_has_order(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order, const char *runtime,
                             ppsched_error *error)
{
    const struct ppi_shape *shape = &schedule->shape;
    if (!schedule->flushes)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s flushes after every iteration, the schedule does not", runtime);
    if (shape->iterations != 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s takes the schedule of one iteration, not of %u", runtime,
                        shape->iterations);
    if (shape->stages != order->devices * order->chunks)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s wants the same number of stages on each of %u devices, not %u in all",
                        runtime, shape->devices, shape->stages);
    for (uint32_t d = 0; d < shape->devices; d++) {
        ppsched_status status = queue_has_order(&schedule->queues[d], order, runtime, error);
        if (status != PPSCHED_OK)
            return status;
    }
    return PPSCHED_OK;
}
