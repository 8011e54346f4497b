/* SPDX-License-Identifier: Apache-2.0 */
/* The brute force over splits against the evaluator, against itself with nothing left out, and against what is known. */
#include "prop/split_draw.h"
#include "support/layer_objects.h"

#include <math.h>

static struct split_cost layer(double forward, double backward, double memory)
{
    struct split_cost cost = {.time = {0, forward, backward, backward / 2, backward / 2}};
    cost.memory[PPSCHED_KIND_F] = memory;
    cost.memory[PPSCHED_KIND_B] = cost.memory[PPSCHED_KIND_I] = -memory;
    return cost;
}

static void release(struct split_problem *problem)
{
    ppsched_schedule_release((ppsched_schedule *)problem->schedule);
}

/* Makespan and peaks as the evaluator has them, to the last bit. */
static void expect_figures(const struct split_problem *problem, const ppsched_timeline *timeline, double makespan,
                           const double *peak)
{
    assert_true(metrics_of(timeline).makespan == makespan);
    for (uint32_t d = 0; d < ppsched_schedule_devices(problem->schedule); d++)
        assert_true(device_metrics_of(timeline, d).peak_memory == peak[d]);
}

static void expect_evaluated(const struct split_problem *problem, const struct split_cost *stage, double makespan,
                             const double *peak)
{
    ppsched_config *config = config_of_stages(problem, stage);
    ppsched_timeline *timeline = make_timeline(problem->schedule, config);
    expect_figures(problem, timeline, makespan, peak);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* --- its timing and its memory --- */

static void test_stages_cost_what_the_evaluator_says(void **state)
{
    static const struct split_sizes sizes = {4, 3, SPLIT_MICROBATCHES, 0};
    uint64_t seed = 21;
    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        struct split_problem problem;
        struct split_cost stage[SPLIT_STAGES] = {0};
        double makespan = 0, peak[SPLIT_DEVICES] = {0};
        draw_split_problem(&problem, NULL, &sizes, &seed);
        problem.senders_wait = trial % 2;
        for (uint32_t s = 0; s < ppsched_schedule_stages(problem.schedule); s++) {
            double *time = stage[s].time, *memory = stage[s].memory;
            for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
                time[kind] = random_below(&seed, 20) / 4.0;
            memory[PPSCHED_KIND_I] = -(double)random_below(&seed, 9) / 4;
            memory[PPSCHED_KIND_W] = -(double)random_below(&seed, 9) / 4;
            memory[PPSCHED_KIND_B] = memory[PPSCHED_KIND_I] + memory[PPSCHED_KIND_W];
            memory[PPSCHED_KIND_F] = -memory[PPSCHED_KIND_B];
            if (random_below(&seed, 4) == 0) { /* I adds what it would release */
                stage[s].more = -memory[PPSCHED_KIND_I];
                memory[PPSCHED_KIND_I] = 0;
                memory[PPSCHED_KIND_W] = memory[PPSCHED_KIND_B] = -memory[PPSCHED_KIND_F] - stage[s].more;
            }
            stage[s].fixed = random_below(&seed, 9) / 4.0;
        }
        assert_true(brute_price_stages(&makespan, peak, &problem, stage));
        expect_evaluated(&problem, stage, makespan, peak);
        release(&problem);
    }
}

/* --- its search --- */

/* Each layer once, in order, in its place, none left out; the stages cost what their layers do. */
static void expect_split(const struct split_problem *problem, const struct split_answer *answer)
{
    uint32_t stages = ppsched_schedule_stages(problem->schedule), placed[SPLIT_ENTRIES] = {0}, before = 0;
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t layers = 0;
        double time = 0, fixed = 0;
        for (uint32_t e = 0; e < problem->entries; e++)
            for (uint32_t c = 0; c < SPLIT_CHOICES; c++) {
                uint32_t number = answer->chosen[s][e][c];
                assert_true(number == 0 || (e >= before && c < problem->entry[e].choices));
                assert_true(number == 0 || problem->entry[e].place != SPLIT_FIRST || s == 0);
                assert_true(number == 0 || problem->entry[e].place != SPLIT_LAST || s + 1 == stages);
                before = number > 0 ? e : before;
                placed[e] += number;
                layers += number;
                time += number * problem->entry[e].cost[c].time[PPSCHED_KIND_B];
                fixed += number * problem->entry[e].cost[c].fixed;
            }
        assert_true(layers >= problem->least[s]);
        assert_true(time == answer->stage[s].time[PPSCHED_KIND_B] && fixed == answer->stage[s].fixed);
    }
    for (uint32_t e = 0; e < problem->entries; e++)
        assert_int_equal(placed[e], problem->entry[e].count);
}

/* Its layers cost so much as the evaluator has it, and hold so much as objects. */
static void expect_layers(const struct split_problem *problem, const struct split_answer *answer)
{
    static const struct split_cost none[SPLIT_STAGES];
    const ppsched_layers *layers = layers_of(problem);
    ppsched_layer entries[SPLIT_ENTRIES];
    ppsched_config *base = config_of_stages(problem, none), *config = NULL;
    uint32_t counts[SPLIT_STAGES];
    uint8_t recomputes[SPLIT_LAYERS];
    ppsched_error error;
    split_of_answer(counts, recomputes, problem, answer);
    const ppsched_split split = {sizeof split, ppsched_schedule_stages(problem->schedule), counts, recomputes};
    for (uint32_t e = 0; e < problem->entries; e++) {
        entries[e].size = sizeof entries[e];
        expect_ok(ppsched_layers_get_entry(&entries[e], layers, e, &error), &error);
    }
    expect_ok(ppsched_config_from_layers(&config, base, layers, &split, &error), &error);
    ppsched_timeline *timeline = make_timeline(problem->schedule, config);
    expect_figures(problem, timeline, answer->makespan, answer->peak);
    const struct layer_objects objects = {problem->schedule, timeline, entries, problem->entries, &split, NULL};
    for (uint32_t d = 0; d < ppsched_schedule_devices(problem->schedule); d++)
        assert_true(object_peak(&objects, d) == answer->peak[d]);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

static void expect_answer(const struct split_problem *problem, const struct split_answer *answer)
{
    expect_split(problem, answer);
    expect_layers(problem, answer);
    for (uint32_t d = 0; d < ppsched_schedule_devices(problem->schedule); d++)
        assert_true(answer->peak[d] <= problem->limit[d] * (1 + 1e-9));
}

static void test_answers_are_splits_that_fit(void **state)
{
    static const struct split_sizes sizes = {4, 2, SPLIT_MICROBATCHES, 4};
    uint64_t seed = 22, priced = 0, splits = 0;
    int found = 0;
    (void)state;
    for (int trial = 0; trial < 500; trial++) {
        struct split_problem problem;
        struct split_answer answer;
        draw_split_problem(&problem, NULL, &sizes, &seed);
        assert_true(brute_best_split(&answer, &problem));
        if (answer.makespan < HUGE_VAL) {
            expect_answer(&problem, &answer);
            found++;
        }
        priced += answer.priced;
        splits += answer.splits;
        release(&problem);
    }
    print_message("# %d of 500 fit; %.0f splits, %.0f timings\n", found, (double)splits, (double)priced);
    assert_true(found > 300 && found < 500);
}

/* What it leaves out is never better. */
static void test_nothing_that_matters_is_left_out(void **state)
{
    static const struct split_sizes sizes = {3, 2, 5, 2};
    uint64_t seed = 23, priced = 0, naive = 0;
    (void)state;
    for (int trial = 0; trial < 900; trial++) {
        struct split_problem problem;
        struct split_answer answer, full;
        draw_split_problem(&problem, NULL, &sizes, &seed);
        assert_true(brute_best_split(&answer, &problem));
        problem.naive = 1;
        assert_true(brute_best_split(&full, &problem));
        assert_true(answer.makespan == full.makespan);
        assert_int_equal(answer.splits, full.splits);
        priced += answer.priced;
        naive += full.priced;
        release(&problem);
    }
    print_message("# %.0f timings, %.0f with nothing left out\n", (double)priced, (double)naive);
}

/* --- by hand --- */

/* 3 layers (F 1, B 2, memory 1) on 2 devices, 2 microbatches, 1F1B: 13 with two layers in front, which then hold 4; else 15. */
static void test_three_layers_on_two_devices(void **state)
{
    struct split_problem problem = {.entries = 1, .least = {1, 1}, .limit = {HUGE_VAL, HUGE_VAL}};
    struct split_answer answer;
    ppsched_config *config = make_config(2, 2, 2);
    (void)state;
    problem.schedule = make_schedule(config, "1f1b");
    problem.entry[0] = (struct split_entry){.count = 3, .choices = 1, .cost = {layer(1, 2, 1), layer(1, 2.5, 0.5)}};
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == 13 && answer.peak[0] == 4 && answer.peak[1] == 1 && answer.splits == 2);
    problem.limit[0] = 3;
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == 15 && answer.chosen[0][0][0] == 1 && answer.peak[0] == 2 && answer.peak[1] == 2);
    problem.entry[0].choices = 2; /* one of the two is recomputed: half a unit more, twice */
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == 14 && answer.chosen[0][0][0] == 1 && answer.chosen[0][0][1] == 1 && answer.peak[0] == 3);
    problem.limit[0] = 0.5;
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == HUGE_VAL);
    problem.limit[0] = 2;
    problem.entry[0].place = SPLIT_LAST; /* nothing is left for the first device */
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == HUGE_VAL && answer.splits == 0);
    problem.least[0] = 0;
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == 18 && answer.splits == 1);
    release(&problem);
    ppsched_config_destroy(config);
}

/* One device runs F0 I0 F1 I1 W0 W1. One choice holds 2 until W, so 4 at F1; the other holds 3 until I, and fits in 3. */
static void test_what_stays_until_the_weight_gradient(void **state)
{
    static const char *const tokens[] = {"0F0", "0I0", "0F1", "0I1", "0W0", "0W1"};
    struct split_problem problem = {.entries = 1, .limit = {3}};
    struct split_answer answer;
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    ppsched_config *config = make_config(1, 1, 2);
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (int i = 0; i < 6; i++) {
        ppsched_op op = op_from_token(tokens[i]);
        expect_ok(ppsched_builder_append(builder, 0, &op, 1, &error), &error);
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    problem.schedule = schedule;
    problem.entry[0] = (struct split_entry){.count = 1, .choices = 2, .cost = {layer(1, 4, 2), layer(1, 6, 3)}};
    problem.entry[0].cost[0].memory[PPSCHED_KIND_I] = 0;
    problem.entry[0].cost[0].memory[PPSCHED_KIND_W] = -2;
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == 14 && answer.peak[0] == 3 && answer.chosen[0][0][1] == 1);
    problem.entry[0].cost[0].time[PPSCHED_KIND_I] = 9; /* now it is the slower one, too */
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == 14 && answer.peak[0] == 3 && answer.chosen[0][0][1] == 1);
    problem.limit[0] = 2.75;
    assert_true(brute_best_split(&answer, &problem));
    assert_true(answer.makespan == HUGE_VAL);
    release(&problem);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* What is too large, or no problem, is refused. */
static void test_refused(void **state)
{
    struct split_problem problem = {.entries = 2, .limit = {HUGE_VAL, HUGE_VAL}};
    struct split_answer answer;
    ppsched_config *config = make_config(2, 2, SPLIT_MICROBATCHES + 1);
    ppsched_config *small = make_config(2, 2, 2);
    ppsched_schedule *large = make_schedule(config, "1f1b"), *fine = make_schedule(small, "1f1b");
    (void)state;
    problem.entry[0] = (struct split_entry){.count = 2, .choices = 1, .cost = {layer(1, 2, 1)}};
    problem.entry[1] = problem.entry[0];
    problem.schedule = large;
    assert_false(brute_best_split(&answer, &problem));
    problem.schedule = fine;
    assert_true(brute_best_split(&answer, &problem));
    problem.entry[1].place = SPLIT_FIRST;
    assert_false(brute_best_split(&answer, &problem));
    problem.entry[1] = (struct split_entry){.count = SPLIT_LAYERS, .choices = 1};
    assert_false(brute_best_split(&answer, &problem));
    ppsched_schedule_release(large);
    ppsched_schedule_release(fine);
    ppsched_config_destroy(config);
    ppsched_config_destroy(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_cost_what_the_evaluator_says),  cmocka_unit_test(test_answers_are_splits_that_fit),
        cmocka_unit_test(test_nothing_that_matters_is_left_out),     cmocka_unit_test(test_three_layers_on_two_devices),
        cmocka_unit_test(test_what_stays_until_the_weight_gradient), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("split_brute", tests, NULL, NULL);
}
