/* SPDX-License-Identifier: Apache-2.0 */
/* A discrete-event simulation. Events are: a device has computed or called, a send's bytes have left, a transfer has arrived.
 * What follows at the same time is done at once: comm ops whose turn has come are examined, waiting devices continue if they
 * can. */
#include "channel/transfer_run.h"

#include "base/checked.h"
#include "base/error.h"
#include "channel/proof.h"
#include "channel/transfer_state.h"
#include "channel/transfer_waits.h"
#include "eval/idle.h"
#include "ir/stage_graph.h"

enum { COMPUTED, LEFT, THERE, SHARDED, COPIED, CALLED };

static void make_ready(struct ppi_transfer_run *run, uint32_t device)
{
    struct ppi_machine *machine = &run->machines[device];
    if (machine->computes || machine->is_ready)
        return;
    machine->is_ready = true;
    run->ready[run->ready_count++] = device;
}

/* --- transfers --- */

static void finish(struct ppi_transfer_run *run, uint32_t i)
{
    run->timeline->spans[i].end = run->now;
    ppi_comm_finish(&run->comms, i);
    make_ready(run, ppi_comm_at(&run->comms, i)->device);
}

/* Whether the transfer before it in its channel, and so all before it, have started. */
static bool may_overtake_none(const struct ppi_transfer_run *run, uint32_t transfer)
{
    const struct ppi_channels *channels = &run->comms.channels;
    const struct ppi_route *route = &channels->routes[transfer];
    return route->place == 0 ||
           run->states[channels->carried[channels->channel_first[route->channel] + route->place - 1]].has_started;
}

static struct ppi_transfer_cost cost_of(const struct ppi_transfer_run *run, const struct ppi_transfer_ops *ops)
{
    const ppsched_op *send = &run->schedule->ops[ops->send];
    const uint32_t from = ppi_comm_at(&run->comms, ops->send)->device, to = ppi_comm_at(&run->comms, ops->receive)->device;
    const bool back = ppi_goes_back(send->kind);
    if (run->comms.come != NULL)
        return ppi_transfer_cost_between(run->config, send->stage, run->schedule->ops[ops->receive].stage, back, from, to);
    return ppi_transfer_cost_of(run->config, send->stage, back, from, to);
}

/* Starts a transfer: it requests its link. */
static void start(struct ppi_transfer_run *run, uint32_t transfer)
{
    const struct ppi_channels *channels = &run->comms.channels;
    const struct ppi_route *route = &channels->routes[transfer];
    const struct ppi_transfer_ops *ops = &channels->transfers.ops[transfer];
    const ppsched_op *op = &run->schedule->ops[ops->send];
    struct ppi_transfer_state *state = &run->states[transfer];
    double *link = &run->link_free[route->link];
    uint32_t next = channels->channel_first[route->channel] + route->place + 1;
    struct ppi_transfer_cost cost = cost_of(run, ops);
    double factor = ppi_memory_factor_of(&run->timeline->costs, run->schedule, op);
    state->has_started = true;
    state->asked = run->now;
    state->started = run->now < *link ? *link : run->now;
    run->timeline->spans[ops->send].start = state->started;
    *link = state->started + cost.occupancy * factor;
    state->there = *link + cost.latency;
    ppi_heap_put(&run->heap, *link, LEFT, transfer);
    ppi_heap_put(&run->heap, state->there, THERE, transfer);
    if (next < channels->channel_first[route->channel + 1])
        ppi_comm_tell(&run->comms, channels->transfers.ops[channels->carried[next]].send);
}

/* Completes a receive if its transfer has arrived and all before it have been received. */
static void receive_if_there(struct ppi_transfer_run *run, uint32_t transfer)
{
    const struct ppi_transfer_state *state = &run->states[transfer];
    uint32_t receive = run->comms.channels.transfers.ops[transfer].receive;
    ppsched_span *span = &run->timeline->spans[receive];
    if (!state->is_there || !ppi_comm_turn(&run->comms, receive) || !ppi_comm_oldest(&run->comms, transfer))
        return;
    span->start = span->start > state->started ? span->start : state->started;
    finish(run, receive);
    ppi_comm_take(&run->comms, transfer);
}

/* Examines whether a comm op can start, or be done, now. */
static void look_at(struct ppi_transfer_run *run, uint32_t i)
{
    struct ppi_comm_run *comms = &run->comms;
    const struct ppi_transfer_ops *ops = ppi_moved_by(&comms->channels, i);
    uint32_t transfer = ppi_comm_at(&run->comms, i)->transfer;
    if (comms->done[i] || !ppi_comm_turn(comms, i))
        return;
    if (run->timeline->spans[i].start < 0)
        run->timeline->spans[i].start = run->now; /* its turn has come; a send starts with its transfer */
    bool is_met = comms->model.rendezvous == 0 || ppi_comm_turn(comms, ops->receive);
    if (!run->states[transfer].has_started && ppi_comm_turn(comms, ops->send) && is_met && may_overtake_none(run, transfer))
        start(run, transfer);
    if (i == ops->receive)
        receive_if_there(run, transfer);
}

/* Whether a send is done when its transfer has arrived, not when its bytes have left. */
static bool sends_until_there(const struct ppi_transfer_run *run)
{
    return run->comms.model.order == PPSCHED_CHANNEL_ORDER_SENDS;
}

/* --- devices --- */

/* Starts UNSHARD or REDUCE_GRAD; the device continues. */
static void shard(struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    ppsched_span *span = &run->timeline->spans[i];
    *span = ppi_sharding_run(&run->sharding, device, &run->schedule->ops[i], run->now);
    if (span->end > run->now)
        ppi_heap_put(&run->heap, span->end, SHARDED, device);
}

/* Ends a device's wait in an op that only waits; the wait adds to `idle`. */
static bool end_wait(struct ppi_transfer_run *run, uint32_t device, uint32_t i, double *idle)
{
    double *clock = &run->machines[device].clock, began = *clock;
    run->comms.position[device]++;
    *idle += ppi_part_of_wait(clock, run->now, run->now);
    run->timeline->spans[i] = (ppsched_span){began, run->now};
    return true;
}

/* Starts computing `count` ops at once. */
static void start_computing(struct ppi_transfer_run *run, uint32_t device, uint32_t i, size_t count, double duration)
{
    struct ppi_machine *machine = &run->machines[device];
    double end = ppi_copy_run_begin(&run->copies, device, run->now, duration);
    machine->sums.busy += ppi_copy_run_slows(&run->copies) ? 0 : duration;
    for (size_t k = 0; k < count; k++)
        run->timeline->spans[i + k] = (ppsched_span){run->now, end};
    machine->clock = end;
    machine->computes = machine->has_computed = true;
    machine->unit = i;
    run->comms.position[device] += machine->length = (uint32_t)count;
    ppi_heap_put(&run->heap, end, COMPUTED, device);
}

/* Starts a unit whose inputs are ready. */
static void compute(struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    const ppsched_op *unit = &run->schedule->ops[i];
    const double before = run->machines[device].sums.memory;
    for (size_t k = 0; k < ppi_unit_length(unit); k++) {
        ppi_sum_memory(&run->machines[device].sums, ppi_memory_of(&run->timeline->costs, run->schedule, &unit[k]), &unit[k]);
        run->passes_done += unit[k].kind == PPSCHED_KIND_B || unit[k].kind == PPSCHED_KIND_W;
    }
    if (run->comms.come != NULL) {
        run->passes_done += unit->kind == PPSCHED_KIND_F || unit->kind == PPSCHED_KIND_I;
        if (!ppi_stage_has_backward(run->schedule->placement.graph, unit->stage))
            run->machines[device].sums.memory = before; /* free again at its end */
    }
    double duration = ppi_unit_duration(&run->timeline->costs, run->schedule, unit);
    start_computing(run, device, i, ppi_unit_length(unit), ppi_sharding_slowed(&run->sharding, device, duration, run->now));
}

/* Starts a unit that has waited, at last for a receive. */
static void begin(struct ppi_transfer_run *run, uint32_t device, uint32_t i, uint32_t receive)
{
    ppsched_idle *idle = &run->timeline->idle[device];
    double *clock = &run->machines[device].clock;
    if (receive != PPSCHED_NONE)
        ppi_split_comm_wait(run, device, receive);
    if (ppi_sharding_takes_time(&run->sharding))
        idle->weights += ppi_part_of_wait(clock, run->now, run->now);
    if (run->comms.come != NULL) /* for other devices of the op */
        ppi_add_waiting_for_neighbour(idle, run->machines[device].has_computed, ppi_part_of_wait(clock, run->now, run->now));
    idle->reload += ppi_part_of_wait(clock, run->now, run->now);
    compute(run, device, i);
}

/* A device has come to an op of a stage graph with its inputs. The last of the op's devices starts it on all of them. */
PPI_APART void begin_on_graph(struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    uint32_t count = 0;
    const uint32_t *devices = ppi_devices_of(&run->schedule->placement, run->schedule->ops[i].stage, &count);
    if (!ppi_comm_gathers(&run->comms, device, i))
        return;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t own = (uint32_t)run->schedule->queues[devices[k]].first + run->comms.position[devices[k]];
        begin(run, devices[k], own, ppi_last_receive(run, devices[k], own));
    }
}

/* Whether the copies that a unit waits for are done; if not, an event wakes the device when they are. */
static bool has_copies(struct ppi_transfer_run *run, uint32_t device, const ppsched_op *unit)
{
    double until;
    if (run->copies.saving == NULL)
        return true;
    bool has_all = ppi_copy_run_lets(&run->copies, device, unit, run->now, &until);
    if (until > run->now)
        ppi_heap_put(&run->heap, until, COPIED, device);
    return has_all;
}

/* Does an op of memory saving, or starts it; false if the device does not continue. */
static bool step_saving(struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    const ppsched_op *op = &run->schedule->ops[i];
    if (ppi_is_copy(op->kind)) {
        run->comms.position[device]++;
        return ppi_copy_run_ask(&run->copies, device, op, run->now);
    }
    if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT)
        return has_copies(run, device, op) && end_wait(run, device, i, &run->timeline->idle[device].reload);
    double duration = ppi_sharding_slowed(&run->sharding, device,
                                          ppi_copy_run_recompute(&run->copies, op, &run->timeline->costs), run->now);
    start_computing(run, device, i, 1, duration);
    return false;
}

/* --- calls --- */

/* Number of comm ops, from a position on, that a device issues at the end of their calls. */
static uint32_t count_calls(const struct ppi_transfer_run *run, const ppsched_queue *queue, uint32_t position)
{
    uint32_t end = position + 1;
    while (run->comms.model.batched != 0 && end < queue->count && ppi_is_comm(&queue->ops[end]) &&
           queue->ops[end].microbatch < run->iteration_end)
        end++;
    return end - position;
}

/* Starts the calls of a comm op, or of a batch, if they take time; the device does nothing else meanwhile. */
static bool starts_calls(struct ppi_transfer_run *run, uint32_t device, uint32_t i)
{
    const ppsched_queue *queue = &run->schedule->queues[device];
    struct ppi_machine *machine = &run->machines[device];
    double end = run->now;
    if (run->calls == NULL || run->timeline->call_times[device] == 0)
        return false;
    machine->unit = i;
    machine->length = count_calls(run, queue, run->comms.position[device]);
    for (uint32_t k = i; k < i + machine->length; k++) {
        double start = end;
        end += run->timeline->call_times[device];
        if (ppi_is_send(run->schedule->ops[k].kind))
            run->calls[ppi_comm_at(&run->comms, k)->transfer] = (ppsched_span){start, end};
    }
    run->timeline->idle[device].calls += end - run->now;
    machine->clock = end;
    machine->computes = true;
    ppi_heap_put(&run->heap, end, CALLED, device);
    return true;
}

/* Ends a device's calls and issues their comm ops. */
static void end_calls(struct ppi_transfer_run *run, uint32_t device)
{
    struct ppi_machine *machine = &run->machines[device];
    machine->computes = false;
    run->comms.position[device] += machine->length;
    for (uint32_t k = machine->unit; k < machine->unit + machine->length; k++)
        run->timeline->spans[k] = (ppsched_span){-1, -1};
    for (uint32_t k = machine->unit; k < machine->unit + machine->length; k++)
        look_at(run, k);
    make_ready(run, device);
}

/* --- steps --- */

/* Does a device's next op, or starts it; false if the device does not continue. */
static bool step(struct ppi_transfer_run *run, uint32_t device)
{
    const ppsched_queue *queue = &run->schedule->queues[device];
    uint32_t i = (uint32_t)queue->first + run->comms.position[device];
    if (run->machines[device].computes)
        return false;
    if (run->comms.model.blocking != 0 && ppi_comm_blocks(run, device)) {
        run->machines[device].is_blocked = true;
        return false;
    }
    if (run->machines[device].is_blocked)
        ppi_leave_block(run, device);
    if (run->comms.position[device] == queue->count)
        return false;
    const ppsched_op *op = &run->schedule->ops[i];
    if (op->microbatch >= run->iteration_end && ppi_kind_has_microbatch(op->kind))
        return false;
    if (ppi_is_compute(op->kind)) {
        uint32_t receive = ppi_last_receive(run, device, i);
        if ((receive != PPSCHED_NONE && !run->comms.done[receive]) || !has_copies(run, device, op) ||
            !ppi_sharding_lets_compute(&run->sharding, device, op, run->now))
            return false;
        if (run->comms.come != NULL)
            begin_on_graph(run, device, i);
        else
            begin(run, device, i, receive);
        return false;
    }
    if (ppi_is_comm(op)) {
        if (starts_calls(run, device, i))
            return false;
        run->comms.position[device]++;
        run->timeline->spans[i] = (ppsched_span){-1, -1};
        look_at(run, i);
        return true;
    }
    if (ppi_keeps_less(op->kind))
        return step_saving(run, device, i);
    if (op->kind == PPSCHED_KIND_WAIT_REDUCE_GRAD && ppi_sharding_takes_time(&run->sharding))
        return ppi_sharding_reduced(&run->sharding, device) <= run->now &&
               end_wait(run, device, i, &run->timeline->idle[device].weights);
    run->comms.position[device]++;
    run->timeline->spans[i] = (ppsched_span){run->now, run->now};
    if (ppi_sharding_takes_time(&run->sharding) && ppi_is_sharding(op->kind))
        shard(run, device, i);
    return true;
}

/* --- the run --- */

/* Does all that can be done at the current time. */
static void settle(struct ppi_transfer_run *run)
{
    uint32_t i;
    for (;;) {
        if (ppi_comm_next(&run->comms, &i)) {
            look_at(run, i);
        } else if (run->ready_count > 0) {
            uint32_t device = run->ready[--run->ready_count];
            run->machines[device].is_ready = false;
            while (step(run, device))
                ;
        } else {
            return;
        }
    }
}

/* If the schedule flushes, all devices continue together once an iteration is done on all of them. */
static void flush_if_done(struct ppi_transfer_run *run)
{
    if (run->flushed == run->timeline->flush_count || run->passes_done != (run->flushed + 1) * run->passes)
        return;
    for (uint32_t d = 0; d < run->schedule->shape.devices; d++)
        if (run->machines[d].computes || ppi_sharding_end(&run->sharding, d) > run->now)
            return;
    run->timeline->flush_times[run->flushed++] = run->now;
    run->iteration_end += run->schedule->shape.microbatches;
    for (uint32_t d = 0; d < run->schedule->shape.devices; d++) {
        run->timeline->idle[d].drain += ppi_part_of_wait(&run->machines[d].clock, run->now, run->now);
        run->machines[d].has_computed = false;
        make_ready(run, d);
    }
}

/* Whether a device's unit is done now; if copies have slowed it meanwhile, reschedules its end. */
static bool has_computed(struct ppi_transfer_run *run, uint32_t device)
{
    struct ppi_machine *machine = &run->machines[device];
    ppsched_span *spans = &run->timeline->spans[machine->unit];
    if (!ppi_copy_run_slows(&run->copies))
        return true;
    machine->clock = spans[0].end = spans[machine->length - 1].end = ppi_copy_run_end(&run->copies, device);
    bool ends = machine->clock <= run->now;
    machine->sums.busy += ends ? run->now - spans[0].start : 0;
    if (!ends)
        ppi_heap_put(&run->heap, machine->clock, COMPUTED, device);
    return ends;
}

static void happen(struct ppi_transfer_run *run, const struct ppi_event *event)
{
    switch (event->what) {
    case COMPUTED:
        if (!has_computed(run, event->index))
            return;
        run->machines[event->index].computes = false;
        make_ready(run, event->index);
        if (!ppi_sharding_takes_time(&run->sharding))
            flush_if_done(run);
        return;
    case CALLED:
        end_calls(run, event->index);
        return;
    case SHARDED:
    case COPIED:
        make_ready(run, event->index);
        return;
    case LEFT:
        if (!sends_until_there(run))
            finish(run, run->comms.channels.transfers.ops[event->index].send);
        return;
    default:
        run->states[event->index].is_there = true;
        if (sends_until_there(run))
            finish(run, run->comms.channels.transfers.ops[event->index].send);
        receive_if_there(run, event->index);
        return;
    }
}

/* Handles the events of copies that come before all others. */
static void go_on_with_copies(struct ppi_transfer_run *run)
{
    uint32_t device;
    if (run->copies.saving == NULL)
        return;
    for (double next; (next = ppi_copy_run_next(&run->copies)) < PPI_INFINITE;) {
        if (run->heap.count > 0 && run->heap.events[0].time <= next)
            return;
        run->now = next;
        if (ppi_copy_run_go_on(&run->copies, &device)) {
            make_ready(run, device);
            settle(run);
        }
    }
}

static bool run_all(struct ppi_transfer_run *run)
{
    struct ppi_event event;
    for (uint32_t d = run->schedule->shape.devices; d-- > 0;)
        make_ready(run, d);
    settle(run);
    go_on_with_copies(run);
    while (ppi_heap_take(&run->heap, &event)) {
        run->now = event.time;
        happen(run, &event);
        settle(run);
        if (ppi_sharding_takes_time(&run->sharding)) { /* collectives after a device's last op belong to the iteration */
            flush_if_done(run);
            settle(run);
        }
        go_on_with_copies(run);
    }
    for (uint32_t d = 0; d < run->schedule->shape.devices; d++)
        if (run->comms.position[d] != run->schedule->queues[d].count)
            return false;
    return ppi_comm_all_done(&run->comms);
}

ppsched_status ppi_time_transfers(ppsched_timeline *timeline, const ppsched_config *config, const ppsched_channel_model *model,
                                  ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    struct ppi_transfer_run run;
    ppsched_status status = ppi_transfer_run_make(&run, timeline, config, model, error);
    if (status != PPSCHED_OK)
        return status;
    if (!run_all(&run)) {
        status = ppi_prove(schedule, model, NULL, 0, NULL, error);
        if (status == PPSCHED_OK)
            status = ppi_fail(error, PPSCHED_ERROR_INTERNAL, "proof and run of %q disagree", schedule->name);
    }
    timeline->has_sharding = ppi_sharding_takes_time(&run.sharding);
    for (uint32_t d = 0; status == PPSCHED_OK && d < schedule->shape.devices; d++) {
        timeline->sharding_end = ppi_larger(timeline->sharding_end, ppi_sharding_end(&run.sharding, d));
        timeline->idle[d].size = sizeof timeline->idle[d];
        timeline->idle[d].drain += ppi_part_of_wait(&run.machines[d].clock, run.now, run.now);
        ppi_sums_note(&run.machines[d].sums, timeline, d);
    }
    ppi_transfer_run_clear(&run);
    return status;
}
