/* SPDX-License-Identifier: Apache-2.0 */
/* Slices whose times grow differently on each stage: times by hand, stages that grow alike, and what is refused. */
#include "support/layered.h"
#include "support/uneven.h"

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

static void expect_told(ppsched_status found, ppsched_status wanted, const ppsched_error *error, const char *message)
{
    assert_int_equal(found, wanted);
    assert_string_equal(error->message, message);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_other_stages),
    };
    return cmocka_run_group_tests_name("stage_slices", tests, NULL, NULL);
}
