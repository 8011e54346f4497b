/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's defer_pp_recv: a receive is held until right before its consumer; before a send to a device of a higher rank, those
 * held from that device come first, in their order. */
#include "base/error.h"
#include "lower/passes.h"
#include "lower/transfer.h"

struct deferral {
    const ppsched_schedule *schedule;
    ppsched_builder *out;
    uint8_t *held;          /* inputs, by stage pass */
    ppsched_op *receives;   /* of the device in hand, in their order */
    uint32_t *next;         /* of each: the next from the same sender */
    uint32_t *first, *last; /* by sender, PPSCHED_NONE where there is none */
    uint32_t count;
};

static uint8_t bit_of(const ppsched_op *receive)
{
    return receive->kind == PPSCHED_KIND_RECV_F ? PPI_FORWARD_THERE : PPI_BACKWARD_THERE;
}

/* The device at the other end. */
static uint32_t peer_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    bool below = op->kind == PPSCHED_KIND_RECV_F || op->kind == PPSCHED_KIND_SEND_B;
    ppsched_op other = {.microbatch = op->microbatch, .stage = (uint16_t)(below ? op->stage - 1 : op->stage + 1)};
    return ppi_schedule_device_of(schedule, &other);
}

static void hold(struct deferral *deferral, const ppsched_op *op)
{
    uint32_t i = deferral->count++, from = peer_of(deferral->schedule, op);
    deferral->receives[i] = *op;
    deferral->next[i] = PPSCHED_NONE;
    if (deferral->first[from] == PPSCHED_NONE)
        deferral->first[from] = i;
    else
        deferral->next[deferral->last[from]] = i;
    deferral->last[from] = i;
    deferral->held[ppi_cell_of(deferral->schedule, op)] |= bit_of(op);
}

/* Puts a receive if it is held. */
static ppsched_status put_held(struct deferral *deferral, uint32_t device, const ppsched_op *receive, ppsched_error *error)
{
    uint8_t *held = &deferral->held[ppi_cell_of(deferral->schedule, receive)];
    if ((*held & bit_of(receive)) == 0)
        return PPSCHED_OK;
    *held &= (uint8_t)~bit_of(receive);
    return ppi_builder_append(deferral->out, device, receive, 1, error);
}

static ppsched_status put_inputs(struct deferral *deferral, uint32_t device, const ppsched_op *unit, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < ppi_unit_length(unit) && status == PPSCHED_OK; i++) {
        struct ppi_transfer transfer;
        if (ppi_transfer_to(deferral->schedule, &unit[i], &transfer))
            status = put_held(deferral, device, &transfer.receive, error);
    }
    return status;
}

static ppsched_status put_all_from(struct deferral *deferral, uint32_t device, uint32_t peer, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = deferral->first[peer]; i != PPSCHED_NONE && status == PPSCHED_OK; i = deferral->next[i])
        status = put_held(deferral, device, &deferral->receives[i], error);
    deferral->first[peer] = PPSCHED_NONE;
    return status;
}

static ppsched_status defer_device(struct deferral *deferral, uint32_t device, ppsched_error *error)
{
    const ppsched_queue *queue = &deferral->schedule->queues[device];
    ppsched_status status = PPSCHED_OK;
    deferral->count = 0;
    for (uint32_t d = 0; d < deferral->schedule->shape.devices; d++)
        deferral->first[d] = PPSCHED_NONE;
    for (size_t i = 0; i < queue->count && status == PPSCHED_OK;) {
        const ppsched_op *unit = &queue->ops[i];
        size_t length = ppi_unit_length(unit);
        i += length;
        if (ppi_is_receive(unit->kind)) {
            hold(deferral, unit);
            continue;
        }
        if (ppi_is_send(unit->kind) && device < peer_of(deferral->schedule, unit))
            status = put_all_from(deferral, device, peer_of(deferral->schedule, unit), error);
        else
            status = put_inputs(deferral, device, unit, error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(deferral->out, device, unit, length, error);
    }
    return status;
}

ppsched_status ppi_defer_receives(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct deferral deferral = {.schedule = schedule, .out = out};
    ppsched_status status = PPSCHED_OK;
    size_t most = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        most = schedule->queues[d].count > most ? schedule->queues[d].count : most;
    deferral.held = ppi_allocate_zeroed(host, ppi_cell_count(schedule), 1);
    deferral.receives = ppi_allocate(host, most, sizeof *deferral.receives);
    deferral.next = ppi_allocate(host, most, sizeof *deferral.next);
    deferral.first = ppi_allocate(host, schedule->shape.devices, 2 * sizeof *deferral.first);
    if (deferral.held == NULL || deferral.receives == NULL || deferral.next == NULL || deferral.first == NULL)
        status = ppi_fail_memory(error, "the lowering");
    else
        deferral.last = deferral.first + schedule->shape.devices;
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        status = defer_device(&deferral, d, error);
    ppi_release(host, deferral.first);
    ppi_release(host, deferral.next);
    ppi_release(host, deferral.receives);
    ppi_release(host, deferral.held);
    return status;
}
