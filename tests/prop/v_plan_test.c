/* SPDX-License-Identifier: Apache-2.0 */
/* The planned strategies of the V placement over random problems: they can be run, keep to memory, and are no longer than what
 * they must not be longer than. */
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 12 };

/* --- zbv_auto --- */

/* A random problem; `least`: the memory that one microbatch needs on each device. */
static ppsched_config *random_problem(uint64_t *state, double least[MOST_DEVICES])
{
    static const int32_t times[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    uint32_t devices = 1 + random_below(state, MOST_DEVICES), stages = 2 * devices;
    double list[2 * MOST_DEVICES], memory[2 * MOST_DEVICES], delays[MOST_DEVICES * MOST_DEVICES];
    int uneven = (int)random_below(state, 3), uneven_memory = (int)random_below(state, 2), delay = (int)random_below(state, 3);
    ppsched_config *config = make_config(devices, stages, 1 + random_below(state, 4 * devices));
    for (int k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < stages; s++)
            list[s] = uneven == 0 ? 1 + k % 2 / 4.0 : 1 + random_below(state, uneven == 1 ? 9 : 65) / 16.0; /* up to 5 times */
        expect_ok(ppsched_config_set_values(config, times[k], list, stages, NULL), NULL);
    }
    for (uint32_t i = 0; i < devices * devices; i++)
        delays[i] = delay * random_below(state, 8) / 8.0;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, delays, devices * devices, NULL), NULL);
    for (uint32_t s = 0; s < stages; s++) {
        memory[s] = uneven_memory ? 4 + random_below(state, 9) : 4;
        list[s] = -(double)random_below(state, (uint32_t)memory[s] + 1); /* of I */
    }
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, memory, stages, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, list, stages, NULL), NULL);
    for (uint32_t d = 0; d < devices; d++)
        least[d] = memory[d] + memory[stages - 1 - d];
    return config;
}

static void set_limits(ppsched_config *config, const double *limits)
{
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, ppsched_config_devices(config), NULL),
              NULL);
}

static double span_of(const ppsched_config *config, const char *strategy, int *fits)
{
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    double span = metrics_of(timeline).span;
    *fits = metrics_of(timeline).limit_device == PPSCHED_NONE;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return span;
}

/* No fixed schedule of the placement that fits is shorter. Returns how many fit. */
static int compare_with_fixed(const ppsched_config *config, double span)
{
    static const char *const fixed[] = {"zbv", "dualpipe_v", "v_1f1b"};
    int fitting = 0;
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++) {
        int fits = 0;
        if (strcmp(fixed[k], "dualpipe_v") == 0 && ppsched_config_microbatches(config) < 2 * ppsched_config_devices(config))
            continue;
        double theirs = span_of(config, fixed[k], &fits);
        if (fits && span > theirs * (1 + 1e-12))
            fail_msg("span %.17g, that of %s is %.17g", span, fixed[k], theirs);
        fitting += fits;
    }
    return fitting;
}

static void test_any_costs_and_limits(void **state)
{
    uint64_t seed = 8;
    int fitting = 0;
    (void)state;
    for (int trial = 0; trial < 1500; trial++) {
        double least[MOST_DEVICES], limits[MOST_DEVICES];
        ppsched_config *config = random_problem(&seed, least);
        uint32_t devices = ppsched_config_devices(config);
        double factor = random_below(&seed, 3) == 0 ? 1 : 1 + random_below(&seed, 8 * devices) / 6.0;
        for (uint32_t d = 0; d < devices; d++)
            limits[d] = floor(least[d] * factor) + (random_below(&seed, 4) == 0 ? random_below(&seed, 9) : 0);
        int limited = random_below(&seed, 6) != 0;
        if (limited)
            set_limits(config, limits);
        int fits = 0;
        double span = span_of(config, "zbv_auto", &fits);
        assert_true(fits);
        if (limited) /* else it keeps to what ZB-V needs */
            fitting += compare_with_fixed(config, span);
        ppsched_config_destroy(config);
    }
    assert_true(fitting > 800);
}

/* Without limits no device holds more than what ZB-V needs, D activations of both its stages; and the plan is that with such
 * limits, not with larger ones. */
static void test_without_limits(void **state)
{
    uint64_t seed = 10;
    int shorter = 0;
    (void)state;
    for (int trial = 0; trial < 150; trial++) {
        double least[MOST_DEVICES], limits[MOST_DEVICES];
        ppsched_config *config = random_problem(&seed, least);
        uint32_t devices = ppsched_config_devices(config);
        int fits = 0;
        ppsched_schedule *schedule = make_schedule(config, "zbv_auto");
        ppsched_timeline *timeline = make_timeline(schedule, config);
        for (uint32_t d = 0; d < devices; d++) {
            double peak = device_metrics_of(timeline, d).peak_memory;
            if (peak > devices * least[d] * (1 + 1e-9))
                fail_msg("device %u of %u holds %g, ZB-V needs %g", d, devices, peak, devices * least[d]);
        }
        for (uint32_t d = 0; d < devices; d++)
            limits[d] = devices * least[d] * (1 + 1e-12);
        double span = metrics_of(timeline).span;
        set_limits(config, limits);
        assert_true(span_of(config, "zbv_auto", &fits) == span && fits);
        for (uint32_t d = 0; d < devices; d++)
            limits[d] *= 4;
        set_limits(config, limits);
        shorter += span_of(config, "zbv_auto", &fits) < span;
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    assert_true(shorter > 15); /* so that the limits say something */
}

/* Below what one microbatch needs it refuses, and the limit that it names works. */
static void test_least_limit(void **state)
{
    uint64_t seed = 9;
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        double least[MOST_DEVICES], lower[MOST_DEVICES], most = 0;
        ppsched_config *config = random_problem(&seed, least);
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        uint32_t devices = ppsched_config_devices(config), short_device = random_below(&seed, devices);
        char named[64];
        int fits = 0;
        memcpy(lower, least, sizeof lower);
        lower[short_device] -= 1;
        for (uint32_t d = 0; d < devices; d++)
            most = fmax(most, least[d]);
        snprintf(named, sizeof named, "the least limit that works is %g", most);
        set_limits(config, lower);
        assert_int_equal(ppsched_schedule_generate(&schedule, config, "zbv_auto", &error), PPSCHED_ERROR_REFUSED);
        assert_non_null(strstr(error.message, named));
        set_limits(config, least);
        span_of(config, "zbv_auto", &fits);
        assert_true(fits);
        ppsched_config_destroy(config);
    }
}

/* D = 8, M = 32, F = I = W = 1, limits in stage passes from the least on: idle cells of the longest span. */
static void test_unit_costs_under_limits(void **state)
{
    static const int idle[] = {461, 399, 151, 147, 71, 53, 23, 22, 17, 15, 11, 9, 5, 3, 0, 0};
    (void)state;
    for (int k = 0; k < (int)(sizeof idle / sizeof idle[0]); k++) {
        int fits = 0;
        ppsched_config *config = make_config(8, 16, 32);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 2 + k);
        double span = span_of(config, "zbv_auto", &fits);
        assert_true(fits);
        if (span > 192 + idle[k])
            fail_msg("limit %d: %g idle, expected %d", 2 + k, span - 192, idle[k]);
        ppsched_config_destroy(config);
    }
}

/* --- v_1f1b --- */

/* Full backwards, and the memory of the pattern: 2 floor((2D+3)/3) stage passes. */
static void test_v_1f1b_at_any_size(void **state)
{
    static const uint32_t microbatches[] = {1, 2, 3, 5, 8, 13, 30, 64};
    (void)state;
    for (uint32_t devices = 1; devices <= 24; devices++)
        for (size_t i = 0; i < sizeof microbatches / sizeof microbatches[0]; i++) {
            ppsched_config *config = make_config(devices, 2 * devices, microbatches[i]);
            ppsched_schedule *schedule = make_schedule(config, "v_1f1b");
            ppsched_timeline *timeline = make_timeline(schedule, config);
            assert_true(metrics_of(timeline).peak_memory <= 2 * ((2 * devices + 3) / 3));
            for (uint32_t d = 0; d < devices; d++) {
                size_t count = 0;
                const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
                assert_int_equal(count, 4 * microbatches[i]);
                for (size_t k = 0; k < count; k++)
                    assert_true(ops[k].kind == PPSCHED_KIND_F || ops[k].kind == PPSCHED_KIND_B);
            }
            ppsched_timeline_destroy(timeline);
            ppsched_schedule_release(schedule);
            ppsched_config_destroy(config);
        }
}

/* The idle time and the peak of 1F1B-V as its authors' code has them, F = 1, B = 2, M = 4D. */
static void test_v_1f1b_against_its_authors(void **state)
{
    static const int table[][3] = {{2, 4, 4},   {3, 8, 6},   {4, 15, 6},   {5, 18, 8},   {6, 22, 10}, {7, 30, 10},
                                   {8, 33, 12}, {9, 36, 14}, {10, 45, 14}, {12, 52, 18}, {16, 75, 22}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int devices = table[i][0];
        ppsched_config *config = make_config(devices, 2 * devices, 4 * devices);
        ppsched_schedule *schedule = make_schedule(config, "v_1f1b");
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_true(metrics_of(timeline).span <= 24 * devices + table[i][1]);
        assert_true(metrics_of(timeline).peak_memory <= table[i][2]);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_costs_and_limits), cmocka_unit_test(test_without_limits),
        cmocka_unit_test(test_least_limit),          cmocka_unit_test(test_unit_costs_under_limits),
        cmocka_unit_test(test_v_1f1b_at_any_size),   cmocka_unit_test(test_v_1f1b_against_its_authors),
    };
    return cmocka_run_group_tests_name("v_plan", tests, NULL, NULL);
}
