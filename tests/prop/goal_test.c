/* SPDX-License-Identifier: Apache-2.0 */
/* Searches with a goal over scenarios: never worse by it than the plain search, within limits, the same each time; what is
 * refused; and plans that rank by it. */
#include "support/plan_choice.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { PROBLEMS = ROUNDS(24), SCENARIOS = 64 };

static const double ROUNDING = 1e-12;

static double figure_of(const ppsched_schedule *schedule, const ppsched_config *config, const ppsched_scenario_options *options,
                        int32_t rank_by)
{
    ppsched_scenario_metrics metrics = {.size = sizeof metrics};
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    double figure = 0;
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, SCENARIOS, options, &error), &error);
    expect_ok(ppsched_scenarios_get_metrics(&metrics, scenarios, &error), &error);
    expect_ok(ppsched_scenarios_get_quantile(&figure, scenarios, 0.75, &error), &error);
    ppsched_scenarios_destroy(scenarios);
    return rank_by == PPSCHED_RANK_BY_MEAN ? metrics.mean : rank_by == PPSCHED_RANK_BY_WORST ? metrics.worst : figure;
}

static void set_goal(ppsched_config *config, const ppsched_scenario_options *options, int32_t rank_by)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_robust_objective(config, rank_by, 0.75, SCENARIOS, options, &error), &error);
}

static int same_ops(const ppsched_schedule *a, const ppsched_schedule *b)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(a); d++) {
        size_t counts[2];
        const ppsched_op *ops[] = {ppsched_queue_ops(ppsched_schedule_queue(a, d), &counts[0]),
                                   ppsched_queue_ops(ppsched_schedule_queue(b, d), &counts[1])};
        if (counts[0] != counts[1] || memcmp(ops[0], ops[1], counts[0] * sizeof *ops[0]) != 0)
            return 0;
    }
    return 1;
}

/* The times of a device are those of its stages, and edges are given one by one: what the library makes of factors. */
static ppsched_config *average_of(const ppsched_config *config, const ppsched_scenario_options *options)
{
    static const int32_t times[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    uint32_t devices = ppsched_config_devices(config), stages = ppsched_config_stages(config);
    ppsched_config *average = NULL;
    double list[64];
    expect_ok(ppsched_config_copy(&average, config, NULL), NULL);
    for (size_t k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < stages; s++)
            list[s] = value_at(config, times[k], s, 0) * options->device_factors[s % devices];
        expect_ok(ppsched_config_set_values(average, times[k], list, stages, NULL), NULL);
    }
    for (uint32_t i = 0; i < devices * devices && options->link_factors != NULL; i++)
        list[i] = value_at(config, PPSCHED_QUANTITY_P2P_TIME, i, 0) * options->link_factors[i];
    if (options->link_factors != NULL)
        expect_ok(ppsched_config_set_values(average, PPSCHED_QUANTITY_P2P_TIME, list, devices * devices, NULL), NULL);
    for (uint32_t i = 0; i < devices * devices && options->link_factors != NULL; i++)
        list[i] = value_at(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, i, 0) / options->link_factors[i];
    if (options->link_factors != NULL)
        expect_ok(ppsched_config_set_values(average, PPSCHED_QUANTITY_P2P_BANDWIDTH, list, devices * devices, NULL), NULL);
    return average;
}

/* Whether the goal brought something. */
static int check_problem(ppsched_config *config, const ppsched_scenario_options *options, int32_t rank_by)
{
    ppsched_config *average = average_of(config, options);
    ppsched_schedule *plain = make_schedule(average, "auto");
    set_goal(config, options, rank_by);
    ppsched_schedule *found = make_schedule(config, "auto"), *again = make_schedule(config, "auto");
    double before = figure_of(plain, config, options, rank_by), after = figure_of(found, config, options, rank_by);
    ppsched_timeline *timeline = make_timeline(found, config);
    assert_true(after <= before * (1 + ROUNDING));
    assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
    assert_true(same_ops(found, again));
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(plain);
    ppsched_schedule_release(found);
    ppsched_schedule_release(again);
    ppsched_config_destroy(average);
    return after < before * (1 - ROUNDING);
}

static void test_never_worse(void **state)
{
    uint64_t seed = 31;
    int better = 0;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct uneven problem = {2 + random_below(&seed, 3), 1 + random_below(&seed, 2), 2 + random_below(&seed, 5), 1,
                                       random_next(&seed)};
        double factors[4], links[16];
        ppsched_config *config = make_uneven(&problem);
        ppsched_bound bound = {.size = sizeof bound};
        const ppsched_scenario_options options = {.size = sizeof options,
                                                  .seed = random_next(&seed),
                                                  .jitter = 0.05 + 0.3 * (i % 3),
                                                  .message_jitter = i % 2 * 0.2,
                                                  .device_factors = factors,
                                                  .device_factor_count = problem.devices,
                                                  .link_factors = links,
                                                  .link_factor_count = (size_t)problem.devices * problem.devices};
        draw_uneven(factors, problem.devices, 0.75, &seed);
        draw_uneven(links, (size_t)problem.devices * problem.devices, 0.125, &seed);
        for (uint32_t k = 0; k < problem.devices * problem.devices; k++)
            links[k] *= i % 4 < 2 ? 1 : 6; /* some far from 1 */
        expect_ok(ppsched_config_set_option(config, "effort", "2", NULL), NULL);
        expect_ok(ppsched_config_set_placement(config, problem.chunks == 1 ? PPSCHED_PLACEMENT_LINEAR : PPSCHED_PLACEMENT_LOOP,
                                               NULL, 0, NULL),
                  NULL);
        expect_ok(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_MAKESPAN, NULL), NULL);
        if (i % 2 == 0)
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1.5 * bound.least_limit);
        better += check_problem(config, &options, PPSCHED_RANK_BY_MEAN + i % 3);
        ppsched_config_destroy(config);
    }
    if (better <= PROBLEMS / 2 && ROUND_SHARE == 1)
        fail_msg("the goal was of use for %d of %d", better, PROBLEMS);
}

/* A copy has the goal, STEP takes it away, and strategies that do not search do not look at it. */
static void test_whose_goal_it_is(void **state)
{
    const struct uneven problem = {3, 1, 5, 1, 4};
    const double factors[] = {1, 1, 2};
    const ppsched_scenario_options options = {
        .size = sizeof options, .jitter = 0.4, .device_factors = factors, .device_factor_count = 3};
    ppsched_config *config = make_uneven(&problem), *copy = NULL;
    (void)state;
    ppsched_schedule *plain = make_schedule(config, "auto"), *rule = make_schedule(config, "zb_h1");
    set_goal(config, &options, PPSCHED_RANK_BY_WORST);
    expect_ok(ppsched_config_copy(&copy, config, NULL), NULL);
    ppsched_schedule *found = make_schedule(config, "auto"), *copied = make_schedule(copy, "auto");
    ppsched_schedule *same_rule = make_schedule(config, "zb_h1");
    assert_true(same_ops(found, copied) && same_ops(rule, same_rule) && !same_ops(found, plain));
    set_goal(copy, NULL, PPSCHED_RANK_BY_STEP);
    ppsched_schedule *without = make_schedule(copy, "auto");
    assert_true(same_ops(without, plain));
    ppsched_schedule_release(plain);
    ppsched_schedule_release(rule);
    ppsched_schedule_release(found);
    ppsched_schedule_release(copied);
    ppsched_schedule_release(same_rule);
    ppsched_schedule_release(without);
    ppsched_config_destroy(copy);
    ppsched_config_destroy(config);
}

static void refused(ppsched_config *config, int32_t rank_by, double quantile, int64_t count, ppsched_scenario_options options,
                    ppsched_status status, const char *part)
{
    ppsched_error error;
    options.size = sizeof options;
    assert_int_equal(ppsched_config_set_robust_objective(config, rank_by, quantile, count, &options, &error), status);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
}

static void test_bad_input(void **state)
{
    const ppsched_scenario_options none = {0};
    (void)state;
    ppsched_config *config = make_config(3, 3, 4);
    refused(config, 4, 0, 10, none, PPSCHED_ERROR_ARGUMENT, "rank_by");
    refused(config, PPSCHED_RANK_BY_MEAN, 0, 0, none, PPSCHED_ERROR_RANGE, "the number of scenarios is 0");
    refused(config, PPSCHED_RANK_BY_QUANTILE, 1.5, 10, none, PPSCHED_ERROR_RANGE, "quantile is 1.5; it must be 0 to 1");
    refused(config, PPSCHED_RANK_BY_MEAN, 0, 10, (ppsched_scenario_options){.jitter = -1}, PPSCHED_ERROR_RANGE, "jitter is -1");
    refused(config, PPSCHED_RANK_BY_MEAN, 0, 10, (ppsched_scenario_options){.dispatch = PPSCHED_DISPATCH_READY},
            PPSCHED_ERROR_ARGUMENT, "dispatch must be PLANNED");
    ppsched_config_destroy(config);
}

/* The plan's auto is what the goal gives, and ranks by it. */
static void test_plans(void **state)
{
    static const char *const names[] = {"auto", "zb_h1"};
    const struct uneven problem = {3, 1, 6, 1, 12};
    double factors[] = {1, 1.5, 1};
    const ppsched_scenario_options scenarios = {
        .size = sizeof scenarios, .jitter = 0.3, .device_factors = factors, .device_factor_count = 3};
    uint32_t one = 1;
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = names,
                                        .strategy_count = 2,
                                        .chunks = &one,
                                        .chunk_count = 1,
                                        .effort = 2,
                                        .scenario_options = &scenarios,
                                        .scenario_count = SCENARIOS,
                                        .rank_by = PPSCHED_RANK_BY_MEAN};
    ppsched_config *config = make_uneven(&problem);
    ppsched_plan *plan = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(create_plan(&plan, config, &options, &error), &error);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    ppsched_candidate best = {.size = sizeof best};
    expect_ok(ppsched_plan_get_candidate(&best, plan, ppsched_plan_candidate_at_rank(plan, 0), &error), &error);
    assert_string_equal(best.strategy, "auto");
    expect_ok(ppsched_config_set_option(config, "effort", "2", NULL), NULL);
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_LINEAR, NULL, 0, NULL), NULL);
    set_goal(config, &scenarios, PPSCHED_RANK_BY_MEAN);
    ppsched_schedule *found = make_schedule(config, "auto");
    double figure = figure_of(found, config, &scenarios, PPSCHED_RANK_BY_MEAN);
    assert_true(fabs(best.scenario_time - figure) <= ROUNDING * figure);
    ppsched_schedule_release(found);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_never_worse), cmocka_unit_test(test_whose_goal_it_is),
                                       cmocka_unit_test(test_bad_input), cmocka_unit_test(test_plans)};
    return cmocka_run_group_tests_name("goal", tests, NULL, NULL);
}
