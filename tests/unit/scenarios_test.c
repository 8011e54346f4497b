/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: what is refused, and kept bits. Their times are tested by scenario_sweep_test. */
#include "support/problem.h"

#include <math.h>
#include <string.h>

static ppsched_config *config;
static ppsched_schedule *schedule;

static int setup(void **state)
{
    (void)state;
    config = make_config(4, 8, 8);
    schedule = make_schedule(config, "interleaved_1f1b");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return 0;
}

static void refused(int64_t count, ppsched_scenario_options options, ppsched_status status, const char *part)
{
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    options.size = sizeof options;
    assert_int_equal(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, count, &options, &error), status);
    assert_null(scenarios);
    assert_non_null(strstr(error.message, part));
}

static int32_t stop(void *user, const ppsched_progress *progress)
{
    (void)user;
    assert_true(progress->share >= 0 && progress->share <= 1);
    return 1;
}

static void test_bad_input(void **state)
{
    const double factors[] = {1, -1, 1, 1}, unknown[] = {1, 1, NAN, 1};
    const ppsched_scenario_options none = {0};
    (void)state;
    refused(0, none, PPSCHED_ERROR_RANGE, "the number of scenarios is 0; it must be 1 to 16777216");
    refused(-5, none, PPSCHED_ERROR_RANGE, "the number of scenarios is -5");
    refused(INT64_MAX, none, PPSCHED_ERROR_RANGE, "it must be 1 to");
    refused(1, (ppsched_scenario_options){.jitter = -0.1}, PPSCHED_ERROR_RANGE, "jitter is -0.1; it must be 0 to 2");
    refused(1, (ppsched_scenario_options){.jitter = NAN}, PPSCHED_ERROR_RANGE, "it must be 0 to 2");
    refused(1, (ppsched_scenario_options){.message_jitter = 3}, PPSCHED_ERROR_RANGE, "message_jitter is 3");
    refused(1, (ppsched_scenario_options){.device_factor_count = 4}, PPSCHED_ERROR_ARGUMENT, "must be given together");
    refused(2, (ppsched_scenario_options){.device_factors = factors, .device_factor_count = 3}, PPSCHED_ERROR_MISMATCH,
            "3 device factors are given; it must be 4");
    refused(2, (ppsched_scenario_options){.device_factors = factors, .device_factor_count = 4}, PPSCHED_ERROR_RANGE,
            "device factor 1 is -1; it must be finite and not negative");
    refused(2, (ppsched_scenario_options){.device_factors = unknown, .device_factor_count = 4}, PPSCHED_ERROR_RANGE,
            "device factor 2 is");
    assert_int_equal(ppsched_config_set_progress(config, stop, NULL, NULL), PPSCHED_OK);
    refused(100000, none, PPSCHED_ERROR_CANCELLED, "the scenarios were cancelled");
    assert_int_equal(ppsched_config_set_progress(config, NULL, NULL, NULL), PPSCHED_OK);
}

/* Also where there is one stage alone. */
static void test_factors_of_one_stage(void **state)
{
    const double factors[] = {-1, 1};
    ppsched_config *small = make_config(1, 1, 3);
    ppsched_schedule *order = make_schedule(small, "gpipe");
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    (void)state;
    ppsched_scenario_options options = {.size = sizeof options, .stage_factors = factors, .stage_factor_count = 1};
    assert_int_equal(ppsched_schedule_evaluate_scenarios(&scenarios, order, small, 1, &options, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "stage factor 0 is -1; it must be finite and not negative"));
    options.stage_factor_count = 2;
    assert_int_equal(ppsched_schedule_evaluate_scenarios(&scenarios, order, small, 1, &options, &error),
                     PPSCHED_ERROR_MISMATCH);
    assert_non_null(strstr(error.message, "2 stage factors are given; it must be 1"));
    assert_null(scenarios);
    ppsched_schedule_release(order);
    ppsched_config_destroy(small);
}

static ppsched_scenarios *drawn(int64_t count)
{
    const double slow[] = {1, 1, 1, 1.2};
    const ppsched_scenario_options options = {.size = sizeof options,
                                              .seed = 7,
                                              .jitter = 0.05,
                                              .message_jitter = 0.1,
                                              .device_factors = slow,
                                              .device_factor_count = 4};
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, count, &options, &error), &error);
    return scenarios;
}

/* More scenarios begin with the same ones; and a slow device is the cause. */
static void test_counted(void **state)
{
    ppsched_scenario_metrics metrics = {.size = sizeof metrics};
    ppsched_scenarios *few = drawn(13), *many = drawn(1000);
    (void)state;
    assert_memory_equal(ppsched_scenarios_makespans(few, NULL), ppsched_scenarios_makespans(many, NULL), 13 * sizeof(double));
    assert_int_equal(ppsched_scenarios_get_metrics(&metrics, many, NULL), PPSCHED_OK);
    assert_int_equal(metrics.cause_device, 3);
    assert_int_equal(metrics.count, 1000);
    ppsched_scenarios_destroy(few);
    ppsched_scenarios_destroy(many);
}

static void test_kept(void **state)
{
    ppsched_scenario_metrics metrics = {.size = sizeof metrics};
    ppsched_scenarios *scenarios = drawn(1000);
    double q = 0;
    (void)state;
    assert_int_equal(ppsched_scenarios_get_metrics(&metrics, scenarios, NULL), PPSCHED_OK);
    assert_int_equal(ppsched_scenarios_get_quantile(&q, scenarios, 0.99, NULL), PPSCHED_OK);
    print_message("# mean %a, 0.99 %a, worst %a\n", metrics.mean, q, metrics.worst);
    assert_true(metrics.mean == 0x1.0a61be1df3752p+6 && q == 0x1.101c06c33a207p+6 && metrics.worst == 0x1.1220cc7f70cbfp+6);
    ppsched_error error;
    assert_int_equal(ppsched_scenarios_get_quantile(&q, scenarios, 1.5, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "q is 1.5; it must be 0 to 1");
    assert_int_equal(ppsched_scenarios_get_quantile(&q, scenarios, NAN, &error), PPSCHED_ERROR_RANGE);
    ppsched_scenarios_destroy(scenarios);
}

/* The first scenario whose times sum to more than a double holds is named, as planned and with what is ready. */
static void test_too_large(void **state)
{
    double factors[11 * 4];
    ppsched_config *large = make_config(4, 8, 8);
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    (void)state;
    set_number(large, PPSCHED_QUANTITY_FORWARD_TIMES, 1e10);
    for (int i = 0; i < 11 * 4; i++)
        factors[i] = i == 9 * 4 + 2 || i == 6 * 4 + 1 ? 1e300 : 1;
    for (int32_t dispatch = PPSCHED_DISPATCH_PLANNED; dispatch <= PPSCHED_DISPATCH_READY; dispatch++) {
        const ppsched_scenario_options options = {
            .size = sizeof options, .device_factors = factors, .device_factor_count = 11 * 4, .dispatch = dispatch};
        assert_int_equal(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, large, 11, &options, &error),
                         PPSCHED_ERROR_RANGE);
        assert_string_equal(error.message, "the sum of times of scenario 6 is too large for a double");
        assert_null(scenarios);
    }
    ppsched_config_destroy(large);
}

/* In another unit of time all is the same, to the last bit where the unit is a power of 2. */
static void test_units_of_time(void **state)
{
    ppsched_config *small = make_config(4, 8, 8);
    const double unit = 0x1p-20;
    (void)state;
    set_number(small, PPSCHED_QUANTITY_FORWARD_TIMES, unit);
    set_number(small, PPSCHED_QUANTITY_BACKWARD_TIMES, 2 * unit);
    for (int32_t dispatch = PPSCHED_DISPATCH_PLANNED; dispatch <= PPSCHED_DISPATCH_READY; dispatch++) {
        const ppsched_scenario_options options = {.size = sizeof options, .seed = 7, .jitter = 0.2, .dispatch = dispatch};
        ppsched_scenarios *one = NULL, *other = NULL;
        expect_ok(ppsched_schedule_evaluate_scenarios(&one, schedule, config, 9, &options, NULL), NULL);
        expect_ok(ppsched_schedule_evaluate_scenarios(&other, schedule, small, 9, &options, NULL), NULL);
        for (int i = 0; i < 9; i++)
            assert_true(ppsched_scenarios_makespans(one, NULL)[i] * unit == ppsched_scenarios_makespans(other, NULL)[i]);
        for (int d = 0; d < 4; d++)
            assert_true(ppsched_scenarios_causes(one, NULL)[d] == ppsched_scenarios_causes(other, NULL)[d]);
        ppsched_scenarios_destroy(one);
        ppsched_scenarios_destroy(other);
    }
    ppsched_config_destroy(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_input), cmocka_unit_test(test_factors_of_one_stage),
                                       cmocka_unit_test(test_counted),   cmocka_unit_test(test_kept),
                                       cmocka_unit_test(test_too_large), cmocka_unit_test(test_units_of_time)};
    return cmocka_run_group_tests_name("scenarios", tests, setup, teardown);
}
