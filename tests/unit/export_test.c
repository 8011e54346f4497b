/* SPDX-License-Identifier: Apache-2.0 */
/* The formats, through the writer and into buffers. What other programs read of them is tested from Python. */
#include "support/problem.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct example {
    ppsched_config *config;
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
};

static struct example make_example(void)
{
    struct example e = {.config = make_config(2, 2, 2)};
    e.schedule = make_schedule(e.config, "1f1b");
    e.timeline = make_timeline(e.schedule, e.config);
    return e;
}

static void free_example(struct example *e)
{
    ppsched_timeline_destroy(e->timeline);
    ppsched_schedule_release(e->schedule);
    ppsched_config_destroy(e->config);
}

static char *text_of(const struct example *e, int32_t format, const ppsched_export_options *options)
{
    return export_text(e->schedule, e->timeline, format, options);
}

static void test_csv(void **state)
{
    struct example e = make_example();
    (void)state;
    char *text = text_of(&e, PPSCHED_FORMAT_CSV, NULL);
    assert_string_equal(text, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    free(text);
    free_example(&e);
}

static void test_text(void **state)
{
    struct example e = make_example();
    (void)state;
    char *text = text_of(&e, PPSCHED_FORMAT_TEXT, NULL);
    assert_string_equal(text, "1f1b: makespan 9, span 9; bubble 0.333333 of total, 0.5 of ideal, 0.333333 of span\n"
                              "time     0              5\n"
                              "device 0 F0 F1 ......B0--- ...B1---   peak 2\n"
                              "device 1 ...F0 B0--- F1 B1--- ......  peak 1\n");
    free(text);
    ppsched_export_options narrow = {.size = sizeof narrow, .text_columns = 41};
    text = text_of(&e, PPSCHED_FORMAT_TEXT, &narrow);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strncmp(line, "device", 6) == 0)
            assert_in_range(strlen(line), 30, 41);
    free(text);
    free_example(&e);
}

/* Below a device its sends. */
static void test_text_of_sends(void **state)
{
    struct example e = make_example();
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_schedule *lowered = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    (void)state;
    set_number(e.config, PPSCHED_QUANTITY_P2P_TIME, 1);
    expect_ok(ppsched_schedule_lower(&lowered, e.schedule, e.config, &options, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, lowered, e.config, NULL, 0, &error), &error);
    char *text = export_text(lowered, timeline, PPSCHED_FORMAT_TEXT, NULL);
    assert_string_equal(text, "1f1b: makespan 11, span 11; bubble 0.454545 of total, 0.833333 of ideal, 0.454545 of span\n"
                              "time     0              5              10\n"
                              "device 0 F0 F1 ............B0--- ...B1---   peak 2\n"
                              "  sends  ...>..>..........................\n"
                              "device 1 ......F0 B0--- F1 B1--- .........  peak 1\n"
                              "  sends  ...............<........<........\n");
    free(text);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    free_example(&e);
}

/* Of many devices the first and the last have rows. */
static void test_text_of_many_devices(void **state)
{
    static const int32_t devices[] = {1024, 1025, 3000};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct example e = {.config = make_config(devices[i], devices[i], 1)};
        e.schedule = make_schedule(e.config, "gpipe");
        e.timeline = make_timeline(e.schedule, e.config);
        const ppsched_export_options narrow = {.size = sizeof narrow, .text_columns = 60};
        char *text = text_of(&e, PPSCHED_FORMAT_TEXT, &narrow), wanted[64];
        int rows = 0, last = -1;
        for (const char *at = strstr(text, "\ndevice "); at != NULL; at = strstr(at + 1, "\ndevice ")) {
            int device = atoi(at + 8);
            assert_true(device == last + 1 || (last == 511 && device == devices[i] - 511));
            last = device;
            rows++;
        }
        assert_int_equal(last, devices[i] - 1);
        assert_int_equal(rows, devices[i] > 1024 ? 1023 : 1024);
        snprintf(wanted, sizeof wanted, "\n... %d more devices ...\n", (int)devices[i] - 1023);
        assert_int_equal(strstr(text, wanted) != NULL, devices[i] > 1024);
        free(text);
        free_example(&e);
    }
}

static void test_json(void **state)
{
    struct example e = make_example();
    (void)state;
    char *text = text_of(&e, PPSCHED_FORMAT_JSON, NULL);
    assert_non_null(strstr(text, "\"queues\": [\n  {\"device\": 0, \"ops\": [\"0F0\", \"0F1\", \"0B0\", \"0B1\"], "
                                 "\"start\": [0, 1, 4, 7], \"end\": [1, 2, 6, 9]}"));
    assert_non_null(strstr(text, "\"bubble\": {\"of_total\": 0.3333333333333333"));
    free(text);
    free_example(&e);
}

static void test_chrome_trace(void **state)
{
    struct example e = make_example();
    ppsched_export_options scaled = {.size = sizeof scaled, .time_scale = 1000};
    (void)state;
    char *text = text_of(&e, PPSCHED_FORMAT_CHROME_TRACE, &scaled);
    assert_non_null(strstr(text, "{\"name\": \"0B1\", \"cat\": \"compute\", \"ph\": \"X\", \"pid\": 0, \"tid\": 0, "
                                 "\"ts\": 7000, \"dur\": 2000"));
    free(text);
    free_example(&e);
}

static void test_bad_arguments(void **state)
{
    struct example e = make_example(), other = make_example();
    ppsched_error error;
    ppsched_export_options options = {.size = sizeof options, .time_scale = -1};
    char buffer[4];
    size_t needed = 0;
    (void)state;
    assert_int_equal(ppsched_schedule_export_to_buffer(NULL, 0, &needed, e.schedule, NULL, PPSCHED_FORMAT_TEXT, NULL, &error),
                     PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "needs a timeline"));
    assert_int_equal(
        ppsched_schedule_export_to_buffer(NULL, 0, &needed, e.schedule, other.timeline, PPSCHED_FORMAT_JSON, NULL, &error),
        PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_export_to_buffer(NULL, 0, &needed, e.schedule, e.timeline, 99, NULL, &error),
                     PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_export_to_buffer(NULL, 0, &needed, e.schedule, e.timeline, PPSCHED_FORMAT_CHROME_TRACE,
                                                       &options, &error),
                     PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_schedule_export_to_buffer(buffer, sizeof buffer, &needed, e.schedule, e.timeline,
                                                       PPSCHED_FORMAT_CSV, NULL, &error),
                     PPSCHED_ERROR_BUFFER);
    assert_int_equal(needed, 33);
    assert_string_equal(buffer, "");
    free_example(&e);
    free_example(&other);
}

static int32_t stop_at_once(void *user, const char *data, size_t size)
{
    (void)data, (void)size;
    ++*(int *)user;
    return 1;
}

static void test_writer_may_stop(void **state)
{
    ppsched_config *config = make_config(8, 8, 500);
    struct example e = {config, make_schedule(config, "gpipe"), NULL};
    ppsched_error error;
    int calls = 0;
    (void)state;
    assert_int_equal(ppsched_schedule_export(e.schedule, NULL, PPSCHED_FORMAT_CSV, NULL, stop_at_once, &calls, &error),
                     PPSCHED_ERROR_WRITER);
    assert_int_equal(calls, 1);
    free_example(&e);
}

static void test_names_are_escaped(void **state)
{
    ppsched_config *config = make_config(1, 1, 1);
    ppsched_builder *builder = NULL;
    struct example e = {.config = config};
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_set_name(builder, "a\"b\\c\n\xc3\xa4", &error), &error);
    assert_int_equal(ppsched_builder_set_name(builder, "ab\xc3", &error), PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "the name is not UTF-8 from byte 2 on");
    expect_ok(ppsched_builder_finish(&e.schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    char *text = text_of(&e, PPSCHED_FORMAT_JSON, NULL);
    assert_non_null(strstr(text, "{\"strategy\": \"a\\\"b\\\\c\\u000a\xc3\xa4\""));
    free(text);
    free_example(&e);
}

/* A terminal obeys control characters, the C1 of which UTF-8 has two bytes, and Unicode's of format. */
static void test_names_do_not_steer_terminals(void **state)
{
    ppsched_config *config = make_config(1, 1, 1);
    ppsched_builder *builder = NULL;
    struct example e = {.config = config};
    const ppsched_op ops[] = {op_from_token("0F0"), op_from_token("0B0")};
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_append(builder, 0, ops, 2, &error), &error);
    expect_ok(ppsched_builder_set_name(builder,
                                       "a\n\x1b[31m\x7f\xc2\x9b"
                                       "b\xc2\xa0\xc3\xa4\xe2\x80\xae\xe2\x81\xa6\xf3\xa0\x80\xa1",
                                       &error),
              &error);
    expect_ok(ppsched_builder_finish(&e.schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    e.timeline = make_timeline(e.schedule, config);
    char *text = text_of(&e, PPSCHED_FORMAT_TEXT, NULL);
    assert_int_equal(strncmp(text, "a??[31m???b\xc2\xa0\xc3\xa4??????????: makespan 3,", 38), 0);
    free(text);
    free_example(&e);
}

/* A schedule of one device with one op. */
static ppsched_schedule *one_op(const char *token)
{
    ppsched_config *config = make_config(1, 1, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_op op = op_from_token(token);
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_append(builder, 0, &op, 1, &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
    return schedule;
}

static void test_csv_holds_what_pytorch_knows(void **state)
{
    static const char *const known[] = {"0F0",      "0B0",      "0I0",      "0W0",      "0SEND_F0",     "0RECV_F0",
                                        "0SEND_B0", "0RECV_B0", "0UNSHARD", "0RESHARD", "0REDUCE_GRAD", "0WAIT_REDUCE_GRAD"};
    static const char *const others[] = {"0RECOMPUTE0", "0OFFLOAD0", "0RELOAD0", "0OFFLOAD_WAIT0", "0OPTIMIZER_STEP"};
    ppsched_error error;
    size_t needed = 0;
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        ppsched_schedule *schedule = one_op(known[i]);
        char *text = export_text(schedule, NULL, PPSCHED_FORMAT_CSV, NULL);
        assert_memory_equal(text, known[i], strlen(known[i]));
        assert_string_equal(text + strlen(known[i]), "\n");
        free(text);
        ppsched_schedule_release(schedule);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ppsched_schedule *schedule = one_op(others[i]);
        assert_int_equal(ppsched_schedule_export_to_buffer(NULL, 0, &needed, schedule, NULL, PPSCHED_FORMAT_CSV, NULL, &error),
                         PPSCHED_ERROR_REFUSED);
        assert_int_equal(error.position, 0);
        assert_non_null(strstr(error.message, "which device 0 has at position 0"));
        ppsched_schedule_release(schedule);
    }
}

/* Times are told with their first digits, however small they are. */
static void test_small_times(void **state)
{
    static const double times[] = {1, 1e-6, 1e-17, 1e17};
    static const char *const words[] = {"3", "0.000003", "3e-17", "3e+17"};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        ppsched_config *config = make_config(1, 1, 1);
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, times[i]);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2 * times[i]);
        ppsched_schedule *schedule = make_schedule(config, "gpipe");
        ppsched_timeline *timeline = make_timeline(schedule, config);
        char *text = export_text(schedule, timeline, PPSCHED_FORMAT_TEXT, NULL), *at = strstr(text, "makespan ");
        assert_non_null(at);
        if (strncmp(at + strlen("makespan "), words[i], strlen(words[i])) != 0)
            fail_msg("%s", at);
        free(text);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_of_sends),
        cmocka_unit_test(test_text_of_many_devices),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_chrome_trace),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_writer_may_stop),
        cmocka_unit_test(test_names_are_escaped),
        cmocka_unit_test(test_names_do_not_steer_terminals),
        cmocka_unit_test(test_csv_holds_what_pytorch_knows),
        cmocka_unit_test(test_small_times),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
