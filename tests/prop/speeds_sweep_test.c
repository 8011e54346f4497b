/* SPDX-License-Identifier: Apache-2.0 */
/* Speeds and overheads of devices: every problem that has them is the one whose stages' times are divided by the speeds of
 * their devices and grow by the overheads. */
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = ROUNDS(60), MOST_STAGES = 16, KINDS = 4 };

static const int32_t times[KINDS] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                     PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};

static double speed_of(const ppsched_config *config, const ppsched_schedule *schedule, uint32_t stage)
{
    return value_at(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, ppsched_schedule_device_of(schedule, stage, 0), 1);
}

static double overhead_of(const ppsched_config *config, const ppsched_schedule *schedule, uint32_t stage)
{
    return value_at(config, PPSCHED_QUANTITY_DEVICE_OVERHEAD, ppsched_schedule_device_of(schedule, stage, 0), 0);
}

/* The same problem without speeds, for the placement of a schedule with one copy of the model. */
static ppsched_config *with_divided_times(const ppsched_config *config, const ppsched_schedule *schedule)
{
    ppsched_config *divided = NULL;
    double list[MOST_STAGES], pairs[MOST_STAGES * MOST_STAGES];
    uint32_t stages = ppsched_config_stages(config);
    expect_ok(ppsched_config_copy(&divided, config, NULL), NULL);
    expect_ok(ppsched_config_set_values(divided, PPSCHED_QUANTITY_DEVICE_SPEEDS, NULL, 0, NULL), NULL);
    expect_ok(ppsched_config_set_values(divided, PPSCHED_QUANTITY_DEVICE_OVERHEAD, NULL, 0, NULL), NULL);
    for (int kind = 0; kind < KINDS; kind++) {
        for (uint32_t s = 0; s < stages; s++) {
            double parts = value_at(config, times[2], s, NAN) + value_at(config, times[3], s, NAN);
            list[s] = (kind == 1 ? parts : value_at(config, times[kind], s, NAN)) / speed_of(config, schedule, s) +
                      overhead_of(config, schedule, s);
        }
        expect_ok(ppsched_config_set_values(divided, times[kind], list, stages, NULL), NULL);
    }
    for (uint32_t i = 0; i < stages * stages; i++)
        pairs[i] = value_at(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, i, 0) / speed_of(config, schedule, i / stages);
    if (value_at(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0, -1) >= 0)
        expect_ok(ppsched_config_set_values(divided, PPSCHED_QUANTITY_OVERLAPPED_TIMES, pairs, (size_t)stages * stages, NULL),
                  NULL);
    return divided;
}

/* Up to the causes of idle time, of which slow devices are one. */
static void expect_same_text(char *a, char *b, const char *strategy)
{
    char *const texts[] = {a, b};
    for (int i = 0; i < 2; i++) {
        char *causes = strstr(texts[i], "\"idle_by_cause\"");
        assert_non_null(causes);
        *causes = '\0';
    }
    if (strcmp(a, b) != 0)
        fail_msg("%s:\n%s\n%s", strategy, a, b);
    free(a);
    free(b);
}

/* A bound for a placement of the config: that of the schedule's. */
static void expect_same_bounds(const ppsched_config *config, const ppsched_config *divided, const ppsched_schedule *schedule,
                               double makespan)
{
    ppsched_bound bounds[2] = {{.size = sizeof bounds[0]}, {.size = sizeof bounds[0]}};
    const ppsched_config *const both[2] = {config, divided};
    for (int i = 0; i < 2; i++) {
        ppsched_config *placed = NULL;
        expect_ok(ppsched_config_copy(&placed, both[i], NULL), NULL);
        expect_ok(ppsched_config_set_placement(placed, ppsched_schedule_placement(schedule), NULL, 0, NULL), NULL);
        expect_ok(ppsched_config_find_bound(&bounds[i], placed, PPSCHED_OBJECTIVE_MAKESPAN, NULL), NULL);
        ppsched_config_destroy(placed);
    }
    if (value_at(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0, -1) < 0) /* pairs of stages of two devices count there, too */
        assert_memory_equal(&bounds[0], &bounds[1], sizeof bounds[0]);
    assert_true(bounds[0].value <= makespan * (1 + 1e-9));
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

/* Jitter on top of speeds. */
static void expect_same_scenarios(const ppsched_schedule *schedule, const ppsched_config *a, const ppsched_config *b)
{
    const ppsched_scenario_options options = {.size = sizeof options, .jitter = 0.2, .seed = 5};
    const ppsched_config *const both[2] = {a, b};
    double mean[2];
    ppsched_error error;
    for (int i = 0; i < 2; i++) {
        ppsched_scenarios *scenarios = NULL;
        ppsched_scenario_metrics summary = {.size = sizeof summary};
        expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, both[i], 16, &options, &error), &error);
        expect_ok(ppsched_scenarios_get_metrics(&summary, scenarios, &error), &error);
        mean[i] = summary.mean;
        ppsched_scenarios_destroy(scenarios);
    }
    assert_true(mean[0] == mean[1]);
}

/* Whether the strategy serves it, on a placement with one copy of the model. */
static int expect_same_schedule(const char *strategy, const ppsched_config *config)
{
    ppsched_schedule *own = NULL, *other = NULL;
    if (ppsched_schedule_generate(&own, config, strategy, NULL) != PPSCHED_OK)
        return 0;
    if (ppsched_schedule_placement(own) == PPSCHED_PLACEMENT_BIDIRECTIONAL) {
        ppsched_schedule_release(own);
        return 0;
    }
    ppsched_config *divided = with_divided_times(config, own);
    expect_ok(ppsched_schedule_generate(&other, divided, strategy, NULL), NULL);
    ppsched_timeline *timeline = make_timeline(own, config), *timeline_other = make_timeline(other, divided);
    expect_same_bounds(config, divided, own, metrics_of(timeline).makespan);
    expect_same_text(export_text(own, timeline, PPSCHED_FORMAT_JSON, NULL),
                     export_text(other, timeline_other, PPSCHED_FORMAT_JSON, NULL), strategy);
    expect_same_transfers(own, config, divided);
    expect_same_scenarios(own, config, divided);
    ppsched_timeline_destroy(timeline);
    ppsched_timeline_destroy(timeline_other);
    ppsched_schedule_release(own);
    ppsched_schedule_release(other);
    ppsched_config_destroy(divided);
    return 1;
}

static void test_as_divided_times(void **state)
{
    uint64_t seed = 61;
    int served = 0, searched = 0;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct uneven problem = {.devices = 2 + random_below(&seed, 3),
                                 .chunks = 1 + random_below(&seed, 3),
                                 .microbatches = 1 + random_below(&seed, 9),
                                 .iterations = 1,
                                 .seed = random_next(&seed)};
        ppsched_config *config = make_uneven(&problem);
        add_uneven(config,
                   UNEVEN_SPEEDS | (i % 2 == 0 ? UNEVEN_RUNTIME : 0) | (i % 3 == 0 ? UNEVEN_PAIRS : 0) |
                       (i % 5 < 2 ? UNEVEN_OVERHEADS : 0),
                   &seed);
        for (uint32_t k = 0; k < ppsched_strategy_count(); k++) {
            ppsched_strategy_info info = {.size = sizeof info};
            expect_ok(ppsched_strategy_get_info(&info, k, NULL), NULL);
            if (info.offloads || (info.searches && i % 6 != 1))
                continue;
            int is_served = expect_same_schedule(info.name, config);
            served += is_served;
            searched += is_served && info.searches;
        }
        ppsched_config_destroy(config);
    }
    print_message("# %d served, %d of them searched\n", served, searched);
    assert_true(served > 6 * PROBLEMS && searched > PROBLEMS / 6);
}

/* A RECOMPUTE of its own time runs at its device's speed; one without runs as long as its F. */
static void test_recompute(void **state)
{
    static const double speeds[] = {1, 0.5};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds, 2, &error), &error);
    const ppsched_recompute_options options = {.size = sizeof options};
    ppsched_schedule *plain = make_schedule(config, "1f1b"), *again = NULL;
    expect_ok(ppsched_schedule_recompute(&again, plain, &options, &error), &error);
    ppsched_timeline *timeline = make_timeline(again, config);
    double before = metrics_of(timeline).makespan;
    assert_true(before == 1 + 2 + 2 + 4 + 2); /* that of the first device hides */
    ppsched_timeline_destroy(timeline);
    set_number(config, PPSCHED_QUANTITY_RECOMPUTE_TIMES, 3);
    timeline = make_timeline(again, config);
    assert_true(metrics_of(timeline).makespan == before + 4); /* 6 instead of 2 on the slower device */
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(plain);
    ppsched_schedule_release(again);
    ppsched_config_destroy(config);
}

static void test_refused(void **state)
{
    static const double three[] = {1, 2, 3}, zero[] = {1, 0}, negative[] = {-1, 1}, tiny[] = {1e-300, 1};
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, three, 3, &error), PPSCHED_ERROR_LENGTH);
    assert_string_equal(error.message, "device_speeds has 3 values; give 1 for all devices or 2, one per device");
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, zero, 2, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "device_speeds of device 1 is 0; it must be finite and above 0");
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, negative, 2, &error),
                     PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "device_speeds of device 0 is -1; it must be finite and above 0");
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1e10);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, tiny, 2, NULL), NULL);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    assert_int_equal(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message,
                        "stage 0: a time divided by device_speeds of device 0 (1e-300) is too large for a double");
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_divided_times), cmocka_unit_test(test_recompute),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
