/* SPDX-License-Identifier: Apache-2.0 */
/* Receives as late as is safe. All devices run as if sends and receives blocked both sides until they meet; a receive is right
 * before its consumer. In a wait cycle of devices, the receive of one of their sends is moved to the front: to where its device
 * waits. So there is one common history in which each send meets its receive, and under no channel, however it orders or
 * blocks, can the devices deadlock.
 *
 * With a prefetch distance (lead), a device also waits for the receives of that many next units before it runs a unit. In a
 * wait cycle the device whose receive is farthest ahead drops it until it has run one more unit.
 *
 * On a stage graph an op may have several inputs and outputs. An op of several devices runs when it is next on all of them,
 * with its inputs. */
#include "base/error.h"
#include "ir/ports.h"
#include "lower/inputs.h"
#include "lower/passes.h"

/* What a device waits for. */
enum wait { RUNS, SENDS, RECEIVES, GATHERS /* the other devices of its op */, ENDED /* or at a flush */ };

struct device {
    size_t position; /* of its next unit */
    uint32_t length; /* of the unit before it, in ops; 0 at the beginning */
    uint32_t sent;   /* ops of the unit before it whose sends are written */
    enum wait wait;
    uint32_t ahead;               /* how many units ahead the receive is, if it receives */
    uint32_t reach;               /* how many units ahead it waits for; at most `lead` */
    struct ppi_transfer transfer; /* the transfer that it sends or receives */
    uint32_t mark;                /* number of the last walk along waiting devices */
};

/* On a stage graph: what a device sends of the op before its position. */
struct sending {
    struct ppi_ports outputs;   /* after `output` */
    struct ppi_transfer output; /* the next, if `has_output` */
    bool has_output;
    uint32_t sent; /* those before `output` */
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
    const struct ppi_stage_graph *graph;
    struct sending *sendings; /* on a stage graph, by device */
    uint32_t *gathered;       /* on a stage graph, by stage: how many devices have come to its next op */
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

static void go_on_sending(struct sending *sending)
{
    sending->has_output = ppi_next_sent(&sending->outputs, &sending->output);
}

/* Finds the next send of an op of a stage graph, of which `sent` are written. */
PPI_APART bool next_on_graph(struct sending *sending, uint32_t sent, struct ppi_transfer *out)
{
    for (; sending->sent < sent; sending->sent++)
        go_on_sending(sending);
    *out = sending->output;
    return sending->has_output;
}

/* Finds the next send of the unit before a device's position. */
PPI_INLINE bool next_send_of(struct history *history, uint32_t d, bool on_graph, struct ppi_transfer *out)
{
    struct device *device = &history->devices[d];
    const ppsched_op *ops = history->schedule->queues[d].ops;
    if (on_graph)
        return next_on_graph(&history->sendings[d], device->sent, out);
    for (; device->sent < device->length; device->sent++)
        if (ppi_transfer_out(history->schedule, &ops[device->position - device->length + device->sent], out))
            return true;
    return false;
}

/* The worst missing input of a unit: none, one of its own device, one of another device. */
enum missing { NOTHING, OWN_VALUE, TRANSFER };

PPI_APART enum missing missing_on_graph(const struct history *history, uint32_t d, const ppsched_op *op,
                                        struct ppi_transfer *out)
{
    enum missing missing = NOTHING;
    struct ppi_transfer input;
    for (struct ppi_ports ports = ppi_ports_in(history->schedule, op, d); ppi_next_port(&ports, &input);) {
        if (history->there[input.number])
            continue;
        if (input.from != input.to) {
            *out = input;
            return TRANSFER;
        }
        missing = OWN_VALUE;
    }
    return missing;
}

/* `*out`: the first missing input from another device. */
PPI_INLINE enum missing missing_input(const struct history *history, uint32_t d, bool on_graph, const ppsched_op *unit,
                                      struct ppi_transfer *out)
{
    enum missing missing = NOTHING;
    if (on_graph)
        return missing_on_graph(history, d, unit, out);
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

/* Whether the sender of a transfer waits to send it. */
static bool is_offered(const struct history *history, const struct ppi_transfer *transfer)
{
    const struct device *from = &history->devices[transfer->from];
    return from->wait == SENDS && from->transfer.number == transfer->number;
}

PPI_APART bool offered_on_graph(const struct history *history, uint32_t d, const ppsched_op *op, struct ppi_transfer *out)
{
    struct ppi_transfer transfer;
    for (struct ppi_ports ports = ppi_ports_in(history->schedule, op, d); ppi_next_sent(&ports, &transfer);)
        if (is_offered(history, &transfer)) {
            *out = transfer;
            return true;
        }
    return false;
}

/* Whether the sender of an input waits to send it; `*out`: the first such input. */
PPI_INLINE bool offered_input(const struct history *history, uint32_t d, bool on_graph, const ppsched_op *unit,
                              struct ppi_transfer *out)
{
    struct ppi_transfer transfer;
    if (on_graph)
        return offered_on_graph(history, d, unit, out);
    for (size_t i = 0; i < ppi_unit_length(unit); i++) {
        if (!ppi_transfer_in(history->schedule, &unit[i], &transfer) || !is_offered(history, &transfer))
            continue;
        *out = transfer;
        return true;
    }
    return false;
}

/* Finds what a device receives for the units within its lead: an offered input, else one it waits for. `found`: it waits for an
 * input of its next unit. */
PPI_INLINE bool next_ahead(const struct history *history, uint32_t d, bool on_graph, struct device *device, bool found)
{
    const ppsched_queue *queue = &history->schedule->queues[d];
    size_t position = device->position;
    device->ahead = 0;
    for (uint32_t i = 0; i < history->lead; i++) {
        position += ppi_unit_length(&queue->ops[position]);
        if (position == queue->count || ppi_waits_for_flush(&queue->ops[position], history->iteration_end))
            break;
        if (offered_input(history, d, on_graph, &queue->ops[position], &device->transfer)) {
            device->ahead = 0;
            return true;
        }
        if (!found && i < device->reach &&
            missing_input(history, d, on_graph, &queue->ops[position], &device->transfer) == TRANSFER) {
            found = true;
            device->ahead = i + 1;
        }
    }
    return found;
}

/* Both apart from the loop, which is faster without a lead. */
PPI_APART bool next_ahead_on_graph(const struct history *history, uint32_t d, struct device *device, bool found)
{
    return next_ahead(history, d, true, device, found);
}

PPI_APART bool next_ahead_in_chain(const struct history *history, uint32_t d, struct device *device, bool found)
{
    return next_ahead(history, d, false, device, found);
}

/* The missing input of a device; if a transfer, the one that it receives next. */
PPI_INLINE enum missing next_receive(const struct history *history, uint32_t d, bool on_graph, struct device *device)
{
    enum missing missing = missing_input(history, d, on_graph, &history->schedule->queues[d].ops[device->position],
                                         &device->transfer);
    if (history->lead == 0)
        return missing;
    const bool found = missing == TRANSFER;
    return (on_graph ? next_ahead_on_graph(history, d, device, found) : next_ahead_in_chain(history, d, device, found))
               ? TRANSFER
               : missing;
}

/* Runs the op that is next on a device of a stage graph, if that is there: what stays on the device is there at once. */
PPI_APART ppsched_status run_on_graph(struct history *history, uint32_t d, ppsched_error *error)
{
    struct device *device = &history->devices[d];
    const ppsched_op *op = &history->schedule->queues[d].ops[device->position];
    struct ppi_transfer own;
    for (struct ppi_ports ports = ppi_ports_out(history->schedule, op, d); ppi_next_port(&ports, &own);)
        if (own.from == own.to)
            history->there[own.number] = true;
    history->sendings[d].outputs = ppi_ports_out(history->schedule, op, d);
    history->sendings[d].sent = device->sent = 0;
    go_on_sending(&history->sendings[d]);
    device->position++;
    device->reach = history->lead;
    return ppi_builder_append(history->out, d, op, 1, error);
}

/* A device has come to an op that it may run; the last of the op's devices runs it on all of them. `*waits`: not the last. */
PPI_APART ppsched_status come_to(struct history *history, uint32_t d, bool *waits, ppsched_error *error)
{
    uint32_t stage = history->schedule->queues[d].ops[history->devices[d].position].stage, count = 0;
    const uint32_t *devices = ppi_devices_of(&history->schedule->placement, stage, &count);
    ppsched_status status = PPSCHED_OK;
    *waits = ++history->gathered[stage] < count;
    if (*waits) {
        history->devices[d].wait = GATHERS;
        return PPSCHED_OK;
    }
    history->gathered[stage] = 0;
    for (uint32_t i = 0; i < count && status == PPSCHED_OK; i++) {
        struct device *other = &history->devices[devices[i]];
        status = run_on_graph(history, devices[i], error);
        if (devices[i] != d) {
            other->wait = RUNS;
            history->ready[history->ready_count++] = devices[i];
        }
    }
    return status;
}

/* Runs a device until it waits. */
PPI_INLINE ppsched_status run_device(struct history *history, uint32_t d, bool on_graph, ppsched_error *error)
{
    const ppsched_queue *queue = &history->schedule->queues[d];
    struct device *device = &history->devices[d];
    for (;;) {
        if (next_send_of(history, d, on_graph, &device->transfer)) {
            device->wait = SENDS;
            return meets(device, &history->devices[device->transfer.to]) ? meet(history, &device->transfer, error) : PPSCHED_OK;
        }
        if (device->position == queue->count || ppi_waits_for_flush(&queue->ops[device->position], history->iteration_end)) {
            device->wait = ENDED;
            return PPSCHED_OK;
        }
        const enum missing missing = next_receive(history, d, on_graph, device);
        if (missing == TRANSFER) {
            device->wait = RECEIVES;
            return meets(&history->devices[device->transfer.from], device) ? meet(history, &device->transfer, error)
                                                                           : PPSCHED_OK;
        }
        const ppsched_op *unit = &queue->ops[device->position];
        size_t length = ppi_unit_length(unit);
        if (missing == OWN_VALUE)
            return PPSCHED_ERROR_INVALID_SCHEDULE; /* another stage of the device comes too late */
        if (on_graph) {
            bool waits = false;
            ppsched_status came = come_to(history, d, &waits, error);
            if (came != PPSCHED_OK || waits)
                return came;
            continue;
        }
        ppsched_status status = ppi_builder_append(history->out, d, unit, length, error);
        if (status != PPSCHED_OK)
            return status;
        for (size_t i = 0; i < length; i++)
            if (!ppi_transfer_out(history->schedule, &unit[i], &device->transfer) && device->transfer.number != PPSCHED_NONE)
                history->there[device->transfer.number] = true;
        device->position += length;
        device->length = (uint32_t)length;
        device->sent = 0;
        device->reach = history->lead;
    }
}

/* A device of an op that has not come to it. */
PPI_APART uint32_t absent_from(const struct history *history, uint32_t d)
{
    const ppsched_queue *queues = history->schedule->queues;
    const ppsched_op *op = &queues[d].ops[history->devices[d].position];
    uint32_t count = 0;
    const uint32_t *devices = ppi_devices_of(&history->schedule->placement, op->stage, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct device *other = &history->devices[devices[i]];
        if (other->wait != GATHERS || !ppi_is_same_op(&queues[devices[i]].ops[other->position], op))
            return devices[i];
    }
    return d;
}

PPI_INLINE uint32_t waits_for(const struct history *history, uint32_t d, bool on_graph)
{
    const struct device *device = &history->devices[d];
    if (on_graph && device->wait == GATHERS)
        return absent_from(history, d);
    return device->wait == SENDS ? device->transfer.to : device->transfer.from;
}

/* Whether a device, rather than another of a wait cycle, should drop its receive, or have its send received. */
PPI_INLINE bool is_more_willing(const struct device *device, const struct device *other, bool on_graph)
{
    if (device->wait == RECEIVES)
        return device->ahead > 0 && (other == NULL || other->wait == SENDS || device->ahead > other->ahead);
    return other == NULL && (!on_graph || device->wait == SENDS);
}

/* The device of a wait cycle that gives way: the first on the walk that waits farthest ahead, else one that sends; PPSCHED_NONE
 * if the walk from `d` ends, or all wait for what they need now: then the order itself deadlocks. */
PPI_INLINE uint32_t find_willing(struct history *history, uint32_t d, bool on_graph)
{
    uint32_t willing = PPSCHED_NONE;
    history->mark++;
    while (history->devices[d].mark != history->mark) {
        if (history->devices[d].wait == ENDED)
            return PPSCHED_NONE;
        history->devices[d].mark = history->mark;
        d = waits_for(history, d, on_graph);
    }
    for (uint32_t first = d;;) {
        if (is_more_willing(&history->devices[d], willing == PPSCHED_NONE ? NULL : &history->devices[willing], on_graph))
            willing = d;
        d = waits_for(history, d, on_graph);
        if (d == first)
            return willing;
    }
}

/* When all devices wait: one drops its lead, or a receive is hoisted. INVALID_SCHEDULE if neither helps; OK with none ready if
 * all have ended. */
PPI_INLINE ppsched_status resolve(struct history *history, uint32_t *next, bool on_graph, ppsched_error *error)
{
    uint32_t devices = history->schedule->shape.devices;
    while (*next < devices && history->devices[*next].wait == ENDED)
        ++*next; /* devices before it never wait again */
    if (*next == devices)
        return PPSCHED_OK;
    uint32_t willing = find_willing(history, *next, on_graph);
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
PPI_INLINE ppsched_status run_history(struct history *history, bool on_graph, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    uint32_t next = 0;
    for (uint32_t d = history->schedule->shape.devices; d-- > 0;)
        history->ready[history->ready_count++] = d;
    while (status == PPSCHED_OK && history->ready_count > 0) {
        while (status == PPSCHED_OK && history->ready_count > 0)
            status = run_device(history, history->ready[--history->ready_count], on_graph, error);
        if (status == PPSCHED_OK)
            status = resolve(history, &next, on_graph, error);
    }
    return status;
}

/* A copy of the code, so that chains do not ask for a graph in each step. */
PPI_APART ppsched_status run_graph(struct history *history, ppsched_error *error)
{
    return run_history(history, true, error);
}

static ppsched_status run_history_iterations(struct history *history, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < history->schedule->shape.devices; d++)
        history->devices[d].reach = history->lead;
    for (uint32_t i = 0; i < history->schedule->shape.iterations && status == PPSCHED_OK; i++) {
        history->iteration_end = ppi_iteration_end(history->schedule, i);
        status = history->graph != NULL ? run_graph(history, error) : run_history(history, false, error);
    }
    return status;
}

ppsched_status ppi_lower_just_in_time(ppsched_builder *out, const ppsched_schedule *schedule, uint32_t lead,
                                      ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct history history = {.schedule = schedule, .out = out, .lead = lead, .graph = schedule->placement.graph};
    history.there = ppi_allocate_zeroed(host, ppi_transfer_numbers(schedule), sizeof *history.there);
    history.devices = ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *history.devices);
    history.ready = ppi_allocate(host, schedule->shape.devices, 2 * sizeof *history.ready);
    if (history.graph != NULL) {
        history.gathered = ppi_allocate_zeroed(host, schedule->shape.stages, sizeof *history.gathered);
        history.sendings = ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *history.sendings);
    }
    ppsched_status status = PPSCHED_OK;
    if (history.there == NULL || history.devices == NULL || history.ready == NULL ||
        (history.graph != NULL && (history.gathered == NULL || history.sendings == NULL)))
        status = ppi_fail_memory(error, "the lowering");
    else
        status = run_history_iterations(&history, error);
    ppi_release(host, history.sendings);
    ppi_release(host, history.gathered);
    ppi_release(host, history.ready);
    ppi_release(host, history.devices);
    ppi_release(host, history.there);
    return status;
}
