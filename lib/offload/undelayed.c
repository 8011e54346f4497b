/* SPDX-License-Identifier: Apache-2.0 */
/* Walks each device's queue with the times of the schedule without copies. Copies of a device run one after another in each
 * direction, so that their ends and starts come in the order of the queue, and memory follows from two lists in this order. */
#include "offload/undelayed.h"

#include <string.h>

#include "base/checked.h"
#include "base/inline.h"
#include "eval/memory.h"
#include "offload/offload.h"

/* Copies in one direction, in the order of the queue. */
struct direction {
    struct ppi_copy_change *changes;
    size_t next, count; /* those from `next` on have not changed memory yet */
    double free;        /* when the last one ends */
};

struct walk {
    const struct ppi_placing *placing;
    const ppsched_schedule *schedule; /* with copies */
    struct direction away, back;
    double base, level, peak; /* memory: what does not change, activations, the most of both */
    double clock;
};

bool ppi_may_be_undelayed(const struct ppi_placing *placing)
{
    const ppsched_timeline *plain = placing->plain;
    const ppsched_config *config = placing->config;
    if (placing->schedule->shape.iterations > 1 || plain->saving != NULL || plain->memory != NULL || config->senders_wait ||
        ppi_may_share_links(config))
        return false;
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        if (ppi_copy_slowdown(config, d) > 1)
            return false;
    return true;
}

/* --- memory --- */

static void note_level(struct walk *walk)
{
    walk->peak = ppi_larger(walk->peak, walk->base + walk->level);
}

/* Applies what copies have changed by a time. A reload only adds memory, so it comes after what is released then. */
PPI_APART void drain(struct walk *walk, double until)
{
    struct direction *away = &walk->away, *back = &walk->back;
    for (;;) {
        const bool leaves = away->next < away->count && away->changes[away->next].time <= until;
        const bool comes = back->next < back->count && back->changes[back->next].time < until;
        if (!leaves && !comes)
            return;
        if (leaves && (!comes || away->changes[away->next].time <= back->changes[back->next].time))
            walk->level -= away->changes[away->next++].moved;
        else
            walk->level += back->changes[back->next++].moved;
        note_level(walk);
    }
}

static void add(struct direction *direction, double time, double moved)
{
    direction->changes[direction->count++] = (struct ppi_copy_change){time, moved};
}

/* --- ops --- */

/* The number of an op's transfer; PPSCHED_NONE: it is never offloaded. */
static uint32_t number_of(const struct walk *walk, const ppsched_op *op)
{
    return walk->placing->transfer_of[ppi_cell_of(walk->schedule, op)];
}

/* Runs a copy as soon as its device asks for it, or waits for one. False where it has not left before. */
static bool run_copy(struct walk *walk, const ppsched_op *op)
{
    const uint32_t number = number_of(walk, op);
    if (number == PPSCHED_NONE)
        return false;
    const struct ppi_offload_transfer *transfer = &walk->placing->transfers[number];
    struct ppi_copy_ends *ends = &walk->placing->copy_ends[number];
    double start;
    if (op->kind == PPSCHED_KIND_OFFLOAD) {
        ends->away = walk->away.free = ppi_larger(walk->clock, walk->away.free) + transfer->offload;
        add(&walk->away, ends->away, transfer->moved);
        return true;
    }
    if (ends->away < 0)
        return false;
    if (op->kind == PPSCHED_KIND_OFFLOAD_WAIT) {
        walk->clock = ppi_larger(walk->clock, ends->away);
        return true;
    }
    start = ppi_larger(ppi_larger(walk->clock, walk->back.free), ends->away);
    ends->back = walk->back.free = start + transfer->reload;
    add(&walk->back, start, transfer->moved);
    return true;
}

/* Whether the activation of a backward is there by its time. */
static bool is_back(const struct walk *walk, const ppsched_op *op, double time)
{
    const uint32_t number = ppi_is_backward(op->kind) ? number_of(walk, op) : PPSCHED_NONE;
    if (number == PPSCHED_NONE || walk->placing->copy_ends[number].away < 0)
        return true;
    return walk->placing->copy_ends[number].back >= 0 && walk->placing->copy_ends[number].back <= time;
}

/* Runs a unit at its time; false where a copy would delay it. */
static bool run_unit(struct walk *walk, const ppsched_op *unit, size_t length, const ppsched_span *span)
{
    const struct ppi_costs *costs = &walk->placing->plain->costs;
    if (span->start < walk->clock || !is_back(walk, &unit[length - 1], span->start))
        return false;
    drain(walk, span->start);
    if (unit->kind == PPSCHED_KIND_F) {
        walk->level += ppi_memory_of(costs, walk->schedule, unit);
        note_level(walk);
    }
    drain(walk, span->end);
    for (size_t k = 0; k < length; k++)
        if (unit[k].kind != PPSCHED_KIND_F)
            walk->level += ppi_memory_of(costs, walk->schedule, &unit[k]);
    note_level(walk);
    walk->clock = span->end;
    return true;
}

static bool run_device(struct walk *walk, uint32_t device)
{
    const ppsched_timeline *plain = walk->placing->plain;
    const ppsched_queue *queue = &walk->schedule->queues[device];
    const ppsched_span *span = plain->spans + plain->schedule->queues[device].first;
    for (size_t i = 0, length; i < queue->count; i += length) {
        const ppsched_op *op = &queue->ops[i];
        length = ppi_unit_length(op);
        if (!ppi_is_compute(op->kind)) {
            if (!run_copy(walk, op))
                return false;
            continue;
        }
        if (!run_unit(walk, op, length, span))
            return false;
        span += length;
    }
    drain(walk, PPI_INFINITE);
    return ppi_is_finite(walk->peak);
}

bool ppi_price_undelayed(double *peaks, const struct ppi_placing *placing, const ppsched_schedule *schedule)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->copy_ends[i] = (struct ppi_copy_ends){-1, -1};
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        double causes[PPI_CAUSES] = {0};
        memcpy(causes, placing->plain->fixed + (size_t)d * PPI_FIXED_CAUSES, PPI_FIXED_CAUSES * sizeof *causes);
        const double base = ppi_level_of(causes);
        struct walk walk = {.placing = placing,
                            .schedule = schedule,
                            .away.changes = placing->copy_changes,
                            .back.changes = placing->copy_changes + placing->count,
                            .base = base,
                            .peak = base};
        if (!run_device(&walk, d))
            return false;
        peaks[d] = walk.peak;
    }
    return true;
}
