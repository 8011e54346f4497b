/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for a model by its layers: splits that hold and fit, figures that come out again, runtimes, limits, and bad input. */
#include "support/plan_choice.h"
#include "support/last.h"
#include "support/layered.h"
#include "support/plans.h"
#include "support/rounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 256, MOST_LAYERS = 256 };

#define OPTIONS(...)                                                                                                           \
    (struct plan_choice)                                                                                                       \
    {                                                                                                                          \
        .size = sizeof(struct plan_choice), __VA_ARGS__                                                                        \
    }

/* A candidate's split, with what it points to. */
struct own_split {
    ppsched_split split;
    uint32_t layers[MOST_STAGES];
    uint8_t recomputes[MOST_LAYERS];
};

static void take_split(struct own_split *out, const ppsched_plan *plan, uint32_t number)
{
    size_t stages = 0, layers = 0;
    ppsched_error error;
    expect_ok(ppsched_plan_get_split(out->layers, MOST_STAGES, &stages, plan, number, &error), &error);
    expect_ok(ppsched_plan_get_recomputes(out->recomputes, MOST_LAYERS, &layers, plan, number, &error), &error);
    out->split = split_of(out->layers, (uint32_t)stages, out->recomputes);
    assert_int_equal(stages, candidate_of(plan, number).stages);
}

static ppsched_config *config_of(const ppsched_plan *plan, uint32_t number)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    expect_ok(ppsched_plan_create_config(&config, plan, number, &error), &error);
    return config;
}

/* --- figures --- */

static void expect_same_stages(const ppsched_config *a, const ppsched_config *b)
{
    for (int32_t q = 1; q <= LAST_QUANTITY; q++) {
        size_t count = 0, other = 0;
        const double *values = ppsched_config_values(a, q, &count), *others = ppsched_config_values(b, q, &other);
        if (q == PPSCHED_QUANTITY_MEM_LIMIT)
            continue;
        assert_int_equal(count, other);
        for (size_t i = 0; i < count; i++)
            assert_true(values[i] == others[i]);
    }
}

/* Its split holds, makes its problem, and that its figures. */
static void expect_figures(const ppsched_plan *plan, uint32_t number, const ppsched_config *base, const ppsched_layers *layers)
{
    ppsched_candidate candidate = candidate_of(plan, number);
    ppsched_config *config = config_of(plan, number), *made = NULL;
    struct own_split own;
    ppsched_error error;
    take_split(&own, plan, number);
    expect_ok(ppsched_config_from_layers(&made, base, layers, &own.split, &error), &error);
    if (ppsched_config_microbatches(base) == candidate.microbatches)
        expect_same_stages(config, made);
    ppsched_schedule *schedule = make_schedule(config, candidate.strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config), *again = NULL;
    ppsched_metrics metrics = metrics_of(timeline);
    assert_true(metrics.makespan == candidate.makespan && metrics.span == candidate.span);
    assert_true(metrics.peak_memory == candidate.peak_memory && metrics.limit_device == candidate.limit_device);
    assert_true(candidate.fits == (metrics.limit_device == PPSCHED_NONE));
    assert_true(candidate.bound <= candidate.step_time * (1 + 1e-9));
    expect_ok(ppsched_plan_create_timeline(&again, plan, number, &error), &error);
    assert_true(metrics_of(again).makespan == metrics.makespan && metrics_of(again).peak_memory == metrics.peak_memory);
    ppsched_timeline_destroy(again);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(made);
    ppsched_config_destroy(config);
}

/* All of them; returns how many fit. */
static uint32_t expect_all(const ppsched_plan *plan, const ppsched_config *base, const ppsched_layers *layers)
{
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = candidate_of(plan, i);
        assert_true(candidate.evaluated && (candidate.reason == NULL) == (candidate.status == PPSCHED_OK));
        if (candidate.status == PPSCHED_OK)
            expect_figures(plan, i, base, layers);
        else
            assert_null(strchr(candidate.reason, '\n'));
        fitting += candidate.fits;
    }
    return fitting;
}

static void expect_same_plans(const ppsched_plan *a, const ppsched_plan *b)
{
    assert_int_equal(ppsched_plan_count(a), ppsched_plan_count(b));
    for (uint32_t i = 0; i < ppsched_plan_count(a); i++) {
        ppsched_candidate one = candidate_of(a, i), other = candidate_of(b, i);
        struct own_split left, right;
        assert_true((one.reason == NULL) == (other.reason == NULL));
        if (one.reason != NULL)
            assert_string_equal(one.reason, other.reason);
        one.reason = other.reason = NULL;
        assert_memory_equal(&one, &other, sizeof one);
        if (one.status != PPSCHED_OK)
            continue;
        take_split(&left, a, i);
        take_split(&right, b, i);
        assert_memory_equal(left.layers, right.layers, one.stages * sizeof *left.layers);
    }
}

static void test_figures(void **state)
{
    static const uint32_t microbatches[] = {4, 8};
    const ppsched_layers *layers = make_model(10);
    const struct plan_choice options = OPTIONS(.layers = layers, .microbatches = microbatches, .microbatch_count = 2);
    (void)state;
    for (int tight = 0; tight < 2; tight++) {
        ppsched_config *base = make_config(3, 3, 8);
        if (tight)
            set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 8.5);
        ppsched_plan *plan = run_plan(base, &options), *again = run_plan(base, &options);
        assert_true(ppsched_plan_count(plan) > 20);
        assert_true(expect_all(plan, base, layers) > 0);
        expect_same_plans(plan, again);
        expect_ok(ppsched_plan_run(again, NULL), NULL); /* nothing is left to do */
        expect_same_plans(plan, again);
        ppsched_plan_destroy(again);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(base);
    }
    ppsched_layers_release(layers);
}

/* Microbatches of half the size cost half; of the limits each is kept to. */
static void test_limits_and_microbatches(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1"};
    static const uint32_t chunks[] = {1}, microbatches[] = {4, 8};
    static const double limits[] = {6, 7, 100};
    const ppsched_layers *layers = make_model(8);
    ppsched_config *base = make_config(4, 4, 4);
    const struct plan_choice options = OPTIONS(.strategies = strategies, .strategy_count = 2, .chunks = chunks,
                                               .chunk_count = 1, .microbatches = microbatches, .microbatch_count = 2,
                                               .memory_limits = limits, .memory_limit_count = 3, .layers = layers);
    ppsched_plan *plan = run_plan(base, &options);
    double before = 0;
    (void)state;
    assert_int_equal(ppsched_plan_count(plan), 12);
    expect_all(plan, base, layers);
    for (uint32_t i = 0; i < 12; i++) {
        ppsched_candidate candidate = candidate_of(plan, i);
        ppsched_config *config = config_of(plan, i);
        size_t count = 0;
        assert_true(candidate.memory_limit == limits[i % 3] && candidate.microbatches == microbatches[i / 3 % 2]);
        assert_true(!candidate.fits || candidate.peak_memory <= candidate.memory_limit * (1 + 1e-9));
        assert_true(i % 3 != 2 || candidate.fits);
        const double *values = ppsched_config_values(config, PPSCHED_QUANTITY_MEM_FORWARD, &count);
        if (i % 3 == 2) {
            double sum = 0;
            for (size_t s = 0; s < count; s++)
                sum += values[s];
            assert_true(sum == 8.5 * 4 / candidate.microbatches);
        }
        /* of a rule's splits a larger limit allows all that a smaller one does */
        assert_true(i % 3 == 0 || !candidate.fits || before == 0 || candidate.step_time <= before * (1 + 1e-9));
        before = candidate.fits ? candidate.step_time : 0;
        ppsched_config_destroy(config);
    }
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* One that is not evaluated gets its split for the call. */
static void test_before_it_is_evaluated(void **state)
{
    const ppsched_layers *layers = make_model(8);
    ppsched_config *base = make_config(2, 2, 4);
    set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 12);
    const struct plan_choice options = OPTIONS(.layers = layers);
    ppsched_plan *plan = make_plan(base, &options);
    uint32_t counts[MOST_STAGES];
    uint8_t kinds[MOST_LAYERS];
    ppsched_error error;
    (void)state;
    ppsched_layers_release(layers); /* the plan has its own reference */
    assert_int_equal(ppsched_plan_get_split(counts, MOST_STAGES, NULL, plan, 0, &error), PPSCHED_ERROR_REFUSED);
    assert_string_equal(error.message, "candidate 0 has no split: it is not evaluated");
    assert_int_equal(ppsched_plan_get_recomputes(kinds, MOST_LAYERS, NULL, plan, 0, NULL), PPSCHED_ERROR_REFUSED);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_timeline *timeline = NULL;
        ppsched_status status = ppsched_plan_create_timeline(&timeline, plan, i, &error);
        assert_int_equal(candidate_of(plan, i).evaluated, 0);
        expect_ok(ppsched_plan_evaluate(plan, i, &error), &error);
        ppsched_candidate candidate = candidate_of(plan, i);
        assert_int_equal(status, candidate.status);
        if (status == PPSCHED_OK)
            assert_true(metrics_of(timeline).makespan == candidate.makespan);
        ppsched_timeline_destroy(timeline);
    }
    assert_int_equal(ppsched_plan_get_split(counts, 1, NULL, plan, 0, &error), PPSCHED_ERROR_BUFFER);
    assert_int_equal(ppsched_plan_get_split(counts, MOST_STAGES, NULL, plan, 9999, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_plan_get_recomputes(kinds, MOST_LAYERS, NULL, plan, 9999, &error), PPSCHED_ERROR_RANGE);
    ppsched_plan_destroy(plan);
    plan = make_plan(base, NULL);
    assert_int_equal(ppsched_plan_get_split(counts, MOST_STAGES, NULL, plan, 0, &error), PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "the plan has no layers, so its candidates have no split");
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
}

/* --- progress --- */

struct listener {
    uint32_t calls, stop; /* 0: never */
    double share, best;
};

static int32_t listen(void *user, const ppsched_progress *progress)
{
    struct listener *listener = user;
    assert_true(progress->share >= listener->share && progress->share <= 1 && progress->best <= listener->best);
    listener->share = progress->share;
    listener->best = progress->best;
    return ++listener->calls == listener->stop;
}

/* A plan that is stopped anywhere has no ranks, and comes to the same end as one that was not. */
static void test_progress(void **state)
{
    const ppsched_layers *layers = make_model(8);
    ppsched_config *base = make_config(2, 2, 4);
    struct listener listener = {.best = INFINITY};
    static const char *const strategies[] = {"1f1b", "zb_auto", "interleaved_1f1b"};
    const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 3);
    (void)state;
    set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 10);
    expect_ok(ppsched_config_set_progress(base, listen, &listener, NULL), NULL);
    ppsched_plan *whole = run_plan(base, &options);
    uint32_t calls = listener.calls;
    assert_true(listener.share == 1 && calls > ppsched_plan_count(whole) && ranked(whole, 0).fits);
    for (uint32_t stop = 1; stop <= calls; stop = stop < 4 || stop + 8 > calls ? stop + 1 : stop + calls / 6) {
        ppsched_plan *plan = make_plan(base, &options);
        ppsched_error error;
        listener = (struct listener){.stop = stop, .best = INFINITY};
        assert_int_equal(ppsched_plan_run(plan, &error), PPSCHED_ERROR_CANCELLED);
        assert_non_null(strstr(error.message, " was cancelled"));
        assert_int_equal(ppsched_plan_candidate_at_rank(plan, 0), PPSCHED_NONE);
        assert_int_equal(candidate_of(plan, 0).rank, PPSCHED_NONE);
        listener = (struct listener){.best = INFINITY};
        expect_ok(ppsched_plan_run(plan, NULL), NULL);
        expect_same_plans(plan, whole);
        ppsched_plan_destroy(plan);
    }
    ppsched_plan_destroy(whole);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* The same in the rounds of longer searches, which come last and tell once a search; here both rounds find better splits. */
static void test_stopped_rounds(void **state)
{
    static const ppsched_recompute full[] = {{"full", 1, 0.1}};
    const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .forward_time = 0.1),
                                     LAYER("decoder", .count = 128, .forward_time = 1, .backward_input_time = 1.1,
                                           .backward_weight_time = 1, .mem_forward = 2, .recomputes = full,
                                           .recompute_count = 1)};
    const ppsched_layers *layers = make_layers(entries, 2);
    ppsched_config *base = make_config(16, 16, 16);
    struct listener listener = {.best = INFINITY};
    const struct plan_choice options = OPTIONS(.layers = layers, .runtime = PPSCHED_RUNTIME_MEGATRON);
    (void)state;
    set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 118.8);
    expect_ok(ppsched_config_set_progress(base, listen, &listener, NULL), NULL);
    ppsched_plan *whole = run_plan(base, &options);
    for (uint32_t before = 3, calls = listener.calls; before <= (ROUND_SHARE > 1 ? 3 : 6); before += 3) {
        ppsched_plan *plan = make_plan(base, &options);
        listener = (struct listener){.stop = calls - before, .best = INFINITY};
        assert_int_equal(ppsched_plan_run(plan, NULL), PPSCHED_ERROR_CANCELLED);
        listener = (struct listener){.best = INFINITY};
        expect_ok(ppsched_plan_run(plan, NULL), NULL);
        expect_same_plans(plan, whole);
        ppsched_plan_destroy(plan);
    }
    ppsched_plan_destroy(whole);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* --- when nothing fits --- */

/* Under the least limit that candidate fits, found by a plan of its own. */
static void expect_least(const ppsched_plan *plan, const ppsched_config *base, const struct plan_choice *options)
{
    double least = 0;
    uint32_t number = PPSCHED_NONE, best = PPSCHED_NONE;
    ppsched_error error;
    expect_ok(ppsched_plan_find_least_limit(&least, &number, plan, &error), &error);
    expect_ok(ppsched_plan_find_least_limit(&least, NULL, plan, &error), &error);
    struct plan_choice under = *options;
    under.memory_limits = &least;
    under.memory_limit_count = 1;
    ppsched_plan *other = run_plan(base, &under);
    ppsched_candidate wanted = candidate_of(plan, number);
    for (uint32_t i = 0; i < ppsched_plan_count(other) && best == PPSCHED_NONE; i++) {
        ppsched_candidate candidate = candidate_of(other, i);
        if (candidate.fits && strcmp(candidate.strategy, wanted.strategy) == 0 && candidate.stages == wanted.stages &&
            candidate.microbatches == wanted.microbatches && candidate.group_size == wanted.group_size)
            best = i;
    }
    if (best == PPSCHED_NONE)
        fail_msg("under %g %s of %u stages does not fit", least, wanted.strategy, wanted.stages);
    ppsched_plan_destroy(other);
}

static void test_least_limit(void **state)
{
    static const char *const rules[] = {"1f1b", "gpipe"}, *const searches[] = {"zb_auto", "v_half"};
    const ppsched_layers *layers = make_model(8), *plain = make_plain_model(8);
    ppsched_config *base = make_config(4, 4, 8);
    double least = 0, without = 0;
    (void)state;
    set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 1);
    const struct plan_choice options[] = {OPTIONS(.layers = layers),
                                          OPTIONS(.layers = layers, .strategies = rules, .strategy_count = 2),
                                          OPTIONS(.layers = layers, .strategies = searches, .strategy_count = 2),
                                          OPTIONS(.layers = plain, .strategies = rules, .strategy_count = 2),
                                          OPTIONS(.layers = layers, .runtime = PPSCHED_RUNTIME_MEGATRON),
                                          OPTIONS(.layers = layers, .strategies = rules, .strategy_count = 2,
                                                  .memory_limits = (double[]){0, 1}, .memory_limit_count = 2)};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        ppsched_plan *plan = run_plan(base, &options[i]);
        ppsched_candidate best = ranked(plan, 0);
        assert_int_equal(best.fits, 0);
        expect_least(plan, base, &options[i]);
        if (i == 1 || i == 3)
            expect_ok(ppsched_plan_find_least_limit(i == 1 ? &least : &without, NULL, plan, NULL), NULL);
        ppsched_plan_destroy(plan);
    }
    assert_true(least < without); /* layers that are computed again need less */
    ppsched_config_destroy(base);
    ppsched_layers_release(plain);
    ppsched_layers_release(layers);
}

/* --- runtimes --- */

/* There is a line for a candidate of a plan for that runtime. */
static void expect_line(const ppsched_plan *plan, uint32_t number, const ppsched_layers *layers, int32_t runtime)
{
    ppsched_candidate candidate = candidate_of(plan, number);
    ppsched_config *config = config_of(plan, number);
    ppsched_schedule *schedule = make_schedule(config, candidate.strategy);
    struct own_split own;
    char line[2000];
    ppsched_error error = {.message = ""};
    take_split(&own, plan, number);
    const ppsched_launch_options options = {
        .size = sizeof options, .micro_batch = 2, .model = layers, .split = &own.split, .data_parallel = 2};
    expect_ok(ppsched_schedule_write_launch_arguments(line, sizeof line, NULL, schedule, runtime, &options, &error), &error);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void expect_lines(const ppsched_config *base, const ppsched_layers *layers, int32_t runtime, bool tight)
{
    const struct plan_choice options = OPTIONS(.layers = layers, .runtime = runtime, .runtimes = 1u << runtime);
    ppsched_plan *plan = run_plan(base, &options);
    uint32_t lines = 0, refused = 0;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = candidate_of(plan, i);
        refused += candidate.status != PPSCHED_OK;
        assert_true((candidate.runs_on & ~options.runtimes) == 0 && (candidate.status == PPSCHED_OK || candidate.runs_on == 0));
        if (candidate.status == PPSCHED_OK && candidate.fits) {
            expect_line(plan, i, layers, runtime);
            lines++;
        }
    }
    if (!tight && (lines == 0 || refused == 0))
        fail_msg("%s: %u lines, %u refused", ppsched_runtime_name(runtime), lines, refused);
    ppsched_plan_destroy(plan);
}

static void test_runtimes(void **state)
{
    static const double limits[] = {0, 9, 7.5};
    const ppsched_layers *tied = make_model(8), *untied = make_untied_model(8);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        ppsched_config *base = make_config(2, 2, 4);
        if (i > 0)
            set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, limits[i]);
        for (int32_t runtime = 1; runtime <= LAST_RUNTIME; runtime++)
            expect_lines(base, runtime == PPSCHED_RUNTIME_SAIL || runtime == PPSCHED_RUNTIME_MINDSPEED ? untied : tied, runtime,
                         i > 0);
        ppsched_config_destroy(base);
    }
    ppsched_layers_release(tied);
    ppsched_layers_release(untied);
}

/* A limit that is not felt leaves nothing to recompute: all splits of the runtime were tried. One that is felt leaves ways
 * that were not. */
static void test_proofs_for_a_runtime(void **state)
{
    static const char *const rule[] = {"1f1b"};
    const ppsched_layers *layers = make_model(6);
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct plan_choice options = OPTIONS(.layers = layers, .strategies = rule, .strategy_count = 1,
                                                   .runtime = PPSCHED_RUNTIME_MEGATRON);
        ppsched_config *base = make_config(2, 2, 4);
        set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, i == 0 ? 100 : 9);
        ppsched_plan *plan = run_plan(base, &options);
        assert_true(candidate_of(plan, 0).fits);
        assert_int_equal(candidate_of(plan, 0).proved, i == 0);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(base);
    }
    ppsched_layers_release(layers);
}

/* The makespan of 1F1B with a split, and infinite where it is over the limit. */
static double time_with(const ppsched_config *base, const ppsched_layers *layers, const uint32_t *counts, uint32_t stages,
                        const uint8_t *recomputes)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    const ppsched_split split = split_of(counts, stages, recomputes);
    expect_ok(ppsched_config_from_layers(&config, base, layers, &split, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    const ppsched_metrics metrics = metrics_of(timeline);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return metrics.limit_device == PPSCHED_NONE ? metrics.makespan : INFINITY;
}

/* DeepSpeed computes layers again by their names: none, those of one name, or all; the plan is the best of all these and all
 * splits. */
static void test_names_that_are_recomputed(void **state)
{
    static const ppsched_recompute full[] = {{"full", 1, 0.125}};
    static const char *const strategy[] = {"1f1b"};
    uint32_t alone = 0, held = 0;
    (void)state;
    for (uint32_t kind = 0; kind < 18; kind++) {
        const ppsched_layer entries[] = {LAYER("dense", .count = 3, .forward_time = 1, .backward_time = 2,
                                               .mem_forward = 1 + kind % 3, .recomputes = full, .recompute_count = 1),
                                         LAYER("moe", .count = 3, .forward_time = 1.5, .backward_time = 3, .mem_forward = 2,
                                               .mem_static = 0.5, .recomputes = full, .recompute_count = 1)};
        const ppsched_layers *layers = make_layers(entries, 2);
        ppsched_config *base = make_config(2, 2, 4);
        set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 3 + 2 * (kind / 3));
        double best[4] = {INFINITY, INFINITY, INFINITY, INFINITY}, least = INFINITY;
        for (uint32_t first = 1; first < 6; first++)
            for (uint32_t names = 0; names < 4; names++) {
                const uint8_t recomputes[6] = {names & 1, names & 1, names & 1, names >> 1, names >> 1, names >> 1};
                const uint32_t counts[2] = {first, 6 - first};
                best[names] = fmin(best[names], time_with(base, layers, counts, 2, recomputes));
                least = fmin(least, best[names]);
            }
        const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategy, .strategy_count = 1,
                                                   .runtime = PPSCHED_RUNTIME_DEEPSPEED);
        ppsched_plan *plan = run_plan(base, &options);
        ppsched_candidate candidate = candidate_of(plan, 0);
        assert_int_equal(candidate.status == PPSCHED_OK && candidate.fits, least < INFINITY);
        assert_true(least == INFINITY || fabs(candidate.makespan - least) <= 1e-9 * least);
        held += least < INFINITY;
        alone += least < INFINITY && least < fmin(best[0], best[3]);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(base);
        ppsched_layers_release(layers);
    }
    assert_true(held >= 12 && alone >= 3);
}

/* What they are asked alone changes nothing but the answer. */
static void test_runtimes_that_are_asked(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1", "gpipe"};
    const ppsched_layers *layers = make_plain_model(9);
    ppsched_config *base = make_config(4, 4, 4);
    struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 3,
                                         .runtimes = (2u << LAST_RUNTIME) - 2);
    ppsched_plan *plan = run_plan(base, &options);
    ppsched_candidate first = candidate_of(plan, 0);
    (void)state;
    assert_true((first.runs_on >> PPSCHED_RUNTIME_MEGATRON & 1) && (first.runs_on >> PPSCHED_RUNTIME_DEEPSPEED & 1));
    assert_false(first.runs_on >> PPSCHED_RUNTIME_SAIL & 1); /* 9 decoders, which are divided evenly there */
    options.runtimes = 0;
    ppsched_plan *other = run_plan(base, &options);
    assert_true(candidate_of(other, 0).runs_on == 0 && candidate_of(other, 0).step_time == first.step_time);
    ppsched_plan_destroy(other);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* --- what cannot be --- */

static void expect_reason(const ppsched_layers *layers, int devices, const struct plan_choice *options, const char *reason)
{
    ppsched_config *base = make_config(devices, devices, 4);
    struct plan_choice own = *options;
    own.size = sizeof own;
    own.layers = layers;
    ppsched_plan *plan = run_plan(base, &own);
    double least = 0;
    ppsched_candidate candidate = ranked(plan, 0);
    assert_int_equal(candidate.status, PPSCHED_ERROR_REFUSED);
    assert_string_equal(candidate.reason, reason);
    ppsched_error error;
    assert_int_equal(ppsched_plan_find_least_limit(&least, NULL, plan, &error), PPSCHED_ERROR_REFUSED);
    assert_string_equal(error.message, "no candidate can solve the problem under any memory limit");
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
}

/* They run one iteration again and again, whatever the plan's number of them is. */
static void test_runtimes_are_asked_for_an_iteration(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1", "interleaved_1f1b"};
    const ppsched_layers *layers = make_plain_model(9);
    const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 3,
                                               .runtimes = (2u << LAST_RUNTIME) - 2);
    ppsched_plan *plans[2];
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        ppsched_config *base = make_config(4, 4, 4);
        expect_ok(ppsched_config_set_iterations(base, i + 1, NULL), NULL);
        plans[i] = run_plan(base, &options);
        ppsched_config_destroy(base);
    }
    assert_int_equal(ppsched_plan_count(plans[0]), ppsched_plan_count(plans[1]));
    for (uint32_t c = 0; c < ppsched_plan_count(plans[0]); c++)
        assert_int_equal(candidate_of(plans[0], c).runs_on, candidate_of(plans[1], c).runs_on);
    assert_true(candidate_of(plans[1], 0).runs_on != 0);
    ppsched_plan_destroy(plans[0]);
    ppsched_plan_destroy(plans[1]);
    ppsched_layers_release(layers);
}

static void test_what_cannot_be(void **state)
{
    static const char *const rule[] = {"1f1b"}, *const interleaved[] = {"interleaved_1f1b"}, *const search[] = {"zb_auto"};
    static const char *const v[] = {"zbv"};
    static const uint32_t two[] = {2}, one[] = {1};
    const ppsched_layers *few = make_plain_model(4), *odd = make_plain_model(5);
    const ppsched_layer together = LAYER("decoder", .count = 8, .flags = PPSCHED_LAYER_FLAG_WITH_NEXT, .forward_time = 1);
    const ppsched_layers *block = make_layers(&together, 1);
    (void)state;
    expect_reason(few, 8, &OPTIONS(.strategies = rule, .strategy_count = 1),
                  "8 stages need 8 layers that can be separated, not 6; use at most 6 devices");
    expect_reason(few, 8, &OPTIONS(.strategies = search, .strategy_count = 1),
                  "8 stages need 8 layers that can be separated, not 6; use at most 6 devices");
    expect_reason(few, 4, &OPTIONS(.strategies = interleaved, .strategy_count = 1, .chunks = two, .chunk_count = 1),
                  "8 stages need 8 layers that can be separated, not 6; use at most 4 stages");
    expect_reason(few, 4, &OPTIONS(.strategies = v, .strategy_count = 1),
                  "8 stages, 2 per device, need 8 layers that can be separated, not 6; use at most 3 devices");
    expect_reason(few, 3, &OPTIONS(.strategies = v, .strategy_count = 1, .chunks = one, .chunk_count = 1),
                  "zbv: needs 2 stages per device, not 3 stages on 3 devices; nearest: 6 stages");
    expect_reason(few, 3, &OPTIONS(.strategies = rule, .strategy_count = 1, .chunks = two, .chunk_count = 1),
                  "1f1b: needs 1 stage per device, not 6 stages on 3 devices; nearest: 3 stages, or 6 devices");
    expect_reason(odd, 2, &OPTIONS(.strategies = rule, .strategy_count = 1, .runtime = PPSCHED_RUNTIME_MINDSPEED),
                  "MindSpeed's own schedule is DualPipeV, and this order differs; DualPipeV has 2 stages on each of 2 devices, "
                  "and needs 4, 8, ... layers and at least 4 microbatches");
    expect_reason(block, 2, &OPTIONS(.strategies = rule, .strategy_count = 1, .empty_stages = 1),
                  "2 stages need 2 layers that can be separated, not 1; use at most 1 device");
    expect_reason(
        odd, 2,
        &OPTIONS(.strategies = rule, .strategy_count = 1, .runtime = PPSCHED_RUNTIME_SAIL, .chunks = one, .chunk_count = 1),
        "sail-sg's runtime divides decoders evenly, and 5 cannot be divided by 2 stages; 4 or 6 can");
    ppsched_layers_release(block);
    ppsched_layers_release(odd);
    ppsched_layers_release(few);
}

/* Of a runtime that divides evenly. */
static void test_reasons_of_even_splits(void **state)
{
    static const char *const rule[] = {"1f1b"};
    static const uint32_t one[] = {1};
    static const ppsched_layer with_mtp[] = {LAYER("decoder", .count = 4, .forward_time = 1), LAYER("mtp", .forward_time = 1)};
    static const ppsched_layer pairs[] = {
        LAYER("decoder", .flags = PPSCHED_LAYER_FLAG_WITH_NEXT, .forward_time = 1), LAYER("decoder", .forward_time = 1),
        LAYER("decoder", .flags = PPSCHED_LAYER_FLAG_WITH_NEXT, .forward_time = 1), LAYER("decoder", .forward_time = 1),
        LAYER("decoder", .flags = PPSCHED_LAYER_FLAG_WITH_NEXT, .forward_time = 1), LAYER("decoder", .forward_time = 1)};
    const struct plan_choice options = OPTIONS(.strategies = rule, .strategy_count = 1, .runtime = PPSCHED_RUNTIME_SAIL,
                                               .chunks = one, .chunk_count = 1);
    const ppsched_layers *few = make_plain_model(4), *mtp = make_layers(with_mtp, 2), *paired = make_layers(pairs, 6);
    (void)state;
    expect_reason(few, 5, &options, "sail-sg's runtime divides decoders evenly, and 4 cannot be divided by 5 stages; 5 can");
    expect_reason(mtp, 2, &options, "sail-sg's runtime has no arguments for MTP layers; leave them out");
    expect_reason(paired, 2, &options,
                  "sail-sg's runtime divides decoders evenly, and stage 1 would begin with layer 3, which must be in the same "
                  "stage as the layer before it");
    ppsched_layers_release(paired);
    ppsched_layers_release(mtp);
    ppsched_layers_release(few);
}

/* Stages in the middle may be without layers where that is allowed. */
static void test_empty_stages(void **state)
{
    static const char *const rule[] = {"interleaved_1f1b"}, *const search[] = {"zbv_auto"};
    static const uint32_t two[] = {2};
    const ppsched_layers *layers = make_plain_model(4);
    ppsched_config *base = make_config(4, 4, 4);
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct plan_choice options = OPTIONS(.layers = layers, .strategies = i == 0 ? rule : search, .strategy_count = 1,
                                                   .chunks = two, .chunk_count = 1, .empty_stages = 1);
        ppsched_plan *plan = run_plan(base, &options);
        struct own_split own;
        assert_int_equal(expect_all(plan, base, layers), ppsched_plan_count(plan));
        take_split(&own, plan, 0);
        assert_true(own.layers[0] > 0 && own.layers[7] > 0);
        ppsched_plan_destroy(plan);
    }
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* However many rules are refused, those that are not are asked for the least limit. */
static void test_least_limit_beside_refused_rules(void **state)
{
    static const char *const strategies[] = {"dualpipe", "1f1b"};
    static const uint32_t one[] = {1}, microbatches[] = {4, 6, 8, 10, 12, 14, 16, 18, 20, 22};
    const ppsched_layers *layers = make_plain_model(6);
    ppsched_config *base = make_config(3, 3, 4);
    double least = 0;
    uint32_t best = PPSCHED_NONE, refused = 0;
    ppsched_error error;
    (void)state;
    set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 0.5);
    ppsched_plan *plan = run_plan(base, &OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 2, .chunks = one,
                                                 .chunk_count = 1, .microbatches = microbatches, .microbatch_count = 10));
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        refused += candidate_of(plan, i).status == PPSCHED_ERROR_REFUSED;
    assert_int_equal(refused, 10);
    expect_ok(ppsched_plan_find_least_limit(&least, &best, plan, &error), &error);
    assert_string_equal(candidate_of(plan, best).strategy, "1f1b");
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* Of 96 layers on 16 devices, by split effort; 0 is the usual one. */
static void find_times(double times[4], const char *strategy)
{
    static const uint32_t chunks[] = {2}, group[] = {16};
    static const ppsched_recompute kinds[] = {{"selective", 0.3, 0.5}, {"full", 1, 0.1}};
    static const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .forward_time = 0.1),
                                            LAYER("decoder", .count = 96, .forward_time = 1, .backward_input_time = 1.1,
                                                  .backward_weight_time = 0.9, .mem_forward = 1, .mem_static = 2,
                                                  .recomputes = kinds, .recompute_count = 2),
                                            LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .forward_time = 2.5)};
    const ppsched_layers *layers = make_layers(entries, 3);
    ppsched_config *base = make_config(16, 16, 64);
    set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 60);
    for (uint32_t effort = 0; effort < 4; effort++) {
        ppsched_plan *plan = run_plan(base, &OPTIONS(.layers = layers, .strategies = &strategy, .strategy_count = 1,
                                                     .chunks = chunks, .chunk_count = 1, .group_sizes = group,
                                                     .group_size_count = 1, .split_effort = effort));
        assert_true(candidate_of(plan, 0).fits);
        times[effort] = candidate_of(plan, 0).step_time;
        ppsched_plan_destroy(plan);
    }
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* What is searched for longer is shorter here, and the usual effort is the third. */
static void test_split_efforts(void **state)
{
    double zb[4], loop[4];
    (void)state;
    find_times(zb, "interleaved_zb");
    find_times(loop, "interleaved_1f1b");
    assert_true(zb[2] < zb[1] && zb[3] <= zb[2] && zb[0] == zb[3]);
    assert_true(loop[2] <= loop[1] && loop[3] < loop[2] && loop[0] == loop[3]);
}

/* Of fewer layers than stages none is lost, and the last stage has one. */
static void test_fewer_layers_than_stages(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_auto", "zbv_auto"};
    static const ppsched_layer five[] = {LAYER("decoder", .count = 5, .forward_time = 1, .mem_forward = 1)};
    const ppsched_layers *layers = make_layers(five, 1);
    ppsched_config *base = make_config(8, 8, 8);
    const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 3,
                                               .empty_stages = 1);
    ppsched_plan *plan = run_plan(base, &options);
    (void)state;
    assert_int_equal(expect_all(plan, base, layers), 3);
    for (uint32_t i = 0; i < 3; i++) {
        struct own_split own;
        take_split(&own, plan, i);
        assert_int_equal(own.layers[candidate_of(plan, i).stages - 1], 1);
    }
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* --- which there are --- */

static bool serves_group(const ppsched_config *base, const char *strategy, uint32_t group)
{
    char text[16];
    ppsched_config *config = NULL;
    uint32_t devices = ppsched_config_devices(base);
    config = make_config(devices, 2 * devices, ppsched_config_microbatches(base));
    snprintf(text, sizeof text, "%u", group);
    expect_ok(ppsched_config_set_option(config, "group_size", text, NULL), NULL);
    bool serves = ppsched_strategy_fits(strategy, config, NULL) == PPSCHED_OK;
    ppsched_config_destroy(config);
    return serves;
}

static uint32_t groups_of(uint32_t microbatches, uint32_t size)
{
    return (microbatches + size - 1) / size;
}

/* The size behind another one, 0 at first, that parts the microbatches into fewer groups than any smaller one. */
static uint32_t next_even(uint32_t microbatches, uint32_t group)
{
    uint32_t size = group + group / 4 + 1;
    while (size < microbatches && size > 1 && groups_of(microbatches, size) == groups_of(microbatches, size - 1))
        size++;
    if (size >= microbatches)
        size = microbatches;
    return group >= 32 && size > group + group / 2 && group + group / 4 < microbatches ? group + (group + 2) / 3 : size;
}

/* The next one from (D+1)/2 to 2D, or M + 1. */
static uint32_t next_near(uint32_t devices, uint32_t microbatches, uint32_t group)
{
    uint32_t half = (devices + 1) / 2, next = group + (devices + 15) / 16;
    next = group < half ? half : group < devices && next > devices ? devices : next;
    return next <= 2 * devices ? next : microbatches + 1;
}

/* As plan.h says, of any sizes from 1 to M: all, or of many microbatches those near D and those that part them evenly. */
static bool is_tried(uint32_t devices, uint32_t stages, uint32_t microbatches, uint32_t group)
{
    uint32_t tried = 0;
    if (microbatches <= 64 || microbatches * microbatches * stages <= 1000000)
        return true;
    while (tried < group) {
        uint32_t even = next_even(microbatches, tried), near = next_near(devices, microbatches, tried);
        tried = near < even ? near : even;
    }
    return tried == group;
}

/* As plan.h says: D, and of the others that can be run those that are tried, of many microbatches with layers the divisors, and
 * those to 2D where they are few passes; of the group-interleaved ones with layers none above D, but (D+1)/2, which alone there
 * is of those with copies, and 1. */
static bool is_listed(const ppsched_config *base, const char *strategy, uint32_t group, bool has_layers)
{
    uint32_t devices = ppsched_config_devices(base), microbatches = ppsched_config_microbatches(base);
    if (group == devices)
        return true;
    if (!is_tried(devices, ppsched_config_stages(base), microbatches, group) || !serves_group(base, strategy, group))
        return false;
    if (has_layers && strcmp(strategy, "pipeoffload") == 0)
        return group == 1 || group == (devices + 1) / 2;
    if (has_layers && strcmp(strategy, "group_interleaved_1f1b") == 0 && (group > devices || group == (devices + 1) / 2))
        return group < devices;
    bool is_near = group > devices && group <= 2 * devices && microbatches * 2 * devices <= 5000;
    return !has_layers || microbatches <= 64 || microbatches % group == 0 || is_near;
}

static void expect_groups(uint32_t devices, uint32_t microbatches, const char *strategy, const ppsched_layers *layers)
{
    static const uint32_t two[] = {2};
    ppsched_config *base = make_config(devices, layers != NULL ? devices : 2 * devices, microbatches);
    const struct plan_choice options = OPTIONS(.layers = layers, .strategies = &strategy, .strategy_count = 1, .chunks = two,
                                               .chunk_count = 1, .offload = layers != NULL);
    uint32_t at = 0;
    bool copies = strcmp(strategy, "pipeoffload") == 0; /* itself */
    set_number(base, PPSCHED_QUANTITY_HOST_BANDWIDTH, 2);
    ppsched_plan *plan = make_plan(base, &options);
    for (uint32_t i = 0; i <= microbatches; i++) { /* D, then the others as they grow */
        uint32_t group = i == 0 ? devices : i;
        if ((i > 0 && i == devices) || !is_listed(base, strategy, group, layers != NULL))
            continue;
        ppsched_candidate candidate = candidate_of(plan, at++);
        assert_int_equal(candidate.group_size, group);
        assert_int_equal(candidate.offloaded, 0);
        if (layers == NULL || copies || (group != devices && group != (devices + 1) / 2))
            continue;
        candidate = candidate_of(plan, at++); /* with copies */
        assert_int_equal(candidate.group_size, group);
        assert_int_equal(candidate.offloaded, 1);
    }
    assert_int_equal(ppsched_plan_count(plan), at);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
}

static void test_group_sizes(void **state)
{
    static const char *const strategies[] = {"interleaved_1f1b", "group_interleaved_1f1b", "pipeoffload"};
    const ppsched_layers *layers = make_plain_model(20);
    (void)state;
    for (uint32_t devices = 3; devices <= 6; devices++)
        for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
            expect_groups(devices, 9, strategies[i], NULL);
            expect_groups(devices, 9, strategies[i], layers);
            expect_groups(devices, 12, strategies[i], layers);
            expect_groups(devices, 72, strategies[i], layers);
        }
    for (uint32_t devices = 2; devices <= 5; devices++) { /* 2 D stages: all up to M M S = 1000000, some of more */
        uint32_t most = 1;
        while ((most + 1) * (most + 1) * 2 * devices <= 1000000)
            most++;
        for (uint32_t more = 0; more < 3; more++)
            expect_groups(devices, most + more, strategies[more % 2], NULL);
        expect_groups(devices, 1024, strategies[0], NULL);
    }
    expect_groups(17, 200, strategies[0], NULL);
    expect_groups(40, 300, strategies[0], NULL);
    expect_groups(33, 64, strategies[0], NULL);
    expect_groups(4, 512, strategies[0], layers);
    expect_groups(4, 720, strategies[0], layers);
    expect_groups(16, 156, "interleaved_1f1b", layers);
    expect_groups(16, 160, "interleaved_1f1b", layers);
    ppsched_layers_release(layers);
}

/* Strategies that none of the placements has: the plan is ready, and has no candidates. */
static void test_no_candidates(void **state)
{
    const char *const zbv = "zbv";
    const ppsched_layers *layers = make_plain_model(20);
    ppsched_config *base = make_config(4, 4, 8);
    (void)state;
    ppsched_plan *plan = run_plan(base, &OPTIONS(.layers = layers, .strategies = &zbv, .strategy_count = 1,
                                                 .placements = 1u << PPSCHED_PLACEMENT_LINEAR));
    assert_int_equal(ppsched_plan_count(plan), 0);
    assert_int_equal(ppsched_plan_candidate_at_rank(plan, 0), PPSCHED_NONE);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* What differs in more than the sizes of groups is searched for itself: each candidate is what it is in a plan of its own. */
static void test_candidates_alone(void **state)
{
    static const char *const strategies[] = {"slimpipe"};
    static const double limits[] = {30, 14, 22};
    static const uint32_t microbatches[] = {4, 8}, slices[] = {4, 8};
    const ppsched_layers *layers = make_model(13);
    ppsched_config *base = make_config(4, 4, 8);
    uint32_t compared = 0;
    (void)state;
    set_number(base, PPSCHED_QUANTITY_HOST_BANDWIDTH, 2);
    struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 1, .offload = 1,
                                         .memory_limits = limits, .memory_limit_count = 3, .microbatches = microbatches,
                                         .microbatch_count = 2, .slices = slices, .slice_count = 2);
    ppsched_plan *plan = run_plan(base, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i += ROUND_SHARE) {
        ppsched_candidate candidate = candidate_of(plan, i);
        const char *const strategy[] = {candidate.strategy};
        const uint32_t own_microbatches[] = {candidate.microbatches}, own_slices[] = {candidate.slices},
                       chunks[] = {candidate.stages / 4};
        options = OPTIONS(.layers = layers, .strategies = strategy, .strategy_count = 1, .offload = 1,
                          .memory_limits = &candidate.memory_limit, .memory_limit_count = 1, .microbatches = own_microbatches,
                          .microbatch_count = 1, .slices = own_slices, .slice_count = 1, .chunks = chunks, .chunk_count = 1);
        ppsched_plan *alone = run_plan(base, &options);
        for (uint32_t k = 0; k < ppsched_plan_count(alone); k++) {
            ppsched_candidate other = candidate_of(alone, k);
            if (other.offloaded != candidate.offloaded)
                continue;
            assert_int_equal(other.status, candidate.status);
            assert_true(other.status != PPSCHED_OK || other.step_time == candidate.step_time);
            compared++;
        }
        ppsched_plan_destroy(alone);
    }
    assert_true(compared == (ppsched_plan_count(plan) + ROUND_SHARE - 1) / ROUND_SHARE && compared > ROUNDS(20));
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* Where the config's microbatches are cut, the layers' times are those of a slice: no device computes less than its share. */
static void test_slices_of_the_config(void **state)
{
    static const char *const strategies[] = {"slimpipe"};
    const ppsched_layers *layers = make_plain_model(14);
    const double share = 8 * 4 * (0.5 + 14 * 3 + 2.25) / 4;
    ppsched_config *base = make_config(4, 4, 8);
    (void)state;
    expect_ok(ppsched_config_set_slices(base, 4, NULL), NULL);
    ppsched_plan *plan = run_plan(base, &OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 1));
    assert_true(ppsched_plan_count(plan) > 2);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        const ppsched_candidate candidate = candidate_of(plan, i);
        assert_int_equal(candidate.status, PPSCHED_OK);
        assert_int_equal(candidate.slices, 4);
        assert_true(candidate.bound >= share * (1 - 1e-12) && candidate.step_time >= candidate.bound);
    }
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* --- with activations that go to the host --- */

/* A unit of memory takes half a unit of time to the host, and back. */
static ppsched_config *make_offloading(uint32_t devices, uint32_t microbatches, const double *limits)
{
    ppsched_config *config = make_config(devices, devices, microbatches);
    set_number(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, 2);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, devices, NULL), NULL);
    return config;
}

/* Blocks of one to three layers that stay together; begins[4]: how many layers there are. */
static const ppsched_layers *draw_blocks(uint32_t *begins, uint64_t *seed)
{
    ppsched_layer entries[MOST_ENTRIES];
    begins[0] = 0;
    for (uint32_t i = 0; i < MOST_ENTRIES; i++)
        entries[i] = (ppsched_layer)LAYER("layer", .count = i % 2 == 0 ? 1 + random_below(seed, 2) : 1,
                                          .flags = i % 2 == 0 ? PPSCHED_LAYER_FLAG_WITH_NEXT : 0,
                                          .forward_time = 1 + random_below(seed, 4), .backward_time = 2 + random_below(seed, 8),
                                          .mem_forward = 1 + random_below(seed, 3));
    for (uint32_t i = 0; i < MOST_ENTRIES / 2; i++)
        begins[i + 1] = begins[i] + entries[2 * i].count + 1;
    return make_layers(entries, MOST_ENTRIES);
}

/* What must stay together does where borders are moved for the sake of copies, too; and the first and the last stage are never
 * without layers, not even where others may be and their devices have no memory for one. */
static void test_offloaded_splits(void **state)
{
    static const char *const strategies[] = {"1f1b", "gpipe", "interleaved_1f1b"};
    uint32_t begins[MOST_ENTRIES / 2 + 1], offloaded = 0, empty = 0;
    uint64_t seed = 3;
    (void)state;
    for (int i = 0; i < ROUNDS(30); i++) {
        const ppsched_layers *layers = draw_blocks(begins, &seed);
        uint32_t devices = 2 + random_below(&seed, 3);
        double limits[4];
        for (uint32_t d = 0; d < devices; d++)
            limits[d] = random_below(&seed, 6) == 0 ? 1 : 4 + random_below(&seed, 20);
        const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 3,
                                                   .offload = 1, .empty_stages = 1);
        ppsched_config *base = make_offloading(devices, 4, limits);
        ppsched_plan *plan = run_plan(base, &options);
        for (uint32_t c = 0; c < ppsched_plan_count(plan); c++) {
            struct own_split own;
            uint32_t border = 0, block = 0;
            if (candidate_of(plan, c).status != PPSCHED_OK)
                continue;
            take_split(&own, plan, c);
            assert_true(own.layers[0] > 0 && own.layers[own.split.stages - 1] > 0);
            for (uint32_t s = 0; s < own.split.stages; s++) {
                for (border += own.layers[s]; begins[block] < border; block++) {
                }
                assert_int_equal(begins[block], border);
                empty += own.layers[s] == 0;
            }
            assert_int_equal(border, begins[MOST_ENTRIES / 2]);
            offloaded += candidate_of(plan, c).offloaded;
        }
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(base);
        ppsched_layers_release(layers);
    }
    assert_true(offloaded > ROUNDS(20) && empty > 0);
}

static int32_t count_call(void *user, const ppsched_progress *progress)
{
    (void)progress;
    ++*(uint32_t *)user;
    return 0;
}

/* How often a plan asks whether to go on: before each border that is moved, too. */
static uint32_t calls_of(uint32_t microbatches)
{
    static const char *const strategy[] = {"1f1b"};
    const ppsched_layers *layers = make_plain_model(14);
    uint32_t calls = 0;
    const double limits[] = {16, 16, 16, 16};
    const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategy, .strategy_count = 1, .offload = 1);
    ppsched_config *base = make_offloading(4, microbatches, limits);
    expect_ok(ppsched_config_set_progress(base, count_call, &calls, NULL), NULL);
    ppsched_plan *plan = run_plan(base, &options);
    assert_int_equal(candidate_of(plan, 1).status, PPSCHED_OK);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
    return calls;
}

/* Borders are moved one by one where that is quick to price; of 4096 microbatches few are tried. */
static void test_work_of_offloaded_splits(void **state)
{
    (void)state;
    assert_in_range(calls_of(16), 15, 40);
    assert_in_range(calls_of(4096), 4, 8);
}

/* --- microbatches that differ --- */

/* A split fits with the largest of them, in whatever order they run: it is that of as many as large ones. */
static void test_largest_microbatch(void **state)
{
    static const double mixed[] = {1, 1.5, 3, 1, 2, 1}, largest = 3;
    static const char *const strategies[] = {"1f1b", "gpipe", "zb_h1"};
    const ppsched_layers *layers = make_model(9);
    uint32_t recomputed = 0;
    (void)state;
    for (double limit = 16; limit <= 56; limit += 8) {
        ppsched_plan *plans[2];
        for (int i = 0; i < 2; i++) {
            const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 3);
            ppsched_config *base = make_config(3, 3, 6);
            set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, limit);
            expect_ok(ppsched_config_set_values(base, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, i == 0 ? mixed : &largest,
                                                i == 0 ? 6 : 1, NULL),
                      NULL);
            plans[i] = run_plan(base, &options);
            ppsched_config_destroy(base);
        }
        for (uint32_t c = 0; c < 3; c++) {
            struct own_split one, other;
            assert_int_equal(candidate_of(plans[0], c).status, candidate_of(plans[1], c).status);
            if (!candidate_of(plans[1], c).fits)
                continue;
            take_split(&one, plans[0], c);
            take_split(&other, plans[1], c);
            assert_memory_equal(one.layers, other.layers, 3 * sizeof *one.layers);
            assert_memory_equal(one.recomputes, other.recomputes, 11);
            assert_true(candidate_of(plans[0], c).fits);
            for (int l = 0; l < 11; l++)
                recomputed += one.recomputes[l] != 0;
        }
        ppsched_plan_destroy(plans[0]);
        ppsched_plan_destroy(plans[1]);
    }
    assert_true(recomputed > 10);
    ppsched_layers_release(layers);
}

/* --- without a flush --- */

/* Iterations that are not waited for hold as much as one of as many microbatches (the eager order 7 on device 0, more than an
 * iteration has): the same split, recomputed as much. */
static void test_no_flush(void **state)
{
    static const char *const strategies[] = {"1f1b_no_flush", "eager_1f1b_no_flush"};
    const ppsched_layers *layers = make_model(9);
    uint32_t fitting = 0, recomputed = 0;
    (void)state;
    for (double limit = 8; limit <= 20; limit++) {
        ppsched_plan *plans[2];
        for (int i = 0; i < 2; i++) {
            ppsched_config *base = make_config(4, 4, i == 0 ? 24 : 6);
            const struct plan_choice options = OPTIONS(.layers = layers, .strategies = strategies, .strategy_count = 2);
            expect_ok(ppsched_config_set_iterations(base, i == 0 ? 1 : 4, NULL), NULL);
            set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, limit);
            plans[i] = run_plan(base, &options);
            ppsched_config_destroy(base);
        }
        assert_int_equal(ppsched_plan_count(plans[0]), ppsched_plan_count(plans[1]));
        for (uint32_t i = 0; i < ppsched_plan_count(plans[0]); i++) {
            ppsched_candidate whole = candidate_of(plans[0], i), cut = candidate_of(plans[1], i);
            struct own_split one, other;
            assert_int_equal(whole.status, cut.status);
            if (whole.status != PPSCHED_OK)
                continue;
            take_split(&one, plans[0], i);
            take_split(&other, plans[1], i);
            assert_memory_equal(one.layers, other.layers, 4 * sizeof *one.layers);
            assert_memory_equal(one.recomputes, other.recomputes, 11);
            assert_true(whole.makespan == cut.makespan && whole.peak_memory == cut.peak_memory && whole.fits == cut.fits);
            fitting += whole.fits;
            for (int l = 0; l < 11; l++)
                recomputed += one.recomputes[l] != 0;
        }
        ppsched_plan_destroy(plans[0]);
        ppsched_plan_destroy(plans[1]);
    }
    assert_true(fitting > 5 && recomputed > 20);
    ppsched_layers_release(layers);
}

static void test_one_layer_larger_than_all(void **state)
{
    const ppsched_layer entries[] = {LAYER("decoder", .count = 3, .forward_time = 1, .backward_time = 2),
                                     LAYER("table", .mem_static = 100)};
    const ppsched_layers *layers = make_layers(entries, 2);
    ppsched_config *base = make_config(2, 2, 4);
    double least = 0;
    (void)state;
    set_number(base, PPSCHED_QUANTITY_MEM_LIMIT, 10);
    const struct plan_choice options = OPTIONS(.layers = layers);
    ppsched_plan *plan = run_plan(base, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        assert_int_equal(candidate_of(plan, i).fits, 0);
    expect_ok(ppsched_plan_find_least_limit(&least, NULL, plan, NULL), NULL);
    assert_true(least == 100);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

static void expect_bad(const ppsched_config *config, const struct plan_choice *options, ppsched_status wanted,
                       const char *message)
{
    ppsched_plan *plan = NULL;
    ppsched_error error;
    assert_int_equal(create_plan(&plan, config, options, &error), wanted);
    assert_string_equal(error.message, message);
    assert_null(plan);
}

static void test_bad_options(void **state)
{
    ppsched_config *base = make_config(2, 2, 4);
    const unsigned past = 1u << (LAST_RUNTIME + 1);
    char text[100];
    (void)state;
    snprintf(text, sizeof text, "there is no runtime %d; it must be 0 to %d", LAST_RUNTIME + 1, LAST_RUNTIME);
    expect_bad(base, &OPTIONS(.runtime = LAST_RUNTIME + 1), PPSCHED_ERROR_ARGUMENT, text);
    snprintf(text, sizeof text, "runtimes is %u, with unknown bits; it must be 0 to %u", past, past - 1);
    expect_bad(base, &OPTIONS(.runtimes = past), PPSCHED_ERROR_ARGUMENT, text);
    const ppsched_layer entry = LAYER("decoder", .count = 8, .forward_time = 1);
    const ppsched_layers *layers = make_layers(&entry, 1);
    expect_bad(base, &OPTIONS(.layers = layers, .empty_stages = 2), PPSCHED_ERROR_RANGE,
               "empty_stages is 2; it must be 0 or 1");
    expect_bad(base, &OPTIONS(.layers = layers, .split_effort = 5), PPSCHED_ERROR_RANGE,
               "the split effort is 5; it must be 1 to 4, or 0 for the default");
    expect_bad(base, &OPTIONS(.empty_stages = 1), PPSCHED_ERROR_ARGUMENT, "split has no layers; give them, or leave split out");
    ppsched_layers_release(layers);
    expect_bad(base, &OPTIONS(.reserved = 1), PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
    ppsched_config_destroy(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_no_candidates),
        cmocka_unit_test(test_limits_and_microbatches),
        cmocka_unit_test(test_before_it_is_evaluated),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_stopped_rounds),
        cmocka_unit_test(test_least_limit),
        cmocka_unit_test(test_runtimes),
        cmocka_unit_test(test_proofs_for_a_runtime),
        cmocka_unit_test(test_names_that_are_recomputed),
        cmocka_unit_test(test_runtimes_that_are_asked),
        cmocka_unit_test(test_runtimes_are_asked_for_an_iteration),
        cmocka_unit_test(test_what_cannot_be),
        cmocka_unit_test(test_reasons_of_even_splits),
        cmocka_unit_test(test_empty_stages),
        cmocka_unit_test(test_least_limit_beside_refused_rules),
        cmocka_unit_test(test_split_efforts),
        cmocka_unit_test(test_fewer_layers_than_stages),
        cmocka_unit_test(test_group_sizes),
        cmocka_unit_test(test_candidates_alone),
        cmocka_unit_test(test_slices_of_the_config),
        cmocka_unit_test(test_offloaded_splits),
        cmocka_unit_test(test_work_of_offloaded_splits),
        cmocka_unit_test(test_largest_microbatch),
        cmocka_unit_test(test_no_flush),
        cmocka_unit_test(test_one_layer_larger_than_all),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests_name("layered_plan", tests, NULL, NULL);
}
