/* SPDX-License-Identifier: Apache-2.0 */
/* Searches with many microbatches: where the order of few of them repeats, they do the work of few, and have no more time above
 * the lower bound. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <string.h>

static int32_t count_call(void *user, const ppsched_progress *progress)
{
    (void)progress;
    ++*(uint32_t *)user;
    return 0;
}

/* Times that differ by kind; the limit, in stage passes, is ample. */
static ppsched_config *make_problem(uint32_t devices, uint32_t stages, uint32_t microbatches, const double *times, double limit)
{
    static const int32_t kinds[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, PPSCHED_QUANTITY_P2P_TIME};
    ppsched_config *config = make_config(devices, stages, microbatches);
    for (int k = 0; k < 4; k++)
        set_number(config, kinds[k], times[k]);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    return config;
}

/* The time above the bound; infinite where the schedule exceeds a limit. */
static double above_bound(const ppsched_config *config, const char *strategy, int32_t objective)
{
    ppsched_error error;
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_config *placed = NULL;
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    expect_ok(ppsched_config_copy(&placed, config, &error), &error);
    expect_ok(ppsched_config_set_placement(placed, ppsched_schedule_placement(schedule), NULL, 0, &error), &error);
    expect_ok(ppsched_config_find_bound(&bound, placed, objective, &error), &error);
    ppsched_config_destroy(placed);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    if (metrics.limit_device != PPSCHED_NONE)
        return INFINITY;
    return (objective == PPSCHED_OBJECTIVE_SPAN ? metrics.span : metrics.makespan) - bound.value;
}

static uint32_t calls_of(ppsched_config *config, const char *strategy)
{
    uint32_t calls = 0;
    assert_int_equal(ppsched_config_set_progress(config, count_call, &calls, NULL), PPSCHED_OK);
    ppsched_schedule_release(make_schedule(config, strategy));
    ppsched_config_destroy(config);
    return calls;
}

/* A search calls back each time it has done some work. */
static void test_work_of_few(void **state)
{
    static const double unit[] = {1, 1, 1, 0.125}, uneven[] = {10, 12, 8, 1};
    (void)state;
    uint32_t of_v = calls_of(make_problem(8, 16, 1024, unit, 24), "v_search");
    uint32_t linear = calls_of(make_problem(8, 8, 1024, uneven, 8), "auto");
    uint32_t loop = calls_of(make_problem(8, 16, 1024, uneven, 16), "auto");
    print_message("# %u, %u and %u calls\n", of_v, linear, loop);
    assert_true(of_v <= 5 * 5 * 5 + 5); /* one for each pattern, and little more */
    assert_true(linear <= 10);
    assert_true(loop <= 80);
}

static void test_idle_time_of_few(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int trial = 0; trial < ROUNDS(60); trial++) {
        const uint32_t devices = 2 + random_below(&seed, 5), few = 4 * devices < 16 ? 16 : 4 * devices;
        const uint32_t many = few + devices * (5 * few / devices + random_below(&seed, 8));
        const double times[] = {1 + random_below(&seed, 16) / 8.0, 1 + random_below(&seed, 16) / 8.0,
                                1 + random_below(&seed, 16) / 8.0, random_below(&seed, 8) / 8.0};
        ppsched_config *short_one = make_problem(devices, 2 * devices, few, times, 3 * devices);
        ppsched_config *long_one = make_problem(devices, 2 * devices, many, times, 3 * devices);
        const double little = above_bound(short_one, "v_search", PPSCHED_OBJECTIVE_SPAN);
        const double much = above_bound(long_one, "v_search", PPSCHED_OBJECTIVE_SPAN);
        if (!(much <= little + 1e-6))
            fail_msg("trial %d, %u devices: %g above the bound with %u microbatches, %g with %u", trial, devices, little, few,
                     much, many);
        ppsched_config_destroy(short_one);
        ppsched_config_destroy(long_one);
    }
}

/* --- orders that are shortened, improved and lengthened --- */

/* Problems with 1024 microbatches of F = I = W = 1; `above`: the most time above the lower bound. Without
 * shortening it was 2.25 and 347.5. */
static void test_known_problems(void **state)
{
    static const struct {
        uint32_t devices, chunks;
        double delay, limit, above;
    } problems[] = {{4, 2, 0.25, 12, 0.01}, {8, 1, 0.25, 6, 280}};
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        const double times[] = {1, 1, 1, problems[i].delay};
        const uint32_t devices = problems[i].devices;
        ppsched_config *config = make_problem(devices, devices * problems[i].chunks, 1024, times, problems[i].limit);
        const double above = above_bound(config, "auto", PPSCHED_OBJECTIVE_MAKESPAN);
        print_message("# %g above the bound\n", above);
        assert_true(above <= problems[i].above);
        ppsched_config_destroy(config);
    }
}

/* Uneven costs, on any placement. */
static ppsched_config *draw_long_problem(uint64_t *seed)
{
    static const int32_t kinds[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    const uint32_t devices = 2 + random_below(seed, 4), chunks = 1 + random_below(seed, 2), stages = chunks * devices;
    const uint32_t many = 32 * devices < 128 ? 128 : 32 * devices;
    double times[3 * 5];
    ppsched_config *config = make_config(devices, stages, many + random_below(seed, 100));
    for (int k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < stages; s++)
            times[s] = 1 + random_below(seed, 16) / 8.0;
        expect_ok(ppsched_config_set_values(config, kinds[k], times, stages, NULL), NULL);
    }
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 8) / 8.0);
    if (random_below(seed, 4) > 0)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, chunks * (1 + random_below(seed, 2 * devices)));
    if (chunks == 2)
        expect_ok(ppsched_config_set_placement(
                      config, random_below(seed, 2) == 0 ? PPSCHED_PLACEMENT_V : PPSCHED_PLACEMENT_LOOP, NULL, 0, NULL),
                  NULL);
    return config;
}

static double with_effort(ppsched_config *config, const char *effort, int32_t objective)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_option(config, "effort", effort, &error), &error);
    return above_bound(config, "auto", objective);
}

/* Within the limits, never longer than the best of the other strategies, the same each time. */
static void test_promises(void **state)
{
    uint64_t seed = 77;
    uint32_t shorter = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(18); trial++) {
        ppsched_config *config = draw_long_problem(&seed);
        const int32_t objective = trial % 3 == 0 ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN;
        if (objective == PPSCHED_OBJECTIVE_SPAN)
            expect_ok(ppsched_config_set_option(config, "objective", "span", NULL), NULL);
        const double others = with_effort(config, "0", objective), low = with_effort(config, "1", objective);
        const double usual = with_effort(config, "4", objective);
        assert_true(isfinite(usual) && usual <= others && low <= others && usual > -1e-6);
        assert_true(with_effort(config, "4", objective) == usual);
        shorter += usual < others;
        if (trial % 6 == 0)
            assert_true(with_effort(config, "5", objective) <= others);
        ppsched_config_destroy(config);
    }
    print_message("# %u are shorter than all other strategies\n", shorter);
    assert_true(shorter >= ROUNDS(9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_of_few),
        cmocka_unit_test(test_idle_time_of_few),
        cmocka_unit_test(test_known_problems),
        cmocka_unit_test(test_promises),
    };
    return cmocka_run_group_tests_name("unrolled", tests, NULL, NULL);
}
