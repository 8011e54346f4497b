/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/wiring.h"

#include <string.h>

#include "base/error.h"
#include "lower/transfer.h"

/* Ops of a stage pass. */
enum slot { FORWARD, BACKWARD, SEND_F, RECV_F, SEND_B, RECV_B, SLOTS };

/* Numbers for the keys that a device has, given as they come. */
struct numbering {
    uint32_t *number, *owner; /* by key; owner: device + 1 where it has been given */
    uint32_t given;           /* over all devices */
};

struct making {
    struct ppi_wiring *wiring;
    const ppsched_schedule *schedule;
    const ppsched_channel_model *model;
    uint32_t *slots; /* by stage pass and slot: the op, or PPI_NO_OP */
    struct numbering queues, channels, links;
    uint32_t *queue_size, *channel_size;
};

/* --- ops and partners --- */

static int slot_of(const ppsched_op *op)
{
    switch (op->kind) {
    case PPSCHED_KIND_F:
        return FORWARD;
    case PPSCHED_KIND_B:
    case PPSCHED_KIND_I:
        return BACKWARD;
    case PPSCHED_KIND_SEND_F:
        return SEND_F;
    case PPSCHED_KIND_RECV_F:
        return RECV_F;
    case PPSCHED_KIND_SEND_B:
        return SEND_B;
    case PPSCHED_KIND_RECV_B:
        return RECV_B;
    default:
        return SLOTS;
    }
}

static ppsched_status fail_at(const struct making *making, uint32_t i, const char *what, ppsched_error *error)
{
    char token[PPI_TOKEN_SIZE];
    const ppsched_op *op = &making->schedule->ops[i];
    uint32_t device = making->wiring->wires[i].device;
    size_t position = i - making->schedule->queues[device].first;
    ppi_op_token(token, op);
    return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE,
                       (struct ppi_place){device, op->stage, op->microbatch, (uint32_t)position},
                       "device %u: %s at position %zu %s", device, token, position, what);
}

static uint32_t slot_at(const struct making *making, const ppsched_op *op, enum slot slot)
{
    return making->slots[ppi_cell_of(making->schedule, op) * SLOTS + slot];
}

static ppsched_status note_slots(struct making *making, ppsched_error *error)
{
    const ppsched_schedule *schedule = making->schedule;
    memset(making->slots, 0xff, ppi_cell_count(schedule) * SLOTS * sizeof *making->slots);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        uint32_t iteration_start = 0;
        for (size_t k = 0; k < schedule->queues[d].count; k++) {
            uint32_t i = (uint32_t)(schedule->queues[d].first + k);
            const ppsched_op *op = &schedule->ops[i];
            making->wiring->wires[i] = (struct ppi_wire){.device = d, .partner = PPI_NO_OP};
            if (slot_of(op) == SLOTS)
                continue;
            uint32_t *slot = &making->slots[ppi_cell_of(schedule, op) * SLOTS + slot_of(op)];
            if (*slot != PPI_NO_OP)
                return fail_at(making, i, "stands there twice", error);
            if (ppi_schedule_device_of(schedule, op) != d)
                return fail_at(making, i, "is on the wrong device", error);
            if (op->microbatch < iteration_start)
                return fail_at(making, i, "comes too late, behind the flush of its iteration", error);
            if (schedule->flushes)
                iteration_start = op->microbatch / schedule->shape.microbatches * schedule->shape.microbatches;
            *slot = i;
        }
    }
    return PPSCHED_OK;
}

/* A send's transfer, as its producer sees it; false where nothing is to be sent. */
static bool sends(const struct making *making, const ppsched_op *send, struct ppi_transfer *out)
{
    ppsched_op producer = *send;
    producer.kind = send->kind == PPSCHED_KIND_SEND_F ? PPSCHED_KIND_F : PPSCHED_KIND_I;
    return ppi_transfer_of(making->schedule, &producer, out);
}

static ppsched_status wire_send(struct making *making, uint32_t i, ppsched_error *error)
{
    const ppsched_op *op = &making->schedule->ops[i];
    struct ppi_transfer transfer;
    uint32_t producer = slot_at(making, op, op->kind == PPSCHED_KIND_SEND_F ? FORWARD : BACKWARD);
    if (!sends(making, op, &transfer))
        return fail_at(making, i, "sends to its own device, or to none", error);
    if (producer == PPI_NO_OP || producer > i)
        return fail_at(making, i, "stands before what it sends", error);
    uint32_t receive = slot_at(making, &transfer.receive, op->kind == PPSCHED_KIND_SEND_F ? RECV_F : RECV_B);
    if (receive == PPI_NO_OP)
        return fail_at(making, i, "is received nowhere", error);
    making->wiring->wires[i].partner = receive;
    making->wiring->wires[receive].partner = i;
    return PPSCHED_OK;
}

static ppsched_status wire_consumer(struct making *making, uint32_t i, ppsched_error *error)
{
    const ppsched_op *op = &making->schedule->ops[i];
    struct ppi_transfer transfer;
    if (!ppi_transfer_to(making->schedule, op, &transfer))
        return PPSCHED_OK;
    uint32_t receive = slot_at(making, op, op->kind == PPSCHED_KIND_F ? RECV_F : RECV_B);
    if (receive == PPI_NO_OP)
        return fail_at(making, i, "needs a receive that is not there", error);
    if (receive > i)
        return fail_at(making, i, "stands before the receive that it needs", error);
    making->wiring->wires[i].partner = receive;
    return PPSCHED_OK;
}

static ppsched_status wire_all(struct making *making, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < making->wiring->count && status == PPSCHED_OK; i++) {
        if (ppi_is_send(making->schedule->ops[i].kind))
            status = wire_send(making, i, error);
        else if (ppi_is_compute(making->schedule->ops[i].kind))
            status = wire_consumer(making, i, error);
    }
    for (uint32_t i = 0; i < making->wiring->count && status == PPSCHED_OK; i++)
        if (ppi_is_receive(making->schedule->ops[i].kind) && making->wiring->wires[i].partner == PPI_NO_OP)
            status = fail_at(making, i, "is sent nowhere", error);
    return status;
}

/* --- queues and channels --- */

static uint32_t number_of(struct numbering *numbering, uint32_t device, uint32_t key)
{
    if (numbering->owner[key] != device + 1) {
        numbering->owner[key] = device + 1;
        numbering->number[key] = numbering->given++;
    }
    return numbering->number[key];
}

static uint32_t queue_key(const struct making *making, uint32_t i)
{
    const ppsched_op *op = &making->schedule->ops[i];
    const struct ppi_wire *wire = &making->wiring->wires[i];
    switch (making->model->order) {
    case PPSCHED_CHANNEL_ORDER_GROUP:
        return 0;
    case PPSCHED_CHANNEL_ORDER_DIRECTION:
        return op->kind == PPSCHED_KIND_SEND_B || op->kind == PPSCHED_KIND_RECV_B;
    default:
        return 2 * making->wiring->wires[wire->partner].device + ppi_is_send(op->kind);
    }
}

static uint32_t channel_key(const struct making *making, uint32_t i)
{
    uint32_t to = making->wiring->wires[making->wiring->wires[i].partner].device;
    bool gradient = making->schedule->ops[i].kind == PPSCHED_KIND_SEND_B;
    return 2 * to + (making->model->order == PPSCHED_CHANNEL_ORDER_DIRECTION && gradient);
}

/* Gives every comm op its queue and every send its channel, and counts them. */
static void number_all(struct making *making)
{
    struct ppi_wiring *wiring = making->wiring;
    bool ordered = making->model->order != PPSCHED_CHANNEL_ORDER_NONE;
    uint32_t batch = 0;
    for (uint32_t i = 0; i < wiring->count; i++) {
        const ppsched_op *op = &making->schedule->ops[i];
        struct ppi_wire *wire = &wiring->wires[i];
        bool continues = i > 0 && ppi_is_comm(op - 1) && wire[-1].device == wire->device && making->model->batched != 0;
        if (!ppi_is_comm(op))
            continue;
        batch += !continues;
        wire->batch = batch; /* for now its number */
        wire->queue = ordered ? number_of(&making->queues, wire->device, queue_key(making, i)) : making->queues.given++;
        wire->place = making->queue_size[wire->queue]++;
        if (!ppi_is_send(op->kind))
            continue;
        wire->channel = ordered ? number_of(&making->channels, wire->device, channel_key(making, i)) : making->channels.given++;
        wire->number = making->channel_size[wire->channel]++;
        wire->link = number_of(&making->links, wire->device, wiring->wires[wire->partner].device);
    }
    wiring->queue_count = making->queues.given;
    wiring->channel_count = making->channels.given;
    wiring->link_count = making->links.given;
}

/* Where each list begins. */
static void add_up(uint32_t *first, const uint32_t *size, uint32_t count)
{
    first[0] = 0;
    for (uint32_t k = 0; k < count; k++)
        first[k + 1] = first[k] + size[k];
}

static void fill_lists(struct making *making)
{
    struct ppi_wiring *wiring = making->wiring;
    add_up(wiring->queue_first, making->queue_size, wiring->queue_count);
    add_up(wiring->channel_first, making->channel_size, wiring->channel_count);
    for (uint32_t i = 0; i < wiring->count; i++) {
        const struct ppi_wire *wire = &wiring->wires[i];
        if (ppi_is_comm(&making->schedule->ops[i]))
            wiring->queued[wiring->queue_first[wire->queue] + wire->place] = i;
        if (ppi_is_send(making->schedule->ops[i].kind))
            wiring->carried[wiring->channel_first[wire->channel] + wire->number] = i;
    }
    for (uint32_t q = 0; q < wiring->queue_count; q++) /* from the number of a batch to its first place */
        for (uint32_t k = wiring->queue_first[q], first = 0, last = 0; k < wiring->queue_first[q + 1]; k++) {
            struct ppi_wire *wire = &wiring->wires[wiring->queued[k]];
            if (k == wiring->queue_first[q] || wire->batch != last) {
                last = wire->batch;
                first = wire->place;
            }
            wire->batch = first;
        }
}

/* --- room --- */

static ppsched_status allocate(struct making *making, ppsched_error *error)
{
    struct ppi_wiring *wiring = making->wiring;
    const struct ppi_host *host = &wiring->host;
    size_t count = wiring->count, keys = 2 * (size_t)making->schedule->shape.devices + 2;
    wiring->wires = ppi_allocate(host, count, sizeof *wiring->wires);
    wiring->queue_first = ppi_allocate(host, count + 1, sizeof *wiring->queue_first);
    wiring->queued = ppi_allocate(host, count, sizeof *wiring->queued);
    wiring->channel_first = ppi_allocate(host, count + 1, sizeof *wiring->channel_first);
    wiring->carried = ppi_allocate(host, count, sizeof *wiring->carried);
    making->slots = ppi_allocate(host, ppi_cell_count(making->schedule), SLOTS * sizeof *making->slots);
    making->queues.owner = ppi_allocate_zeroed(host, keys, 2 * sizeof *making->queues.owner);
    making->channels.owner = ppi_allocate_zeroed(host, keys, 2 * sizeof *making->channels.owner);
    making->links.owner = ppi_allocate_zeroed(host, keys, 2 * sizeof *making->links.owner);
    making->queue_size = ppi_allocate_zeroed(host, count, sizeof *making->queue_size);
    making->channel_size = ppi_allocate_zeroed(host, count, sizeof *making->channel_size);
    if (wiring->wires == NULL || wiring->queue_first == NULL || wiring->queued == NULL || wiring->channel_first == NULL ||
        wiring->carried == NULL || making->slots == NULL || making->queues.owner == NULL || making->channels.owner == NULL ||
        making->links.owner == NULL || making->queue_size == NULL || making->channel_size == NULL)
        return ppi_fail_memory(error, "the proof");
    making->queues.number = making->queues.owner + keys;
    making->channels.number = making->channels.owner + keys;
    making->links.number = making->links.owner + keys;
    return PPSCHED_OK;
}

static void release(struct making *making)
{
    const struct ppi_host *host = &making->wiring->host;
    ppi_release(host, making->channel_size);
    ppi_release(host, making->queue_size);
    ppi_release(host, making->links.owner);
    ppi_release(host, making->channels.owner);
    ppi_release(host, making->queues.owner);
    ppi_release(host, making->slots);
}

ppsched_status ppi_wiring_make(struct ppi_wiring *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                               ppsched_error *error)
{
    struct making making = {.wiring = out, .schedule = schedule, .model = model};
    *out = (struct ppi_wiring){.host = schedule->host, .schedule = schedule, .count = (uint32_t)schedule->op_count};
    if (schedule->op_count >= PPI_NO_OP)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%llu ops are too many to prove", (unsigned long long)schedule->op_count);
    ppsched_status status = allocate(&making, error);
    if (status == PPSCHED_OK)
        status = note_slots(&making, error);
    if (status == PPSCHED_OK)
        status = wire_all(&making, error);
    if (status == PPSCHED_OK) {
        number_all(&making);
        fill_lists(&making);
    }
    release(&making);
    if (status != PPSCHED_OK)
        ppi_wiring_clear(out);
    return status;
}

void ppi_wiring_clear(struct ppi_wiring *wiring)
{
    const struct ppi_host *host = &wiring->host;
    ppi_release(host, wiring->carried);
    ppi_release(host, wiring->channel_first);
    ppi_release(host, wiring->queued);
    ppi_release(host, wiring->queue_first);
    ppi_release(host, wiring->wires);
}
