/* SPDX-License-Identifier: Apache-2.0 */
/* Earliest starts: the forward sweep. It also finds out whether the schedule is complete and can be run at all. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/event_loop.h"
#include "eval/timeline.h"

/* Further states of a forward time: once the backward of its stage pass ran, the time is of no more use. */
#define WEIGHT_PENDING (-3.0) /* I is done, W is not */
#define DONE (-4.0)           /* the stage pass is done */

struct sweep {
    struct ppi_event_loop loop;
    ppsched_span *spans;
    uint32_t iteration_end; /* first microbatch that may not start yet */
    size_t done;            /* stage passes that are done */
};

/* Raises `*start` to when the time plus delay has passed. False where the time is not known: then the device waits. */
static inline bool after(double *time, double delay, double *start)
{
    double known = ppi_await(time);
    if (known < 0)
        return false;
    known += delay;
    *start = known > *start ? known : *start;
    return true;
}

/* The three *_ready raise `*start` to when the op's inputs are there; false where it cannot run (yet, or ever). The three
 * *_done note its end. */
static inline bool forward_ready(const struct ppi_row *row, uint32_t microbatch, double *start)
{
    double own = row->passes[microbatch].forward;
    if (own >= 0 || own < PPI_AWAITED)
        return false; /* ran before */
    return row->device_before == PPSCHED_NONE ||
           after(&row[-1].passes[microbatch].forward, row->forward_delay, start);
}

static inline void forward_done(struct sweep *sweep, const struct ppi_row *row, uint32_t microbatch, double end)
{
    double *time = &row->passes[microbatch].forward;
    bool awaited = *time == PPI_AWAITED;
    *time = end;
    if (awaited)
        ppi_event_loop_wake(&sweep->loop, row->device_after);
}

static inline bool backward_ready(const struct ppi_row *row, uint32_t microbatch, double *start)
{
    if (row->passes[microbatch].forward < 0)
        return false; /* its own forward has not run, or a backward has */
    return row->device_after == PPSCHED_NONE ||
           after(&row[1].passes[microbatch].backward, row->backward_delay, start);
}

static inline void backward_done(struct sweep *sweep, const struct ppi_row *row, uint32_t microbatch, uint8_t kind, double end)
{
    struct ppi_pass *pass = &row->passes[microbatch];
    bool awaited = pass->backward == PPI_AWAITED;
    pass->backward = end;
    if (kind == PPSCHED_KIND_B) {
        pass->forward = DONE;
        sweep->done++;
    } else {
        pass->forward = WEIGHT_PENDING;
    }
    if (awaited)
        ppi_event_loop_wake(&sweep->loop, row->device_before);
}

static inline bool weight_ready(const struct ppi_row *row, uint32_t microbatch)
{
    return row->passes[microbatch].forward == WEIGHT_PENDING;
}

static inline void weight_done(struct sweep *sweep, const struct ppi_row *row, uint32_t microbatch)
{
    row->passes[microbatch].forward = DONE;
    sweep->done++;
}

static bool run_pair(struct sweep *sweep, uint32_t device, const ppsched_op *ops, ppsched_span *span)
{
    const struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_row *forward = ppi_row_of(loop, &ops[0]), *backward = ppi_row_of(loop, &ops[1]);
    double start = loop->tracks[device].clock;
    if (forward->device != device || backward->device != device || ops[1].microbatch >= sweep->iteration_end ||
        !forward_ready(forward, ops[0].microbatch, &start) || !backward_ready(backward, ops[1].microbatch, &start))
        return false;
    double end = start + ppi_overlapped_duration(loop->costs, ppi_lane_of(loop->costs, loop->schedule, &ops[0]), ops[0].stage,
                                                 ppi_lane_of(loop->costs, loop->schedule, &ops[1]), ops[1].stage, ops[1].kind);
    forward_done(sweep, forward, ops[0].microbatch, end);
    backward_done(sweep, backward, ops[1].microbatch, ops[1].kind, end);
    span[0] = span[1] = (ppsched_span){start, end};
    return true;
}

/* Runs a unit that is not one F, B, I or W: its number of ops, 0 where it cannot run (yet, or ever). */
static size_t run_other(struct sweep *sweep, uint32_t device, const ppsched_op *op, ppsched_span *span)
{
    if (op->microbatch >= sweep->iteration_end && ppi_kind_has_microbatch(op->kind))
        return 0;
    if (ppi_is_compute(op->kind))
        return run_pair(sweep, device, op, span) ? 2 : 0;
    span->start = span->end = sweep->loop.tracks[device].clock;
    return 1;
}

/* Runs F, B, I or W on its own. */
static inline bool run_op(struct sweep *sweep, const struct ppi_row *row, const ppsched_op *op, double *start, double *end)
{
    const uint32_t microbatch = op->microbatch;
    const uint8_t kind = op->kind;
    if (kind == PPSCHED_KIND_F) {
        if (!forward_ready(row, microbatch, start))
            return false;
        *end = *start + row->duration[PPSCHED_KIND_F - 1];
        forward_done(sweep, row, microbatch, *end);
    } else if (kind == PPSCHED_KIND_W) {
        if (!weight_ready(row, microbatch))
            return false;
        *end = *start + row->duration[PPSCHED_KIND_W - 1];
        weight_done(sweep, row, microbatch);
    } else {
        if (!backward_ready(row, microbatch, start))
            return false;
        *end = *start + row->duration[kind - 1];
        backward_done(sweep, row, microbatch, kind, *end);
    }
    return true;
}

/* Runs devices until all wait, or their queues end. */
static void run_ready(struct sweep *sweep)
{
    struct ppi_event_loop *loop = &sweep->loop;
    const struct ppi_row *const rows = loop->schedule->placement.copies == 1 ? loop->rows : NULL;
    const ppsched_op *const ops = loop->schedule->ops;
    const uint32_t iteration_end = sweep->iteration_end;
    while (loop->ready_count > 0) {
        const uint32_t device = loop->ready[--loop->ready_count];
        struct ppi_track *track = &loop->tracks[device];
        const ppsched_op *op = ops + track->position, *const end = ops + track->end;
        ppsched_span *span = sweep->spans + track->position;
        double clock = track->clock;
        while (op < end) {
            if (op->microbatch >= iteration_end || op->flags != 0 || !ppi_is_compute(op->kind)) {
                track->clock = clock;
                size_t ran = run_other(sweep, device, op, span);
                if (ran == 0)
                    break;
                clock = span->end;
                op += ran;
                span += ran;
                continue;
            }
            const struct ppi_row *row = rows != NULL ? &rows[op->stage] : ppi_row_of(loop, op);
            double start = clock;
            if (row->device != device || !run_op(sweep, row, op, &start, &clock))
                break;
            *span++ = (ppsched_span){start, clock};
            op++;
        }
        track->position = (size_t)(op - ops);
        track->clock = clock;
    }
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
        run_ready(sweep);
        if (flushed == timeline->flush_count || sweep->done != (flushed + 1) * passes_per_iteration)
            break;
        timeline->flush_times[flushed] = flush(sweep);
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (sweep->loop.tracks[d].position != sweep->loop.tracks[d].end)
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
