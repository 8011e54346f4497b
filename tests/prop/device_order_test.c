/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of devices of unlike speed, overhead, links and limits against all orders and all splits: the best is found, bounds
 * hold, and nothing is called proved that is worse. */
#include "prop/split_draw.h"
#include "support/plans.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <string.h>

/* Two types in half of the problems, whose devices are alike in links, too; else each device is its own. */
static void draw_devices(struct split_problem *problem, uint32_t devices, uint64_t *seed)
{
    const uint32_t types = random_below(seed, 2) == 0 ? 2 : devices;
    const double between = random_below(seed, 8) / 4.0;
    for (uint32_t d = 0; d < devices; d++) {
        problem->speed[d] = d < types ? (30 + random_below(seed, 71)) / 100.0 : problem->speed[d - types];
        if (types == devices)
            continue;
        problem->limit[d] = problem->limit[d % types];
        for (uint32_t to = 0; to < devices; to++)
            problem->delay[d][to] = d % types == to % types ? 0 : between;
    }
    for (uint32_t d = 0; d < devices; d++) /* one may have more room than another */
        if (problem->limit[d] < HUGE_VAL)
            problem->limit[d] *= 1 + random_below(seed, 3) / 2.0;
    if (types == devices && random_below(seed, 2) == 0)
        for (uint32_t d = 0; d < devices; d++)
            for (uint32_t to = 0; to < devices; to++)
                problem->delay[d][to] = d == to ? 0 : random_below(seed, 9) / 4.0;
    draw_own_overheads(problem, types, *seed);
    for (uint32_t d = types; d < devices; d++)
        problem->own_overhead[d] = problem->own_overhead[d - types];
}

static struct split_problem in_order(const struct split_problem *problem, const uint32_t *order)
{
    struct split_problem moved = *problem;
    const uint32_t devices = ppsched_schedule_devices(problem->schedule);
    for (uint32_t p = 0; p < devices; p++) {
        moved.speed[p] = problem->speed[order[p]];
        moved.own_overhead[p] = problem->own_overhead[order[p]];
        moved.limit[p] = problem->limit[order[p]];
        for (uint32_t q = 0; q < devices; q++)
            moved.delay[p][q] = problem->delay[order[p]][order[q]];
    }
    return moved;
}

/* The best over all orders, each written as a number in base D. */
static double best_of_orders(const struct split_problem *problem)
{
    const uint32_t devices = ppsched_schedule_devices(problem->schedule);
    uint32_t count = 1;
    double best = HUGE_VAL;
    for (uint32_t d = 0; d < devices; d++)
        count *= devices;
    for (uint32_t number = 0; number < count; number++) {
        uint32_t order[SPLIT_DEVICES] = {0}, left = number, seen = 0;
        for (uint32_t p = 0; p < devices; p++, left /= devices)
            seen |= 1u << (order[p] = left % devices);
        if (seen != (1u << devices) - 1)
            continue;
        struct split_problem moved = in_order(problem, order);
        struct split_answer answer;
        assert_true(brute_best_split(&answer, &moved));
        best = answer.makespan < best ? answer.makespan : best;
    }
    return best;
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
                                        .free_device_order = 1,
                                        .empty_stages = stages > 2 && problem->least[1] == 0};
    expect_ok(create_plan(&plan, config, &options, &error), &error);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    ppsched_config_destroy(config);
    assert_int_equal(ppsched_plan_count(plan), 1);
    return plan;
}

struct counts {
    int fitting, proved, moved, near;
};

/* The order that a plan tells of is the one of its figures: the candidate's own problem has that time. */
static void expect_order(const ppsched_plan *plan, const struct split_problem *problem, const ppsched_candidate *candidate,
                         const char *strategy)
{
    uint32_t order[SPLIT_DEVICES] = {0};
    ppsched_config *config = NULL;
    ppsched_error error;
    expect_ok(ppsched_plan_get_device_order(order, SPLIT_DEVICES, NULL, plan, 0, &error), &error);
    expect_ok(ppsched_plan_create_config(&config, plan, 0, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_true(metrics_of(timeline).makespan == candidate->step_time);
    for (uint32_t p = 0; p < ppsched_config_devices(config); p++)
        assert_true(value_at(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, p, 1) == problem->speed[order[p]]);
    struct split_problem moved = in_order(problem, order);
    struct split_answer answer;
    assert_true(brute_best_split(&answer, &moved));
    assert_true(answer.makespan <= candidate->step_time * (1 + 1e-9));
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* With five devices all of these, 14 layers, and nothing recomputed: as many splits and orders as can be tried. */
static int is_wanted(const struct split_problem *problem, const struct split_sizes *sizes)
{
    uint32_t layers = 0, choices = 0;
    for (uint32_t e = 0; e < problem->entries; e++) {
        layers += problem->entry[e].count;
        choices += problem->entry[e].choices;
    }
    return sizes->devices < 5 ||
           (ppsched_schedule_devices(problem->schedule) == 5 && layers == 14 && choices == problem->entries);
}

static void draw_problem(struct split_problem *problem, const char **strategy, const struct split_sizes *sizes, uint64_t *seed)
{
    draw_split_problem(problem, strategy, sizes, seed);
    while (!is_wanted(problem, sizes)) {
        ppsched_schedule_release((ppsched_schedule *)problem->schedule);
        draw_split_problem(problem, strategy, sizes, seed);
    }
}

static void expect_best(uint64_t *seed, const struct split_sizes *sizes, struct counts *counts)
{
    struct split_problem problem;
    struct split_answer as_given;
    const char *strategy = NULL;
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_error error;
    draw_problem(&problem, &strategy, sizes, seed);
    draw_devices(&problem, sizes->devices, seed);
    const double best = best_of_orders(&problem);
    assert_true(brute_best_split(&as_given, &problem));
    const ppsched_layers *layers = layers_of(&problem);
    ppsched_plan *plan = plan_of(&problem, strategy, layers);
    expect_ok(ppsched_plan_get_candidate(&candidate, plan, 0, &error), &error);
    const int is_chain = ppsched_schedule_stages(problem.schedule) == ppsched_schedule_devices(problem.schedule);
    assert_true(candidate.fits == (best < HUGE_VAL));
    if (candidate.fits) {
        const double gap = candidate.step_time / best - 1;
        if (!(gap >= -1e-9 && gap <= (is_chain ? 1e-9 : 5e-3)) || !(candidate.bound <= best * (1 + 1e-9)) ||
            (candidate.proved && gap > 1e-9))
            fail_msg("%s on %u devices, %u stages: %.17g found, %.17g possible, bound %.17g, proved %u", strategy,
                     ppsched_schedule_devices(problem.schedule), ppsched_schedule_stages(problem.schedule), candidate.step_time,
                     best, candidate.bound, candidate.proved);
        expect_order(plan, &problem, &candidate, strategy);
        counts->near += gap > 1e-9;
    }
    counts->fitting += (int)candidate.fits;
    counts->proved += (int)(candidate.fits && candidate.proved);
    counts->moved += candidate.fits && best < as_given.makespan * (1 - 1e-9);
    ppsched_plan_destroy(plan);
    ppsched_layers_release(layers);
    ppsched_schedule_release((ppsched_schedule *)problem.schedule);
}

static void test_orders_are_the_best(void **state)
{
    static const struct split_sizes sizes[] = {
        {4, 1, 8, 4}, {4, 2, 6, 3}, {4, 1, 8, 4, "dualpipe"}, {5, 1, 8, 9, "1f1b"}, {5, 1, 8, 9, "zb_h1"}};
    static const int trials[] = {ROUNDS(300), ROUNDS(100), ROUNDS(50), ROUNDS(50), ROUNDS(50)};
    uint64_t seed = 55;
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct counts counts = {0, 0, 0, 0};
        for (int trial = 0; trial < trials[i]; trial++)
            expect_best(&seed, &sizes[i], &counts);
        print_message("# %d of %d fit, %d proved, %d are shorter than in the given order, %d within 0.5 %% of the best\n",
                      counts.fitting, trials[i], counts.proved, counts.moved, counts.near);
        assert_true(ROUND_SHARE > 1 || (counts.fitting > trials[i] / 2 && counts.moved > trials[i] / 8));
        assert_true(counts.near <= counts.fitting / 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders_are_the_best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
