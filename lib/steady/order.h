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

/* A device's queue. Block j is `length` ops long and starts at `base + j * length`. */
struct ppi_blocks {
    int64_t low, high; /* a block may be inserted at positions from low to high */
    int64_t length, base;
};

struct ppi_steady_order {
    const ppsched_schedule *schedule;
    const struct ppi_task *task; /* that made it */
    uint32_t block;              /* microbatches of a block */
    bool senders_wait;           /* so that W may wait for its I */
    struct ppi_blocks *devices;
    uint32_t *forward, *backward; /* positions in queues, by stage and micro-slice, while blocks are numbered */
    int64_t first, end;           /* blocks that all devices have */
    int64_t depth;                /* an op waits for ops of so many blocks before its own, at most */
};

static inline int64_t ppi_block_start(const struct ppi_blocks *blocks, int64_t block)
{
    return blocks->base + block * blocks->length;
}

/* Finds the place of a block in each queue, for a schedule of `task`; what `out` points to is the arena's. `*found`: whether
 * there is one. Errors: NO_MEMORY. */
ppsched_status ppi_steady_order_find(struct ppi_steady_order *out, bool *found, struct ppi_arena *arena, ppsched_error *error);

/* Numbers the blocks by the times of the schedule: `first` to `end` - 1. `*found` is false if not all devices have the same
 * number of them, or what comes after them waits for ops that are more than `depth` blocks before their end. Errors:
 * NO_MEMORY. */
ppsched_status ppi_steady_order_number(struct ppi_steady_order *order, bool *found, const ppsched_timeline *timeline,
                                       ppsched_error *error);

#endif
