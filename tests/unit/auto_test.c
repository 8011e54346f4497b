/* SPDX-License-Identifier: Apache-2.0 */
/* `auto`: its options, its refusals, and problems at the edge. What it promises everywhere is tested by auto_sweep_test. */
#include "support/failing_allocator.h"
#include "support/meter.h"
#include "support/problem.h"
#include "support/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_option(ppsched_config *config, const char *name, const char *value)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_option(config, name, value, &error), &error);
}

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

/* The schedule of a config that is used up; it can be run and keeps to the limits. */
static ppsched_metrics run_and_drop(ppsched_config *config)
{
    ppsched_schedule *schedule = make_schedule(config, "auto");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    assert_int_equal(metrics.limit_device, PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return metrics;
}

static void expect_failure(const ppsched_config *config, ppsched_status wanted, const char *part)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    assert_int_equal(ppsched_schedule_generate(&schedule, config, "auto", &error), wanted);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
    assert_null(schedule);
}

static void test_misspelt_options(void **state)
{
    static const char *const cases[][3] = {
        {"placement", "ring", "option placement is \"ring\"; it must be default, linear, loop, v, map or bidirectional"},
        {"placement", "", "it must be default"},
        {"objective", "time", "option objective is \"time\"; it must be span, makespan, mean_end, quantile_end or throughput"},
        {"quantile", "0", "option quantile is \"0\"; it must be an integer from 1 to 100"},
        {"effort", "13", "option effort is \"13\"; it must be an integer from 0 to 12"},
        {"effort", "-1", "it must be an integer from 0 to 12"},
        {"effort", "4.0", "it must be an integer from 0 to 12"},
        {"effort", "99999999999999999999", "it must be an integer from 0 to 12"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *config = make_config(2, 4, 4);
        set_option(config, cases[i][0], cases[i][1]);
        expect_failure(config, PPSCHED_ERROR_RANGE, cases[i][2]);
        ppsched_config_destroy(config);
    }
    ppsched_config *config = make_config(2, 4, 4);
    set_option(config, "efort", "2");
    expect_failure(config, PPSCHED_ERROR_UNKNOWN_OPTION, "did you mean effort?");
    ppsched_config_destroy(config);
}

static void test_choices(void **state)
{
    ppsched_option_info option = {.size = sizeof option};
    uint32_t strategy = 0;
    (void)state;
    assert_int_equal(ppsched_strategy_find(&strategy, "auto", NULL), PPSCHED_OK);
    assert_int_equal(ppsched_strategy_get_option(&option, strategy, 0, NULL), PPSCHED_OK);
    assert_int_equal(option.choice_count, 6);
    assert_string_equal(option.choices[3], "v");
    assert_int_equal(ppsched_strategy_get_option(&option, strategy, 2, NULL), PPSCHED_OK);
    assert_int_equal(option.choice_count, 0);
}

/* The placement comes from the option, else from the config, else from the sizes; both must agree. */
static void test_placements(void **state)
{
    static const uint32_t map[] = {0, 1, 1, 0};
    ppsched_config *config = make_config(2, 4, 4);
    ppsched_error error;
    (void)state;
    ppsched_schedule *schedule = make_schedule(config, "auto");
    assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_LOOP);
    ppsched_schedule_release(schedule);
    set_option(config, "placement", "V");
    schedule = make_schedule(config, "auto");
    assert_int_equal(ppsched_schedule_placement(schedule), PPSCHED_PLACEMENT_V);
    ppsched_schedule_release(schedule);
    set_option(config, "placement", "linear");
    expect_failure(config, PPSCHED_ERROR_REFUSED,
                   "auto: linear placement needs one stage per device, not 4 stages on 2 devices; nearest: 2 stages");
    set_option(config, "placement", "map");
    expect_failure(config, PPSCHED_ERROR_REFUSED, "map needs a config with the device of each stage");
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 4, &error), &error);
    ppsched_schedule_release(make_schedule(config, "auto"));
    set_option(config, "placement", "loop");
    expect_failure(config, PPSCHED_ERROR_REFUSED, "needs loop placement, not map");
    ppsched_config_destroy(config);
}

static void test_refusals(void **state)
{
    ppsched_config *config = make_config(4, 4, 8);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_BIDIRECTIONAL, NULL, 0, &error), &error);
    set_option(config, "offload", "limit");
    expect_failure(config, PPSCHED_ERROR_REFUSED, "bidirectional placement does not support offload");
    set_option(config, "objective", "mean_end");
    expect_failure(config, PPSCHED_ERROR_REFUSED, "objective mean_end is for forwards alone");
    ppsched_config_destroy(config);
    config = make_config(4, 6, 8);
    expect_failure(config, PPSCHED_ERROR_REFUSED,
                   "auto: loop placement needs the same number of stages on each device, not 6 stages on 4 devices; "
                   "nearest: 4 or 8 stages");
    ppsched_config_destroy(config);
    config = make_config(2, 4, 8);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1.5);
    expect_failure(config, PPSCHED_ERROR_REFUSED,
                   "no schedule fits the memory limit: device 0 must hold 2 for one microbatch; the least limit that works "
                   "is 2");
    set_number(config, PPSCHED_QUANTITY_MEM_STATIC, 0.25);
    expect_failure(config, PPSCHED_ERROR_REFUSED,
                   "device 0 must hold 2.5 for one microbatch; the least limit that works is 2.5");
    ppsched_config_destroy(config);
}

/* What a stage always takes counts, as do the versions of its weights; each device has its own limit. */
static void test_memory(void **state)
{
    static const double limits[] = {5, 2, 3, 1};
    ppsched_config *config = make_config(2, 2, 6);
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_STATIC, 1);
    set_number(config, PPSCHED_QUANTITY_MEM_WEIGHTS, 2);
    expect_ok(ppsched_config_set_weight_versions(config, 2, &error), &error);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 5.5);
    expect_failure(config, PPSCHED_ERROR_REFUSED, "the least limit that works is 6");
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 6);
    assert_true(run_and_drop(config).peak_memory == 6);
    config = make_config(4, 4, 12);
    set_list(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, 4);
    run_and_drop(config);
}

/* A backward that is shorter in one is run in one; where the limit is tight too. */
static void test_fused_backward(void **state)
{
    (void)state;
    for (double limit = 1; limit <= 4; limit++) {
        ppsched_config *config = make_config(1, 1, 8);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 1.5);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
        assert_true(run_and_drop(config).span == 8 * 2.5);
    }
}

static void test_iterations(void **state)
{
    ppsched_config *config = make_config(3, 6, 5), *once = make_config(3, 6, 5);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 5);
    set_number(once, PPSCHED_QUANTITY_MEM_LIMIT, 5);
    double twice = run_and_drop(config).makespan;
    assert_true(twice == 2 * run_and_drop(once).makespan);
}

static void test_smallest_sizes(void **state)
{
    (void)state;
    for (uint32_t devices = 1; devices <= 4; devices += 3)
        for (uint32_t microbatches = 1; microbatches <= 5; microbatches += 4)
            for (int limited = 0; limited < 2; limited++) {
                ppsched_config *config = make_config(devices, devices, microbatches);
                if (limited)
                    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1);
                run_and_drop(config);
            }
}

/* More stages on a device than patterns serve, and none on another. */
static void test_many_stages_on_a_device(void **state)
{
    static uint32_t map[200];
    (void)state;
    for (uint32_t s = 0; s < 200; s++)
        map[s] = s < 150 ? 0 : 2;
    for (int limited = 0; limited < 2; limited++) {
        ppsched_config *config = make_config(3, 200, 6);
        ppsched_error error;
        expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 200, &error), &error);
        set_option(config, "effort", "1");
        if (limited)
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 150);
        run_and_drop(config);
        config = make_config(1, 200, 6);
        set_option(config, "effort", "1");
        if (limited)
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 200);
        assert_true(run_and_drop(config).span == 200 * 6 * 3);
    }
}

/* No other strategy fits, and there is no search. */
static void test_no_effort(void **state)
{
    static const uint32_t map[] = {0, 1, 1};
    ppsched_config *config = make_config(2, 3, 4);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 3, &error), &error);
    set_option(config, "effort", "0");
    run_and_drop(config);
    config = make_config(2, 6, 4);
    set_option(config, "effort", "0");
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
    run_and_drop(config);
}

/* Without effort it is the shortest of the other strategies, here zb_h1, though a search finds a shorter one. */
static void test_other_strategies_alone(void **state)
{
    static const double forward[] = {6, 5, 2, 3}, input[] = {3, 5, 3, 5}, weight[] = {5, 8, 6, 8};
    (void)state;
    for (int searches = 0; searches < 2; searches++) {
        ppsched_config *config = make_config(4, 4, 3);
        set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 4);
        set_list(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, input, 4);
        set_list(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, weight, 4);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3.5);
        ppsched_schedule *rival = make_schedule(config, "zb_h1");
        ppsched_timeline *timeline = make_timeline(rival, config);
        double makespan = metrics_of(timeline).makespan;
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(rival);
        set_option(config, "effort", searches ? "1" : "0");
        double own = run_and_drop(config).makespan;
        assert_true(searches ? own < makespan : own == makespan);
    }
}

/* Fills memory with bytes that rise by what `user` points to. */
static void *allocate_filled(void *user, size_t size)
{
    unsigned char *memory = malloc(size);
    for (size_t i = 0; i < size && memory != NULL; i++)
        memory[i] = (unsigned char)(i * *(unsigned char *)user);
    return memory;
}

static void release_filled(void *user, void *memory)
{
    (void)user;
    free(memory);
}

/* Nothing takes time but the delays, and a plain list schedule is what is left: it is the same, whatever memory held before. */
static void test_delays_alone(void **state)
{
    static unsigned char bytes[2] = {0, 37};
    ppsched_schedule *schedules[2] = {NULL, NULL};
    (void)state;
    for (int k = 0; k < 2; k++) {
        ppsched_environment environment = {
            .size = sizeof environment, .user = &bytes[k], .allocate = allocate_filled, .release = release_filled};
        ppsched_config *config = NULL;
        ppsched_error error;
        expect_ok(ppsched_config_create(&config, 4, 12, 6, &environment, &error), &error);
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 0);
        set_number(config, PPSCHED_QUANTITY_P2P_TIME, 1);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 5);
        set_option(config, "effort", "0");
        schedules[k] = make_schedule(config, "auto");
        ppsched_config_destroy(config);
    }
    for (uint32_t d = 0; d < 4; d++) {
        size_t counts[2];
        const ppsched_op *ops[2];
        for (int k = 0; k < 2; k++)
            ops[k] = ppsched_queue_ops(ppsched_schedule_queue(schedules[k], d), &counts[k]);
        assert_int_equal(counts[0], counts[1]);
        assert_memory_equal(ops[0], ops[1], counts[0] * sizeof *ops[0]);
    }
    ppsched_schedule_release(schedules[0]);
    ppsched_schedule_release(schedules[1]);
}

static void test_times_at_the_edge(void **state)
{
    static const uint32_t map[] = {0, 1, 1, 0};
    static const double none[] = {0, 0, 0, 0}, mixed[] = {1, 1.5, 1, 2};
    static const double delays[] = {0, 1, 1e17, 1e300};
    (void)state;
    for (int mapped = 0; mapped < 2; mapped++)
        for (int k = 0; k < 4; k++)
            for (int zero = 0; zero < 2; zero++) {
                ppsched_config *config = make_config(2, 4, 5);
                ppsched_error error;
                if (mapped)
                    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 4, &error), &error);
                set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, zero ? none : mixed, 4);
                set_list(config, PPSCHED_QUANTITY_BACKWARD_TIMES, zero ? none : mixed, 4);
                set_number(config, PPSCHED_QUANTITY_P2P_TIME, delays[k]);
                run_and_drop(config);
            }
}

static void test_times_too_large(void **state)
{
    ppsched_config *config = make_config(2, 4, 5);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1e300);
    run_and_drop(config);
    config = make_config(2, 4, 5);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1e308);
    expect_failure(config, PPSCHED_ERROR_RANGE, "too large");
    ppsched_config_destroy(config);
}

/* A strategy that is tried and refuses is none of the caller's business: a call that succeeds leaves the record alone. */
static void test_record_is_left_alone(void **state)
{
    ppsched_config *config = make_config(2, 2, 1); /* refused by an overlapped strategy, among others */
    ppsched_schedule *schedule = NULL;
    ppsched_error error, before;
    (void)state;
    memset(&error, 0xA5, sizeof error);
    before = error;
    assert_int_equal(ppsched_schedule_generate(&schedule, config, "auto", &error), PPSCHED_OK);
    assert_memory_equal(&error, &before, sizeof error);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* A wide beam on a small problem: what a search may hold beside the ops is bounded, and told. */
static void test_memory_is_bounded(void **state)
{
    struct meter meter = {0};
    ppsched_environment environment = metered_environment(&meter);
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    uint32_t number;
    (void)state;
    expect_ok(ppsched_strategy_find(&number, "auto", &error), &error);
    expect_ok(ppsched_strategy_get_info(&info, number, &error), &error);
    assert_true(info.most_memory > 0);
    expect_ok(ppsched_config_create(&config, 3, 12, 4, &environment, &error), &error);
    set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, (const double[]){1, 1.3, 1, 2, 1, 1.1, 1, 1, 3, 1, 1, 1.7}, 12);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 5);
    set_option(config, "effort", ROUND_SHARE > 1 ? "5" : "7");
    expect_ok(ppsched_schedule_generate(&schedule, config, "auto", &error), &error);
    assert_in_range(meter.peak, 1 << 20, info.most_memory);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Orders that are chosen with their copies: where a call of the allocator fails, all memory is given back. */
static void test_memory_that_runs_out_while_copies_are_tried(void **state)
{
    enum { FAILURES = 600 }; /* calls that fail, spread over all */
    struct failing_allocator allocator = {.until_failure = -1};
    const ppsched_environment environment = failing_environment(&allocator);
    ppsched_config *config = NULL;
    ppsched_error error;
    int calls = 0, failed = 0;
    (void)state;
    expect_ok(ppsched_config_create(&config, 2, 2, 3, &environment, &error), &error);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2);
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 1);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 0.25);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1.5);
    expect_ok(ppsched_config_set_option(config, "offload", "limit", &error), &error);
    expect_ok(ppsched_config_set_option(config, "effort", "0", &error), &error);
    const int live = allocator.live;
    for (int i = 0; i <= FAILURES; i++) {
        ppsched_schedule *schedule = NULL;
        allocator.asked = allocator.failed = 0;
        allocator.until_failure = i == 0 ? -1 : (int)((int64_t)calls * i / (FAILURES + 1));
        ppsched_status status = ppsched_schedule_generate(&schedule, config, "auto", &error);
        assert_int_equal(status, allocator.failed > 0 ? PPSCHED_ERROR_NO_MEMORY : PPSCHED_OK);
        calls = i == 0 ? allocator.asked : calls;
        failed += allocator.failed;
        ppsched_schedule_release(schedule);
        assert_int_equal(allocator.live, live);
    }
    assert_int_equal(failed, FAILURES);
    ppsched_config_destroy(config);
    assert_int_equal(allocator.live, 0);
}

/* With copies auto is no longer than what a search makes without the limit, with as few copies as hold it. */
static void test_copies_of_a_search_without_the_limit(void **state)
{
    enum { DEVICES = 3 };
    static const struct {
        double forward[DEVICES], input[DEVICES], weight[DEVICES], copy, limit;
    } problems[] = {{{2, 1, 1}, {1, 2, 2}, {1, 0.5, 1}, 0.5, 3}, {{0.5, 2, 2}, {1, 0.5, 1}, {1, 0.5, 0.5}, 0.25, 2}};
    static const double memory[DEVICES] = {1, 2, 1};
    const ppsched_offload_options until = {.size = sizeof until, .until_limit = 1};
    ppsched_error error;
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        ppsched_config *config = make_config(DEVICES, DEVICES, 2);
        ppsched_schedule *offloaded = NULL;
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, problems[i].forward, DEVICES, NULL), NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, problems[i].input, DEVICES, NULL),
                  NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, problems[i].weight, DEVICES, NULL),
                  NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, memory, DEVICES, NULL), NULL);
        set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, problems[i].copy);
        ppsched_schedule *search = make_schedule(config, "zb_auto");
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, problems[i].limit);
        expect_ok(ppsched_schedule_offload(&offloaded, search, config, &until, &error), &error);
        expect_ok(ppsched_config_set_option(config, "offload", "limit", &error), &error);
        expect_ok(ppsched_config_set_option(config, "effort", "0", &error), &error);
        ppsched_schedule *own = make_schedule(config, "auto");
        ppsched_timeline *timeline = make_timeline(own, config), *other = make_timeline(offloaded, config);
        assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
        assert_true(metrics_of(timeline).makespan <= metrics_of(other).makespan);
        ppsched_timeline_destroy(other);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(own);
        ppsched_schedule_release(offloaded);
        ppsched_schedule_release(search);
        ppsched_config_destroy(config);
    }
}

/* Of others' orders with copies the best takes 54 within this limit; its own is shorter. */
static void test_copies_of_its_own_orders(void **state)
{
    ppsched_config *config = make_config(4, 8, 8);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_RELOAD_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 4);
    expect_ok(ppsched_config_set_option(config, "offload", "limit", NULL), NULL);
    ppsched_schedule *schedule = make_schedule(config, "auto");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_true(metrics_of(timeline).makespan == 53 && metrics_of(timeline).limit_device == PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misspelt_options),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_placements),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_fused_backward),
        cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_smallest_sizes),
        cmocka_unit_test(test_many_stages_on_a_device),
        cmocka_unit_test(test_no_effort),
        cmocka_unit_test(test_other_strategies_alone),
        cmocka_unit_test(test_delays_alone),
        cmocka_unit_test(test_times_at_the_edge),
        cmocka_unit_test(test_times_too_large),
        cmocka_unit_test(test_record_is_left_alone),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_memory_that_runs_out_while_copies_are_tried),
        cmocka_unit_test(test_copies_of_a_search_without_the_limit),
        cmocka_unit_test(test_copies_of_its_own_orders),
    };
    return cmocka_run_group_tests_name("auto", tests, NULL, NULL);
}
