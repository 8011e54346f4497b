/* SPDX-License-Identifier: Apache-2.0 */
/* Latest starts that leave the makespan as it is: the backward sweep over an executable schedule.
 *
 * The slack of an op is the least room to what comes after it: the next op of its device, its consumer on another device, the
 * flush. The room to a successor that starts right away is exactly 0, so on the critical path slack is 0 to the last bit. */
#include "eval/event_loop.h"
#include "eval/timeline.h"

struct sweep {
    struct ppi_event_loop loop; /* times: latest starts; clocks: when what follows must start */
    const ppsched_timeline *timeline;
    uint32_t iteration_start; /* first microbatch of the iteration that is being swept */
};

/* Lowers `*slack` to the room between `end` and the consumer's latest start; false where that is not known yet. */
static inline bool before(union ppi_time *latest, double end, double *slack)
{
    if (!ppi_is_known(latest))
        return false;
    double room = latest->value - end;
    *slack = room < *slack ? room : *slack;
    return true;
}

static inline bool consumer_known(const struct ppi_row *row, const ppsched_op *op, double end, double *slack)
{
    if (op->kind == PPSCHED_KIND_F)
        return row->device_after == PPSCHED_NONE ||
               before(&row[1].passes[op->microbatch].forward, end + row[1].forward_delay, slack);
    if (op->kind == PPSCHED_KIND_W)
        return true;
    return row->device_before == PPSCHED_NONE ||
           before(&row[-1].passes[op->microbatch].backward, end + row[-1].backward_delay, slack);
}

static inline void note_latest(struct ppi_event_loop *loop, const struct ppi_row *row, const ppsched_op *op, double latest)
{
    struct ppi_pass *pass = &row->passes[op->microbatch];
    PPI_PREFETCH(pass, -PPI_AHEAD);
    if (op->kind == PPSCHED_KIND_F)
        ppi_note(loop, &pass->forward, latest, row->device_before);
    else if (op->kind != PPSCHED_KIND_W)
        ppi_note(loop, &pass->backward, latest, row->device_after);
}

/* Tries the unit of `length` ops that ends at `clock` at the latest: its latest start, or -1 where a consumer's is not known
 * yet. */
static inline double latest_of(struct ppi_event_loop *loop, const ppsched_op *unit, size_t length, const ppsched_span *span,
                               double clock)
{
    double slack = clock - span->end;
    if (!ppi_is_compute(unit->kind))
        return span->start + slack;
    for (const ppsched_op *op = unit; op < unit + length; op++)
        if (!consumer_known(ppi_row_of(loop, op), op, span->end, &slack))
            return -1;
    for (const ppsched_op *op = unit; op < unit + length; op++)
        note_latest(loop, ppi_row_of(loop, op), op, span->start + slack);
    return span->start + slack;
}

/* Sweeps a device backwards until it waits, or its queue is done. */
static void run_device(struct sweep *sweep, uint32_t device)
{
    struct ppi_track *track = &sweep->loop.tracks[device];
    const ppsched_op *op = track->op, *const end = track->end;
    ppsched_span *span = track->span;
    double *latest = sweep->timeline->latest + (span - sweep->timeline->spans), clock = track->clock;
    while (op > end) {
        size_t length = op - end >= 2 && ppi_unit_length(op - 2) == 2 ? 2 : 1;
        const ppsched_op *unit = op - length;
        PPI_PREFETCH(op, -PPI_AHEAD);
        PPI_PREFETCH(span, -PPI_AHEAD);
        PPI_PREFETCH(latest, -PPI_AHEAD);
        if (unit->microbatch < sweep->iteration_start && ppi_is_compute(unit->kind))
            break; /* of the iteration before; comm ops may stand anywhere */
        double time = latest_of(&sweep->loop, unit, length, span - length, clock);
        if (time < 0)
            break;
        for (size_t i = 0; i < length; i++)
            *--latest = time;
        clock = time;
        op = unit;
        span -= length;
    }
    track->op = op;
    track->span = span;
    track->clock = clock;
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

void ppi_latest_starts(struct ppi_event_loop *loop, ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    struct sweep sweep = {.loop = *loop, .timeline = timeline};
    ppi_event_loop_reset(&sweep.loop, timeline->spans);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        struct ppi_track *track = &sweep.loop.tracks[d];
        *track = (struct ppi_track){timeline->metrics.makespan, track->end, track->op, track->span + (track->end - track->op)};
    }
    sweep.iteration_start = (uint32_t)timeline->flush_count * schedule->shape.microbatches;
    ppi_event_loop_ready_all(&sweep.loop);
    for (size_t flushes = timeline->flush_count;; flushes--) {
        while (sweep.loop.ready_count > 0)
            run_device(&sweep, sweep.loop.ready[--sweep.loop.ready_count]);
        if (flushes == 0)
            break;
        flush(&sweep);
    }
}
