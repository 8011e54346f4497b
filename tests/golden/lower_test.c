/* SPDX-License-Identifier: Apache-2.0 */
/* Lowered orders of other projects, token by token: the compute ops of a captured order are lowered again. */
#include "support/golden.h"

#include <stdlib.h>
#include <string.h>

struct run {
    ppsched_lower_options options;
    int compared;
};

static int computes(const char *token)
{
    return token[0] == '(' || strpbrk(token, "_U") == NULL; /* not SEND_F, RECV_B, REDUCE_GRAD, UNSHARD and so on */
}

static int is_reshard(const char *token)
{
    return strstr(token, "RESHARD") != NULL;
}

static void append(ppsched_builder *builder, uint32_t device, char *token)
{
    ppsched_error error;
    ppsched_op ops[2];
    size_t count = 1;
    if (token[0] == '(') { /* (3F0;4B1)OVERLAP_F_B */
        char *second = strchr(token, ';');
        *second++ = '\0';
        *strchr(second, ')') = '\0';
        ops[0] = op_from_token(token + 1);
        ops[0].flags = PPSCHED_OP_FLAG_OVERLAPPED;
        ops[1] = op_from_token(second);
        count = 2;
    } else {
        ops[0] = op_from_token(token);
    }
    expect_ok(ppsched_builder_append(builder, device, ops, count, &error), &error);
}

static ppsched_schedule *compute_ops(const struct golden *g, const ppsched_config *config)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        char *row = strdup(g->order[d]), *rest = NULL;
        for (char *token = strtok_r(row, " ", &rest); token != NULL; token = strtok_r(NULL, " ", &rest))
            if (computes(token) && !is_reshard(token))
                append(builder, d, token);
        free(row);
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

static void set_placement(const struct golden *g, ppsched_config *config)
{
    static const char *const names[] = {"", "linear", "loop", "v", "bidirectional"};
    for (int32_t placement = 1; placement <= 4; placement++)
        if (strcmp(g->placement, names[placement]) == 0)
            expect_ok(ppsched_config_set_placement(config, placement, NULL, 0, NULL), NULL);
}

static void compare(const struct golden *g, void *user)
{
    struct run *run = user;
    ppsched_config *config = golden_config(g);
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    ppsched_lower_options options = run->options;
    set_placement(g, config);
    ppsched_schedule *schedule = compute_ops(g, config);
    options.merge_backwards = (uint32_t)g->merge_backwards;
    options.unshard = (uint32_t)g->max_active_stages;
    options.reduce_grad = g->max_active_stages != 0;
    options.defer_receives = (uint32_t)g->defer_receives;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    for (uint32_t d = 0; d < (uint32_t)g->devices; d++) {
        char *ours = queue_text(lowered, d);
        if (strcmp(ours, g->order[d]) != 0)
            fail_msg("%s, device %u:\n  ours   %s\n  theirs %s", g->name, d, ours, g->order[d]);
        free(ours);
    }
    run->compared++;
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void run_file(const char *name, int32_t lowering, int expected)
{
    struct run run = {.options = {.size = sizeof run.options, .lowering = lowering}};
    read_golden(name, compare, &run);
    assert_int_equal(run.compared, expected);
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

static void test_sail_comms(void **state)
{
    (void)state;
    run_file("sail_comms", PPSCHED_LOWERING_BY_TIME, 5);
}

static void test_zeropipe_comms(void **state)
{
    (void)state;
    run_file("zeropipe_comms", PPSCHED_LOWERING_BY_TIME, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch_comms),
        cmocka_unit_test(test_pytorch_full),
        cmocka_unit_test(test_sail_comms),
        cmocka_unit_test(test_zeropipe_comms),
    };
    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
