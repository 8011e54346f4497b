/* SPDX-License-Identifier: Apache-2.0 */
/* Earliest and latest starts of a schedule with a stage graph. A device runs until its next op needs what has not run; an op of
 * several devices runs when it is next on all of them. What has run wakes the devices of all stages that it may feed. The order
 * in which ops ran is kept: latest starts go through it backwards. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/event_loop.h"
#include "eval/timeline.h"
#include "ir/stage_graph.h"

enum { RAN_F = 1, RAN_BACKWARD = 2, RAN_W = 4 };

struct sweep {
    struct ppi_event_loop loop;
    ppsched_timeline *timeline;
    const struct ppi_stage_graph *graph;
    uint32_t iteration_end;
    size_t ran; /* ops in the order */
    bool meets_others;
};

static struct ppi_pass *pass_of(const struct sweep *sweep, const ppsched_op *op, uint32_t stage)
{
    return &sweep->loop.rows[stage].passes[ppi_micro_slice_of(&sweep->loop.schedule->shape, op)];
}

/* Raises `*start` to when the inputs of an op are there; false if one has not run. */
static bool inputs_are_there(const struct sweep *sweep, const ppsched_op *op, double *start)
{
    const bool backward = op->kind != PPSCHED_KIND_F;
    const struct ppi_feeds feeds = ppi_feeds_of(sweep->graph, op->kind, op->stage);
    for (uint32_t i = 0; i < feeds.count; i++) {
        if (!ppi_feed_runs(sweep->graph, &feeds, i, op->microbatch))
            continue;
        const struct ppi_pass *pass = pass_of(sweep, op, feeds.stages[i]);
        const union ppi_time *made = backward ? &pass->backward : &pass->forward;
        if (made->bits < 0)
            return false;
        *start = ppi_larger(*start, made->value + ppi_link_delay_of(sweep->loop.costs, sweep->loop.schedule, op,
                                                                    ppi_feed_link(&feeds, i), backward));
    }
    return true;
}

/* Whether what its own stage must have run before has run, and the op has not. */
static bool is_in_turn(const struct sweep *sweep, const ppsched_op *op)
{
    const uint32_t slices = sweep->loop.schedule->shape.slices;
    const uint8_t *ran = &sweep->loop.ran[ppi_cell_of(sweep->loop.schedule, op)];
    if (!ppi_stage_runs(sweep->graph, op->stage, op->microbatch))
        return false;
    if (op->kind == PPSCHED_KIND_F)
        return *ran == 0 && (op->slice == 0 || (ran[-1] & RAN_F) != 0);
    if (!ppi_stage_has_backward(sweep->graph, op->stage))
        return false;
    if (op->kind == PPSCHED_KIND_W) /* a B counts as W too */
        return *ran == (RAN_F | RAN_BACKWARD) && !ppi_stage_is_frozen(sweep->graph, op->stage);
    if (op->kind == PPSCHED_KIND_B && ppi_stage_is_frozen(sweep->graph, op->stage))
        return false;
    return *ran == RAN_F && (op->slice + 1u == slices || (ran[1] & RAN_BACKWARD) != 0);
}

/* Raises `*start` to when all devices of the op are free; false if it is not next on one of them. */
static bool is_next_everywhere(const struct sweep *sweep, const ppsched_op *op, const uint32_t *devices, uint32_t count,
                               double *start)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ppi_track *track = &sweep->loop.tracks[devices[i]];
        if (track->op == track->end || !ppi_is_same_op(track->op, op))
            return false;
        *start = ppi_larger(*start, track->clock);
    }
    return true;
}

static void note_ran(struct sweep *sweep, const ppsched_op *op, double end)
{
    struct ppi_pass *pass = pass_of(sweep, op, op->stage);
    uint8_t *ran = &sweep->loop.ran[ppi_cell_of(sweep->loop.schedule, op)];
    if (op->kind == PPSCHED_KIND_F)
        pass->forward.value = end;
    else if (op->kind != PPSCHED_KIND_W)
        pass->backward.value = end;
    *ran |= (uint8_t)(op->kind == PPSCHED_KIND_F ? RAN_F : op->kind == PPSCHED_KIND_W ? RAN_W : RAN_BACKWARD);
    if (op->kind == PPSCHED_KIND_B || (op->kind == PPSCHED_KIND_I && ppi_stage_is_frozen(sweep->graph, op->stage)))
        *ran |= RAN_W;
}

static void sum_op(const struct sweep *sweep, struct ppi_track *track, double work)
{
    const ppsched_op *op = track->op;
    const double before = track->sums.memory;
    track->sums.busy += work;
    ppi_sum_memory(&track->sums, ppi_memory_of(sweep->loop.costs, sweep->loop.schedule, op), op);
    if (!ppi_stage_has_backward(sweep->graph, op->stage))
        track->sums.memory = before; /* free again at its end */
}

static void wake(struct sweep *sweep, uint32_t stage)
{
    uint32_t count;
    const uint32_t *devices = ppi_devices_of(&sweep->loop.schedule->placement, stage, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!sweep->loop.is_ready[devices[i]]) {
            sweep->loop.is_ready[devices[i]] = 1;
            sweep->loop.ready[sweep->loop.ready_count++] = devices[i];
        }
}

/* Passes sends and receives, which take no time here. */
static void pass_comms(struct ppi_track *track)
{
    for (; track->op < track->end && ppi_is_comm(track->op); track->op++)
        *track->span++ = (ppsched_span){track->clock, track->clock};
}

/* Runs the op that is next on a device; false if it cannot run yet, or ever. */
static bool run_op(struct sweep *sweep, uint32_t device)
{
    const ppsched_schedule *schedule = sweep->loop.schedule;
    const ppsched_op *op = sweep->loop.tracks[device].op;
    uint32_t count;
    const uint32_t *devices = ppi_devices_of(&schedule->placement, op->stage, &count);
    double start = 0;
    if (op->microbatch >= sweep->iteration_end && ppi_kind_has_microbatch(op->kind))
        return false;
    if (!ppi_is_compute(op->kind) || ppi_unit_length(op) == 2) {
        sweep->meets_others = true;
        return false;
    }
    if (ppi_seat_on(&schedule->placement, op->stage, device) == PPSCHED_NONE || !is_in_turn(sweep, op) ||
        !is_next_everywhere(sweep, op, devices, count, &start) || !inputs_are_there(sweep, op, &start))
        return false;
    const double work = ppi_duration_of(sweep->loop.costs, schedule, op), end = start + work;
    sweep->loop.order[sweep->ran++] = (uint32_t)(sweep->loop.tracks[devices[0]].op - schedule->ops);
    note_ran(sweep, op, end);
    const struct ppi_feeds fed = ppi_fed_by(sweep->graph, op->kind, op->stage);
    const uint32_t stage = op->stage;
    for (uint32_t i = 0; i < count; i++) {
        struct ppi_track *track = &sweep->loop.tracks[devices[i]];
        sum_op(sweep, track, work);
        *track->span++ = (ppsched_span){start, end};
        track->clock = end;
        track->op++;
        pass_comms(track);
    }
    wake(sweep, stage);
    for (uint32_t i = 0; i < fed.count; i++)
        wake(sweep, fed.stages[i]);
    return true;
}

static void run_ready(struct sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->loop.active_count; i++)
        sweep->loop.is_ready[sweep->loop.active[i]] = 1;
    ppi_event_loop_ready_all(&sweep->loop);
    while (sweep->loop.ready_count > 0) {
        const uint32_t device = sweep->loop.ready[--sweep->loop.ready_count];
        sweep->loop.is_ready[device] = 0;
        while (sweep->loop.tracks[device].op < sweep->loop.tracks[device].end && run_op(sweep, device))
            continue;
    }
}

/* Whether all ops before the end of the iteration have run; then it is flushed. */
static bool flush(struct sweep *sweep, double *time)
{
    *time = 0;
    for (uint32_t i = 0; i < sweep->loop.active_count; i++) {
        const struct ppi_track *track = &sweep->loop.tracks[sweep->loop.active[i]];
        for (const ppsched_op *op = track->op; op < track->end; op++)
            if (op->microbatch < sweep->iteration_end && !ppi_is_comm(op))
                return false;
        *time = ppi_larger(*time, track->clock);
    }
    for (uint32_t i = 0; i < sweep->loop.active_count; i++)
        sweep->loop.tracks[sweep->loop.active[i]].clock = *time;
    sweep->iteration_end += sweep->loop.schedule->shape.microbatches;
    return true;
}

/* Whether each stage pass has all its ops. */
static bool is_complete(const struct sweep *sweep)
{
    const ppsched_schedule *schedule = sweep->loop.schedule;
    const bool forwards = ppi_is_forward_only(schedule);
    for (uint32_t s = 0; s < schedule->shape.stages; s++)
        for (uint32_t p = 0; p < schedule->micro_slices; p++) {
            const uint8_t all = forwards || !ppi_stage_has_backward(sweep->graph, s) ? RAN_F : RAN_F | RAN_BACKWARD | RAN_W;
            if (sweep->loop.ran[(size_t)s * schedule->micro_slices + p] !=
                (ppi_stage_runs(sweep->graph, s, p / schedule->shape.slices) ? all : 0))
                return false;
        }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (sweep->loop.tracks[d].op != sweep->loop.tracks[d].end)
            return false;
    return true;
}

ppsched_status ppi_graph_earliest(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    struct sweep sweep = {.loop = *loop, .timeline = timeline, .graph = schedule->placement.graph};
    size_t flushed = 0;
    ppi_event_loop_reset(&sweep.loop, timeline->spans);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        sweep.loop.tracks[d].sums = ppi_sums_of_none(timeline, d);
        pass_comms(&sweep.loop.tracks[d]);
    }
    sweep.iteration_end = timeline->flush_count > 0 ? schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
    run_ready(&sweep);
    while (flushed < timeline->flush_count && flush(&sweep, &timeline->flush_times[flushed])) {
        flushed++;
        run_ready(&sweep);
    }
    if (sweep.meets_others)
        return ppi_refuse_graph(sweep.graph, "overlapped pairs, and ops other than F, B, I, W, sends and receives", error);
    if (!is_complete(&sweep))
        return PPSCHED_ERROR_INVALID_SCHEDULE;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        if (!ppi_is_finite(sweep.loop.tracks[d].clock))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
        ppi_sums_note(&sweep.loop.tracks[d].sums, timeline, d);
    }
    loop->ran_count = sweep.ran;
    return PPSCHED_OK;
}

/* --- latest starts --- */

/* The time after an op that ends at `end` until something that waits for it must start. */
static double slack_of(const struct sweep *sweep, const ppsched_op *op, double end)
{
    const struct ppi_feeds fed = ppi_fed_by(sweep->graph, op->kind, op->stage);
    const bool backward = op->kind != PPSCHED_KIND_F;
    uint32_t count;
    const uint32_t *devices = ppi_devices_of(&sweep->loop.schedule->placement, op->stage, &count);
    double slack = PPI_INFINITE;
    for (uint32_t i = 0; i < count; i++)
        slack = ppi_smaller(slack, sweep->loop.tracks[devices[i]].clock - end);
    for (uint32_t i = 0; i < fed.count; i++) {
        if (!ppi_fed_runs(sweep->graph, &fed, i, op->microbatch))
            continue;
        const struct ppi_pass *pass = pass_of(sweep, op, fed.stages[i]);
        const union ppi_time *latest = backward ? &pass->backward : &pass->forward;
        if (latest->bits >= 0)
            slack = ppi_smaller(slack, latest->value - (end + ppi_link_delay_of(sweep->loop.costs, sweep->loop.schedule, op,
                                                                                ppi_feed_link(&fed, i), backward)));
    }
    return slack;
}

/* Before an iteration: on all devices the one before must end before the first device must start it. */
static void flush_back(struct sweep *sweep)
{
    double time = sweep->timeline->metrics.makespan;
    for (uint32_t i = 0; i < sweep->loop.active_count; i++)
        time = ppi_smaller(time, sweep->loop.tracks[sweep->loop.active[i]].clock);
    for (uint32_t i = 0; i < sweep->loop.active_count; i++)
        sweep->loop.tracks[sweep->loop.active[i]].clock = time;
}

/* Passes the sends and receives before a device's next op. */
static void pass_comms_back(struct ppi_track *track, const ppsched_queue *queue, ppsched_timeline *timeline)
{
    for (; track->op > queue->ops && ppi_is_comm(track->op - 1); track->op--)
        timeline->latest[queue->first + (size_t)(track->op - 1 - queue->ops)] = track->clock;
}

void ppi_graph_latest(struct ppi_event_loop *loop, ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    struct sweep sweep = {.loop = *loop, .timeline = timeline, .graph = schedule->placement.graph};
    size_t flushes = timeline->flush_count;
    ppi_event_loop_reset(&sweep.loop, timeline->spans);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        sweep.loop.tracks[d].op = sweep.loop.tracks[d].end;
        sweep.loop.tracks[d].clock = timeline->metrics.makespan;
    }
    for (size_t k = loop->ran_count; k-- > 0;) {
        const ppsched_op *op = &schedule->ops[loop->order[k]];
        const ppsched_span *span = &timeline->spans[loop->order[k]];
        uint32_t count;
        const uint32_t *devices = ppi_devices_of(&schedule->placement, op->stage, &count);
        for (; flushes > op->microbatch / schedule->shape.microbatches && flushes > 0; flushes--)
            flush_back(&sweep);
        const double latest = span->start + slack_of(&sweep, op, span->end);
        struct ppi_pass *pass = pass_of(&sweep, op, op->stage);
        if (op->kind == PPSCHED_KIND_F)
            pass->forward.value = latest;
        else if (op->kind != PPSCHED_KIND_W)
            pass->backward.value = latest;
        for (uint32_t i = 0; i < count; i++) {
            struct ppi_track *track = &sweep.loop.tracks[devices[i]];
            pass_comms_back(track, &schedule->queues[devices[i]], timeline);
            track->op--;
            track->clock = latest;
            timeline->latest[track->op - schedule->ops] = latest;
        }
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        pass_comms_back(&sweep.loop.tracks[d], &schedule->queues[d], timeline);
}
