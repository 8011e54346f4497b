/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller in C is told whose arguments cannot be served: status and words. */
#include "support/plan_choice.h"
#include "support/last.h"
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The call came back with the status, and words about it. */
static void expect(ppsched_status status, ppsched_status wanted, const ppsched_error *error, const char *words)
{
    assert_int_equal(status, wanted);
    if (strstr(error->message, words) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", error->message, words);
}

static void test_values(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_builder *builder = NULL;
    ppsched_error error;
    const double one = 1;
    (void)state;
    expect(ppsched_config_set_values(config, 199, &one, 1, &error), PPSCHED_ERROR_ARGUMENT, &error, "no quantity 199");
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect(ppsched_builder_set_weight_versions(builder, 0, &error), PPSCHED_ERROR_RANGE, &error, "1 to 1024");
    expect(ppsched_builder_set_weight_versions(builder, ((int64_t)1 << 32) + 1, &error), PPSCHED_ERROR_RANGE, &error,
           "weight_versions is 4294967297; it must be 1 to 1024");
    expect(ppsched_builder_set_flushes(builder, 2, &error), PPSCHED_ERROR_RANGE, &error, "flushes is 2; it must be 0 or 1");
    assert_string_equal(ppsched_kind_text(PPSCHED_KIND_I), "input-gradient backward");
    assert_null(ppsched_kind_text(99));
    assert_int_equal(ppsched_op_write_token(NULL, 0, NULL, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* Calls that read what is there. */
static void test_reading(void **state)
{
    const ppsched_op unknown = {.kind = 99};
    const ppsched_finding finding = {.kind = PPSCHED_FINDING_KIND_MISSING, .op = {.kind = 99}};
    const ppsched_finding other = {.kind = 7, .op = {.kind = PPSCHED_KIND_F}};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_timeline *timeline = NULL;
    ppsched_plan *plan = NULL;
    ppsched_metrics metrics = {.size = 3};
    ppsched_device_metrics device = {.size = sizeof device};
    ppsched_idle idle = {.size = sizeof idle};
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_option_info option = {.size = sizeof option};
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), &error);
    expect_ok(create_plan(&plan, config, NULL, &error), &error);
    expect(ppsched_config_set_progress(NULL, NULL, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "config is NULL");
    expect(ppsched_op_write_token(NULL, 0, NULL, &unknown, &error), PPSCHED_ERROR_ARGUMENT, &error, "no kind 99");
    expect(ppsched_finding_write_text(NULL, 0, NULL, &finding, &error), PPSCHED_ERROR_ARGUMENT, &error, "no kind 99");
    expect(ppsched_finding_write_text(NULL, 0, NULL, &other, &error), PPSCHED_ERROR_ARGUMENT, &error, "no kind of finding 7");
    expect(ppsched_timeline_get_metrics(NULL, timeline, &error), PPSCHED_ERROR_ARGUMENT, &error, "out is NULL");
    expect(ppsched_timeline_get_metrics(&metrics, timeline, &error), PPSCHED_ERROR_STRUCT_SIZE, &error,
           "ppsched_metrics: size is 3; set it to sizeof(ppsched_metrics)");
    expect(ppsched_timeline_get_device_metrics(&device, timeline, 2, &error), PPSCHED_ERROR_RANGE, &error,
           "there is no device 2; devices are 0 to 1");
    expect(ppsched_timeline_get_idle(&idle, timeline, 2, &error), PPSCHED_ERROR_RANGE, &error, "no device 2");
    expect(ppsched_timeline_get_idle(&idle, timeline, 1, &error), PPSCHED_ERROR_ARGUMENT, &error, "EARLIEST_ONLY");
    expect(ppsched_timeline_get_memory(NULL, 0, NULL, timeline, 2, &error), PPSCHED_ERROR_RANGE, &error, "no device 2");
    expect(ppsched_plan_get_candidate(&candidate, plan, 1000, &error), PPSCHED_ERROR_RANGE, &error,
           "no candidate 1000; give less than ");
    expect(ppsched_strategy_get_info(&info, 99, &error), PPSCHED_ERROR_RANGE, &error, "no strategy 99; strategies are 0 to ");
    expect(ppsched_strategy_get_option(&option, 99, 0, &error), PPSCHED_ERROR_RANGE, &error, "no strategy 99");
    expect(ppsched_strategy_get_option(&option, 0, 7, &error), PPSCHED_ERROR_RANGE, &error, "gpipe has no option 7");
    ppsched_plan_destroy(plan);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* A number past the last is RANGE, whatever it is of. */
static void test_numbers_past_the_last(void **state)
{
    const ppsched_op op = {.kind = PPSCHED_KIND_F};
    ppsched_config *config = make_config(2, 2, 2), *problem = NULL;
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_builder *builder = NULL;
    ppsched_timeline *timeline = make_timeline(schedule, config), *made = NULL;
    ppsched_plan *plan = NULL;
    ppsched_device_metrics device = {.size = sizeof device};
    ppsched_idle idle = {.size = sizeof idle};
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_option_info option = {.size = sizeof option};
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, NULL), NULL);
    expect_ok(create_plan(&plan, config, NULL, NULL), NULL);
    const struct {
        uint32_t devices, candidates, strategies;
    } past[] = {{2, ppsched_plan_count(plan), ppsched_strategy_count()}, {PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE}};
    for (size_t i = 0; i < 2; i++) {
        const ppsched_status all[] = {
            ppsched_builder_append(builder, past[i].devices, &op, 1, NULL),
            ppsched_schedule_get_buffers(NULL, 0, NULL, NULL, schedule, past[i].devices, NULL),
            ppsched_schedule_get_lifetimes(NULL, 0, NULL, schedule, past[i].devices, PPSCHED_SLOT_USE_MICROBATCH, NULL),
            ppsched_schedule_get_arenas(NULL, 0, NULL, schedule, past[i].devices, PPSCHED_SLOT_USE_RECEIVE, NULL),
            ppsched_timeline_get_device_metrics(&device, timeline, past[i].devices, NULL),
            ppsched_timeline_get_idle(&idle, timeline, past[i].devices, NULL),
            ppsched_timeline_get_memory(NULL, 0, NULL, timeline, past[i].devices, NULL),
            ppsched_timeline_get_memory_of_cause(NULL, 0, NULL, timeline, past[i].devices, 0, NULL),
            ppsched_timeline_get_peak_causes(NULL, 0, NULL, timeline, past[i].devices, NULL),
            ppsched_timeline_get_peak_items(NULL, 0, NULL, timeline, past[i].devices, NULL),
            ppsched_timeline_get_idle_windows(NULL, 0, NULL, timeline, past[i].devices, NULL),
            ppsched_plan_evaluate(plan, past[i].candidates, NULL),
            ppsched_plan_get_candidate(&candidate, plan, past[i].candidates, NULL),
            ppsched_plan_create_config(&problem, plan, past[i].candidates, NULL),
            ppsched_plan_create_timeline(&made, plan, past[i].candidates, NULL),
            ppsched_strategy_get_info(&info, past[i].strategies, NULL),
            ppsched_strategy_get_option(&option, past[i].strategies, 0, NULL),
            ppsched_strategy_get_option(&option, 0, past[i].strategies, NULL),
        };
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            assert_int_equal(all[k], PPSCHED_ERROR_RANGE);
        assert_true(problem == NULL && made == NULL);
    }
    ppsched_plan_destroy(plan);
    ppsched_timeline_destroy(timeline);
    ppsched_builder_destroy(builder);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Builds F, an op of `kind`, B on one device. */
static ppsched_schedule *with_op_between(const ppsched_config *config, uint8_t kind)
{
    const ppsched_op ops[] = {{.kind = PPSCHED_KIND_F},
                              {.kind = kind, .microbatch = kind == PPSCHED_KIND_OPTIMIZER_STEP ? PPSCHED_NONE : 0},
                              {.kind = PPSCHED_KIND_B}};
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_append(builder, 0, ops, 3, &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

/* What <ppsched/op.h> says of the kinds that no runtime has: of those that stand alone. */
static void test_kinds_of_our_own(void **state)
{
    const ppsched_lower_options lowering = {.size = sizeof lowering, .lowering = PPSCHED_LOWERING_PYTORCH};
    ppsched_config *config = make_config(1, 1, 1);
    (void)state;
    static const uint8_t kinds[] = {PPSCHED_KIND_RECOMPUTE, PPSCHED_KIND_OPTIMIZER_STEP};
    for (int k = 0; k < 2; k++) {
        uint8_t kind = kinds[k];
        double end = kind == PPSCHED_KIND_RECOMPUTE ? 2 : 1;
        ppsched_schedule *schedule = with_op_between(config, kind), *again = NULL;
        ppsched_error error;
        size_t points = 0;
        expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
        ppsched_timeline *timeline = make_timeline(schedule, config);
        const ppsched_span *spans = ppsched_timeline_spans(timeline, 0, NULL);
        assert_true(spans[1].start == 1 && spans[1].end == end && spans[2].end == end + 2);
        expect_ok(ppsched_timeline_get_memory(NULL, 0, &points, timeline, 0, &error), &error);
        assert_int_equal(points, 3); /* at 0, and what F, or RECOMPUTE, and B change */
        if (kind == PPSCHED_KIND_RECOMPUTE) {
            expect_ok(ppsched_schedule_lower(&again, schedule, config, &lowering, &error), &error);
            assert_int_equal(ppsched_queue_ops(ppsched_schedule_queue(again, 0), NULL)[1].kind, kind);
            ppsched_schedule_release(again);
        } else {
            expect(ppsched_schedule_lower(&again, schedule, config, &lowering, &error), PPSCHED_ERROR_REFUSED, &error,
                   ppsched_kind_token(kind));
        }
        for (int32_t format = PPSCHED_FORMAT_TEXT; format <= LAST_FORMAT; format++) {
            int writes = format == PPSCHED_FORMAT_TEXT || format == PPSCHED_FORMAT_JSON ||
                         format == PPSCHED_FORMAT_CHROME_TRACE;
            size_t needed = 0;
            assert_int_equal(ppsched_schedule_export_to_buffer(NULL, 0, &needed, schedule, timeline, format, NULL, &error),
                             writes ? PPSCHED_OK : PPSCHED_ERROR_REFUSED);
        }
        char *text = export_text(schedule, timeline, PPSCHED_FORMAT_TEXT, NULL);
        char *json = export_text(schedule, NULL, PPSCHED_FORMAT_JSON, NULL);
        assert_null(strstr(text, ppsched_kind_token(kind)));
        expect_ok(ppsched_schedule_import(&again, PPSCHED_FORMAT_JSON, json, strlen(json), NULL, &error), &error);
        assert_int_equal(ppsched_queue_ops(ppsched_schedule_queue(again, 0), NULL)[1].kind, kind);
        for (int32_t runtime = PPSCHED_RUNTIME_MEGATRON; runtime <= LAST_RUNTIME; runtime++)
            assert_int_equal(ppsched_schedule_write_launch_arguments(NULL, 0, NULL, schedule, runtime, NULL, &error),
                             PPSCHED_ERROR_REFUSED);
        free(json);
        free(text);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(again);
        ppsched_schedule_release(schedule);
    }
    ppsched_config_destroy(config);
}

static void test_lowering(void **state)
{
    static const struct {
        ppsched_lower_options options;
        ppsched_status status;
        const char *words;
    } cases[] = {
        {{.lowering = 99}, PPSCHED_ERROR_ARGUMENT, "no lowering 99"},
        {{.lowering = PPSCHED_LOWERING_BY_TIME}, PPSCHED_ERROR_ARGUMENT, "needs a config"},
        {{.lowering = PPSCHED_LOWERING_PYTORCH, .reduce_grad = 5}, PPSCHED_ERROR_RANGE, "reduce_grad is 5"},
        {{.split_backwards = 2}, PPSCHED_ERROR_RANGE, "0 or 1"},
        {{.lowering = PPSCHED_LOWERING_PYTORCH, .unshard = UINT32_MAX}, PPSCHED_ERROR_RANGE, "unshard"},
        {{.lowering = PPSCHED_LOWERING_JUST_IN_TIME, .defer_receives = 1}, PPSCHED_ERROR_ARGUMENT, "defer_receives"},
        {{.unshard = 2, .unshard_lookahead = 4}, PPSCHED_ERROR_ARGUMENT, "unshard_lookahead"},
        {{.unshard = 2, .unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_NEEDED}, PPSCHED_ERROR_ARGUMENT, "requires a config"},
        {{.lowering = PPSCHED_LOWERING_JUST_IN_TIME, .receive_prefetch = 65},
         PPSCHED_ERROR_RANGE,
         "receive_prefetch is 65; it must be 0 to 64"},
        {{.lowering = PPSCHED_LOWERING_PYTORCH, .receive_prefetch = 1},
         PPSCHED_ERROR_ARGUMENT,
         "only for the just_in_time lowering"},
        {{.lowering = PPSCHED_LOWERING_PYTORCH, .reduce_every = 1},
         PPSCHED_ERROR_ARGUMENT,
         "reduce_every is only with reduce_grad"},
        {{.reduce_grad = 1, .reduce_every = 2}, PPSCHED_ERROR_RANGE, "reduce_every is 2; it must divide the 1 iteration"},
        {{.reserved = 3}, PPSCHED_ERROR_RANGE, "reserved is 3"},
    };
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "1f1b"), *lowered = NULL, *again = NULL;
    ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_PYTORCH};
    ppsched_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_lower_options wrong = cases[i].options;
        wrong.size = sizeof wrong;
        expect(ppsched_schedule_lower(&lowered, schedule, NULL, &wrong, &error), cases[i].status, &error, cases[i].words);
        assert_null(lowered);
    }
    expect_ok(ppsched_schedule_lower(&lowered, schedule, NULL, &options, &error), &error);
    expect(ppsched_schedule_lower(&again, lowered, NULL, &options, &error), PPSCHED_ERROR_REFUSED, &error, "lowered already");
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void append(ppsched_builder *builder, uint32_t device, const char *tokens)
{
    char copy[256], *rest = NULL;
    ppsched_error error;
    snprintf(copy, sizeof copy, "%s", tokens);
    for (char *token = strtok_r(copy, " ", &rest); token != NULL; token = strtok_r(NULL, " ", &rest)) {
        const ppsched_op op = op_from_token(token);
        expect_ok(ppsched_builder_append(builder, device, &op, 1, &error), &error);
    }
}

/* Sends and receives that do not match cannot be proved safe. */
static void test_sends_and_receives_that_do_not_match(void **state)
{
    static const struct {
        const char *first, *second, *words;
    } cases[] = {
        {"0F0 0SEND_F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1F0 1B0 1SEND_B0", "is there twice"},
        {"0F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1F0 1SEND_F0 1B0 1SEND_B0", "sends to its own device, or to none"},
        {"0SEND_F0 0F0 0RECV_B0 0B0", "1RECV_F0 1F0 1B0 1SEND_B0", "comes before the op whose output it sends"},
        {"0F0 0SEND_F0 0RECV_B0 0B0", "1F0 1B0 1SEND_B0", "has no receive"},
        {"0F0 0SEND_F0 0RECV_B0 0B0", "1F0 1RECV_F0 1B0 1SEND_B0", "comes before the receive that it needs"},
        {"0F0 0RECV_B0 0B0", "1RECV_F0 1F0 1B0 1SEND_B0", "has no send"},
    };
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR};
    ppsched_config *config = make_config(2, 2, 1);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_builder *builder = NULL;
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        expect_ok(ppsched_builder_create(&builder, config, &error), &error);
        append(builder, 0, cases[i].first);
        append(builder, 1, cases[i].second);
        expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
        expect(ppsched_schedule_prove(NULL, 0, NULL, schedule, &model, &error), PPSCHED_ERROR_INVALID_SCHEDULE, &error,
               cases[i].words);
        ppsched_schedule_release(schedule);
        ppsched_builder_destroy(builder);
    }
    ppsched_config_destroy(config);
}

/* Values that are each in range, and sums that are not. */
static void test_sums(void **state)
{
    ppsched_config *memory = make_config(4, 4, 8), *times = make_config(4, 4, 2), *plain = make_config(4, 4, 2);
    ppsched_schedule *schedule = make_schedule(plain, "1f1b");
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    size_t bytes = 0;
    (void)state;
    set_number(memory, PPSCHED_QUANTITY_MEM_FORWARD, 1e308);
    set_number(memory, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, 0);
    set_number(memory, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -1e308);
    expect(ppsched_schedule_evaluate(&timeline, schedule, memory, 0, &error), PPSCHED_ERROR_RANGE, &error, "sum of memory");
    set_number(times, PPSCHED_QUANTITY_FORWARD_TIMES, 1e307);
    set_number(times, PPSCHED_QUANTITY_BACKWARD_TIMES, 2e307);
    expect(ppsched_schedule_evaluate(&timeline, schedule, times, 0, &error), PPSCHED_ERROR_RANGE, &error, "sum of times");
    timeline = make_timeline(schedule, plain);
    const ppsched_export_options options = {.size = sizeof options, .time_scale = 1e308};
    expect(
        ppsched_schedule_export_to_buffer(NULL, 0, &bytes, schedule, timeline, PPSCHED_FORMAT_CHROME_TRACE, &options, &error),
        PPSCHED_ERROR_RANGE, &error, "time_scale");
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(plain);
    ppsched_config_destroy(times);
    ppsched_config_destroy(memory);
}

/* Durations of overlapped pairs follow the stages, where they can. */
static void test_stages(void **state)
{
    static const double by_stage[] = {2, 4, 6, 8}, by_pair[16] = {1};
    static const uint32_t map[] = {0, 1, 1, 0};
    ppsched_config *config = make_config(2, 4, 4), *other = NULL;
    ppsched_error error;
    size_t count = 0;
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_LOOP, NULL, 0, &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, by_stage, 4, &error), &error);
    expect_ok(ppsched_config_with_stages(&other, config, 2, NULL, NULL, &error), &error);
    const double *coarse = ppsched_config_values(other, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count);
    assert_true(count == 2 && coarse[0] == 6 && coarse[1] == 14);
    assert_int_equal(ppsched_config_placement(other), PPSCHED_PLACEMENT_LOOP);
    ppsched_config_destroy(other);
    expect_ok(ppsched_config_with_stages(&other, config, 8, NULL, NULL, &error), &error);
    const double *fine = ppsched_config_values(other, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count);
    assert_true(count == 8 && fine[0] == 1 && fine[1] == 1 && fine[7] == 4);
    ppsched_config_destroy(other);
    other = NULL;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, by_pair, 16, &error), &error);
    expect(ppsched_config_with_stages(&other, config, 2, NULL, NULL, &error), PPSCHED_ERROR_REFUSED, &error, "pair of stages");
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 4, &error), &error);
    expect(ppsched_config_with_stages(&other, config, 2, NULL, NULL, &error), PPSCHED_ERROR_REFUSED, &error, "placement map");
    assert_null(other);
    ppsched_config_destroy(config);
}

static void test_plans(void **state)
{
    static const double limits[] = {9, 5};
    const uint32_t chunks = 40000;
    const char *const strategies[] = {"1f1b", "interleaved_1f1b"};
    struct plan_choice options = {.size = sizeof options, .strategies = strategies, .strategy_count = 2};
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_plan *plan = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, 2, &error), &error);
    expect_ok(ppsched_config_set_option(config, "group_size", "2", &error), &error); /* not 1f1b's */
    expect_ok(create_plan(&plan, config, &options, &error), &error);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        assert_int_equal(ppsched_plan_get_candidate(&candidate, plan, i, NULL), PPSCHED_OK);
        assert_true(candidate.reason == NULL && isnan(candidate.memory_limit)); /* each device has its own */
    }
    ppsched_plan_destroy(plan);
    plan = NULL;
    options.chunks = &chunks;
    options.chunk_count = 1;
    expect(create_plan(&plan, config, &options, &error), PPSCHED_ERROR_RANGE, &error, "40000 chunks");
    assert_null(plan);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_lowering),
                                       cmocka_unit_test(test_sends_and_receives_that_do_not_match),
                                       cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_stages),
                                       cmocka_unit_test(test_plans),
                                       cmocka_unit_test(test_reading),
                                       cmocka_unit_test(test_numbers_past_the_last),
                                       cmocka_unit_test(test_kinds_of_our_own)};
    return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
