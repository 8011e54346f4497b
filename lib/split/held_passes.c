/* SPDX-License-Identifier: Apache-2.0 */
/* Follows each device's ops with its counts of stage passes, and keeps the maximal ones. Marks, one number per set, rule out
 * most comparisons of sets. */
#include "split/held_passes.h"

#include <string.h>

#include "base/error.h"

/* One device's sets while they are found; arrays grow with them. */
struct making {
    struct ppi_held_passes *holding;
    struct ppi_arena *arena;
    uint32_t *now; /* the present set, */
    uint32_t sum, mixed;
    uint32_t capacity;
    uint32_t next;        /* the set that is compared first */
    uint64_t *marks;      /* of each set */
    uint32_t least, most; /* of the sums of all sets kept so far */
};

/* A set's mark: the sum of its numbers in the upper half, and a weighted sum in the lower one. Equal sets have equal marks. */
static uint32_t sum_of(uint64_t mark)
{
    return (uint32_t)(mark >> 32);
}

static uint64_t mark_of_now(const struct making *making)
{
    return (uint64_t)making->sum << 32 | making->mixed;
}

/* Whether a set with the mark `a` may contain one with the mark `b`. */
static bool may_contain(uint64_t a, uint64_t b)
{
    return a == b || sum_of(a) > sum_of(b);
}

/* Whether `a` has at least the passes of `b`. */
static bool contains(const uint32_t *a, const uint32_t *b, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++)
        if (a[i] < b[i])
            return false;
    return true;
}

static bool grow(struct making *making, uint32_t width)
{
    struct ppi_held_passes *holding = making->holding;
    uint32_t capacity = 2 * making->capacity + 8;
    uint32_t *grown = ppi_arena_take(making->arena, (size_t)capacity * width, sizeof *grown);
    if (grown == NULL)
        return false;
    if (holding->set_count > 0)
        memcpy(grown, holding->sets, (size_t)holding->set_count * width * sizeof *grown);
    uint64_t *marks = ppi_arena_take(making->arena, capacity, sizeof *marks);
    if (marks == NULL)
        return false;
    if (holding->set_count > 0)
        memcpy(marks, making->marks, holding->set_count * sizeof *marks);
    making->marks = marks;
    holding->sets = grown;
    making->capacity = capacity;
    return true;
}

/* The first set from `i` on whose mark allows it to contain the present set; `end` where there is none. */
static uint32_t find_mark(const struct making *making, uint32_t i, uint32_t end)
{
    const uint64_t *marks = making->marks, now = mark_of_now(making), larger = ((uint64_t)making->sum + 1) << 32;
    while (i < end && marks[i] != now && marks[i] < larger)
        i++;
    return i;
}

/* Whether a set from `i` to `end` contains the present set. */
static bool is_within_one_of(struct making *making, uint32_t i, uint32_t end, uint32_t width)
{
    for (i = find_mark(making, i, end); i < end; i = find_mark(making, i + 1, end))
        if (contains(making->holding->sets + (size_t)i * width, making->now, width)) {
            making->next = i + 1;
            return true;
        }
    return false;
}

/* Whether any set does. The set after the last match is compared first, as schedules are periodic. */
static bool is_within_one(struct making *making, uint32_t width)
{
    uint32_t count = making->holding->set_count, next = making->next < count ? making->next : 0;
    if (making->sum > making->most)
        return false;
    return is_within_one_of(making, next, count, width) || is_within_one_of(making, 0, next, width);
}

/* Removes the sets that the present set contains. */
static void drop_within(struct making *making, uint32_t width)
{
    struct ppi_held_passes *holding = making->holding;
    const uint64_t now = mark_of_now(making);
    uint32_t left = 0;
    for (uint32_t i = 0; i < holding->set_count; i++) {
        const uint32_t *set = holding->sets + (size_t)i * width;
        if (may_contain(now, making->marks[i]) && contains(making->now, set, width))
            continue;
        if (left < i)
            memcpy(holding->sets + (size_t)left * width, set, width * sizeof *set);
        making->marks[left++] = making->marks[i];
    }
    holding->set_count = left;
}

/* Keeps the present set, unless a set contains it. */
static void keep(struct making *making)
{
    struct ppi_held_passes *holding = making->holding;
    uint32_t width = holding->width * holding->count;
    if (is_within_one(making, width))
        return;
    if (making->sum > making->least) /* otherwise no set is smaller */
        drop_within(making, width);
    uint32_t count = holding->set_count;
    if (count == making->capacity && !grow(making, width))
        return; /* the arena reports it */
    memcpy(holding->sets + (size_t)count * width, making->now, width * sizeof *holding->sets);
    making->marks[count] = mark_of_now(making);
    making->least = count == 0 || making->sum < making->least ? making->sum : making->least;
    making->most = making->sum > making->most ? making->sum : making->most;
    holding->set_count++;
}

static void add(struct making *making, uint32_t *number, int passes)
{
    uint32_t added = (uint32_t)passes, factor = (uint32_t)(number - making->now) * 2 + 1;
    *number += added;
    making->sum += added;
    making->mixed += added * (factor * factor * 0x9e3779b1u);
}

/* Where memory rises inside backwards: the most is held while they run. */
static void follow_rising(struct making *making, const ppsched_op *op, uint32_t *held, bool grew)
{
    const int runs = op->kind == PPSCHED_KIND_I ? PPI_HELD_INPUT : PPI_HELD_WHOLE;
    if (op->kind == PPSCHED_KIND_W) {
        if (grew)
            keep(making);
        add(making, held + PPI_HELD_WEIGHT, -1);
        return;
    }
    add(making, held + PPI_HELD_KEPT, -1);
    add(making, held + runs, 1);
    keep(making);
    add(making, held + runs, -1);
    if (op->kind == PPSCHED_KIND_I)
        add(making, held + PPI_HELD_WEIGHT, 1);
}

static void follow_falling(struct making *making, const ppsched_op *op, uint32_t *held, bool grew)
{
    if (grew)
        keep(making); /* a set is maximal before memory is freed */
    if (ppi_is_backward(op->kind))
        add(making, held + PPI_HELD_KEPT, -1);
    if (op->kind == PPSCHED_KIND_I || op->kind == PPSCHED_KIND_W)
        add(making, held + PPI_HELD_WEIGHT, op->kind == PPSCHED_KIND_I ? 1 : -1);
}

static void follow(struct making *making, const ppsched_schedule *schedule, uint32_t device, const uint32_t *place)
{
    const struct ppsched_queue *queue = &schedule->queues[device];
    uint32_t limit = schedule->flushes ? schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
    bool grew = false, rises = making->holding->width > PPI_HELD_INPUT;
    for (size_t i = 0; i < queue->count && queue->ops[i].microbatch < limit; i++) {
        const ppsched_op *op = &queue->ops[i];
        uint32_t *held = making->now + making->holding->width * (size_t)place[op->stage];
        if (op->kind == PPSCHED_KIND_F)
            add(making, held + PPI_HELD_KEPT, 1);
        else if (rises)
            follow_rising(making, op, held, grew);
        else
            follow_falling(making, op, held, grew);
        grew = op->kind == PPSCHED_KIND_F;
    }
    if (grew)
        keep(making);
}

/* Copies the sets to columns. */
static void put_columns(struct ppi_held_passes *holding, struct ppi_arena *arena)
{
    uint32_t width = holding->width * holding->count;
    holding->passes = ppi_arena_take(arena, (size_t)width * holding->set_count, sizeof *holding->passes);
    holding->has_any = ppi_arena_take_zeroed(arena, width, sizeof *holding->has_any);
    for (uint32_t i = 0; i < width && !arena->is_short; i++)
        for (uint32_t k = 0; k < holding->set_count; k++) {
            uint32_t passes = holding->sets[(size_t)k * width + i];
            holding->passes[(size_t)i * holding->set_count + k] = passes;
            holding->has_any[i] |= passes > 0;
        }
}

/* Lists the stages of each device. */
static void list_stages(struct ppi_held_passes *holdings, const ppsched_schedule *schedule, uint32_t *stages)
{
    uint32_t instances = schedule->placement.copies * schedule->shape.stages;
    for (uint32_t instance = 0; instance < instances; instance++)
        holdings[schedule->placement.device_of[instance]].count++;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        holdings[d].stages = stages;
        stages += holdings[d].count;
        holdings[d].count = 0;
    }
    for (uint32_t instance = 0; instance < instances; instance++) {
        struct ppi_held_passes *holding = &holdings[schedule->placement.device_of[instance]];
        holding->stages[holding->count++] = instance % schedule->shape.stages;
    }
}

ppsched_status ppi_holding_make(struct ppi_held_passes **out, struct ppi_arena *arena, const ppsched_schedule *schedule,
                                bool rises, ppsched_error *error)
{
    uint32_t width = rises ? PPI_HELD : PPI_HELD_WEIGHT + 1;
    uint32_t instances = schedule->placement.copies * schedule->shape.stages;
    struct ppi_held_passes *holdings = ppi_arena_take_zeroed(arena, schedule->shape.devices, sizeof *holdings);
    uint32_t *stages = ppi_arena_take(arena, instances, sizeof *stages),
             *place = ppi_arena_take(arena, instances, sizeof *place);
    uint32_t *now = ppi_arena_take(arena, width * (size_t)instances, sizeof *now);
    ppsched_status status = ppi_arena_check(arena, "what devices hold", error);
    if (status == PPSCHED_OK)
        list_stages(holdings, schedule, stages);
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++) {
        struct making making = {.holding = &holdings[d], .arena = arena, .now = now};
        for (uint32_t i = 0; i < holdings[d].count; i++)
            place[holdings[d].stages[i]] = i;
        holdings[d].width = width;
        memset(now, 0, width * (size_t)holdings[d].count * sizeof *now);
        follow(&making, schedule, d, place);
        put_columns(&holdings[d], arena);
        status = ppi_arena_check(arena, "what devices hold", error);
    }
    *out = holdings;
    return status;
}

bool ppi_holding_has_whole(const struct ppi_held_passes *holding)
{
    for (uint32_t i = 0; i < holding->count && holding->width > PPI_HELD_WHOLE; i++)
        if (holding->has_any[(size_t)holding->width * i + PPI_HELD_WHOLE])
            return true;
    return false;
}

static bool is_alike(const struct ppi_held_passes *a, const struct ppi_held_passes *b)
{
    return a->count == b->count && a->width == b->width && a->set_count == b->set_count &&
           memcmp(a->stages, b->stages, a->count * sizeof *a->stages) == 0 &&
           (a->set_count == 0 || memcmp(a->sets, b->sets, (size_t)a->set_count * a->width * a->count * sizeof *a->sets) == 0);
}

bool ppi_holdings_are_alike(const struct ppi_held_passes *a, const struct ppi_held_passes *b, uint32_t devices)
{
    for (uint32_t d = 0; d < devices; d++)
        if (!is_alike(&a[d], &b[d]))
            return false;
    return true;
}
