/* SPDX-License-Identifier: Apache-2.0 */
/* The formats for training runtimes: what they refuse and why. What they hold is compared in golden. */
#include "support/problem.h"

#include <stdlib.h>
#include <string.h>

static const int32_t formats[] = {PPSCHED_FORMAT_MEGATRON, PPSCHED_FORMAT_DEEPSPEED};

static void expect_refused(const ppsched_schedule *schedule, int32_t format, const char *part)
{
    ppsched_error error;
    size_t needed = 0;
    assert_int_equal(ppsched_export_to_buffer(schedule, NULL, format, NULL, NULL, 0, &needed, &error), PPSCHED_ERROR_REFUSED);
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
            op.flags = token[0] == '+' ? PPSCHED_OP_OVERLAPPED : 0;
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
        expect_strategy_refused("zb_h1", 2, formats[i], "device 0 has 0I0 at position 2");
        expect_queues_refused("0F0 0F1 0B0 0B1", "1F0 1B0 +1F1 1B1", formats[i], "device 1 has (1F1;1B1)OVERLAP_F_B at position 2");
        expect_queues_refused("0F0 0F1 0B0", "1F0 1B0 1F1 1B1", formats[i], "device 0 has nothing at position 3");
        expect_queues_refused("0F0 0F1 0B0 0B1 0B1", "1F0 1B0 1F1 1B1", formats[i], "device 0 has 0B1 at position 4");
        expect_queues_refused("0F0 0SEND_F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", formats[i], "device 0 has 0SEND_F0 at position 1");
        expect_queues_refused("", "", formats[i], "device 0 has nothing at position 0");
    }
    expect_strategy_refused("interleaved_zb", 4, PPSCHED_FORMAT_MEGATRON, "where Megatron-LM would run");
    expect_strategy_refused("looped_bfs", 4, PPSCHED_FORMAT_MEGATRON, "where Megatron-LM would run");
    expect_strategy_refused("zbv", 4, PPSCHED_FORMAT_MEGATRON, "where Megatron-LM would run");
    expect_strategy_refused("interleaved_1f1b", 4, PPSCHED_FORMAT_DEEPSPEED, "one stage a device, not 4 stages on 2");
}

static void test_sizes_are_refused(void **state)
{
    static const uint32_t map[] = {0, 1, 1};
    ppsched_config *config = make_config(2, 2, 2), *uneven = make_config(2, 3, 1);
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
    ppsched_schedule_release(three);
    ppsched_schedule_release(schedule);
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
    expect_groups(3, 6, "2", "at least 3 microbatches on 3 devices, not of 2");
    expect_groups(3, 10, "4", "a last group of at least 3 microbatches; 10 in groups of 4 leave 2");
    expect_groups(3, 2, "2", "at least 3 microbatches on 3 devices, not of 2");
    expect_groups(1, 4, "2", "more than one device");
    expect_groups(2, 4, "5", "device 0 has 2F3 at position 7, where Megatron-LM would run 2B0"); /* larger than M: more warm-up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_orders_are_refused),
        cmocka_unit_test(test_sizes_are_refused),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests_name("runtime_export", tests, NULL, NULL);
}
