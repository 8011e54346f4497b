/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's allocator and log, sized structs, statuses and versions. */
#include "support/problem.h"

#include <stdlib.h>
#include <string.h>

struct host {
    int live, until_failure; /* -1: never fails */
    int fails_once;          /* 0: all that follow fail, too */
    int failed;
    int32_t level;
    char line[512];
};

static void *allocate(void *user, size_t size)
{
    struct host *host = user;
    if (host->until_failure == 0) {
        host->until_failure -= host->fails_once;
        host->failed++;
        return NULL;
    }
    host->until_failure -= host->until_failure > 0;
    host->live++;
    return malloc(size);
}

static void release(void *user, void *memory)
{
    ((struct host *)user)->live--;
    free(memory);
}

static void take_line(void *user, int32_t level, const char *message)
{
    struct host *host = user;
    host->level = level;
    strncpy(host->line, message, sizeof host->line - 1);
}

static ppsched_environment environment_of(struct host *host)
{
    return (ppsched_environment){.size = sizeof(ppsched_environment), .log_level = PPSCHED_LOG_INFO, .user = host,
                                 .allocate = allocate, .release = release, .log = take_line};
}

static int32_t discard(void *user, const char *data, size_t size)
{
    (void)user, (void)data, (void)size;
    return 0;
}

/* A strategy's schedule on two devices, and nothing kept; negative: with so many stages, and little memory. */
static ppsched_status generate_and_drop(const ppsched_environment *environment, const char *strategy, int64_t stages)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    const double limit = 3;
    ppsched_status status = ppsched_config_create(&config, 2, stages < 0 ? -stages : stages, 3, environment, NULL);
    if (status == PPSCHED_OK && stages < 0)
        status = ppsched_config_set_values(config, PPSCHED_MEM_LIMIT, &limit, 1, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_generate(&schedule, config, strategy, NULL);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return status;
}

/* Each strategy that searches, on two stages, or four on two devices; a negative number of stages: under a tight limit. */
static ppsched_status search_all(const ppsched_environment *environment)
{
    static const struct {
        const char *strategy;
        int stages;
    } searches[] = {{"zb_auto", 2}, {"v_search", 4}, {"v_1f1b", 4}, {"zbv_auto", 4}, {"zbv_auto", -4}, {"v_min", 4},
                    {"auto", 2},    {"auto", -4}};
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < sizeof searches / sizeof searches[0] && status == PPSCHED_OK; i++)
        status = generate_and_drop(environment, searches[i].strategy, searches[i].stages);
    return status;
}

static ppsched_status evaluate_and_drop(const ppsched_schedule *lowered, const ppsched_config *config)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppsched_evaluate_transfers(&timeline, lowered, config, NULL, 0, NULL);
    ppsched_timeline_destroy(timeline);
    return status;
}

/* A plan with costs for other numbers of stages, and what is asked of it. */
static ppsched_status plan_all(const ppsched_environment *environment)
{
    static const char *const strategies[] = {"1f1b", "interleaved_1f1b", "zb_auto", "gpipe"};
    const ppsched_plan_options options = {.size = sizeof options, .strategies = strategies, .strategy_count = 4};
    ppsched_config *config = NULL, *own = NULL;
    ppsched_plan *plan = NULL;
    ppsched_timeline *timeline = NULL;
    double limit = 0;
    ppsched_status status = ppsched_config_create(&config, 2, 2, 4, environment, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_values(config, PPSCHED_MEM_LIMIT, &(double){0.5}, 1, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_plan_create(&plan, config, &options, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_plan_run(plan, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_plan_least_limit(&limit, NULL, plan, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_plan_config(&own, plan, 0, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_plan_timeline(&timeline, plan, 0, NULL);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(own);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    return status;
}

/* All lowerings of a schedule, with all passes, and what is asked of them. */
static ppsched_status lower_all(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_status status = PPSCHED_OK;
    for (int32_t lowering = 0; lowering <= PPSCHED_LOWERING_JUST_IN_TIME && status == PPSCHED_OK; lowering++) {
        const ppsched_lower_options options = {.size = sizeof options, .lowering = lowering, .split_backwards = 1, .unshard = 1,
                                               .reduce_grad = 1, .defer_receives = lowering == PPSCHED_LOWERING_PYTORCH};
        const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_PAIR, .batched = 1};
        ppsched_schedule *lowered = NULL;
        ppsched_op_buffer buffers[200];
        size_t count = 0;
        uint32_t slots = 0;
        status = ppsched_schedule_lower(&lowered, schedule, config, &options, NULL);
        if (status == PPSCHED_OK && lowering != PPSCHED_LOWERING_NONE)
            status = ppsched_schedule_prove(lowered, &model, NULL, 0, &count, NULL);
        if (status == PPSCHED_OK && lowering != PPSCHED_LOWERING_NONE)
            status = evaluate_and_drop(lowered, config);
        if (status == PPSCHED_OK && lowering != PPSCHED_LOWERING_NONE)
            status = ppsched_schedule_edges(lowered, NULL, 0, &count, NULL);
        if (status == PPSCHED_OK && lowering != PPSCHED_LOWERING_NONE)
            status = ppsched_schedule_buffers(lowered, 1, buffers, 200, &slots, NULL);
        ppsched_schedule_release(lowered);
    }
    return status;
}

/* What a timeline is asked that takes memory. */
static ppsched_status explain(const ppsched_timeline *timeline)
{
    ppsched_critical_op path[64];
    ppsched_sensitivity sensitivities[4];
    ppsched_status status = ppsched_timeline_critical_path(timeline, path, 64, NULL, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_timeline_sensitivities(timeline, PPSCHED_OBJECTIVE_SPAN, 0, sensitivities, 4, NULL);
    return status;
}

/* Everything the library does with memory, in one go; stops at the first failure and frees all. */
static ppsched_status whole_life(struct host *host)
{
    ppsched_environment environment = environment_of(host);
    ppsched_config *config = NULL, *copy = NULL;
    ppsched_schedule *schedule = NULL, *own = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_builder *builder = NULL;
    const uint32_t map[] = {0, 1, 1, 0};
    const double times[] = {1, 2, 3, 4};
    ppsched_status status = ppsched_config_create(&config, 2, 4, 4, &environment, NULL);
    if (status == PPSCHED_OK)
        status = search_all(&environment);
    if (status == PPSCHED_OK)
        status = plan_all(&environment);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_values(config, PPSCHED_FORWARD_TIMES, times, 4, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_option(config, "group_size", "3", NULL);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_option(config, "group_size", "2", NULL);
    if (status == PPSCHED_OK)
        status = ppsched_config_copy(&copy, config, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_placement(copy, PPSCHED_PLACEMENT_MAP, map, 4, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_generate(&schedule, config, "interleaved_1f1b", NULL);
    if (status == PPSCHED_OK)
        status = lower_all(schedule, config);
    if (status == PPSCHED_OK)
        status = ppsched_check(schedule, NULL, 0, NULL, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_evaluate(&timeline, schedule, config, 0, NULL);
    if (status == PPSCHED_OK)
        status = explain(timeline);
    for (int32_t format = PPSCHED_FORMAT_TEXT; format <= PPSCHED_FORMAT_SAIL && status == PPSCHED_OK; format++)
        if (format != PPSCHED_FORMAT_DEEPSPEED) /* one stage a device */
            status = ppsched_export(schedule, timeline, format, NULL, discard, NULL, NULL);
    if (status == PPSCHED_OK)
        status = ppsched_builder_create(&builder, copy, NULL);
    for (uint32_t i = 0; i < 20 && status == PPSCHED_OK; i++) {
        ppsched_op op = {.kind = PPSCHED_KIND_F, .microbatch = i % 4};
        status = ppsched_builder_append(builder, 0, &op, 1, NULL);
    }
    if (status == PPSCHED_OK)
        status = ppsched_builder_set_name(builder, "mine", NULL);
    if (status == PPSCHED_OK)
        status = ppsched_builder_finish(&own, builder, NULL);
    ppsched_config_destroy(config);
    ppsched_schedule_release(schedule);
    ppsched_timeline_destroy(timeline);
    ppsched_builder_destroy(builder);
    ppsched_schedule_release(own);
    ppsched_config_destroy(copy);
    return status;
}

/* However many follow it, a failure is told, and nothing is left behind. */
static void test_each_allocation_may_fail(void **state)
{
    (void)state;
    for (int once = 0; once < 2; once++) {
        int tries = 0;
        for (;; tries++) {
            struct host host = {.until_failure = tries, .fails_once = once};
            ppsched_status status = whole_life(&host);
            assert_int_equal(host.live, 0);
            if (host.failed == 0 && status == PPSCHED_OK)
                break;
            if (status != PPSCHED_ERROR_NO_MEMORY)
                fail_msg("allocation %d failed%s, but the status is %d", tries, once ? " alone" : "", status);
        }
        assert_in_range(tries, 60, 8000);
    }
}

static void test_log(void **state)
{
    struct host host = {.until_failure = -1};
    ppsched_environment environment = environment_of(&host);
    ppsched_config *config = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_create(&config, 2, 2, 4, &environment, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    assert_string_equal(host.line, "generated gpipe: 2 devices, 2 stages, 4 microbatches, 1 iterations");
    assert_int_equal(host.level, PPSCHED_LOG_INFO);
    set_number(config, PPSCHED_MEM_LIMIT, 3);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_string_equal(host.line, "gpipe: device 0 needs 4 memory, over its limit 3");
    assert_int_equal(host.level, PPSCHED_LOG_WARNING);
    assert_int_equal(metrics_of(timeline).limit_device, 0);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    assert_int_equal(host.live, 0);
}

static ppsched_status create_with(const void *environment, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_status status = ppsched_config_create(&config, 1, 1, 1, environment, error);
    ppsched_config_destroy(config);
    return status;
}

static void test_sized_input(void **state)
{
    struct {
        ppsched_environment known;
        unsigned char newer[16];
    } longer;
    ppsched_error error;
    (void)state;
    memset(&longer, 0, sizeof longer);
    assert_int_equal(create_with(&longer, &error), PPSCHED_ERROR_STRUCT_SIZE);
    assert_non_null(strstr(error.message, "set it to sizeof(ppsched_environment)"));
    longer.known.size = sizeof longer;
    expect_ok(create_with(&longer, &error), &error);
    longer.newer[15] = 1;
    assert_int_equal(create_with(&longer, &error), PPSCHED_ERROR_STRUCT_SIZE);
    longer.known.size = 8; /* no version was ever that short */
    assert_int_equal(create_with(&longer, &error), PPSCHED_ERROR_STRUCT_SIZE);
    longer.known.size = sizeof longer.known;
    longer.known.allocate = allocate;
    assert_int_equal(create_with(&longer, &error), PPSCHED_ERROR_ARGUMENT);
}

static void test_sized_output(void **state)
{
    struct {
        ppsched_metrics known;
        unsigned char newer[16];
    } longer;
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    (void)state;
    memset(&longer, 0xAA, sizeof longer);
    longer.known.size = sizeof longer;
    assert_int_equal(ppsched_timeline_metrics(timeline, &longer.known), PPSCHED_OK);
    assert_int_equal(longer.known.size, sizeof longer);
    assert_int_equal(longer.newer[15], 0);
    memset(&longer, 0xAA, sizeof longer);
    longer.known.size = offsetof(ppsched_metrics, span); /* older caller */
    assert_int_equal(ppsched_timeline_metrics(timeline, &longer.known), PPSCHED_OK);
    assert_true(longer.known.makespan == 9);
    assert_int_equal(((unsigned char *)&longer.known.span)[0], 0xAA);
    longer.known.size = 0;
    assert_int_equal(ppsched_timeline_metrics(timeline, &longer.known), PPSCHED_ERROR_STRUCT_SIZE);
    assert_int_equal(ppsched_timeline_metrics(timeline, NULL), PPSCHED_ERROR_ARGUMENT);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation_may_fail), cmocka_unit_test(test_log),      cmocka_unit_test(test_sized_input),
        cmocka_unit_test(test_sized_output),             cmocka_unit_test(test_statuses), cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
