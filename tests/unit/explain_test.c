/* SPDX-License-Identifier: Apache-2.0 */
/* Critical paths, slack and sensitivities that can be told by hand. */
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

static ppsched_timeline *timeline_of(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_schedule_release(schedule);
    return timeline;
}

/* Queues of tokens; "+" before the first of a pair. */
static ppsched_timeline *timeline_of_own(const ppsched_config *config, const char *const *queues)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++) {
        char token[16];
        int used = 0;
        for (const char *text = queues[d]; sscanf(text, "%15s%n", token, &used) == 1; text += used) {
            ppsched_op op = op_from_token(token + (token[0] == '+'));
            op.flags = token[0] == '+' ? PPSCHED_OP_FLAG_OVERLAPPED : 0;
            expect_ok(ppsched_builder_append(builder, d, &op, 1, &error), &error);
        }
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    return timeline;
}

/* The path as text: the reason's letter, then "device:token start-end". */
static void expect_path(const ppsched_timeline *timeline, const char *const *wanted, size_t count)
{
    ppsched_critical_op path[MOST];
    size_t found = 0;
    ppsched_error error;
    expect_ok(ppsched_timeline_get_critical_path(path, MOST, &found, timeline, &error), &error);
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) {
        char text[96], token[32];
        assert_int_equal(ppsched_op_write_token(token, sizeof token, NULL, &path[i].op, NULL), PPSCHED_OK);
        snprintf(text, sizeof text, "%c%u:%s %g-%g", " BDIF"[path[i].reason], path[i].device, token, path[i].start,
                 path[i].end);
        assert_string_equal(text, wanted[i]);
    }
}

static void expect_sensitivities(const ppsched_timeline *timeline, int32_t objective, int32_t kind,
                                 const ppsched_sensitivity *wanted)
{
    ppsched_sensitivity found[MOST];
    ppsched_error error;
    expect_ok(ppsched_timeline_get_sensitivities(found, MOST, NULL, timeline, objective, kind, NULL, NULL, &error), &error);
    for (uint32_t s = 0; s < ppsched_schedule_stages(ppsched_timeline_schedule(timeline)); s++)
        if (found[s].more != wanted[s].more || found[s].less != wanted[s].less)
            fail_msg("stage %u, objective %d, kind %d: %g and %g, not %g and %g", s, objective, kind, found[s].more,
                     found[s].less, wanted[s].more, wanted[s].less);
}

#define EXPECT_PATH(timeline, ...)                                                                                             \
    expect_path(timeline, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
#define EXPECT_MAKESPAN(timeline, kind, ...)                                                                                   \
    expect_sensitivities(timeline, PPSCHED_OBJECTIVE_MAKESPAN, kind, (const ppsched_sensitivity[]){__VA_ARGS__})
#define EXPECT_SPAN(timeline, kind, ...)                                                                                       \
    expect_sensitivities(timeline, PPSCHED_OBJECTIVE_SPAN, kind, (const ppsched_sensitivity[]){__VA_ARGS__})

/* Down to the slow stage, once to the last stage and back, all the rest on the slow device, and up. */
static void test_slow_stage(void **state)
{
    const double forward[] = {1, 1, 2, 1}, backward[] = {2, 2, 4, 2};
    ppsched_config *config = make_config(4, 4, 8);
    double by_device[4], by_stage[4];
    ppsched_error error;
    (void)state;
    set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 4);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_TIMES, backward, 4);
    ppsched_timeline *timeline = timeline_of(config, "1f1b");
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1-2", "I2:2F0 2-4", "I3:3F0 4-5", "D3:3B0 5-7", "I2:2B0 7-11", "D2:2F2 11-13",
                "D2:2B1 13-17", "D2:2F3 17-19", "D2:2B2 19-23", "D2:2F4 23-25", "D2:2B3 25-29", "D2:2F5 29-31", "D2:2B4 31-35",
                "D2:2F6 35-37", "D2:2B5 37-41", "D2:2F7 41-43", "D2:2B6 43-47", "D2:2B7 47-51", "I1:1B7 51-53", "I0:0B7 53-55");
    EXPECT_MAKESPAN(timeline, 0, {2, 2}, {2, 2}, {15, 15}, {2, 2});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_F, {1, 1}, {1, 1}, {7, 7}, {1, 1});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_B, {1, 1}, {1, 1}, {8, 8}, {1, 1});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_W, {0, 0}, {0, 0}, {0, 0}, {0, 0});
    EXPECT_SPAN(timeline, 0, {2, 2}, {2, 2}, {15, 15}, {2, 2});
    expect_ok(ppsched_timeline_get_device_slack(by_device, 4, NULL, timeline, &error), &error);
    expect_ok(ppsched_timeline_get_stage_slack(by_stage, 4, NULL, timeline, &error), &error);
    for (int i = 0; i < 4; i++)
        assert_true(by_device[i] == 0 && by_stage[i] == 0);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

static void test_chain(void **state)
{
    ppsched_config *config = make_config(3, 3, 1);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.5);
    ppsched_timeline *timeline = timeline_of(config, "gpipe");
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1.5-2.5", "I2:2F0 3-4", "D2:2B0 4-6", "I1:1B0 6.5-8.5", "I0:0B0 9-11");
    EXPECT_MAKESPAN(timeline, 0, {2, 2}, {2, 2}, {2, 2});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_F, {1, 1}, {1, 1}, {1, 1});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_I, {0, 0}, {0, 0}, {0, 0});
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* Where all stages are alike many ways are the longest: one suffices for more, all are needed for less. */
static void test_ties(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 1);
    ppsched_timeline *timeline = timeline_of(config, "1f1b"); /* 0F0 0F1 0B0 0B1, 1F0 1B0 1F1 1B1 */
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1-2", "D1:1B0 2-3", "D1:1F1 3-4", "D1:1B1 4-5", "I0:0B1 5-6");
    EXPECT_MAKESPAN(timeline, 0, {2, 2}, {4, 4});
    ppsched_timeline_destroy(timeline);
    timeline = timeline_of(config, "gpipe"); /* 0F0 0F1 0B0 0B1, 1F0 1F1 1B0 1B1 */
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1-2", "D1:1F1 2-3", "D1:1B0 3-4", "I0:0B0 4-5", "D0:0B1 5-6");
    EXPECT_MAKESPAN(timeline, 0, {4, 2}, {4, 2});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_F, {2, 1}, {2, 1});
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* All of the forwards, and all of the backwards, tie on ways down or along: a stage may have all of its ops on one, and has at
 * least one of each on all. So many stages take as long as the same ops in few. */
static void test_many_ties(void **state)
{
    enum { STAGES = 16000, MICROBATCHES = 16 };
    ppsched_config *config = make_config(STAGES, STAGES, MICROBATCHES);
    ppsched_sensitivity *found = malloc(STAGES * sizeof *found);
    ppsched_error error;
    (void)state;
    assert_non_null(found);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 1);
    ppsched_timeline *timeline = timeline_of(config, "gpipe");
    expect_ok(
        ppsched_timeline_get_sensitivities(found, STAGES, NULL, timeline, PPSCHED_OBJECTIVE_MAKESPAN, 0, NULL, NULL, &error),
        &error);
    for (int s = 0; s < STAGES; s++)
        assert_true(found[s].more == 2 * MICROBATCHES && found[s].less == 2);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
    free(found);
}

/* Stops when asked for the `left`-th time; expects shares that do not fall. */
struct patience {
    int left, asked;
    double share;
};

static int32_t lose_patience(void *user, const ppsched_progress *progress)
{
    struct patience *patience = user;
    assert_true(progress->size == sizeof *progress && progress->share >= patience->share && progress->share <= 1);
    patience->share = progress->share;
    return ++patience->asked == patience->left;
}

/* Each of 32 batches of stages goes through all of the 131,072 ops, as all costs are equal and ways turn at both ends. */
static void test_watched(void **state)
{
    enum { DEVICES = 256, STAGES = 512, MICROBATCHES = 128 };
    static ppsched_sensitivity found[STAGES], wanted[STAGES];
    ppsched_config *config = make_config(DEVICES, STAGES, MICROBATCHES);
    struct patience all = {0}, some = {.left = 5};
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2);
    ppsched_timeline *timeline = timeline_of(config, "v_half");
    expect_ok(ppsched_timeline_get_sensitivities(wanted, STAGES, NULL, timeline, 1, 0, NULL, NULL, &error), &error);
    expect_ok(ppsched_timeline_get_sensitivities(found, STAGES, NULL, timeline, 1, 0, lose_patience, &all, &error), &error);
    assert_memory_equal(found, wanted, sizeof found);
    assert_true(all.share == 1 && all.asked >= 2 * STAGES / 16);
    memset(found, 0, sizeof found);
    assert_int_equal(ppsched_timeline_get_sensitivities(found, STAGES, NULL, timeline, 1, 0, lose_patience, &some, &error),
                     PPSCHED_ERROR_CANCELLED);
    assert_string_equal(error.message, "the sensitivities were cancelled");
    assert_true(some.asked == 5 && found[0].more == wanted[0].more && found[STAGES - 1].more == 0);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* Two iterations; each ends with the W of device 1, and where `last` is 9, with that of device 0 too. */
static ppsched_timeline *two_iterations(double last)
{
    static const char *const queues[] = {"0F0 0I0 0W0 0F1 0I1 0W1", "1F0 1I0 1W0 1F1 1I1 1W1"};
    const double weight[] = {last, 10};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_error error;
    expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, weight, 2);
    ppsched_timeline *timeline = timeline_of_own(config, queues);
    ppsched_config_destroy(config);
    return timeline;
}

static void test_flush(void **state)
{
    double by_device[2], by_stage[2];
    ppsched_error error;
    (void)state;
    ppsched_timeline *timeline = two_iterations(1);
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1-2", "D1:1I0 2-3", "D1:1W0 3-13", "F0:0F1 13-14", "I1:1F1 14-15",
                "D1:1I1 15-16", "D1:1W1 16-26");
    EXPECT_MAKESPAN(timeline, 0, {2, 2}, {6, 6});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_W, {0, 0}, {2, 2});
    EXPECT_SPAN(timeline, 0, {1, 1}, {6, 6}); /* of device 1, which begins behind 0F0 */
    expect_ok(ppsched_timeline_get_device_slack(by_device, 2, NULL, timeline, &error), &error);
    expect_ok(ppsched_timeline_get_stage_slack(by_stage, 2, NULL, timeline, &error), &error);
    assert_true(by_device[0] == 0 && by_device[1] == 0 && by_stage[0] == 0 && by_stage[1] == 0);
    ppsched_timeline_destroy(timeline);
    timeline = two_iterations(9);
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1-2", "D1:1I0 2-3", "I0:0I0 3-4", "D0:0W0 4-13", "D0:0F1 13-14", "I1:1F1 14-15",
                "D1:1I1 15-16", "I0:0I1 16-17", "D0:0W1 17-26");
    EXPECT_MAKESPAN(timeline, 0, {6, 2}, {6, 4});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_W, {2, 0}, {2, 0});
    EXPECT_SPAN(timeline, 0, {6, 4}, {5, 4}); /* of device 0 alone */
    ppsched_timeline_destroy(timeline);
}

static void test_v_placement(void **state)
{
    static const char *const queues[] = {"0F0 3F0 3I0 0B0 3W0", "1F0 2F0 2B0 1B0"};
    ppsched_config *config = make_config(2, 4, 1);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, &error), &error);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.25);
    ppsched_timeline *timeline = timeline_of_own(config, queues);
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1.25-2.25", "D1:2F0 2.25-3.25", "I0:3F0 3.5-4.5", "D0:3I0 4.5-5.5",
                "I1:2B0 5.75-7.75", "D1:1B0 7.75-9.75", "I0:0B0 10-12", "D0:3W0 12-13");
    EXPECT_MAKESPAN(timeline, 0, {2, 2}, {2, 2}, {2, 2}, {3, 3});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_B, {1, 1}, {1, 1}, {1, 1}, {0, 0});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_W, {0, 0}, {0, 0}, {0, 0}, {1, 1});
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

static void test_pair(void **state)
{
    static const char *const queue = "0F0 +0F1 0B0 0B1";
    ppsched_critical_op path[3];
    size_t count = 0;
    ppsched_error error;
    ppsched_config *config = make_config(1, 1, 2);
    (void)state;
    ppsched_timeline *timeline = timeline_of_own(config, &queue);
    EXPECT_PATH(timeline, "B0:0F0 0-1", "D0:0F1 1-4", "D0:0B1 4-6");
    expect_ok(ppsched_timeline_get_critical_path(path, 3, &count, timeline, &error), &error);
    assert_true(path[1].position == 1 && path[1].op.flags == PPSCHED_OP_FLAG_OVERLAPPED && path[2].position == 3);
    EXPECT_MAKESPAN(timeline, 0, {4, 4});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_F, {2, 2});
    ppsched_timeline_destroy(timeline);
    set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 2.5);
    timeline = timeline_of_own(config, &queue);
    set_list(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, NULL, 0); /* the timeline remembers */
    EXPECT_PATH(timeline, "B0:0F0 0-1", "D0:0F1 1-3.5", "D0:0B1 3.5-5.5");
    EXPECT_MAKESPAN(timeline, 0, {2, 2});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_F, {1, 1});
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* What takes no time can take more, but not less. */
static void test_zero_times(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0);
    ppsched_timeline *timeline = timeline_of(config, "gpipe");
    EXPECT_PATH(timeline, "B1:1F0 0-0", "D1:1F1 0-0", "D1:1B0 0-2", "I0:0B0 2-4", "D0:0B1 4-6");
    EXPECT_MAKESPAN(timeline, 0, {4, 1}, {4, 1});
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_F, {2, 0}, {2, 0});
    ppsched_timeline_destroy(timeline);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 0);
    timeline = timeline_of(config, "gpipe");
    EXPECT_MAKESPAN(timeline, PPSCHED_KIND_B, {2, 0}, {2, 0});
    EXPECT_SPAN(timeline, PPSCHED_KIND_B, {2, 0}, {2, 0});
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* A device without stages has all the time there is. */
static void test_idle_device(void **state)
{
    const uint32_t map[] = {1, 1};
    static const char *const queues[] = {"", "0F0 1F0 1B0 0B0", ""};
    double by_device[3];
    ppsched_config *config = make_config(3, 2, 1);
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 2, &error), &error);
    ppsched_timeline *timeline = timeline_of_own(config, queues);
    expect_ok(ppsched_timeline_get_device_slack(by_device, 3, NULL, timeline, &error), &error);
    assert_true(isinf(by_device[0]) && by_device[1] == 0 && isinf(by_device[2]));
    EXPECT_PATH(timeline, "B1:0F0 0-1", "D1:1F0 1-2", "D1:1B0 2-4", "D1:0B0 4-6");
    EXPECT_SPAN(timeline, 0, {2, 2}, {2, 2});
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* A fast last stage leaves room: what its device and stage may come later. */
static void test_slack(void **state)
{
    const double forward[] = {1, 0.25}, backward[] = {2, 0.25};
    static const char *const queues[] = {"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};
    double by_device[2], by_stage[2];
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_error error;
    (void)state;
    set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 2);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_TIMES, backward, 2);
    ppsched_timeline *timeline = timeline_of_own(config, queues);
    EXPECT_PATH(timeline, "B0:0F0 0-1", "D0:0F1 1-2", "D0:0B0 2-4", "D0:0B1 4-6");
    EXPECT_MAKESPAN(timeline, 0, {4, 4}, {0, 0});
    expect_ok(ppsched_timeline_get_device_slack(by_device, 2, NULL, timeline, &error), &error);
    expect_ok(ppsched_timeline_get_stage_slack(by_stage, 2, NULL, timeline, &error), &error);
    assert_true(by_device[0] == 0 && by_stage[0] == 0 && by_device[1] == 0.5 && by_stage[1] == 0.5);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

static void test_earliest_only(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    double by_stage[2] = {7, 7};
    (void)state;
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), &error);
    EXPECT_MAKESPAN(timeline, 0, {4, 2}, {4, 2});
    EXPECT_PATH(timeline, "B0:0F0 0-1", "I1:1F0 1-2", "D1:1F1 2-3", "D1:1B0 3-5", "I0:0B0 5-7", "D0:0B1 7-9");
    assert_int_equal(ppsched_timeline_get_stage_slack(by_stage, 2, NULL, timeline, &error), PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY"));
    assert_true(by_stage[0] == 7);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_transfers(void **state)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "gpipe"), *lowered = NULL;
    ppsched_timeline *timeline = NULL, *plain = NULL;
    ppsched_sensitivity out[2];
    double slack[2];
    size_t count = 7;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 0, &error), &error);
    assert_int_equal(ppsched_timeline_get_critical_path(NULL, 0, &count, timeline, &error), PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "with transfers"));
    assert_int_equal(count, 7);
    assert_int_equal(ppsched_timeline_get_device_slack(slack, 2, NULL, timeline, &error), PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "with transfers"));
    assert_int_equal(ppsched_timeline_get_sensitivities(out, 2, NULL, timeline, PPSCHED_OBJECTIVE_SPAN, 0, NULL, NULL, &error),
                     PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "with transfers"));
    plain = make_timeline(lowered, config); /* comm ops take no time and are not in the path */
    EXPECT_PATH(plain, "B0:0F0 0-1", "I1:1F0 1-2", "D1:1F1 2-3", "D1:1B0 3-5", "I0:0B0 5-7", "D0:0B1 7-9");
    ppsched_timeline_destroy(plain);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* What is recomputed has a path and slack, and no sensitivities; with transfers it has none of these, which is told first. */
static void test_saving(void **state)
{
    const ppsched_recompute_options recompute = {.size = sizeof recompute};
    const ppsched_lower_options lower = {.size = sizeof lower, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "gpipe"), *kept = NULL, *lowered = NULL;
    ppsched_timeline *timeline = NULL, *sent = NULL;
    ppsched_sensitivity out[2];
    size_t count = 0;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_schedule_recompute(&kept, schedule, &recompute, &error), &error);
    timeline = make_timeline(kept, config);
    expect_ok(ppsched_timeline_get_critical_path(NULL, 0, &count, timeline, &error), &error);
    assert_true(count > 0);
    assert_int_equal(ppsched_timeline_get_sensitivities(out, 2, NULL, timeline, 1, 0, NULL, NULL, &error),
                     PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "has no sensitivities"));
    expect_ok(ppsched_schedule_lower(&lowered, kept, config, &lower, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&sent, lowered, config, NULL, 0, &error), &error);
    assert_int_equal(ppsched_timeline_get_sensitivities(out, 2, NULL, sent, 1, 0, NULL, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "with transfers"));
    ppsched_timeline_destroy(sent);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(kept);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_bad_arguments(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_timeline *timeline = timeline_of(config, "gpipe");
    ppsched_critical_op path[8];
    ppsched_sensitivity out[2] = {{7, 7}, {7, 7}};
    double slack[4] = {7, 7, 7, 7};
    size_t count = 0;
    ppsched_error error;
    (void)state;
    memset(path, 0x55, sizeof path);
    assert_int_equal(ppsched_timeline_get_critical_path(path, 8, &count, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_critical_path(NULL, 8, &count, timeline, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_critical_path(path, 5, &count, timeline, &error), PPSCHED_ERROR_BUFFER);
    assert_string_equal(error.message, "the buffer has room for 5 of 6 ops");
    assert_true(count == 6 && path[0].device == 0x55555555u && path[5].device == 0x55555555u);
    assert_int_equal(ppsched_timeline_get_critical_path(path, 6, NULL, timeline, NULL), PPSCHED_OK);
    assert_true(path[5].end == 9 && path[6].device == 0x55555555u);
    assert_int_equal(ppsched_timeline_get_device_slack(slack, 2, &count, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_stage_slack(slack, 2, &count, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_device_slack(NULL, 2, &count, timeline, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_stage_slack(NULL, 2, &count, timeline, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_stage_slack(slack, 1, NULL, timeline, &error), PPSCHED_ERROR_BUFFER);
    assert_string_equal(error.message, "the buffer has room for 1 of 2 stages");
    assert_int_equal(ppsched_timeline_get_device_slack(slack, 1, NULL, timeline, &error), PPSCHED_ERROR_BUFFER);
    assert_true(slack[0] == 7 && slack[1] == 7);
    assert_int_equal(ppsched_timeline_get_device_slack(NULL, 0, NULL, timeline, &error), PPSCHED_OK);
    assert_int_equal(ppsched_timeline_get_stage_slack(NULL, 0, NULL, timeline, &error), PPSCHED_OK);
    for (int32_t objective = 0; objective <= 3; objective += 3)
        assert_int_equal(ppsched_timeline_get_sensitivities(out, 2, NULL, timeline, objective, 0, NULL, NULL, &error),
                         PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "there is no objective 3; it must be 1 to 2");
    for (int32_t kind = -1; kind <= 5; kind += 6)
        assert_int_equal(ppsched_timeline_get_sensitivities(out, 2, NULL, timeline, 1, kind, NULL, NULL, &error),
                         PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "kind is 5; it must be F, B, I or W (1 to 4), or 0 for all of them");
    assert_int_equal(ppsched_timeline_get_sensitivities(NULL, 2, NULL, timeline, 1, 0, NULL, NULL, &error),
                     PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_sensitivities(out, 2, NULL, NULL, 1, 0, NULL, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_timeline_get_sensitivities(out, 1, NULL, timeline, 1, 0, NULL, NULL, &error),
                     PPSCHED_ERROR_BUFFER);
    assert_true(out[0].more == 7 && out[1].less == 7);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_stage),  cmocka_unit_test(test_chain),   cmocka_unit_test(test_ties),
        cmocka_unit_test(test_many_ties),   cmocka_unit_test(test_watched), cmocka_unit_test(test_flush),
        cmocka_unit_test(test_v_placement), cmocka_unit_test(test_pair),    cmocka_unit_test(test_zero_times),
        cmocka_unit_test(test_idle_device), cmocka_unit_test(test_slack),   cmocka_unit_test(test_earliest_only),
        cmocka_unit_test(test_transfers),   cmocka_unit_test(test_saving),  cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
