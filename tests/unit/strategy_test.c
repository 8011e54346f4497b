/* SPDX-License-Identifier: Apache-2.0 */
/* The list of strategies, their options, and their refusals: what a refusal proposes does work. */
#include "support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ppsched_strategy_info info_of(uint32_t strategy)
{
    ppsched_strategy_info info = {.size = sizeof info};
    assert_int_equal(ppsched_strategy_describe(strategy, &info), PPSCHED_OK);
    return info;
}

static void test_descriptors_are_complete(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = info_of(i);
        uint32_t found = 0;
        assert_true(strlen(info.summary) > 10 && strchr(info.summary, '\n') == NULL);
        assert_true(strlen(info.source) > 3);
        assert_int_equal(ppsched_strategy_find(info.name, &found, NULL), PPSCHED_OK);
        assert_int_equal(found, i);
        for (uint32_t a = 0; a < info.alias_count; a++) {
            assert_int_equal(ppsched_strategy_find(info.aliases[a], &found, NULL), PPSCHED_OK);
            assert_int_equal(found, i);
        }
        for (uint32_t o = 0; o < info.option_count; o++) {
            ppsched_option_info option = {.size = sizeof option};
            assert_int_equal(ppsched_strategy_option(i, o, &option), PPSCHED_OK);
            assert_true(option.minimum <= option.maximum);
            assert_true(strlen(option.name) > 0 && strlen(option.text) > 10 && strlen(option.default_text) > 0);
        }
        assert_int_equal(ppsched_strategy_option(i, info.option_count, &(ppsched_option_info){.size = 8}),
                         PPSCHED_ERROR_ARGUMENT);
    }
    assert_int_equal(ppsched_strategy_describe(ppsched_strategy_count(), &(ppsched_strategy_info){.size = 8}),
                     PPSCHED_ERROR_ARGUMENT);
}

static void test_names(void **state)
{
    ppsched_error error;
    uint32_t found = 0;
    (void)state;
    assert_int_equal(ppsched_strategy_find("INTERLEAVED-1F1B", &found, &error), PPSCHED_OK);
    assert_string_equal(info_of(found).name, "interleaved_1f1b");
    assert_int_equal(ppsched_strategy_find("gpip", &found, &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_string_equal(error.message, "there is no strategy \"gpip\"; did you mean gpipe?");
    assert_int_equal(ppsched_strategy_find("", &found, &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_int_equal(ppsched_strategy_find(NULL, &found, &error), PPSCHED_ERROR_ARGUMENT);
}

static void expect_status(const ppsched_config *config, const char *strategy, ppsched_status wanted, const char *part)
{
    ppsched_error error;
    ppsched_schedule *schedule = NULL;
    assert_int_equal(ppsched_strategy_fits(strategy, config, &error), wanted);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
    assert_int_equal(ppsched_schedule_generate(&schedule, config, strategy, NULL), wanted);
    assert_null(schedule);
}

static void test_options(void **state)
{
    ppsched_error error;
    ppsched_config *config = make_config(2, 4, 4);
    (void)state;
    expect_ok(ppsched_config_set_option(config, "groupsize", "2", &error), &error);
    expect_status(config, "interleaved_1f1b", PPSCHED_ERROR_UNKNOWN_OPTION, "did you mean group_size?");
    expect_ok(ppsched_config_set_option(config, "groupsize", NULL, &error), &error);
    expect_ok(ppsched_config_set_option(config, "group_size", "two", &error), &error);
    expect_status(config, "interleaved_1f1b", PPSCHED_ERROR_RANGE, "group_size is \"two\"; it must be an integer from 1");
    expect_ok(ppsched_config_set_option(config, "group_size", "0", &error), &error);
    expect_status(config, "interleaved_1f1b", PPSCHED_ERROR_RANGE, "is \"0\"");
    expect_ok(ppsched_config_set_option(config, "group_size", "2", &error), &error);
    expect_ok(ppsched_strategy_fits("vpp", config, &error), &error);
    ppsched_config_destroy(config);
    config = make_config(2, 2, 4);
    expect_ok(ppsched_config_set_option(config, "x", "2", &error), &error);
    expect_status(config, "gpipe", PPSCHED_ERROR_UNKNOWN_OPTION, "it has none at all");
    ppsched_config_destroy(config);
}

static void test_refusals(void **state)
{
    ppsched_error error;
    ppsched_config *config = make_config(4, 8, 8);
    (void)state;
    expect_status(config, "1f1b", PPSCHED_ERROR_REFUSED, "1f1b: linear placement needs as many stages as devices");
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, &error), &error);
    expect_status(config, "interleaved_1f1b", PPSCHED_ERROR_REFUSED, "needs loop placement, not v");
    ppsched_config_destroy(config);
    config = make_config(4, 6, 8);
    expect_status(config, "interleaved_1f1b", PPSCHED_ERROR_REFUSED, "nearest: 4 or 8 stages");
    ppsched_config_destroy(config);
    config = make_config(4, 4, 3);
    expect_status(config, "1f1b_no_flush", PPSCHED_ERROR_REFUSED, "nearest: 4 microbatches");
    expect_status(config, "eager_1f1b_no_flush", PPSCHED_ERROR_REFUSED, "nearest: 5 microbatches");
    expect_status(config, "no such", PPSCHED_ERROR_UNKNOWN_STRATEGY, "there is no strategy");
    ppsched_config_destroy(config);
}

static int serves(int64_t devices, int64_t chunks, int64_t microbatches, long group, ppsched_error *error)
{
    char text[24];
    ppsched_config *config = make_config(devices, devices * chunks, microbatches);
    snprintf(text, sizeof text, "%ld", group);
    expect_ok(ppsched_config_set_option(config, "group_size", text, NULL), NULL);
    ppsched_status status = ppsched_strategy_fits("interleaved_1f1b", config, error);
    if (status == PPSCHED_OK) {
        ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b");
        expect_ok(ppsched_check(schedule, NULL, 0, NULL, error), error);
        ppsched_schedule_release(schedule);
    } else {
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    }
    ppsched_config_destroy(config);
    return status == PPSCHED_OK;
}

static void test_interleaved_refuses_with_what_works(void **state)
{
    ppsched_error error;
    int refused = 0;
    (void)state;
    for (int devices = 1; devices <= 8; devices++)
        for (int chunks = 1; chunks <= 4; chunks++)
            for (int microbatches = 1; microbatches <= 24; microbatches++)
                for (long group = 1; group <= 2 * devices; group++) {
                    long below = 0, above = 0, other = 0;
                    if (serves(devices, chunks, microbatches, group, &error))
                        continue;
                    const char *nearest = strstr(error.message, "nearest: ");
                    assert_non_null(nearest);
                    if (sscanf(nearest, "nearest: %ld microbatches or %ld, or group_size %ld", &below, &above, &other) != 3) {
                        above = 0;
                        assert_int_equal(sscanf(nearest, "nearest: %ld microbatches, or group_size %ld", &below, &other), 2);
                    }
                    assert_true(serves(devices, chunks, below, group, &error));
                    assert_true(above == 0 || (above > microbatches && serves(devices, chunks, above, group, &error)));
                    assert_true(below < microbatches && serves(devices, chunks, microbatches, other, &error));
                    for (long m = below + 1; m < (above != 0 ? above : microbatches + 8); m++)
                        assert_false(serves(devices, chunks, m, group, &error)); /* nothing nearer */
                    refused++;
                }
    assert_true(refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors_are_complete),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_interleaved_refuses_with_what_works),
    };
    return cmocka_run_group_tests_name("strategy", tests, NULL, NULL);
}
