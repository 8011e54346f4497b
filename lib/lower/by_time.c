/* SPDX-License-Identifier: Apache-2.0 */
/* The lowering of sail-sg and zeropipe: all transfers in the order of the times at which they are sent; each is received before
 * the op that then runs on the receiving device, or before its consumer, or before a send, whichever comes first. */
#include <string.h>

#include "base/error.h"
#include "eval/timeline.h"
#include "lower/passes.h"
#include "lower/transfer.h"

/* A transfer, with where its producer and its consumer stand in their devices' queues. */
struct sent {
    struct ppi_transfer transfer;
    double time;
    size_t producer, consumer;
};

/* How far a device's queue has been written: ops, and the sends of the last of these units. */
struct cursor {
    size_t position; /* next op */
    uint32_t sends;  /* of the unit before it, written so far; all of them before the next op is */
};

struct lowering {
    const ppsched_schedule *schedule;
    const ppsched_timeline *timeline;
    ppsched_builder *out;
    size_t *producer; /* by stage pass: position of the F, and of the B or I */
    struct sent *sent, *scratch;
    size_t count;
    struct cursor *cursors;
};

/* --- the transfers by time --- */

static void note_producers(struct lowering *lowering)
{
    const ppsched_schedule *schedule = lowering->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            const ppsched_op *op = &schedule->queues[d].ops[i];
            if (op->kind == PPSCHED_KIND_F)
                lowering->producer[2 * ppi_cell_of(schedule, op)] = i;
            if (ppi_is_backward(op->kind))
                lowering->producer[2 * ppi_cell_of(schedule, op) + 1] = i;
        }
}

/* In the order of the consumers, device by device. */
static void list_transfers(struct lowering *lowering)
{
    const ppsched_schedule *schedule = lowering->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            struct sent sent = {.consumer = i};
            if (!ppi_transfer_to(schedule, &schedule->queues[d].ops[i], &sent.transfer))
                continue;
            size_t cell = ppi_cell_of(schedule, &sent.transfer.send);
            const ppsched_queue *queue = &schedule->queues[sent.transfer.from];
            sent.producer = lowering->producer[2 * cell + (sent.transfer.send.kind == PPSCHED_KIND_SEND_B)];
            sent.time = lowering->timeline->spans[queue->first + sent.producer].end;
            lowering->sent[lowering->count++] = sent;
        }
}

/* Those of one device in the order of its queue, even where ops take no time. */
static bool goes_before(const struct sent *a, const struct sent *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->transfer.from == b->transfer.from && a->producer < b->producer;
}

/* A merge sort: ties keep their order. */
static void sort(struct lowering *lowering)
{
    for (size_t width = 1; width < lowering->count; width *= 2) {
        struct sent *in = lowering->sent, *out = lowering->scratch;
        for (size_t from = 0; from < lowering->count; from += 2 * width) {
            size_t middle = from + width < lowering->count ? from + width : lowering->count;
            size_t to = middle + width < lowering->count ? middle + width : lowering->count;
            for (size_t a = from, b = middle, k = from; k < to; k++)
                out[k] = a == middle || (b < to && goes_before(&in[b], &in[a])) ? in[b++] : in[a++];
        }
        lowering->sent = out;
        lowering->scratch = in;
    }
}

/* Times tell the order of what is sent only where ops that send take time. */
static ppsched_status check_times(const struct lowering *lowering, ppsched_error *error)
{
    for (size_t i = 0; i < lowering->count; i++) {
        const struct ppi_transfer *transfer = &lowering->sent[i].transfer;
        const ppsched_queue *queue = &lowering->schedule->queues[transfer->from];
        const ppsched_span *span = &lowering->timeline->spans[queue->first + lowering->sent[i].producer];
        const ppsched_op *op = &queue->ops[lowering->sent[i].producer];
        if (!(span->start < span->end))
            return ppi_fail_at(
                error, PPSCHED_ERROR_REFUSED,
                (struct ppi_place){transfer->from, op->stage, op->microbatch, (uint32_t)lowering->sent[i].producer},
                "by_time needs times above 0 of all ops that send: stage %u's %s takes none on device %u; "
                "just_in_time and pytorch need none",
                op->stage, ppi_kind_token(op->kind), transfer->from);
    }
    return PPSCHED_OK;
}

/* --- writing --- */

/* The `n`-th send of the unit before a position; false where it has no more. */
static bool nth_send(const struct lowering *lowering, uint32_t device, size_t position, uint32_t n, ppsched_op *out)
{
    const ppsched_op *ops = lowering->schedule->queues[device].ops;
    size_t first = position >= 2 && ppi_unit_length(&ops[position - 2]) == 2 ? position - 2 : position - 1;
    for (size_t i = first; i < position; i++) {
        struct ppi_transfer transfer;
        if (ppi_transfer_of(lowering->schedule, &ops[i], &transfer) && n-- == 0) {
            *out = transfer.send;
            return true;
        }
    }
    return false;
}

/* Writes a device's next send or unit. */
static ppsched_status advance(struct lowering *lowering, uint32_t device, ppsched_error *error)
{
    struct cursor *cursor = &lowering->cursors[device];
    const ppsched_op *ops = lowering->schedule->queues[device].ops;
    ppsched_op send;
    if (cursor->position > 0 && nth_send(lowering, device, cursor->position, cursor->sends, &send)) {
        cursor->sends++;
        return ppi_builder_append(lowering->out, device, &send, 1, error);
    }
    size_t length = ppi_unit_length(&ops[cursor->position]);
    ppsched_status status = ppi_builder_append(lowering->out, device, &ops[cursor->position], length, error);
    cursor->position += length;
    cursor->sends = 0;
    return status;
}

/* Whether the receive of a transfer goes before what the receiving device has next. */
static bool belongs_here(const struct lowering *lowering, const struct sent *sent)
{
    uint32_t device = sent->transfer.to, microbatches = lowering->schedule->shape.microbatches;
    const struct cursor *cursor = &lowering->cursors[device];
    const ppsched_queue *queue = &lowering->schedule->queues[device];
    ppsched_op send;
    if (cursor->position > 0 && nth_send(lowering, device, cursor->position, cursor->sends, &send))
        return true;
    const ppsched_op *unit = &queue->ops[cursor->position];
    if (lowering->schedule->flushes && ppi_kind_has_microbatch(unit->kind) &&
        unit->microbatch / microbatches < sent->transfer.send.microbatch / microbatches)
        return false;
    return sent->consumer < cursor->position + ppi_unit_length(unit) ||
           sent->time <= lowering->timeline->spans[queue->first + cursor->position].end;
}

static bool has_sent(const struct lowering *lowering, const struct sent *sent)
{
    const struct cursor *cursor = &lowering->cursors[sent->transfer.from];
    const ppsched_op *ops = lowering->schedule->queues[sent->transfer.from].ops;
    size_t end = sent->producer + 1; /* of the unit; an overlapped pair's F comes first */
    uint32_t before = 0;
    if ((ops[sent->producer].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0)
        end++;
    else if (sent->producer > 0 && (ops[sent->producer - 1].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0) {
        struct ppi_transfer other;
        before = ppi_transfer_of(lowering->schedule, &ops[sent->producer - 1], &other);
    }
    return cursor->position > end || (cursor->position == end && cursor->sends > before);
}

static bool is_written(const struct lowering *lowering, uint32_t device)
{
    const struct cursor *cursor = &lowering->cursors[device];
    ppsched_op send;
    if (cursor->position < lowering->schedule->queues[device].count)
        return false;
    return cursor->position == 0 || !nth_send(lowering, device, cursor->position, cursor->sends, &send);
}

static ppsched_status write_all(struct lowering *lowering, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (const struct sent *sent = lowering->sent; sent < lowering->sent + lowering->count && status == PPSCHED_OK; sent++) {
        while (!has_sent(lowering, sent) && status == PPSCHED_OK)
            status = advance(lowering, sent->transfer.from, error);
        while (!belongs_here(lowering, sent) && status == PPSCHED_OK)
            status = advance(lowering, sent->transfer.to, error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(lowering->out, sent->transfer.to, &sent->transfer.receive, 1, error);
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
    ppsched_timeline *timeline = NULL;
    struct lowering lowering = {.schedule = schedule, .out = out};
    size_t cells = 2 * ppi_cell_count(schedule);
    ppsched_status status = ppi_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    lowering.timeline = timeline;
    lowering.producer = ppi_allocate(host, cells, sizeof *lowering.producer);
    lowering.sent = ppi_allocate(host, cells, sizeof *lowering.sent);
    lowering.scratch = ppi_allocate(host, cells, sizeof *lowering.scratch);
    lowering.cursors = ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *lowering.cursors);
    if (lowering.producer == NULL || lowering.sent == NULL || lowering.scratch == NULL || lowering.cursors == NULL) {
        status = ppi_fail_memory(error, "the lowering");
    } else {
        note_producers(&lowering);
        list_transfers(&lowering);
        sort(&lowering);
        status = check_times(&lowering, error);
        if (status == PPSCHED_OK)
            status = write_all(&lowering, error);
    }
    ppi_release(host, lowering.cursors);
    ppi_release(host, lowering.scratch);
    ppi_release(host, lowering.sent);
    ppi_release(host, lowering.producer);
    ppi_timeline_destroy(timeline);
    return status;
}
