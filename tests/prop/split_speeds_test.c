/* SPDX-License-Identifier: Apache-2.0 */
/* Splits over devices of unlike speed and overhead against all splits and all that may be recomputed: layers move off slow
 * devices, bounds hold, and nothing is called proved that is worse. */
#include "prop/split_draw.h"
#include "support/plans.h"
#include "support/rounds.h"

#include <math.h>
#include <string.h>

static void draw_speeds(struct split_problem *problem, uint64_t *seed)
{
    uint32_t alike = random_below(seed, 4); /* some pairs of devices are of one type */
    for (uint32_t d = 0; d < 4; d++)
        problem->speed[d] = alike == 0 && d > 1 ? problem->speed[d - 2] : (30 + random_below(seed, 71)) / 100.0;
    draw_own_overheads(problem, 4, *seed);
}

static ppsched_plan *plan_of(const struct split_problem *problem, const char *strategy, const ppsched_layers *layers)
{
    static const struct split_cost none[SPLIT_STAGES];
    uint32_t devices = ppsched_schedule_devices(problem->schedule), stages = ppsched_schedule_stages(problem->schedule);
    uint32_t chunks = stages / devices;
    ppsched_config *config = config_of_stages(problem, none);
    ppsched_plan *plan = NULL;
    ppsched_error error;
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = &strategy,
                                        .strategy_count = 1,
                                        .chunks = &chunks,
                                        .chunk_count = 1,
                                        .group_sizes = &devices,
                                        .group_size_count = 1,
                                        .layers = layers,
                                        .empty_stages = stages > 2 && problem->least[1] == 0};
    expect_ok(create_plan(&plan, config, &options, &error), &error);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    ppsched_config_destroy(config);
    assert_int_equal(ppsched_plan_count(plan), 1);
    return plan;
}

struct counts {
    int fitting, proved, moved;
};

/* The best where speeds are not heeded, priced with them. */
static double blind_time(const struct split_problem *problem)
{
    struct split_problem alike = *problem;
    struct split_answer answer;
    double makespan, peak[SPLIT_DEVICES];
    memset(alike.speed, 0, sizeof alike.speed);
    memset(alike.own_overhead, 0, sizeof alike.own_overhead);
    assert_true(brute_best_split(&answer, &alike));
    assert_true(brute_price_stages(&makespan, peak, problem, answer.stage));
    return makespan;
}

static void expect_best(uint64_t *seed, const struct split_sizes *sizes, struct counts *counts)
{
    struct split_problem problem;
    struct split_answer answer;
    const char *strategy = NULL;
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_error error;
    draw_split_problem(&problem, &strategy, sizes, seed);
    draw_speeds(&problem, seed);
    assert_true(brute_best_split(&answer, &problem));
    const ppsched_layers *layers = layers_of(&problem);
    ppsched_plan *plan = plan_of(&problem, strategy, layers);
    expect_ok(ppsched_plan_get_candidate(&candidate, plan, 0, &error), &error);
    assert_true(candidate.fits == (answer.makespan < HUGE_VAL));
    if (candidate.fits && !(fabs(candidate.step_time - answer.makespan) <= 1e-9 * answer.makespan))
        fail_msg("%s on %u devices, %u stages: %g found, %g possible", strategy, ppsched_schedule_devices(problem.schedule),
                 ppsched_schedule_stages(problem.schedule), candidate.step_time, answer.makespan);
    if (candidate.fits && !(candidate.bound <= answer.makespan * (1 + 1e-9)))
        fail_msg("%s on %u devices, %u stages: bound %.17g, %.17g possible", strategy,
                 ppsched_schedule_devices(problem.schedule), ppsched_schedule_stages(problem.schedule), candidate.bound,
                 answer.makespan);
    counts->fitting += (int)candidate.fits;
    counts->proved += (int)(candidate.fits && candidate.proved);
    counts->moved += candidate.fits && answer.makespan < blind_time(&problem) * (1 - 1e-9);
    ppsched_plan_destroy(plan);
    ppsched_layers_release(layers);
    ppsched_schedule_release((ppsched_schedule *)problem.schedule);
}

static void test_splits_are_the_best(void **state)
{
    static const struct split_sizes sizes[] = {
        {4, 1, 8, 4}, {4, 1, 8, 10}, {4, 2, 8, 6}, {3, 3, 6, 4}, {4, 1, 8, 4, "dualpipe"}, {4, 1, 8, 14, "dualpipe"}};
    static const int trials[] = {ROUNDS(300), ROUNDS(300), ROUNDS(300), ROUNDS(100), ROUNDS(200), ROUNDS(200)};
    uint64_t seed = 25;
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct counts counts = {0, 0, 0};
        for (int trial = 0; trial < trials[i]; trial++)
            expect_best(&seed, &sizes[i], &counts);
        print_message("# %d of %d fit, %d proved, %d are shorter than where speeds are not heeded\n", counts.fitting, trials[i],
                      counts.proved, counts.moved);
        assert_true(ROUND_SHARE > 1 || (counts.fitting > trials[i] / 2 && counts.moved > trials[i] / 8));
        assert_true(counts.proved > counts.fitting * 8 / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_splits_are_the_best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
