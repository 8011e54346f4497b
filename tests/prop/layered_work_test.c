/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for layers that all differ, under limits: what they find of splits, recomputation and copies must not get worse, nor
 * take more looks, for rules, for searches, for runtimes that tell recomputation in other ways, and with activations that go to
 * the host. */
#include "support/layered.h"
#include "support/no_worse.h"
#include "support/plans.h"
#include "support/uneven.h"

#include <math.h>
#include <stdio.h>

static const char *const rules[] = {"1f1b", "interleaved_1f1b", "zb_h1"}, *const searches[] = {"zb_auto", "v_half"};
static const uint32_t chunks[] = {1, 2};
static const double shares[] = {0.8, 0.6, 0.45}; /* of what the same plan needs without a limit */

enum { LIMITS = sizeof shares / sizeof shares[0] };

static int32_t count_call(void *user, const ppsched_progress *progress)
{
    (void)progress;
    ++*(uint32_t *)user;
    return 0;
}

/* What the best needs without a limit; for searches that of rules, as their own changes with what they find. */
static double peak_of(const ppsched_config *config, const struct plan_choice *given)
{
    struct plan_choice options = *given;
    if (options.strategies == searches) {
        options.strategies = rules;
        options.strategy_count = sizeof rules / sizeof rules[0];
    }
    ppsched_plan *plan = run_plan(config, &options);
    double peak = ranked(plan, 0).peak_memory;
    ppsched_plan_destroy(plan);
    return peak;
}

/* All candidates under all limits. */
static void look(struct found *found, ppsched_config *config, const struct plan_choice *given)
{
    struct plan_choice options = *given;
    double limits[LIMITS], peak = peak_of(config, given);
    for (size_t i = 0; i < LIMITS; i++)
        limits[i] = peak * shares[i];
    options.memory_limits = limits;
    options.memory_limit_count = LIMITS;
    expect_ok(ppsched_config_set_progress(config, count_call, &found->evaluations, NULL), NULL);
    ppsched_plan *plan = run_plan(config, &options);
    expect_ok(ppsched_config_set_progress(config, NULL, NULL, NULL), NULL);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = {.size = sizeof candidate};
        expect_ok(ppsched_plan_get_candidate(&candidate, plan, i, NULL), NULL);
        if (candidate.fits && candidate.bound > candidate.step_time * (1 + 1e-9))
            fail_msg("%s of %u stages takes %.17g, below its bound of %.17g", candidate.strategy, candidate.stages,
                     candidate.step_time, candidate.bound);
        found->held += candidate.fits;
        found->steps += candidate.fits ? candidate.step_time : 0;
    }
    ppsched_plan_destroy(plan);
}

static void look_at_problems(struct found *found, const struct plan_choice *given, uint32_t problems, uint64_t seed)
{
    for (uint32_t i = 0; i < problems; i++) {
        uint32_t devices = 2 + i % 2;
        const ppsched_layers *layers = draw_uneven_layers(6 + i % 3, &seed);
        ppsched_config *config = make_config(devices, devices, 4 + i % 3);
        struct plan_choice options = *given;
        options.layers = layers;
        options.chunks = chunks;
        options.chunk_count = 2;
        set_number(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, 4);
        look(found, config, &options);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
}

static void test_rules(void **state)
{
    struct found found = {0};
    (void)state;
    look_at_problems(
        &found, &(struct plan_choice){.size = sizeof(struct plan_choice), .strategies = rules, .strategy_count = 3}, 24, 1);
    expect_no_worse(&found, &(struct found){796, 1680, 38708.462625980377});
}

static void test_searches(void **state)
{
    struct found found = {0};
    (void)state;
    look_at_problems(
        &found, &(struct plan_choice){.size = sizeof(struct plan_choice), .strategies = searches, .strategy_count = 2}, 16, 2);
    expect_no_worse(&found, &(struct found){96, 41096, 3915.1453366279602});
}

static void test_runtimes(void **state)
{
    static const int32_t runtimes[] = {PPSCHED_RUNTIME_MEGATRON, PPSCHED_RUNTIME_TORCHTITAN, PPSCHED_RUNTIME_DEEPSPEED};
    struct found found = {0};
    (void)state;
    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++)
        look_at_problems(
            &found,
            &(struct plan_choice){
                .size = sizeof(struct plan_choice), .strategies = rules, .strategy_count = 2, .runtime = runtimes[i]},
            12, 3 + i);
    expect_no_worse(&found, &(struct found){520, 2425, 26069.827545642853});
}

/* Where the span counts, no bound is above it. */
static void test_spans(void **state)
{
    struct found found = {0};
    (void)state;
    look_at_problems(
        &found,
        &(struct plan_choice){
            .size = sizeof(struct plan_choice), .objective = PPSCHED_OBJECTIVE_SPAN, .strategies = rules, .strategy_count = 3},
        16, 9);
    expect_no_worse(&found, &(struct found){530, 1108, 24631.213246822357});
}

/* Nor where there is no flush, or two copies of the model. */
static void test_bounds(void **state)
{
    static const char *const strategies[] = {"1f1b_no_flush", "dualpipe"};
    struct found found = {0};
    (void)state;
    look_at_problems(&found,
                     &(struct plan_choice){.size = sizeof(struct plan_choice), .strategies = strategies, .strategy_count = 2},
                     12, 13);
    assert_true(found.held > 0);
}

/* As many stages as there are devices, of layers of which only two may be apart, where stages may be empty. */
static void test_few_layers(void **state)
{
    static const uint32_t one[] = {1};
    uint64_t seed = 11;
    const ppsched_layers *layers = draw_uneven_layers(2, &seed);
    struct plan_choice options = {
        .size = sizeof options, .layers = layers, .strategies = rules, .strategy_count = 1, .chunks = one, .chunk_count = 1};
    (void)state;
    for (int devices = 3; devices <= 4; devices++)
        for (options.empty_stages = 0; options.empty_stages < 2; options.empty_stages++) {
            ppsched_config *config = make_config(devices, devices, 4);
            ppsched_plan *plan = run_plan(config, &options);
            assert_int_equal(ranked(plan, 0).fits, options.empty_stages);
            ppsched_plan_destroy(plan);
            ppsched_config_destroy(config);
        }
    ppsched_layers_release(layers);
}

static void test_copies(void **state)
{
    struct found found = {0};
    (void)state;
    look_at_problems(
        &found,
        &(struct plan_choice){.size = sizeof(struct plan_choice), .strategies = rules, .strategy_count = 2, .offload = 1}, 16,
        7);
    expect_no_worse(&found, &(struct found){692, 12496, 32169.786047458649});
}

/* The best of a problem so small that all splits are tried for a strategy alone; with the candidate's options. */
static double best_alone(const ppsched_config *config, const ppsched_layers *layers, const ppsched_candidate *candidate)
{
    const uint32_t stages_each = candidate->stages / (uint32_t)ppsched_config_devices(config);
    const struct plan_choice options = {.size = sizeof options,
                                        .layers = layers,
                                        .strategies = &candidate->strategy,
                                        .strategy_count = 1,
                                        .chunks = &stages_each,
                                        .chunk_count = 1,
                                        .group_sizes = candidate->group_size > 0 ? &candidate->group_size : NULL,
                                        .group_size_count = candidate->group_size > 0};
    ppsched_plan *plan = run_plan(config, &options);
    const ppsched_candidate best = ranked(plan, 0);
    ppsched_plan_destroy(plan);
    return best.fits ? best.step_time : INFINITY;
}

/* Small problems are tried whole among hundreds of candidates too. */
static void test_together_as_alone(void **state)
{
    static const char *const fixed[] = {
        "1f1b",       "zb_h1", "zbv",        "interleaved_1f1b", "interleaved_zb",
        "dualpipe_v", "gpipe", "looped_bfs", "v_1f1b",           "interleaved_1f1b_less_memory"};
    static const uint32_t few[] = {1, 2, 3};
    uint32_t tried = 0;
    (void)state;
    for (int devices = 2; devices <= 3; devices++) {
        const ppsched_layers *layers = make_model(12);
        ppsched_config *config = make_config(devices, devices, 4);
        const struct plan_choice options = {.size = sizeof options,
                                            .layers = layers,
                                            .strategies = fixed,
                                            .strategy_count = sizeof fixed / sizeof fixed[0],
                                            .chunks = few,
                                            .chunk_count = sizeof few / sizeof few[0]};
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 28);
        ppsched_plan *plan = run_plan(config, &options);
        for (uint32_t rank = 0; rank < ppsched_plan_count(plan) && ranked(plan, rank).fits; rank++, tried++) {
            const ppsched_candidate candidate = ranked(plan, rank);
            double alone = best_alone(config, layers, &candidate);
            if (candidate.step_time > alone * (1 + 1e-9))
                fail_msg("%s of %u stages, groups of %u: %g, and %g alone", candidate.strategy, candidate.stages,
                         candidate.group_size, candidate.step_time, alone);
        }
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
    print_message("# %u candidates\n", tried);
    assert_true(tried > 40);
}

static double best_step(const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *plan = run_plan(config, options);
    double best = ranked(plan, 0).step_time;
    ppsched_plan_destroy(plan);
    return best;
}

/* The best among groups of all sizes is as short as the best that any size finds alone: large groups want splits of their
 * own. */
static void test_groups_together_as_alone(void **state)
{
    enum { DEVICES = 6, MICROBATCHES = 12 };
    static const char *const strategies[] = {"interleaved_1f1b", "interleaved_zb", "interleaved_1f1b_less_memory"};
    static const uint32_t two[] = {2};
    const ppsched_layers *layers = make_plain_model(3 * DEVICES);
    ppsched_config *config = make_config(DEVICES, DEVICES, MICROBATCHES);
    (void)state;
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        struct plan_choice options = {.size = sizeof options,
                                      .layers = layers,
                                      .strategies = &strategies[i],
                                      .strategy_count = 1,
                                      .chunks = two,
                                      .chunk_count = 1,
                                      .empty_stages = 1};
        double together = best_step(config, &options), best = INFINITY;
        options.group_size_count = 1;
        for (uint32_t group = DEVICES; group <= MICROBATCHES; group++) {
            options.group_sizes = &group;
            best = fmin(best, best_step(config, &options));
        }
        if (together > best * (1 + 1e-9))
            fail_msg("%s: %g, and %g alone", strategies[i], together, best);
    }
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
}

/* How often a plan asks whether to go on: some times a candidate, and each million visits of a search for a split. */
static uint32_t calls_with(const struct plan_choice *options, uint32_t devices, uint32_t microbatches, double limit)
{
    ppsched_config *config = make_config(devices, devices, microbatches);
    uint32_t calls = 0;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    expect_ok(ppsched_config_set_progress(config, count_call, &calls, NULL), NULL);
    ppsched_plan_destroy(run_plan(config, options));
    ppsched_config_destroy(config);
    return calls;
}

static uint32_t calls_of(const ppsched_layers *layers, uint32_t devices, uint32_t microbatches, double limit,
                         const char *const *strategies, uint32_t count)
{
    const struct plan_choice options = {
        .size = sizeof options, .layers = layers, .strategies = strategies, .strategy_count = count};
    return calls_with(&options, devices, microbatches, limit);
}

/* Those that come last share what one strategy has alone, whatever other strategies there are. */
static void test_what_comes_last(void **state)
{
    static const char *const last[] = {"group_interleaved_1f1b"}, *const all[] = {"1f1b", "group_interleaved_1f1b"};
    const ppsched_layers *layers = make_model(64);
    (void)state;
    uint32_t alone = calls_of(layers, 8, 16, 90, last, 1), together = calls_of(layers, 8, 16, 90, all, 2);
    assert_in_range(alone, 40, 200);
    assert_in_range(together, alone, 2 * alone);
    ppsched_layers_release(layers);
}

/* A search that finds nothing better than where it began ends long before one that goes on to find more; so does one on a
 * shorter schedule. */
static void test_idle_search(void **state)
{
    static const char *const zbv[] = {"zbv"};
    const ppsched_layers *plain = make_plain_model(50), *layers = make_model(64);
    (void)state;
    uint32_t idle = calls_of(plain, 8, 16, 1000, zbv, 1), busy = calls_of(layers, 8, 20, 60, zbv, 1);
    uint32_t shorter = calls_of(layers, 8, 32, 60, zbv, 1);
    assert_in_range(idle, 20, 60);
    assert_in_range(busy, 100, 200);
    assert_in_range(shorter, 20, 60);
    ppsched_layers_release(plain);
    ppsched_layers_release(layers);
}

/* Devices of so many stages that not all sets of recomputed layers are tried: what fits with nearly all recomputed is found all
 * the same, for each size of groups. */
static void test_many_stages_a_device(void **state)
{
    static const uint32_t many[] = {20};
    static const char *const strategies[] = {"interleaved_1f1b"};
    const ppsched_layers *layers = make_model(60);
    const struct plan_choice options = {.size = sizeof options,
                                        .layers = layers,
                                        .strategies = strategies,
                                        .strategy_count = 1,
                                        .chunks = many,
                                        .chunk_count = 1};
    ppsched_config *config = make_config(2, 2, 4);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 61);
    ppsched_plan *plan = run_plan(config, &options);
    assert_int_equal(ppsched_plan_count(plan), 4);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        assert_true(ranked(plan, i).fits && ranked(plan, i).peak_memory <= 61 * (1 + 1e-9));
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
}

/* Decoders of `names` names, with a limit under which some are recomputed. */
static uint32_t calls_of_names(uint32_t names)
{
    enum { DECODERS = 64 };
    static const ppsched_recompute full = {"full", 1, 0.125};
    static const char *const strategies[] = {"1f1b"};
    char name[DECODERS][8];
    ppsched_layer entries[DECODERS];
    for (uint32_t i = 0; i < DECODERS; i++) {
        snprintf(name[i], sizeof name[i], "d%u", i % names);
        entries[i] = (ppsched_layer)LAYER(name[i], .forward_time = 1 + 0.01 * i, .backward_time = 2, .mem_forward = 1,
                                          .recomputes = &full, .recompute_count = 1);
    }
    const ppsched_layers *layers = make_layers(entries, DECODERS);
    const struct plan_choice options = {.size = sizeof options,
                                        .layers = layers,
                                        .strategies = strategies,
                                        .strategy_count = 1,
                                        .runtime = PPSCHED_RUNTIME_DEEPSPEED};
    uint32_t calls = calls_with(&options, 8, 16, 50);
    ppsched_layers_release(layers);
    return calls;
}

/* Of many names few are tried for recomputation alone: each is a search. */
static void test_many_names(void **state)
{
    uint32_t few = calls_of_names(4), many = calls_of_names(64);
    (void)state;
    assert_in_range(few, 10, 100);
    assert_in_range(many, few / 2, few + few / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules),
                                       cmocka_unit_test(test_searches),
                                       cmocka_unit_test(test_runtimes),
                                       cmocka_unit_test(test_copies),
                                       cmocka_unit_test(test_spans),
                                       cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_few_layers),
                                       cmocka_unit_test(test_what_comes_last),
                                       cmocka_unit_test(test_idle_search),
                                       cmocka_unit_test(test_many_names),
                                       cmocka_unit_test(test_together_as_alone),
                                       cmocka_unit_test(test_groups_together_as_alone),
                                       cmocka_unit_test(test_many_stages_a_device)};
    return cmocka_run_group_tests_name("layered work", tests, NULL, NULL);
}
