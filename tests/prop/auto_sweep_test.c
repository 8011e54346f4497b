/* SPDX-License-Identifier: Apache-2.0 */
/* What `auto` promises, over random problems of all placements: a schedule that can be run and keeps to the limits, never
 * longer than any other strategy's, whatever its options are, never below the lower bound, the same each time. Tells how far
 * above the bound it is. */
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 24, PROBLEMS = 1000 };

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

static void set_option(ppsched_config *config, const char *name, const char *value)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_option(config, name, value, &error), &error);
}

static ppsched_bound bound_of(const ppsched_config *config, int by_span)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    int32_t objective = by_span ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN;
    expect_ok(ppsched_config_find_bound(&bound, config, objective, &error), &error);
    return bound;
}

/* --- problems --- */

static const char *const families[] = {"linear", "loop of 2", "loop of 3", "v", "map"};
enum { LINEAR, LOOP_OF_2, LOOP_OF_3, V, MAP, FAMILIES };

static ppsched_config *draw_shape(uint64_t *seed, int family)
{
    uint32_t devices = 2 + random_below(seed, 7), map[MOST_STAGES];
    uint32_t stages = family == LINEAR ? devices : family == LOOP_OF_3 ? 3 * devices : 2 * devices;
    ppsched_error error;
    if (family == MAP)
        stages = 1 + random_below(seed, 2 * devices);
    for (uint32_t s = 0; s < stages; s++)
        map[s] = random_below(seed, devices);
    ppsched_config *config = make_config(devices, stages, 1 + random_below(seed, 4 * devices));
    int32_t placement = family == LINEAR ? PPSCHED_PLACEMENT_LINEAR
                        : family == V    ? PPSCHED_PLACEMENT_V
                        : family == MAP  ? PPSCHED_PLACEMENT_MAP
                                         : PPSCHED_PLACEMENT_LOOP;
    expect_ok(ppsched_config_set_placement(config, placement, map, stages, &error), &error);
    return config;
}

/* Up to five times apart; a third of the full backwards is shorter than I and W. */
static void draw_costs(uint64_t *seed, ppsched_config *config)
{
    uint32_t stages = ppsched_config_stages(config);
    double times[4][MOST_STAGES], held[MOST_STAGES], fixed[MOST_STAGES];
    int uneven = (int)random_below(seed, 4), fused = random_below(seed, 3) == 0;
    for (uint32_t s = 0; s < stages; s++) {
        for (int k = 0; k < 3; k++)
            times[k][s] = 1 + (uneven ? random_below(seed, 17) / 4.0 : 0);
        times[3][s] = 0.75 * (times[1][s] + times[2][s]);
        held[s] = 1 + (uneven > 1 ? random_below(seed, 3) / 2.0 : 0);
        fixed[s] = random_below(seed, 3) / 2.0;
    }
    set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, times[0], stages);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, times[1], stages);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, times[2], stages);
    if (fused)
        set_list(config, PPSCHED_QUANTITY_BACKWARD_TIMES, times[3], stages);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 3) / 2.0);
    set_list(config, PPSCHED_QUANTITY_MEM_FORWARD, held, stages);
    if (random_below(seed, 2))
        set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -0.5);
    if (random_below(seed, 4) == 0) {
        set_list(config, PPSCHED_QUANTITY_MEM_STATIC, fixed, stages);
        set_list(config, PPSCHED_QUANTITY_MEM_WEIGHTS, held, stages);
    }
}

/* None, one for all from the least on, or one a device. */
static void draw_limit(uint64_t *seed, ppsched_config *config)
{
    uint32_t devices = ppsched_config_devices(config), kind = random_below(seed, 4);
    double least = bound_of(config, 1).least_limit, limits[8];
    for (uint32_t d = 0; d < devices; d++)
        limits[d] = least + random_below(seed, 4 * devices) / 2.0;
    if (kind == 1)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, least);
    else if (kind > 1)
        set_list(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, kind == 2 ? 1 : devices);
}

/* Some problems want backwards whole; some have several iterations. */
static void draw_run(uint64_t *seed, ppsched_config *config)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_split_backward(config, random_below(seed, 3) > 0, &error), &error);
    expect_ok(ppsched_config_set_iterations(config, random_below(seed, 3) > 0 ? 1 : 2 + random_below(seed, 3), &error), &error);
}

/* --- what is promised --- */

static double objective_of(const ppsched_schedule *schedule, const ppsched_config *config, int by_span, int *fits)
{
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    *fits = metrics.limit_device == PPSCHED_NONE;
    ppsched_timeline_destroy(timeline);
    return by_span ? metrics.span : metrics.makespan;
}

static double run_auto(const ppsched_config *config, const char *effort, int by_span, ppsched_schedule **out)
{
    ppsched_config *own = NULL;
    ppsched_error error;
    int fits = 0;
    expect_ok(ppsched_config_copy(&own, config, &error), &error);
    set_option(own, "effort", effort);
    set_option(own, "objective", by_span ? "span" : "makespan");
    *out = make_schedule(own, "auto");
    double objective = objective_of(*out, config, by_span, &fits);
    assert_true(fits);
    ppsched_config_destroy(own);
    return objective;
}

static int has_same_placement(const ppsched_schedule *a, const ppsched_schedule *b)
{
    for (uint32_t s = 0; s < ppsched_schedule_stages(a); s++)
        if (ppsched_schedule_device_of(a, s, 0) != ppsched_schedule_device_of(b, s, 0))
            return 0;
    return ppsched_schedule_placement(b) != PPSCHED_PLACEMENT_BIDIRECTIONAL;
}

static void expect_same(const ppsched_schedule *a, const ppsched_schedule *b)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(a); d++) {
        size_t count = 0, other = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(a, d), &count);
        const ppsched_op *others = ppsched_queue_ops(ppsched_schedule_queue(b, d), &other);
        assert_int_equal(count, other);
        if (count > 0)
            assert_memory_equal(ops, others, count * sizeof *ops);
    }
}

/* What one strategy has with the options that are set: 1 where it is a rival. */
static int expect_not_shorter(const ppsched_config *plain, const char *name, const ppsched_schedule *ours, double objective,
                              int by_span, int trial)
{
    ppsched_schedule *other = NULL;
    ppsched_error error;
    int fits = 0, is_rival = 0;
    ppsched_status status = ppsched_schedule_generate(&other, plain, name, &error);
    if (status != PPSCHED_OK) {
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
        return 0;
    }
    double its = objective_of(other, plain, by_span, &fits);
    if (fits && has_same_placement(ours, other)) {
        is_rival = 1;
        if (its < objective * (1 - 1e-9))
            fail_msg("trial %d: %s has %.17g, auto %.17g", trial, name, its, objective);
    }
    ppsched_schedule_release(other);
    return is_rival;
}

/* With all sizes of groups where it has them. Returns how many rivals there were. */
static int expect_no_shorter_option(ppsched_config *plain, const ppsched_strategy_info *info, const ppsched_schedule *ours,
                                    double objective, int by_span, int trial)
{
    int compared = expect_not_shorter(plain, info->name, ours, objective, by_span, trial);
    if (strncmp(info->name, "interleaved", strlen("interleaved")) != 0)
        return compared;
    for (uint32_t group = 1; group <= ppsched_config_microbatches(plain); group++) {
        char text[16];
        snprintf(text, sizeof text, "%u", group);
        set_option(plain, "group_size", text);
        compared += expect_not_shorter(plain, info->name, ours, objective, by_span, trial);
    }
    set_option(plain, "group_size", NULL);
    return compared;
}

/* Returns how many other strategies were compared. */
static int expect_no_shorter_strategy(const ppsched_config *config, const ppsched_schedule *ours, double objective, int by_span,
                                      int trial)
{
    ppsched_config *plain = NULL;
    ppsched_error error;
    int compared = 0;
    expect_ok(ppsched_config_copy(&plain, config, &error), &error);
    expect_ok(ppsched_config_set_placement(plain, PPSCHED_PLACEMENT_DEFAULT, NULL, 0, &error), &error);
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        if (info.flushes && !info.offloads && strcmp(info.name, "auto") != 0)
            compared += expect_no_shorter_option(plain, &info, ours, objective, by_span, trial);
    }
    ppsched_config_destroy(plain);
    return compared;
}

/* Several iterations take as many makespans, or for the span one less and a span. */
static double bound_of_all(const ppsched_config *config, int by_span)
{
    uint32_t iterations = ppsched_config_iterations(config);
    double makespan = bound_of(config, 0).value;
    return by_span ? (iterations - 1) * makespan + bound_of(config, 1).value : iterations * makespan;
}

/* Returns the gap to the bound. */
static double expect_promises(const ppsched_config *config, int by_span, int trial, int *compared)
{
    ppsched_schedule *quick = NULL, *searched = NULL, *again = NULL;
    double first = run_auto(config, "0", by_span, &quick), second = run_auto(config, "2", by_span, &searched);
    double third = run_auto(config, "2", by_span, &again), bound = bound_of_all(config, by_span);
    expect_same(searched, again);
    assert_true(third == second);
    if (second > first * (1 + 1e-12) || second < bound * (1 - 1e-9))
        fail_msg("trial %d: bound %.17g, effort 0 %.17g, effort 2 %.17g", trial, bound, first, second);
    *compared += expect_no_shorter_strategy(config, quick, first, by_span, trial);
    ppsched_schedule_release(quick);
    ppsched_schedule_release(searched);
    ppsched_schedule_release(again);
    return second / bound - 1;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_promises(void **state)
{
    static double gaps[FAMILIES][PROBLEMS];
    int counts[FAMILIES] = {0}, compared[FAMILIES] = {0};
    uint64_t seed = 21;
    (void)state;
    for (int trial = 0; trial < PROBLEMS; trial++) {
        int family = trial % FAMILIES;
        ppsched_config *config = draw_shape(&seed, family);
        draw_costs(&seed, config);
        draw_limit(&seed, config);
        draw_run(&seed, config);
        gaps[family][counts[family]++] = expect_promises(config, trial % 2, trial, &compared[family]);
        ppsched_config_destroy(config);
    }
    for (int f = 0; f < FAMILIES; f++) {
        int n = counts[f];
        qsort(gaps[f], (size_t)n, sizeof gaps[f][0], ascending);
        print_message("# %-9s: above the bound by %5.2f %% (median), %5.2f %% (90 %%), %5.2f %% (most); %d cases, %d rivals\n",
                      families[f], 100 * gaps[f][n / 2], 100 * gaps[f][n * 9 / 10], 100 * gaps[f][n - 1], n, compared[f]);
    }
    assert_true(compared[LINEAR] > 60 && compared[LOOP_OF_2] > 20 && compared[V] > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promises),
    };
    return cmocka_run_group_tests_name("auto_sweep", tests, NULL, NULL);
}
