/* SPDX-License-Identifier: Apache-2.0 */
/* Figures that can be told by hand or from a paper. */
#include "support/problem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241), tables 5 and 9: the profile of the 28.3B model on 32 devices with 96
 * microbatches, in milliseconds. */
static ppsched_config *profile_28b(void)
{
    ppsched_config *config = make_config(32, 32, 96);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 10.419);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 10.207);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 7.715);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.408);
    return config;
}

static double four_digits(double x)
{
    return floor(x * 10000 + 0.5) / 10000;
}

static void test_published_profile(void **state)
{
    static const struct {
        const char *strategy;
        double bubble;
    } rows[] = {{"1f1b", 0.2646}, {"zb_h1", 0.1421}};
    ppsched_config *config = profile_28b();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ppsched_schedule *schedule = make_schedule(config, rows[i].strategy);
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_true(four_digits(metrics_of(timeline).bubble_of_span) == rows[i].bubble);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
    }
    ppsched_config_destroy(config);
}

static ppsched_timeline *evaluate(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_schedule_release(schedule); /* the timeline keeps it */
    return timeline;
}

static void test_figures(void **state)
{
    ppsched_config *config = make_config(4, 4, 8);
    ppsched_timeline *timeline = evaluate(config, "1f1b");
    ppsched_metrics metrics = metrics_of(timeline);
    (void)state;
    assert_true(metrics.makespan == 33 && metrics.span == 33 && metrics.span_device == 0);
    assert_true(metrics.bubble_of_total == 9.0 / 33 && metrics.bubble_of_ideal == 9.0 / 24);
    assert_true(fabs(metrics.bubble_of_span - 9.0 / 33) < 1e-15);
    assert_true(metrics.peak_memory == 4 && metrics.peak_device == 0);
    assert_int_equal(metrics.limit_device, PPSCHED_NONE);
    for (uint32_t d = 0; d < 4; d++) {
        ppsched_device_metrics device = device_metrics_of(timeline, d);
        assert_true(device.busy == 24 && device.idle == 9);
        assert_true(device.peak_memory == 4 - d && device.first_start == d);
        assert_int_equal(device.peak_position, 3 - d);
        assert_true(device.peak_time == 3 && isinf(device.memory_limit));
    }
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* F takes 3 at its start, I gives back 1 and W the other 2 at their ends. */
static void test_memory_curve(void **state)
{
    enum { POINTS = 7 };
    static const ppsched_memory_point wanted[POINTS] = {{0, 10}, {1, 13}, {3, 12}, {3, 15}, {5, 14}, {6, 12}, {7, 10}};
    ppsched_memory_point points[POINTS + 1];
    size_t count = 0;
    ppsched_config *config = make_config(2, 2, 2);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -1);
    set_number(config, PPSCHED_QUANTITY_MEM_STATIC, 10);
    ppsched_timeline *timeline = evaluate(config, "zb_h1");
    assert_int_equal(ppsched_timeline_get_memory(NULL, 0, &count, timeline, 1, NULL), PPSCHED_OK);
    assert_int_equal(count, POINTS);
    assert_int_equal(ppsched_timeline_get_memory(points, POINTS - 1, &count, timeline, 1, NULL), PPSCHED_ERROR_BUFFER);
    assert_int_equal(ppsched_timeline_get_memory(points, POINTS - 1, &count, timeline, 2, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_timeline_get_memory(points, POINTS + 1, &count, timeline, 1, NULL), PPSCHED_OK);
    assert_int_equal(count, POINTS);
    char *text = queue_text(ppsched_timeline_schedule(timeline), 1);
    assert_string_equal(text, "1F0 1I0 1F1 1I1 1W0 1W1");
    free(text);
    for (size_t i = 0; i < POINTS; i++)
        assert_true(points[i].time == wanted[i].time && points[i].memory == wanted[i].memory);
    assert_true(device_metrics_of(timeline, 1).peak_memory == 15);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

static void test_weight_versions(void **state)
{
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_STATIC, 10);
    set_number(config, PPSCHED_QUANTITY_MEM_WEIGHTS, 100);
    ppsched_timeline *flush = evaluate(config, "1f1b"), *no_flush = evaluate(config, "1f1b_no_flush");
    assert_true(device_metrics_of(flush, 0).static_memory == 110);
    assert_true(device_metrics_of(no_flush, 0).static_memory == 210);
    assert_true(device_metrics_of(no_flush, 0).peak_memory == 212);
    expect_ok(ppsched_config_set_weight_versions(config, 3, &error), &error);
    ppsched_timeline *three = evaluate(config, "1f1b");
    assert_true(device_metrics_of(three, 0).static_memory == 310);
    assert_int_equal(ppsched_schedule_weight_versions(ppsched_timeline_schedule(three)), 3);
    assert_int_equal(ppsched_config_set_weight_versions(config, -1, &error), PPSCHED_ERROR_RANGE);
    ppsched_timeline_destroy(flush);
    ppsched_timeline_destroy(no_flush);
    ppsched_timeline_destroy(three);
    ppsched_config_destroy(config);
}

static void test_iterations_flush(void **state)
{
    ppsched_config *config = make_config(3, 3, 4);
    ppsched_error error;
    (void)state;
    ppsched_timeline *one = evaluate(config, "zb_h1");
    expect_ok(ppsched_config_set_iterations(config, 3, &error), &error);
    ppsched_timeline *three = evaluate(config, "zb_h1"), *no_flush = evaluate(config, "1f1b_no_flush");
    assert_true(metrics_of(three).makespan == 3 * metrics_of(one).makespan);
    assert_true(metrics_of(no_flush).makespan == (12 + 2) * 3);
    for (uint32_t d = 0; d < 3; d++) {
        const ppsched_span *spans = ppsched_timeline_spans(three, d, NULL);
        assert_true(spans[12].start >= metrics_of(one).makespan && spans[11].end <= metrics_of(one).makespan);
    }
    ppsched_timeline_destroy(one);
    ppsched_timeline_destroy(three);
    ppsched_timeline_destroy(no_flush);
    ppsched_config_destroy(config);
}

static void test_slack_is_zero_on_the_critical_path(void **state)
{
    ppsched_config *config = profile_28b();
    ppsched_timeline *timeline = evaluate(config, "1f1b");
    size_t count = 0, critical = 0;
    (void)state;
    for (uint32_t d = 0; d < 32; d++) {
        const double *latest = ppsched_timeline_latest_starts(timeline, d, &count);
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, NULL);
        for (size_t i = 0; i < count; i++) {
            assert_true(latest[i] >= spans[i].start);
            critical += latest[i] == spans[i].start;
        }
    }
    assert_true(critical >= 2 * 32 + 2 * 95); /* down, up, and device 31 or 0 in between */
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

static void test_earliest_only(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    size_t count = 7;
    (void)state;
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), &error);
    assert_null(ppsched_timeline_latest_starts(timeline, 0, &count));
    assert_int_equal(count, 0);
    assert_null(ppsched_timeline_spans(timeline, 2, &count));
    ppsched_timeline_destroy(timeline);
    assert_int_equal(ppsched_schedule_evaluate(&timeline, schedule, config, 8, &error), PPSCHED_ERROR_ARGUMENT);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_mismatch_and_overflow(void **state)
{
    ppsched_config *config = make_config(2, 2, 2), *other = make_config(4, 4, 2);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_schedule_evaluate(&timeline, schedule, other, 0, &error), PPSCHED_ERROR_MISMATCH);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, DBL_MAX);
    assert_int_equal(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "too large"));
    assert_null(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    ppsched_config_destroy(other);
}

static void test_delay_per_pair(void **state)
{
    const double delay[] = {0, 5, 7, 0}; /* 0 to 1: 5, 1 to 0: 7 */
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, delay, 4, &error), &error);
    ppsched_timeline *timeline = evaluate(config, "gpipe");
    assert_true(metrics_of(timeline).makespan == 1 + 5 + 1 + 2 + 7 + 2);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* Ops that do not compute take no time, wait for the flush, and do not count as a device's start. */
static void test_other_ops(void **state)
{
    static const char *const first[] = {"0F0", "0B0", "0F1", "0B1"};
    static const char *const second[] = {"1UNSHARD", "1F0", "1B0", "1RECV_F1", "1F1", "1B1"};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    append_tokens(builder, 0, first, 4);
    append_tokens(builder, 1, second, 6);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    const ppsched_span *spans = ppsched_timeline_spans(timeline, 1, NULL);
    assert_true(spans[0].start == 0 && spans[0].end == 0 && spans[3].start == 6 && spans[3].end == 6);
    assert_true(spans[4].start == 7 && metrics_of(timeline).makespan == 12);
    assert_true(device_metrics_of(timeline, 1).first_start == 1 && device_metrics_of(timeline, 1).busy == 6);
    const double *latest = ppsched_timeline_latest_starts(timeline, 1, NULL);
    assert_true(latest[3] == 7 && latest[4] == 7);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* A device that recomputes computes: it has no window there. It does F, RECOMPUTE and B without a break. */
static void test_recomputing_is_no_idle_window(void **state)
{
    static const char *const tokens[] = {"0F0", "0RECOMPUTE0", "0B0"};
    ppsched_config *config = make_config(1, 1, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_idle_window window;
    ppsched_error error;
    size_t count = 9;
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    append_tokens(builder, 0, tokens, 3);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_true(metrics_of(timeline).makespan == 4);
    expect_ok(ppsched_timeline_get_idle_windows(&window, 1, &count, timeline, 0, &error), &error);
    assert_int_equal(count, 0);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* Without a number of bytes, what is copied is the memory of F, also where that follows from the other two, and from what is
 * recomputed. */
static void test_copied_by_default(void **state)
{
    static const char *const tokens[] = {"0F0", "0OFFLOAD0", "0RELOAD0", "0B0"};
    ppsched_config *config = make_config(1, 1, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    append_tokens(builder, 0, tokens, 4);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -1);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -4);
    set_number(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, 0.5);
    for (double recomputed = 0; recomputed <= 2; recomputed += 2) {
        set_number(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, recomputed);
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_true(metrics_of(timeline).makespan == 1 + 2 * (5 - recomputed) / 0.5 + 2);
        ppsched_timeline_destroy(timeline);
    }
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* A comm op of an iteration may stand behind ops of the next one, whose latest starts are as without it. */
static void test_late_comm_op(void **state)
{
    static const char *const first[] = {"0F0", "0B0", "0F1", "0B1"};
    static const char *const second[] = {"1F0", "1I0", "1W0", "1F1", "1I1", "1W1", "1SEND_B0"};
    static const double wanted[] = {1, 2, 4, 6, 7, 9, 10};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    append_tokens(builder, 0, first, 4);
    append_tokens(builder, 1, second, 7);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    const double *latest = ppsched_timeline_latest_starts(timeline, 1, NULL);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_true(latest[i] == wanted[i]);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

static void test_zero_times(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 0);
    ppsched_timeline *timeline = evaluate(config, "1f1b");
    ppsched_metrics metrics = metrics_of(timeline);
    assert_true(metrics.makespan == 0 && metrics.bubble_of_total == 0 && metrics.bubble_of_ideal == 0);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* Numbers of any size, without end in binary, or zeros. Returns their sum. */
static double set_drawn(ppsched_config *config, int32_t quantity, int is_zero, uint64_t *seed)
{
    double values[3], sum = 0;
    uint32_t stages = ppsched_config_stages(config);
    ppsched_error error;
    for (uint32_t s = 0; s < stages; s++) {
        values[s] = ldexp((1 + random_below(seed, 1000000)) / 1000003.0, (int)random_below(seed, 12) - 6);
        values[s] = is_zero ? 0 : values[s];
        sum += values[s];
    }
    expect_ok(ppsched_config_set_values(config, quantity, values, stages, &error), &error);
    return sum;
}

/* The causes of a peak, added up in their order, are the peak to the last bit, and each is what was given but for rounding. */
static void test_causes_add_up(void **state)
{
    enum { CAUSES = PPSCHED_MEMORY_CAUSE_ACTIVATIONS + 1 };
    uint64_t seed = 3;
    (void)state;
    for (int trial = 0; trial < 20000; trial++) {
        int versions = 1 + trial % 2, is_plain = trial % 5 == 0;
        double causes[CAUSES], sum = 0;
        ppsched_config *config = make_config(1, versions > 1 ? 1 : 1 + random_below(&seed, 3), 3);
        ppsched_error error;
        set_drawn(config, PPSCHED_QUANTITY_MEM_FORWARD, is_plain, &seed);
        double fixed = set_drawn(config, PPSCHED_QUANTITY_MEM_STATIC, trial % 3 == 0, &seed);
        double weights = versions * set_drawn(config, PPSCHED_QUANTITY_MEM_WEIGHTS, trial % 4 == 0, &seed);
        ppsched_timeline *timeline = evaluate(config, versions > 1 ? "1f1b_no_flush" : "looped_bfs");
        expect_ok(ppsched_timeline_get_peak_causes(causes, CAUSES, NULL, timeline, 0, &error), &error);
        for (int i = 0; i < CAUSES; i++)
            sum += causes[i];
        assert_true(sum == device_metrics_of(timeline, 0).peak_memory);
        assert_true(!is_plain || causes[PPSCHED_MEMORY_CAUSE_ACTIVATIONS] == 0);
        assert_float_equal(causes[PPSCHED_MEMORY_CAUSE_STATIC], fixed, 1e-15 * sum);
        assert_float_equal(causes[PPSCHED_MEMORY_CAUSE_WEIGHTS], weights, 1e-15 * sum);
        ppsched_timeline_destroy(timeline);
        ppsched_config_destroy(config);
    }
}

/* A pair takes what was given for it, where its ops take nothing of which it could take a share; else it grows as they do. */
static void test_pairs_of_scaled_microbatches(void **state)
{
    static const double scales[] = {0.5, 2, 0.25, 4};
    static const struct {
        double forward, backward, makespan; /* F0; a pair of F1 and B0, of F2 and B1, of F3 and B2; B3 */
    } cases[] = {{0, 0, 3 + 3 + 3},
                 {1, 0, 0.5 + 3 * (2 + 0.25 + 4)},
                 {0, 1, 3 * (0.5 + 2 + 0.25) + 4},
                 {1, 2, 0.5 + 3 * ((2 + 2 * 0.5) + (0.25 + 2 * 2) + (4 + 2 * 0.25)) / 3 + 2 * 4}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *config = make_config(1, 1, 4);
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, cases[i].forward);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, cases[i].backward);
        set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 3);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scales, 4, NULL), NULL);
        ppsched_timeline *timeline = evaluate(config, "1f1b_overlap");
        assert_float_equal(metrics_of(timeline).makespan, cases[i].makespan, 1e-12);
        ppsched_timeline_destroy(timeline);
        ppsched_config_destroy(config);
    }
}

/* A value that is made at time 0 is on its way from then on: device 2 waits 5 for that of stage 2, and 2
 * more for a copy; then 5 for what stage 2 gives back. */
static void test_made_at_zero(void **state)
{
    static const uint32_t map[] = {0, 2, 1, 2};
    static const double forwards[] = {0, 0, 0, 1}, paths[] = {0, 0, 0, 0, 0, 5, 0, 0, 0};
    static const char *const tokens[3][9] = {
        {"0F0", "0B0"}, {"2F0", "2B0"}, {"1F0", "1OFFLOAD0", "1OFFLOAD_WAIT0", "3F0", "3B0", "1RELOAD0", "1B0"}};
    ppsched_config *config = make_config(3, 4, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_idle idle = {.size = sizeof idle};
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 4, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forwards, 4, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, paths, 9, NULL), NULL);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 20);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 7);
    expect_ok(ppsched_builder_create(&builder, config, NULL), NULL);
    for (uint32_t d = 0; d < 3; d++)
        append_tokens(builder, d, tokens[d], d < 2 ? 2 : 7);
    expect_ok(ppsched_builder_finish(&schedule, builder, NULL), NULL);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    expect_ok(ppsched_timeline_get_idle(&idle, timeline, 2, NULL), NULL);
    assert_true(idle.transfer == 5 + 5 && idle.reload == 2 && idle.fill == 0);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* What is held once all ops are over, beside what always is; never less than that before. */
static double left_over(const ppsched_config *config, const char *strategy)
{
    enum { MOST = 3 * 2000 + 1 };
    static ppsched_memory_point points[MOST];
    ppsched_timeline *timeline = evaluate(config, strategy);
    ppsched_error error;
    size_t count = 0;
    expect_ok(ppsched_timeline_get_memory(points, MOST, &count, timeline, 0, &error), &error);
    ppsched_timeline_destroy(timeline);
    for (size_t i = 0; i < count; i++)
        assert_true(points[i].memory > points[0].memory - 1e-11);
    return points[count - 1].memory - points[0].memory;
}

/* Of F, I and W any two or all three are given, with ten digits of which the last may be off; the three sum to 0, so that over
 * thousands of microbatches nothing is left, however W and I are run. */
static void test_given_memory_goes_again(void **state)
{
    static const struct {
        double f, i, w; /* NaN: not given */
    } cases[] = {
        {1.234567891, -0.4115226304, -0.8230452607},
        {1.234567891, -0.4115226303, -0.8230452605},
        {1.234567891, -1.234567891, -0.0000000004},
        {1.234567891, -1.2345678914, 0},
        {1.234567891, 0, -1.2345678914},
        {1.234567891, -1.2345678914, NAN},
        {1.234567891, -0.4115226304, NAN},
        {1.234567891, NAN, -1.2345678914},
        {1.234567891, NAN, -0.8230452605},
        {NAN, -0.4115226304, -0.8230452607},
    };
    static const char *const strategies[] = {"1f1b", "zb_h1"};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const double given[] = {cases[k].f, cases[k].i, cases[k].w};
        ppsched_config *config = make_config(1, 1, 2000);
        for (int q = 0; q < 3; q++)
            if (!isnan(given[q]))
                set_number(config, PPSCHED_QUANTITY_MEM_FORWARD + q, given[q]);
        for (int i = 0; i < 2; i++)
            if (fabs(left_over(config, strategies[i])) > 1e-11)
                fail_msg("case %zu, %s: %g is left", k, strategies[i], left_over(config, strategies[i]));
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_profile),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_memory_curve),
        cmocka_unit_test(test_weight_versions),
        cmocka_unit_test(test_iterations_flush),
        cmocka_unit_test(test_slack_is_zero_on_the_critical_path),
        cmocka_unit_test(test_earliest_only),
        cmocka_unit_test(test_mismatch_and_overflow),
        cmocka_unit_test(test_delay_per_pair),
        cmocka_unit_test(test_other_ops),
        cmocka_unit_test(test_recomputing_is_no_idle_window),
        cmocka_unit_test(test_copied_by_default),
        cmocka_unit_test(test_late_comm_op),
        cmocka_unit_test(test_zero_times),
        cmocka_unit_test(test_made_at_zero),
        cmocka_unit_test(test_causes_add_up),
        cmocka_unit_test(test_given_memory_goes_again),
        cmocka_unit_test(test_pairs_of_scaled_microbatches),
    };
    return cmocka_run_group_tests_name("evaluate", tests, NULL, NULL);
}
