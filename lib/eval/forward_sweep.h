/* SPDX-License-Identifier: Apache-2.0 */
/* The forward sweep. It is compiled three times, as a function called PPI_SWEEP, with PPI_SENDERS_WAIT and PPI_PAIRS_HAVE_ENDS
 * 1 or 0, as work per op dominates. */
#ifndef PPSCHED_EVAL_FORWARD_SWEEP_H
#define PPSCHED_EVAL_FORWARD_SWEEP_H

#include "base/checked.h"
#include "base/error.h"
#include "eval/event_loop.h"
#include "eval/memory_saving.h"
#include "eval/timeline.h"

struct sweep {
    struct ppi_event_loop loop;
    uint32_t iteration_end; /* first microbatch that may not start yet */
    size_t done;            /* stage passes whose ops have all run */
    bool is_forward_only;
    bool meets_saving; /* a device reached an op of memory saving, without `saving` */
#if PPI_PAIRS_HAVE_ENDS
    double *outputs; /* of the timeline; NULL: both ops of a pair end with it */
#endif
#if PPI_SENDERS_WAIT
    const ppsched_timeline *timeline;
#endif
};

/* Raises `*start` to the time plus delay. False if the time is not known: then the device waits. */
static inline bool after(union ppi_time *time, double delay, double *start)
{
    if (!ppi_is_known(time))
        return false;
    double there = time->value + delay;
    *start = there > *start ? there : *start;
    return true;
}

/* The three *_ready raise `*start` to the time when the op's inputs are ready; false if it cannot run (yet, or ever). The three
 * *_done note its end. */
PPI_INLINE bool forward_ready(const struct ppi_row *row, const struct ppi_micro_slice_view *micro_slice, double *start)
{
    struct ppi_pass *pass = &row->passes[micro_slice->index];
    int64_t own = pass->forward.bits;
    if (own >= 0 || own < PPI_AWAITED)
        return false; /* has run already */
    if (micro_slice->before > 0 && pass[-1].forward.bits < 0)
        return false; /* the slice before it has not run */
    return row->device_before == PPSCHED_NONE ||
           after(&row[-1].passes[micro_slice->index].forward, ppi_forward_delay(row, 0, micro_slice), start);
}

static inline void forward_done(struct sweep *sweep, const struct ppi_row *row, uint32_t micro_slice, double end)
{
    ppi_note(&sweep->loop, &row->passes[micro_slice].forward, end, row->device_after);
}

PPI_INLINE bool backward_ready(const struct ppi_row *row, const struct ppi_micro_slice_view *micro_slice, double *start)
{
    struct ppi_pass *pass = &row->passes[micro_slice->index];
    if (pass->forward.bits < 0)
        return false; /* its own forward has not run, or a backward has */
    if (micro_slice->after > 0 && pass[1].backward.bits < 0)
        return false; /* the next slice's backward has not run */
    return row->device_after == PPSCHED_NONE ||
           after(&row[1].passes[micro_slice->index].backward, ppi_backward_delay(row, 0, micro_slice), start);
}

static inline void backward_done(struct sweep *sweep, const struct ppi_row *row, uint32_t micro_slice, uint8_t kind, double end)
{
    struct ppi_pass *pass = &row->passes[micro_slice];
    if (kind == PPSCHED_KIND_B) {
        pass->forward.bits = PPI_DONE;
        sweep->done++;
    } else {
        pass->forward.bits = PPI_WEIGHT_PENDING;
    }
    ppi_note(&sweep->loop, &pass->backward, end, row->device_before);
}

static inline bool weight_ready(const struct ppi_row *row, uint32_t micro_slice)
{
    return row->passes[micro_slice].forward.bits == PPI_WEIGHT_PENDING;
}

static inline void weight_done(struct sweep *sweep, const struct ppi_row *row, uint32_t micro_slice)
{
    row->passes[micro_slice].forward.bits = PPI_DONE;
    sweep->done++;
}

/* Sets `*end` of a unit that takes `work` if not slowed; false if copies may slow it and the end is not yet known. `pacing` is
 * NULL if copies slow nothing. */
PPI_INLINE bool find_end(struct ppi_saving *pacing, uint32_t device, double start, double work, double *end)
{
    *end = start + work;
    return pacing == NULL || ppi_saving_runs(pacing, device, start, work, end);
}

/* Busy time of that unit. */
PPI_INLINE double busy_with(const struct ppi_saving *pacing, double start, double work, double end)
{
    return pacing == NULL ? work : end - start;
}

/* Runs F, B, I or W, not overlapped. Raises `*start` from when its device is free to its start, and sets `*end`; false if it
 * cannot run. */
PPI_INLINE bool run_op(struct sweep *sweep, struct ppi_saving *pacing, const struct ppi_row *row, uint8_t kind,
                       const struct ppi_micro_slice_view *micro_slice, double *start, double *end)
{
    PPI_PREFETCH(&row->passes[micro_slice->index], PPI_AHEAD);
    if (kind == PPSCHED_KIND_F) {
        if (!forward_ready(row, micro_slice, start) ||
            !find_end(pacing, row->device, *start, row->duration[PPSCHED_KIND_F - 1] * micro_slice->factor.time, end))
            return false;
        forward_done(sweep, row, micro_slice->index, *end);
    } else if (kind == PPSCHED_KIND_W) {
        if (!weight_ready(row, micro_slice->index) ||
            !find_end(pacing, row->device, *start, row->duration[PPSCHED_KIND_W - 1] * micro_slice->factor.time, end))
            return false;
        weight_done(sweep, row, micro_slice->index);
    } else {
        if (!backward_ready(row, micro_slice, start) ||
            !find_end(pacing, row->device, *start, row->duration[kind - 1] * micro_slice->factor.time, end))
            return false;
        backward_done(sweep, row, micro_slice->index, kind, *end);
    }
    return true;
}

/* Time of an overlapped pair. */
PPI_INLINE double pair_duration(const struct ppi_event_loop *loop, const struct ppi_row *forward,
                                const struct ppi_row *backward, const ppsched_op *pair, enum ppi_form form)
{
    if (form == PPI_SCALED || form == PPI_MICRO_SLICES)
        return ppi_overlapped_duration(loop->costs, loop->schedule, pair);
    if (loop->costs->overlapped.values != NULL)
        return ppi_plain_pair(loop->costs, pair);
    return forward->duration[PPSCHED_KIND_F - 1] + backward->duration[pair[1].kind - 1];
}

#if PPI_PAIRS_HAVE_ENDS
/* When the output of an op of a pair is there, which starts at `start` and takes `time`. Notes it. */
PPI_APART double note_output(const struct sweep *sweep, const ppsched_op *pair, bool backward, double start, double time)
{
    const double made = start + ppi_end_in_pair(sweep->loop.costs, pair, backward, time);
    sweep->outputs[pair + backward - sweep->loop.schedule->ops] = made;
    return made;
}
#endif

/* Runs an overlapped pair on a device that is free at `start`; the span's end is negative if it cannot run. */
PPI_INLINE ppsched_span run_pair(struct sweep *sweep, struct ppi_saving *pacing, uint32_t device, const ppsched_op *pair,
                                 double start, struct ppi_sums *sums, enum ppi_form form)
{
    const struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_row *forward = ppi_row_of_form(loop, &pair[0], form), *backward = ppi_row_of_form(loop, &pair[1], form);
    const struct ppi_micro_slice_view first = ppi_view_micro_slice(loop, &pair[0], form),
                                      second = ppi_view_micro_slice(loop, &pair[1], form);
    if (forward->device != device || backward->device != device || pair[1].microbatch >= sweep->iteration_end ||
        !forward_ready(forward, &first, &start) || !backward_ready(backward, &second, &start))
        return (ppsched_span){-1, -1};
    double work = pair_duration(loop, forward, backward, pair, form), end;
    if (!find_end(pacing, device, start, work, &end))
        return (ppsched_span){-1, -1};
    sums->busy += busy_with(pacing, start, work, end);
    ppi_sum_memory(sums, ppi_memory_at(forward->memory, pair[0].kind, first.factor.memory), &pair[0]);
    ppi_sum_memory(sums, ppi_memory_at(backward->memory, pair[1].kind, second.factor.memory), &pair[1]);
    double forward_made = end, backward_made = end;
#if PPI_PAIRS_HAVE_ENDS
    if (sweep->outputs != NULL) {
        const double time = busy_with(pacing, start, work, end);
        forward_made = note_output(sweep, pair, false, start, time);
        backward_made = note_output(sweep, pair, true, start, time);
    }
#endif
    forward_done(sweep, forward, first.index, forward_made);
    backward_done(sweep, backward, second.index, pair[1].kind, backward_made);
    return (ppsched_span){start, end};
}

/* Runs RECOMPUTE; false if it cannot run. */
static bool recompute(struct sweep *sweep, struct ppi_saving *saving, uint32_t device, const ppsched_op *op, double start,
                      double *end, struct ppi_sums *sums)
{
    double work = ppi_saving_cost_of(saving, op)->recompute * ppi_factor_of(sweep->loop.costs, sweep->loop.schedule, op).time;
    if (ppi_row_of(&sweep->loop, op)->passes[ppi_micro_slice_of(&sweep->loop.schedule->shape, op)].forward.bits < 0)
        return false; /* its forward has not run, or its backward has */
    struct ppi_saving *pacing = saving->slows ? saving : NULL;
    if (!find_end(pacing, device, start, work, end))
        return false;
    ppi_kept_pass_of(saving, op)->flags |= PPI_IS_RECOMPUTED;
    sums->busy += busy_with(pacing, start, work, *end);
    return true;
}

/* Runs an op of memory saving on a device that is free at `start`; false if it cannot run. */
static bool run_saving(struct sweep *sweep, struct ppi_saving *saving, uint32_t device, const ppsched_op *op, double start,
                       double *end, struct ppi_sums *sums)
{
    if (op->kind == PPSCHED_KIND_RECOMPUTE)
        return recompute(sweep, saving, device, op, start, end, sums);
    if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT)
        return ppi_saving_waits(saving, op, end);
    if (ppi_row_of(&sweep->loop, op)->passes[ppi_micro_slice_of(&sweep->loop.schedule->shape, op)].forward.bits < 0)
        return false;
    return ppi_saving_ask(saving, &sweep->loop, device, op, start);
}

#if PPI_SENDERS_WAIT
/* The earliest start of an op on a device free at `clock`, after the sends that it waits for; `has_input`: it is a W whose I
 * has run. */
static double after_sending(const ppsched_timeline *timeline, const ppsched_span *span, bool has_input, double clock)
{
    const struct ppi_sender *sender = &timeline->senders->ops[span - timeline->spans];
    double start = clock + sender->turn;
    if (has_input && sender->input != PPI_NO_OP)
        start = ppi_larger(start, timeline->spans[sender->input].end + sender->own);
    return start;
}
#endif

/* Runs a device until it waits or its track ends. `saving`: NULL if no op of memory saving is known; `pacing`: NULL if no copy
 * slows. */
PPI_INLINE void run_units(struct sweep *sweep, uint32_t device, enum ppi_form form, struct ppi_saving *saving,
                          struct ppi_saving *pacing)
{
    struct ppi_track *track = &sweep->loop.tracks[device];
    const ppsched_op *op = track->op, *const last = track->end;
    ppsched_span *out = track->span;
    struct ppi_sums sums = track->sums;
    double clock = track->clock;
    while (op < last) {
        double start = clock, end = clock;
        PPI_PREFETCH(op, PPI_AHEAD);
        PPI_PREFETCH(out, PPI_AHEAD);
        if (form != PPI_MICRO_SLICES ? ppi_computes_alone(op) : ppi_computes_alone_of_any(op)) {
            const struct ppi_row *row = ppi_row_of_form(&sweep->loop, op, form);
            const struct ppi_micro_slice_view micro_slice = ppi_view_micro_slice(&sweep->loop, op, form);
#if PPI_SENDERS_WAIT
            start = after_sending(sweep->timeline, out, weight_ready(row, micro_slice.index), clock);
#endif
            if (row->device != device || (saving != NULL && !ppi_saving_lets(saving, op, &start)) ||
                !run_op(sweep, pacing, row, op->kind, &micro_slice, &start, &end))
                break;
            sums.busy += busy_with(pacing, start, row->duration[op->kind - 1] * micro_slice.factor.time, end);
            ppi_sum_memory(&sums, ppi_memory_at(row->memory, op->kind, micro_slice.factor.memory), op);
        } else if (ppi_unit_length(op) == 2) {
            if (saving != NULL && !ppi_saving_lets(saving, op + 1, &start))
                break;
            ppsched_span pair = run_pair(sweep, pacing, device, op, start, &sums, form);
            if (pair.end < 0)
                break;
            start = out->start = pair.start;
            end = out->end = pair.end;
            out++;
            op++;
        } else if (saving == NULL && ppi_keeps_less(op->kind)) {
            sweep->meets_saving = true;
            break;
        } else if (ppi_keeps_less(op->kind)) {
            if (!run_saving(sweep, saving, device, op, clock, &end, &sums))
                break;
            if (ppi_is_copy(op->kind)) { /* its span is noted when the copy starts */
                out++;
                op++;
                continue;
            }
        }
        out->start = start;
        out->end = end;
        clock = end;
        out++;
        op++;
    }
    track->op = op;
    track->span = out;
    track->sums = sums;
    track->clock = clock;
}

#if PPI_SENDERS_WAIT
/* Ops of memory saving are refused here. */
static void run_with_senders(struct sweep *sweep)
{
    while (sweep->loop.ready_count > 0)
        run_units(sweep, sweep->loop.ready[--sweep->loop.ready_count], PPI_MICRO_SLICES, NULL, NULL);
}
#else
PPI_INLINE void run_device(void *sweep, uint32_t device, enum ppi_form form)
{
    run_units(sweep, device, form, NULL, NULL);
}

/* Runs devices and copies in turns, until none can continue. */
static void run_with_copies(struct sweep *sweep, struct ppi_saving *saving)
{
    do
        while (sweep->loop.ready_count > 0)
            run_units(sweep, sweep->loop.ready[--sweep->loop.ready_count], PPI_MICRO_SLICES, saving, NULL);
    while (ppi_saving_step(saving, &sweep->loop));
}

static void run_slowed_by_copies(struct sweep *sweep, struct ppi_saving *saving)
{
    do
        while (sweep->loop.ready_count > 0)
            run_units(sweep, sweep->loop.ready[--sweep->loop.ready_count], PPI_MICRO_SLICES, saving, saving);
    while (ppi_saving_step(saving, &sweep->loop));
}
#endif

/* Ends tracks where the next iteration begins. With forwards only, each forward counts as a complete stage pass. */
static void limit_tracks(struct sweep *sweep)
{
    struct ppi_event_loop *loop = &sweep->loop;
    for (uint32_t i = 0; i < loop->active_count; i++) {
        const struct ppsched_queue *queue = &loop->schedule->queues[loop->active[i]];
        const ppsched_op *op = loop->tracks[loop->active[i]].op, *end = queue->ops + queue->count;
        for (; op < end && (op->microbatch < sweep->iteration_end || !ppi_kind_has_microbatch(op->kind)); op++)
            sweep->done += sweep->is_forward_only && op->kind == PPSCHED_KIND_F;
        loop->tracks[loop->active[i]].end = op;
    }
}

/* After all of an iteration: the next may start, at the same time on all devices. */
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
    limit_tracks(sweep);
    ppi_event_loop_ready_all(loop);
    return time;
}

static bool are_at_their_ends(const struct sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->loop.active_count; i++) {
        const struct ppi_track *track = &sweep->loop.tracks[sweep->loop.active[i]];
        if (track->op != track->end)
            return false;
    }
    return true;
}

/* Whether the first `passes` stage passes are complete. With forwards only they are counted in advance, so all tracks must be
 * at their ends. */
static bool are_done(const struct sweep *sweep, size_t passes)
{
    return sweep->done == passes && (!sweep->is_forward_only || are_at_their_ends(sweep));
}

static bool sweep_all(struct sweep *sweep, ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = sweep->loop.schedule;
    size_t passes_per_iteration = (size_t)schedule->shape.stages * schedule->shape.microbatches * schedule->shape.slices;
    if (timeline->flush_count > 0 || sweep->is_forward_only)
        limit_tracks(sweep);
    ppi_event_loop_ready_all(&sweep->loop);
    for (size_t flushed = 0;; flushed++) {
#if PPI_SENDERS_WAIT
        run_with_senders(sweep);
#else
        if (timeline->saving != NULL && timeline->saving->slows)
            run_slowed_by_copies(sweep, timeline->saving);
        else if (timeline->saving != NULL)
            run_with_copies(sweep, timeline->saving);
        else
            ppi_run_ready(&sweep->loop, run_device, sweep);
#endif
        if (flushed == timeline->flush_count || !are_done(sweep, (flushed + 1) * passes_per_iteration))
            break;
        timeline->flush_times[flushed] = flush(sweep);
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (sweep->loop.tracks[d].op != schedule->queues[d].ops + schedule->queues[d].count)
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

ppsched_status PPI_SWEEP(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    struct sweep sweep = {.loop = *loop, .is_forward_only = ppi_is_forward_only(schedule)};
#if PPI_SENDERS_WAIT
    sweep.timeline = timeline;
#endif
#if PPI_PAIRS_HAVE_ENDS
    sweep.outputs = timeline->has_ends ? timeline->outputs : NULL;
#endif
    ppi_event_loop_reset(&sweep.loop, timeline->spans);
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        sweep.loop.tracks[d].sums = ppi_sums_of_none(timeline, d);
    if (timeline->saving != NULL) {
        ppi_saving_reset(timeline->saving, timeline->spans);
        ppi_saving_run_ahead(timeline->saving);
    }
    if (timeline->saving != NULL && !timeline->saving->is_sound)
        return PPSCHED_ERROR_INVALID_SCHEDULE;
    sweep.iteration_end = timeline->flush_count > 0 ? schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
    bool runs = sweep_all(&sweep, timeline);
    timeline->meets_saving = sweep.meets_saving || timeline->saving != NULL;
    if (!runs)
        return PPSCHED_ERROR_INVALID_SCHEDULE;
    if (!ends_are_finite(&sweep))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        ppi_sums_note(&sweep.loop.tracks[d].sums, timeline, d);
    return PPSCHED_OK;
}

#endif
