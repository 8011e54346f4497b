/* SPDX-License-Identifier: Apache-2.0 */
/* Figures without the schedule are those of the schedule, evaluated op by op: bit for bit where times are on a grid. By hand
 * with more problems: steady_sweep_test COUNT [SEED]. */
#include "support/meter.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBLEMS = ROUNDS(700),
    MOST_DEVICES = 9,
    MOST_STAGES = 3 * MOST_DEVICES,
    MOST_MICROBATCHES = 400,
    CAUSES = PPSCHED_MEMORY_CAUSE_ACTIVATIONS + 1,
    REASONS = 6
};

static const char *const strategies[] = {"1f1b",
                                         "seq_1f1b",
                                         "eager_1f1b",
                                         "1f1b_no_flush",
                                         "eager_1f1b_no_flush",
                                         "1f1b_overlap",
                                         "interleaved_1f1b",
                                         "slimpipe",
                                         "interleaved_1f1b_overlap",
                                         "interleaved_1f1b_less_memory",
                                         "interleaved_zb",
                                         "group_interleaved_1f1b",
                                         "zb_h1",
                                         "zb_h2",
                                         "zbv",
                                         "dualpipe_v",
                                         "dualpipe",
                                         "gpipe",
                                         "looped_bfs",
                                         "v_1f1b"};

enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

/* How times are drawn. */
enum shape { EQUAL, FEW_VALUES, GRID, DECIMALS, SHAPES };

static uint32_t found, exact, ties, longest_period, longest_transient, reasons[REASONS];
static uint64_t all_microbatches, timed_microbatches;
static double worst;

/* --- the problems --- */

static double draw_time(enum shape shape, uint64_t *seed)
{
    if (shape == FEW_VALUES)
        return 0.125 * (double)(4 + random_below(seed, 9));
    if (shape == GRID)
        return (double)(500 + random_below(seed, 1000)) / 512;
    return shape == DECIMALS ? (double)(500 + random_below(seed, 1000)) / 999 : 1.25;
}

static void draw_list(ppsched_config *config, int32_t quantity, enum shape shape, uint64_t *seed)
{
    double list[64];
    const uint32_t count = shape == EQUAL || random_below(seed, 3) == 0 ? 1 : ppsched_config_stages(config);
    for (uint32_t i = 0; i < count; i++)
        list[i] = draw_time(shape, seed);
    expect_ok(ppsched_config_set_values(config, quantity, list, count, NULL), NULL);
}

/* A value for each pair of devices or stages. */
static void draw_pairs(ppsched_config *config, int32_t quantity, uint32_t of, enum shape shape, double factor, uint64_t *seed)
{
    double list[MOST_STAGES * MOST_STAGES];
    for (uint32_t i = 0; i < of * of; i++)
        list[i] = factor * draw_time(shape, seed);
    expect_ok(ppsched_config_set_values(config, quantity, list, of * of, NULL), NULL);
}

static void draw_delays(ppsched_config *config, enum shape shape, uint64_t *seed)
{
    const uint32_t how = random_below(seed, 6);
    const double share = 1.0 / (1 << random_below(seed, 4));
    if (how < 2)
        set_number(config, PPSCHED_QUANTITY_P2P_TIME, share * draw_time(shape, seed));
    else if (how == 2)
        draw_pairs(config, PPSCHED_QUANTITY_P2P_TIME, ppsched_config_devices(config), shape, share, seed);
    if (random_below(seed, 4) == 0) {
        set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 1 + random_below(seed, 3));
        set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, shape == DECIMALS ? 9 : 8);
    }
    if (random_below(seed, 6) == 0)
        expect_ok(ppsched_config_set_sender_waits(config, PPSCHED_SENDER_WAITS_LIKE_KIND, NULL), NULL);
}

static void draw_memory(ppsched_config *config, uint64_t *seed)
{
    double list[64];
    const uint32_t stages = ppsched_config_stages(config);
    for (uint32_t i = 0; i < stages; i++)
        list[i] = 1 + random_below(seed, 4);
    if (random_below(seed, 2) == 0)
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, list, stages, NULL), NULL);
    if (random_below(seed, 3) == 0)
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_STATIC, list, stages, NULL), NULL);
    if (random_below(seed, 3) == 0)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 2 + random_below(seed, 30));
    if (random_below(seed, 4) == 0) {
        set_number(config, PPSCHED_QUANTITY_MEM_GRADIENTS, 0.5);
        set_number(config, PPSCHED_QUANTITY_MEM_OUTPUT, 0.25);
        set_number(config, PPSCHED_QUANTITY_MEM_WORK_BACKWARD, 1.5);
    }
}

static void draw_speeds(ppsched_config *config, uint64_t *seed)
{
    double list[MOST_DEVICES];
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
        list[d] = 1.0 / (1 << random_below(seed, 3));
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, list, ppsched_config_devices(config), NULL),
              NULL);
}

/* Costs by microbatch, which have no period. */
static void draw_factors(ppsched_config *config, uint64_t *seed)
{
    double list[MOST_MICROBATCHES];
    for (uint32_t m = 0; m < ppsched_config_microbatches(config); m++)
        list[m] = 0.25 * (1 + random_below(seed, 8));
    expect_ok(
        ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, list, ppsched_config_microbatches(config), NULL),
        NULL);
}

static ppsched_config *draw_config(const char *strategy, uint64_t *seed)
{
    const enum shape shape = random_below(seed, SHAPES);
    ppsched_strategy_info info = {.size = sizeof info};
    uint32_t number = 0;
    expect_ok(ppsched_strategy_find(&number, strategy, NULL), NULL);
    expect_ok(ppsched_strategy_get_info(&info, number, NULL), NULL);
    const uint32_t devices = 1 + random_below(seed, MOST_DEVICES);
    const uint32_t chunks = info.chunks > 0 ? info.chunks : 1 + random_below(seed, 3);
    ppsched_config *config = make_config(devices, devices * chunks, 1 + random_below(seed, MOST_MICROBATCHES));
    if (random_below(seed, 4) == 0)
        expect_ok(ppsched_config_set_iterations(config, 2 + random_below(seed, 2), NULL), NULL);
    if (random_below(seed, 3) == 0 && chunks > 1) {
        char text[12];
        snprintf(text, sizeof text, "%u", 1 + random_below(seed, 2 * devices));
        ppsched_config_set_option(config, "group_size", text, NULL);
    }
    if (strcmp(strategy, "seq_1f1b") == 0 || strcmp(strategy, "slimpipe") == 0 || random_below(seed, 9) == 0)
        expect_ok(ppsched_config_set_slices(config, 1 + random_below(seed, 9), NULL), NULL);
    draw_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, shape, seed);
    if (random_below(seed, 2) == 0)
        draw_list(config, PPSCHED_QUANTITY_BACKWARD_TIMES, shape, seed);
    else {
        draw_list(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, shape, seed);
        draw_list(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, shape, seed);
    }
    const uint32_t pairs = random_below(seed, 8);
    if (pairs < 2)
        set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 2 * draw_time(shape, seed));
    else if (pairs == 2)
        draw_pairs(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, ppsched_config_stages(config), shape, 2, seed);
    if (random_below(seed, 9) == 0)
        set_number(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, shape == DECIMALS ? 1.1 : 0.5);
    else if (random_below(seed, 9) == 0)
        draw_speeds(config, seed);
    if (random_below(seed, 20) == 0)
        draw_factors(config, seed);
    draw_delays(config, shape, seed);
    draw_memory(config, seed);
    return config;
}

/* --- comparing --- */

static void expect_near(const char *what, double a, double b, double scale, double rounding)
{
    const double most = rounding == 0 ? 0 : scale * 0x1p-39;
    if (rounding > 0)
        worst = fmax(worst, fabs(a - b) / scale);
    if (fabs(a - b) <= most || (isinf(a) && isinf(b)))
        return;
    fail_msg("%s is %.17g, not %.17g", what, a, b);
}

static void expect_device(const ppsched_steady *steady, const ppsched_timeline *timeline, uint32_t d, double makespan,
                          double rounding)
{
    ppsched_device_metrics a = {.size = sizeof a};
    const ppsched_device_metrics b = device_metrics_of(timeline, d);
    ppsched_idle idle = {.size = sizeof idle}, other = {.size = sizeof other};
    double causes[CAUSES], others[CAUSES];
    expect_ok(ppsched_steady_get_device_metrics(&a, steady, d, NULL), NULL);
    if (a.peak_position != b.peak_position)
        fail_msg("device %u: position %u, not %u; peak %.17g, %.17g at %.17g, %.17g", d, a.peak_position, b.peak_position,
                 a.peak_memory, b.peak_memory, a.peak_time, b.peak_time);
    expect_near("busy", a.busy, b.busy, makespan, rounding);
    expect_near("idle", a.idle, b.idle, makespan, rounding);
    expect_near("first start", a.first_start, b.first_start, makespan, rounding);
    expect_near("last end", a.last_end, b.last_end, makespan, rounding);
    expect_near("static memory", a.static_memory, b.static_memory, 1, 0);
    expect_near("peak memory", a.peak_memory, b.peak_memory, 1, 0);
    expect_near("peak time", a.peak_time, b.peak_time, makespan, rounding);
    expect_near("limit", a.memory_limit, b.memory_limit, 1, 0);
    expect_ok(ppsched_steady_get_idle(&idle, steady, d, NULL), NULL);
    expect_ok(ppsched_timeline_get_idle(&other, timeline, d, NULL), NULL);
    expect_near("fill", idle.fill, other.fill, makespan, rounding);
    expect_near("drain", idle.drain, other.drain, makespan, rounding);
    expect_near("neighbour and transfer", idle.neighbour + idle.transfer, other.neighbour + other.transfer, makespan, rounding);
    expect_near("imbalance", idle.imbalance, other.imbalance, makespan, rounding);
    expect_near("slow_devices", idle.slow_devices, other.slow_devices, makespan, rounding);
    if (rounding > 0 && fabs(idle.transfer - other.transfer) > makespan * 0x1p-39)
        ties++; /* of a pair, both inputs arrive at the same time but for rounding: either is the last */
    else
        expect_near("transfer", idle.transfer, other.transfer, makespan, rounding);
    expect_ok(ppsched_steady_get_peak_causes(causes, CAUSES, NULL, steady, d, NULL), NULL);
    expect_ok(ppsched_timeline_get_peak_causes(others, CAUSES, NULL, timeline, d, NULL), NULL);
    assert_memory_equal(causes, others, sizeof causes);
}

static void note(const ppsched_steady_period *period, const ppsched_config *config)
{
    assert_in_range(period->reason, 0, REASONS - 1);
    reasons[period->reason]++;
    if (period->reason != PPSCHED_STEADY_REASON_FOUND)
        return;
    found++;
    exact += period->rounding == 0;
    all_microbatches += ppsched_config_microbatches(config);
    timed_microbatches += period->timed;
    if (period->blocks > longest_period)
        longest_period = period->blocks;
    if (period->transient > longest_transient)
        longest_transient = period->transient;
    assert_true(period->cycle_time > 0 && period->time > 0 && period->timed <= ppsched_config_microbatches(config) * 3);
}

static void compare(const ppsched_config *config, const char *strategy)
{
    ppsched_error error = {0};
    ppsched_steady *steady = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_steady_period period = {.size = sizeof period};
    ppsched_metrics a = {.size = sizeof a};
    const ppsched_status status = ppsched_schedule_generate(&schedule, config, strategy, NULL);
    if (status == PPSCHED_OK)
        expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), &error);
    assert_int_equal(ppsched_steady_create(&steady, config, strategy, &error), status);
    if (status == PPSCHED_OK) {
        const ppsched_metrics b = metrics_of(timeline);
        expect_ok(ppsched_steady_get_period(&period, steady, NULL), NULL);
        expect_ok(ppsched_steady_get_metrics(&a, steady, NULL), NULL);
        note(&period, config);
        expect_near("makespan", a.makespan, b.makespan, b.makespan, period.rounding);
        expect_near("span", a.span, b.span, b.makespan, period.rounding);
        expect_near("bubble of total", a.bubble_of_total, b.bubble_of_total, 1, period.rounding);
        expect_near("bubble of ideal", a.bubble_of_ideal, b.bubble_of_ideal, 1, period.rounding);
        expect_near("bubble of span", a.bubble_of_span, b.bubble_of_span, 1, period.rounding);
        expect_near("peak", a.peak_memory, b.peak_memory, 1, 0);
        assert_int_equal(a.peak_device, b.peak_device);
        assert_int_equal(a.limit_device, b.limit_device);
        if (period.rounding == 0)
            assert_int_equal(a.span_device, b.span_device);
        for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
            expect_device(steady, timeline, d, b.makespan, period.rounding);
    }
    ppsched_steady_destroy(steady);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
}

static uint64_t count = PROBLEMS, first_seed = 1;

static void figures_are_those_of_the_schedule(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t seed = first_seed + i;
        const char *strategy = strategies[random_below(&seed, STRATEGIES)];
        ppsched_config *config = draw_config(strategy, &seed);
        if (getenv("SHOW"))
            fprintf(stderr, "%lu %s D %u S %u M %u I %u\n", (unsigned long)(first_seed + i), strategy,
                    ppsched_config_devices(config), ppsched_config_stages(config), ppsched_config_microbatches(config),
                    ppsched_config_iterations(config));
        compare(config, strategy);
        ppsched_config_destroy(config);
    }
    print_message(
        "found %u (exact %u), longest period %u blocks, transient %u; timed %.3f; reasons %u %u %u %u %u; ties %u; worst %g\n",
        found, exact, longest_period, longest_transient, (double)timed_microbatches / (double)all_microbatches, reasons[1],
        reasons[2], reasons[3], reasons[4], reasons[5], ties, worst);
    assert_true(10 * (uint64_t)found > 2 * count && exact > 0 && 1000 * ties <= found);
}

/* For each op that is timed: 4 bytes for the op, 8 for its end, and 2 to number blocks, which is 4 per stage pass. */
static void memory_is_that_of_few_ops(void **state)
{
    enum { DEVICES = 64, MICROBATCHES = 65536, TIMED = 256, MOST = 4000000 };
    (void)state;
    for (uint32_t chunks = 2; chunks <= 8; chunks *= 2) {
        struct meter meter = {0};
        const ppsched_environment environment = metered_environment(&meter);
        ppsched_config *config = NULL;
        ppsched_steady *steady = NULL;
        ppsched_error error;
        ppsched_steady_period period = {.size = sizeof period};
        expect_ok(ppsched_config_create(&config, DEVICES, (int64_t)DEVICES * chunks, MICROBATCHES, &environment, &error),
                  &error);
        expect_ok(ppsched_steady_create(&steady, config, "interleaved_1f1b", &error), &error);
        expect_ok(ppsched_steady_get_period(&period, steady, &error), &error);
        assert_int_equal(period.timed, TIMED);
        assert_true(meter.peak < MOST && meter.peak < (size_t)16 * 2 * DEVICES * chunks * TIMED);
        ppsched_steady_destroy(steady);
        ppsched_config_destroy(config);
        assert_int_equal(meter.used, 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(figures_are_those_of_the_schedule),
                                       cmocka_unit_test(memory_is_that_of_few_ops)};
    if (argc > 1)
        count = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
