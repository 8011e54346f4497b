/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of which only the best ranks are wanted: these are as in the plan of all candidates, and others are left out. By
 * hand with other problems: top_plan_test SEED. */
#include "support/plans.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAIN = ROUNDS(1500),
    LOWERED = ROUNDS(150),
    OFFLOADED = ROUNDS(40),
    NAMED = ROUNDS(60),
    VARYING = ROUNDS(150),
    MANY = ROUNDS(40),
    SHARED = ROUNDS(20),
    MOST_TOP = 4
};

/* What of a problem is drawn. */
enum { GRID = 1, LOWER = 2, OFFLOAD = 4, LARGE = 8, NAMES = 16, SCENARIOS = 32 };

struct counts {
    uint64_t all, evaluated;
};

static double draw_time(uint64_t *seed, int kinds)
{
    uint32_t number = 1 + random_below(seed, 12);
    return (kinds & GRID) != 0 ? number / 4.0 : number / 4.0 + random_below(seed, 1000) / 999.0;
}

static void draw_list(ppsched_config *config, int32_t quantity, uint64_t *seed, int kinds)
{
    double list[64];
    uint32_t stages = ppsched_config_stages(config), count = random_below(seed, 3) == 0 ? stages : 1;
    for (uint32_t s = 0; s < count; s++)
        list[s] = draw_time(seed, kinds);
    expect_ok(ppsched_config_set_values(config, quantity, list, count, NULL), NULL);
}

/* Transfers that occupy their links. */
static void draw_bytes(ppsched_config *config, uint64_t *seed, int kinds)
{
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, draw_time(seed, kinds));
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 4 * draw_time(seed, kinds));
}

static void draw_speeds(ppsched_config *config, uint64_t *seed)
{
    double speeds[8];
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
        speeds[d] = random_below(seed, 3) == 0 ? 0.5 : 1;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds, ppsched_config_devices(config), NULL),
              NULL);
}

static ppsched_config *draw_config(uint64_t *seed, int kinds)
{
    const uint32_t devices = 2 + random_below(seed, 5), chunks = 1 + random_below(seed, 3) / 2;
    const uint32_t most = (kinds & LARGE) != 0 ? 100 : 14;
    ppsched_config *config = make_config(devices, devices * chunks, 1 + random_below(seed, most));
    draw_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, seed, kinds);
    draw_list(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, seed, kinds);
    draw_list(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, seed, kinds);
    if (random_below(seed, 2) == 0)
        set_number(config, PPSCHED_QUANTITY_P2P_TIME, draw_time(seed, kinds) / 4);
    if (random_below(seed, 2) == 0)
        draw_list(config, PPSCHED_QUANTITY_MEM_FORWARD, seed, kinds);
    if (random_below(seed, 3) == 0)
        draw_list(config, PPSCHED_QUANTITY_MEM_STATIC, seed, kinds);
    if (random_below(seed, 4) == 0)
        draw_list(config, PPSCHED_QUANTITY_MEM_WEIGHTS, seed, kinds);
    if (random_below(seed, (kinds & LOWER) != 0 ? 2 : 6) == 0)
        draw_list(config, PPSCHED_QUANTITY_MEM_GRADIENTS, seed, kinds);
    if (random_below(seed, 6) == 0)
        draw_list(config, PPSCHED_QUANTITY_MEM_SEND_FORWARD, seed, kinds);
    if (random_below(seed, 6) == 0)
        draw_list(config, PPSCHED_QUANTITY_MEM_OUTPUT, seed, kinds);
    if (random_below(seed, 4) == 0)
        draw_bytes(config, seed, kinds);
    if (random_below(seed, 6) == 0)
        draw_speeds(config, seed);
    if (random_below(seed, 6) == 0)
        set_number(config, PPSCHED_QUANTITY_OP_OVERHEAD, 0.25);
    if (random_below(seed, 2) == 0 || (kinds & OFFLOAD) != 0)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, (2 + random_below(seed, 12)) * draw_time(seed, kinds));
    if ((kinds & OFFLOAD) != 0)
        set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, draw_time(seed, kinds) / 2);
    if (random_below(seed, 8) == 0)
        expect_ok(ppsched_config_set_iterations(config, 2, NULL), NULL);
    if (random_below(seed, 8) == 0)
        expect_ok(ppsched_config_set_split_backward(config, 0, NULL), NULL);
    return config;
}

/* Rules with groups of which those above D are as D. */
static const char *const with_offload[] = {"pipeoffload", "group_interleaved_1f1b", "interleaved_1f1b"};

/* Ranked by their planned times, candidates only get a time over the scenarios as well. */
static const ppsched_scenario_options varying = {.size = sizeof varying, .seed = 7, .jitter = 0.2};

static struct plan_choice draw_choice(uint64_t *seed, int kinds)
{
    struct plan_choice choice = {.size = sizeof choice};
    if (random_below(seed, 3) == 0)
        choice.objective = PPSCHED_OBJECTIVE_SPAN;
    if ((kinds & OFFLOAD) != 0)
        choice.offload = (kinds & NAMES) == 0;
    if ((kinds & NAMES) != 0) {
        choice.strategies = with_offload;
        choice.strategy_count = sizeof with_offload / sizeof *with_offload;
    }
    if ((kinds & LOWER) != 0) {
        choice.lowering = random_below(seed, 2) == 0 ? PPSCHED_LOWERING_JUST_IN_TIME : PPSCHED_LOWERING_BY_TIME;
        choice.unshard = random_below(seed, 3) == 0;
        choice.reduce_grad = random_below(seed, 3) == 0;
    }
    if ((kinds & SCENARIOS) != 0) {
        choice.scenario_count = 1 + random_below(seed, 4);
        choice.scenario_options = &varying;
    }
    return choice;
}

static void expect_same(const ppsched_candidate *found, const ppsched_candidate *wanted)
{
    ppsched_candidate same = *found;
    assert_string_equal(found->strategy, wanted->strategy);
    same.strategy = wanted->strategy;
    same.reason = wanted->reason;
    assert_memory_equal(&same, wanted, sizeof same);
}

/* The wanted ranks of a plan with few of them, beside those of the whole. Where fewer fit, all are evaluated. */
static void compare(const ppsched_config *config, const struct plan_choice *all, uint32_t top, struct counts *counts)
{
    struct plan_choice some = *all;
    some.top = top;
    ppsched_plan *whole = run_plan(config, all), *part = run_plan(config, &some);
    const uint32_t count = ppsched_plan_count(whole);
    uint32_t evaluated = 0, fits = 0, left_out = 0;
    assert_int_equal(ppsched_plan_count(part), count);
    for (uint32_t i = 0; i < count; i++) {
        ppsched_candidate candidate = candidate_of(part, i), wanted = candidate_of(whole, i);
        evaluated += candidate.evaluated;
        left_out += !candidate.evaluated && candidate.status == PPSCHED_OK;
        fits += wanted.fits;
        if (candidate.evaluated)
            assert_true(candidate.step_time == wanted.step_time && candidate.bound == wanted.bound);
        else
            assert_true(candidate.status == PPSCHED_OK && candidate.bound > 0 && candidate.step_time == 0);
    }
    for (uint32_t rank = 0; rank < count; rank++)
        assert_int_equal(ranked(part, rank).evaluated || ranked(part, rank).status != PPSCHED_OK, rank < count - left_out);
    for (uint32_t rank = 0; rank < count && (rank < top || fits < top); rank++) {
        ppsched_candidate found = ranked(part, rank), wanted = ranked(whole, rank);
        expect_same(&found, &wanted);
    }
    if (fits < top)
        assert_int_equal(evaluated, count);
    counts->all += count;
    counts->evaluated += evaluated;
    ppsched_plan_destroy(whole);
    ppsched_plan_destroy(part);
}

static uint64_t own_seed; /* 0: the usual problems */

static struct counts compare_many(int rounds, int kinds, uint64_t seed)
{
    struct counts counts = {0};
    seed += 1000 * own_seed;
    for (int i = 0; i < rounds; i++) {
        const int own = kinds | (random_below(&seed, 3) > 0 ? GRID : 0);
        ppsched_config *config = draw_config(&seed, own);
        const struct plan_choice choice = draw_choice(&seed, own);
        compare(config, &choice, 1 + random_below(&seed, 2) * random_below(&seed, MOST_TOP), &counts);
        ppsched_config_destroy(config);
    }
    print_message("%llu of %llu candidates evaluated\n", (unsigned long long)counts.evaluated, (unsigned long long)counts.all);
    return counts;
}

static void test_plain(void **state)
{
    struct counts counts = compare_many(PLAIN, 0, 1);
    (void)state;
    assert_true(counts.evaluated < counts.all / 2);
}

static void test_many_microbatches(void **state)
{
    struct counts counts = compare_many(MANY, LARGE, 2);
    (void)state;
    assert_true(counts.evaluated < counts.all / 3);
}

static void test_lowered(void **state)
{
    struct counts counts = compare_many(LOWERED, LOWER, 3);
    (void)state;
    assert_true(counts.evaluated < counts.all / 2);
}

static void test_offloaded(void **state)
{
    struct counts counts = compare_many(OFFLOADED, OFFLOAD, 4);
    (void)state;
    assert_true(counts.evaluated < counts.all);
}

static void test_offloading_rules(void **state)
{
    struct counts counts = compare_many(NAMED, OFFLOAD | NAMES, 5);
    (void)state;
    assert_true(counts.evaluated < counts.all / 2);
}

static void test_scenarios(void **state)
{
    struct counts counts = compare_many(VARYING, SCENARIOS, 6);
    (void)state;
    assert_true(counts.evaluated < counts.all / 2);
}

/* Candidates of a plan share orders and times: each has the figures that it has alone, and those of its own timeline. */
static void test_shared(void **state)
{
    uint64_t seed = 8 + 1000 * own_seed;
    uint32_t offloaded = 0;
    (void)state;
    for (int round = 0; round < SHARED; round++) {
        const int kinds = round % 4 == 0 ? OFFLOAD | LOWER : OFFLOAD | (round % 2 == 0 ? GRID : 0);
        ppsched_config *config = draw_config(&seed, kinds);
        const struct plan_choice choice = draw_choice(&seed, kinds);
        ppsched_plan *whole = run_plan(config, &choice), *alone = make_plan(config, &choice);
        for (uint32_t i = ppsched_plan_count(whole); i-- > 0;) {
            expect_ok(ppsched_plan_evaluate(alone, i, NULL), NULL);
            ppsched_candidate found = candidate_of(whole, i), wanted = candidate_of(alone, i);
            found.rank = wanted.rank;
            expect_same(&found, &wanted);
            assert_true((found.reason == NULL) == (wanted.reason == NULL));
            if (found.reason != NULL)
                assert_string_equal(found.reason, wanted.reason);
            if (found.offloads == 0)
                continue;
            ppsched_timeline *timeline = NULL;
            expect_ok(ppsched_plan_create_timeline(&timeline, whole, i, NULL), NULL);
            const ppsched_metrics metrics = metrics_of(timeline);
            assert_true(found.makespan == metrics.makespan && found.span == metrics.span);
            assert_true(found.peak_memory == metrics.peak_memory && found.limit_device == metrics.limit_device);
            ppsched_timeline_destroy(timeline);
            offloaded++;
        }
        ppsched_plan_destroy(whole);
        ppsched_plan_destroy(alone);
        ppsched_config_destroy(config);
    }
    assert_true(offloaded > SHARED * 10);
}

/* What takes the plan's scenarios, layers or order of microbatches has all evaluated. */
static void test_all_are_evaluated(void **state)
{
    ppsched_config *config = make_config(4, 4, 8);
    const struct plan_choice choice = {.size = sizeof choice, .top = 1, .scenario_count = 3, .rank_by = PPSCHED_RANK_BY_MEAN};
    ppsched_plan *plan = run_plan(config, &choice);
    (void)state;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        assert_int_equal(candidate_of(plan, i).evaluated, 1);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),     cmocka_unit_test(test_many_microbatches), cmocka_unit_test(test_lowered),
        cmocka_unit_test(test_offloaded), cmocka_unit_test(test_offloading_rules),  cmocka_unit_test(test_scenarios),
        cmocka_unit_test(test_shared),    cmocka_unit_test(test_all_are_evaluated),
    };
    if (argc > 1)
        own_seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
