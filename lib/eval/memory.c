/* SPDX-License-Identifier: Apache-2.0 */
/* Most changes are where ops start and end, in queue order. Others (a send is done, parameters are gathered, gradients reduced)
 * wait in a heap for their time. At equal times queue order holds. */
#include "eval/memory.h"

#include "eval/comm_buffers.h"
#include "eval/memory_saving.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/heap.h"
#include "ir/stage_graph.h"

enum { SENT, GATHERED, DROPPED, REDUCED, OFFLOADED, RELOADING }; /* events of the heap */

/* A stage on the current device. */
struct holder {
    uint32_t device; /* for which the rest is valid */
    bool has_gradients, is_gathered;
    double gathered_until; /* when its UNSHARD is done */
};

struct ppi_memory_workspace {
    struct ppi_host host;
    struct ppi_heap pending;
    struct holder *holders; /* by stage */
    struct ppi_comm_buffers buffers;
};

struct walk {
    const ppsched_timeline *timeline;
    const ppsched_schedule *schedule;
    const ppsched_queue *queue;
    struct ppi_memory_workspace *room;
    const struct ppi_memory_listener *listener;
    double level[PPI_CAUSES];
    bool has_changed;
    double came, comms_end; /* when the device reached the current op; when comm ops that block it end */
};

/* --- work space --- */

static size_t most_pending(const ppsched_schedule *schedule)
{
    size_t most = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        size_t count = 0;
        for (size_t i = 0; i < schedule->queues[d].count; i++)
            count += !ppi_is_compute(schedule->queues[d].ops[i].kind);
        most = count > most ? count : most;
    }
    return most;
}

static ppsched_status make_room(struct ppi_memory_workspace **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct ppi_memory_workspace *room = ppi_allocate_zeroed(host, 1, sizeof *room);
    size_t transfers = ppi_has_comm_ops(schedule) ? ppi_transfer_numbers(schedule) : 0;
    if (room == NULL)
        return ppi_fail_memory(error, "the memory curve");
    room->host = *host, room->buffers.schedule = schedule;
    room->pending.events = ppi_allocate(host, most_pending(schedule), sizeof *room->pending.events);
    room->holders = ppi_allocate(host, schedule->shape.stages, sizeof *room->holders);
    room->buffers.sending = transfers > 0 ? ppi_allocate(host, transfers, sizeof *room->buffers.sending) : NULL;
    room->buffers.receiving = transfers > 0 ? ppi_allocate(host, transfers, sizeof *room->buffers.receiving) : NULL;
    if (room->pending.events == NULL || room->holders == NULL ||
        (transfers > 0 && (room->buffers.sending == NULL || room->buffers.receiving == NULL))) {
        ppi_memory_room_destroy(room);
        return ppi_fail_memory(error, "the memory curve");
    }
    *out = room;
    return PPSCHED_OK;
}

ppsched_status ppi_memory_room_make(struct ppi_memory_workspace **out, const ppsched_timeline *timeline, ppsched_error *error)
{
    *out = NULL;
    if (timeline->memory == NULL || !timeline->memory->is_used)
        return PPSCHED_OK;
    return make_room(out, timeline->schedule, error);
}

void ppi_memory_room_destroy(struct ppi_memory_workspace *room)
{
    if (room == NULL)
        return;
    struct ppi_host host = room->host;
    ppi_release(&host, room->buffers.receiving);
    ppi_release(&host, room->buffers.sending);
    ppi_release(&host, room->holders);
    ppi_release(&host, room->pending.events);
    ppi_release(&host, room);
}

ppsched_status ppi_memory_make(struct ppi_memory **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    size_t instances = (size_t)schedule->placement.copies * schedule->shape.stages;
    struct ppi_memory *memory = ppi_allocate_zeroed(host, 1, sizeof *memory);
    if (memory == NULL)
        return ppi_fail_memory(error, "the memory curve");
    memory->host = *host;
    memory->holdings = ppi_allocate(host, instances, sizeof *memory->holdings);
    ppsched_status status = memory->holdings == NULL ? ppi_fail_memory(error, "the memory curve")
                                                     : make_room(&memory->room, schedule, error);
    if (status != PPSCHED_OK) {
        ppi_memory_destroy(memory);
        return status;
    }
    *out = memory;
    return PPSCHED_OK;
}

void ppi_memory_destroy(struct ppi_memory *memory)
{
    if (memory == NULL)
        return;
    struct ppi_host host = memory->host;
    ppi_memory_room_destroy(memory->room);
    ppi_release(&host, memory->holdings);
    ppi_release(&host, memory);
}

/* --- steps --- */

static void change(struct walk *walk, int32_t cause, const ppsched_op *op, double amount, double time)
{
    bool is_of_pass = cause != PPSCHED_MEMORY_CAUSE_GRADIENTS && cause != PPSCHED_MEMORY_CAUSE_GATHERED;
    if (amount == 0)
        return;
    walk->level[cause] += amount, walk->has_changed = true;
    if (walk->listener->change != NULL)
        walk->listener->change(walk->listener->user,
                               &(struct ppi_memory_change){.cause = cause,
                                                           .stage = op->stage,
                                                           .microbatch = is_of_pass ? op->microbatch : PPSCHED_NONE,
                                                           .position = (uint32_t)(op - walk->queue->ops),
                                                           .amount = amount,
                                                           .time = time});
}

static void end_step(struct walk *walk, double time, uint32_t position)
{
    if (walk->has_changed && walk->listener->step != NULL)
        walk->listener->step(walk->listener->user, time, position, walk->level, ppi_level_of(walk->level));
    walk->has_changed = false;
}

static const struct ppi_other_memory *holding_of(const struct walk *walk, const ppsched_op *op)
{
    const struct ppi_costs *costs = &walk->timeline->costs;
    size_t instance = op->stage;
    if (walk->schedule->placement.copies > 1 && op->microbatch != PPSCHED_NONE)
        instance = (size_t)(ppi_instance_of(costs, walk->schedule, op) - costs->instances);
    return &walk->timeline->memory->holdings[instance];
}

/* A micro-slice's memory, as a multiple of the config's lists. */
static double factor_of(const struct walk *walk, const ppsched_op *op)
{
    return ppi_memory_factor_of(&walk->timeline->costs, walk->schedule, op);
}

static struct holder *holder_of(const struct walk *walk, const ppsched_op *op)
{
    struct holder *holder = &walk->room->holders[op->stage];
    if (holder->device != walk->queue->device)
        *holder = (struct holder){.device = walk->queue->device};
    return holder;
}

static void happen(struct walk *walk, const struct ppi_event *event)
{
    const ppsched_op *op = &walk->queue->ops[event->index];
    const struct ppi_other_memory *holding = holding_of(walk, op);
    struct holder *holder = holder_of(walk, op);
    uint8_t *sending = event->what == SENT ? &walk->room->buffers.sending[ppi_buffer_sent(&walk->room->buffers, op)] : NULL;
    switch (event->what) {
    case SENT:
        if (*sending == PPI_BUFFER_STANDING)
            change(walk, PPSCHED_MEMORY_CAUSE_SENDS, op, -holding->send[ppi_goes_back(op->kind)] * factor_of(walk, op),
                   event->time);
        *sending = PPI_BUFFER_NONE;
        break;
    case GATHERED:
        if (!holder->is_gathered)
            change(walk, PPSCHED_MEMORY_CAUSE_GATHERED, op, holding->gathered, event->time);
        holder->is_gathered = true;
        break;
    case DROPPED:
        if (holder->is_gathered)
            change(walk, PPSCHED_MEMORY_CAUSE_GATHERED, op, -holding->gathered, event->time);
        holder->is_gathered = false;
        break;
    case OFFLOADED:
        change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op,
               -ppi_saving_cost_of(walk->timeline->saving, op)->moved * factor_of(walk, op), event->time);
        break;
    case RELOADING:
        change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op,
               ppi_saving_cost_of(walk->timeline->saving, op)->moved * factor_of(walk, op), event->time);
        break;
    default:
        change(walk, PPSCHED_MEMORY_CAUSE_GRADIENTS, op, -holding->gradients, event->time);
        break;
    }
    end_step(walk, event->time, event->index);
}

/* Whether the earliest event is due; a reload only adds memory, so it comes after what is released then. */
static bool is_due(const struct ppi_event *event, double until)
{
    return event->what == RELOADING ? event->time < until : event->time <= until;
}

/* Applies all events up to a time. */
static void drain(struct walk *walk, double until)
{
    struct ppi_event event;
    while (walk->room->pending.count > 0 && is_due(&walk->room->pending.events[0], until)) {
        ppi_heap_take(&walk->room->pending, &event);
        happen(walk, &event);
    }
}

static void put_off(struct walk *walk, double time, int32_t what, uint32_t position)
{
    if (what == RELOADING)
        ppi_heap_put_ranked(&walk->room->pending, time, ((uint64_t)1 << 63) + position, what, position);
    else
        ppi_heap_put(&walk->room->pending, time, what, position);
}

/* --- compute ops --- */

/* Activations of a stage pass without memory saving. */
static double whole_memory(const struct walk *walk, const ppsched_op *op)
{
    return ppi_instance_of(&walk->timeline->costs, walk->schedule, op)->memory[PPSCHED_KIND_F] * factor_of(walk, op);
}

/* Activations that F adds: all, or what is kept until RECOMPUTE. */
static double forward_memory(const struct walk *walk, const ppsched_op *op)
{
    const struct ppi_saving *saving = walk->timeline->saving;
    if (saving != NULL && (ppi_kept_pass_of(saving, op)->flags & PPI_HAS_RECOMPUTE) != 0)
        return ppi_saving_cost_of(saving, op)->kept * factor_of(walk, op);
    return whole_memory(walk, op);
}

static void start_op(struct walk *walk, const ppsched_op *op, double time)
{
    const struct ppi_other_memory *holding = holding_of(walk, op);
    double factor = factor_of(walk, op);
    change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, ppi_rise_of(&walk->timeline->costs, walk->schedule, op), time);
    if (op->kind == PPSCHED_KIND_F) {
        change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, forward_memory(walk, op), time);
        change(walk, PPSCHED_MEMORY_CAUSE_RECEIVES, op,
               -(holding->receive[0] * factor * ppi_take_received(&walk->room->buffers, op)), time);
    } else if (op->kind != PPSCHED_KIND_I && !holder_of(walk, op)->has_gradients) {
        holder_of(walk, op)->has_gradients = true;
        change(walk, PPSCHED_MEMORY_CAUSE_GRADIENTS, op, holding->gradients, time);
    }
    change(walk, PPSCHED_MEMORY_CAUSE_WORK, op, holding->work[op->kind] * factor, time);
}

static void end_op(struct walk *walk, const ppsched_op *op, double time)
{
    const struct ppi_other_memory *holding = holding_of(walk, op);
    double factor = factor_of(walk, op);
    change(walk, PPSCHED_MEMORY_CAUSE_WORK, op, -holding->work[op->kind] * factor, time);
    if (op->kind == PPSCHED_KIND_F && !ppi_stage_has_backward(walk->schedule->placement.graph, op->stage))
        change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, -whole_memory(walk, op), time);
    else if (op->kind == PPSCHED_KIND_F)
        change(walk, PPSCHED_MEMORY_CAUSE_OUTPUTS, op, holding->output * factor, time);
    else
        change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, ppi_released_of(&walk->timeline->costs, walk->schedule, op), time);
    if (ppi_is_backward(op->kind))
        change(walk, PPSCHED_MEMORY_CAUSE_OUTPUTS, op, -holding->output * factor, time);
    if (ppi_is_backward(op->kind))
        change(walk, PPSCHED_MEMORY_CAUSE_RECEIVES, op,
               -(holding->receive[1] * factor * ppi_take_received(&walk->room->buffers, op)), time);
    change(walk, PPSCHED_MEMORY_CAUSE_SENDS, op,
           holding->send[ppi_is_backward(op->kind)] * factor * ppi_hold_sent(&walk->room->buffers, op), time);
}

static void compute(struct walk *walk, uint32_t i, uint32_t length)
{
    const ppsched_span *span = &walk->timeline->spans[walk->queue->first + i];
    drain(walk, span->start);
    for (uint32_t k = i; k < i + length; k++)
        start_op(walk, &walk->queue->ops[k], span->start);
    end_step(walk, span->start, i);
    drain(walk, span->end);
    for (uint32_t k = i; k < i + length; k++)
        end_op(walk, &walk->queue->ops[k], span->end);
    end_step(walk, span->end, i);
    walk->came = walk->comms_end = span->end;
}

/* The same if only activations change. */
static void compute_activations(struct walk *walk, uint32_t i, uint32_t length)
{
    const ppsched_op *unit = &walk->queue->ops[i];
    const ppsched_span *span = &walk->timeline->spans[walk->queue->first + i];
    drain(walk, span->start);
    if (unit->kind == PPSCHED_KIND_F) {
        change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, unit, forward_memory(walk, unit), span->start);
        end_step(walk, span->start, i);
    }
    drain(walk, span->end);
    for (uint32_t k = 0; k < length; k++)
        if (unit[k].kind != PPSCHED_KIND_F)
            change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, &unit[k],
                   ppi_memory_of(&walk->timeline->costs, walk->schedule, &unit[k]), span->end);
    end_step(walk, span->end, i);
    walk->came = walk->comms_end = span->end;
}

/* Finds when the device reaches an op that does not compute. The span of a comm op begins with its transfer. */
static void come_to(struct walk *walk, uint32_t i)
{
    const ppsched_timeline *timeline = walk->timeline;
    const ppsched_op *op = &walk->queue->ops[i];
    const ppsched_span *span = &timeline->spans[walk->queue->first + i];
    bool is_comm = ppi_is_comm(op), was_comm = i > 0 && ppi_is_comm(op - 1), goes_on = is_comm && was_comm && timeline->batches;
    if (!timeline->has_transfers) {
        walk->came = span->start;
        return;
    }
    if (was_comm && timeline->call_times != NULL)
        walk->came += timeline->call_times[walk->queue->device];
    if (timeline->blocks && !goes_on && walk->came < walk->comms_end)
        walk->came = walk->comms_end;
    if (!is_comm)
        return;
    uint32_t iteration = op->microbatch / walk->schedule->shape.microbatches;
    if (timeline->flush_count > 0 && iteration > 0 && walk->came < timeline->flush_times[iteration - 1])
        walk->came = timeline->flush_times[iteration - 1];
    walk->comms_end = ppi_larger(walk->comms_end, span->end);
}

/* How long a value occupies its link. */
static double leaving_of(const struct walk *walk, const ppsched_op *send)
{
    const struct ppi_stage_graph *graph = walk->schedule->placement.graph;
    const bool backward = ppi_goes_back(send->kind);
    if (graph == NULL)
        return holding_of(walk, send)->leaving[backward];
    const uint32_t link = ppi_comm_link(graph, send);
    const struct ppi_link_delay *cost = link != PPSCHED_NONE ? &walk->timeline->costs.links[link] : NULL;
    return cost != NULL ? cost->delay[backward] - cost->latency[backward] : 0;
}

static void send(struct walk *walk, uint32_t i)
{
    const ppsched_op *op = &walk->queue->ops[i];
    double end = walk->timeline->has_transfers ? walk->timeline->spans[walk->queue->first + i].end
                                               : walk->came + leaving_of(walk, op) * factor_of(walk, op);
    if (ppi_buffer_sent(&walk->room->buffers, op) != PPSCHED_NONE)
        put_off(walk, end, SENT, i);
}

static void receive(struct walk *walk, uint32_t i)
{
    const ppsched_op *op = &walk->queue->ops[i];
    uint32_t number = ppi_buffer_received(&walk->room->buffers, op);
    if (number == PPSCHED_NONE || walk->room->buffers.receiving[number] == PPI_BUFFER_STANDING)
        return;
    walk->room->buffers.receiving[number] = PPI_BUFFER_STANDING;
    drain(walk, walk->came);
    change(walk, PPSCHED_MEMORY_CAUSE_RECEIVES, op,
           holding_of(walk, op)->receive[ppi_goes_back(op->kind)] * factor_of(walk, op), walk->came);
    end_step(walk, walk->came, i);
}

/* Work space as of F, and the activations that F did not keep. */
static void recompute(struct walk *walk, uint32_t i)
{
    const ppsched_op *op = &walk->queue->ops[i];
    const ppsched_span *span = &walk->timeline->spans[walk->queue->first + i];
    double work = holding_of(walk, op)->work[PPSCHED_KIND_F] * factor_of(walk, op), whole = whole_memory(walk, op);
    drain(walk, span->start);
    change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, whole - forward_memory(walk, op), span->start);
    change(walk, PPSCHED_MEMORY_CAUSE_WORK, op, work, span->start);
    end_step(walk, span->start, i);
    drain(walk, span->end);
    change(walk, PPSCHED_MEMORY_CAUSE_WORK, op, -work, span->end);
    end_step(walk, span->end, i);
    walk->came = walk->comms_end = span->end;
}

static void do_other(struct walk *walk, uint32_t i)
{
    const ppsched_op *op = &walk->queue->ops[i];
    const ppsched_span *span = &walk->timeline->spans[walk->queue->first + i];
    struct holder *holder = holder_of(walk, op);
    come_to(walk, i);
    if (ppi_is_send(op->kind)) {
        send(walk, i);
    } else if (ppi_is_receive(op->kind)) {
        receive(walk, i);
    } else if (op->kind == PPSCHED_KIND_UNSHARD) {
        put_off(walk, span->start, GATHERED, i);
        holder->gathered_until = span->end;
    } else if (op->kind == PPSCHED_KIND_RESHARD) {
        put_off(walk, holder->gathered_until > span->start ? holder->gathered_until : span->start, DROPPED, i);
    } else if (op->kind == PPSCHED_KIND_REDUCE_GRAD && holder->has_gradients) {
        holder->has_gradients = false; /* the next iteration allocates its own */
        put_off(walk, span->end, REDUCED, i);
    } else if (walk->timeline->saving != NULL && op->kind == PPSCHED_KIND_RECOMPUTE) {
        recompute(walk, i);
    } else if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT || op->kind == PPSCHED_KIND_WAIT_REDUCE_GRAD) {
        walk->came = span->end;
    } else if (walk->timeline->saving != NULL && ppi_is_copy(op->kind)) {
        bool offloads = op->kind == PPSCHED_KIND_OFFLOAD;
        put_off(walk, offloads ? span->end : span->start, offloads ? OFFLOADED : RELOADING, i);
    }
}

static void list_sends(const struct walk *walk)
{
    for (size_t i = 0; i < walk->queue->count; i++) {
        const ppsched_op *op = &walk->queue->ops[i];
        uint32_t number = ppi_is_send(op->kind) ? ppi_buffer_sent(&walk->room->buffers, op) : PPSCHED_NONE;
        if (number != PPSCHED_NONE)
            walk->room->buffers.sending[number] = PPI_BUFFER_LISTED;
    }
}

/* Clears what another queue has left in the work space. */
static void forget(const struct walk *walk)
{
    for (size_t i = 0; i < walk->queue->count && walk->room->buffers.sending != NULL; i++) {
        const ppsched_op *op = &walk->queue->ops[i];
        uint32_t sent = ppi_buffer_sent(&walk->room->buffers, op), received = ppi_buffer_received(&walk->room->buffers, op);
        if (sent != PPSCHED_NONE)
            walk->room->buffers.sending[sent] = PPI_BUFFER_NONE;
        if (received != PPSCHED_NONE)
            walk->room->buffers.receiving[received] = PPI_BUFFER_NONE;
    }
    for (size_t i = 0; i < walk->queue->count; i++)
        walk->room->holders[walk->queue->ops[i].stage].device = PPSCHED_NONE;
    walk->room->pending.count = 0;
}

static void go_through_all(struct walk *walk)
{
    const ppsched_queue *queue = walk->queue;
    walk->room->buffers.device = queue->device;
    forget(walk);
    list_sends(walk);
    for (uint32_t i = 0; i < queue->count;) {
        uint32_t length = (uint32_t)ppi_unit_length(&queue->ops[i]);
        if (ppi_is_compute(queue->ops[i].kind) && !walk->timeline->memory->has_more)
            compute_activations(walk, i, length);
        else if (ppi_is_compute(queue->ops[i].kind))
            compute(walk, i, length);
        else
            do_other(walk, i);
        i += length;
    }
    drain(walk, PPI_INFINITE);
}

/* If only activations change: a running sum in queue order. An F without a backward frees what it took. */
static void go_through_activations(struct walk *walk, double level)
{
    for (uint32_t i = 0; i < walk->queue->count; i++) {
        const ppsched_op *op = &walk->queue->ops[i];
        const ppsched_span *span = &walk->timeline->spans[walk->queue->first + i];
        double amount = ppi_is_compute(op->kind) ? ppi_memory_of(&walk->timeline->costs, walk->schedule, op) : 0;
        const int parts = ppi_stage_has_backward(walk->schedule->placement.graph, op->stage) ? 1 : 2;
        for (int part = 0; part < parts && amount != 0; part++, amount = -amount) {
            double time = op->kind == PPSCHED_KIND_F && part == 0 ? span->start : span->end;
            level += amount;
            change(walk, PPSCHED_MEMORY_CAUSE_ACTIVATIONS, op, amount, time);
            if (walk->listener->step != NULL)
                walk->listener->step(walk->listener->user, time, i, walk->level, level);
        }
    }
}

void ppi_memory_go_through(const ppsched_timeline *timeline, uint32_t device, struct ppi_memory_workspace *room,
                           const struct ppi_memory_listener *listener)
{
    struct walk walk = {.timeline = timeline,
                        .schedule = timeline->schedule,
                        .queue = &timeline->schedule->queues[device],
                        .room = room,
                        .listener = listener};
    memcpy(walk.level, timeline->fixed + (size_t)device * PPI_FIXED_CAUSES, PPI_FIXED_CAUSES * sizeof *walk.level);
    if (room != NULL)
        go_through_all(&walk);
    else
        go_through_activations(&walk, timeline->devices[device].static_memory);
}
