/* SPDX-License-Identifier: Apache-2.0 */
/* Notes when each stage pass's output is ready, in the passes of the event loop, then splits each device's waits in queue
 * order. */
#include "eval/idle.h"

#include "base/checked.h"
#include "base/inline.h"
#include "eval/event_loop.h"
#include "eval/memory_saving.h"
#include "ir/stage_graph.h"

/* When the output of each stage pass is made, forward and backward. */
struct making {
    const ppsched_timeline *timeline;
    size_t micro_slices;
    struct ppi_pass *passes;
};

static struct ppi_pass *pass_of(const struct making *making, const ppsched_op *op)
{
    return &making->passes[op->stage * making->micro_slices + ppi_micro_slice_of(&making->timeline->schedule->shape, op)];
}

PPI_INLINE void note_outputs_if(const struct making *making, bool has_ends)
{
    const ppsched_timeline *timeline = making->timeline;
    for (size_t i = 0; i < timeline->schedule->op_count; i++) {
        const ppsched_op *op = &timeline->schedule->ops[i];
        const double made = has_ends ? ppi_made_at(timeline, i) : timeline->spans[i].end;
        if (op->kind == PPSCHED_KIND_F)
            pass_of(making, op)->forward.value = made;
        else if (ppi_is_backward(op->kind))
            pass_of(making, op)->backward.value = made;
    }
}

static void note_outputs(const struct making *making)
{
    if (making->timeline->has_ends)
        note_outputs_if(making, true);
    else
        note_outputs_if(making, false);
}

/* When a unit's last input from another stage was made, and when it arrived. Inputs from its own stage are always earlier. */
static void last_input(const struct making *making, const ppsched_op *unit, double *made, double *there)
{
    const ppsched_schedule *schedule = making->timeline->schedule;
    for (size_t i = 0; i < ppi_unit_length(unit); i++) {
        const ppsched_op *op = &unit[i];
        const struct ppi_pass *pass = pass_of(making, op);
        double own = -1, delay = 0;
        if (op->kind == PPSCHED_KIND_F && op->stage > 0) {
            own = (pass - making->micro_slices)->forward.value;
            delay = ppi_delay_of(&making->timeline->costs, schedule, op, false);
        } else if (ppi_is_backward(op->kind) && op->stage + 1u < schedule->shape.stages) {
            own = (pass + making->micro_slices)->backward.value;
            delay = ppi_delay_of(&making->timeline->costs, schedule, op, true);
        }
        if (own >= 0 && own + delay > *there) {
            *made = own;
            *there = own + delay;
        }
    }
}

/* The same in a stage graph. An op of several devices that starts later waits for the others of them. */
PPI_APART void last_feed(const struct making *making, const ppsched_op *op, double start, double *made, double *there)
{
    const ppsched_schedule *schedule = making->timeline->schedule;
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    const struct ppi_feeds feeds = ppi_feeds_of(graph, op->kind, op->stage);
    const bool backward = op->kind != PPSCHED_KIND_F;
    uint32_t count;
    for (uint32_t i = 0; i < feeds.count; i++) {
        if (!ppi_feed_runs(graph, &feeds, i, op->microbatch))
            continue;
        const struct ppi_pass *pass =
            &making->passes[feeds.stages[i] * making->micro_slices + ppi_micro_slice_of(&schedule->shape, op)];
        const double own = backward ? pass->backward.value : pass->forward.value,
                     delay = ppi_link_delay_of(&making->timeline->costs, schedule, op, ppi_feed_link(&feeds, i), backward);
        if (own + delay > *there) {
            *made = own;
            *there = own + delay;
        }
    }
    ppi_devices_of(&schedule->placement, op->stage, &count);
    if (count > 1 && *there < start)
        *made = *there = start;
}

/* Whether a unit starts only when its RELOAD ends. */
static bool waits_for_reload(const ppsched_timeline *timeline, const ppsched_op *unit, double start)
{
    const ppsched_op *last = unit + ppi_unit_length(unit) - 1;
    if (timeline->saving == NULL || !ppi_is_backward(last->kind))
        return false;
    const struct ppi_kept_pass *pass = ppi_kept_pass_of(timeline->saving, last);
    return (pass->flags & PPI_HAS_RELOAD) != 0 && pass->reloaded.value >= start;
}

/* Splits the wait before a unit; `copied`: when the last OFFLOAD_WAIT before it ended. */
static void split_wait(const struct making *making, const ppsched_op *unit, double start, double copied, double *clock,
                       bool has_computed, ppsched_idle *idle)
{
    double made = 0, there = 0;
    if (making->timeline->schedule->placement.graph != NULL)
        last_feed(making, unit, start, &made, &there);
    else
        last_input(making, unit, &made, &there);
    ppi_add_waiting_for_neighbour(idle, has_computed, ppi_part_of_wait(clock, made, start));
    if (copied >= start || waits_for_reload(making->timeline, unit, start)) {
        idle->transfer += ppi_part_of_wait(clock, there, start);
        idle->reload += ppi_part_of_wait(clock, start, start);
    }
    idle->transfer += ppi_part_of_wait(clock, start, start);
}

/* Splits the waits of a device's ops from position `from` to `to`; returns when the last of them ends. */
static double split_ops(const struct making *making, uint32_t device, size_t from, size_t to, ppsched_idle *idle)
{
    const ppsched_timeline *timeline = making->timeline;
    const ppsched_schedule *schedule = timeline->schedule;
    const ppsched_queue *queue = &schedule->queues[device];
    double clock = from > 0 ? timeline->spans[queue->first + from - 1].end : 0, copied = -1;
    size_t flushed = 0;
    bool has_computed = from > 0;
    for (size_t i = from; i < to; i += ppi_unit_length(&queue->ops[i])) {
        const ppsched_op *op = &queue->ops[i];
        const ppsched_span *span = &timeline->spans[queue->first + i];
        if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT && timeline->saving != NULL)
            copied = span->end;
        if (!ppi_is_compute(op->kind) && !(op->kind == PPSCHED_KIND_RECOMPUTE && timeline->saving != NULL))
            continue;
        while (flushed < timeline->flush_count && op->microbatch >= (flushed + 1) * schedule->shape.microbatches) {
            idle->drain += ppi_part_of_wait(&clock, timeline->flush_times[flushed], timeline->flush_times[flushed]);
            flushed++;
            has_computed = false;
        }
        if (span->start > clock)
            split_wait(making, op, span->start, copied, &clock, has_computed, idle);
        clock = span->end;
        has_computed = true;
    }
    return clock;
}

static void split_queue(const struct making *making, uint32_t device, ppsched_idle *idle)
{
    double clock = split_ops(making, device, 0, making->timeline->schedule->queues[device].count, idle);
    idle->drain += ppi_part_of_wait(&clock, making->timeline->metrics.makespan, making->timeline->metrics.makespan);
}

void ppi_find_imbalance(ppsched_timeline *timeline)
{
    uint32_t devices = timeline->schedule->shape.devices;
    double most = 0;
    for (uint32_t d = 0; d < devices; d++)
        most = ppi_larger(most, timeline->devices[d].busy);
    for (uint32_t d = 0; d < devices; d++) {
        ppsched_idle *idle = &timeline->idle[d];
        idle->imbalance = ppi_smaller(idle->neighbour, most - timeline->devices[d].busy);
        idle->neighbour -= idle->imbalance;
    }
}

static void split_queues(struct ppi_event_loop *loop, ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const struct making making = {timeline, ppi_total_micro_slices(&schedule->shape), loop->passes};
    note_outputs(&making);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        timeline->idle[d] = (ppsched_idle){.size = sizeof timeline->idle[d]};
        split_queue(&making, d, &timeline->idle[d]);
    }
}

void ppi_find_idle(struct ppi_event_loop *loop, ppsched_timeline *timeline)
{
    split_queues(loop, timeline);
    ppi_find_imbalance(timeline);
}

void ppi_find_idle_of_repeats(struct ppi_event_loop *loop, ppsched_timeline *timeline, const struct ppi_repeated_part *parts,
                              double times)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const struct making making = {timeline, ppi_total_micro_slices(&schedule->shape), loop->passes};
    split_queues(loop, timeline);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        ppsched_idle *idle = &timeline->idle[d], more = {0};
        split_ops(&making, d, parts[d].from, parts[d].to, &more);
        idle->neighbour += times * more.neighbour;
        idle->transfer += times * more.transfer;
    }
}
