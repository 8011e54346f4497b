/* SPDX-License-Identifier: Apache-2.0 */
/* v_half and v_min: the figures of the published building blocks are reached or beaten, the memory is kept whatever the costs,
 * and uneven costs do not ruin a schedule that a full search does better. */
#include "support/problem.h"

#include <string.h>

static const char *const names[] = {"v_half", "v_min"};

/* Chunk activations, in stage passes from F to W: the published bounds. */
static long bound_of(int third, long devices)
{
    return third ? (devices + 4) / 3 * 2 : (devices + 2) / 2 * 2;
}

/* Idle cells of the fixed building blocks at unit costs and 4D microbatches, in the longest device span. */
static long published_idle(int third, long devices)
{
    if (third)
        return 4 * devices - (devices % 3 == 0 ? 7 : 5);
    return devices == 2 ? 1 : 3 * devices - (devices % 2 == 0 ? 7 : 4);
}

/* The most activations that a device holds, counted op by op. */
static long count_held(const ppsched_schedule *schedule)
{
    long most = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        long held = 0;
        for (size_t i = 0; i < count; i++) {
            held += (ops[i].kind == PPSCHED_KIND_F) - (ops[i].kind == PPSCHED_KIND_W);
            most = held > most ? held : most;
        }
    }
    return most;
}

/* Generates, checks, holds the bound; returns the longest device span. */
static double span_of(const ppsched_config *config, int third)
{
    ppsched_schedule *schedule = make_schedule(config, names[third]);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    double span = metrics_of(timeline).span;
    if (count_held(schedule) > bound_of(third, ppsched_config_devices(config)))
        fail_msg("%s on %u devices holds %ld", names[third], ppsched_config_devices(config), count_held(schedule));
    assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return span;
}

static void test_unit_costs(void **state)
{
    (void)state;
    for (int third = 0; third < 2; third++)
        for (long d = 2; d <= 16; d++) {
            ppsched_config *config = make_config(d, 2 * d, 4 * d);
            double idle = span_of(config, third) - 24.0 * (double)d;
            if (idle > (double)published_idle(third, d))
                fail_msg("%s at D = %ld idles %g, the published block %ld", names[third], d, idle, published_idle(third, d));
            assert_true(third || d > 2 || idle == 0);
            ppsched_config_destroy(config);
        }
}

/* Every number of microbatches: never worse than the search over building blocks within the same memory. */
static void test_every_number_of_microbatches(void **state)
{
    (void)state;
    for (int third = 0; third < 2; third++)
        for (long d = 1; d <= 8; d++)
            for (long m = 1; m <= 4 * d; m++) {
                ppsched_config *config = make_config(d, 2 * d, m);
                double span = span_of(config, third);
                set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, (double)bound_of(third, d));
                ppsched_schedule *searched = make_schedule(config, "v_search");
                ppsched_timeline *timeline = make_timeline(searched, config);
                if (span > metrics_of(timeline).span)
                    fail_msg("%s at D = %ld, M = %ld: %g, v_search %g", names[third], d, m, span, metrics_of(timeline).span);
                ppsched_timeline_destroy(timeline);
                ppsched_schedule_release(searched);
                ppsched_config_destroy(config);
            }
}

/* Times of 2D stages, up to `spread` times as long on one as on another. */
static void draw_times(uint64_t *seed, ppsched_config *config, double spread)
{
    static const int32_t kinds[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    double scale[32], times[32];
    uint32_t stages = ppsched_config_stages(config);
    for (uint32_t s = 0; s < stages; s++)
        scale[s] = 1 + (spread - 1) * random_below(seed, 1000) / 1000.0;
    for (int k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < stages; s++)
            times[s] = scale[s] * (0.5 + random_below(seed, 100) / 100.0);
        expect_ok(ppsched_config_set_values(config, kinds[k], times, stages, NULL), NULL);
    }
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 3) == 0 ? random_below(seed, 10) / 10.0 : 0);
}

/* At no draw more than a tenth longer than what v_search finds in far more time, and shorter on average. */
static void test_uneven_costs(void **state)
{
    uint64_t seed = 9;
    double sum = 0;
    const int trials = 300;
    (void)state;
    for (int trial = 0; trial < trials; trial++) {
        int third = trial % 2;
        long d = 2 + random_below(&seed, 6), m = 1 + random_below(&seed, 4 * (uint32_t)d);
        ppsched_config *config = make_config(d, 2 * d, m);
        draw_times(&seed, config, trial % 3 == 0 ? 1 : 5);
        double span = span_of(config, third);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, (double)bound_of(third, d));
        if (span_of(config, third) != span)
            fail_msg("%s at D = %ld, M = %ld: another span under a limit of what it may hold anyway", names[third], d, m);
        ppsched_schedule *searched = make_schedule(config, "v_search");
        ppsched_timeline *timeline = make_timeline(searched, config);
        double share = span / metrics_of(timeline).span;
        if (share > 1.1)
            fail_msg("%s at D = %ld, M = %ld: %g, v_search %g", names[third], d, m, span, metrics_of(timeline).span);
        sum += share;
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(searched);
        ppsched_config_destroy(config);
    }
    print_message("# the span is %.3f of v_search's on average\n", sum / trials);
    assert_true(sum / trials < 1);
}

/* A memory limit holds as well; down to one microbatch at a time. */
static void test_memory_limits(void **state)
{
    uint64_t seed = 10;
    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        long d = 1 + random_below(&seed, 8), m = 1 + random_below(&seed, 20);
        double input[16], weight[16], lowest = 0;
        ppsched_error error;
        ppsched_schedule *schedule = NULL;
        ppsched_config *config = make_config(d, 2 * d, m);
        draw_times(&seed, config, 3);
        for (long s = 0; s < 2 * d; s++) {
            input[s] = -(double)random_below(&seed, 8) / 8;
            weight[s] = -(double)random_below(&seed, 8) / 8;
        }
        for (long s = 0; s < d; s++) {
            double needed = -(input[s] + weight[s] + input[2 * d - 1 - s] + weight[2 * d - 1 - s]);
            lowest = needed > lowest ? needed : lowest;
        }
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, input, 2 * (size_t)d, &error), &error);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, weight, 2 * (size_t)d, &error),
                  &error);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, lowest * (1 + random_below(&seed, 4) / 2.0));
        span_of(config, trial % 2);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, lowest / 2);
        if (lowest > 0) {
            assert_int_equal(ppsched_schedule_generate(&schedule, config, names[trial % 2], &error), PPSCHED_ERROR_REFUSED);
            assert_non_null(strstr(error.message, "the least limit that works is"));
        }
        ppsched_config_destroy(config);
    }
}

/* Few microbatches, and one device that holds no more than three stage passes: what follows from the patterns goes over that,
 * so that one microbatch runs after another. */
static void test_one_short_device(void **state)
{
    static const double limits[] = {3, 20, 20, 20};
    (void)state;
    for (int third = 0; third < 2; third++) {
        ppsched_config *config = make_config(4, 8, 4);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, 4, NULL), NULL);
        assert_true(span_of(config, third) <= 4 * 24);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit_costs),       cmocka_unit_test(test_every_number_of_microbatches),
        cmocka_unit_test(test_uneven_costs),     cmocka_unit_test(test_memory_limits),
        cmocka_unit_test(test_one_short_device),
    };
    return cmocka_run_group_tests_name("controlled", tests, NULL, NULL);
}
