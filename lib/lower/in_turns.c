/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's lowering: the devices take turns, each with at most one op or overlapped pair a turn, if its inputs are there. What
 * it sends is received where the other device is at that moment. So all devices list the transfers in the order of one common
 * history, in which a send and its receive stand together: even where both block nothing waits in a circle. */
#include "base/error.h"
#include "lower/passes.h"
#include "lower/transfer.h"

struct turns {
    const ppsched_schedule *schedule;
    ppsched_builder *out;
    uint8_t *there;   /* inputs, by stage pass */
    size_t *position; /* of each device */
    uint32_t iteration_end; /* first microbatch behind the next flush */
};

static ppsched_status put_transfer(struct turns *turns, const ppsched_op *op, ppsched_error *error)
{
    struct ppi_transfer transfer;
    ppi_note_output(turns->schedule, turns->there, op);
    if (!ppi_transfer_of(turns->schedule, op, &transfer))
        return PPSCHED_OK;
    ppsched_status status = ppi_builder_append(turns->out, transfer.from, &transfer.send, 1, error);
    return status == PPSCHED_OK ? ppi_builder_append(turns->out, transfer.to, &transfer.receive, 1, error) : status;
}

/* The next unit of a device, with all that it sends; an F's before a B's. */
static ppsched_status take_turn(struct turns *turns, uint32_t device, ppsched_error *error)
{
    const ppsched_op *unit = &turns->schedule->queues[device].ops[turns->position[device]];
    size_t length = ppi_unit_length(unit);
    ppsched_status status = ppi_builder_append(turns->out, device, unit, length, error);
    for (size_t i = 0; i < length && status == PPSCHED_OK; i++)
        status = put_transfer(turns, &unit[i], error);
    turns->position[device] += length;
    return status;
}

/* Whether a device's next unit can run; false at the end of its queue, too. */
static bool has_turn(const struct turns *turns, uint32_t device)
{
    const ppsched_queue *queue = &turns->schedule->queues[device];
    if (turns->position[device] == queue->count)
        return false;
    const ppsched_op *unit = &queue->ops[turns->position[device]];
    return !ppi_waits_for_flush(unit, turns->iteration_end) && ppi_inputs_are_there(turns->schedule, turns->there, unit);
}

/* Until no device can go on. */
static ppsched_status run(struct turns *turns, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (bool progress = true; progress && status == PPSCHED_OK;) {
        progress = false;
        for (uint32_t d = 0; d < turns->schedule->shape.devices && status == PPSCHED_OK; d++)
            if (has_turn(turns, d)) {
                progress = true;
                status = take_turn(turns, d, error);
            }
    }
    return status;
}

static ppsched_status run_iterations(struct turns *turns, ppsched_error *error)
{
    const ppsched_schedule *schedule = turns->schedule;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < schedule->shape.iterations && status == PPSCHED_OK; i++) {
        turns->iteration_end = ppi_iteration_end(schedule, i);
        status = run(turns, error);
    }
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        if (turns->position[d] < schedule->queues[d].count)
            status = PPSCHED_ERROR_INVALID_SCHEDULE;
    return status;
}

ppsched_status ppi_lower_in_turns(ppsched_builder *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct turns turns = {.schedule = schedule, .out = out};
    turns.there = ppi_allocate_zeroed(host, ppi_cell_count(schedule), 1);
    turns.position = ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *turns.position);
    ppsched_status status = PPSCHED_OK;
    if (turns.there == NULL || turns.position == NULL)
        status = ppi_fail_memory(error, "the lowering");
    else
        status = run_iterations(&turns, error);
    ppi_release(host, turns.position);
    ppi_release(host, turns.there);
    return status;
}
