/* SPDX-License-Identifier: Apache-2.0 */
/* Walks each device's queue with its memory level; where an op would exceed the limit, it waits for the oldest offloads that
 * have not been waited for. */
#include "offload/waits.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/builder.h"
#include "offload/offload.h"

enum { HAS_GONE = 1, IS_BACK = 2 }; /* of an offload: a wait for its end was added; its reload has come */

struct hold {
    const struct ppi_placing *placing;
    const ppsched_schedule *schedule; /* with copies */
};

/* Progress in one device's queue. */
struct walk {
    const ppsched_queue *queue;
    size_t plain; /* number of the next op in the schedule without copies */
    double level, peak, limit;
    size_t offload; /* OFFLOADs from this position on have not been waited for */
    ppsched_op *to; /* in reserved memory: where the next op is put */
};

/* The memory that a unit takes when it starts, and the change when each of its ops ends. */
struct changes {
    double rise, falls[2];
};

static uint32_t number_of(const struct hold *hold, const ppsched_op *op)
{
    return hold->placing->transfer_of[ppi_cell_of(hold->schedule, op)];
}

/* The memory that OFFLOAD and RELOAD move. */
static double moved_by(const struct hold *hold, const ppsched_op *op)
{
    return hold->placing->transfers[number_of(hold, op)].moved;
}

static uint8_t *state_of(const struct hold *hold, const ppsched_op *op)
{
    return &hold->placing->states[number_of(hold, op)];
}

static struct changes changes_of(const struct hold *hold, struct walk *walk, const ppsched_op *unit, size_t length)
{
    const struct ppi_placing *placing = hold->placing;
    struct changes changes = {0};
    if (unit->kind == PPSCHED_KIND_RELOAD)
        changes.rise = *state_of(hold, unit) == HAS_GONE ? moved_by(hold, unit) : 0;
    for (size_t i = 0; i < length && !ppi_is_copy(unit->kind); i++, walk->plain++) {
        changes.rise += placing->taken[walk->plain];
        changes.falls[i] = placing->released[walk->plain];
    }
    return changes;
}

/* Frees the memory of the next OFFLOAD before `end` that has not been waited for; false where there is none. */
static bool wait_for_next(const struct hold *hold, struct walk *walk, size_t end, const ppsched_op **last)
{
    for (; walk->offload < end; walk->offload++) {
        const ppsched_op *op = &walk->queue->ops[walk->offload];
        if (op->kind != PPSCHED_KIND_OFFLOAD || *state_of(hold, op) != 0)
            continue;
        *state_of(hold, op) = HAS_GONE;
        walk->level -= moved_by(hold, op);
        walk->offload++;
        *last = op;
        return true;
    }
    return false;
}

/* Accounts for a unit, and puts it; before it a wait where it needs one. */
static void pass_unit(const struct hold *hold, struct walk *walk, size_t i, size_t length)
{
    const ppsched_op *unit = &walk->queue->ops[i], *last = NULL;
    const struct changes changes = changes_of(hold, walk, unit, length);
    while (changes.rise > 0 && ppi_is_over_limit(walk->level + changes.rise, walk->limit) &&
           wait_for_next(hold, walk, i, &last))
        ;
    if (last != NULL)
        *walk->to++ = ppi_op_beside(last, last->stage, PPSCHED_KIND_OFFLOAD_WAIT);
    walk->peak = ppi_larger(walk->peak, walk->level + changes.rise);
    walk->level += changes.rise;
    if (unit->kind == PPSCHED_KIND_RELOAD)
        *state_of(hold, unit) |= IS_BACK;
    *walk->to++ = unit[0];
    walk->level += changes.falls[0];
    if (length > 1) {
        *walk->to++ = unit[1];
        walk->level += changes.falls[1];
    }
}

/* The same of an op alone that needs no wait; false where it is not that. */
static inline bool pass_op(const struct hold *hold, struct walk *walk, const ppsched_op *op)
{
    const double *taken = hold->placing->taken + walk->plain, *released = hold->placing->released + walk->plain;
    if (op->kind == PPSCHED_KIND_OFFLOAD) {
        *walk->to++ = *op;
        return true;
    }
    if (op->kind == PPSCHED_KIND_RELOAD || (*taken > 0 && ppi_is_over_limit(walk->level + *taken, walk->limit)))
        return false;
    walk->level += *taken;
    walk->peak = ppi_larger(walk->peak, walk->level);
    walk->level += *released;
    walk->plain++;
    *walk->to++ = *op;
    return true;
}

static void put_with_waits(ppsched_builder *builder, const struct hold *hold, double *peaks, const double *limits)
{
    for (uint32_t d = 0; d < hold->schedule->shape.devices; d++) {
        struct ppi_segment *segment = &builder->segments[d];
        if (d > 0) /* without a gap */
            segment->ops = segment[-1].ops + segment[-1].count;
        double level = hold->placing->plain->devices[d].static_memory;
        struct walk walk = {.queue = &hold->schedule->queues[d],
                            .plain = hold->placing->schedule->queues[d].first,
                            .level = level,
                            .peak = level,
                            .limit = limits[d],
                            .to = segment->ops};
        for (size_t i = 0, length; i < walk.queue->count; i += length) {
            length = ppi_unit_length(&walk.queue->ops[i]);
            if (length > 1 || !pass_op(hold, &walk, &walk.queue->ops[i]))
                pass_unit(hold, &walk, i, length);
        }
        segment->count = (size_t)(walk.to - segment->ops);
        peaks[d] = walk.peak;
    }
}

/* Memory for each device's queue with a wait for each of its offloads, which are the most: the queue has grown by them, and by
 * as many reloads. */
static ppsched_status reserve_waits(ppsched_builder *builder, const struct ppi_placing *placing,
                                    const ppsched_schedule *schedule, ppsched_error *error)
{
    size_t most = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const size_t copies = schedule->queues[d].count - placing->schedule->queues[d].count;
        const size_t count = schedule->queues[d].count + copies / 2;
        most = count > most ? count : most;
    }
    return ppi_builder_reserve(builder, most, error);
}

ppsched_status ppi_hold(ppsched_schedule **out, double *peaks, const struct ppi_placing *placing,
                        const ppsched_schedule *schedule, const double *limits, ppsched_error *error)
{
    const struct hold hold = {.placing = placing, .schedule = schedule};
    ppsched_builder *builder = NULL;
    memset(placing->states, 0, placing->count * sizeof *placing->states);
    ppsched_status status = ppi_builder_like(&builder, schedule, error);
    if (status == PPSCHED_OK)
        status = reserve_waits(builder, placing, schedule, error);
    if (status == PPSCHED_OK) {
        put_with_waits(builder, &hold, peaks, limits);
        status = ppi_builder_finish(out, builder, error);
    }
    ppi_builder_destroy(builder);
    return status;
}
