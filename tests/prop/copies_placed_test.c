/* SPDX-License-Identifier: Apache-2.0 */
/* Where ppsched_schedule_offload puts copies without a limit, found anew as docs/keeping.md says it, over uneven problems:
 * the last reloads first, each as late as it is done in time, those that do not fit left out; and waits where they lower peaks
 * and cost no time. In schedules that are too long, or with a lead, so that no lower peaks are searched for. */
#include "support/no_worse.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, MOST_TRIPS = 2000, SEARCHED = 1 << 10 };

/* A stage pass that may go to the host: the positions of its F's and its backward's units, and times. */
struct transfer {
    ppsched_op op;
    uint32_t device, link;
    size_t forward, backward, place; /* `place`: of the unit before which the RELOAD stands */
    double ready, due, offload, reload, moved, start;
    bool goes;
};

struct problem {
    ppsched_config *config;
    ppsched_schedule *plain;
    ppsched_timeline *timeline;
    ppsched_offload_options options;
    struct transfer transfers[MOST_TRIPS];
    size_t count;
};

static const ppsched_op *ops_of(const ppsched_schedule *schedule, uint32_t d, size_t *count)
{
    return ppsched_queue_ops(ppsched_schedule_queue(schedule, d), count);
}

static bool is_of_pass(const ppsched_op *op, const ppsched_op *other)
{
    return op->stage == other->stage && op->microbatch == other->microbatch;
}

static bool is_backward(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
}

static size_t unit_of(const ppsched_op *ops, size_t i)
{
    return i > 0 && ops[i - 1].flags != 0 ? i - 1 : i;
}

static size_t length_of(const ppsched_op *unit)
{
    return unit->flags != 0 ? 2 : 1;
}

/* --- what may go --- */

static double factor_of(const struct problem *p, const ppsched_op *op)
{
    return value_at(p->config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, op->microbatch, 1);
}

static void add_transfer(struct problem *p, uint32_t d, const ppsched_op *ops, size_t f, size_t b)
{
    const ppsched_span *spans = ppsched_timeline_spans(p->timeline, d, NULL);
    double factor = factor_of(p, &ops[f]),
           bytes = value_at(p->config, PPSCHED_QUANTITY_OFFLOAD_BYTES, ops[f].stage, 0) * factor;
    double copy = bytes / value_at(p->config, PPSCHED_QUANTITY_HOST_BANDWIDTH, d, 1) +
                  value_at(p->config, PPSCHED_QUANTITY_HOST_LATENCY, d, 0);
    assert_true(p->count < MOST_TRIPS);
    p->transfers[p->count++] = (struct transfer){.op = ops[f],
                                                 .device = d,
                                                 .link = (uint32_t)value_at(p->config, PPSCHED_QUANTITY_HOST_LINK, d, d),
                                                 .forward = unit_of(ops, f),
                                                 .backward = unit_of(ops, b),
                                                 .ready = spans[f].end,
                                                 .due = spans[b].start,
                                                 .offload = copy,
                                                 .reload = copy,
                                                 .moved = value_at(p->config, PPSCHED_QUANTITY_MEM_OFFLOAD, ops[f].stage, 0) *
                                                          factor,
                                                 .goes = true};
}

/* Passes of so many stages of each device that are not recomputed. */
static void list_transfers(struct problem *p)
{
    uint32_t chunks = p->options.chunks, devices = ppsched_config_devices(p->config);
    p->count = 0;
    for (uint32_t d = 0; d < devices; d++) {
        size_t count;
        const ppsched_op *ops = ops_of(p->plain, d, &count);
        for (size_t f = 0; f < count; f++) {
            bool recomputes = false;
            size_t b = f;
            if (ops[f].kind != PPSCHED_KIND_F || (chunks > 0 && ops[f].stage / devices >= chunks))
                continue;
            for (; !is_backward(&ops[b]) || !is_of_pass(&ops[b], &ops[f]); b++)
                recomputes = recomputes || (ops[b].kind == PPSCHED_KIND_RECOMPUTE && is_of_pass(&ops[b], &ops[f]));
            if (!recomputes)
                add_transfer(p, d, ops, f, b);
        }
    }
}

/* --- the rules --- */

static int by_life(const void *a, const void *b)
{
    const struct transfer *one = a, *two = b;
    double own = one->due - one->ready, other = two->due - two->ready;
    return own > other ? -1 : own < other;
}

static int by_due(const void *a, const void *b)
{
    const struct transfer *one = a, *two = b;
    return one->due > two->due ? -1 : one->due < two->due;
}

static int by_ready(const void *a, const void *b)
{
    const struct transfer *one = a, *two = b;
    return one->ready < two->ready ? -1 : one->ready > two->ready;
}

static int by_start(const void *a, const void *b)
{
    const struct transfer *one = a, *two = b;
    return one->start < two->start ? -1 : one->start > two->start;
}

/* Of each device the longest lived alone, as far as they are at most that share of what all would move. */
static void take_share(struct problem *p)
{
    double whole[DEVICES] = {0}, moved[DEVICES] = {0};
    if (p->options.share == 0)
        return;
    qsort(p->transfers, p->count, sizeof *p->transfers, by_life);
    for (size_t i = 0; i < p->count; i++)
        whole[p->transfers[i].device] += p->transfers[i].moved;
    for (size_t i = 0; i < p->count; i++) {
        moved[p->transfers[i].device] += p->transfers[i].moved;
        p->transfers[i].goes = moved[p->transfers[i].device] <= p->options.share * whole[p->transfers[i].device];
    }
}

/* With a lead before the op so many ops before its backward; else as late as it is done in time, and before the next one. */
static void place_reload(const struct problem *p, struct transfer *transfer, double *free)
{
    const ppsched_span *spans = ppsched_timeline_spans(p->timeline, transfer->device, NULL);
    size_t lead = p->options.prefetch_distance;
    if (lead > 0 && transfer->backward - transfer->forward <= lead) {
        transfer->goes = false;
        return;
    }
    transfer->start = lead > 0 ? spans[transfer->backward - lead].start
                               : fmin(transfer->due, free[transfer->link]) - transfer->reload;
    transfer->goes = transfer->start >= transfer->ready + transfer->offload;
    if (transfer->goes)
        free[transfer->link] = transfer->start;
}

static void place(struct problem *p)
{
    double back[DEVICES], out[DEVICES] = {0};
    for (uint32_t d = 0; d < DEVICES; d++)
        back[d] = INFINITY;
    take_share(p);
    qsort(p->transfers, p->count, sizeof *p->transfers, by_due);
    for (size_t i = 0; i < p->count; i++)
        if (p->transfers[i].goes)
            place_reload(p, &p->transfers[i], back);
    qsort(p->transfers, p->count, sizeof *p->transfers, by_ready);
    for (size_t i = 0; i < p->count; i++) {
        struct transfer *transfer = &p->transfers[i];
        double end = fmax(transfer->ready, out[transfer->link]) + transfer->offload;
        transfer->goes = transfer->goes && end <= transfer->start;
        if (transfer->goes)
            out[transfer->link] = end;
    }
    qsort(p->transfers, p->count, sizeof *p->transfers, by_start);
}

/* --- schedules --- */

static ppsched_builder *builder_for(const struct problem *p)
{
    ppsched_builder *builder = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, p->config, &error), &error);
    expect_ok(ppsched_builder_set_flushes(builder, ppsched_schedule_flushes(p->plain), &error), &error);
    return builder;
}

static ppsched_schedule *finish(ppsched_builder *builder)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

static void put(ppsched_builder *builder, uint32_t d, const ppsched_op *ops, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_builder_append(builder, d, ops, count, &error), &error);
}

static void put_kind(ppsched_builder *builder, uint32_t d, const ppsched_op *pass, uint8_t kind)
{
    const ppsched_op op = {.microbatch = pass->microbatch, .stage = pass->stage, .slice = pass->slice, .kind = kind};
    put(builder, d, &op, 1);
}

/* The op before which a RELOAD stands: the device comes to it no later than its copy is to start. */
static size_t place_of(const struct problem *p, const struct transfer *transfer)
{
    size_t count, place = 0;
    const ppsched_op *ops = ops_of(p->plain, transfer->device, &count);
    const ppsched_span *spans = ppsched_timeline_spans(p->timeline, transfer->device, NULL);
    for (size_t i = 0; i < count && spans[i].end <= transfer->start; i += length_of(&ops[i]))
        place = i + length_of(&ops[i]);
    return place;
}

static ppsched_schedule *expected(struct problem *p)
{
    for (size_t k = 0; k < p->count; k++)
        p->transfers[k].place = p->transfers[k].goes ? place_of(p, &p->transfers[k]) : 0;
    ppsched_builder *builder = builder_for(p);
    for (uint32_t d = 0; d < ppsched_config_devices(p->config); d++) {
        size_t count;
        const ppsched_op *ops = ops_of(p->plain, d, &count);
        for (size_t i = 0; i < count; i += length_of(&ops[i])) {
            for (size_t k = 0; k < p->count; k++)
                if (p->transfers[k].goes && p->transfers[k].device == d && p->transfers[k].place == i)
                    put_kind(builder, d, &p->transfers[k].op, PPSCHED_KIND_RELOAD);
            put(builder, d, &ops[i], length_of(&ops[i]));
            for (size_t k = 0; k < p->count; k++)
                if (p->transfers[k].goes && p->transfers[k].device == d && p->transfers[k].forward == i)
                    put_kind(builder, d, &p->transfers[k].op, PPSCHED_KIND_OFFLOAD);
        }
    }
    return finish(builder);
}

/* Without waits, or with all that there can be on the devices of a mask: before each F, RELOAD and RECOMPUTE for all that has
 * been offloaded and is not on its way back. */
static ppsched_schedule *with_waits(const struct problem *p, const ppsched_schedule *schedule, uint32_t mask, bool keeps_others)
{
    ppsched_builder *builder = builder_for(p);
    for (uint32_t d = 0; d < ppsched_config_devices(p->config); d++) {
        size_t count, last = 0, waited = 0; /* behind the last OFFLOAD that may be waited for; and up to where that is done */
        bool is_full = (mask >> d & 1) != 0;
        const ppsched_op *ops = ops_of(schedule, d, &count);
        for (size_t i = 0; i < count; i++) {
            bool rises = ops[i].kind == PPSCHED_KIND_F || ops[i].kind == PPSCHED_KIND_RECOMPUTE;
            for (size_t k = 0; k < waited && ops[i].kind == PPSCHED_KIND_RELOAD; k++)
                rises = rises || (ops[k].kind == PPSCHED_KIND_OFFLOAD && is_of_pass(&ops[k], &ops[i]));
            for (size_t k = waited; k < i && is_full && rises; k++) {
                bool is_back = false;
                for (size_t j = k; j < i && ops[k].kind == PPSCHED_KIND_OFFLOAD; j++)
                    is_back = is_back || (ops[j].kind == PPSCHED_KIND_RELOAD && is_of_pass(&ops[j], &ops[k]));
                last = ops[k].kind == PPSCHED_KIND_OFFLOAD && !is_back ? k + 1 : last;
            }
            if (is_full && rises && unit_of(ops, i) == i && last > waited)
                put_kind(builder, d, &ops[last - 1], PPSCHED_KIND_OFFLOAD_WAIT);
            waited = is_full && rises ? i : waited;
            if (ops[i].kind != PPSCHED_KIND_OFFLOAD_WAIT || (keeps_others && !is_full)) {
                put(builder, d, &ops[i], length_of(&ops[i]));
                i += length_of(&ops[i]) - 1;
            }
        }
    }
    return finish(builder);
}

static void expect_equal(const ppsched_schedule *own, const ppsched_schedule *other)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(own); d++) {
        char *text = queue_text(own, d), *others = queue_text(other, d);
        assert_string_equal(text, others);
        free(others);
        free(text);
    }
}

/* --- figures --- */

struct figures {
    double step, sum, peaks[DEVICES];
};

static struct figures figures_of(const struct problem *p, const ppsched_schedule *schedule)
{
    ppsched_timeline *timeline = make_timeline(schedule, p->config);
    struct figures figures = {.step = metrics_of(timeline).makespan};
    for (uint32_t d = 0; d < ppsched_config_devices(p->config); d++) {
        figures.peaks[d] = device_metrics_of(timeline, d).peak_memory;
        figures.sum += figures.peaks[d];
    }
    ppsched_timeline_destroy(timeline);
    return figures;
}

static struct figures with_all_waits(const struct problem *p, const ppsched_schedule *schedule, uint32_t mask)
{
    ppsched_schedule *waiting = with_waits(p, schedule, mask, true);
    struct figures figures = figures_of(p, waiting);
    ppsched_schedule_release(waiting);
    return figures;
}

static struct {
    uint32_t problems, by_rule, all_wait, some_wait, waits_cost;
} seen;

/* They cost no time; and more of them on any device, or on all, would, or lower no peak. */
static void expect_waits(const struct problem *p, const ppsched_schedule *schedule, const ppsched_schedule *bare)
{
    uint32_t devices = ppsched_config_devices(p->config);
    struct figures own = figures_of(p, schedule), placed = figures_of(p, bare), all = with_all_waits(p, bare, UINT32_MAX);
    assert_true(own.step <= placed.step && own.sum <= placed.sum);
    if (all.step <= placed.step) {
        assert_true(own.sum <= all.sum * (1 + 1e-12));
        seen.all_wait++;
        return;
    }
    seen.some_wait += own.sum < placed.sum;
    for (uint32_t d = 0; d < devices; d++) {
        struct figures more = with_all_waits(p, schedule, 1u << d);
        assert_true(more.step > own.step || more.peaks[d] >= own.peaks[d] * (1 - 1e-12));
        seen.waits_cost += more.step > own.step;
    }
}

/* --- problems --- */

enum form { LONG, LEAD, SEARCH };

static ppsched_schedule *make_plain(const struct problem *p, uint32_t chunks, uint32_t number, bool has_pairs)
{
    static const char *const rules[2][5] = {
        {"1f1b", "gpipe", "zb_h1", "1f1b", "1f1b_overlap"},
        {"interleaved_1f1b", "gis", "interleaved_zb", "looped_bfs", "interleaved_1f1b_overlap"}};
    const ppsched_recompute_options options = {.size = sizeof options, .chunks = 1};
    ppsched_schedule *plain = make_schedule(p->config, rules[chunks > 1][number % (has_pairs ? 5 : 4)]), *recomputed = NULL;
    ppsched_error error;
    if (number % 7 < 6)
        return plain;
    expect_ok(ppsched_schedule_recompute(&recomputed, plain, &options, &error), &error);
    ppsched_schedule_release(plain);
    return recomputed;
}

static void draw(struct problem *p, uint64_t *seed, uint32_t number, enum form form)
{
    uint32_t devices = 2 + random_below(seed, DEVICES - 1), chunks = 1 + random_below(seed, 3);
    uint32_t rounds = form == LONG ? SEARCHED / (2 * devices * devices * chunks) + 1 : 1 + random_below(seed, 3);
    const struct uneven sizes = {devices, chunks, devices * rounds, 1, random_next(seed)};
    double links[DEVICES];
    ppsched_error error;
    p->config = make_uneven(&sizes);
    add_uneven(p->config, UNEVEN_COPIES | (number % 3 == 0 ? UNEVEN_MICRO_SLICES : 0), seed);
    for (uint32_t d = 0; d < devices; d++)
        links[d] = number % 4 < 1 ? d : random_below(seed, devices);
    expect_ok(ppsched_config_set_values(p->config, PPSCHED_QUANTITY_HOST_LINK, links, devices, &error), &error);
    set_uneven(p->config, PPSCHED_QUANTITY_HOST_BANDWIDTH, devices, 0.5 + random_below(seed, 6), seed);
    p->plain = make_plain(p, chunks, number, form == LONG);
    p->timeline = make_timeline(p->plain, p->config);
    p->options = (ppsched_offload_options){.size = sizeof p->options,
                                           .chunks = random_below(seed, 3),
                                           .share = random_below(seed, 3) == 0 ? (1 + random_below(seed, 7)) / 8.0 : 0,
                                           .prefetch_distance = form == LEAD ? 1 + random_below(seed, 6) : 0};
}

static void clear(struct problem *p)
{
    ppsched_timeline_destroy(p->timeline);
    ppsched_schedule_release(p->plain);
    ppsched_config_destroy(p->config);
}

static bool is_longer(const struct problem *p, double step)
{
    return step > metrics_of(p->timeline).makespan * (1 + 1e-12);
}

/* What the pass makes; `*bare`: without its waits; `*own`: by the rules. */
static ppsched_schedule *offload(struct problem *p, ppsched_schedule **bare, ppsched_schedule **own)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_offload(&schedule, p->plain, p->config, &p->options, &error), &error);
    list_transfers(p);
    place(p);
    *bare = with_waits(p, schedule, 0, false);
    *own = expected(p);
    return schedule;
}

static void test_places_and_waits(void **state)
{
    static struct problem p;
    uint64_t seed = 31;
    (void)state;
    for (uint32_t i = 0; i < ROUNDS(120); i++) {
        ppsched_schedule *bare, *own;
        draw(&p, &seed, i, i % 2 == 0 ? LONG : LEAD);
        ppsched_schedule *schedule = offload(&p, &bare, &own);
        double by_rule = figures_of(&p, own).step;
        bool is_by_rule = p.options.prefetch_distance > 0 || !is_longer(&p, by_rule); /* else reloads are tried earlier */
        if (is_by_rule)
            expect_equal(bare, own);
        assert_true(figures_of(&p, bare).step <= by_rule);
        expect_waits(&p, schedule, bare);
        seen.problems++;
        seen.by_rule += is_by_rule;
        ppsched_schedule_release(own);
        ppsched_schedule_release(bare);
        ppsched_schedule_release(schedule);
        clear(&p);
    }
    print_message("# %u problems, %u with all reloads as late as they hide; all waits cost nothing in %u, some in %u others; "
                  "%u times more would cost\n",
                  seen.problems, seen.by_rule, seen.all_wait, seen.some_wait, seen.waits_cost);
    assert_true(ROUND_SHARE > 1 || (seen.by_rule > 100 && seen.by_rule < seen.problems && seen.all_wait > 12 &&
                                    seen.some_wait > 8 && seen.waits_cost > 100));
}

static int32_t count_call(void *user, const ppsched_progress *progress)
{
    (void)progress;
    ++*(uint32_t *)user;
    return 0;
}

/* Lower peaks are looked for: never higher ones than by the rules with all waits, if these cost nothing. */
static void test_lower_peaks(void **state)
{
    static struct problem p;
    uint64_t seed = 32;
    struct found found = {0};
    (void)state;
    for (uint32_t i = 0; i < ROUNDS(120); i++) {
        ppsched_schedule *bare, *own;
        uint32_t calls = 0;
        ppsched_error error;
        draw(&p, &seed, i, SEARCH);
        expect_ok(ppsched_config_set_progress(p.config, count_call, &calls, &error), &error);
        ppsched_schedule *schedule = offload(&p, &bare, &own);
        expect_ok(ppsched_config_set_progress(p.config, NULL, NULL, &error), &error);
        struct figures plain = figures_of(&p, p.plain), by_rule = figures_of(&p, own), figures = figures_of(&p, schedule);
        struct figures all = with_all_waits(&p, own, UINT32_MAX);
        assert_true(figures.step <= by_rule.step);
        assert_true(all.step > by_rule.step || is_longer(&p, by_rule.step) || figures.sum <= all.sum * (1 + 1e-12));
        assert_true(calls <= 2 + (1 << 17) / ppsched_schedule_op_count(p.plain));
        found.held += !is_longer(&p, figures.step);
        found.evaluations += calls;
        found.steps += figures.sum / plain.sum;
        ppsched_schedule_release(own);
        ppsched_schedule_release(bare);
        ppsched_schedule_release(schedule);
        clear(&p);
    }
    if (ROUNDS(120) == 120)
        expect_no_worse(&found, &(struct found){120, 3336, 104.78691669424275});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places_and_waits), cmocka_unit_test(test_lower_peaks)};
    return cmocka_run_group_tests_name("copies_placed", tests, NULL, NULL);
}
