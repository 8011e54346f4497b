/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime takes for each op: every problem that has it is the one whose stages' times have it in them already. */
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = ROUNDS(60), MOST_STAGES = 16, KINDS = 4 };

static const int32_t times[KINDS] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                     PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};

/* The overhead of a kind in a list of one or four. */
static double overhead_of(const double *overhead, size_t count, int kind)
{
    return overhead[count == 1 ? 0 : kind];
}

/* The same problem with the overhead in the times. The backward's time is that of its two parts. */
static ppsched_config *with_longer_times(const ppsched_config *config, const double *overhead, size_t count)
{
    ppsched_config *longer = NULL;
    double list[MOST_STAGES];
    uint32_t stages = ppsched_config_stages(config);
    expect_ok(ppsched_config_copy(&longer, config, NULL), NULL);
    expect_ok(ppsched_config_set_values(longer, PPSCHED_QUANTITY_OP_OVERHEAD, NULL, 0, NULL), NULL);
    for (int kind = 0; kind < KINDS; kind++) {
        for (uint32_t s = 0; s < stages; s++) {
            double parts = value_at(config, times[2], s, NAN) + value_at(config, times[3], s, NAN);
            list[s] = (kind == 1 ? parts : value_at(config, times[kind], s, NAN)) + overhead_of(overhead, count, kind);
        }
        expect_ok(ppsched_config_set_values(longer, times[kind], list, stages, NULL), NULL);
    }
    return longer;
}

static void expect_same_text(char *a, char *b, const char *strategy)
{
    if (strcmp(a, b) != 0)
        fail_msg("%s:\n%s\n%s", strategy, a, b);
    free(a);
    free(b);
}

static void expect_same_bounds(const ppsched_config *a, const ppsched_config *b)
{
    ppsched_bound bound_a = {.size = sizeof bound_a}, bound_b = {.size = sizeof bound_b};
    expect_ok(ppsched_config_find_bound(&bound_a, a, PPSCHED_OBJECTIVE_MAKESPAN, NULL), NULL);
    expect_ok(ppsched_config_find_bound(&bound_b, b, PPSCHED_OBJECTIVE_MAKESPAN, NULL), NULL);
    assert_memory_equal(&bound_a, &bound_b, sizeof bound_a);
}

/* Lowered and with its transfers. */
static void expect_same_transfers(const ppsched_schedule *schedule, const ppsched_config *a, const ppsched_config *b)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR};
    ppsched_timeline *with_a = NULL, *with_b = NULL;
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, NULL, &options, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&with_a, lowered, a, &model, 0, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&with_b, lowered, b, &model, 0, &error), &error);
    expect_same_text(export_text(lowered, with_a, PPSCHED_FORMAT_JSON, NULL),
                     export_text(lowered, with_b, PPSCHED_FORMAT_JSON, NULL), "transfers");
    ppsched_timeline_destroy(with_a);
    ppsched_timeline_destroy(with_b);
    ppsched_schedule_release(lowered);
}

/* Whether the strategy serves it. */
static int expect_same_schedule(const char *strategy, const ppsched_config *a, const ppsched_config *b)
{
    ppsched_schedule *schedule_a = NULL, *schedule_b = NULL;
    ppsched_status status = ppsched_schedule_generate(&schedule_a, a, strategy, NULL);
    assert_int_equal(status, ppsched_schedule_generate(&schedule_b, b, strategy, NULL));
    if (status != PPSCHED_OK)
        return 0;
    ppsched_timeline *timeline_a = make_timeline(schedule_a, a), *timeline_b = make_timeline(schedule_b, b);
    expect_same_text(export_text(schedule_a, timeline_a, PPSCHED_FORMAT_JSON, NULL),
                     export_text(schedule_b, timeline_b, PPSCHED_FORMAT_JSON, NULL), strategy);
    expect_same_transfers(schedule_a, a, b);
    ppsched_timeline_destroy(timeline_a);
    ppsched_timeline_destroy(timeline_b);
    ppsched_schedule_release(schedule_a);
    ppsched_schedule_release(schedule_b);
    return 1;
}

/* An uneven problem of other sizes each time; `overhead` has `*count` values that differ. */
static ppsched_config *draw_problem(double overhead[KINDS], size_t *count, uint64_t *seed)
{
    struct uneven problem = {.devices = 2 + random_below(seed, 3),
                             .chunks = 1 + random_below(seed, 3),
                             .microbatches = 1 + random_below(seed, 9),
                             .iterations = 1 + random_below(seed, 2),
                             .seed = random_next(seed)};
    ppsched_config *config = make_uneven(&problem);
    *count = random_below(seed, 3) == 0 ? 1 : KINDS;
    draw_uneven(overhead, KINDS, random_below(seed, 2), seed);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_OP_OVERHEAD, overhead, *count, NULL), NULL);
    return config;
}

/* Searches with some of the problems. */
static void test_as_longer_times(void **state)
{
    uint64_t seed = 48;
    int served = 0;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        double overhead[KINDS];
        size_t count = 0;
        ppsched_config *config = draw_problem(overhead, &count, &seed);
        ppsched_config *longer = with_longer_times(config, overhead, count);
        expect_same_bounds(config, longer);
        for (uint32_t k = 0; k < ppsched_strategy_count(); k++) {
            ppsched_strategy_info info = {.size = sizeof info};
            expect_ok(ppsched_strategy_get_info(&info, k, NULL), NULL);
            if (!info.searches || i % 6 == 0)
                served += expect_same_schedule(info.name, config, longer);
        }
        ppsched_config_destroy(config);
        ppsched_config_destroy(longer);
    }
    assert_true(served > 6 * PROBLEMS);
}

/* It does not shrink where stages are divided, and is there once where they are joined. */
static void test_stages_change(void **state)
{
    uint64_t seed = 49;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        double overhead[KINDS];
        size_t count = 0;
        ppsched_config *config = draw_problem(overhead, &count, &seed), *bare = NULL, *other = NULL, *bare_other = NULL;
        uint32_t devices = ppsched_config_devices(config), stages = ppsched_config_stages(config);
        uint32_t wanted = stages == devices ? 2 * stages : devices;
        expect_ok(ppsched_config_copy(&bare, config, NULL), NULL);
        expect_ok(ppsched_config_set_values(bare, PPSCHED_QUANTITY_OP_OVERHEAD, NULL, 0, NULL), NULL);
        expect_ok(ppsched_config_with_stages(&other, config, wanted, NULL, NULL, NULL), NULL);
        expect_ok(ppsched_config_with_stages(&bare_other, bare, wanted, NULL, NULL, NULL), NULL);
        for (uint32_t s = 0; s < wanted; s++)
            assert_true(value_at(other, times[0], s, NAN) == value_at(bare_other, times[0], s, NAN));
        ppsched_config *longer = with_longer_times(bare_other, overhead, count);
        assert_true(expect_same_schedule(wanted == devices ? "1f1b" : "zbv", other, longer));
        ppsched_config_destroy(config);
        ppsched_config_destroy(bare);
        ppsched_config_destroy(other);
        ppsched_config_destroy(bare_other);
        ppsched_config_destroy(longer);
    }
}

static void test_refused(void **state)
{
    static const double three[] = {1, 2, 3}, negative[] = {1, 2, 3, -1}, huge[] = {1.7e308};
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_OP_OVERHEAD, three, 3, &error), PPSCHED_ERROR_LENGTH);
    assert_string_equal(error.message, "op_overhead has 3 values; give 1 for all ops or 4, for F, B, I and W");
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_OP_OVERHEAD, negative, 4, &error), PPSCHED_ERROR_RANGE);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1.7e308);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_OP_OVERHEAD, huge, 1, NULL), NULL);
    schedule = make_schedule(config, "1f1b");
    ppsched_timeline *timeline = NULL;
    assert_int_equal(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "stage 0: a time and op_overhead sum to more than a double holds");
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_longer_times), cmocka_unit_test(test_stages_change),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
