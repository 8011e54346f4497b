/* SPDX-License-Identifier: Apache-2.0 */
/* The best order of a pair's windows, held against all decisions that there are, over random pairs; and its spans against the
 * rules, one by one. Nothing here is shared with the library. */
#include "support/problem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LISTS = 3, CHANNELS = 4, MOST = 64, PAIRS = 5000, ORDERS = 600 };

/* All windows of a pair in one list, with what each needs. */
struct plain {
    uint32_t count, list_count[LISTS], first[LISTS];
    ppsched_window windows[MOST];
    int list[MOST];
    double slowdown[CHANNELS];
    bool may_wait;
    double best;
};

struct moment {
    double time, left[MOST];
    bool started[MOST], ended[MOST];
};

static uint64_t seed = 20240611;

static uint32_t draw(uint32_t below)
{
    return random_below(&seed, below);
}

/* --- all decisions --- */

static bool may_start(const struct plain *pair, const struct moment *now, uint32_t w)
{
    if (now->started[w] || (w > pair->first[pair->list[w]] && !now->ended[w - 1]))
        return false;
    for (uint32_t b = 0; b < pair->windows[w].after; b++)
        if (!now->ended[pair->first[1] + b])
            return false;
    return true;
}

static void decide(struct plain *pair, const struct moment *now, uint32_t channel);

/* Until the next end, by the rates of all that run. */
static void let_run(struct plain *pair, struct moment now)
{
    uint32_t running = 0;
    double step = INFINITY, slow[MOST];
    for (uint32_t w = 0; w < pair->count; w++)
        running += now.started[w] && !now.ended[w];
    for (uint32_t w = 0; w < pair->count; w++)
        if (now.started[w] && !now.ended[w]) {
            slow[w] = running > 1 ? pair->slowdown[pair->windows[w].channel] : 1;
            step = fmin(step, now.left[w] * slow[w]);
        }
    if (running == 0) {
        for (uint32_t w = 0; w < pair->count; w++)
            if (!now.ended[w])
                return; /* all wait: this is no order */
        pair->best = fmin(pair->best, now.time);
        return;
    }
    now.time += step;
    if (now.time > pair->best + 1e-7)
        return;
    for (uint32_t w = 0; w < pair->count; w++)
        if (now.started[w] && !now.ended[w]) {
            now.left[w] -= step / slow[w];
            now.ended[w] = now.left[w] < 1e-9;
        }
    decide(pair, &now, 0);
}

/* Each way to start one of the windows that are ready for a channel, then the channels after it. */
static void decide(struct plain *pair, const struct moment *now, uint32_t channel)
{
    bool is_busy = false, is_wanted = false;
    if (channel == CHANNELS) {
        let_run(pair, *now);
        return;
    }
    for (uint32_t w = 0; w < pair->count; w++)
        is_busy |= pair->windows[w].channel == channel && now->started[w] && !now->ended[w];
    for (uint32_t w = 0; w < pair->count && !is_busy; w++)
        if (pair->windows[w].channel == channel && may_start(pair, now, w)) {
            struct moment next = *now;
            next.started[w] = true;
            is_wanted = true;
            decide(pair, &next, channel + 1);
        }
    if (!is_wanted || pair->may_wait)
        decide(pair, now, channel + 1);
}

static double try_all(struct plain *pair, bool may_wait)
{
    struct moment start = {.time = 0};
    for (uint32_t w = 0; w < pair->count; w++)
        start.left[w] = pair->windows[w].time;
    pair->may_wait = may_wait;
    pair->best = INFINITY;
    decide(pair, &start, 0);
    return pair->best;
}

/* --- pairs --- */

static double draw_time(void)
{
    return draw(12) == 0 ? 0 : draw(2) == 0 ? 1 + draw(9) : 0.1 * (1 + draw(99));
}

static void draw_pair(struct plain *pair, const uint32_t *counts, uint32_t channels, bool slows)
{
    *pair = (struct plain){.count = 0};
    for (int k = 0; k < LISTS; k++) {
        pair->first[k] = pair->count;
        pair->list_count[k] = counts[k];
        for (uint32_t i = 0; i < counts[k]; i++, pair->count++) {
            uint32_t after = k == 2 ? draw(counts[1] + 1) : 0;
            pair->windows[pair->count] = (ppsched_window){draw_time(), draw(channels), after};
            pair->list[pair->count] = k;
        }
    }
    for (int c = 0; c < CHANNELS; c++)
        pair->slowdown[c] = slows ? 1 + 0.25 * draw(5) : 1;
}

static ppsched_pair_windows windows_of(const struct plain *pair)
{
    ppsched_pair_windows windows = {.size = sizeof windows};
    windows.forward = &pair->windows[pair->first[0]];
    windows.backward = &pair->windows[pair->first[1]];
    windows.weight = &pair->windows[pair->first[2]];
    windows.forward_count = pair->list_count[0];
    windows.backward_count = pair->list_count[1];
    windows.weight_count = pair->list_count[2];
    memcpy(windows.slowdown, pair->slowdown, sizeof windows.slowdown);
    return windows;
}

static void draw_small(struct plain *pair, uint32_t most)
{
    uint32_t counts[LISTS] = {1, 1, 0}, total = 2 + draw(most - 1);
    bool has_weight = draw(2) == 1;
    for (uint32_t i = 2; i < total; i++)
        counts[draw(has_weight ? 3 : 2)]++;
    draw_pair(pair, counts, 1 + draw(CHANNELS), draw(2) == 1);
}

/* --- the rules --- */

static uint32_t index_of(const struct plain *pair, const ppsched_window_span *span)
{
    int list = span->kind == PPSCHED_KIND_F ? 0 : span->kind == PPSCHED_KIND_B ? 1 : 2;
    assert_true(span->index < pair->list_count[list]);
    return pair->first[list] + span->index;
}

/* How much of its work a window does between two moments at which nothing starts or ends in between. */
static double done_between(const struct plain *pair, const ppsched_window_span *by_window, uint32_t w, double from, double to)
{
    double middle = (from + to) / 2;
    bool others = false;
    if (by_window[w].start > middle || by_window[w].end < middle)
        return 0;
    for (uint32_t v = 0; v < pair->count; v++)
        others |= v != w && by_window[v].start < middle && by_window[v].end > middle;
    return (to - from) / (others ? pair->slowdown[pair->windows[w].channel] : 1);
}

static void check_work(const struct plain *pair, const ppsched_window_span *by_window)
{
    double moments[2 * MOST];
    uint32_t count = 0;
    for (uint32_t w = 0; w < pair->count; w++) {
        moments[count++] = by_window[w].start;
        moments[count++] = by_window[w].end;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            if (moments[j] < moments[i]) {
                double swapped = moments[i];
                moments[i] = moments[j];
                moments[j] = swapped;
            }
    for (uint32_t w = 0; w < pair->count; w++) {
        double done = 0;
        for (uint32_t i = 0; i + 1 < count; i++)
            done += done_between(pair, by_window, w, moments[i], moments[i + 1]);
        assert_true(fabs(done - pair->windows[w].time) < 1e-6);
    }
}

static double ready_at(const struct plain *pair, const ppsched_window_span *by_window, uint32_t w)
{
    double ready = w > pair->first[pair->list[w]] ? by_window[w - 1].end : 0;
    for (uint32_t b = 0; b < pair->windows[w].after; b++)
        ready = fmax(ready, by_window[pair->first[1] + b].end);
    return ready;
}

/* No two run on a channel at once, none starts before it is ready, and a channel is busy as long as a window waits for it. */
static void check_starts(const struct plain *pair, const ppsched_window_span *by_window, bool may_wait)
{
    for (uint32_t w = 0; w < pair->count; w++) {
        double ready = ready_at(pair, by_window, w), busy = 0;
        assert_true(by_window[w].start >= ready - 1e-6);
        for (uint32_t v = 0; v < pair->count; v++) {
            if (v == w || pair->windows[v].channel != pair->windows[w].channel)
                continue;
            assert_true(by_window[v].end <= by_window[w].start + 1e-6 || by_window[v].start >= by_window[w].end - 1e-6);
            busy += fmax(0, fmin(by_window[v].end, by_window[w].start) - fmax(by_window[v].start, ready));
        }
        assert_true(may_wait || fabs(busy - (by_window[w].start - ready)) < 1e-6);
    }
}

static void check_spans(const struct plain *pair, const ppsched_window_span *spans, const ppsched_pair_times *times,
                        bool may_wait)
{
    ppsched_window_span by_window[MOST];
    bool seen[MOST] = {false};
    double end = 0;
    for (uint32_t i = 0; i < pair->count; i++) {
        uint32_t w = index_of(pair, &spans[i]);
        assert_true(!seen[w] && (i == 0 || spans[i].start >= spans[i - 1].start));
        seen[w] = true;
        by_window[w] = spans[i];
        end = fmax(end, spans[i].end);
    }
    assert_true(end == times->time);
    assert_true(times->forward_end == by_window[pair->list_count[0] - 1].end);
    assert_true(times->backward_end == by_window[pair->first[1] + pair->list_count[1] - 1].end);
    check_starts(pair, by_window, may_wait);
    check_work(pair, by_window);
}

static ppsched_pair_times find(const struct plain *pair, ppsched_window_span *spans)
{
    const ppsched_pair_windows windows = windows_of(pair);
    ppsched_pair_times times = {.size = sizeof times};
    ppsched_error error;
    expect_ok(ppsched_pair_find_order(spans, MOST, NULL, &times, &windows, NULL, &error), &error);
    double serial = 0;
    for (uint32_t w = 0; w < pair->count; w++)
        serial += pair->windows[w].time;
    assert_true(fabs(serial - times.serial) < 1e-9);
    return times;
}

/* --- the tests --- */

static void test_best_of_all_decisions(void **state)
{
    (void)state;
    uint32_t with_choice = 0;
    for (int i = 0; i < PAIRS; i++) {
        struct plain pair;
        ppsched_window_span spans[MOST];
        draw_small(&pair, 10);
        ppsched_pair_times times = find(&pair, spans);
        double best = try_all(&pair, false);
        assert_true(fabs(times.time - best) < 1e-6 && times.is_best == 1 && times.bound == times.time);
        check_spans(&pair, spans, &times, false);
        with_choice += times.time < times.serial;
    }
    assert_true(with_choice > PAIRS / 2);
}

/* The order in which the library's windows start, as a list of kinds. */
static ppsched_pair_times run_given(const struct plain *pair, const int32_t *kinds, ppsched_window_span *spans)
{
    const ppsched_pair_windows windows = windows_of(pair);
    ppsched_pair_times times = {.size = sizeof times};
    ppsched_error error;
    expect_ok(ppsched_pair_run_order(spans, MOST, NULL, &times, &windows, kinds, pair->count, NULL, &error), &error);
    return times;
}

/* A random order that has windows after those that they need. */
static void draw_order(const struct plain *pair, int32_t *kinds)
{
    static const int32_t kind[LISTS] = {PPSCHED_KIND_F, PPSCHED_KIND_B, PPSCHED_KIND_W};
    uint32_t next[LISTS] = {0};
    for (uint32_t i = 0; i < pair->count;) {
        uint32_t k = draw(LISTS);
        if (next[k] == pair->list_count[k] || pair->windows[pair->first[k] + next[k]].after > next[1])
            continue;
        next[k]++;
        kinds[i++] = kind[k];
    }
}

/* Any order is no shorter than the best of those that may wait; and that is no shorter than the bound. */
static void test_given_orders(void **state)
{
    (void)state;
    uint32_t shorter = 0;
    for (int i = 0; i < ORDERS; i++) {
        struct plain pair;
        ppsched_window_span spans[MOST];
        int32_t kinds[MOST];
        draw_small(&pair, 7);
        double best = try_all(&pair, true), found = find(&pair, spans).time;
        for (uint32_t w = 0; w < pair.count; w++)
            kinds[w] = spans[w].kind;
        for (int round = 0; round < 20; round++) {
            ppsched_pair_times times = run_given(&pair, kinds, spans);
            assert_true(times.time >= best - 1e-6 && times.bound <= best + 1e-6 && times.bound <= times.time);
            check_spans(&pair, spans, &times, true);
            shorter += times.time < found - 1e-6;
            draw_order(&pair, kinds);
        }
    }
    assert_true(shorter > 0); /* waiting may pay */
}

/* The windows of longer pairs obey the rules too, and the bound is one; two lists are always exact. */
static void test_longer_pairs(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct plain pair;
        ppsched_window_span spans[MOST];
        const uint32_t counts[LISTS] = {5 + draw(16), 5 + draw(16), i % 2 == 0 ? 0 : 4 + draw(16)};
        draw_pair(&pair, counts, 1 + draw(CHANNELS), draw(2) == 1);
        ppsched_pair_times times = find(&pair, spans);
        check_spans(&pair, spans, &times, false);
        assert_true(times.bound <= times.time && (times.is_best == 1) == (times.bound == times.time));
        assert_true(times.is_best == 1 || pair.count > PPSCHED_EXACT_WINDOWS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_of_all_decisions),
        cmocka_unit_test(test_given_orders),
        cmocka_unit_test(test_longer_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
