/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy link colouring: each pair goes to the first round in which both its devices are free. */
#include "resources/connections.h"

#include "base/error.h"
#include "base/sort.h"
#include "ir/stage_graph.h"

/* A round in which a device is busy; `next`: index of its next later one. */
struct taken {
    uint32_t round, next;
};

/* The busy rounds of a device: all below `free`, and those in the list from `first`, in ascending order. */
struct rounds {
    uint32_t free, first;
};

struct connecting {
    const ppsched_schedule *schedule;
    ppsched_connection *pairs; /* in the order in which rounds are assigned */
    uint32_t count;
    struct rounds *devices;
    struct taken *taken;
    uint32_t taken_count;
};

/* --- pairs --- */

static void add_pair(struct connecting *connecting, ppsched_connection pair, bool of_stages)
{
    const uint32_t from = pair.sender, to = pair.receiver;
    if (from == to)
        return;
    connecting->pairs[connecting->count++] = of_stages ? pair
                                                       : (ppsched_connection){0, from < to ? from : to, from < to ? to : from,
                                                                              PPSCHED_NONE, PPSCHED_NONE};
}

/* From each device of a stage to each device of the stages that it feeds. */
static void list_pairs_of_graph(struct connecting *connecting, bool of_stages)
{
    const struct ppi_placement *placement = &connecting->schedule->placement;
    for (uint32_t s = 0; s < connecting->schedule->shape.stages; s++) {
        const struct ppi_feeds fed = ppi_fed_by(placement->graph, PPSCHED_KIND_F, s);
        uint32_t from_count = 0, to_count = 0;
        const uint32_t *from = ppi_devices_of(placement, s, &from_count);
        for (uint32_t i = 0; i < fed.count; i++) {
            const uint32_t *to = ppi_devices_of(placement, fed.stages[i], &to_count);
            for (uint32_t k = 0; k < from_count * to_count; k++)
                add_pair(connecting, (ppsched_connection){0, from[k / to_count], to[k % to_count], s, fed.stages[i]},
                         of_stages);
        }
    }
}

static void list_pairs(struct connecting *connecting, bool of_stages)
{
    const struct ppi_placement *placement = &connecting->schedule->placement;
    const uint32_t stages = connecting->schedule->shape.stages, *device_of = placement->device_of;
    if (placement->graph != NULL) {
        list_pairs_of_graph(connecting, of_stages);
        return;
    }
    for (uint32_t c = 0; c < placement->copies; c++, device_of += stages)
        for (uint32_t s = 0; s + 1 < stages; s++)
            add_pair(connecting, (ppsched_connection){0, device_of[s], device_of[s + 1], s, s + 1}, of_stages);
}

static bool pair_goes_before(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_connection *x = (const ppsched_connection *)context + a, *y = (const ppsched_connection *)context + b;
    return x->sender != y->sender ? x->sender < y->sender : x->receiver < y->receiver;
}

static bool round_goes_before(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_connection *pairs = context;
    return pairs[a].round < pairs[b].round;
}

/* Sorts the pairs; `room` has capacity for twice as many indices, and `other` for all pairs. */
static void put_in_order(struct connecting *connecting, uint32_t *room, ppsched_connection *other,
                         bool (*goes_before)(const void *context, uint32_t a, uint32_t b))
{
    for (uint32_t i = 0; i < connecting->count; i++)
        room[i] = i;
    const uint32_t *order = ppi_sort(room, room + connecting->count, connecting->count, goes_before, connecting->pairs);
    for (uint32_t i = 0; i < connecting->count; i++)
        other[i] = connecting->pairs[order[i]];
    for (uint32_t i = 0; i < connecting->count; i++)
        connecting->pairs[i] = other[i];
}

/* Drops all but one of equal adjacent pairs. */
static void drop_repeated(struct connecting *connecting)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < connecting->count; i++) {
        const ppsched_connection *pair = &connecting->pairs[i], *last = &connecting->pairs[left - (left > 0)];
        if (left == 0 || last->sender != pair->sender || last->receiver != pair->receiver)
            connecting->pairs[left++] = *pair;
    }
    connecting->count = left;
}

/* --- rounds --- */

/* The first busy round in a list from `round` on; lists are in ascending order. */
static uint32_t taken_from(const struct connecting *connecting, uint32_t i, uint32_t round)
{
    while (i != PPSCHED_NONE && connecting->taken[i].round < round)
        i = connecting->taken[i].next;
    return i;
}

static bool is_round(const struct connecting *connecting, uint32_t i, uint32_t round)
{
    return i != PPSCHED_NONE && connecting->taken[i].round == round;
}

/* The first round in which two devices are free. */
static uint32_t common_round(const struct connecting *connecting, uint32_t a, uint32_t b)
{
    const struct rounds *x = &connecting->devices[a], *y = &connecting->devices[b];
    uint32_t round = x->free > y->free ? x->free : y->free, i = x->first, k = y->first;
    for (;; round++) {
        i = taken_from(connecting, i, round);
        k = taken_from(connecting, k, round);
        if (!is_round(connecting, i, round) && !is_round(connecting, k, round))
            return round;
    }
}

static void take_round(struct connecting *connecting, uint32_t device, uint32_t round)
{
    struct rounds *rounds = &connecting->devices[device];
    uint32_t *at = &rounds->first;
    while (*at != PPSCHED_NONE && connecting->taken[*at].round < round)
        at = &connecting->taken[*at].next;
    connecting->taken[connecting->taken_count] = (struct taken){round, *at};
    *at = connecting->taken_count++;
    for (; is_round(connecting, rounds->first, rounds->free); rounds->free++)
        rounds->first = connecting->taken[rounds->first].next;
}

static void choose_rounds(struct connecting *connecting)
{
    for (uint32_t d = 0; d < connecting->schedule->shape.devices; d++)
        connecting->devices[d] = (struct rounds){0, PPSCHED_NONE};
    for (uint32_t i = 0; i < connecting->count; i++) {
        ppsched_connection *pair = &connecting->pairs[i];
        pair->round = common_round(connecting, pair->sender, pair->receiver);
        take_round(connecting, pair->sender, pair->round);
        take_round(connecting, pair->receiver, pair->round);
    }
}

/* Makes two rounds of each: connections to the higher device, then to the lower. */
static size_t direct(ppsched_connection *out, const ppsched_connection *pairs, uint32_t count)
{
    size_t filled = 0;
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && pairs[to].round == pairs[from].round; to++)
            out[filled++] = (ppsched_connection){2 * pairs[to].round, pairs[to].sender, pairs[to].receiver, PPSCHED_NONE,
                                                 PPSCHED_NONE};
        for (uint32_t i = from; i < to; i++)
            out[filled++] = (ppsched_connection){2 * pairs[i].round + 1, pairs[i].receiver, pairs[i].sender, PPSCHED_NONE,
                                                 PPSCHED_NONE};
    }
    return filled;
}

/* --- all of it --- */

static void connect(struct connecting *connecting, uint32_t *room, ppsched_connection *other, bool of_stages)
{
    list_pairs(connecting, of_stages);
    if (!of_stages) {
        put_in_order(connecting, room, other, pair_goes_before);
        drop_repeated(connecting);
    }
    choose_rounds(connecting);
    put_in_order(connecting, room, other, round_goes_before);
}

ppsched_status ppi_connections_make(ppsched_connection **out, size_t *count, const ppsched_schedule *schedule, int32_t what,
                                    ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    size_t most = graph != NULL ? (size_t)ppi_seat_pair_count(graph) + 1
                                : (size_t)schedule->placement.copies * schedule->shape.stages;
    bool of_stages = what == PPSCHED_CONNECTING_STAGES;
    struct connecting connecting = {.schedule = schedule};
    uint32_t *room = ppi_allocate(host, most, 2 * sizeof *room);
    ppsched_connection *other = ppi_allocate(host, most, 2 * sizeof *other);
    connecting.pairs = ppi_allocate(host, most, sizeof *connecting.pairs);
    connecting.devices = ppi_allocate(host, schedule->shape.devices, sizeof *connecting.devices);
    connecting.taken = ppi_allocate(host, most, 2 * sizeof *connecting.taken);
    bool has_room = room != NULL && other != NULL && connecting.pairs != NULL && connecting.devices != NULL &&
                    connecting.taken != NULL;
    if (has_room) {
        connect(&connecting, room, other, of_stages);
        *count = of_stages ? connecting.count : direct(other, connecting.pairs, connecting.count);
        *out = of_stages ? connecting.pairs : other;
    }
    ppi_release(host, connecting.taken);
    ppi_release(host, connecting.devices);
    ppi_release(host, room);
    ppi_release(host, has_room && of_stages ? NULL : connecting.pairs);
    ppi_release(host, has_room && !of_stages ? NULL : other);
    return has_room ? PPSCHED_OK : ppi_fail_memory(error, "the connections");
}
