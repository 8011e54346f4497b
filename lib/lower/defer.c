/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's defer_pp_recv: a receive is held until right before its consumer; before a send to a device of a higher rank,
 * receives held from that device come first, in order. */
#include "base/error.h"
#include "ir/transfer.h"
#include "lower/passes.h"

struct deferral {
    const ppsched_schedule *schedule;
    ppsched_builder *out;
    bool *held;                    /* by transfer number */
    struct ppi_transfer *received; /* of the current device, in order */
    uint32_t *next;                /* by index in `received`: the next from the same sender */
    uint32_t *first, *last;        /* by sender; PPSCHED_NONE: none */
    uint32_t count;
};

static void hold(struct deferral *deferral, const struct ppi_transfer *transfer)
{
    uint32_t i = deferral->count++;
    deferral->received[i] = *transfer;
    deferral->next[i] = PPSCHED_NONE;
    if (deferral->first[transfer->from] == PPSCHED_NONE)
        deferral->first[transfer->from] = i;
    else
        deferral->next[deferral->last[transfer->from]] = i;
    deferral->last[transfer->from] = i;
    deferral->held[transfer->number] = true;
}

/* Puts a receive if it is held. */
static ppsched_status put_held(struct deferral *deferral, const struct ppi_transfer *transfer, ppsched_error *error)
{
    if (!deferral->held[transfer->number])
        return PPSCHED_OK;
    deferral->held[transfer->number] = false;
    return ppi_builder_append(deferral->out, transfer->to, &transfer->receive, 1, error);
}

static ppsched_status put_inputs(struct deferral *deferral, const ppsched_op *unit, ppsched_error *error)
{
    struct ppi_transfer transfer;
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < ppi_unit_length(unit) && status == PPSCHED_OK; i++)
        if (ppi_transfer_in(deferral->schedule, &unit[i], &transfer))
            status = put_held(deferral, &transfer, error);
    return status;
}

static ppsched_status put_all_from(struct deferral *deferral, uint32_t peer, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = deferral->first[peer]; i != PPSCHED_NONE && status == PPSCHED_OK; i = deferral->next[i])
        status = put_held(deferral, &deferral->received[i], error);
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
        struct ppi_transfer transfer;
        i += length;
        if (ppi_is_receive(unit->kind) && ppi_transfer_in(deferral->schedule, unit, &transfer)) {
            hold(deferral, &transfer);
            continue;
        }
        if (ppi_is_send(unit->kind) && ppi_transfer_out(deferral->schedule, unit, &transfer) && device < transfer.to)
            status = put_all_from(deferral, transfer.to, error);
        else
            status = put_inputs(deferral, unit, error);
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
    size_t most = ppi_longest_queue(schedule);
    deferral.held = ppi_allocate_zeroed(host, ppi_transfer_numbers(schedule), sizeof *deferral.held);
    deferral.received = ppi_allocate(host, most, sizeof *deferral.received);
    deferral.next = ppi_allocate(host, most, sizeof *deferral.next);
    deferral.first = ppi_allocate(host, schedule->shape.devices, 2 * sizeof *deferral.first);
    if (deferral.held == NULL || deferral.received == NULL || deferral.next == NULL || deferral.first == NULL)
        status = ppi_fail_memory(error, "the lowering");
    else
        deferral.last = deferral.first + schedule->shape.devices;
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        status = defer_device(&deferral, d, error);
    ppi_release(host, deferral.first);
    ppi_release(host, deferral.next);
    ppi_release(host, deferral.received);
    ppi_release(host, deferral.held);
    return status;
}
