/* SPDX-License-Identifier: Apache-2.0 */
/* First each device's queue is walked with the times of the schedule without copies. Where a copy delays an op, all devices are
 * walked in turns, and wait for each other as in the evaluator's sweep. */
#include "offload/undelayed.h"

#include "base/error.h"
#include "eval/event_loop.h"
#include "offload/copy_walk.h"
#include "offload/offload.h"

/* --- what can be priced so --- */

static bool has_pairs(const ppsched_schedule *schedule)
{
    for (size_t i = 0; i < schedule->op_count; i++)
        if (ppi_unit_length(&schedule->ops[i]) > 1)
            return true;
    return false;
}

/* Whether copies would be refused as moving more than there is. */
static bool may_be_refused(const struct ppi_placing *placing)
{
    const struct ppi_values *moved = &placing->config->values[PPSCHED_QUANTITY_MEM_OFFLOAD],
                            *kept = &placing->config->values[PPSCHED_QUANTITY_MEM_RECOMPUTE];
    for (uint32_t s = 0; s < placing->schedule->shape.stages; s++) {
        const double whole = placing->plain->costs.instances[s].memory[PPSCHED_KIND_F];
        if ((moved->values != NULL && ppi_value_at(moved, s) > whole) ||
            (kept->values != NULL && ppi_value_at(kept, s) > whole))
            return true;
    }
    return false;
}

static bool all_take_time(const ppsched_timeline *plain)
{
    for (size_t i = 0; i < plain->schedule->op_count; i++)
        if (plain->spans[i].end <= plain->spans[i].start)
            return false;
    return true;
}

static bool may_be_walked(const struct ppi_placing *placing)
{
    const ppsched_timeline *plain = placing->plain;
    const ppsched_config *config = placing->config;
    if (placing->schedule->shape.iterations > 1 || plain->saving != NULL || plain->memory != NULL || config->senders_wait ||
        ppi_may_share_links(config) || may_be_refused(placing))
        return false;
    for (size_t i = 0; i < placing->schedule->op_count; i++)
        if (!ppi_is_compute(placing->schedule->ops[i].kind))
            return false;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        if (ppi_copy_slowdown(config, d) > 1)
            return false;
    return true;
}

ppsched_status ppi_undelayed_make(struct ppi_placing *placing, ppsched_error *error)
{
    const struct ppi_host *host = &placing->schedule->host;
    placing->may_be_walked = may_be_walked(placing);
    if (!placing->may_be_walked)
        return PPSCHED_OK;
    placing->walks = ppi_allocate(host, placing->schedule->shape.devices, sizeof *placing->walks);
    if (placing->walks == NULL)
        return ppi_fail_memory(error, "the offloads");
    placing->waits_are_walked = placing->schedule->placement.graph == NULL &&
                                !((placing->plain->pairs_are_timed || placing->plain->has_ends) &&
                                  has_pairs(placing->schedule));
    if (!placing->waits_are_walked)
        return PPSCHED_OK;
    placing->all_take_time = all_take_time(placing->plain);
    placing->delayed = ppi_allocate(host, (size_t)placing->schedule->op_count, sizeof *placing->delayed);
    if (placing->delayed == NULL)
        return ppi_fail_memory(error, "the offloads");
    ppsched_status status = ppi_event_loop_make(&placing->loop, placing->schedule, error);
    if (status == PPSCHED_OK)
        ppi_event_loop_set_costs(&placing->loop, &placing->plain->costs);
    return status;
}

void ppi_undelayed_clear(struct ppi_placing *placing)
{
    const struct ppi_host *host = &placing->schedule->host;
    ppi_release(host, placing->walks);
    ppi_release(host, placing->delayed);
    if (placing->loop.schedule != NULL)
        ppi_event_loop_clear(&placing->loop);
}

static void begin(const struct ppi_placing *placing)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->copy_ends[i] = (struct ppi_copy_ends){-1, -1};
}

/* --- where copies delay nothing --- */

/* Runs a unit at its time; false where a copy would delay it. */
static bool run_unit(struct ppi_copy_walk *walk)
{
    const size_t length = ppi_unit_length(walk->op);
    const ppsched_span *span = &walk->placing->plain->spans[walk->plain];
    if (span->start < walk->clock)
        return false;
    if (ppi_is_backward(walk->op[length - 1].kind)) {
        const double back = ppi_walk_back_by(walk, walk->plain + length - 1);
        if (back < 0 || back > span->start)
            return false;
    }
    ppi_walk_unit(walk, length, span->start, span->end);
    return true;
}

static bool run_device(struct ppi_copy_walk *walk)
{
    while (walk->op < walk->end)
        if (ppi_is_compute(walk->op->kind)) {
            if (!run_unit(walk))
                return false;
        } else if (!ppi_walk_copy(walk, walk->op++)) {
            return false;
        }
    ppi_walk_drain(walk, PPI_INFINITE);
    return ppi_is_finite(walk->peak);
}

bool ppi_price_undelayed(double *peaks, const struct ppi_placing *placing, const ppsched_schedule *schedule)
{
    if (!placing->may_be_walked)
        return false;
    begin(placing);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        struct ppi_device_places *places = schedule == placing->placed ? &placing->places[d] : NULL;
        struct ppi_copy_walk walk;
        if (places != NULL && places->has_peak) {
            peaks[d] = places->peak;
            continue;
        }
        ppi_walk_begin(&walk, placing, schedule, d);
        if (!run_device(&walk))
            return false;
        peaks[d] = walk.peak;
        if (places != NULL) {
            places->has_peak = true;
            places->peak = walk.peak;
        }
    }
    return true;
}

/* --- where they delay some --- */

/* When the output of an op's row before it, or after it, is there; false where that is not known yet. */
static inline bool has_input(const struct ppi_event_loop *loop, const ppsched_op *op, union ppi_time *input, bool backward,
                             double delay, double *start)
{
    if (!ppi_is_known(input))
        return false;
    if (loop->costs->factors != NULL)
        delay = ppi_delay_of(loop->costs, loop->schedule, op, backward);
    *start = ppi_larger(*start, input->value + delay);
    return true;
}

static inline bool has_input_of_forward(struct ppi_event_loop *loop, const ppsched_op *op, const struct ppi_row *row,
                                        uint32_t micro_slice, double *start)
{
    return row->device_before == PPSCHED_NONE ||
           has_input(loop, op, &row[-1].passes[micro_slice].forward, false, row->forward_delay, start);
}

static inline bool has_input_of_backward(struct ppi_event_loop *loop, const ppsched_op *op, const struct ppi_row *row,
                                         uint32_t micro_slice, double *start)
{
    return row->device_after == PPSCHED_NONE ||
           has_input(loop, op, &row[1].passes[micro_slice].backward, true, row->backward_delay, start);
}

/* Finds the times of the next op, which is free to start at `span->start`; false where it waits for another device. */
static inline bool run_op(struct ppi_event_loop *loop, const ppsched_op *op, ppsched_span *span)
{
    const struct ppi_row *row = ppi_row_of(loop, op);
    const uint32_t micro_slice = ppi_micro_slice_of(&loop->schedule->shape, op);
    const double work = row->duration[op->kind - 1],
                 time = loop->costs->factors == NULL ? work : work * ppi_factor_of(loop->costs, loop->schedule, op).time;
    if (op->kind == PPSCHED_KIND_F) {
        if (!has_input_of_forward(loop, op, row, micro_slice, &span->start))
            return false;
        span->end = span->start + time;
        ppi_note(loop, &row->passes[micro_slice].forward, span->end, row->device_after);
    } else if (op->kind == PPSCHED_KIND_W) {
        span->end = span->start + time;
    } else {
        if (!has_input_of_backward(loop, op, row, micro_slice, &span->start))
            return false;
        span->end = span->start + time;
        ppi_note(loop, &row->passes[micro_slice].backward, span->end, row->device_before);
    }
    return true;
}

/* The same of an overlapped pair whose time is the sum of its ops' times. */
PPI_APART bool run_pair(struct ppi_event_loop *loop, const ppsched_op *pair, ppsched_span *span)
{
    const struct ppi_row *forward = ppi_row_of(loop, &pair[0]), *backward = ppi_row_of(loop, &pair[1]);
    const uint32_t first = ppi_micro_slice_of(&loop->schedule->shape, &pair[0]),
                   second = ppi_micro_slice_of(&loop->schedule->shape, &pair[1]);
    if (!has_input_of_forward(loop, &pair[0], forward, first, &span->start) ||
        !has_input_of_backward(loop, &pair[1], backward, second, &span->start))
        return false;
    span->end = span->start + ppi_overlapped_duration(loop->costs, loop->schedule, pair);
    ppi_note(loop, &forward->passes[first].forward, span->end, forward->device_after);
    ppi_note(loop, &backward->passes[second].backward, span->end, backward->device_before);
    return true;
}

/* Runs a device until it waits for another one, its queue ends, or it is over `most`. False where that is for an evaluation to
 * tell. */
static bool run_until_waits(struct ppi_copy_walk *walk, struct ppi_event_loop *loop, double most)
{
    while (walk->op < walk->end && walk->peak <= most) {
        const ppsched_op *op = walk->op;
        if (!ppi_is_compute(op->kind)) {
            if (!ppi_walk_copy(walk, op))
                return false;
            walk->op++;
            continue;
        }
        const size_t length = ppi_unit_length(op), last = length - 1;
        ppsched_span span = {.start = walk->clock};
        if (ppi_is_backward(op[last].kind)) {
            const double back = ppi_walk_back_by(walk, walk->plain + last);
            if (back < 0)
                return false;
            span.start = ppi_larger(span.start, back);
        }
        if (length == 1 ? !run_op(loop, op, &span) : !run_pair(loop, op, &span))
            return true;
        walk->placing->delayed[walk->plain] = walk->placing->delayed[walk->plain + last] = span;
        ppi_walk_unit(walk, length, span.start, span.end);
    }
    return true;
}

/* Takes over the figures; false where a queue has not ended, or one is not finite. */
static bool end_walks(double *peaks, ppsched_span *extents, double *step, const struct ppi_placing *placing)
{
    const uint32_t devices = placing->schedule->shape.devices;
    *step = 0;
    for (uint32_t d = 0; d < devices; d++) {
        struct ppi_copy_walk *walk = &placing->walks[d];
        const ppsched_queue *queue = &placing->schedule->queues[d];
        if (walk->op < walk->end)
            return false;
        ppi_walk_drain(walk, PPI_INFINITE);
        peaks[d] = walk->peak;
        extents[d] = (ppsched_span){queue->count > 0 ? placing->delayed[queue->first].start : 0, walk->last_end};
        *step = ppi_larger(*step, walk->last_end);
        if (!ppi_is_finite(walk->peak) || !ppi_is_finite(walk->clock))
            return false;
    }
    return ppi_is_finite(devices * *step);
}

static void begin_walks(struct ppi_placing *placing, const ppsched_schedule *schedule)
{
    struct ppi_event_loop *loop = &placing->loop;
    begin(placing);
    ppi_event_loop_reset(loop, placing->delayed);
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        ppi_walk_begin(&placing->walks[d], placing, schedule, d);
    ppi_event_loop_ready_all(loop);
}

bool ppi_is_over_anyway(struct ppi_placing *placing, const ppsched_schedule *schedule)
{
    struct ppi_event_loop *loop = &placing->loop;
    if (!placing->waits_are_walked || !placing->all_take_time)
        return false;
    begin_walks(placing, schedule);
    while (loop->ready_count > 0) {
        const uint32_t device = loop->ready[--loop->ready_count];
        const struct ppi_copy_walk *walk = &placing->walks[device];
        if (!run_until_waits(&placing->walks[device], loop, placing->limits[device] * (1 + 1e-9)))
            return false;
        if (ppi_is_over_limit(walk->peak, placing->limits[device]))
            return true;
    }
    return false;
}

bool ppi_price_delayed(double *peaks, ppsched_span *extents, double *step, struct ppi_placing *placing,
                       const ppsched_schedule *schedule)
{
    struct ppi_event_loop *loop = &placing->loop;
    if (!placing->waits_are_walked)
        return false;
    begin_walks(placing, schedule);
    while (loop->ready_count > 0)
        if (!run_until_waits(&placing->walks[loop->ready[--loop->ready_count]], loop, PPI_INFINITE))
            return false;
    return end_walks(peaks, extents, step, placing);
}

void ppi_take_delayed(struct ppi_placing *placing)
{
    memcpy(placing->spans, placing->delayed, (size_t)placing->schedule->op_count * sizeof *placing->spans);
    ppi_note_times(placing, false);
    ppi_date_transfers(placing);
}

void ppi_set_extents(ppsched_timeline *timeline, const ppsched_span *extents)
{
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        timeline->devices[d].first_start = extents[d].start;
        timeline->devices[d].last_end = extents[d].end;
    }
}
