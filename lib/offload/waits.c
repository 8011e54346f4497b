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
    ppsched_builder *builder;
};

/* Progress in one device's queue. */
struct walk {
    const ppsched_queue *queue;
    size_t plain; /* number of the next op in the schedule without copies */
    double level, peak, limit;
    size_t offload; /* OFFLOADs from this position on have not been waited for */
    size_t put;     /* ops before this position have been appended */
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

/* Appends the ops before a position that have not been appended. */
static ppsched_status put_up_to(const struct hold *hold, struct walk *walk, size_t end, ppsched_error *error)
{
    size_t first = walk->put;
    walk->put = end;
    return first == end ? PPSCHED_OK
                        : ppi_builder_append(hold->builder, walk->queue->device, walk->queue->ops + first, end - first, error);
}

/* Accounts for a unit; appends a wait before it where it needs one. */
static ppsched_status pass_unit(const struct hold *hold, struct walk *walk, size_t i, size_t length, ppsched_error *error)
{
    const ppsched_op *unit = &walk->queue->ops[i], *last = NULL;
    const struct changes changes = changes_of(hold, walk, unit, length);
    ppsched_status status = PPSCHED_OK;
    while (changes.rise > 0 && ppi_is_over_limit(walk->level + changes.rise, walk->limit) &&
           wait_for_next(hold, walk, i, &last))
        ;
    if (last != NULL) {
        ppsched_op wait = ppi_op_beside(last, last->stage, PPSCHED_KIND_OFFLOAD_WAIT);
        status = put_up_to(hold, walk, i, error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(hold->builder, walk->queue->device, &wait, 1, error);
    }
    walk->peak = ppi_larger(walk->peak, walk->level + changes.rise);
    walk->level += changes.rise;
    if (unit->kind == PPSCHED_KIND_RELOAD)
        *state_of(hold, unit) |= IS_BACK;
    for (size_t k = 0; k < length; k++)
        walk->level += changes.falls[k];
    return status;
}

static ppsched_status put_all(const struct hold *hold, double *peaks, const double *limits, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t d = 0; d < hold->schedule->shape.devices && status == PPSCHED_OK; d++) {
        double level = hold->placing->plain->devices[d].static_memory;
        struct walk walk = {.queue = &hold->schedule->queues[d],
                            .plain = hold->placing->schedule->queues[d].first,
                            .level = level,
                            .peak = level,
                            .limit = limits[d]};
        for (size_t i = 0, length; i < walk.queue->count && status == PPSCHED_OK; i += length) {
            length = ppi_unit_length(&walk.queue->ops[i]);
            status = pass_unit(hold, &walk, i, length, error);
        }
        if (status == PPSCHED_OK)
            status = put_up_to(hold, &walk, walk.queue->count, error);
        peaks[d] = walk.peak;
    }
    return status;
}

/* Memory for each device's queue with a wait for each of its offloads, which are the most. */
static ppsched_status reserve(ppsched_builder *builder, const ppsched_schedule *schedule, ppsched_error *error)
{
    size_t most = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        size_t count = queue->count;
        for (size_t i = 0; i < queue->count; i++)
            count += queue->ops[i].kind == PPSCHED_KIND_OFFLOAD;
        most = count > most ? count : most;
    }
    return ppi_builder_reserve(builder, most, error);
}

ppsched_status ppi_hold(ppsched_schedule **out, double *peaks, const struct ppi_placing *placing,
                        const ppsched_schedule *schedule, const double *limits, ppsched_error *error)
{
    struct hold hold = {.placing = placing, .schedule = schedule};
    memset(placing->states, 0, placing->count * sizeof *placing->states);
    ppsched_status status = ppi_builder_like(&hold.builder, schedule, error);
    if (status == PPSCHED_OK)
        status = reserve(hold.builder, schedule, error);
    if (status == PPSCHED_OK)
        status = put_all(&hold, peaks, limits, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, hold.builder, error);
    ppi_builder_destroy(hold.builder);
    return status;
}
