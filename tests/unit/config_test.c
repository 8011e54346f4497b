/* SPDX-License-Identifier: Apache-2.0 */
/* The problem: what is accepted, what is turned down and with which words, and how defaults fill in. */
#include "ir/config.h"
#include "support/last.h"
#include "support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static void expect_message(ppsched_status status, ppsched_status wanted, const ppsched_error *error, const char *part)
{
    assert_int_equal(status, wanted);
    assert_int_equal(error->status, wanted);
    if (strstr(error->message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
}

static void expect_bad_sizes(int64_t devices, int64_t stages, int64_t microbatches, const char *part)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    expect_message(ppsched_config_create(&config, devices, stages, microbatches, NULL, &error), PPSCHED_ERROR_RANGE, &error,
                   part);
    assert_null(config);
}

static void test_sizes(void **state)
{
    (void)state;
    expect_bad_sizes(0, 1, 1, "number of devices is 0; it must be 1 to 65535");
    expect_bad_sizes(-4, 1, 1, "number of devices is -4");
    expect_bad_sizes(1, 0, 1, "number of stages is 0");
    expect_bad_sizes(1, 2147483648, 1, "number of stages is 2147483648");
    expect_bad_sizes(1, 1, 0, "number of microbatches is 0");
    expect_bad_sizes(1, 1, INT64_MAX, "number of microbatches is 9223372036854775807");
    expect_bad_sizes(65535, 65535, 65535, "65535 stages times 65535 microbatches times 1 iteration is above");
}

static void test_iterations(void **state)
{
    ppsched_error error;
    ppsched_config *config = make_config(4, 4, 1 << 20);
    (void)state;
    expect_message(ppsched_config_set_iterations(config, 0, &error), PPSCHED_ERROR_RANGE, &error, "iterations is 0");
    expect_message(ppsched_config_set_iterations(config, 1 << 20, &error), PPSCHED_ERROR_RANGE, &error, "is above");
    assert_int_equal(ppsched_config_iterations(config), 1);
    expect_ok(ppsched_config_set_iterations(config, 3, &error), &error);
    assert_int_equal(ppsched_config_iterations(config), 3);
    ppsched_config_destroy(config);
}

static void expect_bad_list(int32_t quantity, const double *values, size_t count, ppsched_status wanted, const char *part)
{
    ppsched_error error;
    ppsched_config *config = make_config(2, 4, 3);
    size_t kept = 1;
    expect_message(ppsched_config_set_values(config, quantity, values, count, &error), wanted, &error, part);
    assert_null(ppsched_config_values(config, quantity, &kept));
    assert_int_equal(kept, 0);
    ppsched_config_destroy(config);
}

static void test_lists(void **state)
{
    const double nan_at_2[] = {1, 1, NAN, 1}, infinite[] = {INFINITY}, negative[] = {1, -1, 1, 1}, three[] = {1, 2, 3};
    const double positive[] = {1};
    (void)state;
    expect_bad_list(PPSCHED_QUANTITY_FORWARD_TIMES, nan_at_2, 4, PPSCHED_ERROR_RANGE,
                    "forward_times of stage 2 is NaN; it must be finite and at least 0");
    expect_bad_list(PPSCHED_QUANTITY_BACKWARD_TIMES, infinite, 1, PPSCHED_ERROR_RANGE, "backward_times (value 0) is Infinity");
    expect_bad_list(PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, negative, 4, PPSCHED_ERROR_RANGE,
                    "backward_weight_times of stage 1 is -1");
    expect_bad_list(PPSCHED_QUANTITY_FORWARD_TIMES, three, 3, PPSCHED_ERROR_LENGTH,
                    "forward_times has 3 values; give 1 for all stages or 4, one per stage");
    expect_bad_list(PPSCHED_QUANTITY_P2P_TIME, three, 3, PPSCHED_ERROR_LENGTH, "4, one for each device (row)");
    expect_bad_list(PPSCHED_QUANTITY_OVERLAPPED_TIMES, three, 3, PPSCHED_ERROR_LENGTH, "16 (one per pair of stages)");
    expect_bad_list(PPSCHED_QUANTITY_FORWARD_TIMES, three, SIZE_MAX, PPSCHED_ERROR_LENGTH, " values; give 1 for all stages");
    expect_bad_list(PPSCHED_QUANTITY_MEM_LIMIT, three, 3, PPSCHED_ERROR_LENGTH, "2, one per device");
    expect_bad_list(PPSCHED_QUANTITY_MEM_LIMIT, negative, 2, PPSCHED_ERROR_RANGE, "mem_limit of device 1 is -1");
    expect_bad_list(PPSCHED_QUANTITY_MEM_LIMIT, negative + 1, 1, PPSCHED_ERROR_RANGE, "mem_limit (value 0) is -1");
    expect_bad_list(PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, positive, 1, PPSCHED_ERROR_RANGE, "finite and at most 0");
    expect_bad_list(PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, infinite, 1, PPSCHED_ERROR_RANGE, "Infinity; it must be finite");
    expect_bad_list(PPSCHED_QUANTITY_OVERLAPPED_TIMES, negative, 4, PPSCHED_ERROR_RANGE, "overlapped_times of stage 1 is -1");
    expect_bad_list(199, positive, 1, PPSCHED_ERROR_ARGUMENT, "there is no quantity 199");
    expect_bad_list(1, positive, 1, PPSCHED_ERROR_ARGUMENT, "there is no quantity 1; see enum ppsched_quantity");
    expect_bad_list(-1, positive, 1, PPSCHED_ERROR_ARGUMENT, "there is no quantity -1");
    expect_bad_list(PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE, three, 3, PPSCHED_ERROR_LENGTH, "give 1");
    expect_bad_list(PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE, three + 1, 1, PPSCHED_ERROR_RANGE, "it must be 0 to 1");
}

static void test_failed_list_keeps_the_old_one(void **state)
{
    const double good[] = {1, 2, 3, 4}, bad[] = {1, NAN, 3, 4};
    ppsched_error error;
    ppsched_config *config = make_config(4, 4, 3);
    size_t count = 0;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, good, 4, &error), &error);
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, bad, 4, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(error.stage, 1);
    assert_int_equal(error.position, 1);
    assert_true(ppsched_config_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, &count)[3] == 4);
    assert_int_equal(count, 4);
    ppsched_config_destroy(config);
}

/* Busy time of the only device tells the durations, as gpipe has one F and one B; zb_h1 one F, one I, one W. */
static double busy(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    double result = device_metrics_of(timeline, 0).busy;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return result;
}

static void test_backward_defaults(void **state)
{
    ppsched_config *config = make_config(1, 1, 1);
    (void)state;
    assert_true(busy(config, "gpipe") == 3 && busy(config, "zb_h1") == 3);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 5);
    assert_true(busy(config, "gpipe") == 6 && busy(config, "zb_h1") == 6);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 2);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 4);
    assert_true(busy(config, "gpipe") == 6 && busy(config, "zb_h1") == 7);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_TIMES, NULL, 0, NULL), NULL);
    assert_true(busy(config, "gpipe") == 7 && busy(config, "zb_h1") == 7);
    ppsched_config_destroy(config);
}

static void expect_contradiction(int32_t first, double a, int32_t second, double b, const char *part)
{
    ppsched_error error;
    ppsched_config *config = make_config(1, 1, 1);
    set_number(config, first, a);
    if (second != 0)
        set_number(config, second, b);
    expect_message(ppsched_config_validate(config, &error), PPSCHED_ERROR_RANGE, &error, part);
    ppsched_config_destroy(config);
}

static void test_contradictions(void **state)
{
    (void)state;
    expect_contradiction(PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1, 0, 0, "backward_input_times is given alone");
    expect_contradiction(PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1, 0, 0, "backward_weight_times is given alone");
    expect_contradiction(PPSCHED_QUANTITY_BACKWARD_TIMES, 1, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 2,
                         "is longer than backward_times");
    expect_contradiction(PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -2, 0, 0, "releases more than mem_forward (1) adds");
    expect_contradiction(PPSCHED_QUANTITY_MEM_FORWARD, 3, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -4,
                         "mem_backward_weight releases more");
}

static void test_memory_must_sum_to_zero(void **state)
{
    ppsched_error error;
    ppsched_config *config = make_config(1, 1, 1);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_FORWARD, 0.3);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -0.1);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -0.2);
    expect_ok(ppsched_config_validate(config, &error), &error);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, -0.3);
    expect_message(ppsched_config_validate(config, &error), PPSCHED_ERROR_RANGE, &error, "must sum to 0");
    ppsched_config_destroy(config);
}

static void test_placements(void **state)
{
    const uint32_t map[] = {1, 0, 1, 5};
    ppsched_error error;
    ppsched_config *config = make_config(2, 4, 3);
    (void)state;
    expect_message(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_LINEAR, NULL, 0, &error), PPSCHED_ERROR_REFUSED,
                   &error, "nearest: 2 stages");
    expect_message(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 4, &error), PPSCHED_ERROR_RANGE, &error,
                   "puts stage 3 on device 5; devices are 0 to 1");
    expect_message(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 3, &error), PPSCHED_ERROR_LENGTH, &error,
                   "give 4, one per stage");
    expect_message(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, NULL, 4, &error), PPSCHED_ERROR_ARGUMENT, &error,
                   "list of devices");
    expect_message(ppsched_config_set_placement(config, 9, NULL, 0, &error), PPSCHED_ERROR_ARGUMENT, &error,
                   "there is no placement 9; it must be 0 to 5");
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, &error), &error);
    assert_int_equal(ppsched_config_placement(config), PPSCHED_PLACEMENT_V);
    ppsched_config_destroy(config);
    config = make_config(4, 6, 3);
    expect_message(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_LOOP, NULL, 0, &error), PPSCHED_ERROR_REFUSED, &error,
                   "nearest: 4 or 8 stages");
    ppsched_config_destroy(config);
    config = make_config(40000, 60000, 1); /* 80000 would be too many */
    expect_message(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, &error), PPSCHED_ERROR_REFUSED, &error,
                   "nearest: 40000 stages");
    ppsched_config_destroy(config);
}

static void test_copy_is_independent(void **state)
{
    const uint32_t map[] = {1, 0, 1, 0};
    ppsched_error error;
    ppsched_config *config = make_config(2, 4, 3), *copy = NULL;
    size_t count = 0;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 4);
    expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, 4, &error), &error);
    expect_ok(ppsched_config_set_option(config, "group_size", "three", &error), &error);
    expect_ok(ppsched_config_copy(&copy, config, &error), &error);
    ppsched_config_destroy(config);
    assert_true(ppsched_config_values(copy, PPSCHED_QUANTITY_FORWARD_TIMES, &count)[0] == 4);
    assert_int_equal(ppsched_config_iterations(copy), 2);
    assert_int_equal(ppsched_config_placement(copy), PPSCHED_PLACEMENT_MAP);
    expect_message(ppsched_strategy_fits("interleaved_1f1b", copy, &error), PPSCHED_ERROR_RANGE, &error,
                   "group_size is \"three\"");
    expect_ok(ppsched_config_set_option(copy, "group_size", NULL, &error), &error);
    ppsched_schedule *schedule = make_schedule(copy, "auto");
    for (uint32_t s = 0; s < 4; s++)
        assert_int_equal(ppsched_schedule_device_of(schedule, s, 0), map[s]);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(copy);
}

/* An unknown choice is a wrong argument, as for all choices. */
static void test_sender_waits(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_error error;
    (void)state;
    for (int32_t unknown = -1; unknown <= 2; unknown += 3) {
        expect_message(ppsched_config_set_sender_waits(config, unknown, &error), PPSCHED_ERROR_ARGUMENT, &error,
                       "there is no sender_waits");
        assert_non_null(strstr(error.message, "it must be 0 to 1"));
        assert_int_equal(ppsched_config_sender_waits(config), PPSCHED_SENDER_WAITS_NEVER);
    }
    expect_ok(ppsched_config_set_sender_waits(config, PPSCHED_SENDER_WAITS_LIKE_KIND, &error), &error);
    assert_int_equal(ppsched_config_sender_waits(config), PPSCHED_SENDER_WAITS_LIKE_KIND);
    ppsched_config_destroy(config);
}

static int32_t tell(void *user, const ppsched_progress *progress)
{
    (void)user, (void)progress;
    return 0;
}

/* Also what only the library sets. */
static void test_copy_has_all(void **state)
{
    ppsched_config *config = make_config(2, 2, 3), *copy = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_weight_versions(config, 3, &error), &error);
    expect_ok(ppsched_config_set_split_backward(config, 0, &error), &error);
    expect_ok(ppsched_config_set_forward_only(config, 1, &error), &error);
    expect_ok(ppsched_config_set_sender_waits(config, PPSCHED_SENDER_WAITS_LIKE_KIND, &error), &error);
    expect_ok(ppsched_config_set_progress(config, tell, &error, &error), &error);
    ppi_config_set_role(config, PPI_ROLE_EFFORT, 7);
    config->repeats = 5;
    expect_ok(ppsched_config_copy(&copy, config, &error), &error);
    assert_int_equal(copy->weight_versions, 3);
    assert_true(copy->has_whole_backwards && copy->is_forward_only && copy->senders_wait);
    assert_true(copy->progress == tell && copy->progress_user == &error);
    assert_true(ppi_config_has_role(copy, PPI_ROLE_EFFORT) && copy->roles.value[PPI_ROLE_EFFORT] == 7);
    assert_int_equal(copy->repeats, 5);
    ppsched_config_destroy(copy);
    ppsched_config_destroy(config);
}

/* A look for an option goes through all of them, so there may not be many. */
static void test_most_options(void **state)
{
    ppsched_config *config = make_config(1, 1, 1), *copy = NULL;
    ppsched_error error;
    char name[20];
    (void)state;
    for (int i = 0; i < 256; i++) {
        sprintf(name, "option_%d", i);
        expect_ok(ppsched_config_set_option(config, name, "1", &error), &error);
    }
    assert_int_equal(ppsched_config_set_option(config, "more", "1", &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "option \"more\" is one too many; there may be 256");
    expect_ok(ppsched_config_set_option(config, "option_7", "2", &error), &error);
    expect_ok(ppsched_config_copy(&copy, config, &error), &error);
    expect_ok(ppsched_config_set_option(copy, "option_7", NULL, &error), &error);
    expect_ok(ppsched_config_set_option(copy, "more", "1", &error), &error);
    ppsched_config_destroy(copy);
    ppsched_config_destroy(config);
}

/* The largest of each that config.h names, and one more. */
static void test_largest(void **state)
{
    ppsched_config *config = make_config(1, 1, 1), *other = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_weight_versions(config, 1024, &error), &error);
    assert_int_equal(ppsched_config_set_weight_versions(config, 1025, &error), PPSCHED_ERROR_RANGE);
    expect_ok(ppsched_config_set_slices(config, PPSCHED_MAX_SLICES, &error), &error);
    assert_int_equal(ppsched_config_set_slices(config, PPSCHED_MAX_SLICES + 1, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_config_slices(config), PPSCHED_MAX_SLICES);
    ppsched_config_destroy(config);
    config = make_config(PPSCHED_MAX_STAGES, PPSCHED_MAX_STAGES, 1);
    assert_int_equal(ppsched_config_create(&other, 1, PPSCHED_MAX_STAGES + 1, 1, NULL, &error), PPSCHED_ERROR_RANGE);
    ppsched_config_destroy(config);
    config = make_config(1, 1024, PPSCHED_MAX_CELLS / 1024);
    assert_int_equal(ppsched_config_create(&other, 1, 1024, PPSCHED_MAX_CELLS / 1024 + 1, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_config_set_iterations(config, 2, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_config_set_slices(config, 2, &error), PPSCHED_ERROR_RANGE);
    ppsched_config_destroy(config);
    config = make_config(1, 1, PPSCHED_MAX_CELLS / 4);
    expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    expect_ok(ppsched_config_set_slices(config, 2, &error), &error);
    assert_int_equal(ppsched_config_set_slices(config, 3, &error), PPSCHED_ERROR_RANGE);
    ppsched_config_destroy(config);
}

static void test_null_arguments(void **state)
{
    ppsched_error error;
    (void)state;
    expect_message(ppsched_config_create(NULL, 1, 1, 1, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "out is NULL");
    expect_message(ppsched_config_set_values(NULL, 1, NULL, 0, &error), PPSCHED_ERROR_ARGUMENT, &error, "config is NULL");
    assert_int_equal(ppsched_config_set_iterations(NULL, 1, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_devices(NULL), 0);
    ppsched_config_destroy(NULL);
}

static void test_quantity_names(void **state)
{
    (void)state;
    assert_string_equal(ppsched_quantity_name(PPSCHED_QUANTITY_FORWARD_TIMES), "forward_times");
    assert_string_equal(ppsched_quantity_name(PPSCHED_QUANTITY_GRADIENT_BYTES), "gradient_bytes");
    assert_null(ppsched_quantity_name(0));
    for (int32_t one = -1; one <= LAST_QUANTITY; one++)
        for (int32_t other = one + 1; other <= LAST_QUANTITY && ppsched_quantity_name(one) != NULL; other++)
            assert_true(ppsched_quantity_name(other) == NULL ||
                        strcmp(ppsched_quantity_name(one), ppsched_quantity_name(other)) != 0);
    assert_non_null(ppsched_quantity_name(LAST_QUANTITY));
    assert_null(ppsched_quantity_name(LAST_QUANTITY + 1));
}

/* What a quantity has values for, and what they may be, as config.h says. */
static const struct {
    int32_t quantity;
    char per; /* Stage, Pair of stages, Device, E: device and kind, T: also stage, Link between devices, Microbatch, sliCe, Kind
                     of op; 1: one for all */
    char allowed; /* 0: finite, 0 or more; -: finite, up to 0; a: finite; +: above 0; f: and finite; 1: 1 or more; s: share;
                     n: number of a type */
} quantities[] = {
    {PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE, '1', 's'},
    {PPSCHED_QUANTITY_OVERLAPPED_TIMES, 'P', '0'},
    {PPSCHED_QUANTITY_P2P_TIME, 'L', '0'},
    {PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, 'S', 'a'},
    {PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, 'S', '-'},
    {PPSCHED_QUANTITY_MEM_LIMIT, 'D', '0'},
    {PPSCHED_QUANTITY_P2P_BANDWIDTH, 'L', '+'},
    {PPSCHED_QUANTITY_MEM_OTHER, 'D', '0'},
    {PPSCHED_QUANTITY_SHARDING_BANDWIDTH, 'D', '+'},
    {PPSCHED_QUANTITY_SHARDING_SLOWDOWN, 'D', '1'},
    {PPSCHED_QUANTITY_HOST_BANDWIDTH, 'D', '+'},
    {PPSCHED_QUANTITY_HOST_LATENCY, 'D', '0'},
    {PPSCHED_QUANTITY_HOST_LINK, 'D', '0'},
    {PPSCHED_QUANTITY_MICROBATCH_SCALE, 'M', 'f'},
    {PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, 'M', 'f'},
    {PPSCHED_QUANTITY_SLICE_SCALE, 'C', 'f'},
    {PPSCHED_QUANTITY_MICROBATCH_REQUEST, 'M', '0'},
    {PPSCHED_QUANTITY_OP_OVERHEAD, 'K', '0'},
    {PPSCHED_QUANTITY_DEVICE_OVERHEAD, 'D', '0'},
    {PPSCHED_QUANTITY_COPY_SLOWDOWN, 'D', '1'},
    {PPSCHED_QUANTITY_SEND_OVERHEAD, 'D', '0'},
    {PPSCHED_QUANTITY_DEVICE_SPEEDS, 'D', 'f'},
    {PPSCHED_QUANTITY_DEVICE_SCALE, 'E', 'f'},
    {PPSCHED_QUANTITY_LAYER_TYPES, 'D', 'n'},
    {PPSCHED_QUANTITY_STAGE_SCALE, 'T', '0'},
};

enum { DEVICES = 3, STAGES = 6, MICROBATCHES = 2, SLICES = 5, MOST_VALUES = 80 };

static int is_length(char per, size_t count)
{
    const size_t counts[] = {['S'] = STAGES,
                             ['P'] = STAGES * STAGES,
                             ['D'] = DEVICES,
                             ['L'] = DEVICES * DEVICES,
                             ['M'] = MICROBATCHES,
                             ['C'] = SLICES,
                             ['K'] = 4,
                             ['1'] = 1,
                             ['E'] = 4 * DEVICES,
                             ['T'] = 4 * DEVICES * STAGES};
    return count <= 1 || count == counts[(int)per] || (per == 'P' && count == STAGES) ||
           (per == 'C' && count == (size_t)STAGES * SLICES);
}

static int is_allowed(char allowed, double value)
{
    if (isnan(value))
        return 0;
    if (allowed == '+' || allowed == '1')
        return value > 0 && (allowed == '+' || value >= 1);
    if (allowed == 'n')
        return value == 0 || value == 1;
    return isfinite(value) &&
           (allowed == '-'   ? value <= 0
            : allowed == 'a' ? 1
            : allowed == 'f' ? value > 0
                             : value >= 0) &&
           (allowed != 's' || value <= 1);
}

/* Each length, and each bad value at each place. */
static void try_quantity(ppsched_config *config, int32_t quantity, char per, char allowed)
{
    static const double tried[] = {NAN, -INFINITY, -1e308, -1, -5e-324, 0, 5e-324, 0.5, 1, 1.0000000000000002, 1e308, INFINITY};
    const double fine = allowed == '-' ? -1 : 1;
    double values[MOST_VALUES];
    ppsched_error error;
    for (size_t count = 0; count <= MOST_VALUES; count++) {
        for (size_t i = 0; i < count; i++)
            values[i] = fine;
        assert_int_equal(ppsched_config_set_values(config, quantity, count > 0 ? values : NULL, count, &error),
                         is_length(per, count) ? PPSCHED_OK : PPSCHED_ERROR_LENGTH);
        for (size_t k = 0; k < sizeof tried / sizeof tried[0] && is_length(per, count); k++)
            for (size_t i = 0; i < count; i++) {
                uint32_t place = count > 1 ? (uint32_t)i : PPSCHED_NONE;
                values[i] = tried[k];
                ppsched_status status = ppsched_config_set_values(config, quantity, values, count, &error);
                values[i] = fine;
                assert_int_equal(status, is_allowed(allowed, tried[k]) ? PPSCHED_OK : PPSCHED_ERROR_RANGE);
                if (status == PPSCHED_OK)
                    continue;
                assert_non_null(strstr(error.message, ppsched_quantity_name(quantity)));
                assert_int_equal(error.position, i);
                assert_int_equal(error.stage, count == STAGES && (per == 'S' || per == 'P') ? place
                                              : per == 'C' && count > SLICES                ? place / SLICES
                                                                                            : PPSCHED_NONE);
                assert_int_equal(error.device, per == 'D' ? place : PPSCHED_NONE);
                assert_int_equal(strstr(error.message, "of microbatch") != NULL, per == 'M' && count > 1);
            }
    }
    expect_ok(ppsched_config_set_values(config, quantity, NULL, 0, NULL), NULL);
}

static void test_each_quantity(void **state)
{
    ppsched_config *config = make_config(DEVICES, STAGES, MICROBATCHES);
    (void)state;
    expect_ok(ppsched_config_set_slices(config, SLICES, NULL), NULL);
    for (int32_t quantity = 1; quantity <= LAST_QUANTITY; quantity++) {
        if (ppsched_quantity_name(quantity) == NULL)
            continue;
        char per = 'S', allowed = '0'; /* most of them */
        for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++)
            if (quantities[i].quantity == quantity) {
                per = quantities[i].per;
                allowed = quantities[i].allowed;
            }
        try_quantity(config, quantity, per, allowed);
    }
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_failed_list_keeps_the_old_one),
        cmocka_unit_test(test_backward_defaults),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_memory_must_sum_to_zero),
        cmocka_unit_test(test_placements),
        cmocka_unit_test(test_copy_is_independent),
        cmocka_unit_test(test_copy_has_all),
        cmocka_unit_test(test_sender_waits),
        cmocka_unit_test(test_most_options),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_null_arguments),
        cmocka_unit_test(test_quantity_names),
        cmocka_unit_test(test_each_quantity),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
