/* SPDX-License-Identifier: Apache-2.0 */
/* A table by transfer number, filled in one pass over the ops. */
#include "ir/transfer.h"

#include <string.h>

#include "base/error.h"

ppsched_status ppi_transfers_make(struct ppi_transfers *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    size_t numbers = ppi_transfer_numbers(schedule);
    *out = (struct ppi_transfers){.schedule = schedule};
    if (schedule->op_count >= PPI_REPEATED)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%llu ops are too many to match sends and receives",
                        (unsigned long long)schedule->op_count);
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

bool ppi_transfers_add(struct ppi_transfers *transfers, uint32_t i)
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
    for (uint32_t i = 0; status == PPSCHED_OK && i < schedule->op_count; i++)
        if (ppi_passes_on(&schedule->ops[i]))
            ppi_transfers_add(out, i);
    return status;
}
