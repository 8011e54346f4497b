/* SPDX-License-Identifier: Apache-2.0 */
/* What plan.h promises, on problems in which everything differs: costs where stages and microbatches change at once, ties by
 * peak memory, which of equal ones is named, and progress inside a candidate. */
#include "support/last.h"
#include "support/plan_choice.h"
#include "support/layered.h"
#include "support/plans.h"
#include "support/uneven.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void expect_near(double told, double expected, int32_t quantity, uint32_t stage)
{
    if (fabs(told - expected) > 1e-12 * fabs(expected))
        fail_msg("%s of stage %u is %.17g, not %.17g", ppsched_quantity_name(quantity), stage, told, expected);
}

/* --- stages and microbatches that change at once --- */

/* An end's quantities by microbatch, and those that a microbatch's size does not change. */
static const ppsched_model_end embedding = {.size = sizeof embedding,
                                            .forward_time = 0.25,
                                            .backward_input_time = 0.125,
                                            .backward_weight_time = 0.375,
                                            .mem_forward = 0.5,
                                            .mem_backward_input = -0.25,
                                            .mem_backward_weight = -0.25,
                                            .mem_static = 0.75,
                                            .mem_weights = 0.625};
static const ppsched_model_end head = {.size = sizeof head,
                                       .forward_time = 0.5,
                                       .backward_input_time = 0.75,
                                       .backward_weight_time = 0.25,
                                       .mem_forward = 1,
                                       .mem_backward_input = -0.375,
                                       .mem_backward_weight = -0.625,
                                       .mem_static = 0.25,
                                       .mem_weights = 0.5};

static const struct {
    int32_t quantity;
    double of_embedding, of_head;
    int per_microbatch;
} parts[] = {{PPSCHED_QUANTITY_FORWARD_TIMES, 0.25, 0.5, 1},
             {PPSCHED_QUANTITY_BACKWARD_TIMES, 0.5, 1, 1},
             {PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 0.125, 0.75, 1},
             {PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 0.375, 0.25, 1},
             {PPSCHED_QUANTITY_MEM_FORWARD, 0.5, 1, 1},
             {PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -0.25, -0.375, 1},
             {PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -0.25, -0.625, 1},
             {PPSCHED_QUANTITY_MEM_STATIC, 0.75, 0.25, 0},
             {PPSCHED_QUANTITY_MEM_WEIGHTS, 0.625, 0.5, 0}};

/* What a stage has; what is left out follows from the others. */
static double own_value(const ppsched_config *config, int32_t quantity, uint32_t stage)
{
    double input = value_at(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, stage, 0);
    double weight = value_at(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, stage, 0);
    double added = value_at(config, PPSCHED_QUANTITY_MEM_FORWARD, stage, 0);
    double given_back = value_at(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, stage, 0);
    if (quantity == PPSCHED_QUANTITY_BACKWARD_TIMES)
        return input + weight;
    if (quantity == PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT)
        return -added - given_back;
    return value_at(config, quantity, stage, 0);
}

/* What goes over a border of stage `s` is what goes over the old border: forwards over that behind its last old stage,
 * backwards over that before its first. */
static void expect_bytes(const ppsched_config *old, const ppsched_config *made, uint32_t s, uint32_t first, uint32_t last,
                         double size)
{
    static const int32_t quantities[] = {PPSCHED_QUANTITY_ACTIVATION_BYTES, PPSCHED_QUANTITY_GRADIENT_BYTES};
    for (int i = 0; i < 2; i++)
        expect_near(value_at(made, quantities[i], s, 0), value_at(old, quantities[i], i == 0 ? last : first, 0) * size,
                    quantities[i], s);
}

/* One stage of `old` cut into `pieces`: each takes its share of what is left without the ends, which stay whole; and all but
 * static memory and weights are as many times larger as a microbatch is. */
static void expect_divided(const ppsched_config *old, const ppsched_config *made, uint32_t pieces, double size)
{
    uint32_t before = ppsched_config_stages(old), stages = ppsched_config_stages(made);
    assert_int_equal(stages, before * pieces);
    for (uint32_t s = 0; s < stages; s++)
        expect_bytes(old, made, s, s / pieces, s / pieces, size);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (uint32_t s = 0; s < stages; s++) {
            double whole = own_value(old, parts[i].quantity, s / pieces), expected = 0;
            whole -= s / pieces == 0 ? parts[i].of_embedding : 0;
            whole -= s / pieces + 1 == before ? parts[i].of_head : 0;
            expected = whole / pieces + (s == 0 ? parts[i].of_embedding : 0) + (s + 1 == stages ? parts[i].of_head : 0);
            expect_near(own_value(made, parts[i].quantity, s), expected * (parts[i].per_microbatch ? size : 1),
                        parts[i].quantity, s);
        }
}

/* Several stages of `old` put together: their sum, ends and all. */
static void expect_joined(const ppsched_config *old, const ppsched_config *made, uint32_t pieces, double size)
{
    uint32_t stages = ppsched_config_stages(made);
    assert_int_equal(stages * pieces, ppsched_config_stages(old));
    for (uint32_t s = 0; s < stages; s++)
        expect_bytes(old, made, s, s * pieces, (s + 1) * pieces - 1, size);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (uint32_t s = 0; s < stages; s++) {
            double sum = 0;
            for (uint32_t k = 0; k < pieces; k++)
                sum += own_value(old, parts[i].quantity, s * pieces + k);
            expect_near(own_value(made, parts[i].quantity, s), sum * (parts[i].per_microbatch ? size : 1), parts[i].quantity,
                        s);
        }
}

/* Every candidate of a plan over chunks and microbatches has the costs that it should, ends included. */
static void test_stages_and_microbatches_at_once(void **state)
{
    static const char *const strategies[] = {"gpipe", "looped_bfs"};
    static const uint32_t chunks[] = {1, 2, 6}, microbatches[] = {4, 8, 16};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 2,
                                        .chunks = chunks,
                                        .chunk_count = 3,
                                        .microbatches = microbatches,
                                        .microbatch_count = 3,
                                        .embedding = &embedding,
                                        .head = &head};
    const struct uneven problem = {.devices = 3, .chunks = 2, .microbatches = 8, .iterations = 2, .seed = 5};
    ppsched_config *config = make_uneven(&problem);
    int divided = 0, joined = 0;
    (void)state;
    ppsched_plan *plan = run_plan(config, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate own = candidate_of(plan, i);
        ppsched_config *made = NULL;
        ppsched_error error;
        expect_ok(ppsched_plan_create_config(&made, plan, i, &error), &error);
        double size = 8.0 / own.microbatches;
        if (own.stages >= 6)
            expect_divided(config, made, own.stages / 6, size);
        else
            expect_joined(config, made, 6 / own.stages, size);
        divided += own.stages > 6 && own.microbatches != 8;
        joined += own.stages < 6 && own.microbatches != 8;
        ppsched_config_destroy(made);
    }
    assert_true(divided > 0 && joined > 0);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* Ends whose backward is told as a whole have it split as the stage does that they are in. */
static void test_whole_backwards_of_ends(void **state)
{
    static const char *const strategies[] = {"zb_h1"};
    static const uint32_t chunks[] = {1};
    const ppsched_model_end first = {.size = sizeof first, .forward_time = 0.25, .backward_time = 0.5};
    const ppsched_model_end last = {.size = sizeof last, .forward_time = 0.5, .backward_time = 1};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 1,
                                        .chunks = chunks,
                                        .chunk_count = 1,
                                        .embedding = &first,
                                        .head = &last};
    const uint32_t pieces = 3, old_stages = 2;
    double times[2][2] = {{1.25, 1.5}, {1, 2.5}}; /* I and W by stage */
    ppsched_config *config = make_config(6, old_stages, 6), *made = NULL;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, times[0], 2, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, times[1], 2, NULL), NULL);
    ppsched_plan *plan = run_plan(config, &options);
    expect_ok(ppsched_plan_create_config(&made, plan, 0, NULL), NULL);
    for (uint32_t s = 0; s < pieces * old_stages; s++) {
        uint32_t old = s / pieces;
        double whole = old == 0 ? 0.5 : 1, share = times[0][old] / (times[0][old] + times[1][old]);
        bool has_end = s == 0 || s + 1 == pieces * old_stages;
        expect_near(value_at(made, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, s, 0),
                    (times[0][old] - whole * share) / pieces + (has_end ? whole * share : 0),
                    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, s);
    }
    ppsched_config_destroy(made);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* Pairs, one a forward stage: those of joined stages add up, those of divided ones are shared; both grow with a
 * microbatch. */
static void test_pairs_in_other_numbers_of_stages(void **state)
{
    static const uint32_t chunks[] = {1, 2, 6}, microbatches[] = {4, 8, 16};
    static const char *const strategies[] = {"interleaved_1f1b_overlap"};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 1,
                                        .chunks = chunks,
                                        .chunk_count = 3,
                                        .microbatches = microbatches,
                                        .microbatch_count = 3};
    const struct uneven problem = {.devices = 2, .chunks = 2, .microbatches = 8, .iterations = 1, .seed = 6};
    ppsched_config *config = make_uneven(&problem);
    uint64_t seed = 9;
    int seen[3] = {0};
    (void)state;
    set_uneven(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 4, 2, &seed);
    ppsched_plan *plan = run_plan(config, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate own = candidate_of(plan, i);
        ppsched_config *made = NULL;
        ppsched_error error;
        expect_ok(ppsched_plan_create_config(&made, plan, i, &error), &error);
        for (uint32_t s = 0; s < own.stages; s++) {
            double sum = 0;
            for (uint32_t k = 0; k < 4; k++)
                if (k * own.stages / 4 == s || (own.stages > 4 && k == s * 4 / own.stages))
                    sum += value_at(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, k, 0);
            double expected = sum * (8.0 / own.microbatches) * (own.stages > 4 ? 4.0 / own.stages : 1);
            expect_near(value_at(made, PPSCHED_QUANTITY_OVERLAPPED_TIMES, s, 0), expected, PPSCHED_QUANTITY_OVERLAPPED_TIMES,
                        s);
        }
        seen[own.stages == 2 ? 0 : own.stages == 4 ? 1 : 2]++;
        ppsched_config_destroy(made);
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* What else there is of a stage, and what becomes of it by what it is of: of parameters and activations, which add up and are
 * shared; of the border to the stage before or to the next one; of the largest op that runs. */
static const struct {
    int32_t quantity;
    enum { SHARED, OF_FIRST, OF_LAST, LARGEST } path;
    int per_microbatch;
} others[] = {
    {PPSCHED_QUANTITY_MEM_OPTIMIZER, SHARED, 0},
    {PPSCHED_QUANTITY_MEM_GRADIENTS, SHARED, 0},
    {PPSCHED_QUANTITY_MEM_GATHERED, SHARED, 0},
    {PPSCHED_QUANTITY_UNSHARD_BYTES, SHARED, 0},
    {PPSCHED_QUANTITY_REDUCE_GRAD_BYTES, SHARED, 0},
    {PPSCHED_QUANTITY_UNSHARD_TIMES, SHARED, 0},
    {PPSCHED_QUANTITY_REDUCE_GRAD_TIMES, SHARED, 0},
    {PPSCHED_QUANTITY_MEM_OUTPUT, OF_LAST, 1},
    {PPSCHED_QUANTITY_MEM_SEND_FORWARD, OF_LAST, 1},
    {PPSCHED_QUANTITY_MEM_SEND_BACKWARD, OF_FIRST, 1},
    {PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD, OF_FIRST, 1},
    {PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD, OF_LAST, 1},
    {PPSCHED_QUANTITY_MEM_WORK_FORWARD, LARGEST, 1},
    {PPSCHED_QUANTITY_MEM_WORK_BACKWARD, LARGEST, 1},
    {PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT, LARGEST, 1},
    {PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT, LARGEST, 1},
    {PPSCHED_QUANTITY_RECOMPUTE_TIMES, SHARED, 1},
    {PPSCHED_QUANTITY_MEM_RECOMPUTE, OF_FIRST, 1},
    {PPSCHED_QUANTITY_OFFLOAD_TIMES, SHARED, 1},
    {PPSCHED_QUANTITY_RELOAD_TIMES, SHARED, 1},
    {PPSCHED_QUANTITY_OFFLOAD_BYTES, SHARED, 1},
    {PPSCHED_QUANTITY_MEM_OFFLOAD, SHARED, 1},
};

static double other_value(const ppsched_config *old, size_t row, uint32_t stage, uint32_t stages)
{
    uint32_t before = ppsched_config_stages(old), joined = stages < before ? before / stages : 1;
    uint32_t pieces = stages > before ? stages / before : 1, first = stage * joined / pieces;
    double sum = 0, largest = 0;
    for (uint32_t s = first; s < first + joined; s++) {
        double value = value_at(old, others[row].quantity, s, -1);
        sum += value / pieces;
        largest = value > largest ? value : largest;
    }
    return others[row].path == SHARED    ? sum
           : others[row].path == OF_LAST ? value_at(old, others[row].quantity, first + joined - 1, -1)
           : others[row].path == LARGEST ? largest
                                         : value_at(old, others[row].quantity, first, -1);
}

static void test_what_else_a_stage_has(void **state)
{
    static const uint32_t stages[] = {2, 4, 12, 36};
    const struct uneven problem = {.devices = 2, .chunks = 6, .microbatches = 8, .iterations = 1, .seed = 7};
    ppsched_config *config = make_uneven(&problem);
    uint64_t seed = 10;
    (void)state;
    add_uneven(config, UNEVEN_CAUSES | UNEVEN_SHARDING | UNEVEN_COPIES, &seed);
    for (size_t row = 0; row < sizeof others / sizeof others[0]; row++)
        set_uneven(config, others[row].quantity, 12, 0.125, &seed);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        ppsched_config *made = NULL, *smaller = NULL;
        ppsched_error error;
        expect_ok(ppsched_config_with_stages(&made, config, stages[i], NULL, NULL, &error), &error);
        expect_ok(ppsched_config_with_microbatches(&smaller, made, 32, &error), &error);
        for (size_t row = 0; row < sizeof others / sizeof others[0]; row++)
            for (uint32_t s = 0; s < stages[i]; s++) {
                double expected = other_value(config, row, s, stages[i]);
                expect_near(value_at(made, others[row].quantity, s, -1), expected, others[row].quantity, s);
                expect_near(value_at(smaller, others[row].quantity, s, -1), expected / (others[row].per_microbatch ? 4 : 1),
                            others[row].quantity, s);
            }
        ppsched_config_destroy(smaller);
        ppsched_config_destroy(made);
    }
    ppsched_config_destroy(config);
}

/* No list is lost in another number of stages and microbatches; the share of I is in the times then. */
static void test_no_list_is_lost(void **state)
{
    static const double values[] = {1, -1, 0.5};
    int lists = 0;
    (void)state;
    for (int32_t quantity = 1; quantity <= LAST_QUANTITY; quantity++) {
        ppsched_config *config = make_config(2, 6, 8), *made = NULL, *smaller = NULL;
        ppsched_error error;
        ppsched_status status = PPSCHED_ERROR_RANGE;
        set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2); /* I and W follow from each other */
        for (size_t i = 0; i < 3 && status == PPSCHED_ERROR_RANGE; i++)
            status = ppsched_config_set_values(config, quantity, &values[i], 1, &error);
        if (status == PPSCHED_OK && quantity != PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE) {
            expect_ok(ppsched_config_with_stages(&made, config, 2, NULL, NULL, &error), &error);
            expect_ok(ppsched_config_with_microbatches(&smaller, made, 16, &error), &error);
            if (value_at(smaller, quantity, 0, HUGE_VAL) == HUGE_VAL)
                fail_msg("%s is lost", ppsched_quantity_name(quantity));
            lists++;
        }
        ppsched_config_destroy(smaller);
        ppsched_config_destroy(made);
        ppsched_config_destroy(config);
    }
    assert_true(lists > 50);
}

/* --- ranking --- */

/* gpipe and 1f1b take the same time; 1f1b, which holds less, ranks first, in whatever order they are asked for. */
static void test_ties_by_peak_memory(void **state)
{
    static const char *const orders[][3] = {
        {"gpipe", "1f1b", "eager_1f1b"}, {"1f1b", "eager_1f1b", "gpipe"}, {"eager_1f1b", "gpipe", "1f1b"}};
    ppsched_config *config = make_config(4, 4, 9);
    (void)state;
    for (int limited = 0; limited <= 1; limited++) { /* over the limit by as much each: by step time, then by peak */
        if (limited)
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 9);
        for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
            const struct plan_choice options = {.size = sizeof options, .strategies = orders[i], .strategy_count = 3};
            ppsched_plan *plan = run_plan(config, &options);
            assert_true(ranked(plan, 0).step_time == ranked(plan, 2).step_time);
            assert_string_equal(ranked(plan, 0).strategy, "1f1b");
            assert_string_equal(ranked(plan, 1).strategy, "eager_1f1b");
            assert_string_equal(ranked(plan, 2).strategy, "gpipe");
            ppsched_plan_destroy(plan);
        }
    }
    ppsched_config_destroy(config);
}

/* Ranks of a whole plan again, by what plan.h says: an insertion sort of the figures that candidates tell. */
static int group_of(const ppsched_candidate *candidate)
{
    return candidate->status != PPSCHED_OK ? 2 : candidate->fits ? 0 : 1;
}

static double rounded(double x)
{
    int exponent = 0;
    return x == 0 || !isfinite(x) ? x : (frexp(x, &exponent), ldexp(nearbyint(ldexp(x, 40 - exponent)), exponent - 40));
}

static int goes_before(const ppsched_candidate *a, const ppsched_candidate *b)
{
    int group = group_of(a);
    if (group != group_of(b))
        return group < group_of(b);
    if (group == 2)
        return 0;
    if (group == 1 && rounded(a->overshoot) != rounded(b->overshoot))
        return rounded(a->overshoot) < rounded(b->overshoot);
    if (rounded(a->step_time) != rounded(b->step_time))
        return rounded(a->step_time) < rounded(b->step_time);
    return rounded(a->peak_memory) < rounded(b->peak_memory);
}

static void expect_ranks(const ppsched_plan *plan)
{
    uint32_t order[400], count = ppsched_plan_count(plan);
    assert_true(count <= 400);
    for (uint32_t i = 0; i < count; i++) {
        ppsched_candidate own = candidate_of(plan, i), other;
        uint32_t at = i;
        for (; at > 0 && (other = candidate_of(plan, order[at - 1]), goes_before(&own, &other)); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t rank = 0; rank < count; rank++)
        if (ppsched_plan_candidate_at_rank(plan, rank) != order[rank])
            fail_msg("rank %u has candidate %u (%s), not %u (%s)", rank, ppsched_plan_candidate_at_rank(plan, rank),
                     ranked(plan, rank).strategy, order[rank], candidate_of(plan, order[rank]).strategy);
}

static void test_ranks_are_those_of_the_figures(void **state)
{
    static const double limits[] = {HUGE_VAL, 30, 22, 16};
    static const uint32_t microbatches[] = {7, 14};
    const struct plan_choice options = {.size = sizeof options, .microbatches = microbatches, .microbatch_count = 2};
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int even = 0; even <= 1; even++) { /* where all stages are alike there are ties */
            struct uneven problem = uneven_of_seed(seed);
            ppsched_config *config = even ? make_config(4, 4, 7) : make_uneven(&problem);
            double limit = limits[seed - 1] / (even ? 4 : 1);
            if (limit < HUGE_VAL)
                set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
            ppsched_plan *plan = run_plan(config, &options);
            expect_ranks(plan);
            ppsched_plan_destroy(plan);
            ppsched_config_destroy(config);
        }
}

/* What a config is not given of its stages, candidates of other numbers of stages are not given either. */
static void test_what_is_not_given(void **state)
{
    static const int32_t quantities[] = {PPSCHED_QUANTITY_MEM_STATIC, PPSCHED_QUANTITY_MEM_WEIGHTS};
    static const uint32_t chunks[] = {1, 4};
    const struct plan_choice options = {.size = sizeof options, .chunks = chunks, .chunk_count = 2};
    (void)state;
    for (size_t given = 0; given <= 2; given++) {
        ppsched_config *config = make_config(2, 4, 4), *made = NULL;
        if (given < 2)
            set_number(config, quantities[given], 3);
        ppsched_plan *plan = run_plan(config, &options);
        int seen[2] = {0};
        for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
            ppsched_candidate candidate = candidate_of(plan, i);
            if (candidate.stages != 2 && candidate.stages != 8)
                continue;
            expect_ok(ppsched_plan_create_config(&made, plan, i, NULL), NULL);
            for (size_t q = 0; q < 2; q++)
                assert_int_equal(isnan(value_at(made, quantities[q], 0, NAN)) != 0, q != given);
            ppsched_config_destroy(made);
            seen[candidate.stages == 8]++;
        }
        assert_true(seen[0] > 0 && seen[1] > 0);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
    }
}

/* --- slices --- */

static int knows_slices(const char *strategy)
{
    ppsched_strategy_info info = {.size = sizeof info};
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++)
        if (ppsched_strategy_get_info(&info, i, NULL) == PPSCHED_OK && strcmp(info.name, strategy) == 0)
            return info.slices != 0;
    fail_msg("no strategy %s", strategy);
    return 0;
}

/* Strategies that do not know slices are cut where they are named alone. */
static void test_who_is_cut(void **state)
{
    static const uint32_t slices[] = {1, 2};
    static const char *const named[] = {"dualpipe_v", "zb_h1"};
    ppsched_config *config = make_config(2, 2, 8);
    (void)state;
    for (int is_named = 0; is_named < 2; is_named++) {
        const struct plan_choice options = {.size = sizeof options,
                                            .slices = slices,
                                            .slice_count = 2,
                                            .strategies = is_named ? named : NULL,
                                            .strategy_count = is_named ? 2 : 0};
        ppsched_plan *plan = run_plan(config, &options);
        int cut[2] = {0}, whole[2] = {0};
        for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
            ppsched_candidate candidate = candidate_of(plan, i);
            (candidate.slices == 1 ? whole : cut)[knows_slices(candidate.strategy)]++;
        }
        assert_true(cut[1] > 0 && whole[1] > 0 && whole[0] > 0);
        assert_int_equal(cut[0] > 0, is_named);
        ppsched_plan_destroy(plan);
    }
    ppsched_config_destroy(config);
}

/* Costs of a config's own slices are those of its candidates, with its stages and with others. */
static void test_a_config_with_slices(void **state)
{
    static const char *const strategies[] = {"zb_h1", "seq_1f1b", "gpipe"};
    const struct uneven problem = {.devices = 3, .chunks = 1, .microbatches = 4, .iterations = 1, .seed = 12};
    const struct plan_choice options = {.size = sizeof options, .strategies = strategies, .strategy_count = 3};
    ppsched_config *config = make_uneven(&problem);
    (void)state;
    expect_ok(ppsched_config_set_slices(config, 2, NULL), NULL);
    ppsched_plan *plan = run_plan(config, &options);
    int compared = 0;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = candidate_of(plan, i);
        if (candidate.stages != 3)
            continue;
        assert_int_equal(candidate.status, PPSCHED_OK);
        assert_int_equal(candidate.slices, 2);
        ppsched_schedule *schedule = make_schedule(config, candidate.strategy);
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_true(metrics_of(timeline).makespan == candidate.makespan);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        compared++;
    }
    assert_int_equal(compared, 3);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* --- the least limit --- */

/* Of several that need as little it is the one of the best rank, in whatever order they are asked for. */
static void test_least_limit_names_the_best_ranked(void **state)
{
    static const char *const orders[][3] = {{"zb_h1", "1f1b", "gpipe"}, {"1f1b", "gpipe", "zb_h1"}, {"gpipe", "zb_h1", "1f1b"}};
    ppsched_config *config = make_config(4, 4, 8);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, 0); /* zb_h1 holds no more than 1f1b */
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 2);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const struct plan_choice options = {.size = sizeof options, .strategies = orders[i], .strategy_count = 3};
        ppsched_plan *plan = run_plan(config, &options);
        double limit = 0;
        uint32_t named = PPSCHED_NONE;
        ppsched_error error;
        assert_true(ranked(plan, 0).peak_memory == ranked(plan, 1).peak_memory && !ranked(plan, 0).fits);
        expect_ok(ppsched_plan_find_least_limit(&limit, &named, plan, &error), &error);
        assert_true(limit == 4);
        assert_int_equal(candidate_of(plan, named).rank, 0);
        assert_string_equal(candidate_of(plan, named).strategy, "zb_h1");
        ppsched_plan_destroy(plan);
    }
    ppsched_config_destroy(config);
}

/* Searches alone find nothing within the limit, and need what one microbatch of any of them holds: the first is named. */
static void test_least_limit_of_searches_alone(void **state)
{
    static const char *const searches[] = {"v_min", "v_half"};
    ppsched_config *config = make_config(4, 4, 8);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.5);
    for (uint32_t count = 1; count <= 2; count++) {
        const struct plan_choice options = {.size = sizeof options, .strategies = searches, .strategy_count = count};
        ppsched_plan *plan = run_plan(config, &options);
        double limit = 0;
        uint32_t named = PPSCHED_NONE;
        ppsched_error error;
        expect_ok(ppsched_plan_find_least_limit(&limit, &named, plan, &error), &error);
        assert_true(limit == 1);
        assert_string_equal(candidate_of(plan, named).strategy, "v_min");
        ppsched_plan_destroy(plan);
    }
    ppsched_config_destroy(config);
}

/* A search on another placement that needs more than a rule does not raise it: of stages of 1, 5, 5, 1 the halves hold 6 each,
 * those of the V placement 2 and 10. */
static void test_least_limit_of_the_better_placement(void **state)
{
    static const char *const orders[][2] = {{"1f1b", "zbv_auto"}, {"zbv_auto", "1f1b"}};
    static const double memory[] = {1, 5, 5, 1};
    static const uint32_t chunks[] = {1, 2};
    (void)state;
    for (uint32_t microbatches = 1; microbatches <= 2; microbatches++) /* 1f1b holds two of them on device 0 */
        for (size_t i = 0; i < 2; i++) {
            const struct plan_choice options = {
                .size = sizeof options, .strategies = orders[i], .strategy_count = 2, .chunks = chunks, .chunk_count = 2};
            ppsched_config *config = make_config(2, 4, microbatches);
            double limit = 0;
            uint32_t named = PPSCHED_NONE;
            ppsched_error error;
            expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, memory, 4, &error), &error);
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1);
            ppsched_plan *plan = run_plan(config, &options);
            expect_ok(ppsched_plan_find_least_limit(&limit, &named, plan, &error), &error);
            assert_true(limit == (microbatches == 1 ? 6 : 10));
            assert_string_equal(candidate_of(plan, named).strategy, microbatches == 1 ? "1f1b" : "zbv_auto");
            ppsched_plan_destroy(plan);
            ppsched_config_destroy(config);
        }
}

/* --- with copies --- */

/* Copies may hold any limit: the bound of what goes to the host is that without one, also where a limit makes steps longer. */
static void test_bounds_with_copies(void **state)
{
    static const char *const strategies[] = {"1f1b", "gpipe", "zb_h1", "pipeoffload"};
    const struct plan_choice options = {.size = sizeof options, .strategies = strategies, .strategy_count = 4, .offload = 1};
    ppsched_config *config = make_config(4, 4, 6);
    uint32_t offloaded = 0, of_the_rule = 0;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 0.5);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 2);
    ppsched_plan *plan = run_plan(config, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = candidate_of(plan, i);
        ppsched_config *own = NULL;
        ppsched_bound bound = {.size = sizeof bound};
        if (candidate.status != PPSCHED_OK)
            continue;
        expect_ok(ppsched_plan_create_config(&own, plan, i, NULL), NULL);
        if (candidate.offloaded || strcmp(candidate.strategy, "pipeoffload") == 0)
            expect_ok(ppsched_config_set_values(own, PPSCHED_QUANTITY_MEM_LIMIT, NULL, 0, NULL), NULL);
        expect_ok(ppsched_config_find_bound(&bound, own, PPSCHED_OBJECTIVE_MAKESPAN, NULL), NULL);
        assert_true(candidate.bound == bound.value && bound.value > 0 &&
                    (!candidate.fits || candidate.bound <= candidate.step_time));
        offloaded += candidate.offloaded;
        of_the_rule += candidate.fits && strcmp(candidate.strategy, "pipeoffload") == 0;
        ppsched_config_destroy(own);
    }
    assert_true(offloaded > 1 && of_the_rule > 1);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* --- bounds of many --- */

/* How many candidates have a bound, which is what it is when they are evaluated alone. */
static uint32_t expect_bounds_of_each(const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *together = run_plan(config, options), *alone = make_plan(config, options);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ppsched_plan_count(together); i++) {
        expect_ok(ppsched_plan_evaluate(alone, i, NULL), NULL);
        ppsched_candidate one = candidate_of(together, i), other = candidate_of(alone, i);
        assert_int_equal(one.status, other.status);
        if (one.bound != other.bound)
            fail_msg("%s of %u stages and %u microbatches in %u slices: %.17g, but alone %.17g", one.strategy, one.stages,
                     one.microbatches, one.slices, one.bound, other.bound);
        count += one.bound > 0;
    }
    ppsched_plan_destroy(together);
    ppsched_plan_destroy(alone);
    return count;
}

/* What is found once for many candidates is that of each, whatever they differ in: flush, stages, microbatches, slices, limit;
 * and, of few, placement. */
static void test_bounds_are_those_of_each(void **state)
{
    static const char *const strategies[] = {"zbv", "interleaved_1f1b", "1f1b", "1f1b_no_flush", "gpipe"};
    static const uint32_t chunks[] = {2, 1}, microbatches[] = {6, 9}, slices[] = {1, 2};
    static const double limits[] = {9, 90};
    struct plan_choice options = {.size = sizeof options,
                                  .strategies = strategies,
                                  .strategy_count = 5,
                                  .chunks = chunks,
                                  .chunk_count = 2,
                                  .microbatches = microbatches,
                                  .microbatch_count = 2,
                                  .slices = slices,
                                  .slice_count = 2,
                                  .slice_time = 0.25,
                                  .memory_limits = limits,
                                  .memory_limit_count = 2};
    const struct uneven problem = {.devices = 3, .chunks = 2, .microbatches = 6, .iterations = 2, .seed = 8};
    ppsched_config *config = make_uneven(&problem);
    (void)state;
    assert_true(expect_bounds_of_each(config, &options) > 50);
    options.strategy_count = 2;
    options.chunk_count = options.microbatch_count = options.slice_count = options.memory_limit_count = 1;
    assert_true(expect_bounds_of_each(config, &options) > 1);
    ppsched_config_destroy(config);
}

/* --- with transfers --- */

/* The makespan of the candidate's own problem, lowered and timed under a model; 0 where the strategy does not serve it. */
static double time_alone(const ppsched_config *config, const char *strategy, int32_t lowering,
                         const ppsched_channel_model *model)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = lowering};
    ppsched_schedule *schedule = NULL, *lowered = NULL;
    ppsched_timeline *timeline = NULL;
    if (ppsched_schedule_generate(&schedule, config, strategy, NULL) != PPSCHED_OK)
        return 0;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, NULL), NULL);
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, model, 0, NULL), NULL);
    double makespan = metrics_of(timeline).makespan;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    return makespan;
}

/* A plan with a lowering times its candidates as they are timed alone; no lowering of a plan hangs. */
static void test_lowered_candidates(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1", "zbv", "interleaved_1f1b", "dualpipe_v"};
    static const ppsched_channel_model models[] = {
        {.size = sizeof models[0]},
        {.size = sizeof models[0], .rendezvous = 1, .blocking = 1},
        {.size = sizeof models[0], .rendezvous = 1, .order = PPSCHED_CHANNEL_ORDER_DIRECTION},
        {.size = sizeof models[0], .order = PPSCHED_CHANNEL_ORDER_PAIR, .batched = 1}};
    uint32_t timed = 0;
    (void)state;
    for (int i = 0; i < 12; i++) {
        const struct uneven problem = {3 + (uint32_t)i % 2, 2, 8, 1, 60 + (uint64_t)i};
        const struct plan_choice options = {.size = sizeof options,
                                            .strategies = strategies,
                                            .strategy_count = 5,
                                            .lowering = 1 + i % 3,
                                            .channel = &models[i / 3]};
        ppsched_config *config = make_uneven(&problem);
        ppsched_plan *plan = run_plan(config, &options);
        for (uint32_t c = 0; c < ppsched_plan_count(plan); c++) {
            ppsched_candidate candidate = candidate_of(plan, c);
            ppsched_config *own = NULL;
            if (ppsched_plan_create_config(&own, plan, c, NULL) != PPSCHED_OK)
                continue;
            double makespan = time_alone(own, candidate.strategy, options.lowering, options.channel);
            assert_true(makespan == (candidate.status == PPSCHED_OK ? candidate.makespan : 0));
            timed += makespan > 0;
            ppsched_config_destroy(own);
        }
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
    }
    assert_true(timed > 100);
}

/* --- many iterations --- */

/* Where iterations have more than a million ops one is timed; the figures are those of all. */
static void test_figures_of_many_iterations(void **state)
{
    static const char *const strategies[] = {"1f1b", "gpipe"};
    const struct plan_choice options = {.size = sizeof options, .strategies = strategies, .strategy_count = 2};
    const struct uneven problem = {.devices = 3, .chunks = 1, .microbatches = 9, .iterations = 13000, .seed = 3};
    ppsched_config *config = make_uneven(&problem);
    (void)state;
    ppsched_plan *plan = run_plan(config, &options);
    for (uint32_t i = 0; i < 2; i++) {
        ppsched_candidate told = candidate_of(plan, i);
        ppsched_schedule *schedule = make_schedule(config, told.strategy);
        ppsched_timeline *timeline = NULL;
        expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, NULL), NULL);
        ppsched_metrics metrics = metrics_of(timeline);
        assert_true(fabs(told.makespan / metrics.makespan - 1) < 1e-9 && fabs(told.span / metrics.span - 1) < 1e-9);
        assert_true(fabs(told.bubble_of_span - metrics.bubble_of_span) < 1e-9 && told.peak_memory == metrics.peak_memory);
        assert_true(metrics.bubble_of_span > 0.01);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
    }
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* --- progress --- */

struct told {
    uint32_t count, calls, inside;      /* calls, and those between the candidates */
    uint32_t of_quarter[4];             /* calls in each quarter of a candidate */
    double first, last, best, furthest; /* furthest: the largest share of a candidate that was told inside it */
};

static int32_t note(void *user, const ppsched_progress *progress)
{
    struct told *told = user;
    double place = progress->share * told->count;
    assert_true(progress->share >= told->last && progress->share <= 1);
    told->first = fmin(told->first, progress->share);
    told->of_quarter[(int)(4 * (place - floor(place)))]++;
    told->last = progress->share;
    told->best = progress->best;
    told->calls++;
    told->inside += fabs(place - nearbyint(place)) > 1e-9;
    if (fabs(place - nearbyint(place)) > 1e-9)
        told->furthest = fmax(told->furthest, place - floor(place));
    return 0;
}

/* A search tells its own share of the candidate's part; the end is told, with the best step. */
static void test_progress_inside_a_candidate(void **state)
{
    static const char *const strategies[] = {"1f1b", "auto"};
    const struct uneven problem = {.devices = 4, .chunks = 1, .microbatches = 9, .iterations = 1, .seed = 3};
    (void)state;
    for (uint32_t first = 0; first < 2; first++) {
        const struct plan_choice options = {.size = sizeof options,
                                            .strategies = &strategies[first],
                                            .strategy_count = 2 - first,
                                            .placements = 1u << PPSCHED_PLACEMENT_LINEAR,
                                            .effort = 4};
        ppsched_config *config = make_uneven(&problem);
        struct told told = {0};
        ppsched_plan *plan = NULL;
        ppsched_error error;
        expect_ok(ppsched_config_set_progress(config, note, &told, &error), &error);
        expect_ok(create_plan(&plan, config, &options, &error), &error);
        told.count = ppsched_plan_count(plan);
        assert_int_equal(told.count, 2 - first);
        expect_ok(ppsched_plan_run(plan, &error), &error);
        assert_true(told.inside > 3 && told.inside < told.calls && told.last == 1);
        assert_true(told.furthest > 0.5); /* the search ends before its share is spent */
        assert_true(told.best == ranked(plan, 0).step_time);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
    }
}

/* With an order of microbatches, and with layers, too, each part of a candidate's work has a share of its own: what is told
 * never falls, begins near 0 and ends at 1. */
static void expect_rising_shares(const ppsched_layers *layers, const char *strategy, uint32_t searched)
{
    const struct uneven problem = {.devices = 3, .chunks = 1, .microbatches = 8, .iterations = 1, .seed = 3};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = &strategy,
                                        .strategy_count = 1,
                                        .placements = 1u << PPSCHED_PLACEMENT_LINEAR,
                                        .layers = layers,
                                        .order_effort = 2,
                                        .effort = 2};
    ppsched_config *config = layers == NULL ? make_uneven(&problem) : make_config(3, 3, 8);
    uint64_t seed = 4;
    struct told told = {.first = 2};
    ppsched_plan *plan = NULL;
    ppsched_error error;
    set_uneven(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, 8, 0.5, &seed);
    expect_ok(ppsched_config_set_progress(config, note, &told, &error), &error);
    expect_ok(create_plan(&plan, config, &options, &error), &error);
    told.count = ppsched_plan_count(plan);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    assert_true(candidate_of(plan, 0).ordered && told.first * told.count < 0.25 && told.last == 1);
    if (layers == NULL) /* its schedule, the order, what comes of it */
        assert_true(told.of_quarter[0] > searched && told.of_quarter[1] > 0 && told.of_quarter[2] > 0);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

static void test_progress_of_an_order(void **state)
{
    const ppsched_layers *layers = make_plain_model(9);
    (void)state;
    expect_rising_shares(NULL, "1f1b", 1);
    expect_rising_shares(NULL, "zb_auto", 3);
    expect_rising_shares(layers, "1f1b", 1);
    ppsched_layers_release(layers);
}

struct stopping {
    uint32_t calls, stop;
};

static int32_t stop_at(void *user, const ppsched_progress *progress)
{
    struct stopping *stopping = user;
    (void)progress;
    return ++stopping->calls == stopping->stop;
}

/* A search whose microbatches are ordered may be stopped at any time, and run again. */
static void test_stopping_while_microbatches_are_ordered(void **state)
{
    static const char *const search[] = {"zb_auto"};
    const struct uneven problem = {.devices = 3, .chunks = 1, .microbatches = 8, .iterations = 1, .seed = 3};
    const struct plan_choice options = {.size = sizeof options, .strategies = search, .strategy_count = 1, .order_effort = 2};
    ppsched_config *config = make_uneven(&problem);
    uint64_t seed = 4;
    struct stopping stopping = {0};
    ppsched_plan *plan = NULL;
    ppsched_error error;
    uint32_t stopped = 0;
    double whole = 0;
    (void)state;
    set_uneven(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, 8, 0.5, &seed);
    expect_ok(ppsched_config_set_progress(config, stop_at, &stopping, &error), &error);
    for (uint32_t stop = 0; stop < 1000; stop++) {
        stopping = (struct stopping){.stop = stop};
        expect_ok(create_plan(&plan, config, &options, &error), &error);
        ppsched_status status = ppsched_plan_run(plan, &error);
        if (stop == 0) {
            expect_ok(status, &error);
            whole = ranked(plan, 0).step_time;
        } else if (status == PPSCHED_OK) {
            stop = 1000; /* that was behind the last call */
        } else {
            assert_int_equal(status, PPSCHED_ERROR_CANCELLED);
            expect_ok(ppsched_plan_run(plan, &error), &error);
            assert_true(candidate_of(plan, 0).ordered && ranked(plan, 0).step_time == whole);
            stopped++;
        }
        ppsched_plan_destroy(plan);
    }
    assert_true(stopped > 5);
    ppsched_config_destroy(config);
}

/* Copies that move more than there is are refused also where they delay nothing. */
static void test_copies_move_at_most_what_there_is(void **state)
{
    static const char *const names[] = {"1f1b"};
    const struct plan_choice options = {.size = sizeof options, .offload = 1, .strategies = names, .strategy_count = 1};
    ppsched_config *config = make_config(4, 4, 16);
    ppsched_plan *plan = NULL;
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 0.125);
    set_number(config, PPSCHED_QUANTITY_MEM_OFFLOAD, 2);
    expect_ok(create_plan(&plan, config, &options, &error), &error);
    assert_int_equal(ppsched_plan_run(plan, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "mem_offload of stage 0 is 2; it must be at most mem_forward, which is 1");
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_and_microbatches_at_once),
        cmocka_unit_test(test_pairs_in_other_numbers_of_stages),
        cmocka_unit_test(test_what_else_a_stage_has),
        cmocka_unit_test(test_no_list_is_lost),
        cmocka_unit_test(test_ties_by_peak_memory),
        cmocka_unit_test(test_ranks_are_those_of_the_figures),
        cmocka_unit_test(test_whole_backwards_of_ends),
        cmocka_unit_test(test_what_is_not_given),
        cmocka_unit_test(test_who_is_cut),
        cmocka_unit_test(test_a_config_with_slices),
        cmocka_unit_test(test_least_limit_names_the_best_ranked),
        cmocka_unit_test(test_least_limit_of_searches_alone),
        cmocka_unit_test(test_least_limit_of_the_better_placement),
        cmocka_unit_test(test_bounds_with_copies),
        cmocka_unit_test(test_copies_move_at_most_what_there_is),
        cmocka_unit_test(test_bounds_are_those_of_each),
        cmocka_unit_test(test_lowered_candidates),
        cmocka_unit_test(test_figures_of_many_iterations),
        cmocka_unit_test(test_progress_inside_a_candidate),
        cmocka_unit_test(test_progress_of_an_order),
        cmocka_unit_test(test_stopping_while_microbatches_are_ordered),
    };
    return cmocka_run_group_tests_name("plan rules", tests, NULL, NULL);
}
