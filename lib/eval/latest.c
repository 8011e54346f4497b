/* SPDX-License-Identifier: Apache-2.0 */
/* Latest starts that leave the makespan as it is: the backward sweep over an executable schedule.
 *
 * The slack of an op is the least room to what comes after it: the next op of its device, its consumer on another device, the
 * flush. The room to a successor that starts right away is exactly 0, so on the critical path slack is 0 to the last bit. */
#include "eval/event_loop.h"
#include "eval/timeline.h"

struct sweep {
    struct ppi_event_loop loop; /* slots: latest starts of F and of the backward; clocks: when what follows must start */
    const ppsched_timeline *timeline;
    uint32_t iteration_start; /* first microbatch of the iteration that is being swept */
};

/* Lowers `*slack` to the room between `end` plus delay and the consumer's latest start; false where that is not known yet. */
static inline bool before(double *slot, double end, double delay, double *slack)
{
    if (*slot < 0) {
        *slot = PPI_SLOT_AWAITED;
        return false;
    }
    double room = *slot - (end + delay);
    if (room < *slack)
        *slack = room;
    return true;
}

static inline bool consumers_known(struct sweep *sweep, const ppsched_op *op, double end, double *slack)
{
    struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_lane *lane = ppi_lane_of(loop->costs, loop->schedule, op);
    size_t slot = ppi_slot_of(loop, op);
    if (op->kind == PPSCHED_KIND_F && op->stage + 1u < loop->stages)
        return before(&loop->forward[slot + loop->microbatches], end, lane[1].forward_delay, slack);
    if (ppi_is_backward(op->kind) && op->stage > 0)
        return before(&loop->backward[slot - loop->microbatches], end, lane[-1].backward_delay, slack);
    return true;
}

static inline void note_latest(struct sweep *sweep, const ppsched_op *op, double latest)
{
    struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_lane *lane = ppi_lane_of(loop->costs, loop->schedule, op);
    size_t slot = ppi_slot_of(loop, op);
    if (op->kind == PPSCHED_KIND_F)
        ppi_slot_fill(loop, &loop->forward[slot], latest, lane, -1);
    else if (ppi_is_backward(op->kind))
        ppi_slot_fill(loop, &loop->backward[slot], latest, lane, 1);
}

/* Tries the unit of `length` ops that starts at `unit`: its latest start, or -1 where a consumer's is not known yet. */
static inline double latest_of(struct sweep *sweep, const ppsched_op *unit, size_t length, const ppsched_span *span,
                               double clock)
{
    double slack = clock - span->end;
    if (!ppi_is_compute(unit->kind))
        return span->start + slack;
    for (size_t i = 0; i < length; i++)
        if (!consumers_known(sweep, &unit[i], span->end, &slack))
            return -1;
    for (size_t i = 0; i < length; i++)
        note_latest(sweep, &unit[i], span->start + slack);
    return span->start + slack;
}

/* Sweeps a device backwards until it waits, or its queue is done. */
static void run_device(struct sweep *sweep, uint32_t device)
{
    const ppsched_queue *queue = &sweep->loop.schedule->queues[device];
    const ppsched_span *spans = sweep->timeline->spans + queue->first;
    double *latest = sweep->timeline->latest + queue->first;
    struct ppi_track *track = &sweep->loop.tracks[device];
    while (track->position > 0) {
        size_t last = track->position - 1;
        size_t first = last > 0 && ppi_unit_length(&queue->ops[last - 1]) == 2 ? last - 1 : last;
        const ppsched_op *unit = &queue->ops[first];
        if (unit->microbatch < sweep->iteration_start)
            return;
        double time = latest_of(sweep, unit, last - first + 1, &spans[first], track->clock);
        if (time < 0)
            return;
        latest[first] = latest[last] = track->clock = time;
        track->position = first;
    }
}

/* An iteration is swept: the one before must end, everywhere, before the first device must start this one. */
static void flush(struct sweep *sweep)
{
    struct ppi_event_loop *loop = &sweep->loop;
    double time = sweep->timeline->metrics.makespan;
    for (uint32_t i = 0; i < loop->active_count; i++)
        if (loop->tracks[loop->active[i]].clock < time)
            time = loop->tracks[loop->active[i]].clock;
    for (uint32_t i = 0; i < loop->active_count; i++)
        loop->tracks[loop->active[i]].clock = time;
    sweep->iteration_start -= loop->schedule->shape.microbatches;
    ppi_event_loop_ready_all(loop);
}

ppsched_status ppi_latest_starts(ppsched_timeline *timeline, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    struct sweep sweep = {.timeline = timeline};
    ppsched_status status = ppi_event_loop_make(&sweep.loop, schedule, &timeline->costs, error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        sweep.loop.tracks[d] = (struct ppi_track){timeline->metrics.makespan, schedule->queues[d].count};
    sweep.iteration_start = (uint32_t)timeline->flush_count * schedule->shape.microbatches;
    ppi_event_loop_ready_all(&sweep.loop);
    for (size_t flushes = timeline->flush_count;; flushes--) {
        while (sweep.loop.ready_count > 0)
            run_device(&sweep, sweep.loop.ready[--sweep.loop.ready_count]);
        if (flushes == 0)
            break;
        flush(&sweep);
    }
    ppi_event_loop_clear(&sweep.loop);
    return PPSCHED_OK;
}
