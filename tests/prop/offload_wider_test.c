/* SPDX-License-Identifier: Apache-2.0 */
/* What keep.h says of copies until a limit, over uneven problems whose devices have limits of their own or share one: these are
 * held; limits that are an activation of each device wider never give a longer step; and steps are seldom longer than with all
 * copies of so many stages. */
#include "support/no_worse.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdbool.h>

enum { DEVICES = 4, CHUNKS = 3, PROBLEMS = ROUNDS(48) };

struct problem {
    uint32_t devices, chunks;
    ppsched_config *config;
    ppsched_schedule *plain;
    double limits[DEVICES], units[DEVICES]; /* an activation, the largest that a device's copies move */
    double step, peaks[DEVICES];            /* without copies */
    uint32_t calls;
};

static int32_t count_call(void *user, const ppsched_progress *progress)
{
    (void)progress;
    ++*(uint32_t *)user;
    return 0;
}

/* The step, infinite where that is refused or over a limit. */
static double step_of(const struct problem *p, uint32_t chunks, bool until_limit)
{
    const ppsched_offload_options options = {.size = sizeof options, .chunks = chunks, .until_limit = until_limit};
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    ppsched_status status = ppsched_schedule_offload(&schedule, p->plain, p->config, &options, &error);
    if (status == PPSCHED_ERROR_REFUSED && until_limit)
        return INFINITY;
    expect_ok(status, &error);
    ppsched_timeline *timeline = make_timeline(schedule, p->config);
    bool is_over = metrics_of(timeline).limit_device != PPSCHED_NONE;
    double step = is_over ? INFINITY : metrics_of(timeline).makespan;
    assert_false(until_limit && is_over);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return step;
}

static void measure(struct problem *p)
{
    ppsched_timeline *timeline = make_timeline(p->plain, p->config);
    p->step = metrics_of(timeline).makespan;
    for (uint32_t d = 0; d < p->devices; d++)
        p->peaks[d] = device_metrics_of(timeline, d).peak_memory;
    ppsched_timeline_destroy(timeline);
}

/* Tight limits: what is always there, and a share of what comes on top. */
static void draw_limits(struct problem *p, uint64_t *seed, bool is_one)
{
    double most = 0;
    for (uint32_t d = 0; d < p->devices; d++) {
        double always = value_at(p->config, PPSCHED_QUANTITY_MEM_OTHER, d, 0);
        p->units[d] = 0;
        for (uint32_t s = d; s < p->devices * p->chunks; s += p->devices) {
            always += value_at(p->config, PPSCHED_QUANTITY_MEM_STATIC, s, 0) +
                      value_at(p->config, PPSCHED_QUANTITY_MEM_WEIGHTS, s, 0);
            p->units[d] = fmax(p->units[d], value_at(p->config, PPSCHED_QUANTITY_MEM_OFFLOAD, s, 0));
        }
        p->limits[d] = always + (p->peaks[d] - always) * (2 + random_below(seed, 3)) / 8;
        most = fmax(most, p->limits[d]);
    }
    for (uint32_t d = 0; d < p->devices && is_one; d++)
        p->limits[d] = most;
}

static void draw(struct problem *p, uint64_t *seed, uint32_t number)
{
    static const char *const rules[2][3] = {{"1f1b", "zb_h1", "gpipe"}, {"interleaved_1f1b", "interleaved_zb", "gis"}};
    double links[DEVICES];
    ppsched_error error;
    p->devices = 2 + random_below(seed, DEVICES - 1);
    p->chunks = 1 + random_below(seed, CHUNKS);
    const struct uneven sizes = {p->devices, p->chunks, p->devices * (1 + random_below(seed, 3)), 1, random_next(seed)};
    p->config = make_uneven(&sizes);
    add_uneven(p->config, UNEVEN_COPIES, seed);
    for (uint32_t d = 0; d < p->devices; d++)
        links[d] = random_below(seed, p->devices);
    expect_ok(ppsched_config_set_values(p->config, PPSCHED_QUANTITY_HOST_LINK, links, p->devices, &error), &error);
    set_uneven(p->config, PPSCHED_QUANTITY_HOST_BANDWIDTH, p->devices, 0.5 + random_below(seed, 6), seed);
    p->plain = make_schedule(p->config, rules[p->chunks > 1][number % 3]);
    p->calls = 0;
    measure(p);
    draw_limits(p, seed, number % 4 == 3);
}

static bool is_over(const struct problem *p)
{
    for (uint32_t d = 0; d < p->devices; d++)
        if (p->peaks[d] > p->limits[d])
            return true;
    return false;
}

static struct {
    uint32_t refused, wider, shorter, longer;
    double worst;
} seen;

static void compare_with_chunks(const struct problem *p, double step)
{
    for (uint32_t k = 1; k <= p->chunks; k++) {
        double other = step_of(p, k, false);
        assert_true(other == INFINITY || step < INFINITY);
        seen.longer += step > other * (1 + 1e-9);
        seen.worst = other < INFINITY ? fmax(seen.worst, step / other) : seen.worst;
    }
}

/* Wider and wider, until nothing need go. */
static void widen(struct problem *p, struct found *found)
{
    double before = INFINITY;
    for (bool was_over = true; was_over;) {
        ppsched_error error;
        was_over = is_over(p);
        expect_ok(ppsched_config_set_values(p->config, PPSCHED_QUANTITY_MEM_LIMIT, p->limits, p->devices, &error), &error);
        expect_ok(ppsched_config_set_progress(p->config, count_call, &found->evaluations, &error), &error);
        double step = step_of(p, 0, true);
        expect_ok(ppsched_config_set_progress(p->config, NULL, NULL, &error), &error);
        if (step > before * (1 + 1e-9))
            fail_msg("%.17g is longer than %.17g under tighter limits", step, before);
        compare_with_chunks(p, step);
        seen.refused += step == INFINITY;
        seen.wider += before < INFINITY;
        seen.shorter += before < INFINITY && step < before * (1 - 1e-9);
        found->held += step < INFINITY;
        found->steps += step < INFINITY ? step / p->step : 0;
        before = step;
        for (uint32_t d = 0; d < p->devices; d++)
            p->limits[d] += p->units[d];
    }
    assert_true(before == p->step);
}

static void test_wider_is_never_longer(void **state)
{
    uint64_t seed = 81;
    struct found found = {0};
    (void)state;
    for (uint32_t i = 0; i < PROBLEMS; i++) {
        struct problem p;
        draw(&p, &seed, i);
        widen(&p, &found);
        ppsched_schedule_release(p.plain);
        ppsched_config_destroy(p.config);
    }
    print_message("# %u refused, %u wider ones, shorter in %u; %u longer than all copies of so many stages, at most %.2f %%\n",
                  seen.refused, seen.wider, seen.shorter, seen.longer, 100 * (seen.worst - 1));
    assert_true(seen.wider > ROUNDS(150) && seen.shorter > ROUNDS(30) && seen.longer <= seen.wider / 50 && seen.worst < 1.15);
    if (PROBLEMS == 48)
        expect_no_worse(&found, &(struct found){234, 5773, 240.35038478305836});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wider_is_never_longer)};
    return cmocka_run_group_tests_name("offload_wider", tests, NULL, NULL);
}
