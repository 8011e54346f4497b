/* SPDX-License-Identifier: Apache-2.0 */
#include "format/crossings.h"

#include "base/error.h"
#include "format/formats.h"

bool ppi_has_comm_ops(const ppsched_schedule *schedule)
{
    for (uint64_t i = 0; i < schedule->op_count; i++)
        if (ppi_is_send(schedule->ops[i].kind) || ppi_is_receive(schedule->ops[i].kind))
            return true;
    return false;
}

static bool goes_back(uint8_t kind)
{
    return ppi_is_backward(kind) || kind == PPSCHED_KIND_SEND_B || kind == PPSCHED_KIND_RECV_B;
}

static size_t number_of(const struct ppi_crossings *transfers, uint32_t stage, uint32_t microbatch, bool back)
{
    return 2 * ((size_t)stage * transfers->microbatches + microbatch) + back;
}

size_t ppi_crossing_out(const struct ppi_crossings *transfers, const ppsched_op *op)
{
    bool back = goes_back(op->kind);
    if (op->stage == (back ? 0 : transfers->stages - 1))
        return SIZE_MAX;
    return number_of(transfers, back ? op->stage - 1u : op->stage + 1u, op->microbatch, back);
}

size_t ppi_crossing_in(const struct ppi_crossings *transfers, const ppsched_op *op)
{
    bool back = goes_back(op->kind);
    if (op->stage == (back ? transfers->stages - 1 : 0))
        return SIZE_MAX;
    return number_of(transfers, op->stage, op->microbatch, back);
}

static void note_state(struct ppi_crossing *transfer, uint8_t state)
{
    transfer->state |= (transfer->state & state) != 0 ? PPI_CROSSING_REPEATED : state;
}

static void note_compute(struct ppi_crossings *transfers, const ppsched_op *op, const ppsched_span *span)
{
    size_t out = ppi_crossing_out(transfers, op), in = ppi_crossing_in(transfers, op);
    if (out != SIZE_MAX) {
        transfers->all[out].maker = op->kind;
        transfers->all[out].made = span != NULL ? span->end : 0;
    }
    if (in != SIZE_MAX)
        transfers->all[in].taker = op->kind;
}

static void note_op(struct ppi_crossings *transfers, const ppsched_op *op, const ppsched_span *span)
{
    bool send = ppi_is_send(op->kind);
    if (op->kind == PPSCHED_KIND_F || ppi_is_backward(op->kind))
        note_compute(transfers, op, span);
    if (!send && !ppi_is_receive(op->kind))
        return;
    size_t number = ppi_crossing_of(transfers, op);
    if (number == SIZE_MAX)
        return;
    note_state(&transfers->all[number], send ? PPI_CROSSING_SENT : PPI_CROSSING_RECEIVED);
    if (send && span != NULL)
        transfers->all[number].sending = *span;
}

ppsched_status ppi_crossings_make(struct ppi_crossings *out, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                                  ppsched_error *error)
{
    *out = (struct ppi_crossings){&schedule->host, schedule->shape.stages, ppi_total_microbatches(&schedule->shape), NULL};
    out->all = ppi_allocate_zeroed(&schedule->host, 2 * ppi_cell_count(schedule), sizeof *out->all);
    if (out->all == NULL)
        return ppi_fail_memory(error, "the transfers");
    for (uint64_t i = 0; i < schedule->op_count; i++)
        note_op(out, &schedule->ops[i], timeline != NULL ? &timeline->spans[i] : NULL);
    return PPSCHED_OK;
}

void ppi_crossings_clear(struct ppi_crossings *transfers)
{
    if (transfers->all != NULL)
        ppi_release(transfers->host, transfers->all);
    transfers->all = NULL;
}
