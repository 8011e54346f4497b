/* SPDX-License-Identifier: Apache-2.0 */
/* The list of strategies, their options, and their refusals. That what a refusal proposes does work is tested by sweep_test. */
#include "support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ppsched_strategy_info info_of(uint32_t strategy)
{
    ppsched_strategy_info info = {.size = sizeof info};
    assert_int_equal(ppsched_strategy_get_info(&info, strategy, NULL), PPSCHED_OK);
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
        assert_int_equal(ppsched_strategy_find(&found, info.name, NULL), PPSCHED_OK);
        assert_int_equal(found, i);
        for (uint32_t a = 0; a < info.alias_count; a++) {
            assert_int_equal(ppsched_strategy_find(&found, info.aliases[a], NULL), PPSCHED_OK);
            assert_int_equal(found, i);
        }
        for (uint32_t o = 0; o < info.option_count; o++) {
            ppsched_option_info option = {.size = sizeof option};
            assert_int_equal(ppsched_strategy_get_option(&option, i, o, NULL), PPSCHED_OK);
            assert_true(option.minimum <= option.maximum);
            assert_true(strlen(option.name) > 0 && strlen(option.summary) > 10 && strlen(option.default_text) > 0);
        }
        assert_int_equal(ppsched_strategy_get_option(&(ppsched_option_info){.size = 8}, i, info.option_count, NULL),
                         PPSCHED_ERROR_RANGE);
    }
    assert_int_equal(ppsched_strategy_get_info(&(ppsched_strategy_info){.size = 8}, ppsched_strategy_count(), NULL),
                     PPSCHED_ERROR_RANGE);
}

/* What is told of a strategy beside its texts goes together. */
static void test_flags(void **state)
{
    uint32_t with_groups = 0;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = info_of(i);
        uint32_t has_group_size = 0;
        for (uint32_t o = 0; o < info.option_count; o++) {
            ppsched_option_info option = {.size = sizeof option};
            assert_int_equal(ppsched_strategy_get_option(&option, i, o, NULL), PPSCHED_OK);
            has_group_size |= strcmp(option.name, "group_size") == 0;
        }
        assert_int_equal(info.takes_group_size, has_group_size);
        with_groups += has_group_size;
        assert_true(info.searches <= 1 && info.searches_long <= info.searches);
        assert_true(info.searches || info.most_memory == 0);
        assert_int_equal(info.searches_long, strcmp(info.name, "auto") == 0 || strcmp(info.name, "v_search") == 0);
    }
    assert_in_range(with_groups, 1, ppsched_strategy_count() - 1);
}

static void test_names(void **state)
{
    ppsched_error error;
    uint32_t found = 0;
    (void)state;
    assert_int_equal(ppsched_strategy_find(&found, "INTERLEAVED-1F1B", &error), PPSCHED_OK);
    assert_string_equal(info_of(found).name, "interleaved_1f1b");
    assert_int_equal(ppsched_strategy_find(&found, "gpip", &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_string_equal(error.message, "there is no strategy \"gpip\"; did you mean gpipe?");
    assert_int_equal(ppsched_strategy_find(&found, "a\nb", &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_non_null(strstr(error.message, "\"a?b\"; there are gpipe, 1f1b"));
    char longest[2000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(ppsched_strategy_find(&found, longest, &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_non_null(strstr(error.message, "xxx...\"; there are "));
    assert_int_equal(ppsched_strategy_find(&found, "a\xFF\xC3\xA4\xC3", &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_non_null(strstr(error.message, "\"a?\xC3\xA4?\"; there are "));
    memset(longest, 'x', 63);
    memcpy(longest + 63, "\xC3\xA4\xC3\xA4", 5); /* a character of two bytes is not cut in two */
    assert_int_equal(ppsched_strategy_find(&found, longest, &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_non_null(strstr(error.message, "x\xC3\xA4...\"; there are "));
    assert_int_equal(ppsched_strategy_find(&found, "", &error), PPSCHED_ERROR_UNKNOWN_STRATEGY);
    assert_int_equal(ppsched_strategy_find(&found, "all", &error), PPSCHED_ERROR_UNKNOWN_STRATEGY); /* near to none */
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        assert_non_null(strstr(error.message, info.name));
    }
    assert_int_equal(ppsched_strategy_find(&found, NULL, &error), PPSCHED_ERROR_ARGUMENT);
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
    expect_status(config, "1f1b", PPSCHED_ERROR_REFUSED, "not 8 stages on 4 devices; nearest: 4 stages");
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

/* Each with the numbers that were asked for, those that would do, and one of what there is one of. */
static void test_words_of_refusals(void **state)
{
    static const struct {
        const char *strategy;
        int devices, stages, microbatches;
        const char *group, *words;
    } cases[] = {
        {"gpipe", 1, 2, 1, NULL, "needs 1 stage per device, not 2 stages on 1 device; nearest: 1 stage, or 2 devices"},
        {"zbv", 2, 2, 4, NULL, "needs 2 stages per device, not 2 stages on 2 devices; nearest: 4 stages, or 1 device"},
        {"zbv", 1, 1, 4, NULL, "needs 2 stages per device, not 1 stage on 1 device; nearest: 2 stages"},
        {"dualpipe_v", 3, 6, 5, NULL, "needs at least 2D = 6 microbatches on 3 devices, not 5; nearest: 6 microbatches"},
        {"dualpipe_v", 1, 2, 1, NULL, "needs at least 2D = 2 microbatches on 1 device, not 1; nearest: 2 microbatches"},
        {"dualpipe_v", 1, 1, 1, NULL,
         "needs 2 stages per device, not 1 stage on 1 device; nearest: 1 device, 2 stages and 2 microbatches"},
        {"dualpipe", 4, 4, 6, NULL, "needs at least 2D = 8 microbatches on 4 devices, not 6; nearest: 8 microbatches"},
        {"dualpipe", 2, 2, 7, NULL, "needs an even number of microbatches, not 7; nearest: 6 or 8 microbatches"},
        {"dualpipe", 3, 3, 8, NULL, "needs an even number of devices, not 3; nearest: 4 devices, 4 stages and 8 microbatches"},
        {"1f1b_overlap", 3, 3, 4, NULL, "needs at least 2D-1 = 5 microbatches on 3 devices, not 4; nearest: 5 microbatches"},
        {"1f1b_no_flush", 3, 3, 2, NULL, "needs at least as many microbatches as devices, not 2 on 3; nearest: 3 microbatches"},
        {"eager_1f1b_no_flush", 3, 3, 3, NULL, "needs more microbatches than devices, not 3 on 3; nearest: 4 microbatches"},
        {"interleaved_1f1b", 4, 8, 6, "2",
         "6 microbatches in groups of 2 would deadlock on 4 devices: a group and the next together must reach 2(D-1) = 6; "
         "nearest: 3 microbatches, or group_size 3"},
        {"interleaved_1f1b_overlap", 3, 9, 7, NULL,
         "7 microbatches in groups of 3 would deadlock on 3 devices: a group and the next together must reach 2D-1 = 5; "
         "nearest: 6 or 8 microbatches, or group_size 4"},
        {"slimpipe", 3, 6, 3, NULL,
         "needs at least D-1 = 2 slices per microbatch on 3 devices with 2 stages each, not 1; nearest: 2 slices"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *config = make_config(cases[i].devices, cases[i].stages, cases[i].microbatches);
        ppsched_error error;
        char words[400];
        snprintf(words, sizeof words, "%s: %s", cases[i].strategy, cases[i].words);
        if (cases[i].group != NULL)
            expect_ok(ppsched_config_set_option(config, "group_size", cases[i].group, &error), &error);
        assert_int_equal(ppsched_strategy_fits(cases[i].strategy, config, &error), PPSCHED_ERROR_REFUSED);
        assert_string_equal(error.message, words);
        ppsched_config_destroy(config);
    }
}

/* Where stages and microbatches are to change, fewer microbatches are named where no more can be had, and no option. */
static void test_fewer_microbatches_where_no_more_can_be_had(void **state)
{
    ppsched_config *config = make_config(3, 10, 3);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, PPSCHED_MAX_CELLS / 10 / 3, &error), &error);
    expect_ok(ppsched_config_set_option(config, "group_size", "2", &error), &error);
    assert_int_equal(ppsched_strategy_fits("interleaved_1f1b", config, &error), PPSCHED_ERROR_REFUSED);
    assert_non_null(strstr(error.message, "; nearest: 3 devices, 9 stages and 2 microbatches"));
    ppsched_config_destroy(config);
}

/* Where no number of microbatches within reach helps, the first option is named with the stages, the nearest that does. */
static void test_group_size_where_no_microbatches_help(void **state)
{
    static const struct {
        const char *strategy, *group, *least, *words;
        int devices, stages;
    } cases[] = {
        {"interleaved_1f1b", "1", NULL, "; nearest: 4 devices, 8 stages and group_size 3", 4, 10},
        {"group_interleaved_1f1b", "2", "1", "; nearest: 8 devices, 16 stages and group_size 4", 8, 17},
    };
    ppsched_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *config = make_config(cases[i].devices, cases[i].stages, 100);
        expect_ok(ppsched_config_set_option(config, "group_size", cases[i].group, &error), &error);
        if (cases[i].least != NULL)
            expect_ok(ppsched_config_set_option(config, "min_group_size", cases[i].least, &error), &error);
        assert_int_equal(ppsched_strategy_fits(cases[i].strategy, config, &error), PPSCHED_ERROR_REFUSED);
        assert_non_null(strstr(error.message, cases[i].words));
        ppsched_config_destroy(config);
    }
}

static void expect_same_queues(const ppsched_schedule *a, const ppsched_schedule *b, uint32_t devices)
{
    for (uint32_t d = 0; d < devices; d++) {
        size_t count = 0, other = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(a, d), &count);
        const ppsched_op *others = ppsched_queue_ops(ppsched_schedule_queue(b, d), &other);
        assert_int_equal(count, other);
        for (size_t i = 0; i < count; i++)
            assert_true(ops[i].kind == others[i].kind && ops[i].stage == others[i].stage &&
                        ops[i].microbatch == others[i].microbatch);
    }
}

/* group_interleaved_1f1b: half of the devices are steps enough where they are just what a forward takes through all devices,
 * and one more where it takes longer. */
static void test_steps_that_a_forward_takes(void **state)
{
    enum { DEVICES = 6 };
    static const struct {
        double forward;
        const char *least;
    } cases[] = {{2, "3"}, {2.125, "4"}};
    ppsched_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_config *config = make_config(DEVICES, 2 * DEVICES, 8);
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, cases[i].forward);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
        set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
        expect_ok(ppsched_config_set_option(config, "group_size", "1", &error), &error);
        ppsched_schedule *own = make_schedule(config, "group_interleaved_1f1b");
        expect_ok(ppsched_config_set_option(config, "min_group_size", cases[i].least, &error), &error);
        ppsched_schedule *told = make_schedule(config, "group_interleaved_1f1b");
        expect_same_queues(own, told, DEVICES);
        ppsched_schedule_release(told);
        ppsched_schedule_release(own);
        ppsched_config_destroy(config);
    }
}

/* A search keeps to the limit, and the least limit that it names works while anything below does not. */
static void test_search_under_limits(void **state)
{
    ppsched_error error;
    ppsched_schedule *schedule = NULL;
    double least = 0, span = 1e9;
    ppsched_config *config = make_config(4, 8, 10);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1);
    assert_int_equal(ppsched_schedule_generate(&schedule, config, "v_search", &error), PPSCHED_ERROR_REFUSED);
    assert_int_equal(sscanf(strstr(error.message, "the least limit"), "the least limit that works is %lf", &least), 1);
    assert_true(least == 4);
    for (double limit = least; limit <= 10; limit++) {
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
        schedule = make_schedule(config, "v_search");
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
        assert_true(metrics_of(timeline).peak_memory <= limit && metrics_of(timeline).span <= span);
        span = metrics_of(timeline).span;
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
    }
    assert_true(span == 60); /* no bubble at 2D */
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, least - 0.5);
    assert_int_equal(ppsched_schedule_generate(&schedule, config, "v_search", &error), PPSCHED_ERROR_REFUSED);
    ppsched_config_destroy(config);
}

/* What a search may hold is told; where it would hold more it refuses, and names what it can serve. */
static void test_search_too_large(void **state)
{
    ppsched_error error;
    ppsched_config *config = make_config(32, 64, 1050357);
    ppsched_strategy_info info = {.size = sizeof info};
    uint32_t number;
    (void)state;
    expect_ok(ppsched_strategy_find(&number, "v_search", &error), &error);
    expect_ok(ppsched_strategy_get_info(&info, number, &error), &error);
    assert_int_equal(info.most_memory, 1000000000);
    assert_int_equal(ppsched_strategy_fits("v_search", config, &error), PPSCHED_ERROR_REFUSED);
    assert_non_null(
        strstr(error.message, "1050357 microbatches on 32 devices: more than 1 GB to search; at most 1050356 on 32"));
    ppsched_config_destroy(config);
    config = make_config(32, 64, 1050356);
    expect_ok(ppsched_strategy_fits("v_search", config, &error), &error);
    ppsched_config_destroy(config);
}

/* Memory that sums to 0 up to nine digits does not add up over microbatches: the least limit works for all that search. */
static void test_rounded_memory(void **state)
{
    static const struct {
        const char *name;
        int stages, least; /* in stage passes */
    } searches[] = {{"v_half", 8, 2}, {"v_min", 8, 2}, {"zbv_auto", 8, 2}, {"zb_auto", 4, 1},
                    {"auto", 4, 1},   {"auto", 8, 2},  {"v_search", 8, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof searches / sizeof searches[0]; i++) {
        ppsched_config *config = make_config(4, searches[i].stages, 64);
        set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 12.345678901);
        set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -4.1152263);
        set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -8.2304526);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, searches[i].least * 12.345678901);
        ppsched_schedule *schedule = make_schedule(config, searches[i].name);
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

/* Searches count what a device holds anyway, and tenths that do not add up: the least limit that a refusal names works, and a
 * smaller one does not. */
static void expect_least_limit(const char *name, ppsched_config *config)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0.125);
    assert_int_equal(ppsched_schedule_generate(&schedule, config, name, &error), PPSCHED_ERROR_REFUSED);
    const char *words = strstr(error.message, "the least limit that works is ");
    assert_non_null(words);
    double named = strtod(words + strlen("the least limit that works is "), NULL);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, named - 0.01);
    assert_int_equal(ppsched_schedule_generate(&schedule, config, name, &error), PPSCHED_ERROR_REFUSED);
    assert_true(named >= 1);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, named);
    schedule = make_schedule(config, name);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
    assert_true(metrics_of(timeline).peak_memory > named - 1e-3);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
}

/* Under limits of just what its schedule holds a search finds one that is as short. */
static void expect_as_short_within(const char *name, ppsched_config *config, uint32_t devices)
{
    double limits[4];
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, NULL, 0, NULL), NULL);
    ppsched_schedule *schedule = make_schedule(config, name), *within = NULL;
    ppsched_timeline *timeline = make_timeline(schedule, config);
    for (uint32_t d = 0; d < devices; d++)
        limits[d] = device_metrics_of(timeline, d).peak_memory;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, devices, NULL), NULL);
    within = make_schedule(config, name);
    ppsched_timeline *after = make_timeline(within, config);
    assert_int_equal(metrics_of(after).limit_device, PPSCHED_NONE);
    assert_true(metrics_of(after).makespan <= metrics_of(timeline).makespan * (1 + 1e-12));
    ppsched_timeline_destroy(after);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(within);
    ppsched_schedule_release(schedule);
}

static void test_least_limits(void **state)
{
    static const char *const names[] = {"v_search", "zbv_auto", "zb_auto", "auto"};
    uint64_t seed = 8;
    (void)state;
    for (int trial = 0; trial < 80; trial++) {
        const char *name = names[trial % 4];
        uint32_t devices = 2 + random_below(&seed, 3), stages = trial % 4 < 2 ? 2 * devices : devices;
        double memory[8], fixed[8];
        ppsched_config *config = make_config(devices, stages, 3 + random_below(&seed, 5));
        for (uint32_t s = 0; s < stages; s++) {
            memory[s] = (1 + random_below(&seed, 9)) / 10.0;
            fixed[s] = (1 + random_below(&seed, 30)) / 10.0;
        }
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, memory, stages, NULL), NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_STATIC, fixed, stages, NULL), NULL);
        expect_least_limit(name, config);
        if (stages == 2 * devices)
            expect_as_short_within("v_search", config, devices);
        ppsched_config_destroy(config);
    }
}

/* Where nothing takes memory a limit of nothing is kept by all, and costs no strategy time. */
static void test_limit_of_nothing(void **state)
{
    uint64_t seed = 15;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        const ppsched_strategy_info info = info_of(i);
        for (int trial = 0; trial < (info.searches_long ? 2 : 6); trial++) {
            uint32_t devices = 2 + 2 * random_below(&seed, 2), stages = devices * (info.chunks > 0 ? info.chunks : 2);
            double times[8];
            ppsched_config *config = make_config(devices, stages, 3 * devices);
            expect_ok(ppsched_config_set_slices(config, info.slices == 2 ? devices : 1, NULL), NULL); /* as slimpipe wants */
            for (uint32_t s = 0; s < stages; s++)
                times[s] = 1 + random_below(&seed, 30) / 8.0;
            expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, times, stages, NULL), NULL);
            set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 0);
            ppsched_schedule *free = make_schedule(config, info.name);
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 0);
            ppsched_schedule *limited = make_schedule(config, info.name);
            ppsched_timeline *before = make_timeline(free, config), *after = make_timeline(limited, config);
            assert_int_equal(metrics_of(after).limit_device, PPSCHED_NONE);
            if (metrics_of(after).span > metrics_of(before).span)
                fail_msg("%s: span %g under a limit, %g without", info.name, metrics_of(after).span, metrics_of(before).span);
            ppsched_timeline_destroy(after);
            ppsched_timeline_destroy(before);
            ppsched_schedule_release(limited);
            ppsched_schedule_release(free);
            ppsched_config_destroy(config);
        }
    }
}

/* The greedy plan can be run, keeps every device within its limit, and refuses only below one stage pass. */
static void test_greedy_plan(void **state)
{
    uint64_t seed = 6;
    int refused = 0;
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        uint32_t devices = 1 + random_below(&seed, 12), microbatches = 1 + random_below(&seed, 4 * devices);
        double times[12], limits[12], lowest = 1e9;
        ppsched_error error;
        ppsched_schedule *schedule = NULL;
        ppsched_config *config = make_config(devices, devices, microbatches);
        for (int32_t q = PPSCHED_QUANTITY_FORWARD_TIMES; q <= PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES; q++) {
            for (uint32_t d = 0; d < devices; d++)
                times[d] = random_below(&seed, 40) / 8.0;
            if (q != PPSCHED_QUANTITY_BACKWARD_TIMES)
                expect_ok(ppsched_config_set_values(config, q, times, devices, &error), &error);
        }
        for (uint32_t d = 0; d < devices; d++) {
            limits[d] = 2 + random_below(&seed, 6 * devices) - (random_below(&seed, 8) == 0);
            lowest = limits[d] < lowest ? limits[d] : lowest;
        }
        set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 2);
        set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -1);
        set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(&seed, 8) / 8.0);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, devices, &error), &error);
        ppsched_status status = ppsched_schedule_generate(&schedule, config, "zb_auto", &error);
        assert_int_equal(status, lowest < 2 ? PPSCHED_ERROR_REFUSED : PPSCHED_OK);
        refused += status != PPSCHED_OK;
        if (status == PPSCHED_OK) {
            ppsched_timeline *timeline = make_timeline(schedule, config);
            assert_int_equal(metrics_of(timeline).limit_device, PPSCHED_NONE);
            ppsched_timeline_destroy(timeline);
        }
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    assert_in_range(refused, 20, 1900);
}

/* Over sizes and uneven costs a search's result can be run, and keeps to the memory of its family. */
static void test_search_with_uneven_costs(void **state)
{
    static const int32_t quantities[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                         PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    uint64_t seed = 5;
    (void)state;
    for (int trial = 0; trial < 40; trial++) {
        uint32_t devices = 1 + random_below(&seed, 6);
        double times[3][12];
        ppsched_config *config = make_config(devices, 2 * devices, 1 + random_below(&seed, 14));
        for (int k = 0; k < 3; k++) {
            for (uint32_t s = 0; s < 2 * devices; s++)
                times[k][s] = 1 + random_below(&seed, 40) / 10.0;
            expect_ok(ppsched_config_set_values(config, quantities[k], times[k], 2 * devices, NULL), NULL);
        }
        ppsched_schedule *schedule = make_schedule(config, "v_search");
        ppsched_timeline *timeline = make_timeline(schedule, config);
        assert_true(metrics_of(timeline).peak_memory <= 2 * devices);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

/* slimpipe: a device runs all slices of a microbatch's chunk, then those of its next chunk, then the next microbatch; backwards
 * the other way round. */
static void test_slimpipe_goes_by_microbatches(void **state)
{
    enum { DEVICES = 3, CHUNKS = 2, MICROBATCHES = 4, SLICES = 3, PASSES = CHUNKS * MICROBATCHES * SLICES };
    ppsched_config *config = make_config(DEVICES, DEVICES * CHUNKS, MICROBATCHES);
    (void)state;
    expect_ok(ppsched_config_set_slices(config, SLICES, NULL), NULL);
    ppsched_schedule *schedule = make_schedule(config, "slimpipe");
    for (uint32_t d = 0; d < DEVICES; d++) {
        size_t count = 0, forwards = 0, backwards = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++) {
            int is_forward = ops[i].kind == PPSCHED_KIND_F;
            size_t turn = is_forward ? forwards++ : backwards++, rest = turn % (CHUNKS * SLICES);
            rest = is_forward ? rest : CHUNKS * SLICES - 1 - rest;
            assert_int_equal(ops[i].microbatch, turn / (CHUNKS * SLICES));
            assert_int_equal(ops[i].stage, rest / SLICES * DEVICES + d);
            assert_int_equal(ops[i].slice, rest % SLICES);
        }
        assert_true(forwards == PASSES && backwards == PASSES);
    }
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors_are_complete),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_words_of_refusals),
        cmocka_unit_test(test_fewer_microbatches_where_no_more_can_be_had),
        cmocka_unit_test(test_group_size_where_no_microbatches_help),
        cmocka_unit_test(test_steps_that_a_forward_takes),
        cmocka_unit_test(test_search_under_limits),
        cmocka_unit_test(test_search_too_large),
        cmocka_unit_test(test_search_with_uneven_costs),
        cmocka_unit_test(test_rounded_memory),
        cmocka_unit_test(test_least_limits),
        cmocka_unit_test(test_limit_of_nothing),
        cmocka_unit_test(test_greedy_plan),
        cmocka_unit_test(test_slimpipe_goes_by_microbatches),
    };
    return cmocka_run_group_tests_name("strategy", tests, NULL, NULL);
}
