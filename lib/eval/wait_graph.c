/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes the units of each stage pass and each device in one pass; waits are computed from the spans when asked for. */
#include "eval/wait_graph.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/inline.h"
#include "ir/stage_graph.h"

static const struct ppi_wait NOTHING = {PPI_NO_NODE, -PPI_INFINITE};

static size_t iteration_of(const struct ppi_waits *waits, size_t unit)
{
    const ppsched_schedule *schedule = waits->timeline->schedule;
    return schedule->ops[unit].microbatch / schedule->shape.microbatches;
}

PPI_INLINE void note_unit(struct ppi_waits *waits, size_t unit, uint32_t slices)
{
    const ppsched_op *ops = &waits->timeline->schedule->ops[unit];
    for (size_t i = 0; i < ppi_unit_length(ops); i++) {
        if (ops[i].kind == PPSCHED_KIND_F)
            waits->forward[ppi_cell_with(waits->timeline->schedule, &ops[i], slices)] = unit;
        else if (ppi_is_backward(ops[i].kind))
            waits->backward[ppi_cell_with(waits->timeline->schedule, &ops[i], slices)] = unit;
    }
}

/* Notes the units of a worker's queue. */
PPI_INLINE void note_worker(struct ppi_waits *waits, size_t number, uint32_t slices)
{
    struct ppi_worker *worker = &waits->workers[number];
    const ppsched_queue *queue = &waits->timeline->schedule->queues[worker->device];
    size_t flush = 0, flushes = waits->timeline->flush_count;
    for (size_t i = worker->first - queue->first; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        if (!ppi_is_compute(queue->ops[i].kind))
            continue;
        for (; flush < flushes && iteration_of(waits, queue->first + i) > flush; flush++)
            waits->before_flush[flush * waits->worker_count + number] = worker->last;
        worker->last = queue->first + i;
        note_unit(waits, worker->last, slices);
    }
}

static void note_workers(struct ppi_waits *waits)
{
    uint32_t slices = waits->timeline->schedule->shape.slices;
    for (size_t w = 0; w < waits->worker_count; w++)
        if (slices == 1)
            note_worker(waits, w, 1);
        else
            note_worker(waits, w, slices);
}

/* Finds the devices with compute ops. */
static void find_workers(struct ppi_waits *waits)
{
    const ppsched_schedule *schedule = waits->timeline->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        size_t i = 0;
        while (i < queue->count && !ppi_is_compute(queue->ops[i].kind))
            i++;
        if (i < queue->count)
            waits->workers[waits->worker_count++] = (struct ppi_worker){d, queue->first + i, queue->first + i};
    }
}

/* Links the copies of each op of several devices in a ring. */
static ppsched_status link_copies(struct ppi_waits *waits, ppsched_error *error)
{
    const ppsched_schedule *schedule = waits->timeline->schedule;
    const size_t cells = ppi_cell_count(schedule);
    size_t *last = ppi_allocate(&schedule->host, cells, (size_t)PPI_COMPUTE_KINDS * sizeof *last);
    waits->copies = ppi_allocate(&schedule->host, (size_t)schedule->op_count, sizeof *waits->copies);
    for (size_t i = 0; last != NULL && i < cells * PPI_COMPUTE_KINDS; i++)
        last[i] = PPI_NO_NODE;
    for (size_t i = 0; last != NULL && waits->copies != NULL && i < schedule->op_count; i++) {
        const ppsched_op *op = &schedule->ops[i];
        size_t *before = &last[(size_t)op->kind * cells + ppi_cell_of(schedule, op)];
        waits->copies[i] = *before != PPI_NO_NODE ? waits->copies[*before] : i;
        if (*before != PPI_NO_NODE)
            waits->copies[*before] = i;
        *before = i;
    }
    ppi_release(&schedule->host, last);
    return last != NULL && waits->copies != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the waits");
}

ppsched_status ppi_waits_make(struct ppi_waits *out, const ppsched_timeline *timeline, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const struct ppi_host *host = &timeline->host;
    struct ppi_waits waits = {.timeline = timeline, .senders = ppi_senders_of(timeline)};
    size_t cells = ppi_cell_count(schedule), rows;
    waits.forward = ppi_allocate(host, cells, sizeof *waits.forward);
    waits.backward = ppi_allocate(host, cells, sizeof *waits.backward);
    waits.workers = ppi_allocate(host, schedule->shape.devices, sizeof *waits.workers);
    if (waits.workers != NULL) {
        find_workers(&waits);
        if (ppi_mul_size(&rows, waits.worker_count, timeline->flush_count))
            waits.before_flush = ppi_allocate(host, rows, sizeof *waits.before_flush);
    }
    if (waits.forward == NULL || waits.backward == NULL || waits.before_flush == NULL) {
        ppi_waits_clear(&waits);
        return ppi_fail_memory(error, "the waits");
    }
    if (schedule->placement.graph != NULL && schedule->placement.graph->has_sets) {
        ppsched_status status = link_copies(&waits, error);
        if (status != PPSCHED_OK) {
            ppi_waits_clear(&waits);
            return status;
        }
    }
    note_workers(&waits);
    *out = waits;
    return PPSCHED_OK;
}

void ppi_waits_clear(struct ppi_waits *waits)
{
    const struct ppi_host *host = &waits->timeline->host;
    ppi_release(host, waits->forward);
    ppi_release(host, waits->backward);
    ppi_release(host, waits->workers);
    ppi_release(host, waits->before_flush);
    ppi_release(host, waits->copies);
}

/* The device, from `device` on, in whose queue a copy of an op of several devices stands. */
PPI_APART uint32_t device_of_copy(const ppsched_schedule *schedule, size_t unit, uint32_t device)
{
    while (unit >= schedule->queues[device].first + schedule->queues[device].count)
        device++;
    return device;
}

static inline uint32_t device_of(const struct ppi_waits *waits, size_t unit)
{
    const ppsched_schedule *schedule = waits->timeline->schedule;
    const uint32_t device = ppi_schedule_device_of(schedule, &schedule->ops[unit]);
    return waits->copies == NULL ? device : device_of_copy(schedule, unit, device);
}

uint32_t ppi_device_of_unit(const struct ppi_waits *waits, size_t unit)
{
    return device_of(waits, unit);
}

size_t ppi_previous_unit(const struct ppi_waits *waits, size_t unit)
{
    const ppsched_schedule *schedule = waits->timeline->schedule;
    size_t first = schedule->queues[device_of(waits, unit)].first, i = unit;
    while (i > first)
        if (ppi_is_compute(schedule->ops[--i].kind))
            return i > first && ppi_unit_length(&schedule->ops[i - 1]) == 2 ? i - 1 : i;
    return PPI_NO_NODE;
}

/* When a unit may start after the previous one: when that one's send has arrived, or its own I's input has been counted again.
 * Ops in pairs do not wait. */
static double turn_behind(const struct ppi_waits *waits, size_t unit, size_t previous)
{
    const struct ppi_sender *sender = &waits->senders->ops[unit];
    double delay = sender->input == previous ? ppi_larger(sender->turn, sender->own) : sender->turn;
    return waits->timeline->spans[previous].end + delay;
}

/* The wait of a W for its I, unless that is the unit before it. */
static struct ppi_wait own_input_of(const struct ppi_waits *waits, size_t unit)
{
    const struct ppi_sender *sender = &waits->senders->ops[unit];
    if (sender->input == PPI_NO_OP || sender->input == ppi_previous_unit(waits, unit))
        return NOTHING;
    return (struct ppi_wait){sender->input, waits->timeline->spans[sender->input].end + sender->own};
}

/* The wait for the previous unit of the device, the flush before the unit, or time 0. */
static struct ppi_wait turn_of(const struct ppi_waits *waits, size_t unit)
{
    const ppsched_timeline *timeline = waits->timeline;
    size_t previous = ppi_previous_unit(waits, unit), iteration = timeline->flush_count > 0 ? iteration_of(waits, unit) : 0;
    if (iteration > 0 && (previous == PPI_NO_NODE || iteration_of(waits, previous) < iteration)) {
        size_t flush = (size_t)timeline->schedule->op_count + iteration - 1;
        return (struct ppi_wait){flush, ppi_start_of(waits, flush)};
    }
    if (waits->senders != NULL && previous != PPI_NO_NODE)
        return (struct ppi_wait){previous, turn_behind(waits, unit, previous)};
    return (struct ppi_wait){previous, previous != PPI_NO_NODE ? timeline->spans[previous].end : 0};
}

/* The wait for an op's input from another device. */
static struct ppi_wait input_of(const struct ppi_waits *waits, const ppsched_op *op)
{
    const ppsched_timeline *timeline = waits->timeline;
    const struct ppi_instance *instance = ppi_instance_of(&timeline->costs, timeline->schedule, op);
    size_t unit;
    double delay;
    if (op->kind == PPSCHED_KIND_F && op->stage > 0 && instance[-1].device != instance->device) {
        unit = waits->forward[ppi_cell_of(timeline->schedule, op) - timeline->schedule->micro_slices];
        delay = ppi_delay_of(&timeline->costs, timeline->schedule, op, false);
    } else if (ppi_is_backward(op->kind) && op->stage + 1u < timeline->costs.stages && instance[1].device != instance->device) {
        unit = waits->backward[ppi_cell_of(timeline->schedule, op) + timeline->schedule->micro_slices];
        delay = ppi_delay_of(&timeline->costs, timeline->schedule, op, true);
    } else {
        return NOTHING;
    }
    if (timeline->has_ends && op->kind != PPSCHED_KIND_F)
        return (struct ppi_wait){unit,
                                 ppi_made_at(timeline, unit + ppi_unit_length(&timeline->schedule->ops[unit]) - 1) + delay};
    return (struct ppi_wait){unit, ppi_made_at(timeline, unit) + delay};
}

/* --- in a stage graph, after the op's turn: what may feed it, and the turns on its other devices --- */

static uint32_t count_devices(const struct ppi_waits *waits, size_t unit)
{
    uint32_t count;
    ppi_devices_of(&waits->timeline->schedule->placement, waits->timeline->schedule->ops[unit].stage, &count);
    return count;
}

static struct ppi_feeds feeds_of(const struct ppi_waits *waits, size_t unit)
{
    const ppsched_op *op = &waits->timeline->schedule->ops[unit];
    return ppi_feeds_of(waits->timeline->schedule->placement.graph, op->kind, op->stage);
}

PPI_APART struct ppi_wait wait_in_graph(const struct ppi_waits *waits, size_t unit, size_t i)
{
    const ppsched_timeline *timeline = waits->timeline;
    const ppsched_op *op = &timeline->schedule->ops[unit];
    const struct ppi_feeds feeds = feeds_of(waits, unit);
    const bool backward = op->kind != PPSCHED_KIND_F;
    if (i > feeds.count) {
        for (size_t steps = i - feeds.count; steps > 0; steps--)
            unit = waits->copies[unit];
        return ppi_wait_at(waits, unit, 0);
    }
    const uint32_t feed = (uint32_t)i - 1;
    if (!ppi_feed_runs(timeline->schedule->placement.graph, &feeds, feed, op->microbatch))
        return NOTHING;
    const ppsched_op other = ppi_op_beside(op, feeds.stages[feed], op->kind);
    const size_t node = (backward ? waits->backward : waits->forward)[ppi_cell_of(timeline->schedule, &other)];
    return (struct ppi_wait){node, timeline->spans[node].end + ppi_link_delay_of(&timeline->costs, timeline->schedule, op,
                                                                                 ppi_feed_link(&feeds, feed), backward)};
}

PPI_APART size_t count_in_graph(const struct ppi_waits *waits, size_t unit)
{
    return (size_t)feeds_of(waits, unit).count + count_devices(waits, unit);
}

bool ppi_waits_for_input(const struct ppi_waits *waits, size_t unit, size_t i)
{
    const size_t inputs = waits->timeline->schedule->placement.graph == NULL
                              ? ppi_unit_length(&waits->timeline->schedule->ops[unit])
                              : feeds_of(waits, unit).count;
    return i > 0 && i <= inputs;
}

size_t ppi_wait_count(const struct ppi_waits *waits, size_t node)
{
    if (ppi_is_flush(waits, node))
        return waits->worker_count;
    if (waits->timeline->schedule->placement.graph != NULL)
        return count_in_graph(waits, node);
    return 1 + ppi_unit_length(&waits->timeline->schedule->ops[node]) + (waits->senders != NULL);
}

struct ppi_wait ppi_wait_at(const struct ppi_waits *waits, size_t node, size_t i)
{
    const ppsched_timeline *timeline = waits->timeline;
    if (ppi_is_flush(waits, node)) {
        size_t flush = node - (size_t)timeline->schedule->op_count;
        size_t unit = waits->before_flush[flush * waits->worker_count + i];
        return (struct ppi_wait){unit, timeline->spans[unit].end};
    }
    if (i == 0)
        return turn_of(waits, node);
    if (timeline->schedule->placement.graph != NULL)
        return wait_in_graph(waits, node, i);
    if (waits->senders != NULL && i > ppi_unit_length(&timeline->schedule->ops[node]))
        return own_input_of(waits, node);
    return input_of(waits, &timeline->schedule->ops[node + i - 1]);
}
