/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines that are timed anew: as a fresh evaluation to the last bit, without memory, and untouched by what fails. */
#include "support/failing_allocator.h"
#include "support/last.h"
#include "support/uneven.h"

#include <stdlib.h>
#include <string.h>

static const char *const strategies[] = {"gpipe",    "1f1b",       "interleaved_1f1b", "zb_h1",       "zbv",
                                         "dualpipe", "dualpipe_v", "1f1b_no_flush",    "1f1b_overlap"};

enum { STRATEGIES = sizeof strategies / sizeof strategies[0], MOST_POINTS = 2048 };

/* Everything that a timeline is made of, each stage, device, edge, microbatch and slice with a number of its own; `pairs`
 * decides whether overlapped pairs have times of theirs, `parts` what else there is. */
static void set_random_costs(ppsched_config *config, uint64_t *state, int pairs, unsigned parts)
{
    static const int32_t by_stage[] = {
        PPSCHED_QUANTITY_FORWARD_TIMES,    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES,
        PPSCHED_QUANTITY_MEM_FORWARD,      PPSCHED_QUANTITY_MEM_STATIC,           PPSCHED_QUANTITY_MEM_WEIGHTS,
        PPSCHED_QUANTITY_ACTIVATION_BYTES, PPSCHED_QUANTITY_GRADIENT_BYTES};
    const uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    for (size_t q = 0; q < sizeof by_stage / sizeof by_stage[0]; q++)
        set_uneven(config, by_stage[q], stages, 1 + random_below(state, 3), state);
    set_uneven(config, PPSCHED_QUANTITY_P2P_TIME, (size_t)devices * devices, random_below(state, 3), state);
    set_uneven(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, (size_t)devices * devices, 1 + random_below(state, 3), state);
    set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, devices, 1 + random_below(state, 40), state);
    add_uneven(config, parts | UNEVEN_RUNTIME | (pairs ? UNEVEN_PAIRS : 0), state);
}

/* Times of ops, memory of stage passes and stages, and what is sent, without what is computed again and what runtimes take. */
static int is_plain(int32_t quantity)
{
    return quantity <= PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE ||
           (quantity >= PPSCHED_QUANTITY_MEM_FORWARD && quantity <= PPSCHED_QUANTITY_MEM_LIMIT) ||
           (quantity >= PPSCHED_QUANTITY_P2P_TIME && quantity <= PPSCHED_QUANTITY_GRADIENT_BYTES);
}

/* Leaves out what a config need not have: microbatches are alike then, and nothing is held beside activations. */
static void clear_parts(ppsched_config *config)
{
    for (int32_t quantity = 1; quantity <= LAST_QUANTITY; quantity++)
        if (ppsched_quantity_name(quantity) != NULL && !is_plain(quantity))
            expect_ok(ppsched_config_set_values(config, quantity, NULL, 0, NULL), NULL);
}

/* A schedule of a strategy that takes the sizes; NULL where it does not. */
static ppsched_schedule *any_schedule(uint64_t *state, const ppsched_environment *environment, ppsched_config **config)
{
    const char *strategy = strategies[random_below(state, STRATEGIES)];
    const int64_t devices = 2 + 2 * random_below(state, 3);
    const int64_t chunks = strstr(strategy, "interleaved") != NULL || strcmp(strategy, "zbv") == 0 ||
                                   strcmp(strategy, "dualpipe_v") == 0
                               ? 2
                               : 1;
    const int64_t microbatches = devices * (1 + random_below(state, 4));
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_create(config, devices, devices * chunks, microbatches, environment, &error), &error);
    expect_ok(ppsched_config_set_iterations(*config, 1 + random_below(state, 2), &error), &error);
    ppsched_status status = ppsched_schedule_generate(&schedule, *config, strategy, &error);
    if (status != PPSCHED_OK) {
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
        ppsched_config_destroy(*config);
    }
    return schedule;
}

static void expect_same_bits(const void *a, const void *b, size_t size)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_memory_equal(a, b, size);
}

static void expect_same_device(const ppsched_timeline *a, const ppsched_timeline *b, uint32_t device, int earliest_only)
{
    ppsched_idle idle = {.size = sizeof idle}, other_idle = idle;
    ppsched_memory_point points[2][MOST_POINTS];
    size_t count = 0, other_count = 0;
    const ppsched_device_metrics metrics = device_metrics_of(a, device), other_metrics = device_metrics_of(b, device);
    const ppsched_span *spans = ppsched_timeline_spans(a, device, &count);
    expect_same_bits(spans, ppsched_timeline_spans(b, device, NULL), count * sizeof *spans);
    assert_memory_equal(&metrics, &other_metrics, sizeof metrics);
    assert_int_equal(ppsched_timeline_get_memory(points[0], MOST_POINTS, &count, a, device, NULL), PPSCHED_OK);
    assert_int_equal(ppsched_timeline_get_memory(points[1], MOST_POINTS, &other_count, b, device, NULL), PPSCHED_OK);
    assert_int_equal(count, other_count);
    assert_memory_equal(points[0], points[1], count * sizeof points[0][0]);
    if (earliest_only)
        return;
    const double *latest = ppsched_timeline_latest_starts(a, device, &count);
    expect_same_bits(latest, ppsched_timeline_latest_starts(b, device, NULL), count * sizeof *latest);
    assert_int_equal(ppsched_timeline_get_idle(&idle, a, device, NULL), PPSCHED_OK);
    assert_int_equal(ppsched_timeline_get_idle(&other_idle, b, device, NULL), PPSCHED_OK);
    assert_memory_equal(&idle, &other_idle, sizeof idle);
}

static void expect_same(const ppsched_timeline *a, const ppsched_timeline *b, int earliest_only)
{
    const ppsched_metrics metrics = metrics_of(a), other = metrics_of(b);
    assert_memory_equal(&metrics, &other, sizeof metrics);
    for (uint32_t d = 0; d < ppsched_schedule_devices(ppsched_timeline_schedule(a)); d++)
        expect_same_device(a, b, d, earliest_only);
}

static void test_as_a_fresh_evaluation(void **state)
{
    uint64_t random = 20;
    int updates = 0;
    (void)state;
    for (int round = 0; round < 400; round++) {
        struct failing_allocator allocator = {.until_failure = -1};
        const ppsched_environment environment = failing_environment(&allocator);
        ppsched_config *config = NULL;
        ppsched_timeline *timeline = NULL;
        ppsched_error error;
        const int earliest_only = round % 3 == 0, with_more = round % 2;
        const unsigned parts = !with_more ? 0 : round % 4 == 1 ? UNEVEN_CAUSES : UNEVEN_CAUSES | UNEVEN_MICRO_SLICES;
        const uint32_t flags = earliest_only ? PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY : 0;
        ppsched_schedule *schedule = any_schedule(&random, &environment, &config);
        if (schedule == NULL)
            continue;
        set_random_costs(config, &random, 0, parts);
        expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, flags | PPSCHED_EVALUATE_FLAG_REUSABLE, &error),
                  &error);
        for (int update = 0; update < 5; update++, updates++) {
            ppsched_timeline *fresh = NULL;
            if (update < 4)
                set_random_costs(config, &random, update > 0, parts);
            else
                clear_parts(config);
            allocator.until_failure = with_more && update < 2 ? -1 : 0;
            expect_ok(ppsched_timeline_update(timeline, config, &error), &error);
            allocator.until_failure = -1;
            expect_ok(ppsched_schedule_evaluate(&fresh, schedule, config, flags, &error), &error);
            expect_same(timeline, fresh, earliest_only);
            ppsched_timeline_destroy(fresh);
        }
        ppsched_config_destroy(config);
        ppsched_schedule_release(schedule);
        ppsched_timeline_destroy(timeline);
        assert_int_equal(allocator.live, 0);
    }
    assert_true(updates > 750);
}

/* Fails in the middle: sums of times that are each in range overflow. */
static void test_errors_leave_it_as_it_was(void **state)
{
    ppsched_config *config = make_config(4, 4, 8), *other = make_config(4, 8, 8), *huge = make_config(4, 4, 8);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    ppsched_timeline *timeline = NULL, *fresh = make_timeline(schedule, config);
    ppsched_error error;
    (void)state;
    set_number(huge, PPSCHED_QUANTITY_FORWARD_TIMES, 1e308);
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error), &error);
    assert_int_equal(ppsched_timeline_update(timeline, huge, &error), PPSCHED_ERROR_RANGE);
    expect_same(timeline, fresh, 0);
    assert_int_equal(ppsched_timeline_update(timeline, other, &error), PPSCHED_ERROR_MISMATCH);
    expect_same(timeline, fresh, 0);
    assert_int_equal(ppsched_timeline_update(timeline, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_update(NULL, config, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_update(fresh, config, &error), PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "REUSABLE"));
    expect_ok(ppsched_timeline_update(timeline, config, &error), &error);
    expect_same(timeline, fresh, 0);
    ppsched_timeline_destroy(fresh);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(huge);
    ppsched_config_destroy(other);
    ppsched_config_destroy(config);
}

static void test_not_with_transfers(void **state)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_PYTORCH};
    ppsched_config *config = make_config(4, 4, 8);
    ppsched_schedule *schedule = make_schedule(config, "1f1b"), *lowered = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    assert_int_equal(
        ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, PPSCHED_EVALUATE_FLAG_REUSABLE, &error),
        PPSCHED_ERROR_ARGUMENT);
    assert_null(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_a_fresh_evaluation),
                                       cmocka_unit_test(test_errors_leave_it_as_it_was),
                                       cmocka_unit_test(test_not_with_transfers)};
    return cmocka_run_group_tests_name("update", tests, NULL, NULL);
}
