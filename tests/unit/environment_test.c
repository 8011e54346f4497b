/* SPDX-License-Identifier: Apache-2.0 */
/* What the host gives, statuses and versions. */
#include "support/plan_choice.h"
#include "support/failing_allocator.h"
#include "support/problem.h"

#include <stdlib.h>
#include <string.h>

struct log {
    int32_t level;
    char line[512];
    int lines, warnings;
};

static void take_line(void *user, int32_t level, const char *message)
{
    struct log *log = user;
    log->level = level;
    log->lines++;
    log->warnings += level == PPSCHED_LOG_LEVEL_WARNING;
    strncpy(log->line, message, sizeof log->line - 1);
}

static void test_log(void **state)
{
    struct log log = {0};
    const ppsched_environment environment = {
        .size = sizeof environment, .log_level = PPSCHED_LOG_LEVEL_INFO, .user = &log, .log = take_line};
    ppsched_config *config = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_create(&config, 2, 2, 4, &environment, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    assert_string_equal(log.line, "generated gpipe: 2 devices, 2 stages, 4 microbatches, 1 iteration");
    assert_int_equal(log.level, PPSCHED_LOG_LEVEL_INFO);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_string_equal(log.line, "gpipe: device 0 needs 4 memory, over its limit 3");
    assert_int_equal(log.level, PPSCHED_LOG_LEVEL_WARNING);
    assert_int_equal(metrics_of(timeline).limit_device, 0);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* The next line of the log is this, and it is the only one. */
static void expect_line(struct log *log, const char *line)
{
    assert_int_equal(log->lines, 1);
    assert_string_equal(log->line, line);
    *log = (struct log){0};
}

static ppsched_status one_pass(void *user, const ppsched_config *config, ppsched_builder *builder)
{
    const ppsched_op ops[] = {op_from_token("0F0"), op_from_token("0B0")};
    (void)config;
    return ppsched_builder_append(builder, 0, ops, *(const size_t *)user, NULL);
}

/* A line a call, of what it made: nothing is told of what was made on the way. */
static void test_a_line_a_call(void **state)
{
    static const char csv[] = "0F0,0B0\n";
    static const char *const strategies[] = {"gpipe", "zb_auto"};
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_BY_TIME};
    const struct plan_choice wanted = {.size = sizeof wanted, .strategies = strategies, .strategy_count = 2};
    struct log log = {0};
    const ppsched_environment environment = {
        .size = sizeof environment, .log_level = PPSCHED_LOG_LEVEL_INFO, .user = &log, .log = take_line};
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL, *other = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_plan *plan = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_create(&config, 2, 2, 4, &environment, &error), &error);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
    expect_ok(ppsched_schedule_generate(&schedule, config, "auto", &error), &error);
    expect_line(&log, "generated auto: 2 devices, 2 stages, 4 microbatches, 1 iteration");
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error), &error);
    expect_line(&log, "evaluated auto: makespan 13, span 13, peak memory 2 on device 0");
    expect_ok(ppsched_timeline_update(timeline, config, &error), &error);
    expect_line(&log, "evaluated auto: makespan 13, span 13, peak memory 2 on device 0");
    ppsched_timeline_destroy(timeline);
    expect_ok(ppsched_schedule_lower(&other, schedule, config, &options, &error), &error);
    expect_line(&log, "lowered auto: 2 devices, 2 stages, 4 microbatches, 1 iteration");
    ppsched_schedule_release(schedule);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1.5);
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, other, config, NULL, 0, &error), &error);
    assert_int_equal(log.lines, 2);
    assert_int_equal(log.warnings, 1);
    assert_string_equal(log.line, "auto: device 0 needs 2 memory, over its limit 1.5");
    log = (struct log){0};
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(other);
    expect_ok(create_plan(&plan, config, &wanted, &error), &error);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    expect_line(&log, "ran a plan of 2 candidates, 1 of which fit");
    expect_ok(ppsched_plan_create_timeline(&timeline, plan, ppsched_plan_candidate_at_rank(plan, 0), &error), &error);
    assert_int_equal(log.lines, 1);
    assert_non_null(strstr(log.line, "evaluated zb_auto: "));
    log = (struct log){0};
    ppsched_timeline_destroy(timeline);
    ppsched_plan_destroy(plan);
    expect_ok(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, csv, sizeof csv - 1, &environment, &error), &error);
    expect_line(&log, "read custom: 1 device, 1 stage, 1 microbatch, 1 iteration");
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    expect_ok(ppsched_config_create(&config, 1, 1, 1, &environment, &error), &error);
    size_t count = 2;
    expect_ok(ppsched_schedule_generate_with(&schedule, config, "own", one_pass, &count, &error), &error);
    expect_line(&log, "built own: 1 device, 1 stage, 1 microbatch, 1 iteration");
    ppsched_schedule_release(schedule);
    count = 0;
    assert_int_equal(ppsched_schedule_generate_with(&schedule, config, "own", one_pass, &count, &error),
                     PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(log.lines, 0);
    ppsched_config_destroy(config);
}

/* One half of an allocator is none. */
static void test_allocators(void **state)
{
    struct failing_allocator allocator = {0, -1};
    ppsched_environment environment = failing_environment(&allocator);
    ppsched_config *config = NULL;
    ppsched_error error;
    (void)state;
    environment.release = NULL;
    assert_int_equal(ppsched_config_create(&config, 1, 1, 1, &environment, &error), PPSCHED_ERROR_ARGUMENT);
    environment = failing_environment(&allocator);
    environment.allocate = NULL;
    assert_int_equal(ppsched_config_create(&config, 1, 1, 1, &environment, &error), PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "environment: allocate and release must be given together");
    assert_null(config);
    assert_int_equal(allocator.asked, 0);
}

static void test_statuses(void **state)
{
    (void)state;
    assert_string_equal(ppsched_status_name(PPSCHED_OK), "PPSCHED_OK");
    assert_string_equal(ppsched_status_name(PPSCHED_ERROR_REFUSED), "PPSCHED_ERROR_REFUSED");
    assert_string_equal(ppsched_status_text(PPSCHED_ERROR_NO_MEMORY), "out of memory");
    for (int32_t status = 0; status <= PPSCHED_ERROR_SYNTAX; status++)
        assert_string_not_equal(ppsched_status_name(status), "unknown status");
    assert_string_equal(ppsched_status_name(PPSCHED_ERROR_SYNTAX + 1), "unknown status");
    assert_string_equal(ppsched_status_text(-1), "unknown status");
}

static void test_versions(void **state)
{
    (void)state;
    assert_int_equal(ppsched_version(), 10000 * PPSCHED_VERSION_MAJOR + 100 * PPSCHED_VERSION_MINOR + PPSCHED_VERSION_PATCH);
    assert_int_equal(ppsched_abi_version(), PPSCHED_ABI_VERSION);
    assert_string_equal(ppsched_version_text(), PROJECT_VERSION);
}

static int32_t stop(void *user, const ppsched_progress *progress)
{
    (void)user;
    (void)progress;
    return 1;
}

/* Microbatches that differ: else a search for few of them may serve for many. */
static void make_unlike(ppsched_config *config, size_t microbatches)
{
    ppsched_error error;
    double *scale = malloc(microbatches * sizeof *scale);
    assert_non_null(scale);
    for (size_t m = 0; m < microbatches; m++)
        scale[m] = 1 + (double)(m % 2);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, microbatches, &error), &error);
    free(scale);
}

/* v_search tells where it does not try every shift between devices: on more than 16 some eight first; on one there is none. */
static void test_told_what_is_left_out(void **state)
{
    static const struct {
        int64_t devices, microbatches;
        const char *line;
    } cases[] = {
        {16, 100, ""},
        {17, 100, "v_search: of 16 turns one in 2 is tried, then those near the best"},
        {32, 100, "v_search: of 31 turns one in 4 is tried, then those near the best"},
        {16, 40000, "v_search: of 15 turns one in 16 is tried, then those near the best"},
        {16, 100000, "v_search: blocks with a turn would be too much work, and are left out"},
        {1, 1000000, ""},
    };
    struct log log = {0};
    const ppsched_environment environment = {
        .size = sizeof environment, .log_level = PPSCHED_LOG_LEVEL_INFO, .user = &log, .log = take_line};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *config = NULL;
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        log = (struct log){0};
        expect_ok(
            ppsched_config_create(&config, cases[i].devices, 2 * cases[i].devices, cases[i].microbatches, &environment, &error),
            &error);
        make_unlike(config, (size_t)cases[i].microbatches);
        expect_ok(ppsched_config_set_progress(config, stop, NULL, &error), &error);
        assert_int_equal(ppsched_schedule_generate(&schedule, config, "v_search", &error), PPSCHED_ERROR_CANCELLED);
        assert_string_equal(log.line, cases[i].line);
        assert_int_equal(log.lines, cases[i].line[0] != '\0');
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log),      cmocka_unit_test(test_a_line_a_call), cmocka_unit_test(test_allocators),
        cmocka_unit_test(test_statuses), cmocka_unit_test(test_versions),      cmocka_unit_test(test_told_what_is_left_out),
    };
    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
