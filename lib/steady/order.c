/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the blocks of a rule's order, and what they wait for. */
#include "steady/order.h"

#include "base/checked.h"
#include "base/error.h"

/* An op that another waits for, or that waits for another. */
struct input {
    uint32_t device;
    int64_t position; /* in the queue of that device; negative: none */
};

static struct ppi_blocks *blocks_of(const struct ppi_steady_order *order, uint32_t device)
{
    return &order->devices[device];
}

/* --- a block more --- */

/* Number of a microbatch among those of its copy of the model, of two. */
static uint32_t number_of(uint32_t microbatches, uint32_t microbatch)
{
    const uint32_t first = microbatches - microbatches / 2;
    return microbatch >= first ? microbatch - first : microbatch;
}

/* Whether an op of the longer queue is one of the shorter queue, `later` microbatches later. */
static inline bool is_same(const struct ppi_steady_order *order, const ppsched_op *own, const ppsched_op *longer,
                           uint32_t later)
{
    const uint32_t count = order->task->run, longer_count = count + order->block;
    if (own->kind != longer->kind || own->stage != longer->stage || own->slice != longer->slice || own->flags != longer->flags)
        return false;
    if (order->schedule->placement.copies == 1)
        return own->microbatch + later == longer->microbatch;
    return (own->microbatch >= count - count / 2) == (longer->microbatch >= longer_count - longer_count / 2) &&
           number_of(count, own->microbatch) + later == number_of(longer_count, longer->microbatch);
}

/* Finds where a block may be inserted in a queue; false if nowhere. */
static bool find_place(const struct ppi_steady_order *order, struct ppi_blocks *blocks, const ppsched_op *own,
                       const ppsched_op *longer, size_t longer_count)
{
    const uint32_t later = order->block / order->schedule->placement.copies;
    const size_t count = blocks->count;
    size_t same = 0, rest = 0;
    if (longer_count <= count)
        return false;
    while (same < count && is_same(order, &own[same], &longer[same], 0))
        same++;
    while (rest < count && is_same(order, &own[count - 1 - rest], &longer[longer_count - 1 - rest], later))
        rest++;
    blocks->low = (int64_t)(count - rest);
    blocks->high = (int64_t)same;
    blocks->length = (int64_t)(longer_count - count);
    return blocks->high - blocks->low >= blocks->length;
}

/* Writes the queue of a device; returns its length. */
static size_t write_queue(ppsched_op *ops, size_t capacity, const struct ppi_task *task, uint32_t device)
{
    struct ppi_op_writer writer = {.next = ops, .end = ops + capacity, .slices = task->shape.slices};
    task->strategy->order(task, device, &writer);
    return (size_t)(writer.next - ops);
}

/* The most ops of a device. */
static size_t most_ops(const struct ppi_task *task)
{
    return (size_t)task->chunks * task->shape.microbatches * task->shape.slices * (task->strategy->splits_backward ? 3 : 2);
}

static void pack(const struct ppi_steady_order *order, const struct ppi_blocks *blocks, const ppsched_op *ops)
{
    uint32_t *to = order->ops + blocks->first;
    const bool is_sliced = order->schedule->shape.slices > 1;
    for (const ppsched_op *op = ops; op < ops + blocks->count; op++) {
        const size_t cell = is_sliced ? ppi_cell_of(order->schedule, op) : ppi_cell_with(order->schedule, op, 1);
        *to++ = (uint32_t)cell << 2 | (op->kind - 1u);
    }
}

/* Finds the places of a block, with one queue after another that the rule writes with a block more; `own` and `ops` are
 * scratch. */
static bool find_all_places(const struct ppi_steady_order *order, const struct ppi_task *longer, ppsched_op *own,
                            ppsched_op *ops)
{
    for (uint32_t d = 0; d < longer->shape.devices; d++) {
        struct ppi_blocks *blocks = blocks_of(order, d);
        const ppsched_queue *queue = &order->schedule->queues[d];
        blocks->first = order->is_packed ? d * most_ops(order->task) : queue->first;
        blocks->count = order->is_packed ? write_queue(own, most_ops(order->task), order->task, d) : queue->count;
        const size_t count = write_queue(ops, most_ops(longer), longer, d);
        if (!find_place(order, blocks, order->is_packed ? own : queue->ops, ops, count))
            return false;
        if (order->is_packed)
            pack(order, blocks, own);
    }
    return true;
}

static ppsched_status find_places(struct ppi_steady_order *order, bool *found, struct ppi_arena *arena, ppsched_error *error)
{
    struct ppi_task longer = *order->task;
    struct ppi_arena scratch = {.host = arena->host};
    longer.shape.microbatches += order->block;
    *found = ppi_serves(&longer);
    if (!*found)
        return PPSCHED_OK;
    ppsched_op *own = ppi_arena_take(&scratch, order->is_packed ? most_ops(order->task) : 0, sizeof *own);
    ppsched_op *ops = ppi_arena_take(&scratch, most_ops(&longer), sizeof *ops);
    if (order->is_packed)
        order->ops = ppi_arena_take(arena, most_ops(order->task) * order->task->shape.devices, sizeof *order->ops);
    ppsched_status status = ppi_arena_check(&scratch, "the steady state", error);
    if (status == PPSCHED_OK)
        status = ppi_arena_check(arena, "the steady state", error);
    *found = status == PPSCHED_OK && order->cells <= UINT32_MAX >> 2 && find_all_places(order, &longer, own, ops);
    ppi_arena_clear(&scratch);
    return status;
}

/* --- what ops wait for --- */

/* Notes where forwards are in their queues, or backwards. */
static void note_positions(const struct ppi_steady_order *order, bool backward)
{
    for (uint32_t d = 0; d < order->schedule->shape.devices; d++)
        for (size_t i = 0; i < blocks_of(order, d)->count; i++) {
            const struct ppi_steady_op op = ppi_steady_op_at(order, d, i);
            if ((op.kind != PPSCHED_KIND_F) == backward && op.kind != PPSCHED_KIND_W)
                order->positions[op.cell] = (uint32_t)i;
        }
}

/* The same op of the stage `step` stages later, if that is on another device. `positions` are those of forwards for a forward,
 * else those of backwards. */
static inline struct input op_beside(const struct ppi_steady_order *order, uint32_t device, struct ppi_steady_op op, int step)
{
    const ppsched_schedule *schedule = order->schedule;
    const uint32_t micro_slices = schedule->micro_slices, stage = op.cell / micro_slices;
    uint32_t other = stage + (uint32_t)step;
    struct input beside = {device, -1};
    if (other >= schedule->shape.stages) /* there is none */
        return beside;
    if (schedule->placement.copies > 1)
        other += schedule->shape.stages *
                 ppi_copy_of(&schedule->placement, &schedule->shape, op.cell % micro_slices / schedule->shape.slices);
    beside.device = schedule->placement.device_of[other];
    if (beside.device != device)
        beside.position = (int64_t)order->positions[step < 0 ? op.cell - micro_slices : op.cell + micro_slices];
    return beside;
}

/* What an op waits for, other than what its device does before; the outputs of its own device are. */
static inline struct input input_of(const struct ppi_steady_order *order, uint32_t device, struct ppi_steady_op op)
{
    if (op.kind != PPSCHED_KIND_W)
        return op_beside(order, device, op, op.kind == PPSCHED_KIND_F ? -1 : 1);
    return (struct input){device, order->senders_wait ? (int64_t)order->positions[op.cell] : -1};
}

/* What waits for an op on another device. */
static inline struct input output_of(const struct ppi_steady_order *order, uint32_t device, struct ppi_steady_op op)
{
    if (op.kind != PPSCHED_KIND_W)
        return op_beside(order, device, op, op.kind == PPSCHED_KIND_F ? 1 : -1);
    return (struct input){device, -1};
}

/* The block of a position; blocks go on before the first and after the last. */
static int64_t block_at(const struct ppi_blocks *blocks, int64_t position)
{
    const int64_t apart = position - blocks->base;
    return apart >= 0 ? apart / blocks->length : -((blocks->length - 1 - apart) / blocks->length);
}

/* --- the numbers of blocks --- */

static double start_at(const struct ppi_steady_order *order, const ppsched_timeline *timeline, uint32_t device,
                       int64_t position)
{
    return (size_t)position < blocks_of(order, device)->count ? ppi_steady_start(order, timeline, device, position)
                                                              : PPI_INFINITE;
}

/* The first op of a device that starts at a time or later. */
static int64_t first_from(const struct ppi_steady_order *order, const ppsched_timeline *timeline, uint32_t device, double time)
{
    int64_t before = -1, after = (int64_t)blocks_of(order, device)->count;
    while (after - before > 1) {
        const int64_t middle = before + (after - before) / 2;
        *(start_at(order, timeline, device, middle) < time ? &before : &after) = middle;
    }
    return after;
}

/* Block 0 begins where all that starts before some time has been run: what starts later is not needed for that. */
static void start_blocks(const struct ppi_steady_order *order, const ppsched_timeline *timeline)
{
    const uint32_t devices = order->schedule->shape.devices;
    double time = PPI_INFINITE;
    for (uint32_t d = 0; d < devices; d++)
        time = ppi_smaller(time, start_at(order, timeline, d, blocks_of(order, d)->high));
    for (uint32_t d = 0; d < devices; d++)
        blocks_of(order, d)->base = first_from(order, timeline, d, time);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Whether a block has the backwards of as many forwards, so that memory is the same after it. */
static bool is_even(const struct ppi_steady_order *order, uint32_t device)
{
    const struct ppi_blocks *blocks = blocks_of(order, device);
    int64_t forwards = 0, weights = 0;
    for (int64_t i = blocks->low; i < blocks->low + blocks->length; i++) {
        const uint8_t kind = ppi_steady_op_at(order, device, (size_t)i).kind;
        forwards += kind == PPSCHED_KIND_F ? 1 : ppi_is_backward(kind) ? -1 : 0;
        weights += kind == PPSCHED_KIND_W ? 1 : kind == PPSCHED_KIND_I ? -1 : 0;
    }
    return forwards == 0 && weights == 0;
}

/* Finds the blocks that all devices have. */
static bool count_blocks(struct ppi_steady_order *order)
{
    order->first = INT64_MIN;
    order->end = 0;
    for (uint32_t d = 0; d < order->schedule->shape.devices; d++) {
        const struct ppi_blocks *blocks = blocks_of(order, d);
        if (!is_even(order, d))
            return false;
        order->first = larger(order->first, block_at(blocks, blocks->low + blocks->length - 1));
        if (blocks->base < blocks->low || blocks->base > blocks->high)
            return false;
    }
    return order->first < order->end;
}

/* Finds how far before its own block a forward waits, or a backward or W: those of the last block, and all after it, which
 * count as the block after it. False if an op before waits for one of those after. */
static bool deepen(struct ppi_steady_order *order, bool backward)
{
    note_positions(order, backward);
    for (uint32_t d = 0; d < order->schedule->shape.devices; d++) {
        const struct ppi_blocks *own = blocks_of(order, d);
        const int64_t cut = ppi_block_start(own, order->end), from = cut - own->length;
        for (int64_t i = larger(from, 0); i < (int64_t)own->count; i++) {
            const struct ppi_steady_op op = ppi_steady_op_at(order, d, (size_t)i);
            if ((op.kind != PPSCHED_KIND_F) != backward)
                continue;
            const struct input input = input_of(order, d, op);
            const struct ppi_blocks *other = blocks_of(order, input.device);
            if (input.position >= 0 && input.position < ppi_block_start(other, order->end))
                order->depth = larger(order->depth, order->end - (i < cut) - block_at(other, input.position));
            if (i < cut)
                continue;
            const struct input output = output_of(order, d, op);
            if (output.position >= 0 && output.position < ppi_block_start(blocks_of(order, output.device), order->end))
                return false;
        }
    }
    return true;
}

static bool find_depth(struct ppi_steady_order *order)
{
    order->depth = 1;
    return deepen(order, false) && deepen(order, true) && order->depth < order->end - order->first;
}

ppsched_status ppi_steady_order_find(struct ppi_steady_order *out, bool *found, struct ppi_arena *arena, ppsched_error *error)
{
    out->cells = ppi_cell_count(out->schedule);
    out->first_end[PPSCHED_KIND_B] = out->first_end[PPSCHED_KIND_I] = out->cells;
    out->first_end[PPSCHED_KIND_W] = 2 * out->cells;
    out->kinds = out->task->strategy->splits_backward ? 3 : 2;
    out->devices = ppi_arena_take_zeroed(arena, out->schedule->shape.devices, sizeof *out->devices);
    ppsched_status status = ppi_arena_check(arena, "the steady state", error);
    return status == PPSCHED_OK ? find_places(out, found, arena, error) : status;
}

ppsched_status ppi_steady_order_number(struct ppi_steady_order *order, bool *found, const ppsched_timeline *timeline,
                                       ppsched_error *error)
{
    const size_t cells = ppi_cell_count(order->schedule);
    struct ppi_arena arena = {.host = &timeline->host}; /* freed at once: other figures need as much */
    order->positions = ppi_arena_take(&arena, cells, sizeof *order->positions);
    ppsched_status status = ppi_arena_check(&arena, "the steady state", error);
    if (status == PPSCHED_OK) {
        start_blocks(order, timeline);
        *found = count_blocks(order) && find_depth(order);
    }
    ppi_arena_clear(&arena);
    order->positions = NULL;
    return status;
}
