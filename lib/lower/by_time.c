/* SPDX-License-Identifier: Apache-2.0 */
/* The lowering of sail-sg and zeropipe: transfers in order of the times when they are sent; each is received before the op that
 * then runs on the receiving device, or before its consumer, or before a send, whichever comes first. */
#include "base/error.h"
#include "base/sort.h"
#include "eval/timeline.h"
#include "ir/transfer.h"
#include "lower/passes.h"

/* Progress in writing a device's queue: ops, and sends of the last unit written. */
struct cursor {
    uint32_t next;  /* next op, as in the schedule */
    uint32_t sends; /* sends of the unit before it that are written; all are, before the next op is */
};

struct lowering {
    const ppsched_schedule *schedule;
    const ppsched_timeline *timeline;
    ppsched_builder *out;
    struct ppi_transfers transfers;
    uint32_t *consumers; /* ops that consume a transfer, in the order in which these are sent */
    uint32_t *taken_by;  /* by transfer number: its consumer */
    size_t count;
    struct cursor *cursors;
};

/* --- the transfers by time --- */

static uint32_t producer_of(const struct lowering *lowering, uint32_t consumer)
{
    return lowering->transfers.ops[ppi_input_of(lowering->schedule, &lowering->schedule->ops[consumer])].producer;
}

static void list_consumers(struct lowering *lowering)
{
    struct ppi_transfer transfer;
    for (uint32_t i = 0; i < lowering->schedule->op_count; i++)
        if (ppi_transfer_in(lowering->schedule, &lowering->schedule->ops[i], &transfer))
            lowering->taken_by[transfer.number] = lowering->consumers[lowering->count++] = i;
}

/* The consumer of the transfer that a producer's unit sends first: for a pair that of its F. */
static uint32_t first_taker(const struct lowering *lowering, uint32_t consumer)
{
    const ppsched_schedule *schedule = lowering->schedule;
    uint32_t producer = producer_of(lowering, consumer);
    const ppsched_op *op = &schedule->ops[producer];
    struct ppi_transfer sent;
    bool is_second = producer > schedule->queues[ppi_schedule_device_of(schedule, op)].first && ppi_unit_length(op - 1) == 2;
    return is_second && ppi_transfer_out(schedule, op - 1, &sent) ? lowering->taken_by[sent.number] : consumer;
}

/* By time; at equal times in order of their consumers, but what a pair's B sends comes right after what its F sends. */
static bool goes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct lowering *lowering = context;
    uint32_t first = producer_of(lowering, a), second = producer_of(lowering, b);
    double time = lowering->timeline->spans[first].end, other = lowering->timeline->spans[second].end;
    if (time != other)
        return time < other;
    uint32_t one = first_taker(lowering, a), two = first_taker(lowering, b);
    return one != two ? one < two : first < second;
}

/* Times determine the order of sends only if ops that send take time. */
static ppsched_status check_times(const struct lowering *lowering, ppsched_error *error)
{
    const ppsched_schedule *schedule = lowering->schedule;
    for (size_t k = 0; k < lowering->count; k++) {
        uint32_t producer = producer_of(lowering, lowering->consumers[k]);
        const ppsched_span *span = &lowering->timeline->spans[producer];
        const ppsched_op *op = &schedule->ops[producer];
        uint32_t device = ppi_schedule_device_of(schedule, op), position = producer - (uint32_t)schedule->queues[device].first;
        if (!(span->start < span->end))
            return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){device, op->stage, op->microbatch, position},
                               "by_time needs a time above 0 for each op that sends: stage %u's %s has time 0 on device %u; "
                               "just_in_time and pytorch do not need it",
                               op->stage, ppi_kind_token(op->kind), device);
    }
    return PPSCHED_OK;
}

/* --- writing --- */

/* Index of the unit that a device has written last; at the start of the queue the device's next op. */
static uint32_t unit_before(const struct lowering *lowering, uint32_t device)
{
    uint32_t next = lowering->cursors[device].next, written = next - (uint32_t)lowering->schedule->queues[device].first;
    bool pair = written >= 2 && ppi_unit_length(&lowering->schedule->ops[next - 2]) == 2;
    return next - (pair ? 2 : written >= 1);
}

/* The next send of the unit that a device has written last; false if it has no more. */
static bool next_send(const struct lowering *lowering, uint32_t device, struct ppi_transfer *out)
{
    const struct cursor *cursor = &lowering->cursors[device];
    uint32_t n = cursor->sends;
    for (uint32_t i = unit_before(lowering, device); i < cursor->next; i++)
        if (ppi_transfer_out(lowering->schedule, &lowering->schedule->ops[i], out) && n-- == 0)
            return true;
    return false;
}

/* Writes a device's next send or unit. */
static ppsched_status advance(struct lowering *lowering, uint32_t device, ppsched_error *error)
{
    struct cursor *cursor = &lowering->cursors[device];
    const ppsched_op *unit = &lowering->schedule->ops[cursor->next];
    struct ppi_transfer sent;
    if (next_send(lowering, device, &sent)) {
        cursor->sends++;
        return ppi_builder_append(lowering->out, device, &sent.send, 1, error);
    }
    cursor->next += (uint32_t)ppi_unit_length(unit);
    cursor->sends = 0;
    return ppi_builder_append(lowering->out, device, unit, ppi_unit_length(unit), error);
}

/* Whether the receive of a transfer belongs before the receiving device's next op or send. */
static bool belongs_here(const struct lowering *lowering, const struct ppi_transfer *transfer, uint32_t consumer)
{
    uint32_t next = lowering->cursors[transfer->to].next, microbatches = lowering->schedule->shape.microbatches;
    const ppsched_op *unit = &lowering->schedule->ops[next];
    struct ppi_transfer sent;
    if (next_send(lowering, transfer->to, &sent))
        return true;
    if (lowering->schedule->flushes && ppi_kind_has_microbatch(unit->kind) &&
        unit->microbatch / microbatches < transfer->send.microbatch / microbatches)
        return false;
    return consumer < next + ppi_unit_length(unit) ||
           lowering->timeline->spans[producer_of(lowering, consumer)].end <= lowering->timeline->spans[next].end;
}

static bool has_sent(const struct lowering *lowering, const struct ppi_transfer *transfer)
{
    const struct cursor *cursor = &lowering->cursors[transfer->from];
    uint32_t producer = lowering->transfers.ops[transfer->number].producer;
    const ppsched_op *op = &lowering->schedule->ops[producer];
    bool is_second = producer > lowering->schedule->queues[transfer->from].first && ppi_unit_length(op - 1) == 2;
    struct ppi_transfer other;
    uint32_t before = is_second && ppi_transfer_out(lowering->schedule, op - 1, &other); /* a pair's F sends first */
    uint32_t end = producer + (uint32_t)ppi_unit_length(op);
    return cursor->next > end || (cursor->next == end && cursor->sends > before);
}

static bool is_written(const struct lowering *lowering, uint32_t device)
{
    const ppsched_queue *queue = &lowering->schedule->queues[device];
    struct ppi_transfer sent;
    return lowering->cursors[device].next == queue->first + queue->count && !next_send(lowering, device, &sent);
}

static ppsched_status write_all(struct lowering *lowering, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < lowering->schedule->shape.devices; d++)
        lowering->cursors[d] = (struct cursor){.next = (uint32_t)lowering->schedule->queues[d].first};
    for (size_t k = 0; k < lowering->count && status == PPSCHED_OK; k++) {
        uint32_t consumer = lowering->consumers[k];
        struct ppi_transfer transfer;
        ppi_transfer_in(lowering->schedule, &lowering->schedule->ops[consumer], &transfer);
        while (!has_sent(lowering, &transfer) && status == PPSCHED_OK)
            status = advance(lowering, transfer.from, error);
        while (!belongs_here(lowering, &transfer, consumer) && status == PPSCHED_OK)
            status = advance(lowering, transfer.to, error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(lowering->out, transfer.to, &transfer.receive, 1, error);
    }
    for (uint32_t d = 0; d < lowering->schedule->shape.devices; d++)
        while (status == PPSCHED_OK && !is_written(lowering, d))
            status = advance(lowering, d, error);
    return status;
}

ppsched_status ppi_lower_by_time(ppsched_builder *out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    ppsched_schedule *shared = (ppsched_schedule *)(uintptr_t)schedule; /* only its reference count changes, which is atomic */
    ppsched_timeline *timeline = NULL;
    struct lowering lowering = {.schedule = schedule, .out = out};
    ppsched_status status = ppi_evaluate(&timeline, shared, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    size_t most = ppi_transfer_numbers(schedule);
    uint32_t *room = lowering.consumers = ppi_allocate(host, most, 3 * sizeof *room);
    lowering.timeline = timeline;
    lowering.cursors = ppi_allocate(host, schedule->shape.devices, sizeof *lowering.cursors);
    status = ppi_transfers_find(&lowering.transfers, schedule, error);
    if (room == NULL || lowering.cursors == NULL)
        status = ppi_fail_memory(error, "the lowering");
    if (status == PPSCHED_OK) {
        lowering.taken_by = room + 2 * most;
        list_consumers(&lowering);
        lowering.consumers = ppi_sort(room, room + most, lowering.count, goes_before, &lowering);
        status = check_times(&lowering, error);
    }
    if (status == PPSCHED_OK)
        status = write_all(&lowering, error);
    ppi_transfers_clear(&lowering.transfers);
    ppi_release(host, lowering.cursors);
    ppi_release(host, room);
    ppi_timeline_destroy(timeline);
    return status;
}
