/* SPDX-License-Identifier: Apache-2.0 */
/* Latest starts that keep the makespan: the backward sweep over an executable schedule. The slack of an op is its least
 * distance to what follows: the next op of its device, its consumer on another device, the flush. The distance to a successor
 * that starts right away is exactly 0, so on the critical path slack is 0 to the last bit. */
#include "base/checked.h"
#include "eval/event_loop.h"
#include "eval/timeline.h"

struct sweep {
    struct ppi_event_loop loop; /* times: latest starts; clocks: latest start of the op that follows */
    const ppsched_timeline *timeline;
    uint32_t iteration_start; /* first microbatch of the current iteration */
};

/* Lowers `*slack` to the time between `end` and the consumer's latest start; false if that is not known yet. */
static inline bool before(union ppi_time *latest, double end, double *slack)
{
    if (!ppi_is_known(latest))
        return false;
    double room = latest->value - end;
    *slack = room < *slack ? room : *slack;
    return true;
}

/* Lowers `*slack` to the time after an op that ends at `end`; false if its consumer's latest start is not known yet. */
PPI_INLINE bool consumer_known(const struct ppi_row *row, uint8_t kind, const struct ppi_micro_slice_view *micro_slice,
                               double end, double *slack)
{
    if (kind == PPSCHED_KIND_F)
        return row->device_after == PPSCHED_NONE ||
               before(&row[1].passes[micro_slice->index].forward, end + ppi_forward_delay(&row[1], 1, micro_slice), slack);
    if (kind == PPSCHED_KIND_W)
        return true;
    return row->device_before == PPSCHED_NONE ||
           before(&row[-1].passes[micro_slice->index].backward, end + ppi_backward_delay(&row[-1], -1, micro_slice), slack);
}

static inline void note_latest(struct ppi_event_loop *loop, const struct ppi_row *row, uint8_t kind, uint32_t micro_slice,
                               double latest)
{
    struct ppi_pass *pass = &row->passes[micro_slice];
    PPI_PREFETCH(pass, -PPI_AHEAD);
    if (kind == PPSCHED_KIND_F)
        ppi_note(loop, &pass->forward, latest, row->device_before);
    else if (kind != PPSCHED_KIND_W)
        ppi_note(loop, &pass->backward, latest, row->device_after);
}

/* The two *_starts lower `*slack` and note the latest start of what runs from `span->start` to `span->end`; false if a
 * consumer's is not known yet. */
PPI_INLINE bool op_starts(struct sweep *sweep, const ppsched_op *op, const ppsched_span *span, enum ppi_form form,
                          double *slack)
{
    struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_row *row = ppi_row_of_form(loop, op, form);
    const struct ppi_micro_slice_view micro_slice = ppi_view_micro_slice(loop, op, form);
    const uint8_t kind = op->kind;
    if (op->microbatch < sweep->iteration_start || !consumer_known(row, kind, &micro_slice, span->end, slack))
        return false;
    note_latest(loop, row, kind, micro_slice.index, span->start + *slack);
    return true;
}

PPI_APART double made_in_pair(const struct sweep *sweep, const ppsched_op *op)
{
    return ppi_made_at(sweep->timeline, (size_t)(op - sweep->loop.schedule->ops));
}

PPI_INLINE bool pair_starts(struct sweep *sweep, const ppsched_op *pair, const ppsched_span *span, enum ppi_form form,
                            double *slack)
{
    struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_row *forward = ppi_row_of_form(loop, &pair[0], form), *backward = ppi_row_of_form(loop, &pair[1], form);
    const struct ppi_micro_slice_view first = ppi_view_micro_slice(loop, &pair[0], form),
                                      second = ppi_view_micro_slice(loop, &pair[1], form);
    const bool has_ends = sweep->timeline->has_ends;
    if (pair[0].microbatch < sweep->iteration_start ||
        !consumer_known(forward, pair[0].kind, &first, has_ends ? made_in_pair(sweep, &pair[0]) : span->end, slack) ||
        !consumer_known(backward, pair[1].kind, &second, has_ends ? made_in_pair(sweep, &pair[1]) : span->end, slack))
        return false;
    note_latest(loop, forward, pair[0].kind, first.index, span->start + *slack);
    note_latest(loop, backward, pair[1].kind, second.index, span->start + *slack);
    return true;
}

/* Limits the slack of an op to what the ops that wait for its send leave. */
static double within_room(const ppsched_timeline *timeline, const ppsched_span *span, double slack)
{
    return ppi_smaller(slack, timeline->senders->ops[span - timeline->spans].room);
}

static void leave_room(const ppsched_timeline *timeline, size_t op, double delay, double latest)
{
    double *room = &timeline->senders->ops[op].room;
    *room = ppi_smaller(*room, latest - (timeline->spans[op].end + delay));
}

/* Limits the slack of the ops whose sends an op waits for. */
static void note_senders(const ppsched_timeline *timeline, const ppsched_span *span, double latest)
{
    const struct ppi_sender *sender = &timeline->senders->ops[span - timeline->spans];
    if (sender->previous != PPI_NO_OP)
        leave_room(timeline, sender->previous, sender->turn, latest);
    if (sender->input != PPI_NO_OP)
        leave_room(timeline, sender->input, sender->own, latest);
}

/* Sweeps a device backwards until it waits, or its queue ends. Comm ops may be among those of any iteration. Copies keep their
 * times: what is before one in the queue ends before it starts. */
PPI_INLINE void run_units(struct sweep *sweep, uint32_t device, enum ppi_form form, bool senders_wait)
{
    struct ppi_track *track = &sweep->loop.tracks[device];
    const ppsched_op *op = track->op, *const first = track->end;
    ppsched_span *span = track->span;
    double *latest = sweep->timeline->latest + (span - sweep->timeline->spans), clock = track->clock;
    while (op > first) {
        double slack = clock - span[-1].end;
        PPI_PREFETCH(op, -PPI_AHEAD);
        PPI_PREFETCH(span, -PPI_AHEAD);
        PPI_PREFETCH(latest, -PPI_AHEAD);
        if (op - first > 1 && ppi_unit_length(op - 2) == 2) {
            double room = slack;
            if (!pair_starts(sweep, op - 2, span - 1, form, &room))
                break;
            slack = room;
            *--latest = span[-1].start + slack;
            op--;
            span--;
        } else if (form != PPI_MICRO_SLICES ? ppi_computes_alone(op - 1) : ppi_computes_alone_of_any(op - 1)) {
            if (senders_wait)
                slack = within_room(sweep->timeline, span - 1, slack);
            if (!op_starts(sweep, op - 1, span - 1, form, &slack))
                break;
            if (senders_wait)
                note_senders(sweep->timeline, span - 1, span[-1].start + slack);
        } else if (sweep->timeline->saving != NULL && ppi_is_copy(op[-1].kind)) {
            op--;
            span--;
            clock = ppi_smaller(clock, span->start);
            *--latest = span->start;
            continue;
        } else if (op[-1].kind == PPSCHED_KIND_OFFLOAD_WAIT) {
            op--;
            span--;
            *--latest = ppi_larger(clock, span->start); /* takes no time itself; copies keep their times */
            continue;
        }
        op--;
        span--;
        clock = span->start + slack;
        *--latest = clock;
    }
    track->op = op;
    track->span = span;
    track->clock = clock;
}

PPI_INLINE void run_device(void *sweep, uint32_t device, enum ppi_form form)
{
    run_units(sweep, device, form, false);
}

static void run_all(struct sweep *sweep)
{
    if (ppi_senders_of(sweep->timeline) == NULL)
        ppi_run_ready(&sweep->loop, run_device, sweep);
    else
        while (sweep->loop.ready_count > 0)
            run_units(sweep, sweep->loop.ready[--sweep->loop.ready_count], PPI_MICRO_SLICES, true);
}

/* After an iteration: on all devices the one before must end before the first device must start this one. */
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
        *track = (struct ppi_track){timeline->metrics.makespan, track->end, track->op, track->span + (track->end - track->op),
                                    track->sums};
    }
    sweep.iteration_start = (uint32_t)timeline->flush_count * schedule->shape.microbatches;
    ppi_event_loop_ready_all(&sweep.loop);
    for (size_t flushes = timeline->flush_count;; flushes--) {
        run_all(&sweep);
        if (flushes == 0)
            break;
        flush(&sweep);
    }
}
