/* SPDX-License-Identifier: Apache-2.0 */
/* Receives as late as is safe. All devices run as if sends and receives blocked both sides until they meet; a receive is right
 * before its consumer. In a wait cycle of devices, the receive of one of their sends is moved to the front: to where its device
 * waits. So there is one common history in which each send meets its receive, and under no channel, however it orders or
 * blocks, can the devices deadlock.
 *
 * With a prefetch distance (lead), a device also waits for the receives of that many next units before it runs a unit. In a
 * wait cycle the device whose receive is farthest ahead drops it until it has run one more unit. */
#include "base/error.h"
#include "lower/inputs.h"
#include "lower/passes.h"

/* What a device waits for. */
enum wait { RUNS, SENDS, RECEIVES, ENDED /* or at a flush */ };

struct device {
    size_t position; /* of its next unit */
    uint32_t sent;   /* ops ops of the unit before it whose sends are written */
    enum wait wait;
    uint32_t ahead;               /* how many units ahead the receive is, if it receives */
    uint32_t reach;               /* how many units ahead it waits for; at most `lead` */
    struct ppi_transfer transfer; /* the transfer that it sends or receives */
    uint32_t mark;                /* number of the last walk along waiting devices */
};

struct history {
    const ppsched_schedule *schedule;
    ppsched_builder *out;
    bool *there; /* by transfer number: an input is ready */
    struct device *devices;
    uint32_t *ready, ready_count; /* stack of devices that can continue */
    uint32_t mark;
    uint32_t iteration_end; /* first microbatch after the next flush */
    uint32_t lead;
};

static bool meets(const struct device *from, const struct device *to)
{
    return from->wait == SENDS && to->wait == RECEIVES && from->transfer.number == to->transfer.number;
}

/* Writes a send and its receive; both devices may continue. */
static ppsched_status meet(struct history *history, const struct ppi_transfer *transfer, ppsched_error *error)
{
    struct device *from = &history->devices[transfer->from], *to = &history->devices[transfer->to];
    const struct ppi_transfer met = *transfer;
    history->there[met.number] = true;
    ppsched_status status = ppi_builder_append(history->out, met.from, &met.send, 1, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_append(history->out, met.to, &met.receive, 1, error);
    from->wait = RUNS;
    from->sent++;
    history->ready[history->ready_count++] = met.from;
    if (to->wait == RECEIVES && to->transfer.number == met.number) {
        to->wait = RUNS;
        history->ready[history->ready_count++] = met.to;
    }
    return status;
}

/* Finds the next send of the unit before a device's position. */
static bool next_send(struct history *history, uint32_t d, struct ppi_transfer *out)
{
    struct device *device = &history->devices[d];
    const ppsched_op *ops = history->schedule->queues[d].ops;
    size_t length = device->position >= 2 && ppi_unit_length(&ops[device->position - 2]) == 2 ? 2 : 1;
    for (; device->position > 0 && device->sent < length; device->sent++)
        if (ppi_transfer_out(history->schedule, &ops[device->position - length + device->sent], out))
            return true;
    return false;
}

/* The worst missing input of a unit: none, one of its own device, one of another device. */
enum missing { NOTHING, OWN_VALUE, TRANSFER };

/* `*out`: the first missing input from another device. */
static enum missing missing_input(const struct history *history, const ppsched_op *unit, struct ppi_transfer *out)
{
    enum missing missing = NOTHING;
    for (size_t i = 0; i < ppi_unit_length(unit); i++) {
        uint32_t input = ppi_input_of(history->schedule, &unit[i]);
        if (input == PPSCHED_NONE || history->there[input])
            continue;
        if (ppi_transfer_in(history->schedule, &unit[i], out))
            return TRANSFER;
        missing = OWN_VALUE;
    }
    return missing;
}

/* Whether the sender of an input waits to send it; `*out`: the first such input. */
static bool offered_input(const struct history *history, const ppsched_op *unit, struct ppi_transfer *out)
{
    struct ppi_transfer transfer;
    for (size_t i = 0; i < ppi_unit_length(unit); i++) {
        if (!ppi_transfer_in(history->schedule, &unit[i], &transfer))
            continue;
        const struct device *from = &history->devices[transfer.from];
        if (from->wait != SENDS || from->transfer.number != transfer.number)
            continue;
        *out = transfer;
        return true;
    }
    return false;
}

/* Finds what a device receives for the units within its lead: an offered input, else one it waits for. `found`: it waits for an
 * input of its next unit. */
static bool next_ahead(const struct history *history, uint32_t d, struct device *device, bool found)
{
    const ppsched_queue *queue = &history->schedule->queues[d];
    size_t position = device->position;
    device->ahead = 0;
    for (uint32_t i = 0; i < history->lead; i++) {
        position += ppi_unit_length(&queue->ops[position]);
        if (position == queue->count || ppi_waits_for_flush(&queue->ops[position], history->iteration_end))
            break;
        if (offered_input(history, &queue->ops[position], &device->transfer)) {
            device->ahead = 0;
            return true;
        }
        if (!found && i < device->reach && missing_input(history, &queue->ops[position], &device->transfer) == TRANSFER) {
            found = true;
            device->ahead = i + 1;
        }
    }
    return found;
}

/* The missing input of a device; if a transfer, the one that it receives next. */
static enum missing next_receive(const struct history *history, uint32_t d, struct device *device)
{
    enum missing missing = missing_input(history, &history->schedule->queues[d].ops[device->position], &device->transfer);
    return history->lead > 0 && next_ahead(history, d, device, missing == TRANSFER) ? TRANSFER : missing;
}

/* Runs a device until it waits. */
static ppsched_status run_device(struct history *history, uint32_t d, ppsched_error *error)
{
    const ppsched_queue *queue = &history->schedule->queues[d];
    struct device *device = &history->devices[d];
    for (;;) {
        if (next_send(history, d, &device->transfer)) {
            device->wait = SENDS;
            return meets(device, &history->devices[device->transfer.to]) ? meet(history, &device->transfer, error) : PPSCHED_OK;
        }
        if (device->position == queue->count || ppi_waits_for_flush(&queue->ops[device->position], history->iteration_end)) {
            device->wait = ENDED;
            return PPSCHED_OK;
        }
        const enum missing missing = next_receive(history, d, device);
        if (missing == TRANSFER) {
            device->wait = RECEIVES;
            return meets(&history->devices[device->transfer.from], device) ? meet(history, &device->transfer, error)
                                                                           : PPSCHED_OK;
        }
        const ppsched_op *unit = &queue->ops[device->position];
        size_t length = ppi_unit_length(unit);
        if (missing == OWN_VALUE)
            return PPSCHED_ERROR_INVALID_SCHEDULE; /* another stage of the device comes too late */
        ppsched_status status = ppi_builder_append(history->out, d, unit, length, error);
        if (status != PPSCHED_OK)
            return status;
        for (size_t i = 0; i < length; i++)
            if (!ppi_transfer_out(history->schedule, &unit[i], &device->transfer) && device->transfer.number != PPSCHED_NONE)
                history->there[device->transfer.number] = true;
        device->position += length;
        device->sent = 0;
        device->reach = history->lead;
    }
}

static uint32_t waits_for(const struct device *device)
{
    return device->wait == SENDS ? device->transfer.to : device->transfer.from;
}

/* Whether a device, rather than another of a wait cycle, should drop its receive, or have its send received. */
static bool is_more_willing(const struct device *device, const struct device *other)
{
    if (device->wait == RECEIVES)
        return device->ahead > 0 && (other == NULL || other->wait == SENDS || device->ahead > other->ahead);
    return other == NULL;
}

/* The device of a wait cycle that gives way: the first on the walk that waits farthest ahead, else one that sends; PPSCHED_NONE
 * if the walk from `d` ends, or all wait for what they need now: then the order itself deadlocks. */
static uint32_t find_willing(struct history *history, uint32_t d)
{
    uint32_t willing = PPSCHED_NONE;
    history->mark++;
    while (history->devices[d].mark != history->mark) {
        if (history->devices[d].wait == ENDED)
            return PPSCHED_NONE;
        history->devices[d].mark = history->mark;
        d = waits_for(&history->devices[d]);
    }
    for (uint32_t first = d;;) {
        if (is_more_willing(&history->devices[d], willing == PPSCHED_NONE ? NULL : &history->devices[willing]))
            willing = d;
        d = waits_for(&history->devices[d]);
        if (d == first)
            return willing;
    }
}

/* When all devices wait: one drops its lead, or a receive is hoisted. INVALID_SCHEDULE if neither helps; OK with none ready if
 * all have ended. */
static ppsched_status resolve(struct history *history, uint32_t *next, ppsched_error *error)
{
    uint32_t devices = history->schedule->shape.devices;
    while (*next < devices && history->devices[*next].wait == ENDED)
        ++*next; /* devices before it never wait again */
    if (*next == devices)
        return PPSCHED_OK;
    uint32_t willing = find_willing(history, *next);
    if (willing == PPSCHED_NONE)
        return PPSCHED_ERROR_INVALID_SCHEDULE;
    struct device *device = &history->devices[willing];
    if (device->wait == SENDS)
        return meet(history, &device->transfer, error);
    device->reach = device->ahead - 1;
    device->wait = RUNS;
    history->ready[history->ready_count++] = willing;
    return PPSCHED_OK;
}

/* Runs until all devices have ended, or reached a flush. */
static ppsched_status run(struct history *history, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    uint32_t next = 0;
    for (uint32_t d = history->schedule->shape.devices; d-- > 0;)
        history->ready[history->ready_count++] = d;
    while (status == PPSCHED_OK && history->ready_count > 0) {
        while (status == PPSCHED_OK && history->ready_count > 0)
            status = run_device(history, history->ready[--history->ready_count], error);
        if (status == PPSCHED_OK)
            status = resolve(history, &next, error);
    }
    return status;
}

static ppsched_status run_iterations(struct history *history, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < history->schedule->shape.devices; d++)
        history->devices[d].reach = history->lead;
    for (uint32_t i = 0; i < history->schedule->shape.iterations && status == PPSCHED_OK; i++) {
        history->iteration_end = ppi_iteration_end(history->schedule, i);
        status = run(history, error);
    }
    return status;
}

ppsched_status ppi_lower_just_in_time(ppsched_builder *out, const ppsched_schedule *schedule, uint32_t lead,
                                      ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct history history = {.schedule = schedule, .out = out, .lead = lead};
    history.there = ppi_allocate_zeroed(host, ppi_transfer_numbers(schedule), sizeof *history.there);
    history.devices = ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *history.devices);
    history.ready = ppi_allocate(host, schedule->shape.devices, 2 * sizeof *history.ready);
    ppsched_status status = PPSCHED_OK;
    if (history.there == NULL || history.devices == NULL || history.ready == NULL)
        status = ppi_fail_memory(error, "the lowering");
    else
        status = run_iterations(&history, error);
    ppi_release(host, history.ready);
    ppi_release(host, history.devices);
    ppi_release(host, history.there);
    return status;
}
