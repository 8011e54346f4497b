/* SPDX-License-Identifier: Apache-2.0 */
/* The lower bounds by hand, and their interface. That no schedule is below them is tested by bound_sweep_test. */
#include "support/problem.h"

#include <stdio.h>
#include <string.h>

static ppsched_bound bound_of(const ppsched_config *config, int32_t objective)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    expect_ok(ppsched_config_find_bound(&bound, config, objective, &error), &error);
    return bound;
}

static void test_by_hand(void **state)
{
    ppsched_config *config = make_config(4, 4, 8);
    (void)state;
    ppsched_bound bound = bound_of(config, PPSCHED_OBJECTIVE_SPAN);
    assert_true(bound.work == 24);               /* 8 (F + I + W) */
    assert_true(bound.fill_drain == 3 + 16 + 4); /* device 3: three F, its F and I, three I and a W */
    assert_true(bound.memory == 0 && bound.value == 24 && bound.device == 0 && bound.least_limit == 1);
    bound = bound_of(config, PPSCHED_OBJECTIVE_MAKESPAN);
    assert_true(bound.work == 27 && bound.device == 3); /* device 3 waits for three F */
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 2);
    bound = bound_of(config, PPSCHED_OBJECTIVE_SPAN);
    assert_true(bound.memory == 8 * (8 + 1) / 2.0 && bound.device == 0); /* eight microbatches for four F, four I and a W */
    ppsched_config_destroy(config);
}

static void test_bad_arguments(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_bound bound = {.size = sizeof bound, .value = -7};
    ppsched_error error;
    (void)state;
    for (int32_t objective = -1; objective <= 3; objective += objective == 0 ? 3 : 1) {
        assert_int_equal(ppsched_config_find_bound(&bound, config, objective, &error), PPSCHED_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "there is no objective"));
    }
    assert_int_equal(ppsched_config_find_bound(NULL, config, PPSCHED_OBJECTIVE_SPAN, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_find_bound(&bound, NULL, PPSCHED_OBJECTIVE_SPAN, NULL), PPSCHED_ERROR_ARGUMENT);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 3);
    assert_int_equal(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_SPAN, &error), PPSCHED_ERROR_RANGE);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1.7e308);
    assert_int_equal(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_SPAN, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "too large"));
    bound.size = 0;
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 3);
    assert_int_equal(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_SPAN, &error), PPSCHED_ERROR_STRUCT_SIZE);
    assert_string_equal(error.message, "ppsched_bound: size is 0; set it to sizeof(ppsched_bound)");
    assert_true(bound.value == -7);
    ppsched_config_destroy(config);
    bound.size = sizeof bound;
    config = make_config(2, 3, 2);
    assert_int_equal(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_SPAN, &error), PPSCHED_ERROR_REFUSED);
    ppsched_config_destroy(config);
}

/* auto refuses below the least limit, and names it; at it it does not. */
static void test_least_limit(void **state)
{
    static const uint32_t map[] = {0, 1, 2, 1, 0, 0};
    static const double memory[] = {1, 2, 3, 4, 5, 6}, fixed[] = {0.5};
    (void)state;
    for (int32_t placement = PPSCHED_PLACEMENT_LOOP; placement <= PPSCHED_PLACEMENT_MAP; placement++) {
        ppsched_config *config = make_config(3, 6, 4);
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        char text[64];
        if (placement == PPSCHED_PLACEMENT_BIDIRECTIONAL) {
            ppsched_config_destroy(config);
            continue;
        }
        expect_ok(ppsched_config_set_placement(config, placement, map, 6, &error), &error);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, memory, 6, &error), &error);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_WEIGHTS, fixed, 1, &error), &error);
        double least = bound_of(config, PPSCHED_OBJECTIVE_SPAN).least_limit;
        assert_true(least == (placement == PPSCHED_PLACEMENT_LOOP ? 10 : placement == PPSCHED_PLACEMENT_V ? 8 : 13.5));
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, least - 0.25);
        assert_int_equal(ppsched_schedule_generate(&schedule, config, "auto", &error), PPSCHED_ERROR_REFUSED);
        snprintf(text, sizeof text, "the least limit that works is %g", least);
        assert_non_null(strstr(error.message, text));
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, least);
        schedule = make_schedule(config, "auto");
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

/* One device's ops one after another are looked at up to some million ops; for the span, of which each device is looked at by
 * itself, up to so many in all looks. */
static void test_many_ops(void **state)
{
    static const struct {
        int64_t microbatches;
        int32_t objective;
        int is_looked_at;
    } cases[] = {{12000, PPSCHED_OBJECTIVE_MAKESPAN, 1},
                 {200000, PPSCHED_OBJECTIVE_MAKESPAN, 0},
                 {3000, PPSCHED_OBJECTIVE_SPAN, 1},
                 {200000, PPSCHED_OBJECTIVE_SPAN, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *config = make_config(16, 16, cases[i].microbatches);
        ppsched_bound bound = bound_of(config, cases[i].objective);
        assert_int_equal(bound.one_machine > 0, cases[i].is_looked_at);
        assert_true(bound.value > 0 && bound.value >= bound.one_machine);
        ppsched_config_destroy(config);
    }
}

/* Where ops take no time the way there and back is left: 3 transfers of 5 each way. */
static void test_ops_without_time(void **state)
{
    ppsched_config *config = make_config(4, 4, 3);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 0);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 5);
    ppsched_bound bound = bound_of(config, PPSCHED_OBJECTIVE_MAKESPAN);
    assert_true(bound.one_machine == 30 && bound.value == 30);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_bad_arguments),    cmocka_unit_test(test_least_limit),
        cmocka_unit_test(test_many_ops), cmocka_unit_test(test_ops_without_time),
    };
    return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
