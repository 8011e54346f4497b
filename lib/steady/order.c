/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the blocks of a rule's order, and what they wait for. */
#include "steady/order.h"

#include "base/checked.h"
#include "base/error.h"

/* An op that another waits for. */
struct input {
    uint32_t device;
    int64_t position; /* in the queue of that device; negative: none */
};

static const ppsched_queue *queue_of(const struct ppi_steady_order *order, uint32_t device)
{
    return &order->schedule->queues[device];
}

static struct ppi_blocks *blocks_of(const struct ppi_steady_order *order, uint32_t device)
{
    return &order->devices[device];
}

/* --- a block more --- */

/* Number of a microbatch among those of its copy of the model. */
static uint32_t number_of(const struct ppi_steady_order *order, uint32_t microbatches, uint32_t microbatch)
{
    const uint32_t first = microbatches - microbatches / 2;
    return order->schedule->placement.copies == 2 && microbatch >= first ? microbatch - first : microbatch;
}

/* Whether an op of the longer queue is one of the shorter queue, `later` microbatches later. */
static bool is_same(const struct ppi_steady_order *order, const ppsched_op *own, const ppsched_op *longer, uint32_t later)
{
    const uint32_t count = order->task->run, copies = order->schedule->placement.copies;
    return own->kind == longer->kind && own->stage == longer->stage && own->slice == longer->slice &&
           own->flags == longer->flags &&
           (copies == 1 || (own->microbatch >= count - count / 2) ==
                               (longer->microbatch >= (count + order->block) - (count + order->block) / 2)) &&
           number_of(order, count, own->microbatch) + later == number_of(order, count + order->block, longer->microbatch);
}

/* Finds where a block may be inserted; false if nowhere. */
static bool find_place(const struct ppi_steady_order *order, uint32_t device, const ppsched_op *longer, size_t count)
{
    const ppsched_queue *queue = queue_of(order, device);
    struct ppi_blocks *blocks = blocks_of(order, device);
    const uint32_t later = order->block / order->schedule->placement.copies;
    size_t same = 0, rest = 0;
    if (count <= queue->count)
        return false;
    while (same < queue->count && is_same(order, &queue->ops[same], &longer[same], 0))
        same++;
    while (rest < queue->count && is_same(order, &queue->ops[queue->count - 1 - rest], &longer[count - 1 - rest], later))
        rest++;
    blocks->low = (int64_t)(queue->count - rest);
    blocks->high = (int64_t)same;
    blocks->length = (int64_t)(count - queue->count);
    return blocks->high - blocks->low >= blocks->length;
}

/* Runs the rule with a block more. */
static ppsched_status find_places(const struct ppi_steady_order *order, bool *found, struct ppi_arena *arena,
                                  ppsched_error *error)
{
    struct ppi_task longer = *order->task;
    longer.shape.microbatches += order->block;
    const size_t passes = (size_t)longer.chunks * longer.shape.microbatches * longer.shape.slices;
    ppsched_op *ops = ppi_arena_take(arena, passes, 3 * sizeof *ops);
    ppsched_status status = ppi_arena_check(arena, "the steady state", error);
    *found = status == PPSCHED_OK && ppi_serves(&longer);
    for (uint32_t d = 0; d < longer.shape.devices && *found; d++) {
        struct ppi_op_writer writer = {.next = ops, .end = ops + 3 * passes, .slices = longer.shape.slices};
        longer.strategy->order(&longer, d, &writer);
        *found = find_place(order, d, ops, (size_t)(writer.next - ops));
    }
    return status;
}

/* --- what ops wait for --- */

static size_t cell_of(const struct ppi_steady_order *order, const ppsched_op *op)
{
    return ppi_cell_of(order->schedule, op);
}

static void note_positions(const struct ppi_steady_order *order)
{
    for (uint32_t d = 0; d < order->schedule->shape.devices; d++) {
        const ppsched_queue *queue = queue_of(order, d);
        for (size_t i = 0; i < queue->count; i++)
            if (queue->ops[i].kind == PPSCHED_KIND_F)
                order->forward[cell_of(order, &queue->ops[i])] = (uint32_t)i;
            else if (queue->ops[i].kind != PPSCHED_KIND_W)
                order->backward[cell_of(order, &queue->ops[i])] = (uint32_t)i;
    }
}

/* What an op waits for, other than what its device does before; the outputs of its own device are. */
static struct input input_of(const struct ppi_steady_order *order, uint32_t device, const ppsched_op *op)
{
    const ppsched_schedule *schedule = order->schedule;
    const size_t cell = cell_of(order, op);
    ppsched_op made = *op;
    struct input input = {device, -1};
    if (op->kind == PPSCHED_KIND_W) {
        input.position = order->senders_wait ? (int64_t)order->backward[cell] : -1;
        return input;
    }
    if (op->kind == PPSCHED_KIND_F ? op->stage == 0 : op->stage + 1u == schedule->shape.stages)
        return input;
    made.stage = (uint16_t)(op->kind == PPSCHED_KIND_F ? op->stage - 1 : op->stage + 1);
    input.device = ppi_schedule_device_of(schedule, &made);
    if (input.device != device)
        input.position = op->kind == PPSCHED_KIND_F ? (int64_t)order->forward[cell - schedule->micro_slices]
                                                    : (int64_t)order->backward[cell + schedule->micro_slices];
    return input;
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
    const ppsched_queue *queue = queue_of(order, device);
    return (size_t)position < queue->count ? timeline->spans[queue->first + (size_t)position].start : PPI_INFINITE;
}

/* The first op of a device that starts at a time or later. */
static int64_t first_from(const struct ppi_steady_order *order, const ppsched_timeline *timeline, uint32_t device, double time)
{
    int64_t before = -1, after = (int64_t)queue_of(order, device)->count;
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
    const ppsched_op *ops = queue_of(order, device)->ops + blocks_of(order, device)->low;
    int64_t forwards = 0, weights = 0;
    for (int64_t i = 0; i < blocks_of(order, device)->length; i++) {
        const uint8_t kind = ops[i].kind;
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

/* Finds how far before its own block an op waits: those of the last block, and all after it, which count as the block after it.
 * False if an op before waits for one after. */
static bool find_depth(struct ppi_steady_order *order)
{
    order->depth = 1;
    for (uint32_t d = 0; d < order->schedule->shape.devices; d++) {
        const ppsched_queue *queue = queue_of(order, d);
        const int64_t cut = ppi_block_start(blocks_of(order, d), order->end), from = cut - blocks_of(order, d)->length;
        for (int64_t i = 0; i < (int64_t)queue->count; i++) {
            const struct input input = input_of(order, d, &queue->ops[i]);
            const struct ppi_blocks *other = blocks_of(order, input.device);
            if (input.position < 0)
                continue;
            const bool is_late = input.position >= ppi_block_start(other, order->end);
            if (i < cut && is_late)
                return false;
            if (i >= from && !is_late)
                order->depth = larger(order->depth, order->end - (i < cut) - block_at(other, input.position));
        }
    }
    return order->depth < order->end - order->first;
}

ppsched_status ppi_steady_order_find(struct ppi_steady_order *out, bool *found, struct ppi_arena *arena, ppsched_error *error)
{
    out->devices = ppi_arena_take_zeroed(arena, out->schedule->shape.devices, sizeof *out->devices);
    ppsched_status status = ppi_arena_check(arena, "the steady state", error);
    return status == PPSCHED_OK ? find_places(out, found, arena, error) : status;
}

ppsched_status ppi_steady_order_number(struct ppi_steady_order *order, bool *found, const ppsched_timeline *timeline,
                                       ppsched_error *error)
{
    const size_t cells = ppi_cell_count(order->schedule);
    struct ppi_arena arena = {.host = &timeline->host}; /* freed at once: other figures need as much */
    order->forward = ppi_arena_take(&arena, cells, sizeof *order->forward);
    order->backward = ppi_arena_take(&arena, cells, sizeof *order->backward);
    ppsched_status status = ppi_arena_check(&arena, "the steady state", error);
    if (status == PPSCHED_OK) {
        note_positions(order);
        start_blocks(order, timeline);
        *found = count_blocks(order) && find_depth(order);
    }
    ppi_arena_clear(&arena);
    order->forward = order->backward = NULL;
    return status;
}
