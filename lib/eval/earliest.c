/* SPDX-License-Identifier: Apache-2.0 */
/* Earliest starts: the forward sweep. It also finds out whether the schedule is complete and can be run at all. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/event_loop.h"
#include "eval/timeline.h"

/* Further states of a forward slot: once the backward of its stage pass ran, its time is of no more use. */
#define SLOT_WEIGHT_PENDING (-3.0) /* I is done, W is not */
#define SLOT_DONE (-4.0)           /* the stage pass is done */

struct sweep {
    struct ppi_event_loop loop;
    ppsched_span *spans;
    uint32_t iteration_end; /* first microbatch that may not start yet */
    size_t done;            /* stage passes that are done */
};

/* Raises `*start` to when the slot's time plus delay has passed. False where it is not known: then the device waits. */
static inline bool after(double *slot, double delay, double *start)
{
    if (*slot < 0) {
        if (*slot == PPI_SLOT_UNKNOWN)
            *slot = PPI_SLOT_AWAITED;
        return false;
    }
    double ready = *slot + delay;
    *start = ready > *start ? ready : *start;
    return true;
}

/* The three *_ready raise `*start` to when the op's inputs are there; false where it cannot run (yet, or ever). The three
 * *_done note its end. */
static inline bool forward_ready(struct ppi_event_loop *loop, const ppsched_op *op, const struct ppi_lane *lane, double *start)
{
    double *slot = &loop->forward[ppi_slot_of(loop, op)];
    if (*slot >= 0 || *slot < PPI_SLOT_AWAITED)
        return false; /* ran before */
    return op->stage == 0 || after(slot - loop->microbatches, lane->forward_delay, start);
}

static inline void forward_done(struct ppi_event_loop *loop, const ppsched_op *op, const struct ppi_lane *lane, double end)
{
    ppi_slot_fill(loop, &loop->forward[ppi_slot_of(loop, op)], end, lane, 1);
}

static inline bool backward_ready(struct ppi_event_loop *loop, const ppsched_op *op, const struct ppi_lane *lane, double *start)
{
    size_t slot = ppi_slot_of(loop, op);
    if (loop->forward[slot] < 0)
        return false; /* its own forward has not run, or a backward has */
    return op->stage + 1u == loop->stages || after(&loop->backward[slot + loop->microbatches], lane->backward_delay, start);
}

static inline void backward_done(struct sweep *sweep, const ppsched_op *op, const struct ppi_lane *lane, double end)
{
    struct ppi_event_loop *loop = &sweep->loop;
    size_t slot = ppi_slot_of(loop, op);
    bool full = op->kind == PPSCHED_KIND_B;
    loop->forward[slot] = full ? SLOT_DONE : SLOT_WEIGHT_PENDING;
    sweep->done += full;
    ppi_slot_fill(loop, &loop->backward[slot], end, lane, -1);
}

static inline bool weight_ready(const struct ppi_event_loop *loop, const ppsched_op *op)
{
    return loop->forward[ppi_slot_of(loop, op)] == SLOT_WEIGHT_PENDING;
}

static inline void weight_done(struct sweep *sweep, const ppsched_op *op)
{
    sweep->loop.forward[ppi_slot_of(&sweep->loop, op)] = SLOT_DONE;
    sweep->done++;
}

static bool run_pair(struct sweep *sweep, uint32_t device, const ppsched_op *ops, ppsched_span *span, double *clock)
{
    struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_lane *forward = ppi_lane_of(loop->costs, loop->schedule, &ops[0]);
    const struct ppi_lane *backward = ppi_lane_of(loop->costs, loop->schedule, &ops[1]);
    double start = *clock;
    if (forward->device != device || backward->device != device || ops[1].microbatch >= sweep->iteration_end)
        return false;
    if (!forward_ready(loop, &ops[0], forward, &start) || !backward_ready(loop, &ops[1], backward, &start))
        return false;
    double end = start + ppi_overlapped_duration(loop->costs, forward, ops[0].stage, backward, ops[1].stage, ops[1].kind);
    forward_done(loop, &ops[0], forward, end);
    backward_done(sweep, &ops[1], backward, end);
    span[0] = span[1] = (ppsched_span){start, end};
    *clock = end;
    return true;
}

static inline bool run_op(struct sweep *sweep, const ppsched_op *op, const struct ppi_lane *lane, ppsched_span *span,
                          double *clock)
{
    double start = *clock, duration = lane->duration[op->kind];
    switch (op->kind) {
    case PPSCHED_KIND_F:
        if (!forward_ready(&sweep->loop, op, lane, &start))
            return false;
        forward_done(&sweep->loop, op, lane, start + duration);
        break;
    case PPSCHED_KIND_W:
        if (!weight_ready(&sweep->loop, op))
            return false;
        weight_done(sweep, op);
        break;
    default:
        if (!backward_ready(&sweep->loop, op, lane, &start))
            return false;
        backward_done(sweep, op, lane, start + duration);
        break;
    }
    *clock = start + duration;
    *span = (ppsched_span){start, *clock};
    return true;
}

/* Runs a device until it waits, or its queue ends. */
static void run_device(struct sweep *sweep, uint32_t device)
{
    const ppsched_queue *queue = &sweep->loop.schedule->queues[device];
    struct ppi_track *track = &sweep->loop.tracks[device];
    const ppsched_op *ops = queue->ops;
    ppsched_span *spans = sweep->spans + queue->first;
    const struct ppi_lane *lanes = sweep->loop.schedule->placement.copies == 1 ? sweep->loop.costs->lanes : NULL;
    const uint32_t iteration_end = sweep->iteration_end;
    const size_t count = queue->count;
    double clock = track->clock;
    size_t i = track->position;
    for (; i < count; i++) {
        const ppsched_op *op = &ops[i];
        if (op->microbatch >= iteration_end && ppi_kind_has_microbatch(op->kind))
            break;
        if (!ppi_is_compute(op->kind)) {
            spans[i] = (ppsched_span){clock, clock};
            continue;
        }
        if (ppi_unit_length(op) == 2) {
            if (!run_pair(sweep, device, op, &spans[i], &clock))
                break;
            i++;
            continue;
        }
        const struct ppi_lane *lane = lanes != NULL ? &lanes[op->stage]
                                                    : ppi_lane_of(sweep->loop.costs, sweep->loop.schedule, op);
        if (lane->device != device || !run_op(sweep, op, lane, &spans[i], &clock))
            break;
    }
    track->clock = clock;
    track->position = i;
}

/* All of an iteration is done: the next may start everywhere at once. */
static double flush(struct sweep *sweep)
{
    struct ppi_event_loop *loop = &sweep->loop;
    double time = 0;
    for (uint32_t i = 0; i < loop->active_count; i++)
        if (loop->tracks[loop->active[i]].clock > time)
            time = loop->tracks[loop->active[i]].clock;
    for (uint32_t i = 0; i < loop->active_count; i++)
        loop->tracks[loop->active[i]].clock = time;
    sweep->iteration_end += loop->schedule->shape.microbatches;
    ppi_event_loop_ready_all(loop);
    return time;
}

static bool sweep_all(struct sweep *sweep, ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = sweep->loop.schedule;
    size_t passes_per_iteration = (size_t)schedule->shape.stages * schedule->shape.microbatches;
    ppi_event_loop_ready_all(&sweep->loop);
    for (size_t flushed = 0;; flushed++) {
        while (sweep->loop.ready_count > 0)
            run_device(sweep, sweep->loop.ready[--sweep->loop.ready_count]);
        if (flushed == timeline->flush_count || sweep->done != (flushed + 1) * passes_per_iteration)
            break;
        timeline->flush_times[flushed] = flush(sweep);
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (sweep->loop.tracks[d].position != schedule->queues[d].count)
            return false;
    return sweep->done == ppi_cell_count(schedule);
}

static bool ends_are_finite(const struct sweep *sweep)
{
    for (uint32_t d = 0; d < sweep->loop.schedule->shape.devices; d++)
        if (!ppi_is_finite(sweep->loop.tracks[d].clock))
            return false;
    return true;
}

ppsched_status ppi_earliest_starts_in(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    struct sweep sweep = {.loop = *loop, .spans = timeline->spans};
    ppsched_status status = PPSCHED_OK;
    sweep.iteration_end = timeline->flush_count > 0 ? schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
    if (!sweep_all(&sweep, timeline))
        status = PPSCHED_ERROR_INVALID_SCHEDULE;
    else if (!ends_are_finite(&sweep))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    return status;
}

ppsched_status ppi_earliest_starts(ppsched_timeline *timeline, ppsched_error *error)
{
    struct ppi_event_loop loop;
    ppsched_status status = ppi_event_loop_make(&loop, timeline->schedule, &timeline->costs, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_earliest_starts_in(&loop, timeline, error);
    ppi_event_loop_clear(&loop);
    return status;
}
