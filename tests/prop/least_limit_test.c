/* SPDX-License-Identifier: Apache-2.0 */
/* The least memory limit of a plan of which no candidate fits, both ways: under it a plan of its own has one that fits, under
 * any that is less by more than the search tells apart none has; with costs of stages, with copies, and with layers, where
 * rules and searches are alone, and together. */
#include "support/layered.h"
#include "support/plans.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { TRIALS = ROUNDS(8), BELOW = 4 };

static const char *const rules[] = {"gpipe", "1f1b", "zb_h1", "interleaved_1f1b", "looped_bfs"},
                         *const both[] = {"zb_auto", "gpipe", "v_half", "1f1b"},
                         *const searches[] = {"v_half", "zb_auto", "zbv_auto"};
static const uint32_t chunks[] = {1, 2};

/* A plan under one limit alone. */
static ppsched_plan *plan_under(const ppsched_config *config, const struct plan_choice *options, double limit)
{
    struct plan_choice under = *options;
    under.memory_limits = &limit;
    under.memory_limit_count = 1;
    return run_plan(config, &under);
}

static int fits_under(const ppsched_config *config, const struct plan_choice *options, double limit)
{
    ppsched_plan *plan = plan_under(config, options, limit);
    int fits = (int)candidate_of(plan, ppsched_plan_candidate_at_rank(plan, 0)).fits;
    ppsched_plan_destroy(plan);
    return fits;
}

/* Candidates come in the same order under any one limit. */
static void expect_named(const ppsched_config *config, const struct plan_choice *options, double limit, uint32_t number)
{
    ppsched_plan *plan = plan_under(config, options, limit);
    ppsched_candidate named = candidate_of(plan, number);
    if (!named.fits)
        fail_msg("under %.17g %s of %u stages, number %u, does not fit: %.17g", limit, named.strategy, named.stages, number,
                 named.peak_memory);
    ppsched_plan_destroy(plan);
}

/* `within`: how near the search comes. */
static void expect_least(const ppsched_config *config, const struct plan_choice *options, double within, const char *what)
{
    ppsched_plan *plan = run_plan(config, options);
    double least = 0;
    uint32_t number = PPSCHED_NONE;
    ppsched_error error;
    assert_int_equal(candidate_of(plan, ppsched_plan_candidate_at_rank(plan, 0)).fits, 0);
    expect_ok(ppsched_plan_find_least_limit(&least, &number, plan, &error), &error);
    expect_named(config, options, least, number);
    for (int i = 0; i < BELOW; i++) {
        double limit = (least - within) * (1 - 0.1 * i * i) * (1 - 1e-5);
        if (limit > 0 && fits_under(config, options, limit))
            fail_msg("%s: told is %.17g, but something fits under %.17g", what, least, limit);
    }
    ppsched_plan_destroy(plan);
}

/* Rules, searches, and both. */
static void expect_least_of_lists(const ppsched_config *config, const struct plan_choice *given, double within)
{
    struct plan_choice options = *given;
    options.chunks = chunks;
    options.chunk_count = 2;
    options.strategies = rules;
    options.strategy_count = options.layers != NULL ? 3 : sizeof rules / sizeof rules[0]; /* with layers some are tried alone */
    expect_least(config, &options, within, "rules");
    options.strategies = both;
    options.strategy_count = sizeof both / sizeof both[0];
    expect_least(config, &options, within, "both");
    options.strategies = searches;
    options.strategy_count = sizeof searches / sizeof searches[0];
    if (!options.offload)
        expect_least(config, &options, within, "searches");
}

static void test_of_stages(void **state)
{
    (void)state;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        const struct uneven problem = {2 + (uint32_t)trial % 2, 2, 6, 1, 40 + trial};
        const struct plan_choice options = {.size = sizeof options};
        ppsched_config *config = make_uneven(&problem);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.5);
        expect_least_of_lists(config, &options, 0);
        ppsched_config_destroy(config);
    }
}

static double least_peak(const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *plan = run_plan(config, options);
    double least = INFINITY;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = candidate_of(plan, i);
        least = candidate.status == PPSCHED_OK ? fmin(least, candidate.peak_memory) : least;
    }
    ppsched_plan_destroy(plan);
    return least;
}

/* Halved ten times, from what the rule holds without copies that needs least. */
static void test_of_copies(void **state)
{
    (void)state;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        const struct uneven problem = {2, 2, 6, 1, 60 + trial};
        const struct plan_choice plain = {.size = sizeof plain}, options = {.size = sizeof options, .offload = 1};
        uint64_t seed = 70 + trial;
        ppsched_config *config = make_uneven(&problem);
        add_uneven(config, UNEVEN_COPIES, &seed);
        double most = least_peak(config, &plain);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.5);
        expect_least_of_lists(config, &options, most / 512);
        ppsched_config_destroy(config);
    }
}

static void test_of_layers(void **state)
{
    uint64_t seed = 80;
    (void)state;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        const ppsched_layers *layers = draw_uneven_layers(7, &seed);
        const struct plan_choice options = {.size = sizeof options, .layers = layers};
        ppsched_config *config = make_config(2 + trial % 2, 2 + trial % 2, 5);
        double most = least_peak(config, &options);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.25);
        expect_least_of_lists(config, &options, most / 512);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
}

/* With layers candidates that differ by their limit alone are one: it is that with the first limit, and the others leave none
 * out. */
static void test_of_layers_under_several_limits(void **state)
{
    static const double limits[] = {0.25, 0.5};
    uint64_t seed = 90;
    (void)state;
    for (uint32_t trial = 0; trial < 4; trial++) {
        const ppsched_layers *layers = draw_uneven_layers(7, &seed);
        struct plan_choice options = {
            .size = sizeof options, .layers = layers, .chunks = chunks, .chunk_count = 2, .memory_limits = limits};
        ppsched_config *config = make_config(3, 3, 5);
        double least[2];
        ppsched_candidate named[2];
        ppsched_plan *plans[2];
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t number = PPSCHED_NONE;
            options.memory_limit_count = 1 + i;
            plans[i] = run_plan(config, &options);
            expect_ok(ppsched_plan_find_least_limit(&least[i], &number, plans[i], NULL), NULL);
            named[i] = candidate_of(plans[i], number);
        }
        assert_true(least[0] == least[1]);
        assert_string_equal(named[0].strategy, named[1].strategy);
        assert_true(named[0].stages == named[1].stages && named[1].memory_limit == limits[0]);
        ppsched_plan_destroy(plans[1]);
        ppsched_plan_destroy(plans[0]);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_stages),
        cmocka_unit_test(test_of_copies),
        cmocka_unit_test(test_of_layers),
        cmocka_unit_test(test_of_layers_under_several_limits),
    };
    return cmocka_run_group_tests_name("least limit", tests, NULL, NULL);
}
