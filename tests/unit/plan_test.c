/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: costs in other numbers of stages, what candidates there are, how they rank, and bad input. */
#include "support/plan_choice.h"
#include "support/plans.h"
#include "support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An end of the model. */
#define END(...)                                                                                                               \
    {                                                                                                                          \
        .size = sizeof(ppsched_model_end), __VA_ARGS__                                                                         \
    }

static double at(const ppsched_config *config, int32_t quantity, size_t index)
{
    size_t count = 0;
    const double *values = ppsched_config_values(config, quantity, &count);
    assert_non_null(values);
    return values[count == 1 ? 0 : index];
}

static ppsched_config *with_stages(const ppsched_config *config, int64_t stages, const ppsched_model_end *embedding,
                                   const ppsched_model_end *head)
{
    ppsched_config *out = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_with_stages(&out, config, stages, embedding, head, &error), &error);
    assert_int_equal(ppsched_config_stages(out), stages);
    return out;
}

/* Layers are added up, stages divided; what the ends have of their own stays there. */
static void test_other_numbers_of_stages(void **state)
{
    static const double forward[] = {1.5, 1, 1, 1, 1, 1, 1, 3}, memory[] = {4, 4, 4, 4, 4, 4, 4, 6};
    static const double bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const ppsched_model_end embedding = END(.forward_time = 0.5),
                            head = END(.forward_time = 2, .mem_forward = 2, .mem_backward_weight = -2);
    ppsched_config *layers = make_config(2, 8, 4);
    (void)state;
    expect_ok(ppsched_config_set_values(layers, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 8, NULL), NULL);
    expect_ok(ppsched_config_set_values(layers, PPSCHED_QUANTITY_MEM_FORWARD, memory, 8, NULL), NULL);
    expect_ok(ppsched_config_set_values(layers, PPSCHED_QUANTITY_ACTIVATION_BYTES, bytes, 8, NULL), NULL);
    expect_ok(ppsched_config_set_values(layers, PPSCHED_QUANTITY_GRADIENT_BYTES, bytes, 8, NULL), NULL);
    set_number(layers, PPSCHED_QUANTITY_P2P_TIME, 0.25);
    ppsched_config *two = with_stages(layers, 2, &embedding, &head);
    assert_true(at(two, PPSCHED_QUANTITY_FORWARD_TIMES, 0) == 4.5 && at(two, PPSCHED_QUANTITY_FORWARD_TIMES, 1) == 6);
    assert_true(at(two, PPSCHED_QUANTITY_BACKWARD_TIMES, 0) == 8 && at(two, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1) == 4);
    assert_true(at(two, PPSCHED_QUANTITY_MEM_FORWARD, 1) == 18 && at(two, PPSCHED_QUANTITY_P2P_TIME, 0) == 0.25);
    assert_true(at(two, PPSCHED_QUANTITY_ACTIVATION_BYTES, 0) == 4 && at(two, PPSCHED_QUANTITY_GRADIENT_BYTES, 1) == 5);
    ppsched_config *four = with_stages(two, 4, &embedding, &head);
    assert_true(at(four, PPSCHED_QUANTITY_FORWARD_TIMES, 0) == 2.5 && at(four, PPSCHED_QUANTITY_FORWARD_TIMES, 1) == 2);
    assert_true(at(four, PPSCHED_QUANTITY_FORWARD_TIMES, 2) == 2 && at(four, PPSCHED_QUANTITY_FORWARD_TIMES, 3) == 4);
    assert_true(at(four, PPSCHED_QUANTITY_MEM_FORWARD, 2) == 8 && at(four, PPSCHED_QUANTITY_MEM_FORWARD, 3) == 10);
    assert_true(at(four, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, 3) == -10);
    ppsched_config_destroy(four);
    ppsched_config_destroy(two);
    ppsched_config *out = NULL;
    ppsched_error error;
    assert_int_equal(ppsched_config_with_stages(&out, layers, 6, NULL, NULL, &error), PPSCHED_ERROR_REFUSED);
    assert_int_equal(ppsched_config_with_stages(&out, layers, 0, NULL, NULL, &error), PPSCHED_ERROR_RANGE);
    const ppsched_model_end large = END(.forward_time = 7), bad = END(.mem_static = NAN), kept = END(.mem_forward = 1);
    assert_int_equal(ppsched_config_with_stages(&out, layers, 16, &large, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(error.stage, 0);
    assert_int_equal(ppsched_config_with_stages(&out, layers, 16, NULL, &bad, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_config_with_stages(&out, layers, 16, &kept, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "must sum to 0"));
    assert_null(out);
    ppsched_config_destroy(layers);
}

static void expect_end_refused(const ppsched_config *config, int64_t stages, ppsched_model_end end, const char *message)
{
    ppsched_config *out = NULL;
    ppsched_error error;
    assert_int_equal(ppsched_config_with_stages(&out, config, stages, NULL, &end, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, message);
    assert_null(out);
}

/* An end takes no more than its stage has, whether or not that is divided; what it takes up to rounding leaves nothing. */
static void test_ends_are_part_of_their_stages(void **state)
{
    const ppsched_model_end whole = END(.forward_time = 0.1 * 3, .mem_forward = 0.1 * 3, .mem_backward_weight = -0.1 * 3);
    ppsched_config *config = make_config(2, 2, 4);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0.3);
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 0.3);
    for (int64_t stages = 2; stages <= 4; stages += 2) {
        expect_end_refused(config, stages, (ppsched_model_end)END(.mem_static = 3),
                           "stage 1: mem_static is 0, but the embedding or head in this stage takes 3; include them in the "
                           "stage, or give layers, where they are separate");
        expect_end_refused(config, stages, (ppsched_model_end)END(.mem_weights = 3),
                           "stage 1: mem_weights is 0, but the embedding or head in this stage takes 3; include them in the "
                           "stage, or give layers, where they are separate");
        expect_end_refused(config, stages, (ppsched_model_end)END(.backward_time = 1, .backward_weight_time = 1.5),
                           "head: backward_weight_time (1.5) is above backward_time (1)");
        expect_end_refused(config, stages, (ppsched_model_end)END(.mem_backward_input = 1),
                           "head: mem_forward (0), mem_backward_input (1) and mem_backward_weight (0) must sum to 0");
        expect_end_refused(config, stages, (ppsched_model_end)END(.mem_backward_weight = 1),
                           "head: mem_backward_weight is 1; it must be finite and at most 0");
    }
    ppsched_config *four = with_stages(config, 4, &whole, NULL);
    assert_true(at(four, PPSCHED_QUANTITY_FORWARD_TIMES, 0) == 0.1 * 3 && at(four, PPSCHED_QUANTITY_FORWARD_TIMES, 1) == 0);
    assert_true(at(four, PPSCHED_QUANTITY_MEM_FORWARD, 1) == 0 && at(four, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, 1) == 0);
    ppsched_config_destroy(four);
    ppsched_config_destroy(config);
}

/* Of a stage with B = 4, I = 3, W = 1: what an end leaves out of the three is what is missing, or as in its stage. */
static void test_backwards_of_ends(void **state)
{
    static const struct {
        ppsched_model_end end;
        double whole, input, weight;
    } cases[] = {{END(.backward_time = 2), 2, 1.5, 0.5},
                 {END(.backward_time = 2, .backward_input_time = 1.25), 2, 1.25, 0.75},
                 {END(.backward_time = 1, .backward_weight_time = 1), 1, 0, 1},
                 {END(.backward_input_time = 0.5, .backward_weight_time = 0.25), 0.75, 0.5, 0.25},
                 {END(.backward_weight_time = 0.5), 0.5, 0, 0.5},
                 {END(.backward_time = 2, .backward_input_time = 1, .backward_weight_time = 0.5), 2, 1, 0.5},
                 {END(.forward_time = 1), 0, 0, 0}};
    ppsched_config *config = make_config(2, 2, 4);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 3);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *four = with_stages(config, 4, &cases[i].end, NULL);
        assert_true(at(four, PPSCHED_QUANTITY_BACKWARD_TIMES, 0) == cases[i].whole + (4 - cases[i].whole) / 2);
        assert_true(at(four, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 0) == cases[i].input + (3 - cases[i].input) / 2);
        assert_true(at(four, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1) == (1 - cases[i].weight) / 2);
        ppsched_config_destroy(four);
    }
    ppsched_config_destroy(config);
}

static void test_other_numbers_of_microbatches(void **state)
{
    ppsched_config *config = make_config(2, 2, 8), *out = NULL;
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_STATIC, 10);
    set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 4);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.5);
    expect_ok(ppsched_config_with_microbatches(&out, config, 16, &error), &error);
    assert_int_equal(ppsched_config_microbatches(out), 16);
    assert_true(at(out, PPSCHED_QUANTITY_FORWARD_TIMES, 1) == 1.5 && at(out, PPSCHED_QUANTITY_BACKWARD_TIMES, 0) == 1);
    assert_true(at(out, PPSCHED_QUANTITY_MEM_FORWARD, 0) == 0.5 && at(out, PPSCHED_QUANTITY_MEM_STATIC, 0) == 10);
    assert_true(at(out, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0) == 2 && at(out, PPSCHED_QUANTITY_P2P_TIME, 0) == 0.5);
    ppsched_config_destroy(out);
    ppsched_config_destroy(config);
}

/* Ranked: within limits by step time and then peak memory; each figure is what generating and evaluating it by hand gives. */
static void test_ranking_and_figures(void **state)
{
    ppsched_config *config = make_config(4, 4, 8);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.1);
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 5);
    ppsched_plan *plan = run_plan(config, NULL);
    size_t count = ppsched_plan_count(plan), fitting = 0;
    assert_true(count > 30);
    for (size_t i = 0; i < count; i++) {
        ppsched_candidate own = ranked(plan, i);
        ppsched_config *problem = NULL;
        ppsched_timeline *timeline = NULL;
        ppsched_error error;
        assert_true(own.evaluated);
        if (own.status != PPSCHED_OK) {
            assert_non_null(own.reason);
            assert_int_equal(ppsched_plan_create_timeline(&timeline, plan, ppsched_plan_candidate_at_rank(plan, i), &error),
                             PPSCHED_ERROR_REFUSED);
            continue;
        }
        expect_ok(ppsched_plan_create_config(&problem, plan, ppsched_plan_candidate_at_rank(plan, i), &error), &error);
        int is_loop = own.placement == PPSCHED_PLACEMENT_LINEAR || own.placement == PPSCHED_PLACEMENT_LOOP;
        assert_int_equal(ppsched_config_placement(problem), is_loop ? PPSCHED_PLACEMENT_DEFAULT : own.placement);
        ppsched_schedule *schedule = make_schedule(problem, own.strategy);
        timeline = make_timeline(schedule, problem);
        ppsched_metrics metrics = metrics_of(timeline);
        assert_true(metrics.makespan == own.makespan && own.step_time == own.makespan && metrics.span == own.span);
        assert_true(metrics.peak_memory == own.peak_memory && metrics.bubble_of_ideal == own.bubble_of_ideal);
        assert_int_equal(own.fits, metrics.limit_device == PPSCHED_NONE);
        assert_true(own.bound <= own.step_time * (1 + 1e-9) || !own.fits);
        assert_true(own.transfers == (own.placement == PPSCHED_PLACEMENT_V ? 6u : own.stages - 1u) * 2u * 8u &&
                    own.bytes == 3.0 * (double)own.transfers);
        if (i > 0 && own.fits) {
            ppsched_candidate better = ranked(plan, i - 1);
            assert_true(better.step_time < own.step_time * (1 + 1e-9));
            if (better.step_time == own.step_time)
                assert_true(better.peak_memory <= own.peak_memory);
        }
        fitting += own.fits;
        assert_true(own.fits ? fitting == i + 1 : own.overshoot == own.peak_memory - 5);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(problem);
    }
    assert_true(fitting > 5 && fitting < count);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

static void expect_no_ranks(const ppsched_plan *plan)
{
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        assert_int_equal(candidate_of(plan, i).rank, PPSCHED_NONE);
        assert_true(ppsched_plan_candidate_at_rank(plan, i) == PPSCHED_NONE);
    }
}

static int32_t stop_at_the_end(void *user, const ppsched_progress *progress)
{
    return *(int *)user != 0 && progress->share == 1;
}

/* What was numbered before the plan runs has that number afterwards, and a rank besides. */
static void test_candidates_keep_their_numbers(void **state)
{
    ppsched_config *config = make_config(4, 8, 8);
    ppsched_plan *plan = NULL;
    ppsched_candidate before[150];
    ppsched_error error;
    int stops = 1, moved = 0;
    (void)state;
    expect_ok(ppsched_config_set_progress(config, stop_at_the_end, &stops, &error), &error);
    expect_ok(create_plan(&plan, config, NULL, &error), &error);
    uint32_t count = ppsched_plan_count(plan);
    assert_true(count > 10 && count <= 150);
    for (uint32_t i = 0; i < count; i++)
        before[i] = candidate_of(plan, i);
    expect_no_ranks(plan);
    assert_int_equal(ppsched_plan_run(plan, &error), PPSCHED_ERROR_CANCELLED);
    expect_no_ranks(plan);
    stops = 0;
    for (int run = 0; run < 2; run++) {
        expect_ok(ppsched_plan_run(plan, &error), &error);
        for (uint32_t i = 0; i < count; i++) {
            ppsched_candidate candidate = candidate_of(plan, i);
            assert_true(candidate.strategy == before[i].strategy && candidate.stages == before[i].stages);
            assert_true(candidate.group_size == before[i].group_size && candidate.placement == before[i].placement);
            assert_int_equal(ppsched_plan_candidate_at_rank(plan, candidate.rank), i);
            moved += candidate.rank != i;
        }
    }
    assert_true(moved > 0);
    assert_true(ppsched_plan_candidate_at_rank(plan, count) == PPSCHED_NONE);
    assert_true(ppsched_plan_candidate_at_rank(plan, PPSCHED_NONE) == PPSCHED_NONE);
    assert_true(ppsched_plan_candidate_at_rank(NULL, 0) == PPSCHED_NONE);
    stops = 1; /* the ranks that there are stay */
    assert_int_equal(ppsched_plan_run(plan, &error), PPSCHED_ERROR_CANCELLED);
    assert_int_equal(ranked(plan, 0).rank, 0);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* Steps that share one fill and drain may be shorter than any that flushes; each has the bound of its own kind. */
static void test_bounds_without_a_flush(void **state)
{
    static const char *const names[] = {"1f1b", "1f1b_no_flush"};
    const struct plan_choice options = {.size = sizeof options, .strategies = names, .strategy_count = 2};
    ppsched_config *config = make_config(4, 4, 4);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, 6, &error), &error);
    ppsched_plan *plan = run_plan(config, &options);
    ppsched_candidate best = ranked(plan, 0), other = ranked(plan, 1);
    assert_string_equal(best.strategy, "1f1b_no_flush");
    assert_true(best.bound == (3 + 6 * 12) / 6.0 && best.step_time >= best.bound && best.step_time < other.bound);
    assert_true(other.bound == 3 + 12 && other.step_time == (3 + 4) * 3);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* A map of five stages on two devices: auto serves it, the others say why not. */
static void test_maps(void **state)
{
    static const uint32_t map[] = {0, 0, 1, 0, 1}, microbatches[] = {4, 8}, chunks[] = {2};
    static const char *const strategies[] = {"1f1b", "auto"};
    struct plan_choice options = {.size = sizeof options, .microbatches = microbatches, .microbatch_count = 2};
    ppsched_config *config = make_config(2, 5, 4);
    ppsched_plan *plan = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 5, &error), &error);
    plan = run_plan(config, &options);
    assert_int_equal(ppsched_plan_count(plan), 2);
    for (size_t i = 0; i < 2; i++) {
        ppsched_candidate candidate = ranked(plan, i);
        assert_string_equal(candidate.strategy, "auto");
        assert_true(candidate.fits && candidate.placement == PPSCHED_PLACEMENT_MAP && candidate.stages == 5);
    }
    ppsched_plan_destroy(plan);
    options = (struct plan_choice){.size = sizeof options, .strategies = strategies, .strategy_count = 2};
    plan = run_plan(config, &options);
    assert_int_equal(ppsched_plan_count(plan), 2);
    assert_string_equal(ranked(plan, 0).strategy, "auto");
    assert_string_equal(ranked(plan, 1).reason, "1f1b: needs linear placement, not map");
    ppsched_plan_destroy(plan);
    options.placements = 1u << PPSCHED_PLACEMENT_LINEAR;
    plan = run_plan(config, &options);
    assert_int_equal(ppsched_plan_count(plan), 0);
    ppsched_plan_destroy(plan);
    options = (struct plan_choice){.size = sizeof options, .chunks = chunks, .chunk_count = 1};
    assert_int_equal(create_plan(&plan, config, &options, &error), PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "chunks cannot be given with a placement map, which has 5 stages");
    ppsched_config_destroy(config);
}

/* What they lack is a sum in another order each: rounding must not rank them. */
static void test_equal_excess(void **state)
{
    static const char *const strategies[] = {"eager_1f1b", "interleaved_zb"};
    static const uint32_t chunks[] = {1, 2}, group_sizes[] = {4};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 2,
                                        .chunks = chunks,
                                        .chunk_count = 2,
                                        .group_sizes = group_sizes,
                                        .group_size_count = 1};
    ppsched_config *config = make_config(2, 2, 8);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 1.8);
    set_number(config, PPSCHED_QUANTITY_MEM_STATIC, 1.2);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.3);
    ppsched_plan *plan = run_plan(config, &options);
    for (uint32_t i = 0; i + 1 < ppsched_plan_count(plan); i++) {
        ppsched_candidate a = ranked(plan, i), b = ranked(plan, i + 1);
        assert_true(a.overshoot < b.overshoot - 1e-9 || (a.overshoot < b.overshoot + 1e-9 && a.step_time <= b.step_time));
    }
    assert_string_equal(ranked(plan, 0).strategy, "interleaved_zb");
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* The bound of a schedule that reaches it is a sum in another order: it is not above by its rounding. */
static void test_bounds_that_are_reached(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1"};
    const struct plan_choice options = {
        .size = sizeof options, .objective = PPSCHED_OBJECTIVE_MAKESPAN, .strategies = strategies, .strategy_count = 2};
    ppsched_config *config = make_config(2, 2, 3);
    int reached = 0;
    (void)state;
    for (int forward = 1; forward <= 10; forward++)
        for (int backward = 1; backward <= 20; backward++) {
            set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward / 10.0);
            set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, backward / 10.0);
            ppsched_plan *plan = run_plan(config, &options);
            for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
                ppsched_candidate candidate = ranked(plan, i);
                assert_true(candidate.bound <= candidate.step_time);
                assert_int_equal(candidate.proved, candidate.bound == candidate.step_time);
                reached += candidate.bound == candidate.step_time;
            }
            ppsched_plan_destroy(plan);
        }
    assert_true(reached > 0);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.5); /* what does not fit is no proof */
    ppsched_plan *plan = run_plan(config, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        assert_false(ranked(plan, i).proved);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

static void test_what_varies(void **state)
{
    static const char *const names[] = {"Interleaved1F1B", "zb_auto"};
    static const uint32_t chunks[] = {1, 3}, groups[] = {4, 5}, microbatches[] = {8, 16};
    static const double limits[] = {4, 6, 8};
    ppsched_config *config = make_config(4, 4, 8);
    struct plan_choice options = {.size = sizeof options,
                                  .objective = PPSCHED_OBJECTIVE_SPAN,
                                  .strategies = names,
                                  .strategy_count = 2,
                                  .chunks = chunks,
                                  .chunk_count = 2,
                                  .group_sizes = groups,
                                  .group_size_count = 2,
                                  .microbatches = microbatches,
                                  .microbatch_count = 2,
                                  .memory_limits = limits,
                                  .memory_limit_count = 3};
    (void)state;
    ppsched_plan *plan = run_plan(config, &options);
    assert_int_equal(ppsched_plan_count(plan), 2 * 2 * 2 * 3 + 2 * 3);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate own = ranked(plan, i);
        assert_true(own.memory_limit == 4 || own.memory_limit == 6 || own.memory_limit == 8);
        assert_true(own.status != PPSCHED_OK || own.step_time == own.span);
        assert_true(own.microbatches == 8 || own.microbatches == 16);
    }
    ppsched_plan_destroy(plan);
    options.group_size_count = 1; /* and no other */
    plan = run_plan(config, &options);
    assert_int_equal(ppsched_plan_count(plan), 2 * 2 * 3 + 2 * 3);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        assert_int_equal(ranked(plan, i).group_size, strcmp(ranked(plan, i).strategy, "zb_auto") == 0 ? 0 : 4);
    ppsched_plan_destroy(plan);
    options = (struct plan_choice){.size = sizeof options, .placements = 1u << PPSCHED_PLACEMENT_V, .effort = 1};
    plan = run_plan(config, &options);
    int has_auto = 0, has_search = 0;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate own = ranked(plan, i);
        assert_int_equal(own.placement, PPSCHED_PLACEMENT_V);
        has_auto |= strcmp(own.strategy, "auto") == 0;
        has_search |= strcmp(own.strategy, "v_search") == 0;
    }
    assert_true(has_auto && has_search);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* By default those that search long are left out, and all that flush are in with an effort. */
static void test_what_searches_long(void **state)
{
    ppsched_config *config = make_config(2, 4, 4);
    ppsched_plan *plan = NULL;
    (void)state;
    for (uint32_t effort = 0; effort <= 1; effort++) {
        const struct plan_choice options = {.size = sizeof options, .effort = effort};
        expect_ok(create_plan(&plan, config, &options, NULL), NULL);
        for (uint32_t s = 0; s < ppsched_strategy_count(); s++) {
            ppsched_strategy_info info = {.size = sizeof info};
            uint32_t found = 0;
            expect_ok(ppsched_strategy_get_info(&info, s, NULL), NULL);
            for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
                found |= strcmp(candidate_of(plan, i).strategy, info.name) == 0;
            const uint32_t shares = strcmp(info.name, "vocab_1f1b") == 0 ||
                                    strcmp(info.name, "interlaced") == 0; /* without a head */
            assert_int_equal(found, !shares && info.flushes && info.slices < 2 && !info.offloads &&
                                        (effort > 0 || !info.searches_long));
        }
        ppsched_plan_destroy(plan);
    }
    ppsched_config_destroy(config);
}

static void test_when_nothing_fits(void **state)
{
    ppsched_config *config = make_config(4, 4, 8);
    double limit = 0;
    uint32_t index = 0;
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.5);
    ppsched_plan *plan = run_plan(config, NULL);
    assert_false(ranked(plan, 0).fits);
    expect_ok(ppsched_plan_find_least_limit(&limit, &index, plan, &error), &error);
    assert_true(limit == 1); /* one microbatch after the other */
    ppsched_plan_destroy(plan);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    plan = run_plan(config, NULL);
    assert_true(ranked(plan, 0).fits);
    ppsched_plan_destroy(plan);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit * 0.999);
    plan = run_plan(config, NULL);
    assert_false(ranked(plan, 0).fits);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* The least limit is that of a strategy which neither runs at what any schedule needs nor without a limit. */
static void test_least_limit_between(void **state)
{
    static const double forward[] = {2, 4.5714285714285712, 4, 3.5714285714285716};
    static const double input[] = {1.7142857142857142, 6.5714285714285712, 2.1428571428571428, 5.8571428571428568};
    static const double weights[] = {5, 0, 4.2857142857142856, 2.8571428571428572};
    ppsched_config *config = make_config(4, 4, 5);
    double limit = 0;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 4, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, input, 4, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_WEIGHTS, weights, 4, NULL), NULL);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 2);
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 5.7142857142857144);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
    ppsched_plan *plan = run_plan(config, NULL);
    expect_ok(ppsched_plan_find_least_limit(&limit, NULL, plan, &error), &error);
    ppsched_plan_destroy(plan);
    assert_true(limit < 9.7);
    for (int i = 0; i < 2; i++) { /* it does, and a little less does not */
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, i == 0 ? limit : limit * 0.999);
        plan = run_plan(config, NULL);
        assert_int_equal(ranked(plan, 0).fits, i == 0);
        ppsched_plan_destroy(plan);
    }
    ppsched_config_destroy(config);
}

static int32_t stop_at_half(void *user, const ppsched_progress *progress)
{
    double *last = user, share = progress->share;
    assert_true(progress->size == sizeof *progress && share >= *last && share <= 1 && progress->best > 0);
    *last = share;
    return share >= 0.5;
}

static void test_progress(void **state)
{
    ppsched_config *config = make_config(4, 4, 12);
    ppsched_plan *plan = NULL;
    double last = 0;
    const struct plan_choice none = {.size = sizeof none, .placements = 1 << PPSCHED_PLACEMENT_DEFAULT};
    (void)state;
    expect_ok(ppsched_config_set_progress(config, stop_at_half, &last, NULL), NULL);
    expect_ok(create_plan(&plan, config, NULL, NULL), NULL);
    assert_int_equal(ppsched_plan_run(plan, NULL), PPSCHED_ERROR_CANCELLED);
    assert_true(last >= 0.5 && last < 0.6);
    ppsched_plan_destroy(plan);
    last = 0;
    expect_ok(create_plan(&plan, config, &none, NULL), NULL);
    assert_int_equal(ppsched_plan_count(plan), 0);
    assert_int_equal(ppsched_plan_run(plan, NULL), PPSCHED_ERROR_CANCELLED);
    assert_true(last == 1);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

static void test_bad_input(void **state)
{
    static const char *const unknown[] = {"1f1c"}, *const null[] = {NULL};
    static const uint32_t zero[] = {0};
    static const double negative[] = {-1};
    const ppsched_model_end bad = END(.forward_time = -1), newer = END(.reserved = 1);
    const struct {
        struct plan_choice options;
        ppsched_status status;
    } rows[] = {
        {{.objective = 3}, PPSCHED_ERROR_ARGUMENT},
        {{.lowering = 4}, PPSCHED_ERROR_ARGUMENT},
        {{.lowering = -1}, PPSCHED_ERROR_ARGUMENT},
        {{.placements = 1u << 6}, PPSCHED_ERROR_ARGUMENT},
        {{.effort = 13}, PPSCHED_ERROR_RANGE},
        {{.strategies = unknown, .strategy_count = 1}, PPSCHED_ERROR_UNKNOWN_STRATEGY},
        {{.strategies = null, .strategy_count = 1}, PPSCHED_ERROR_ARGUMENT},
        {{.strategies = unknown}, PPSCHED_ERROR_ARGUMENT},
        {{.chunk_count = 2}, PPSCHED_ERROR_ARGUMENT},
        {{.chunks = zero, .chunk_count = 1}, PPSCHED_ERROR_RANGE},
        {{.group_sizes = zero, .group_size_count = 1}, PPSCHED_ERROR_RANGE},
        {{.microbatches = zero, .microbatch_count = 1}, PPSCHED_ERROR_RANGE},
        {{.memory_limits = negative, .memory_limit_count = 1}, PPSCHED_ERROR_RANGE},
        {{.embedding = &bad}, PPSCHED_ERROR_RANGE},
        {{.head = &bad}, PPSCHED_ERROR_RANGE},
        {{.embedding = &newer}, PPSCHED_ERROR_ARGUMENT},
        {{.head = &newer}, PPSCHED_ERROR_ARGUMENT},
        {{.unshard = 2}, PPSCHED_ERROR_ARGUMENT},
        {{.reduce_grad = 1}, PPSCHED_ERROR_ARGUMENT},
        {{.lowering = 1, .unshard = 70000}, PPSCHED_ERROR_RANGE},
        {{.lowering = 1, .reduce_grad = 5}, PPSCHED_ERROR_RANGE},
        {{.lowering = 1, .unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_NEEDED}, PPSCHED_ERROR_ARGUMENT},
        {{.lowering = 1, .unshard = 2, .unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_LIST}, PPSCHED_ERROR_ARGUMENT},
        {{.lowering = 1, .unshard = 2, .unshard_lookahead = 9}, PPSCHED_ERROR_ARGUMENT},
        {{.reserved = 1}, PPSCHED_ERROR_ARGUMENT},
        {{.split_effort = 1}, PPSCHED_ERROR_ARGUMENT},
        {{.receive_prefetch = 1}, PPSCHED_ERROR_ARGUMENT},
    };
    ppsched_config *config = make_config(4, 4, 8);
    ppsched_plan *plan = NULL;
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_error error;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plan_choice options = rows[i].options;
        options.size = sizeof options;
        assert_int_equal(create_plan(&plan, config, &options, &error), rows[i].status);
        assert_true(strlen(error.message) > 10);
        assert_null(plan);
    }
    assert_int_equal(create_plan(&plan, NULL, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(create_plan(&plan, config, &(struct plan_choice){.size = 3}, &error), PPSCHED_ERROR_STRUCT_SIZE);
    assert_int_equal(ppsched_plan_get_candidate(&candidate, NULL, 0, NULL), PPSCHED_ERROR_ARGUMENT);
    plan = run_plan(config, NULL);
    assert_int_equal(ppsched_plan_get_candidate(&candidate, plan, ppsched_plan_count(plan), NULL), PPSCHED_ERROR_RANGE);
    candidate.size = 0;
    assert_int_equal(ppsched_plan_get_candidate(&candidate, plan, 0, NULL), PPSCHED_ERROR_STRUCT_SIZE);
    assert_int_equal(ppsched_plan_evaluate(plan, 100000, &error), PPSCHED_ERROR_RANGE);
    ppsched_plan_destroy(plan);
    ppsched_plan_destroy(NULL);
    ppsched_config_destroy(config);
}

/* Each of the placements may be given, and no bit above them; the most that can be is told. */
static void test_bits_of_placements(void **state)
{
    struct plan_choice options = {.size = sizeof options, .effort = 1, .placements = (2u << PPSCHED_PLACEMENT_MAP) - 1};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_plan *plan = run_plan(config, &options);
    ppsched_error error;
    (void)state;
    ppsched_plan_destroy(plan);
    plan = NULL;
    options.placements++;
    assert_int_equal(create_plan(&plan, config, &options, &error), PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "placements is 64, with unknown bits; it must be 0 to 63");
    assert_null(plan);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_numbers_of_stages),
        cmocka_unit_test(test_ends_are_part_of_their_stages),
        cmocka_unit_test(test_backwards_of_ends),
        cmocka_unit_test(test_other_numbers_of_microbatches),
        cmocka_unit_test(test_ranking_and_figures),
        cmocka_unit_test(test_candidates_keep_their_numbers),
        cmocka_unit_test(test_bounds_without_a_flush),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_equal_excess),
        cmocka_unit_test(test_bounds_that_are_reached),
        cmocka_unit_test(test_what_varies),
        cmocka_unit_test(test_what_searches_long),
        cmocka_unit_test(test_when_nothing_fits),
        cmocka_unit_test(test_least_limit_between),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_bits_of_placements),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
