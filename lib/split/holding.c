/* SPDX-License-Identifier: Apache-2.0 */
#include "split/holding.h"

#include <string.h>

#include "base/error.h"

/* One device's sets in the making: room for more is taken as they grow. */
struct making {
    struct ppi_holding *holding;
    struct ppi_room *room;
    uint32_t *now; /* what it holds */
    uint32_t capacity;
    uint32_t next;  /* set that is asked first */
    uint64_t *sums; /* of the numbers of each set, and of what it holds */
    uint64_t sum;
};

/* Whether `a` holds all of `b`; their sums tell most. */
static bool contains(const uint32_t *a, uint64_t sum_a, const uint32_t *b, uint64_t sum_b, uint32_t width)
{
    if (sum_a <= sum_b)
        return sum_a == sum_b && memcmp(a, b, width * sizeof *a) == 0;
    for (uint32_t i = 0; i < width; i++)
        if (a[i] < b[i])
            return false;
    return true;
}

static bool grow(struct making *making, uint32_t width)
{
    struct ppi_holding *holding = making->holding;
    uint32_t capacity = 2 * making->capacity + 8;
    uint32_t *grown = ppi_room_take(making->room, (size_t)capacity * width, sizeof *grown);
    if (grown == NULL)
        return false;
    if (holding->set_count > 0)
        memcpy(grown, holding->sets, (size_t)holding->set_count * width * sizeof *grown);
    uint64_t *sums = ppi_room_take(making->room, capacity, sizeof *sums);
    if (sums == NULL)
        return false;
    if (holding->set_count > 0)
        memcpy(sums, making->sums, holding->set_count * sizeof *sums);
    making->sums = sums;
    holding->sets = grown;
    making->capacity = capacity;
    return true;
}

/* Whether a set holds what the device holds now. That behind the last answer is asked first: schedules repeat themselves. */
static bool is_within_one(struct making *making, uint32_t width)
{
    const struct ppi_holding *holding = making->holding;
    for (uint32_t asked = 0, i = making->next; asked < holding->set_count; asked++, i++) {
        i = i < holding->set_count ? i : 0;
        if (contains(holding->sets + (size_t)i * width, making->sums[i], making->now, making->sum, width)) {
            making->next = i + 1;
            return true;
        }
    }
    return false;
}

/* Keeps what the device holds now, unless it is within a set; takes out those that are within it. */
static void keep(struct making *making)
{
    struct ppi_holding *holding = making->holding;
    uint32_t width = 2 * holding->count, left = 0;
    if (is_within_one(making, width))
        return;
    for (uint32_t i = 0; i < holding->set_count; i++) {
        const uint32_t *set = holding->sets + (size_t)i * width;
        if (contains(making->now, making->sum, set, making->sums[i], width))
            continue;
        if (left < i)
            memcpy(holding->sets + (size_t)left * width, set, width * sizeof *set);
        making->sums[left++] = making->sums[i];
    }
    holding->set_count = left;
    if (left == making->capacity && !grow(making, width))
        return; /* the room tells */
    memcpy(holding->sets + (size_t)left * width, making->now, width * sizeof *holding->sets);
    making->sums[left] = making->sum;
    holding->set_count++;
}

static void follow(struct making *making, const ppsched_schedule *schedule, uint32_t device, const uint32_t *place)
{
    const struct ppsched_queue *queue = &schedule->queues[device];
    uint32_t limit = schedule->flushes ? schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
    bool grew = false;
    for (size_t i = 0; i < queue->count && queue->ops[i].microbatch < limit; i++) {
        const ppsched_op *op = &queue->ops[i];
        uint32_t *held = making->now + 2 * (size_t)place[op->stage];
        if (op->kind != PPSCHED_KIND_F && grew)
            keep(making); /* the most is there before something is given back */
        grew = op->kind == PPSCHED_KIND_F;
        held[0] += op->kind == PPSCHED_KIND_F;
        held[0] -= ppi_is_backward(op->kind);
        held[1] += op->kind == PPSCHED_KIND_I;
        held[1] -= op->kind == PPSCHED_KIND_W;
        making->sum += op->kind == PPSCHED_KIND_F || op->kind == PPSCHED_KIND_I;
        making->sum -= ppi_is_backward(op->kind);
        making->sum -= op->kind == PPSCHED_KIND_W;
    }
    if (grew)
        keep(making);
}

/* The sets as columns too. */
static void put_columns(struct ppi_holding *holding, struct ppi_room *room)
{
    uint32_t width = 2 * holding->count;
    holding->passes = ppi_room_take(room, (size_t)width * holding->set_count, sizeof *holding->passes);
    holding->has_any = ppi_room_take_zeroed(room, width, sizeof *holding->has_any);
    for (uint32_t i = 0; i < width && !room->is_short; i++)
        for (uint32_t k = 0; k < holding->set_count; k++) {
            uint32_t passes = holding->sets[(size_t)k * width + i];
            holding->passes[(size_t)i * holding->set_count + k] = passes;
            holding->has_any[i] |= passes > 0;
        }
}

/* Which stages each device has. */
static void list_stages(struct ppi_holding *holdings, const ppsched_schedule *schedule, uint32_t *stages)
{
    uint32_t lanes = schedule->placement.copies * schedule->shape.stages;
    for (uint32_t lane = 0; lane < lanes; lane++)
        holdings[schedule->placement.device_of[lane]].count++;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        holdings[d].stages = stages;
        stages += holdings[d].count;
        holdings[d].count = 0;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        struct ppi_holding *holding = &holdings[schedule->placement.device_of[lane]];
        holding->stages[holding->count++] = lane % schedule->shape.stages;
    }
}

ppsched_status ppi_holding_make(struct ppi_holding **out, struct ppi_room *room, const ppsched_schedule *schedule,
                                ppsched_error *error)
{
    uint32_t lanes = schedule->placement.copies * schedule->shape.stages;
    struct ppi_holding *holdings = ppi_room_take_zeroed(room, schedule->shape.devices, sizeof *holdings);
    uint32_t *stages = ppi_room_take(room, lanes, sizeof *stages), *place = ppi_room_take(room, lanes, sizeof *place);
    uint32_t *now = ppi_room_take(room, 2 * (size_t)lanes, sizeof *now);
    ppsched_status status = ppi_room_check(room, "what devices hold", error);
    if (status == PPSCHED_OK)
        list_stages(holdings, schedule, stages);
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++) {
        struct making making = {.holding = &holdings[d], .room = room, .now = now};
        for (uint32_t i = 0; i < holdings[d].count; i++)
            place[holdings[d].stages[i]] = i;
        memset(now, 0, 2 * (size_t)holdings[d].count * sizeof *now);
        follow(&making, schedule, d, place);
        put_columns(&holdings[d], room);
        status = ppi_room_check(room, "what devices hold", error);
    }
    *out = holdings;
    return status;
}
