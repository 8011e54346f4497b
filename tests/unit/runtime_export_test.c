/* SPDX-License-Identifier: Apache-2.0 */
/* The formats for training runtimes: what they refuse and why. What they hold is compared in golden, and read in Python. Then
 * what holds for every format: buffers that are too small, writers that stop, memory that runs out. */
#include "support/last.h"
#include "support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int32_t formats[] = {PPSCHED_FORMAT_MEGATRON, PPSCHED_FORMAT_DEEPSPEED};

static void expect_refused(const ppsched_schedule *schedule, int32_t format, const char *part)
{
    ppsched_error error;
    size_t needed = 0;
    assert_int_equal(ppsched_schedule_export_to_buffer(NULL, 0, &needed, schedule, NULL, format, NULL, &error),
                     PPSCHED_ERROR_REFUSED);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, error.message);
}

static void expect_strategy_refused(const char *strategy, int stages, int32_t format, const char *part)
{
    ppsched_config *config = make_config(2, stages, 4);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    expect_refused(schedule, format, part);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* The ops of each device as tokens, at most 16; NULL after the last device. */
static ppsched_schedule *schedule_of(const ppsched_config *config, const char *const queues[])
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; queues[d] != NULL; d++) {
        char *copy = strdup(queues[d]);
        for (char *token = strtok(copy, " "); token != NULL; token = strtok(NULL, " ")) {
            ppsched_op op = op_from_token(token[0] == '+' ? token + 1 : token); /* + : runs with the next */
            op.flags = token[0] == '+' ? PPSCHED_OP_FLAG_OVERLAPPED : 0;
            expect_ok(ppsched_builder_append(builder, d, &op, 1, &error), &error);
        }
        free(copy);
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

static void expect_queues_refused(const char *first, const char *second, int32_t format, const char *part)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = schedule_of(config, (const char *const[]){first, second, NULL});
    expect_refused(schedule, format, part);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_other_orders_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect_strategy_refused("gpipe", 2, formats[i], "device 0 has 0F2 at position 2, where ");
        expect_strategy_refused("gpipe", 2, formats[i], "would run 0B0");
        expect_strategy_refused("interleaved_1f1b", 2, formats[i], "device 0 has 0F2 at position 2"); /* a longer warm-up */
        expect_strategy_refused("zb_h1", 2, formats[i], "device 0 has 0I0 at position 2");
        expect_queues_refused("0F0 0F1 0B0 0B1", "1F0 1B0 +1F1 1B1", formats[i], "device 1 has (1F1;1B1)OVERLAP_F_B at");
        expect_queues_refused("0F0 0F1 0B0", "1F0 1B0 1F1 1B1", formats[i], "device 0 has nothing at position 3");
        expect_queues_refused("0F0 0F1 0B0 0B1 0B1", "1F0 1B0 1F1 1B1", formats[i], "device 0 has 0B1 at position 4");
        expect_queues_refused("0F0 0SEND_F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", formats[i], "device 0 has 0SEND_F0 at position 1");
        expect_queues_refused("", "", formats[i], "device 0 has nothing at position 0");
    }
    expect_strategy_refused("looped_bfs", 4, PPSCHED_FORMAT_MEGATRON, "where Megatron-LM would run");
    expect_strategy_refused("v_1f1b", 4, PPSCHED_FORMAT_MEGATRON, "where Megatron-LM would run");
    expect_strategy_refused("interleaved_1f1b", 4, PPSCHED_FORMAT_DEEPSPEED, "one stage per device, not 4 stages on 2 devices");
}

/* Transformer Engine's list has no number for I, W and pairs: which formats and which orders do. */
static void test_what_is_not_in_the_list_of_transformer_engine(void **state)
{
    static const char *const split[] = {"zb_h1", "zb_h2", "zb_auto", "interleaved_zb", "zbv", "zbv_auto"};
    static const char *const paired[] = {"1f1b_overlap", "interleaved_1f1b_overlap"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        expect_strategy_refused(split[i], i < 3 ? 2 : 4, PPSCHED_FORMAT_MEGATRON, "only whole backwards, and device 0 has ");
        expect_strategy_refused(split[i], i < 3 ? 2 : 4, PPSCHED_FORMAT_MEGATRON,
                                "use csv, json or sail, or a strategy without I and W such as 1f1b");
    }
    for (int i = 0; i < 2; i++) {
        expect_strategy_refused(paired[i], i == 0 ? 2 : 4, PPSCHED_FORMAT_MEGATRON, "no overlapped pairs, and device 0 has (");
        expect_strategy_refused(paired[i], i == 0 ? 2 : 4, PPSCHED_FORMAT_MEGATRON, "use csv, json");
    }
    expect_strategy_refused("dualpipe_v", 4, PPSCHED_FORMAT_MEGATRON, "the format megatron has ");
}

static void test_sizes_are_refused(void **state)
{
    static const uint32_t map[] = {0, 1, 1};
    ppsched_config *config = make_config(2, 2, 2), *uneven = make_config(2, 3, 1);
    ppsched_config *flushed = make_config(2, 2, 3);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, 3, &error), &error);
    expect_ok(ppsched_config_set_placement(uneven, PPSCHED_PLACEMENT_MAP, map, 3, &error), &error);
    ppsched_schedule *three = make_schedule(config, "1f1b");
    ppsched_schedule *schedule = schedule_of(uneven, (const char *const[]){"0F0 0B0", "1F0 2F0 2B0 1B0", NULL});
    for (int i = 0; i < 2; i++) {
        expect_refused(three, formats[i], "one iteration, not of 3");
        expect_refused(schedule, formats[i], "the same number of stages on each of 2 devices, not 3 in all");
    }
    ppsched_schedule *unflushed = make_schedule(flushed, "1f1b_no_flush");
    for (int i = 0; i < 2; i++)
        expect_refused(unflushed, formats[i], "flushes after every iteration, the schedule does not");
    ppsched_schedule_release(unflushed);
    ppsched_schedule_release(three);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(flushed);
    ppsched_config_destroy(config);
    ppsched_config_destroy(uneven);
}

static void expect_groups(int devices, int microbatches, const char *group_size, const char *refused)
{
    ppsched_config *config = make_config(devices, 2 * devices, microbatches);
    ppsched_error error;
    expect_ok(ppsched_config_set_option(config, "group_size", group_size, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b");
    if (refused != NULL)
        expect_refused(schedule, PPSCHED_FORMAT_MEGATRON, refused);
    else
        free(export_text(schedule, NULL, PPSCHED_FORMAT_MEGATRON, NULL));
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Groups that Megatron-LM does not take, though the order could be run. */
static void test_groups(void **state)
{
    (void)state;
    expect_groups(3, 8, "4", NULL);
    expect_groups(3, 7, "4", NULL);
    expect_groups(3, 6, "6", NULL);
    expect_groups(3, 6, "2", "D <= group <= M: groups of 3 to 6 microbatches, not of 2");
    expect_groups(3, 10, "4", "a last group of at least 3 microbatches; 10 in groups of 4 leave 2");
    expect_groups(3, 2, "2", "D <= group <= M: 3 devices need at least 3 microbatches, not 2");
    expect_groups(3, 2, "3", "D <= group <= M: 3 devices need at least 3 microbatches, not 2");
    expect_groups(1, 4, "2", "only on two devices or more");
    expect_groups(2, 4, "5", "D <= group <= M: groups of 2 to 4 microbatches, not larger ones");
}

/* 1F1B on two devices with its sends and receives. */
static ppsched_schedule *lowered(const ppsched_config *config, uint32_t microbatches)
{
    static const char *const steps[2][2] = {{"0F%u 0SEND_F%u ", "0RECV_B%u 0B%u "}, {"1RECV_F%u 1F%u ", "1B%u 1SEND_B%u "}};
    char *text[3] = {calloc(microbatches, 64), calloc(microbatches, 64), NULL};
    for (uint32_t d = 0; d < 2; d++)
        for (uint32_t m = 0, length = 0; m < 2 * microbatches; m++) {
            const char *step = steps[d][m % 2];
            length += (uint32_t)snprintf(text[d] + length, 64, step, m / 2, m / 2);
        }
    ppsched_schedule *schedule = schedule_of(config, (const char *const *)text);
    free(text[0]);
    free(text[1]);
    return schedule;
}

/* Runs a test of every format, of those with sends and receives too. */
static void for_each_format(uint32_t microbatches,
                            void (*test)(const ppsched_schedule *, const ppsched_timeline *, int32_t format))
{
    ppsched_config *config = make_config(2, 2, microbatches);
    ppsched_schedule *schedules[] = {make_schedule(config, "1f1b"), lowered(config, microbatches)};
    for (int i = 0; i < 2; i++) {
        ppsched_timeline *timeline = make_timeline(schedules[i], config);
        for (int32_t format = PPSCHED_FORMAT_TEXT; format <= LAST_FORMAT; format++)
            if (i == 0 || format == PPSCHED_FORMAT_JSON || format == PPSCHED_FORMAT_CHROME_TRACE ||
                format == PPSCHED_FORMAT_SAIL)
                test(schedules[i], timeline, format);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedules[i]);
    }
    ppsched_config_destroy(config);
}

static void truncate_everywhere(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format)
{
    ppsched_error error;
    char *text = export_text(schedule, timeline, format, NULL);
    size_t length = strlen(text), needed = 0;
    char *buffer = malloc(length + 1);
    for (size_t capacity = 1; capacity <= length; capacity++) {
        memset(buffer, '#', length + 1);
        assert_int_equal(ppsched_schedule_export_to_buffer(buffer, capacity, &needed, schedule, timeline, format, NULL, &error),
                         PPSCHED_ERROR_BUFFER);
        assert_int_equal(needed, length + 1);
        assert_string_equal(buffer, "");
        for (size_t i = capacity; i <= length; i++)
            assert_int_equal(buffer[i], '#');
    }
    free(buffer);
    free(text);
}

static void test_buffers_that_are_too_small(void **state)
{
    (void)state;
    for_each_format(2, truncate_everywhere);
}

struct stop {
    int calls, most;
};

static int32_t stop_later(void *user, const char *data, size_t size)
{
    struct stop *stop = user;
    assert_non_null(data);
    assert_true(size > 0);
    return ++stop->calls > stop->most;
}

static void stop_everywhere(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format)
{
    ppsched_error error;
    struct stop whole = {0, 1 << 30};
    expect_ok(ppsched_schedule_export(schedule, timeline, format, NULL, stop_later, &whole, &error), &error);
    for (int most = 0; most < whole.calls; most++) {
        struct stop stop = {0, most};
        assert_int_equal(ppsched_schedule_export(schedule, timeline, format, NULL, stop_later, &stop, &error),
                         PPSCHED_ERROR_WRITER);
        assert_int_equal(stop.calls, most + 1);
    }
}

static void test_writers_that_stop(void **state)
{
    (void)state;
    for_each_format(300, stop_everywhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_orders_are_refused),   cmocka_unit_test(test_what_is_not_in_the_list_of_transformer_engine),
        cmocka_unit_test(test_sizes_are_refused),          cmocka_unit_test(test_groups),
        cmocka_unit_test(test_buffers_that_are_too_small), cmocka_unit_test(test_writers_that_stop),
    };
    return cmocka_run_group_tests_name("runtime_export", tests, NULL, NULL);
}
