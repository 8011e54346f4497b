/* SPDX-License-Identifier: Apache-2.0 */
/* Lowered orders of other projects, token by token: the compute ops of a captured order are lowered again. And the times of
 * these ops, peaks and makespans, where they are given. */
#include "support/captured.h"

#include <stdlib.h>
#include <string.h>

struct run {
    ppsched_lower_options options;
    int compared;
};

static void compare(const struct golden *g, void *user)
{
    struct run *run = user;
    if (strstr(g->order[0], "SEND") == NULL)
        return;
    ppsched_config *config = golden_config(g);
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    ppsched_lower_options options = run->options;
    ppsched_schedule *schedule = captured_schedule(g, config, 1);
    options.merge_backwards = (uint32_t)g->merge_backwards;
    options.unshard = (uint32_t)g->max_active_stages;
    if (g->max_active_stages == 0)
        options.reduce_grad = 0;
    options.defer_receives = (uint32_t)g->defer_receives;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        char *ours = queue_text(lowered, d);
        if (strcmp(ours, g->order[d]) != 0)
            fail_msg("%s, device %u:\n  ours   %s\n  theirs %s", g->name, d, ours, g->order[d]);
        free(ours);
    }
    ppsched_timeline *timeline = make_timeline(lowered, config);
    expect_captured_figures(g, timeline);
    ppsched_timeline_destroy(timeline);
    run->compared++;
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void run_file_with(const char *name, int32_t lowering, uint32_t reduce_grad, int expected)
{
    struct run run = {.options = {.size = sizeof run.options, .lowering = lowering, .reduce_grad = reduce_grad}};
    read_golden(name, compare, &run);
    assert_int_equal(run.compared, expected);
}

static void run_file(const char *name, int32_t lowering, int expected)
{
    run_file_with(name, lowering, 1, expected);
}

static void test_pytorch_comms(void **state)
{
    (void)state;
    run_file("pytorch_comms", PPSCHED_LOWERING_PYTORCH, 15);
}

static void test_pytorch_full(void **state)
{
    (void)state;
    run_file("pytorch_full", PPSCHED_LOWERING_PYTORCH, 11);
}

static void test_pytorch_waits(void **state)
{
    (void)state;
    run_file_with("pytorch_waits", PPSCHED_LOWERING_PYTORCH, 2, 7);
    run_file_with("pytorch_reduce_waits", PPSCHED_LOWERING_PYTORCH, 3, 7);
    run_file_with("pytorch_deferred_waits", PPSCHED_LOWERING_PYTORCH, 4, 7);
}

static void test_sail_comms(void **state)
{
    (void)state;
    run_file("sail_comms", PPSCHED_LOWERING_BY_TIME, 5);
    run_file("gis", PPSCHED_LOWERING_BY_TIME, 2);
    run_file("seq1f1b", PPSCHED_LOWERING_BY_TIME, 2);
}

static void test_zeropipe_comms(void **state)
{
    (void)state;
    run_file("zeropipe_comms", PPSCHED_LOWERING_BY_TIME, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch_comms), cmocka_unit_test(test_pytorch_full),   cmocka_unit_test(test_pytorch_waits),
        cmocka_unit_test(test_sail_comms),    cmocka_unit_test(test_zeropipe_comms),
    };
    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
