/* SPDX-License-Identifier: Apache-2.0 */
/* Splits that plans find for small problems against all splits and all that may be recomputed. */
#include "prop/split_draw.h"
#include "support/plans.h"
#include "support/rounds.h"

#include <math.h>
#include <stdio.h>

/* `groups`: sizes to try; NULL: one microbatch a device. */
static ppsched_plan *plan_of(const struct split_problem *problem, const char *strategy, const ppsched_layers *layers,
                             const uint32_t *groups, uint32_t group_count)
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
                                        .group_sizes = groups != NULL ? groups : &devices,
                                        .group_size_count = groups != NULL ? group_count : 1,
                                        .layers = layers,
                                        .empty_stages = stages > 2 && problem->least[1] == 0};
    expect_ok(create_plan(&plan, config, &options, &error), &error);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    ppsched_config_destroy(config);
    assert_true(groups != NULL || ppsched_plan_count(plan) == 1);
    return plan;
}

static void expect_best(uint64_t *seed, const struct split_sizes *sizes, int senders_wait, int *fitting, int *proved)
{
    struct split_problem problem;
    struct split_answer answer;
    const char *strategy = NULL;
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_error error;
    draw_split_problem(&problem, &strategy, sizes, seed);
    problem.senders_wait = senders_wait;
    assert_true(brute_best_split(&answer, &problem));
    const ppsched_layers *layers = layers_of(&problem);
    ppsched_plan *plan = plan_of(&problem, strategy, layers, NULL, 0);
    expect_ok(ppsched_plan_get_candidate(&candidate, plan, 0, &error), &error);
    if (answer.makespan < HUGE_VAL &&
        !(candidate.fits && fabs(candidate.step_time - answer.makespan) <= 1e-9 * answer.makespan))
        fail_msg("%s on %u devices, %u stages: %g found, %g possible", strategy, ppsched_schedule_devices(problem.schedule),
                 ppsched_schedule_stages(problem.schedule), candidate.fits ? candidate.step_time : HUGE_VAL, answer.makespan);
    assert_true(candidate.fits == (answer.makespan < HUGE_VAL));
    assert_true(!candidate.fits || candidate.bound <= candidate.step_time * (1 + 1e-9));
    *fitting += (int)candidate.fits;
    *proved += (int)(candidate.fits && candidate.proved);
    ppsched_plan_destroy(plan);
    ppsched_layers_release(layers);
    ppsched_schedule_release((ppsched_schedule *)problem.schedule);
}

static void test_splits_are_the_best(void **state)
{
    static const struct split_sizes sizes[] = {{4, 1, 8, 10}, {4, 2, 8, 6}, {3, 3, 6, 4}};
    static const int trials[] = {ROUNDS(800), ROUNDS(1000), ROUNDS(200)};
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < 3; i++) {
        int fitting = 0, proved = 0;
        for (int trial = 0; trial < trials[i]; trial++)
            expect_best(&seed, &sizes[i], 0, &fitting, &proved);
        assert_true(ROUND_SHARE > 1 || fitting > trials[i] / 2);
        assert_true(proved > fitting * 9 / 10);
    }
}

/* Splits know that senders wait. */
static void test_senders_wait(void **state)
{
    static const struct split_sizes sizes[] = {{4, 1, 8, 10}, {4, 2, 8, 6}, {3, 3, 6, 4}, {4, 1, 8, 4, "dualpipe"}};
    static const int trials[] = {ROUNDS(400), ROUNDS(400), ROUNDS(100), ROUNDS(100)};
    uint64_t seed = 15;
    (void)state;
    for (int i = 0; i < 4; i++) {
        int fitting = 0, proved = 0;
        for (int trial = 0; trial < trials[i]; trial++)
            expect_best(&seed, &sizes[i], 1, &fitting, &proved);
        assert_true(ROUND_SHARE > 1 || fitting > trials[i] / 3);
        print_message("# %d fit, %d of them proved\n", fitting, proved);
        assert_true(proved > fitting * 3 / 4); /* bounds know nothing of senders, so that fewer are */
    }
}

/* Where each stage is on two devices, which recompute alike, under limits of their own. */
static void test_two_copies(void **state)
{
    static const struct split_sizes sizes[] = {{4, 1, 8, 4, "dualpipe"}, {4, 1, 8, 14, "dualpipe"}};
    uint64_t seed = 6;
    (void)state;
    for (int i = 0; i < 2; i++) {
        int fitting = 0, proved = 0;
        for (int trial = 0; trial < ROUNDS(400); trial++)
            expect_best(&seed, &sizes[i], 0, &fitting, &proved);
        assert_in_range(fitting, ROUNDS(200), ROUNDS(400) - 1);
        assert_int_equal(proved, fitting);
    }
}

/* The best of all splits for all groups that can be run, by brute force one after the other; infinite where none fits. */
static double best_of_groups(struct split_problem *problem, const char *strategy, uint32_t most, uint32_t *served)
{
    uint32_t devices = ppsched_schedule_devices(problem->schedule), stages = ppsched_schedule_stages(problem->schedule);
    const ppsched_schedule *own = problem->schedule;
    double best = HUGE_VAL;
    for (uint32_t group = 1; group <= most; group++) {
        ppsched_config *config = make_config(devices, stages, ppsched_schedule_microbatches(own));
        ppsched_schedule *schedule = NULL;
        struct split_answer answer;
        char text[16];
        snprintf(text, sizeof text, "%u", group);
        expect_ok(ppsched_config_set_option(config, "group_size", text, NULL), NULL);
        if (ppsched_schedule_generate(&schedule, config, strategy, NULL) == PPSCHED_OK) {
            problem->schedule = schedule;
            assert_true(brute_best_split(&answer, problem));
            best = fmin(best, answer.makespan);
            ++*served;
        }
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    problem->schedule = own;
    return best;
}

/* Split, recomputation and group are found together. */
static void test_groups(void **state)
{
    static const char *const strategies[] = {"interleaved_1f1b", "interleaved_zb", "interleaved_1f1b_overlap",
                                             "interleaved_1f1b_less_memory"};
    uint32_t groups[SPLIT_MICROBATCHES], served = 0, fitting = 0;
    uint64_t seed = 11;
    (void)state;
    for (uint32_t i = 0; i < SPLIT_MICROBATCHES; i++)
        groups[i] = i + 1;
    for (int trial = 0; trial < ROUNDS(64); trial++) {
        const struct split_sizes sizes = {3, 3, 8, 5, strategies[trial % 4]};
        struct split_problem problem;
        const char *strategy = NULL;
        draw_split_problem(&problem, &strategy, &sizes, &seed);
        uint32_t microbatches = ppsched_schedule_microbatches(problem.schedule);
        double best = best_of_groups(&problem, strategy, microbatches, &served);
        const ppsched_layers *layers = layers_of(&problem);
        ppsched_plan *plan = plan_of(&problem, strategy, layers, groups, microbatches);
        const ppsched_candidate candidate = ranked(plan, 0);
        if (candidate.fits != (best < HUGE_VAL) || (candidate.fits && fabs(candidate.step_time - best) > 1e-9 * best))
            fail_msg("%s on %u devices, %u stages, %u microbatches: %g found, %g possible", strategy,
                     ppsched_schedule_devices(problem.schedule), ppsched_schedule_stages(problem.schedule), microbatches,
                     candidate.fits ? candidate.step_time : HUGE_VAL, best);
        fitting += candidate.fits;
        ppsched_plan_destroy(plan);
        ppsched_layers_release(layers);
        ppsched_schedule_release((ppsched_schedule *)problem.schedule);
    }
    print_message("# %u groups of %d problems, of which %u fit\n", served, ROUNDS(64), fitting);
    assert_true(ROUND_SHARE > 1 || (served > 190 && fitting > 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_splits_are_the_best), cmocka_unit_test(test_two_copies),
                                       cmocka_unit_test(test_senders_wait), cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
