/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes the ops of each stage pass, then fills each op's waits in queue order. */
#include "eval/sender_waits.h"

#include "base/checked.h"
#include "base/error.h"

struct filling {
    struct ppi_senders *senders;
    const ppsched_schedule *schedule;
    const struct ppi_costs *costs;
};

ppsched_status ppi_senders_make(struct ppi_senders **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    const size_t cells = ppi_cell_count(schedule);
    struct ppi_senders *senders = ppi_allocate_zeroed(host, 1, sizeof *senders);
    if (senders == NULL)
        return ppi_fail_memory(error, "the waits of senders");
    senders->ops = ppi_allocate(host, (size_t)schedule->op_count, sizeof *senders->ops);
    senders->forward = ppi_allocate(host, cells, sizeof *senders->forward);
    senders->backward = ppi_allocate(host, cells, sizeof *senders->backward);
    if (senders->ops == NULL || senders->forward == NULL || senders->backward == NULL) {
        ppi_senders_destroy(senders, host);
        return ppi_fail_memory(error, "the waits of senders");
    }
    *out = senders;
    return PPSCHED_OK;
}

void ppi_senders_destroy(struct ppi_senders *senders, const struct ppi_host *host)
{
    if (senders == NULL)
        return;
    ppi_release(host, senders->ops);
    ppi_release(host, senders->forward);
    ppi_release(host, senders->backward);
    ppi_release(host, senders);
}

static void note_passes(const struct filling *filling)
{
    const ppsched_schedule *schedule = filling->schedule;
    for (size_t cell = 0; cell < ppi_cell_count(schedule); cell++)
        filling->senders->forward[cell] = filling->senders->backward[cell] = PPI_NO_OP;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const ppsched_op *op = &schedule->ops[i];
        if (op->kind == PPSCHED_KIND_F)
            filling->senders->forward[ppi_cell_of(schedule, op)] = i;
        else if (ppi_is_backward(op->kind))
            filling->senders->backward[ppi_cell_of(schedule, op)] = i;
    }
}

static bool is_in_pair(const ppsched_schedule *schedule, size_t op)
{
    return ppi_unit_length(&schedule->ops[op]) == 2 || (op > 0 && ppi_unit_length(&schedule->ops[op - 1]) == 2);
}

/* Points to the device of an op's stage, among the devices of all stages of its copy of the model. */
static const uint32_t *device_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    size_t copy = ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch);
    return schedule->placement.device_of + copy * schedule->shape.stages + op->stage;
}

/* The op on another device that reads an op's output; PPI_NO_OP if that is in a pair. */
static size_t receiver_of(const struct filling *filling, const ppsched_op *op)
{
    const ppsched_schedule *schedule = filling->schedule;
    const uint32_t *device = device_of(schedule, op);
    size_t cell = ppi_cell_of(schedule, op), reader = PPI_NO_OP;
    if (op->kind == PPSCHED_KIND_F && op->stage + 1u < schedule->shape.stages && device[1] != device[0])
        reader = filling->senders->forward[cell + schedule->micro_slices];
    else if (ppi_is_backward(op->kind) && op->stage > 0 && device[-1] != device[0])
        reader = filling->senders->backward[cell - schedule->micro_slices];
    return reader != PPI_NO_OP && !is_in_pair(schedule, reader) ? reader : PPI_NO_OP;
}

/* Whether both are ops of one stage, direction and iteration: a flush comes after all transfers. */
static bool are_alike(const ppsched_schedule *schedule, const ppsched_op *a, const ppsched_op *b)
{
    return a->stage == b->stage && (a->kind == PPSCHED_KIND_F) == (b->kind == PPSCHED_KIND_F) &&
           (!schedule->flushes || a->microbatch / schedule->shape.microbatches == b->microbatch / schedule->shape.microbatches);
}

/* `previous`: the op before it, not in a pair, or PPI_NO_OP. */
static void fill_op(const struct filling *filling, size_t i, size_t previous)
{
    const ppsched_schedule *schedule = filling->schedule;
    const ppsched_op *op = &schedule->ops[i];
    struct ppi_sender *sender = &filling->senders->ops[i];
    const uint32_t *device = device_of(schedule, op);
    if (previous != PPI_NO_OP && are_alike(schedule, &schedule->ops[previous], op))
        sender->receiver = receiver_of(filling, &schedule->ops[previous]);
    if (sender->receiver != PPI_NO_OP) {
        sender->previous = previous;
        if (filling->costs != NULL)
            sender->turn = ppi_delay_of(filling->costs, schedule, &schedule->ops[sender->receiver], op->kind != PPSCHED_KIND_F);
    }
    if (op->kind != PPSCHED_KIND_W || op->stage + 1u == schedule->shape.stages || device[1] == device[0])
        return;
    sender->input = filling->senders->backward[ppi_cell_of(schedule, op)];
    if (sender->input != PPI_NO_OP && is_in_pair(schedule, sender->input))
        sender->input = PPI_NO_OP;
    if (filling->costs != NULL)
        sender->own = ppi_delay_of(filling->costs, schedule, op, true);
}

void ppi_senders_fill(struct ppi_senders *senders, const ppsched_schedule *schedule, const struct ppi_costs *costs)
{
    const struct filling filling = {senders, schedule, costs};
    note_passes(&filling);
    for (size_t i = 0; i < schedule->op_count; i++)
        senders->ops[i] = (struct ppi_sender){PPI_NO_OP, PPI_NO_OP, 0, PPI_NO_OP, 0, PPI_INFINITE};
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        size_t previous = PPI_NO_OP;
        for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
            const bool is_pair = ppi_unit_length(&queue->ops[i]) == 2;
            if (!ppi_is_compute(queue->ops[i].kind))
                continue;
            if (!is_pair)
                fill_op(&filling, queue->first + i, previous);
            previous = is_pair ? PPI_NO_OP : queue->first + i;
        }
    }
}
