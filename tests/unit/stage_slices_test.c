/* SPDX-License-Identifier: Apache-2.0 */
/* Slices whose times grow differently on each stage: times by hand, stages that grow alike, and what is refused. Plans by
 * layers: the steps of splits by hand, and against all splits. */
#include "support/layered.h"
#include "support/plan_choice.h"
#include "support/plans.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ppsched_config *sliced(int64_t stages, int64_t microbatches, int64_t slices, const double *scale, size_t count)
{
    ppsched_config *config = make_config(stages, stages, microbatches);
    ppsched_error error;
    expect_ok(ppsched_config_set_slices(config, slices, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SLICE_SCALE, scale, count, &error), &error);
    return config;
}

/* F 1, B 2; the second slice takes 3 times as long on stage 0 alone. */
static void test_by_hand(void **state)
{
    const double scale[] = {1, 3, 1, 1};
    ppsched_config *config = sliced(2, 1, 2, scale, 4);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    (void)state;
    /* 1F0.0 0 to 1, 0F0.1 1 to 4, 1F0.1 4 to 5, 1B0.1 5 to 7, 0B0.1 7 to 13, 0B0.0 13 to 15 */
    assert_true(metrics_of(timeline).makespan == 15);
    assert_true(device_metrics_of(timeline, 0).busy == 1 + 3 + 6 + 2);
    assert_true(device_metrics_of(timeline, 1).busy == 1 + 1 + 2 + 2);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void expect_told(ppsched_status found, ppsched_status wanted, const ppsched_error *error, const char *message)
{
    assert_int_equal(found, wanted);
    assert_string_equal(error->message, message);
}

/* --- stages that grow alike --- */

static void expect_same(const ppsched_config *config, const ppsched_config *other, const char *strategy)
{
    ppsched_schedule *schedule = NULL, *same = NULL;
    ppsched_error error;
    ppsched_status status = ppsched_schedule_generate(&schedule, config, strategy, &error);
    assert_int_equal(ppsched_schedule_generate(&same, other, strategy, &error), status);
    if (status != PPSCHED_OK)
        return;
    ppsched_timeline *timeline = make_timeline(schedule, config), *again = make_timeline(same, other);
    ppsched_metrics a = metrics_of(timeline), b = metrics_of(again);
    assert_memory_equal(&a, &b, sizeof a);
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        char *text = queue_text(schedule, d), *copy = queue_text(same, d);
        assert_string_equal(text, copy);
        free(text);
        free(copy);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_timeline_destroy(again);
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(same);
}

/* To the last bit, in every strategy and in the bound. */
static void test_alike(void **state)
{
    enum { DEVICES = 3, CHUNKS = 2, STAGES = DEVICES * CHUNKS, SLICES = 3 };
    const struct uneven sizes = {DEVICES, CHUNKS, 4, 1, 5};
    double scale[STAGES * SLICES];
    uint64_t seed = 9;
    (void)state;
    for (uint32_t i = 0; i < STAGES * SLICES; i++)
        scale[i] = i < SLICES ? 0.7 + 0.3 * i : scale[i - SLICES];
    for (int limited = 0; limited < 2; limited++) {
        ppsched_config *config = make_uneven(&sizes), *other = NULL;
        ppsched_bound a = {.size = sizeof a}, b = {.size = sizeof b};
        expect_ok(ppsched_config_set_slices(config, SLICES, NULL), NULL);
        set_uneven(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, sizes.microbatches, 0.5, &seed);
        if (limited)
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 60);
        expect_ok(ppsched_config_copy(&other, config, NULL), NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SLICE_SCALE, scale, SLICES, NULL), NULL);
        expect_ok(ppsched_config_set_values(other, PPSCHED_QUANTITY_SLICE_SCALE, scale, STAGES * SLICES, NULL), NULL);
        for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
            ppsched_strategy_info info = {.size = sizeof info};
            expect_ok(ppsched_strategy_get_info(&info, i, NULL), NULL);
            expect_same(config, other, info.name);
        }
        expect_ok(ppsched_config_find_bound(&a, config, PPSCHED_OBJECTIVE_MAKESPAN, NULL), NULL);
        expect_ok(ppsched_config_find_bound(&b, other, PPSCHED_OBJECTIVE_MAKESPAN, NULL), NULL);
        assert_memory_equal(&a, &b, sizeof a);
        ppsched_config_destroy(config);
        ppsched_config_destroy(other);
    }
}

/* --- refused --- */

static void test_lengths(void **state)
{
    const double scale[] = {1, 3, 1, 1};
    double bad[] = {1, 3, 1, 0};
    ppsched_config *config = sliced(2, 1, 2, scale, 4), *whole = make_config(2, 2, 1);
    ppsched_error error;
    (void)state;
    expect_told(ppsched_config_set_values(config, PPSCHED_QUANTITY_SLICE_SCALE, scale, 3, &error), PPSCHED_ERROR_LENGTH, &error,
                "slice_scale has 3 values; give 2, one per slice, or 4, one per slice for each stage");
    expect_told(ppsched_config_set_values(config, PPSCHED_QUANTITY_SLICE_SCALE, bad, 4, &error), PPSCHED_ERROR_RANGE, &error,
                "slice_scale of stage 1, slice 1 is 0; it must be finite and above 0");
    expect_told(ppsched_config_set_values(whole, PPSCHED_QUANTITY_SLICE_SCALE, scale, 2, &error), PPSCHED_ERROR_LENGTH, &error,
                "slice_scale has 2 values; give 1, one per slice");
    expect_told(ppsched_config_set_slices(config, 4, &error), PPSCHED_ERROR_LENGTH, &error,
                "slice_scale has 4 values, one per slice for each stage; clear slice_scale before you set 4 slices");
    expect_ok(ppsched_config_set_slices(config, 2, &error), &error);
    ppsched_config_destroy(config);
    ppsched_config_destroy(whole);
}

/* The values belong to stages, which another number of stages or another split does not have. */
static void test_other_stages(void **state)
{
    const double scale[] = {1, 3, 1, 1};
    const uint32_t counts[] = {2, 3};
    ppsched_config *config = sliced(2, 2, 2, scale, 4), *other = NULL;
    const ppsched_layers *layers = make_plain_model(3);
    const ppsched_split split = split_of(counts, 2, NULL);
    ppsched_error error;
    size_t count = 0;
    (void)state;
    expect_told(ppsched_config_with_stages(&other, config, 4, NULL, NULL, &error), PPSCHED_ERROR_REFUSED, &error,
                "slice_scale has values for each of 2 stages and cannot be converted to 4; give one per slice");
    expect_told(ppsched_config_from_layers(&other, config, layers, &split, &error), PPSCHED_ERROR_REFUSED, &error,
                "slice_scale has values for each stage; with layers give one per slice, as stages have other layers");
    expect_ok(ppsched_config_with_microbatches(&other, config, 4, &error), &error);
    assert_memory_equal(ppsched_config_values(other, PPSCHED_QUANTITY_SLICE_SCALE, &count), scale, sizeof scale);
    assert_int_equal(count, 4);
    ppsched_config_destroy(other);
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
}

/* --- by layers --- */

enum { TRIALS = ROUNDS(40), MOST_LAYERS = 7, MOST_STAGES = 4, SLICES = 4 };

struct model {
    ppsched_layer entries[MOST_LAYERS];
    uint32_t layers, devices, microbatches;
    double slice_time;
};

static void draw_model(struct model *model, uint64_t *seed)
{
    *model = (struct model){.devices = 2 + random_below(seed, MOST_STAGES - 1),
                            .layers = 4 + random_below(seed, MOST_LAYERS - 3),
                            .microbatches = 1 + random_below(seed, 4),
                            .slice_time = random_below(seed, 3) / 16.0};
    for (uint32_t i = 0; i < model->layers; i++)
        model->entries[i] = (ppsched_layer){.size = sizeof model->entries[i],
                                            .name = "decoder",
                                            .forward_time = 1 + random_below(seed, 64) / 64.0,
                                            .backward_input_time = 1 + random_below(seed, 64) / 64.0,
                                            .backward_weight_time = 0.5 + random_below(seed, 64) / 64.0,
                                            .mem_forward = 1,
                                            .attention_share = random_below(seed, 3) == 0 ? 0 : random_below(seed, 65) / 64.0};
}

/* The stages of a split, each with the factors of its own layers, by the formula of plan.h. */
static ppsched_config *config_by_hand(const struct model *model, const uint32_t *counts, uint32_t stages)
{
    double list[3][MOST_STAGES] = {{0}}, scale[MOST_STAGES * SLICES];
    const ppsched_layer *layer = model->entries;
    ppsched_config *config = make_config(model->devices, stages, model->microbatches);
    ppsched_error error;
    for (uint32_t s = 0; s < stages; s++) {
        double whole = 0, attention = 0;
        for (uint32_t i = 0; i < counts[s]; i++, layer++) {
            const double times[] = {layer->forward_time, layer->backward_input_time, layer->backward_weight_time};
            for (int kind = 0; kind < 3; kind++) {
                list[kind][s] += times[kind] / SLICES;
                whole += times[kind];
                attention += times[kind] * layer->attention_share;
            }
        }
        list[0][s] += model->slice_time;
        list[1][s] += model->slice_time;
        for (uint32_t k = 0; k < SLICES; k++)
            scale[s * SLICES + k] = 1 - attention / whole + attention / whole * (2 * k + 1) / SLICES;
    }
    expect_ok(ppsched_config_set_slices(config, SLICES, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, list[0], stages, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, list[1], stages, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, list[2], stages, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SLICE_SCALE, scale, stages * SLICES, &error), &error);
    return config;
}

static double step_by_hand(const struct model *model, const uint32_t *counts, uint32_t stages, const char *strategy)
{
    ppsched_config *config = config_by_hand(model, counts, stages);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    const double makespan = metrics_of(timeline).makespan;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return makespan;
}

/* The shortest step of all splits. */
static double best_of_all(const struct model *model, uint32_t stages, const char *strategy)
{
    uint32_t counts[MOST_STAGES];
    double best = HUGE_VAL;
    for (uint32_t cuts = 0; cuts < 1u << (model->layers - 1); cuts++) { /* bit i: a stage ends with layer i */
        uint32_t stage = 0;
        memset(counts, 0, sizeof counts);
        for (uint32_t i = 0; i < model->layers; i++) {
            counts[stage < MOST_STAGES ? stage : 0]++;
            stage += (cuts >> i) & 1;
        }
        if (stage + 1 == stages)
            best = fmin(best, step_by_hand(model, counts, stages, strategy));
    }
    return best;
}

/* A candidate's step is that of its split by hand, its bound is below all splits, and its split is near the best. */
static void expect_candidate(const struct model *model, const ppsched_plan *plan, uint32_t number, double *excess)
{
    const ppsched_candidate found = candidate_of(plan, number);
    uint32_t counts[MOST_STAGES];
    size_t stages = 0;
    expect_ok(found.status, NULL);
    expect_ok(ppsched_plan_get_split(counts, MOST_STAGES, &stages, plan, number, NULL), NULL);
    const double best = best_of_all(model, found.stages, found.strategy);
    assert_true(fabs(found.makespan - step_by_hand(model, counts, found.stages, found.strategy)) < 1e-9 * found.makespan);
    assert_true(found.bound <= best * (1 + 1e-9) && best <= found.makespan * (1 + 1e-9));
    *excess += found.makespan / best - 1;
}

static void test_by_layers(void **state)
{
    static const char *const strategies[] = {"gpipe", "seq_1f1b"};
    static const uint32_t slices[] = {SLICES};
    uint64_t seed = 31;
    double excess = 0;
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct model model;
        draw_model(&model, &seed);
        const ppsched_layers *layers = make_layers(model.entries, model.layers);
        ppsched_config *config = make_config(model.devices, model.devices, model.microbatches);
        const struct plan_choice options = {.size = sizeof options,
                                            .strategies = strategies,
                                            .strategy_count = 2,
                                            .chunks = &(uint32_t){1},
                                            .chunk_count = 1,
                                            .layers = layers,
                                            .slices = slices,
                                            .slice_count = 1,
                                            .slice_time = model.slice_time};
        ppsched_plan *plan = run_plan(config, &options);
        assert_int_equal(ppsched_plan_count(plan), 2);
        for (uint32_t c = 0; c < 2; c++)
            expect_candidate(&model, plan, c, &excess);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
    print_message("# splits are %.3f %% above the best of all on average\n", 100 * excess / (2 * TRIALS));
    assert_true(excess / (2 * TRIALS) < 0.02);
}

/* One share for all stages takes precedence; equal shares of all layers are the same. */
static void test_share_of_all(void **state)
{
    static const char *const strategies[] = {"seq_1f1b"};
    static const uint32_t slices[] = {SLICES};
    const ppsched_layer same = {.size = sizeof same, .name = "decoder", .count = 4, .forward_time = 1, .attention_share = 0.25};
    const ppsched_layer entries[] = {same, same}, bad = {.size = sizeof bad, .name = "x", .attention_share = 1.5}, *list = &bad;
    ppsched_config *config = make_config(2, 2, 3);
    struct plan_choice options = {
        .size = sizeof options, .strategies = strategies, .strategy_count = 1, .slices = slices, .slice_count = 1};
    double steps[3];
    ppsched_error error;
    (void)state;
    for (int i = 0; i < 3; i++) {
        const ppsched_layer other[] = {
            {.size = sizeof same, .name = "decoder", .count = 8, .forward_time = 1, .attention_share = i == 1 ? 0.75 : 0}};
        const ppsched_layers *layers = i == 0 ? make_layers(entries, 2) : make_layers(other, 1);
        options.layers = layers;
        options.attention_share = i == 0 ? 0 : 0.25;
        ppsched_plan *plan = run_plan(config, &options);
        steps[i] = candidate_of(plan, 0).makespan;
        ppsched_plan_destroy(plan);
        ppsched_layers_release(layers);
    }
    assert_true(steps[0] == steps[1] && steps[1] == steps[2]);
    const ppsched_layers *refused = NULL;
    expect_told(ppsched_layers_create(&refused, &list, 1, NULL, &error), PPSCHED_ERROR_RANGE, &error,
                "layer entry 0 (x): attention_share is 1.5; it must be 0 to 1");
    ppsched_config_destroy(config);
}

/* --- without memory --- */

struct store {
    size_t left, held; /* blocks that are still given, and that were not freed */
};

static void *allocate(void *user, size_t size)
{
    struct store *store = user;
    void *block = store->left > 0 ? malloc(size) : NULL;
    store->left -= store->left > 0;
    store->held += block != NULL;
    return block;
}

static void release(void *user, void *memory)
{
    ((struct store *)user)->held--;
    free(memory);
}

/* Each allocation of a candidate's config fails once. */
static void test_shortage(void **state)
{
    static const char *const strategies[] = {"seq_1f1b"};
    static const uint32_t slices[] = {SLICES};
    struct store store = {SIZE_MAX, 0};
    const ppsched_environment environment = {
        .size = sizeof environment, .user = &store, .allocate = allocate, .release = release};
    uint64_t seed = 8;
    struct model model;
    size_t failed = 0;
    ppsched_status status = PPSCHED_ERROR_NO_MEMORY;
    (void)state;
    draw_model(&model, &seed);
    for (size_t given = 0; status != PPSCHED_OK; given++) {
        const ppsched_layers *layers = make_layers(model.entries, model.layers);
        const struct plan_choice options = {.size = sizeof options,
                                            .strategies = strategies,
                                            .strategy_count = 1,
                                            .layers = layers,
                                            .slices = slices,
                                            .slice_count = 1};
        ppsched_config *config = NULL, *made = NULL;
        ppsched_error error;
        store.left = SIZE_MAX;
        expect_ok(ppsched_config_create(&config, 2, 2, 2, &environment, &error), &error);
        ppsched_plan *plan = run_plan(config, &options);
        store.left = given;
        status = ppsched_plan_create_config(&made, plan, 0, &error);
        assert_true(status == PPSCHED_OK || (status == PPSCHED_ERROR_NO_MEMORY && made == NULL));
        failed += status != PPSCHED_OK;
        ppsched_config_destroy(made);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
        assert_int_equal(store.held, 0);
    }
    assert_true(failed > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),      cmocka_unit_test(test_alike),     cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_other_stages), cmocka_unit_test(test_by_layers), cmocka_unit_test(test_share_of_all),
        cmocka_unit_test(test_shortage),
    };
    return cmocka_run_group_tests_name("stage_slices", tests, NULL, NULL);
}
