/* SPDX-License-Identifier: Apache-2.0 */
/* A table by transfer number, filled in one pass over the ops. */
#include "ir/transfer.h"

#include <string.h>

#include "base/error.h"
#include "ir/ports.h"

ppsched_status ppi_transfers_make(struct ppi_transfers *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    size_t numbers = ppi_transfer_numbers(schedule);
    *out = (struct ppi_transfers){.schedule = schedule};
    if (schedule->op_count >= PPI_REPEATED)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%llu op%p are too many to match sends and receives",
                        (unsigned long long)schedule->op_count);
    if (numbers >= PPI_REPEATED)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%llu value%p between stages are too many to match sends and receives",
                        (unsigned long long)numbers / 2);
    out->ops = ppi_allocate(&schedule->host, numbers, sizeof *out->ops);
    if (out->ops == NULL)
        return ppi_fail_memory(error, "the transfers");
    memset(out->ops, 0xff, numbers * sizeof *out->ops); /* all PPSCHED_NONE */
    return PPSCHED_OK;
}

void ppi_transfers_clear(struct ppi_transfers *transfers)
{
    if (transfers->ops != NULL)
        ppi_release(&transfers->schedule->host, transfers->ops);
    transfers->ops = NULL;
}

static bool put(uint32_t *place, uint32_t i)
{
    bool is_first = *place == PPSCHED_NONE;
    *place = is_first ? i : PPI_REPEATED;
    return is_first;
}

uint32_t ppi_comm_number_on_graph(const ppsched_schedule *schedule, uint32_t device, const ppsched_op *comm)
{
    struct ppi_transfer transfer;
    return ppi_transfer_of(schedule, comm, device, &transfer) ? transfer.number : PPSCHED_NONE;
}

bool ppi_transfers_add_on_graph(struct ppi_transfers *transfers, uint32_t device, uint32_t i)
{
    const ppsched_op *op = &transfers->schedule->ops[i];
    struct ppi_transfer transfer;
    bool is_first = true;
    if (ppi_is_comm(op)) {
        uint32_t number = ppi_comm_number(transfers->schedule, device, op);
        struct ppi_transfer_ops *ops = &transfers->ops[number != PPSCHED_NONE ? number : 0];
        return number == PPSCHED_NONE || put(ppi_is_send(op->kind) ? &ops->send : &ops->receive, i);
    }
    if (ppi_seat_on(&transfers->schedule->placement, op->stage, device) == PPSCHED_NONE)
        return true;
    for (struct ppi_ports ports = ppi_ports_in(transfers->schedule, op, device); ppi_next_port(&ports, &transfer);)
        is_first = put(&transfers->ops[transfer.number].consumer, i) && is_first;
    for (struct ppi_ports ports = ppi_ports_out(transfers->schedule, op, device); ppi_next_port(&ports, &transfer);)
        is_first = put(&transfers->ops[transfer.number].producer, i) && is_first;
    return is_first;
}

bool ppi_transfers_add_in_chain(struct ppi_transfers *transfers, uint32_t i)
{
    const ppsched_op *op = &transfers->schedule->ops[i];
    struct ppi_transfer_ops *own = &transfers->ops[ppi_number_of(transfers->schedule, op)];
    if (ppi_is_receive(op->kind))
        return put(&own->receive, i);
    uint32_t output = ppi_output_of(transfers->schedule, op);
    if (ppi_is_send(op->kind))
        return output == PPSCHED_NONE || put(&transfers->ops[output].send, i);
    bool is_first = put(&own->consumer, i);
    return (output == PPSCHED_NONE || put(&transfers->ops[output].producer, i)) && is_first;
}

ppsched_status ppi_transfers_find(struct ppi_transfers *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_status status = ppi_transfers_make(out, schedule, error);
    for (uint32_t d = 0; status == PPSCHED_OK && d < schedule->shape.devices; d++)
        for (size_t i = schedule->queues[d].first; i < schedule->queues[d].first + schedule->queues[d].count; i++)
            if (ppi_passes_on(&schedule->ops[i]))
                ppi_transfers_add(out, d, (uint32_t)i);
    return status;
}
