/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a rule with fewer microbatches, as a prefix, a block that repeats, and a suffix on each device.
 *
 * The rule also writes its order with one block more. Where a queue is that of fewer microbatches with a block inserted, the
 * place of the block may be anywhere in a part of the queue that repeats itself. Blocks are numbered so that no op waits for a
 * later block of another device. */
#ifndef PPSCHED_STEADY_ORDER_H
#define PPSCHED_STEADY_ORDER_H

#include "base/arena.h"
#include "eval/timeline.h"
#include "strategy/strategy.h"

/* A device's queue of `count` ops, of which the first is op `first` of all. Block j is `length` ops long and starts at
 * `base + j * length`. */
struct ppi_blocks {
    size_t first, count;
    int64_t low, high; /* a block may be inserted at positions from low to high */
    int64_t length, base;
};

struct ppi_steady_order {
    const ppsched_schedule *schedule;    /* without ops if the order is packed */
    const struct ppi_task *task;         /* that made it */
    uint32_t block;                      /* microbatches of a block */
    bool senders_wait;                   /* so that W may wait for its I */
    bool is_packed;                      /* `ops` are instead of those of the schedule, `ends` instead of spans */
    uint32_t *ops;                       /* by device: 4 times the cell, and the kind less 1 */
    double *ends;                        /* see ppi_end_index; negative: not run */
    size_t cells;                        /* of the schedule */
    size_t first_end[PPI_COMPUTE_KINDS]; /* in `ends`, by kind */
    uint32_t kinds;                      /* that have ends: forwards, backwards, and Ws if there are any */
    struct ppi_blocks *devices;
    uint32_t *positions; /* in queues, of forwards or backwards by cell, while blocks are numbered */
    int64_t first, end;  /* blocks that all devices have */
    int64_t depth;       /* an op waits for ops of so many blocks before its own, at most */
};

/* An op: its stage pass, as ppi_cell_of tells, and its kind. */
struct ppi_steady_op {
    uint32_t cell;
    uint8_t kind;
};

static inline struct ppi_steady_op ppi_steady_op_at(const struct ppi_steady_order *order, uint32_t device, size_t position)
{
    const size_t number = order->devices[device].first + position;
    if (order->is_packed)
        return (struct ppi_steady_op){order->ops[number] >> 2, (uint8_t)((order->ops[number] & 3) + 1)};
    const ppsched_op *op = &order->schedule->ops[number];
    return (struct ppi_steady_op){(uint32_t)ppi_cell_of(order->schedule, op), op->kind};
}

/* Where the end of an op is in `ends`: all forwards come first, then all backwards, then all Ws. */
static inline size_t ppi_end_index(const struct ppi_steady_order *order, struct ppi_steady_op op)
{
    return order->first_end[op.kind] + op.cell;
}

/* The start of an op of a packed order; exact, as sums are. */
static inline double ppi_start_by_end(const struct ppi_steady_order *order, const struct ppi_costs *costs,
                                      struct ppi_steady_op op)
{
    return order->ends[ppi_end_index(order, op)] - costs->instances[op.cell / order->schedule->micro_slices].duration[op.kind];
}

/* The start of an op of an order that has been timed. */
static inline double ppi_steady_start(const struct ppi_steady_order *order, const ppsched_timeline *timeline, uint32_t device,
                                      int64_t position)
{
    if (order->is_packed)
        return ppi_start_by_end(order, &timeline->costs, ppi_steady_op_at(order, device, (size_t)position));
    return timeline->spans[order->devices[device].first + (size_t)position].start;
}

/* The same, or the end of an op of a packed order: as well where ops of the same stage and kind are compared. */
static inline double ppi_steady_time(const struct ppi_steady_order *order, const ppsched_timeline *timeline, uint32_t device,
                                     int64_t position)
{
    if (order->is_packed)
        return order->ends[ppi_end_index(order, ppi_steady_op_at(order, device, (size_t)position))];
    return timeline->spans[order->devices[device].first + (size_t)position].start;
}

static inline int64_t ppi_block_start(const struct ppi_blocks *blocks, int64_t block)
{
    return blocks->base + block * blocks->length;
}

/* Finds the place of a block in each queue, for a schedule of `task`, and the ops of a packed order; what `out` points to is
 * the arena's. `*found`: whether there is one. Errors: NO_MEMORY. */
ppsched_status ppi_steady_order_find(struct ppi_steady_order *out, bool *found, struct ppi_arena *arena, ppsched_error *error);

/* Numbers the blocks by the times of the schedule: `first` to `end` - 1. `*found` is false if not all devices have the same
 * number of them, or what comes after them waits for ops that are more than `depth` blocks before their end. Errors:
 * NO_MEMORY. */
ppsched_status ppi_steady_order_number(struct ppi_steady_order *order, bool *found, const ppsched_timeline *timeline,
                                       ppsched_error *error);

#endif
