/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one rule against all splits, each with the order that it leads to: where the order follows from costs, and where
 * there are no backwards. */
#include "support/layered.h"
#include "support/plans.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { MOST_LAYERS = 12, MOST_STAGES = 8 };

struct problem {
    const char *strategy;
    uint32_t devices, chunks, group; /* 0: none */
    uint32_t microbatches, layers_count;
    const ppsched_layers *layers;
    ppsched_config *config;
    bool limited;
};

/* The best makespan of all splits that fit; infinite where none does. */
static double best_of_all(const struct problem *problem)
{
    uint32_t stages = problem->devices * problem->chunks, counts[MOST_STAGES];
    double best = INFINITY;
    for (uint32_t mask = 0; mask < 1u << (problem->layers_count - 1); mask++) { /* a bit a border */
        uint32_t stage = 0;
        if ((uint32_t)__builtin_popcount(mask) != stages - 1)
            continue;
        counts[0] = 1;
        for (uint32_t i = 0; i + 1 < problem->layers_count; i++)
            if (mask >> i & 1)
                counts[++stage] = 1;
            else
                counts[stage]++;
        const ppsched_split split = split_of(counts, stages, NULL);
        ppsched_config *config = NULL;
        ppsched_error error;
        expect_ok(ppsched_config_from_layers(&config, problem->config, problem->layers, &split, &error), &error);
        ppsched_schedule *schedule = make_schedule(config, problem->strategy);
        ppsched_timeline *timeline = make_timeline(schedule, config);
        const ppsched_metrics metrics = metrics_of(timeline);
        if (metrics.limit_device == PPSCHED_NONE)
            best = fmin(best, metrics.makespan);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    return best;
}

/* Layers of three kinds with a head. */
static const ppsched_layers *draw_layers(uint32_t count, uint64_t *seed)
{
    ppsched_layer entries[4];
    for (uint32_t e = 0; e < 4; e++)
        entries[e] = (ppsched_layer)LAYER("layer", .count = 1, .forward_time = 1 + random_below(seed, 8),
                                          .backward_time = 1 + random_below(seed, 12),
                                          .mem_forward = 1 + random_below(seed, 4) / 4.0);
    entries[1].count = 1 + random_below(seed, count - 3);
    entries[0].count = count - 2 - entries[1].count;
    return make_layers(entries, 4);
}

/* Transfers that take as long between all devices, or each its own time. */
static void draw_links(struct problem *problem, uint64_t *seed)
{
    double times[MOST_STAGES * MOST_STAGES] = {0};
    const uint32_t devices = problem->devices, pairs = devices * devices;
    for (uint32_t i = 0; i < pairs; i++)
        times[i] = i / devices != i % devices ? 1 + random_below(seed, 8) / 4.0 : 0;
    if (random_below(seed, 2) == 0)
        expect_ok(ppsched_config_set_values(problem->config, PPSCHED_QUANTITY_P2P_TIME, times, pairs, NULL), NULL);
    else
        set_number(problem->config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 3) / 2.0);
}

static void open_problem(struct problem *problem, bool forward_only, uint64_t *seed)
{
    static const char *const rules[] = {"gpipe", "looped_bfs", "interleaved_1f1b"};
    *problem = (struct problem){.devices = 2 + random_below(seed, 3), .chunks = 2};
    problem->strategy = forward_only ? rules[random_below(seed, 3)] : "group_interleaved_1f1b";
    if (forward_only && problem->strategy == rules[0])
        problem->chunks = 1;
    if (forward_only && problem->strategy == rules[2])
        problem->group = problem->devices;
    problem->layers_count = 2 * problem->devices + random_below(seed, MOST_LAYERS - 2 * problem->devices + 1);
    problem->microbatches = problem->devices * (1 + random_below(seed, 3));
    problem->layers = draw_layers(problem->layers_count, seed);
    problem->config = make_config(problem->devices, problem->devices, problem->microbatches);
    draw_links(problem, seed);
    if (forward_only) {
        expect_ok(ppsched_config_set_forward_only(problem->config, 1, NULL), NULL);
    } else {
        char text[16];
        problem->group = 1 + random_below(seed, problem->devices);
        problem->limited = random_below(seed, 2) == 0;
        snprintf(text, sizeof text, "%u", problem->group);
        expect_ok(ppsched_config_set_option(problem->config, "group_size", text, NULL), NULL);
        if (problem->limited)
            set_number(problem->config, PPSCHED_QUANTITY_MEM_LIMIT, 4 + random_below(seed, 4 * problem->layers_count));
    }
}

static void close_problem(struct problem *problem)
{
    ppsched_layers_release(problem->layers);
    ppsched_config_destroy(problem->config);
}

/* The only candidate; it takes what its schedule takes. */
static ppsched_candidate planned(const struct problem *problem)
{
    const struct plan_choice options = {.size = sizeof options,
                                        .layers = problem->layers,
                                        .strategies = &problem->strategy,
                                        .strategy_count = 1,
                                        .chunks = &problem->chunks,
                                        .chunk_count = 1,
                                        .group_sizes = problem->group > 0 ? &problem->group : NULL,
                                        .group_size_count = problem->group > 0};
    ppsched_plan *plan = run_plan(problem->config, &options);
    ppsched_config *config = NULL;
    ppsched_error error;
    assert_int_equal(ppsched_plan_count(plan), 1);
    const ppsched_candidate only = ranked(plan, 0);
    expect_ok(ppsched_plan_create_config(&config, plan, 0, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, problem->strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_true(metrics_of(timeline).makespan == only.makespan);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    ppsched_plan_destroy(plan);
    return only;
}

/* A plan may have a distance that no split leads to, so it may be better. */
static void test_orders_that_follow_from_costs(void **state)
{
    uint64_t seed = 41;
    uint32_t told = 0, fits = 0;
    (void)state;
    for (int trial = 0; trial < 150; trial++) {
        struct problem problem;
        open_problem(&problem, false, &seed);
        double best = best_of_all(&problem);
        const ppsched_candidate only = planned(&problem);
        if (!(only.fits || best == INFINITY) || (only.fits && only.step_time > best * (1 + 1e-9)))
            fail_msg("D = %u, M = %u, groups of %u: %g is found, and there is %g", problem.devices, problem.microbatches,
                     problem.group, only.fits ? only.step_time : INFINITY, best);
        assert_true(!only.fits || only.bound <= only.step_time * (1 + 1e-9));
        assert_true(problem.group < problem.devices || only.min_group_size == 0);
        told += only.min_group_size > 0;
        fits += only.fits;
        close_problem(&problem);
    }
    assert_true(told > 5 && fits > 100 && fits < 150);
}

static void test_forwards_alone(void **state)
{
    uint64_t seed = 42;
    uint32_t proved = 0;
    (void)state;
    for (int trial = 0; trial < 150; trial++) {
        struct problem problem;
        open_problem(&problem, true, &seed);
        double best = best_of_all(&problem);
        const ppsched_candidate only = planned(&problem);
        if (!(fabs(only.step_time - best) <= 1e-9 * best) || only.bound > best * (1 + 1e-9))
            fail_msg("%s, D = %u, M = %u: %g is found, %g is a bound, and there is %g", problem.strategy, problem.devices,
                     problem.microbatches, only.step_time, only.bound, best);
        proved += only.proved;
        close_problem(&problem);
    }
    assert_true(proved > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders_that_follow_from_costs),
                                       cmocka_unit_test(test_forwards_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
