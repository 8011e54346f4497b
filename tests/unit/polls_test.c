/* SPDX-License-Identifier: Apache-2.0 */
/* How much work a search does before it asks its caller again: counted in basic blocks of the library, which is built to tell
 * each. */
#include "support/plan_choice.h"
#include "support/problem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* 50 ms of a slow core; a pass over all ops of the largest problems here takes less. */
#define MOST_BLOCKS 60000000u

static uint64_t blocks;

/* What the compiler calls in each block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

struct listener {
    uint64_t last, most;
    int calls, stop;
    double at; /* the share that was told behind the most */
};

static void note(struct listener *listener, double share)
{
    if (blocks - listener->last > listener->most) {
        listener->most = blocks - listener->last;
        listener->at = share;
    }
    listener->last = blocks;
}

static int32_t listen(void *user, const ppsched_progress *progress)
{
    struct listener *listener = user;
    note(listener, progress->share);
    return ++listener->calls == listener->stop;
}

struct size {
    int devices, chunks, microbatches;
    double limit;          /* 0: none */
    const char *placement; /* of auto */
    const char *effort;    /* likewise */
    int stop;              /* the call at which it is stopped; 0: never */
};

static ppsched_config *make(const struct size *size, const ppsched_strategy_info *info, struct listener *listener)
{
    int stages = size->devices * (info->chunks != 0 ? (int)info->chunks : size->chunks);
    ppsched_config *config = make_config(size->devices, stages, size->microbatches);
    double *times = calloc((size_t)stages, sizeof *times);
    ppsched_error error;
    assert_non_null(times);
    for (int s = 0; s < stages; s++)
        times[s] = 1 + s % 7 * 0.0625;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, times, (size_t)stages, &error), &error);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.3);
    if (size->limit > 0)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, size->limit);
    if (strcmp(info->name, "auto") == 0) {
        expect_ok(ppsched_config_set_option(config, "placement", size->placement, &error), &error);
        expect_ok(ppsched_config_set_option(config, "effort", size->effort, &error), &error);
    }
    expect_ok(ppsched_config_set_progress(config, listen, listener, &error), &error);
    free(times);
    return config;
}

static void expect_often(const struct size *size, const ppsched_strategy_info *info)
{
    struct listener listener = {.last = blocks, .stop = size->stop};
    ppsched_config *config = make(size, info, &listener);
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    ppsched_status status = ppsched_schedule_generate(&schedule, config, info->name, &error);
    note(&listener, 1);
    if (listener.most > MOST_BLOCKS)
        fail_msg("%s, %d devices, %d microbatches: %llu blocks at %g", info->name, size->devices, size->microbatches,
                 (unsigned long long)listener.most, listener.at);
    bool was_stopped = listener.stop != 0 && listener.calls >= listener.stop;
    if ((status == PPSCHED_ERROR_CANCELLED) != was_stopped || (was_stopped && listener.calls != listener.stop))
        fail_msg("%s: %d calls, to be stopped at %d: %s", info->name, listener.calls, listener.stop,
                 status ? error.message : "ok");
    assert_true(status == PPSCHED_OK || was_stopped || status == PPSCHED_ERROR_REFUSED);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Many devices, many microbatches, both; tight limits; little effort and much; stopped early and late. */
static const struct size sizes[] = {
    {64, 2, 200, 0, "v", "4", 0},      {48, 2, 160, 60, "v", "4", 40},    {300, 1, 40, 0, "linear", "4", 0},
    {4, 1, 9000, 3, "linear", "4", 0}, {3, 3, 3000, 0, "loop", "4", 30},  {6, 2, 24, 8, "loop", "7", 60},
    {24, 3, 60, 40, "loop", "5", 40},  {130, 2, 100, 0, "loop", "9", 25}, {700, 1, 20, 2, "linear", "1", 3},
};

static void test_asks_often(void **state)
{
    uint32_t searches = 0;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        searches += info.searches != 0;
        for (size_t k = 0; info.searches && k < sizeof sizes / sizeof sizes[0]; k++)
            expect_often(&sizes[k], &info);
    }
    assert_true(searches >= 7 && blocks > 1000000);
}

/* --- plans and scenarios --- */

static ppsched_config *make_unlike(int devices, int stages, int microbatches, struct listener *listener)
{
    ppsched_config *config = make_config(devices, stages, microbatches);
    double *scale = calloc((size_t)microbatches, sizeof *scale);
    assert_non_null(scale);
    for (int m = 0; m < microbatches; m++)
        scale[m] = 1 + m % 11 * 0.25;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, (size_t)microbatches, NULL), NULL);
    expect_ok(ppsched_config_set_progress(config, listen, listener, NULL), NULL);
    free(scale);
    return config;
}

static void expect_listened(struct listener *listener, const char *what, ppsched_status status)
{
    note(listener, 1);
    if (listener->most > MOST_BLOCKS || listener->calls < 2)
        fail_msg("%s: %llu blocks at %g, %d calls", what, (unsigned long long)listener->most, listener->at, listener->calls);
    assert_int_equal(status, listener->stop == 0 ? PPSCHED_OK : PPSCHED_ERROR_CANCELLED);
}

/* In order and as ops are ready; to the end, and stopped. */
static void test_scenarios_ask(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct listener listener = {.last = blocks, .stop = i % 2 == 0 ? 0 : 2};
        ppsched_config *config = make_unlike(32, 64, 192, &listener);
        ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b");
        ppsched_scenarios *scenarios = NULL;
        const ppsched_scenario_options options = {.size = sizeof options, .jitter = 0.1, .dispatch = i / 2};
        ppsched_status status = ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, 60, &options, NULL);
        expect_listened(&listener, i < 2 ? "planned" : "ready", status);
        ppsched_scenarios_destroy(scenarios);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

static void test_plans_ask(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1", "zb_auto"};
    static const uint32_t slices[] = {1, 4};
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = strategies,
                                        .strategy_count = 3,
                                        .slices = slices,
                                        .slice_count = 2,
                                        .order_effort = 3,
                                        .scenario_count = 200,
                                        .rank_by = PPSCHED_RANK_BY_MEAN};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct listener listener = {.last = blocks, .stop = i == 0 ? 0 : 7};
        ppsched_config *config = make_unlike(16, 16, 100, &listener);
        ppsched_plan *plan = NULL;
        expect_ok(create_plan(&plan, config, &options, NULL), NULL);
        expect_listened(&listener, "plan", ppsched_plan_run(plan, NULL));
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
    }
}

/* --- proofs --- */

/* Times so unlike that what follows from a deadline comes in many small steps; to the end, and stopped. */
static void test_proofs_ask(void **state)
{
    static const double forwards[] = {1e-6, 3e-6, 2e-8, 0.006}, backwards[] = {0.005, 0.006, 1e-6, 7};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct listener listener = {.last = blocks, .stop = i == 0 ? 0 : 5};
        ppsched_config *config = make_config(4, 4, 16);
        ppsched_bound bound = {.size = sizeof bound};
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forwards, 4, NULL), NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_TIMES, backwards, 4, NULL), NULL);
        set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 1);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
        expect_ok(ppsched_config_set_progress(config, listen, &listener, NULL), NULL);
        expect_listened(&listener, "proof",
                        ppsched_config_prove_bound(&bound, config, PPSCHED_OBJECTIVE_MAKESPAN, 116.467744, 1e8, NULL));
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_asks_often), cmocka_unit_test(test_scenarios_ask),
                                       cmocka_unit_test(test_plans_ask), cmocka_unit_test(test_proofs_ask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
