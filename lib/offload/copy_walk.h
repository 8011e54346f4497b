/* SPDX-License-Identifier: Apache-2.0 */
/* Progress in a device's queue with copies, where each device has a link of its own: its copies run one after another in each
 * direction, so that their ends and starts come in the order of the queue, and memory follows from two lists in this order. */
#ifndef PPSCHED_OFFLOAD_COPY_WALK_H
#define PPSCHED_OFFLOAD_COPY_WALK_H

#include <string.h>

#include "base/checked.h"
#include "base/inline.h"
#include "eval/memory.h"
#include "offload/transfers.h"

/* Copies in one direction, in the order of the queue. */
struct ppi_copy_direction {
    struct ppi_copy_change *changes;
    size_t next, count; /* those from `next` on have not changed memory yet */
    double free;        /* when the last one ends */
};

struct ppi_copy_walk {
    const struct ppi_placing *placing;
    const ppsched_op *op, *end; /* of the queue with copies: the next one */
    size_t plain;               /* number of the next op in the schedule without copies */
    struct ppi_copy_direction away, back;
    double base, level, peak; /* memory: what does not change, activations, the most of both */
    double clock;             /* when the device is free */
    double last_end;          /* of its last op that computes */
};

static inline void ppi_walk_begin(struct ppi_copy_walk *walk, const struct ppi_placing *placing,
                                  const ppsched_schedule *schedule, uint32_t device)
{
    const ppsched_queue *queue = &schedule->queues[device];
    const uint32_t first = ppi_first_transfer(placing, device);
    double causes[PPI_CAUSES] = {0};
    memcpy(causes, placing->plain->fixed + (size_t)device * PPI_FIXED_CAUSES, PPI_FIXED_CAUSES * sizeof *causes);
    *walk = (struct ppi_copy_walk){.placing = placing,
                                   .op = queue->ops,
                                   .end = queue->ops + queue->count,
                                   .plain = placing->schedule->queues[device].first,
                                   .away.changes = placing->copy_changes + first,
                                   .back.changes = placing->copy_changes + placing->count + first,
                                   .base = ppi_level_of(causes)};
    walk->peak = walk->base;
}

/* --- memory --- */

static inline void ppi_walk_note(struct ppi_copy_walk *walk)
{
    walk->peak = ppi_larger(walk->peak, walk->base + walk->level);
}

/* Applies what copies have changed by a time. A reload only adds memory, so it comes after what is released then. */
PPI_APART void ppi_walk_drain(struct ppi_copy_walk *walk, double until)
{
    struct ppi_copy_direction *away = &walk->away, *back = &walk->back;
    for (;;) {
        const bool leaves = away->next < away->count && away->changes[away->next].time <= until;
        const bool comes = back->next < back->count && back->changes[back->next].time < until;
        if (!leaves && !comes)
            return;
        if (leaves && (!comes || away->changes[away->next].time <= back->changes[back->next].time))
            walk->level -= away->changes[away->next++].moved;
        else
            walk->level += back->changes[back->next++].moved;
        ppi_walk_note(walk);
    }
}

/* The same, for a time before which nothing changes more often than not. */
static inline void ppi_walk_come_to(struct ppi_copy_walk *walk, double time)
{
    const struct ppi_copy_direction *away = &walk->away, *back = &walk->back;
    if ((away->next < away->count && away->changes[away->next].time <= time) ||
        (back->next < back->count && back->changes[back->next].time < time))
        ppi_walk_drain(walk, time);
}

/* --- ops --- */

static inline void ppi_walk_add(struct ppi_copy_direction *direction, double time, double moved)
{
    direction->changes[direction->count++] = (struct ppi_copy_change){time, moved};
}

/* Runs a copy as soon as its device asks for it, or waits for one. False where it has not left before. */
static inline bool ppi_walk_copy(struct ppi_copy_walk *walk, const ppsched_op *op)
{
    const uint32_t number = walk->placing->transfer_of[ppi_cell_of(walk->placing->schedule, op)];
    if (number == PPSCHED_NONE)
        return false;
    const struct ppi_offload_transfer *transfer = &walk->placing->transfers[number];
    struct ppi_copy_ends *ends = &walk->placing->copy_ends[number];
    double start;
    if (op->kind == PPSCHED_KIND_OFFLOAD) {
        ends->away = walk->away.free = ppi_larger(walk->clock, walk->away.free) + transfer->offload;
        ppi_walk_add(&walk->away, ends->away, transfer->moved);
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
    ppi_walk_add(&walk->back, start, transfer->moved);
    return true;
}

/* When the activations of the next op, a backward, are back: 0 if they never leave, negative if they do not come. */
static inline double ppi_walk_back_by(const struct ppi_copy_walk *walk, size_t plain)
{
    const uint32_t number = walk->placing->numbers[plain];
    if (number == PPSCHED_NONE || walk->placing->copy_ends[number].away < 0)
        return 0;
    return walk->placing->copy_ends[number].back;
}

/* Runs the next unit, of `length` ops. */
static inline void ppi_walk_unit(struct ppi_copy_walk *walk, size_t length, double start, double end)
{
    const struct ppi_placing *placing = walk->placing;
    ppi_walk_come_to(walk, start);
    if (walk->op->kind == PPSCHED_KIND_F) {
        walk->level += placing->taken[walk->plain];
        ppi_walk_note(walk);
    }
    ppi_walk_come_to(walk, end);
    for (size_t k = 0; k < length; k++)
        if (walk->op[k].kind != PPSCHED_KIND_F)
            walk->level += placing->released[walk->plain + k];
    ppi_walk_note(walk);
    walk->clock = walk->last_end = end;
    walk->op += length;
    walk->plain += length;
}

#endif
