/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments of schedules of one's own, of lowered ones, and of such that nothing runs; and the call itself. */
#include "support/last.h"
#include "support/launching.h"

#include <stdlib.h>
#include <string.h>

#include "ir/schedule.h"

/* --- schedules of one's own --- */

/* The ops of each device as tokens; NULL after the last device. `map` may be NULL. */
static ppsched_schedule *schedule_of(int devices, int stages, int microbatches, int32_t placement, const uint32_t *map,
                                     const char *const queues[])
{
    ppsched_config *config = make_config(devices, stages, microbatches);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_set_placement(config, placement, map, map != NULL ? (size_t)stages : 0, &error), &error);
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; queues[d] != NULL; d++) {
        char *copy = strdup(queues[d]);
        for (char *token = strtok(copy, " "); token != NULL; token = strtok(NULL, " ")) {
            ppsched_op op = {.microbatch = PPSCHED_NONE, .kind = PPSCHED_KIND_UNSHARD};
            if (strcmp(token, "0UNSHARD") != 0)
                op = op_from_token(token);
            expect_ok(ppsched_builder_append(builder, d, &op, 1, &error), &error);
        }
        free(copy);
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
    return schedule;
}

static void test_placements(void **state)
{
    static const uint32_t crossed[] = {1, 0}, alone[] = {0, 0}, straight[] = {0, 1}, uneven[] = {0, 1, 0};
    ppsched_schedule *schedule = schedule_of(2, 2, 1, PPSCHED_PLACEMENT_MAP, crossed,
                                             (const char *const[]){"1F0 1B0", "0F0 0B0", NULL});
    (void)state;
    expect_line(schedule, PYTORCH, NULL,
                "class=_PipelineScheduleRuntime pp_size=2 num_stages=2 n_microbatches=1 "
                "stage_index_to_group_rank=1,0 csv=schedule.csv format=compute_only");
    expect_refused(schedule, TORCHTITAN, NULL, "in a loop, or in a v of two stages per device; pytorch and jaxpp can run it");
    ppsched_schedule_release(schedule);
    schedule = schedule_of(2, 2, 1, PPSCHED_PLACEMENT_MAP, alone, (const char *const[]){"0F0 1F0 1B0 0B0", "", NULL});
    expect_refused(schedule, PYTORCH, NULL, "PyTorch needs an op on every rank; device 1 has none; no other runtime");
    ppsched_schedule_release(schedule);
    schedule = schedule_of(2, 2, 1, PPSCHED_PLACEMENT_MAP, straight, (const char *const[]){"0F0 0B0", "1F0 1B0", NULL});
    expect_line(schedule, PYTORCH, NULL, "class=ScheduleGPipe pp_size=2 num_stages=2 n_microbatches=1 style=loop");
    expect_line(schedule, MEGATRON, NULL, "--pipeline-model-parallel-size 2");
    ppsched_schedule_release(schedule);
    schedule = schedule_of(2, 3, 1, PPSCHED_PLACEMENT_MAP, uneven, (const char *const[]){"0F0 2F0 2B0 0B0", "1F0 1B0", NULL});
    expect_line(schedule, PYTORCH, NULL,
                "class=_PipelineScheduleRuntime pp_size=2 num_stages=3 n_microbatches=1 "
                "stage_index_to_group_rank=0,1,0 csv=schedule.csv format=compute_only");
    expect_refused(schedule, TORCHTITAN, NULL, "in a loop, or in a v of two stages per device; pytorch and jaxpp can run it");
    expect_refused(schedule, MEGATRON, NULL,
                   "the same number of stages on each of 2 devices, not 3 in all; pytorch and jaxpp can run it");
    ppsched_schedule_release(schedule);
}

static void test_a_v_of_more(void **state)
{
    ppsched_config *config = make_config(2, 6, 2);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_option(config, "placement", "v", &error), &error);
    expect_ok(ppsched_config_set_option(config, "effort", "0", &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "auto");
    expect_line(schedule, PYTORCH, NULL,
                "class=_PipelineScheduleRuntime pp_size=2 num_stages=6 n_microbatches=2 style=v "
                "csv=schedule.csv format=compute_only");
    expect_refused(schedule, TORCHTITAN, NULL, "in a v of two stages per device; pytorch and jaxpp can run it");
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* What a file made elsewhere is called says nothing, but where sail-sg goes by the name. */
static void test_orders_without_a_name(void **state)
{
    ppsched_schedule *schedule = schedule_of(2, 2, 2, PPSCHED_PLACEMENT_DEFAULT, NULL,
                                             (const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", NULL});
    (void)state;
    expect_line(schedule, MEGATRON, NULL, "--pipeline-model-parallel-size 2");
    expect_line(schedule, PYTORCH, NULL, "class=Schedule1F1B pp_size=2 num_stages=2 n_microbatches=2 style=loop");
    expect_line(schedule, DEEPSPEED, NULL, "num_stages=2 gradient_accumulation_steps=2");
    expect_line(schedule, SAIL, NULL, "--pipeline-model-parallel-size 2 --enable-zb-runtime");
    ppsched_schedule_release(schedule);
    schedule = schedule_of(2, 2, 1, PPSCHED_PLACEMENT_DEFAULT, NULL, (const char *const[]){"0F0 0I0 0W0", "1F0 1I0 1W0", NULL});
    expect_refused(schedule, SAIL, NULL, "sail-sg has no flags for this order");
    ppsched_schedule_release(schedule);
}

static void test_lowered_schedules(void **state)
{
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_schedule *schedule = make_schedule(config, "zb_h1"), *lowered = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    expect_line(lowered, PYTORCH, NULL,
                "class=_PipelineScheduleRuntime pp_size=2 num_stages=2 n_microbatches=4 style=loop "
                "csv=schedule.csv format=compute_comms");
    expect_refused(
        lowered, TORCHTITAN, NULL,
        "torchtitan supports only compute ops, and lowers them itself; use the schedule before lowering; pytorch can run it");
    expect_refused(lowered, MEGATRON, NULL, "device 0 has 0SEND_F0 at position 1");
    expect_refused(lowered, SAIL, NULL, "sail-sg has no flags for this order; only its scheduled nodes");
    ppsched_schedule_release(lowered);
    options = (ppsched_lower_options){.size = sizeof options, .unshard = 2};
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    expect_refused(lowered, PYTORCH, NULL, "PyTorch needs all sends and receives, or compute ops only: device 0: 0I0 at");
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_ops_that_are_refused(void **state)
{
    ppsched_schedule *schedule = schedule_of(1, 1, 1, PPSCHED_PLACEMENT_DEFAULT, NULL,
                                             (const char *const[]){"0UNSHARD 0F0 0B0", NULL});
    (void)state;
    expect_line(schedule, PYTORCH, NULL,
                "class=_PipelineScheduleRuntime pp_size=1 num_stages=1 n_microbatches=1 style=loop "
                "csv=schedule.csv format=compute_comms");
    ppsched_schedule_release(schedule);
    schedule = schedule_of(1, 1, 1, PPSCHED_PLACEMENT_DEFAULT, NULL, (const char *const[]){"0F0 0RECOMPUTE0 0B0", NULL});
    expect_refused(schedule, PYTORCH, NULL,
                   "PyTorch's CSV has no RECOMPUTE, which device 0 has at position 1; no other runtime");
    ppsched_schedule_release(schedule);
}

static void test_iterations(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, 3, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    for (int32_t runtime = MEGATRON; runtime <= LAST_RUNTIME; runtime++)
        expect_refused(schedule, runtime, NULL,
                       "supports schedules of one iteration, not of 3; no other runtime here can run it");
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_schedules_that_cannot_be_run(void **state)
{
    ppsched_schedule *schedule = schedule_of(2, 2, 1, PPSCHED_PLACEMENT_DEFAULT, NULL,
                                             (const char *const[]){"0F0 0B0", "1F0", NULL});
    (void)state;
    for (int32_t runtime = MEGATRON; runtime <= LAST_RUNTIME; runtime++)
        free(line_with(schedule, runtime, NULL, PPSCHED_ERROR_INVALID_SCHEDULE));
    ppsched_schedule_release(schedule);
}

/* --- the call --- */

static void test_arguments(void **state)
{
    ppsched_schedule *schedule = sized_schedule("1f1b", 2, 2, 2, NULL);
    ppsched_launch_options empty = {.size = sizeof empty, .csv = ""}, control = {.size = sizeof control, .csv = "a\nb"};
    ppsched_launch_options unsized = {.size = 0}, twice = {.size = sizeof twice, .exact = 2};
    ppsched_error error;
    size_t needed = 7;
    (void)state;
    assert_int_equal(ppsched_schedule_write_launch_arguments(NULL, 0, &needed, NULL, MEGATRON, NULL, &error),
                     PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_write_launch_arguments(NULL, 0, NULL, schedule, MEGATRON, NULL, &error), PPSCHED_OK);
    assert_int_equal(ppsched_schedule_write_launch_arguments(NULL, 1, &needed, schedule, MEGATRON, NULL, &error),
                     PPSCHED_ERROR_ARGUMENT);
    for (int32_t runtime = -1; runtime <= LAST_RUNTIME + 1; runtime += runtime == 0 ? LAST_RUNTIME + 1 : 1)
        assert_int_equal(ppsched_schedule_write_launch_arguments(NULL, 0, &needed, schedule, runtime, NULL, &error),
                         PPSCHED_ERROR_ARGUMENT);
    free(line_with(schedule, PYTORCH, &empty, PPSCHED_ERROR_ARGUMENT));
    free(line_with(schedule, PYTORCH, &control, PPSCHED_ERROR_ARGUMENT));
    free(line_with(schedule, PYTORCH, &unsized, PPSCHED_ERROR_STRUCT_SIZE));
    free(line_with(schedule, PYTORCH, &twice, PPSCHED_ERROR_RANGE));
    assert_int_equal(needed, 7);
    ppsched_schedule_release(schedule);
}

/* The line or the refusal of each runtime, one after another. */
static char *all_answers(const ppsched_schedule *schedule)
{
    enum { ROOM = 1200 };
    char *answers = calloc((size_t)LAST_RUNTIME, ROOM);
    for (int32_t runtime = 1; runtime <= LAST_RUNTIME; runtime++) {
        ppsched_error error = {.message = ""};
        char line[ROOM / 2] = "";
        size_t needed = 0;
        ppsched_schedule_write_launch_arguments(line, sizeof line, &needed, schedule, runtime, NULL, &error);
        strcat(strcat(strcat(answers, line), error.message), "\n");
    }
    return answers;
}

/* A rule's schedule is known by the rule; its ops alone say the same. */
static void test_a_rule_and_its_ops(void **state)
{
    static const char *const groups[] = {NULL, "1", "2", "3", "4", "6", "8"};
    static const int devices[] = {1, 2, 3, 4}, chunks[] = {1, 2, 3}, microbatches[] = {1, 2, 4, 6, 7, 8, 9, 12};
    int known = 0;
    (void)state;
    for (uint32_t number = 0; number < ppsched_strategy_count(); number++)
        for (size_t i = 0; i < 4 * 3 * 8 * 7; i++) {
            const int count = devices[i % 4];
            ppsched_config *config = make_config(count, count * chunks[i / 4 % 3], microbatches[i / 12 % 8]);
            ppsched_strategy_info info = {.size = sizeof info};
            ppsched_schedule *schedule = NULL;
            ppsched_error error;
            expect_ok(ppsched_strategy_get_info(&info, number, &error), &error);
            if (groups[i / 96] != NULL)
                expect_ok(ppsched_config_set_option(config, "group_size", groups[i / 96], &error), &error);
            if (!info.searches)
                ppsched_schedule_generate(&schedule, config, info.name, &error);
            if (schedule != NULL && schedule->by_rule.is_known) {
                char *by_rule = all_answers(schedule);
                schedule->by_rule.is_known = false;
                memset(schedule->run_by, 0, sizeof schedule->run_by);
                memset(schedule->refused_by, 0, sizeof schedule->refused_by);
                char *by_ops = all_answers(schedule);
                assert_string_equal(by_rule, by_ops);
                free(by_rule);
                free(by_ops);
                known++;
            }
            ppsched_schedule_release(schedule);
            ppsched_config_destroy(config);
        }
    assert_true(known > 1000);
}

static void test_names(void **state)
{
    static const char *const names[] = {NULL,   "megatron", "torchtitan", "pytorch", "deepspeed",
                                        "sail", "primus",   "colossalai", "jaxpp",   "mindspeed"};
    (void)state;
    _Static_assert(sizeof names / sizeof names[0] == LAST_RUNTIME + 1, "a runtime has no name");
    for (int32_t runtime = 1; runtime <= LAST_RUNTIME; runtime++)
        assert_string_equal(ppsched_runtime_name(runtime), names[runtime]);
    assert_null(ppsched_runtime_name(0));
    assert_null(ppsched_runtime_name(LAST_RUNTIME + 1));
    assert_null(ppsched_runtime_name(-1));
}

static void test_buffers_that_are_too_small(void **state)
{
    ppsched_schedule *schedule = sized_schedule("zbv", 4, 8, 8, NULL);
    ppsched_launch_options options = {.size = sizeof options, .csv = "a b'c.csv"};
    ppsched_error error;
    (void)state;
    for (int32_t runtime = TORCHTITAN; runtime <= SAIL; runtime += runtime == PYTORCH ? 2 : 1) {
        char *line = line_with(schedule, runtime, &options, PPSCHED_OK);
        size_t length = strlen(line), needed = 0;
        char *buffer = malloc(length + 1);
        for (size_t capacity = 0; capacity <= length; capacity++) {
            memset(buffer, '#', length + 1);
            assert_int_equal(
                ppsched_schedule_write_launch_arguments(buffer, capacity, &needed, schedule, runtime, &options, &error),
                PPSCHED_ERROR_BUFFER);
            assert_int_equal(needed, length + 1);
            for (size_t i = 0; i <= length; i++)
                assert_int_equal(buffer[i], i == 0 && capacity > 0 ? '\0' : '#');
        }
        free(buffer);
        free(line);
    }
    ppsched_schedule_release(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placements),
        cmocka_unit_test(test_a_v_of_more),
        cmocka_unit_test(test_orders_without_a_name),
        cmocka_unit_test(test_lowered_schedules),
        cmocka_unit_test(test_ops_that_are_refused),
        cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_schedules_that_cannot_be_run),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_a_rule_and_its_ops),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_buffers_that_are_too_small),
    };
    return cmocka_run_group_tests_name("launch_own", tests, NULL, NULL);
}
