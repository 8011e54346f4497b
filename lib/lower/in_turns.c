/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's lowering: devices take turns, each with at most one op or overlapped pair per turn, if its inputs are ready. Its
 * sends are received at the current position of the other device. So all devices list the transfers in the order of one common
 * history, in which a send is next to its receive: even if both block, there is no wait cycle. */
#include "base/error.h"
#include "base/heap.h"
#include "lower/inputs.h"
#include "lower/passes.h"

/* The devices that may have a turn in a round, the lowest first. A device is at most once in `devices`: then `has` is set. */
struct round {
    struct ppi_heap devices;
    bool *has; /* by device */
};

struct turns {
    const ppsched_schedule *schedule;
    ppsched_builder *out;
    bool *there;            /* by transfer number: an input is ready */
    bool *waits;            /* by device: its next turn goes to the wait for a reduction */
    bool has_waits;         /* each REDUCE_GRAD is followed by such a wait */
    size_t *position;       /* by device: of its next unit */
    uint32_t iteration_end; /* first microbatch after the next flush */
    struct round now, next; /* two rounds, so that a round costs no more than the turns in it */
};

static void invite(struct round *round, uint32_t device)
{
    if (round->has[device])
        return;
    round->has[device] = true;
    ppi_heap_put(&round->devices, device, 0, device);
}

static ppsched_status put_transfer(struct turns *turns, const ppsched_op *op, ppsched_error *error)
{
    struct ppi_transfer transfer;
    ppi_note_output(turns->schedule, turns->there, op);
    if (!ppi_transfer_out(turns->schedule, op, &transfer))
        return PPSCHED_OK;
    invite(transfer.to > transfer.from ? &turns->now : &turns->next, transfer.to);
    ppsched_status status = ppi_builder_append(turns->out, transfer.from, &transfer.send, 1, error);
    return status == PPSCHED_OK ? ppi_builder_append(turns->out, transfer.to, &transfer.receive, 1, error) : status;
}

/* Writes a device's next unit, with all its sends; an F's before a B's. */
static ppsched_status take_turn(struct turns *turns, uint32_t device, ppsched_error *error)
{
    const ppsched_op *unit = &turns->schedule->queues[device].ops[turns->position[device]];
    size_t length = ppi_unit_length(unit);
    ppsched_status status = ppi_builder_append(turns->out, device, unit, length, error);
    for (size_t i = 0; i < length && status == PPSCHED_OK; i++)
        status = put_transfer(turns, &unit[i], error);
    turns->position[device] += length;
    turns->waits[device] = turns->has_waits && unit->kind == PPSCHED_KIND_REDUCE_GRAD;
    return status;
}

/* Gives the turn of a wait for a reduction to the device, if it has one. */
static bool take_wait(struct turns *turns, uint32_t device)
{
    if (!turns->waits[device])
        return false;
    turns->waits[device] = false;
    invite(&turns->next, device);
    return true;
}

/* Whether a device's next unit can run; false also at the end of its queue. */
static bool has_turn(const struct turns *turns, uint32_t device)
{
    const ppsched_queue *queue = &turns->schedule->queues[device];
    if (turns->position[device] == queue->count)
        return false;
    const ppsched_op *unit = &queue->ops[turns->position[device]];
    return !ppi_waits_for_flush(unit, turns->iteration_end) && ppi_inputs_are_there(turns->schedule, turns->there, unit);
}

/* Gives the devices of a round their turns, from the lowest to the highest. */
static ppsched_status run_round(struct turns *turns, ppsched_error *error)
{
    struct ppi_event event;
    ppsched_status status = PPSCHED_OK;
    while (status == PPSCHED_OK && ppi_heap_take(&turns->now.devices, &event)) {
        turns->now.has[event.index] = false;
        if (take_wait(turns, event.index) || !has_turn(turns, event.index))
            continue; /* without a turn it is invited again once its input is ready */
        invite(&turns->next, event.index);
        status = take_turn(turns, event.index, error);
    }
    return status;
}

/* Runs rounds until no device can continue. */
static ppsched_status run_turns(struct turns *turns, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < turns->schedule->shape.devices; d++)
        invite(&turns->now, d);
    while (status == PPSCHED_OK && turns->now.devices.count > 0) {
        status = run_round(turns, error);
        struct round ended = turns->now;
        turns->now = turns->next;
        turns->next = ended;
    }
    return status;
}

static ppsched_status run_turn_iterations(struct turns *turns, ppsched_error *error)
{
    const ppsched_schedule *schedule = turns->schedule;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < schedule->shape.iterations && status == PPSCHED_OK; i++) {
        turns->iteration_end = ppi_iteration_end(schedule, i);
        status = run_turns(turns, error);
    }
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        if (turns->position[d] < schedule->queues[d].count)
            status = PPSCHED_ERROR_INVALID_SCHEDULE;
    return status;
}

static ppsched_status make_room(struct turns *turns, ppsched_error *error)
{
    const struct ppi_host *host = &turns->schedule->host;
    uint32_t devices = turns->schedule->shape.devices;
    turns->there = ppi_allocate_zeroed(host, ppi_transfer_numbers(turns->schedule), sizeof *turns->there);
    turns->waits = ppi_allocate_zeroed(host, devices, sizeof *turns->waits);
    turns->position = ppi_allocate_zeroed(host, devices, sizeof *turns->position);
    turns->now.has = ppi_allocate_zeroed(host, devices, sizeof *turns->now.has);
    turns->next.has = ppi_allocate_zeroed(host, devices, sizeof *turns->next.has);
    turns->now.devices.events = ppi_allocate(host, devices, sizeof *turns->now.devices.events);
    turns->next.devices.events = ppi_allocate(host, devices, sizeof *turns->next.devices.events);
    if (turns->there == NULL || turns->waits == NULL || turns->position == NULL || turns->now.has == NULL ||
        turns->next.has == NULL || turns->now.devices.events == NULL || turns->next.devices.events == NULL)
        return ppi_fail_memory(error, "the lowering");
    return PPSCHED_OK;
}

ppsched_status ppi_lower_in_turns(ppsched_builder *out, const ppsched_schedule *schedule, bool has_waits, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct turns turns = {.schedule = schedule, .out = out, .has_waits = has_waits};
    ppsched_status status = make_room(&turns, error);
    if (status == PPSCHED_OK)
        status = run_turn_iterations(&turns, error);
    ppi_release(host, turns.next.devices.events);
    ppi_release(host, turns.now.devices.events);
    ppi_release(host, turns.next.has);
    ppi_release(host, turns.now.has);
    ppi_release(host, turns.position);
    ppi_release(host, turns.waits);
    ppi_release(host, turns.there);
    return status;
}
