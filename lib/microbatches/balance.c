/* SPDX-License-Identifier: Apache-2.0 */
/* Longest first to the replica with the least load (Graham 1969), then moves and swaps with the replica with the largest load,
 * then for few microbatches branch and bound in the same order. */
#include "microbatches/balance.h"

#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/sort.h"

/* Measured: docs/performance.md. */
enum { MOST_TRIED = 24 /* microbatches up to which branch and bound runs */ };

static const double MOST_STEPS = 2e6; /* bounds the work of each part; past it the best so far is the result */
static const double TIE = 1e-12;      /* sums that differ by less than this share are equal */

struct sharing {
    const double *costs; /* the largest first */
    uint32_t count, replicas;
    bool even; /* each has `least` microbatches, and `longer` replicas have one more */
    uint32_t least, longer, longer_now;
    double *before; /* sums of the costs before each, then of all */
    double *sum;    /* of each replica */
    uint32_t *held; /* number of microbatches of each replica */
    uint32_t *replica, *best_replica;
    double best, bound, steps;
};

/* --- counts --- */

/* Whether a replica may get another microbatch. */
static bool has_room(const struct sharing *sharing, uint32_t r)
{
    if (!sharing->even || sharing->held[r] < sharing->least)
        return true;
    return sharing->held[r] == sharing->least && sharing->longer_now < sharing->longer;
}

static void put(struct sharing *sharing, uint32_t item, uint32_t r)
{
    sharing->replica[item] = r;
    sharing->sum[r] += sharing->costs[item];
    sharing->longer_now += sharing->held[r]++ == sharing->least;
}

/* Removes an item; the sum is given, as adding and subtracting round. */
static void take(struct sharing *sharing, uint32_t r, double sum)
{
    sharing->sum[r] = sum;
    sharing->longer_now -= --sharing->held[r] == sharing->least;
}

/* --- bounds --- */

/* Lower bound: the largest of the mean; the largest cost; of the first kR + 1 items some replica has k + 1, so at least the k +
 * 1 smallest of them; with even counts the largest item plus as many of the smallest as its replica needs. */
static double find_bound(const struct sharing *sharing)
{
    const size_t n = sharing->count, replicas = sharing->replicas;
    const double *before = sharing->before;
    double bound = ppi_larger(sharing->costs[0], before[n] / (double)replicas);
    for (size_t k = 1; k * replicas < n; k++)
        bound = ppi_larger(bound, before[k * replicas + 1] - before[k * replicas - k]);
    if (sharing->even && sharing->least > 1)
        bound = ppi_larger(bound, sharing->costs[0] + before[n] - before[n - sharing->least + 1]);
    return bound * (1 - TIE); /* differences of sums are rounded */
}

/* --- the first shares --- */

static uint32_t fullest(const struct sharing *sharing)
{
    uint32_t most = 0;
    for (uint32_t r = 1; r < sharing->replicas; r++)
        if (sharing->sum[r] > sharing->sum[most])
            most = r;
    return most;
}

/* A replica that is full stays full, so it is dropped from the heap. */
static void share_longest_first(struct sharing *sharing, struct ppi_heap *least)
{
    struct ppi_event next;
    for (uint32_t r = 0; r < sharing->replicas; r++)
        ppi_heap_put(least, 0, 0, r);
    for (uint32_t i = 0; i < sharing->count; i++) {
        do
            ppi_heap_take(least, &next);
        while (!has_room(sharing, next.index));
        put(sharing, i, next.index);
        ppi_heap_put(least, sharing->sum[next.index], 0, next.index);
    }
}

/* --- moves and swaps --- */

/* The exchange with the fullest replica after which the larger of both sums is smallest. */
struct exchange {
    uint32_t out, in; /* items; `in` PPSCHED_NONE: a move, without a return */
    uint32_t to;
    double most;
};

static void offer(const struct sharing *sharing, struct exchange *best, uint32_t from, uint32_t out, uint32_t in, uint32_t to)
{
    double moved = sharing->costs[out] - (in != PPSCHED_NONE ? sharing->costs[in] : 0);
    double most = ppi_larger(sharing->sum[from] - moved, sharing->sum[to] + moved);
    if (most < best->most * (1 - TIE))
        *best = (struct exchange){out, in, to, most};
}

static bool may_move(const struct sharing *sharing, uint32_t from, uint32_t to)
{
    return !sharing->even || (sharing->held[from] > sharing->least && sharing->held[to] == sharing->least);
}

static struct exchange find_exchange(struct sharing *sharing, uint32_t from)
{
    struct exchange best = {PPSCHED_NONE, PPSCHED_NONE, 0, sharing->sum[from]};
    for (uint32_t i = 0; i < sharing->count && sharing->steps < MOST_STEPS; i++) {
        if (sharing->replica[i] != from)
            continue;
        sharing->steps += sharing->count + sharing->replicas;
        for (uint32_t r = 0; r < sharing->replicas; r++)
            if (r != from && may_move(sharing, from, r))
                offer(sharing, &best, from, i, PPSCHED_NONE, r);
        for (uint32_t j = 0; j < sharing->count; j++)
            if (sharing->replica[j] != from)
                offer(sharing, &best, from, i, j, sharing->replica[j]);
    }
    return best;
}

static void exchange(struct sharing *sharing, uint32_t from, const struct exchange *found)
{
    take(sharing, from, sharing->sum[from] - sharing->costs[found->out]);
    if (found->in != PPSCHED_NONE) {
        take(sharing, found->to, sharing->sum[found->to] - sharing->costs[found->in]);
        put(sharing, found->in, from);
    }
    put(sharing, found->out, found->to);
}

static void improve(struct sharing *sharing)
{
    while (sharing->steps < MOST_STEPS) {
        const uint32_t from = fullest(sharing);
        const struct exchange found = find_exchange(sharing, from);
        if (found.out == PPSCHED_NONE)
            return;
        exchange(sharing, from, &found);
    }
}

/* --- branch and bound --- */

static void keep(struct sharing *sharing, double most)
{
    sharing->best = most;
    memcpy(sharing->best_replica, sharing->replica, sharing->count * sizeof *sharing->replica);
}

/* Tries all replicas for the items from `item` on; `most` is the largest sum so far. Of identical replicas only the first is
 * tried. */
static void try_from(struct sharing *sharing, uint32_t item, double most)
{
    if (item == sharing->count)
        keep(sharing, most);
    for (uint32_t r = 0; r < sharing->replicas && item < sharing->count; r++) {
        const double sum = sharing->sum[r], next = ppi_larger(most, sum + sharing->costs[item]);
        bool is_new = true;
        for (uint32_t q = 0; q < r; q++)
            is_new = is_new && (sharing->sum[q] != sum || sharing->held[q] != sharing->held[r]);
        if (!is_new || !has_room(sharing, r) || next >= sharing->best * (1 - TIE) || ++sharing->steps > MOST_STEPS)
            continue;
        put(sharing, item, r);
        try_from(sharing, item + 1, next);
        take(sharing, r, sum);
    }
}

/* Whether the search was complete, so that the best is optimal. */
static bool try_all(struct sharing *sharing)
{
    sharing->steps = 0;
    memset(sharing->sum, 0, sharing->replicas * sizeof *sharing->sum);
    memset(sharing->held, 0, sharing->replicas * sizeof *sharing->held);
    sharing->longer_now = 0;
    try_from(sharing, 0, 0);
    return sharing->steps <= MOST_STEPS;
}

/* --- all of it --- */

static ppsched_status check(const double *costs, size_t count, int64_t replicas, ppsched_error *error)
{
    double sum = 0;
    if (replicas < 1 || (uint64_t)replicas > count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "%zu microbatch%p cannot be divided among %lld replica%p; each needs at least one", count,
                        (long long)replicas);
    if (count > PPSCHED_MAX_CELLS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there are %zu microbatch%p; there may be %d", count, PPSCHED_MAX_CELLS);
    for (size_t i = 0; i < count; i++) {
        if (!(costs[i] >= 0))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "the cost of microbatch %zu is %g; it must be at least 0", i, costs[i]);
        sum += costs[i];
    }
    return ppi_is_finite(sum) ? PPSCHED_OK
                              : ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of the costs is too large for a double");
}

static bool costs_more(const void *context, uint32_t a, uint32_t b)
{
    const double *costs = context;
    return costs[a] > costs[b];
}

static ppsched_status make_room(struct sharing *sharing, struct ppi_arena *arena, double **sorted, uint32_t **items,
                                struct ppi_heap *heap, ppsched_error *error)
{
    *sorted = ppi_arena_take(arena, sharing->count, sizeof **sorted);
    *items = ppi_arena_take(arena, sharing->count, 2 * sizeof **items);
    heap->events = ppi_arena_take(arena, sharing->replicas, sizeof *heap->events);
    sharing->before = ppi_arena_take_zeroed(arena, (size_t)sharing->count + 1, sizeof *sharing->before);
    sharing->sum = ppi_arena_take_zeroed(arena, sharing->replicas, sizeof *sharing->sum);
    sharing->held = ppi_arena_take_zeroed(arena, sharing->replicas, sizeof *sharing->held);
    sharing->replica = ppi_arena_take(arena, sharing->count, sizeof *sharing->replica);
    sharing->best_replica = ppi_arena_take(arena, sharing->count, sizeof *sharing->best_replica);
    return ppi_arena_check(arena, "the shares", error);
}

ppsched_status ppi_share_out(ppsched_balance *out, uint32_t *replica, const double *costs, size_t count, int64_t replicas,
                             bool even_counts, const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_arena arena = {.host = host};
    struct sharing sharing = {.count = (uint32_t)count, .replicas = (uint32_t)replicas, .even = even_counts};
    double *sorted = NULL;
    uint32_t *items = NULL;
    struct ppi_heap heap = {0};
    ppsched_status status = check(costs, count, replicas, error);
    if (status == PPSCHED_OK)
        status = make_room(&sharing, &arena, &sorted, &items, &heap, error);
    if (status != PPSCHED_OK) {
        ppi_arena_clear(&arena);
        return status;
    }
    for (uint32_t i = 0; i < count; i++)
        items[i] = i;
    items = ppi_sort(items, items + count, count, costs_more, costs);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = costs[items[i]];
        sharing.before[i + 1] = sharing.before[i] + sorted[i];
    }
    sharing.costs = sorted;
    sharing.least = (uint32_t)count / sharing.replicas;
    sharing.longer = (uint32_t)count % sharing.replicas;
    sharing.bound = find_bound(&sharing);
    share_longest_first(&sharing, &heap);
    improve(&sharing);
    keep(&sharing, sharing.sum[fullest(&sharing)]);
    bool is_best = sharing.best <= sharing.bound * (1 + 4 * TIE) || (count <= MOST_TRIED && try_all(&sharing));
    for (uint32_t i = 0; i < count; i++)
        replica[items[i]] = sharing.best_replica[i];
    *out = (ppsched_balance){.size = sizeof *out, .is_best = is_best, .most = sharing.best, .bound = sharing.bound};
    if (is_best && count <= MOST_TRIED)
        out->bound = out->most;
    ppi_arena_clear(&arena);
    return PPSCHED_OK;
}
