/* SPDX-License-Identifier: Apache-2.0 */
/* All orders for few microbatches; else a random walk that accepts an order if it is worse by less than a threshold, which
 * decreases to 0 (threshold accepting, Dueck and Scheuer 1990). Each order is evaluated in full. */
#include "microbatches/order.h"

#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"
#include "eval/timeline.h"
#include "ir/progress.h"

/* Measured: docs/performance.md. */
enum { MOST_TRIED = 7 }; /* microbatches up to which all orders are tried: at most 5,040 */

static const double VISITS = 250e3;         /* of ops, at effort 0; doubled by each further effort */
static const double FIRST_THRESHOLD = 0.01; /* share of the objective by which an order may be worse at the start */

/* The objective of an order; less overshoot comes first. */
struct price {
    double overshoot, objective; /* overshoot: memory over the limits, summed over devices */
};

struct ordering {
    const ppsched_schedule *schedule;
    const ppsched_config *config; /* the caller's */
    ppsched_config *made;         /* a copy, with its lists in the order being evaluated */
    ppsched_timeline *timeline;
    struct ppi_poll poll;
    bool by_span;
    uint32_t count;
    uint32_t *order, *best; /* the current order, and the best so far */
    uint32_t *sorted;       /* the longest first */
    struct price price, best_price;
    double visits, most_visits;
    uint64_t random;
};

static bool is_better(const struct price *a, const struct price *b)
{
    return a->overshoot != b->overshoot ? a->overshoot < b->overshoot : a->objective < b->objective;
}

/* --- pricing --- */

static void put_list(ppsched_config *to, const ppsched_config *from, int32_t quantity, const uint32_t *order)
{
    const struct ppi_values *list = &from->values[quantity];
    for (uint32_t j = 0; j < from->shape.microbatches && list->count > 1; j++)
        to->values[quantity].values[j] = list->values[order[j]];
}

void ppi_put_microbatch_order(ppsched_config *to, const ppsched_config *from, const uint32_t *order)
{
    put_list(to, from, PPSCHED_QUANTITY_MICROBATCH_SCALE, order);
    put_list(to, from, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, order);
}

static double excess_of(const ppsched_timeline *timeline)
{
    double overshoot = 0;
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        const ppsched_device_metrics *device = &timeline->devices[d];
        if (ppi_is_over_limit(device->peak_memory, device->memory_limit))
            overshoot += device->peak_memory - device->memory_limit;
    }
    return overshoot;
}

/* Evaluates the current order, and keeps it if it is the best. */
static ppsched_status price(struct ordering *ordering, ppsched_error *error)
{
    const double ops = (double)ordering->schedule->op_count;
    ppi_put_microbatch_order(ordering->made, ordering->config, ordering->order);
    ppsched_status status = ppi_timeline_update(ordering->timeline, ordering->made, error);
    if (status != PPSCHED_OK)
        return status;
    const ppsched_metrics *metrics = &ordering->timeline->metrics;
    ordering->price = (struct price){excess_of(ordering->timeline), ordering->by_span ? metrics->span : metrics->makespan};
    if (is_better(&ordering->price, &ordering->best_price)) {
        ordering->best_price = ordering->price;
        memcpy(ordering->best, ordering->order, ordering->count * sizeof *ordering->best);
        ordering->poll.best = ordering->price.objective;
    }
    ordering->visits += ops;
    ordering->poll.told = ppi_smaller(1, ordering->visits / ordering->most_visits);
    return ppi_poll_spend(&ordering->poll, ops, error);
}

/* --- initial orders --- */

static bool is_longer(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_config *config = context;
    const struct ppi_factor x = ppi_config_factor(config, 0, a, 0), y = ppi_config_factor(config, 0, b, 0);
    return x.time != y.time ? x.time > y.time : x.memory > y.memory;
}

/* Fills the order from both ends inwards, in ascending or descending length. */
static void put_outside_in(struct ordering *ordering, bool longest_first)
{
    const uint32_t count = ordering->count;
    for (uint32_t i = 0; i < count; i++)
        ordering->order[i % 2 == 0 ? i / 2 : count - 1 - i / 2] = ordering->sorted[longest_first ? i : count - 1 - i];
}

static ppsched_status try_beginnings(struct ordering *ordering, ppsched_error *error)
{
    const uint32_t count = ordering->count;
    ppsched_status status = PPSCHED_OK;
    for (int beginning = 0; beginning < 5 && status == PPSCHED_OK; beginning++) {
        for (uint32_t i = 0; i < count; i++)
            ordering->order[i] = beginning == 0 ? i : ordering->sorted[beginning == 1 ? i : count - 1 - i];
        if (beginning > 2)
            put_outside_in(ordering, beginning == 3);
        status = price(ordering, error);
    }
    return status;
}

/* --- all orders --- */

/* The next order in lexicographic order of indices in `sorted`, with equal microbatches as one class; false after the last.
 * `place`: by slot. */
static bool next_order(uint32_t *place, const uint32_t *class_of, uint32_t count)
{
    uint32_t i = count - 1, j = count - 1;
    while (i > 0 && class_of[place[i - 1]] >= class_of[place[i]])
        i--;
    if (i == 0)
        return false;
    while (class_of[place[j]] <= class_of[place[i - 1]])
        j--;
    uint32_t swapped = place[i - 1];
    place[i - 1] = place[j];
    place[j] = swapped;
    for (uint32_t a = i, b = count - 1; a < b; a++, b--) {
        swapped = place[a];
        place[a] = place[b];
        place[b] = swapped;
    }
    return true;
}

static ppsched_status try_all(struct ordering *ordering, ppsched_error *error)
{
    uint32_t place[MOST_TRIED], class_of[MOST_TRIED], classes = 0;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < ordering->count; i++) {
        classes += i > 0 && is_longer(ordering->config, ordering->sorted[i - 1], ordering->sorted[i]);
        class_of[i] = classes;
        place[i] = i;
    }
    do {
        for (uint32_t j = 0; j < ordering->count; j++)
            ordering->order[j] = ordering->sorted[place[j]];
        status = price(ordering, error);
    } while (status == PPSCHED_OK && next_order(place, class_of, ordering->count));
    return status;
}

/* --- the random walk --- */

/* Steele, Lea and Flood 2014: splitmix64. */
static uint32_t random_below(struct ordering *ordering, uint32_t bound)
{
    uint64_t x = ordering->random += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)(((x ^ (x >> 31)) >> 32) * bound >> 32);
}

/* Moves the microbatch of one slot to another; those between shift by one. */
static void move(uint32_t *order, uint32_t from, uint32_t to)
{
    const uint32_t moved = order[from];
    for (; from < to; from++)
        order[from] = order[from + 1];
    for (; from > to; from--)
        order[from] = order[from - 1];
    order[to] = moved;
}

static void swap(uint32_t *order, uint32_t a, uint32_t b)
{
    const uint32_t swapped = order[a];
    order[a] = order[b];
    order[b] = swapped;
}

static bool may_go_on_with(const struct price *next, const struct price *now, double threshold)
{
    return next->overshoot < now->overshoot ||
           (next->overshoot == now->overshoot && next->objective <= now->objective * (1 + threshold));
}

static ppsched_status walk(struct ordering *ordering, ppsched_error *error)
{
    struct price now = ordering->best_price;
    ppsched_status status = PPSCHED_OK;
    memcpy(ordering->order, ordering->best, ordering->count * sizeof *ordering->order);
    while (status == PPSCHED_OK && ordering->visits < ordering->most_visits) {
        const uint32_t a = random_below(ordering, ordering->count), b = random_below(ordering, ordering->count);
        const bool swaps = random_below(ordering, 2) == 0;
        const double left = 1 - ordering->visits / ordering->most_visits;
        if (swaps)
            swap(ordering->order, a, b);
        else
            move(ordering->order, a, b);
        status = price(ordering, error);
        if (status == PPSCHED_OK && may_go_on_with(&ordering->price, &now, FIRST_THRESHOLD * left * left))
            now = ordering->price;
        else if (swaps)
            swap(ordering->order, a, b);
        else
            move(ordering->order, b, a);
    }
    return status;
}

/* --- all of it --- */

static ppsched_status search(struct ordering *ordering, ppsched_error *error)
{
    ppsched_status status = try_beginnings(ordering, error);
    if (status == PPSCHED_OK)
        status = ordering->count <= MOST_TRIED ? try_all(ordering, error) : walk(ordering, error);
    if (status != PPSCHED_OK)
        return status;
    memcpy(ordering->order, ordering->best, ordering->count * sizeof *ordering->order);
    ppi_put_microbatch_order(ordering->made, ordering->config, ordering->order);
    ordering->poll.told = 1;
    return ppi_poll_ask(&ordering->poll, error);
}

/* Orders are in the arena. The caller destroys the config and the timeline, also on failure. */
static ppsched_status make(struct ordering *ordering, struct ppi_arena *arena, ppsched_error *error)
{
    const uint32_t count = ordering->count;
    ordering->order = ppi_arena_take(arena, count, sizeof *ordering->order);
    ordering->best = ppi_arena_take(arena, count, sizeof *ordering->best);
    uint32_t *items = ppi_arena_take(arena, count, sizeof *items), *scratch = ppi_arena_take(arena, count, sizeof *scratch);
    ppsched_status status = ppi_arena_check(arena, "the order of microbatches", error);
    if (status == PPSCHED_OK)
        status = ppi_config_copy(&ordering->made, ordering->config, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&ordering->timeline, ordering->schedule, ordering->config,
                              PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY | PPSCHED_EVALUATE_FLAG_REUSABLE, error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        items[i] = i;
    ordering->sorted = ppi_sort(items, scratch, count, is_longer, ordering->config);
    return PPSCHED_OK;
}

ppsched_status ppi_order_microbatches(ppsched_config **out, uint32_t *order, const ppsched_schedule *schedule,
                                      const ppsched_config *config, const ppsched_order_options *options, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &config->host};
    struct ordering ordering = {.schedule = schedule,
                                .config = config,
                                .poll = ppi_poll_start(config),
                                .by_span = options->objective == PPSCHED_OBJECTIVE_SPAN,
                                .count = config->shape.microbatches,
                                .best_price = {PPI_INFINITE, PPI_INFINITE},
                                .most_visits = VISITS * (double)(1u << options->effort)};
    ppsched_status status = make(&ordering, &arena, error);
    if (status == PPSCHED_OK)
        status = search(&ordering, error);
    if (status == PPSCHED_OK)
        memcpy(order, ordering.best, ordering.count * sizeof *order);
    if (status == PPSCHED_OK)
        *out = ordering.made;
    else
        ppi_config_destroy(ordering.made);
    ppi_timeline_destroy(ordering.timeline);
    ppi_arena_clear(&arena);
    return status;
}
