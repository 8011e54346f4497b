/* SPDX-License-Identifier: Apache-2.0 */
/* What the host gives, statuses and versions. */
#include "support/failing_allocator.h"
#include "support/problem.h"

#include <string.h>

struct log {
    int32_t level;
    char line[512];
};

static void take_line(void *user, int32_t level, const char *message)
{
    struct log *log = user;
    log->level = level;
    strncpy(log->line, message, sizeof log->line - 1);
}

static void test_log(void **state)
{
    struct log log = {0};
    const ppsched_environment environment = {.size = sizeof environment, .log_level = PPSCHED_LOG_INFO, .user = &log,
                                             .log = take_line};
    ppsched_config *config = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_create(&config, 2, 2, 4, &environment, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    assert_string_equal(log.line, "generated gpipe: 2 devices, 2 stages, 4 microbatches, 1 iterations");
    assert_int_equal(log.level, PPSCHED_LOG_INFO);
    set_number(config, PPSCHED_MEM_LIMIT, 3);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_string_equal(log.line, "gpipe: device 0 needs 4 memory, over its limit 3");
    assert_int_equal(log.level, PPSCHED_LOG_WARNING);
    assert_int_equal(metrics_of(timeline).limit_device, 0);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_allocators),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
