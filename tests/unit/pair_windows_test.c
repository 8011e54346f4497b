/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of overlapped pairs: answers by hand, what is refused, and what a config makes of the windows of its stages. */
#include "support/problem.h"

#include <string.h>

enum { COMPUTE, NETWORK, THIRD };

static const ppsched_window forward[] = {{3, COMPUTE, 0}, {2, NETWORK, 0}, {3, COMPUTE, 0}, {2, NETWORK, 0}};
static const ppsched_window backward[] = {{2, NETWORK, 0}, {4, COMPUTE, 0}, {2, NETWORK, 0}, {4, COMPUTE, 0}};
static const ppsched_window weight[] = {{2, COMPUTE, 2}, {2, COMPUTE, 4}};

static ppsched_pair_windows layer(void)
{
    return (ppsched_pair_windows){.size = sizeof(ppsched_pair_windows),
                                  .forward = forward,
                                  .forward_count = 4,
                                  .backward = backward,
                                  .backward_count = 4,
                                  .weight = weight,
                                  .weight_count = 2};
}

static ppsched_pair_times find(const ppsched_pair_windows *pair, ppsched_window_span *spans)
{
    ppsched_pair_times times = {.size = sizeof times};
    ppsched_error error;
    size_t needed = 0;
    expect_ok(ppsched_pair_find_order(spans, spans != NULL ? 16 : 0, &needed, &times, pair, NULL, &error), &error);
    assert_int_equal(needed, pair->forward_count + pair->backward_count + pair->weight_count);
    return times;
}

static void expect_span(const ppsched_window_span *span, int32_t kind, uint32_t index, double start, double end)
{
    assert_int_equal(span->kind, kind);
    assert_int_equal(span->index, index);
    assert_true(span->start == start && span->end == end);
}

static void test_spans_by_hand(void **state)
{
    (void)state;
    ppsched_pair_windows pair = layer();
    ppsched_window_span spans[16];
    pair.weight_count = 0;
    const ppsched_pair_times times = find(&pair, spans);
    assert_true(times.time == 14 && times.bound == 14 && times.serial == 22 && times.is_best == 1);
    expect_span(&spans[0], PPSCHED_KIND_F, 0, 0, 3);
    expect_span(&spans[1], PPSCHED_KIND_B, 0, 0, 2);
    expect_span(&spans[2], PPSCHED_KIND_F, 1, 3, 5);
    expect_span(&spans[3], PPSCHED_KIND_B, 1, 3, 7);
    expect_span(&spans[4], PPSCHED_KIND_F, 2, 7, 10);
    expect_span(&spans[5], PPSCHED_KIND_B, 2, 7, 9);
    expect_span(&spans[6], PPSCHED_KIND_F, 3, 10, 12);
    expect_span(&spans[7], PPSCHED_KIND_B, 3, 10, 14);
    assert_true(times.forward_end == 12 && times.backward_end == 14);
}

static void test_weight_fills_gaps(void **state)
{
    (void)state;
    const ppsched_pair_windows pair = layer();
    const ppsched_pair_times times = find(&pair, NULL);
    assert_true(times.time == 18 && times.is_best == 1 && times.serial == 26); /* 3 + 3 + 4 + 4 + 2 + 2 of compute */
}

/* Each runs at 1 / 2 of its speed until one has ended: 2 of work take 4, then 1 is left of the other. */
static void test_slowdown(void **state)
{
    (void)state;
    const ppsched_window f[] = {{3, COMPUTE, 0}}, b[] = {{2, NETWORK, 0}};
    const ppsched_pair_windows pair = {
        .size = sizeof pair, .forward = f, .forward_count = 1, .backward = b, .backward_count = 1, .slowdown = {2, 2}};
    ppsched_window_span spans[16];
    const ppsched_pair_times times = find(&pair, spans);
    assert_true(times.time == 5 && times.forward_end == 5 && times.backward_end == 4 && times.serial == 5);
}

/* The forward's compute starts at once, as nothing waits on purpose, though the backward then has to wait for it: with the
 * backward first it would be 12. Streams with that order wait. */
static void test_nothing_waits_on_purpose(void **state)
{
    (void)state;
    const ppsched_window f[] = {{1, NETWORK, 0}, {9, COMPUTE, 0}}, b[] = {{2, THIRD, 0}, {1, COMPUTE, 0}, {9, NETWORK, 0}};
    const ppsched_pair_windows pair = {
        .size = sizeof pair, .forward = f, .forward_count = 2, .backward = b, .backward_count = 3};
    const int32_t order[] = {PPSCHED_KIND_F, PPSCHED_KIND_B, PPSCHED_KIND_B, PPSCHED_KIND_F, PPSCHED_KIND_B};
    ppsched_pair_times times = find(&pair, NULL);
    assert_true(times.time == 20 && times.is_best == 1);
    ppsched_error error;
    expect_ok(ppsched_pair_run_order(NULL, 0, NULL, &times, &pair, order, 5, NULL, &error), &error);
    assert_true(times.time == 12 && times.bound == 12 && times.is_best == 1 && times.forward_end == 12);
}

static void test_thousand_windows(void **state)
{
    (void)state;
    static ppsched_window f[500], b[500];
    for (uint32_t i = 0; i < 500; i++) {
        f[i] = (ppsched_window){1 + i % 7, i % 2, 0};
        b[i] = (ppsched_window){1 + i % 5, (i + i / 50) % 2, 0};
    }
    ppsched_pair_windows pair = {.size = sizeof pair, .forward = f, .forward_count = 500, .backward = b, .backward_count = 500};
    ppsched_pair_times times = find(&pair, NULL);
    assert_true(times.is_best == 1 && times.bound == times.time && times.time < times.serial);
}

/* --- what is refused --- */

static void expect_refused(const ppsched_pair_windows *pair, ppsched_status status, const char *words)
{
    ppsched_pair_times times = {.size = sizeof times};
    ppsched_error error;
    assert_int_equal(ppsched_pair_find_order(NULL, 0, NULL, &times, pair, NULL, &error), status);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, error.message);
}

static void test_bad_windows(void **state)
{
    (void)state;
    ppsched_window bad[] = {{1, COMPUTE, 0}, {-1, NETWORK, 0}};
    ppsched_pair_windows pair = layer();
    pair.forward_count = 0;
    expect_refused(&pair, PPSCHED_ERROR_LENGTH, "forward has no windows");
    pair = layer();
    pair.backward_count = 0;
    expect_refused(&pair, PPSCHED_ERROR_LENGTH, "backward has no windows");
    pair.backward = NULL;
    pair.backward_count = 1;
    expect_refused(&pair, PPSCHED_ERROR_ARGUMENT, "backward is NULL");
    pair = layer();
    pair.forward = bad;
    pair.forward_count = 2;
    expect_refused(&pair, PPSCHED_ERROR_RANGE, "window 1 of forward takes -1");
    bad[1] = (ppsched_window){1, 4, 0};
    expect_refused(&pair, PPSCHED_ERROR_RANGE, "window 1 of forward is on channel 4; channels are 0 to 3");
    bad[1] = (ppsched_window){1, 0, 1};
    expect_refused(&pair, PPSCHED_ERROR_RANGE, "window 1 of forward is after 1 of the backward; only windows of weight may be");
    pair = layer();
    pair.weight = bad;
    bad[1] = (ppsched_window){1, 0, 5};
    expect_refused(&pair, PPSCHED_ERROR_RANGE, "window 1 of weight is after 5 windows of the backward, which has 4");
    pair = layer();
    pair.slowdown[1] = 0.5;
    expect_refused(&pair, PPSCHED_ERROR_RANGE, "slowdown of channel 1 is 0.5; it must be finite and at least 1");
    pair = layer();
    pair.reserved = 1;
    expect_refused(&pair, PPSCHED_ERROR_RANGE, "reserved");
    pair = layer();
    pair.forward_count = 1001;
    expect_refused(&pair, PPSCHED_ERROR_LENGTH, "at most 1000 windows");
}

static void expect_bad_order(const int32_t *kinds, size_t count, const char *words)
{
    const ppsched_pair_windows pair = layer();
    ppsched_pair_times times = {.size = sizeof times};
    ppsched_error error;
    assert_int_equal(ppsched_pair_run_order(NULL, 0, NULL, &times, &pair, kinds, count, NULL, &error),
                     PPSCHED_ERROR_INVALID_SCHEDULE);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, error.message);
}

static void test_bad_orders(void **state)
{
    (void)state;
    enum { F = PPSCHED_KIND_F, B = PPSCHED_KIND_B, W = PPSCHED_KIND_W };
    expect_bad_order((const int32_t[]){F, B}, 2, "the order has 2 windows, the pair 10");
    expect_bad_order((const int32_t[]){F, F, F, F, F, B, B, B, B, W}, 10,
                     "position 4 of the order names another window of forward");
    expect_bad_order((const int32_t[]){F, F, F, F, B, W, B, B, B, W}, 10,
                     "position 5 of the order is window 0 of weight, before the 2");
    expect_bad_order((const int32_t[]){F, F, F, F, B, 9, B, B, B, W}, 10, "position 5 of the order has kind 9");
}

/* --- the windows of a config --- */

static double value_of(const ppsched_config *config, int32_t quantity, size_t index)
{
    size_t count = 0;
    const double *values = ppsched_config_values(config, quantity, &count);
    assert_true(index < count);
    return values[index];
}

static double overlapped(const ppsched_config *config, uint32_t stages, uint32_t f, uint32_t b)
{
    return value_of(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, (size_t)f * stages + b);
}

static const ppsched_window short_forward[] = {{1, COMPUTE, 0}, {0.5, NETWORK, 0}};

/* Stages 0 and 2 are like each other, stages 1 and 3 too. */
static void set_stages(ppsched_config *config, ppsched_pair_windows own[2])
{
    own[0] = own[1] = layer();
    own[1].forward = short_forward;
    own[1].forward_count = 2;
    const ppsched_pair_windows *stages[] = {&own[0], &own[1], &own[0], &own[1]};
    ppsched_error error;
    expect_ok(ppsched_config_set_windows(config, stages, 4, &error), &error);
}

static void test_times_of_stages(void **state)
{
    (void)state;
    ppsched_pair_windows own[2];
    ppsched_config *config = make_config(4, 4, 8);
    set_stages(config, own);
    assert_true(value_of(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0) == 10);
    assert_true(value_of(config, PPSCHED_QUANTITY_FORWARD_TIMES, 3) == 1.5);
    assert_true(value_of(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1) == 12);
    assert_true(value_of(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1) == 4);
    assert_null(ppsched_config_values(config, PPSCHED_QUANTITY_BACKWARD_TIMES, NULL));
    for (uint32_t f = 0; f < 4; f++)
        for (uint32_t b = 0; b < 4; b++) {
            ppsched_pair_windows pair = own[b % 2];
            pair.forward = own[f % 2].forward;
            pair.forward_count = own[f % 2].forward_count;
            assert_true(overlapped(config, 4, f, b) == find(&pair, NULL).time);
        }
    assert_true(overlapped(config, 4, 0, 0) != overlapped(config, 4, 1, 0));
    ppsched_config_destroy(config);
}

/* Stages 0 and 1 in one: the forward of 0 then 1, the backward of 1 then 0, and the weight gradient of 1 then 0. */
static void test_fewer_stages(void **state)
{
    (void)state;
    ppsched_pair_windows own[2];
    ppsched_window f[6], b[8], w[4];
    ppsched_config *config = make_config(4, 4, 8), *joined = NULL, *divided = NULL, *smaller = NULL;
    ppsched_error error;
    set_stages(config, own);
    memcpy(f, forward, sizeof forward);
    memcpy(f + 4, short_forward, sizeof short_forward);
    memcpy(b, backward, sizeof backward);
    memcpy(b + 4, backward, sizeof backward);
    memcpy(w, weight, sizeof weight);
    memcpy(w + 2, weight, sizeof weight);
    w[2].after += 4;
    w[3].after += 4;
    ppsched_pair_windows pair = {.size = sizeof pair,
                                 .forward = f,
                                 .forward_count = 6,
                                 .backward = b,
                                 .backward_count = 8,
                                 .weight = w,
                                 .weight_count = 4};
    const double time = find(&pair, NULL).time;
    expect_ok(ppsched_config_with_stages(&joined, config, 2, NULL, NULL, &error), &error);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(overlapped(joined, 2, i / 2, i % 2) == time);
    assert_true(value_of(joined, PPSCHED_QUANTITY_FORWARD_TIMES, 0) == 11.5);
    expect_ok(ppsched_config_with_microbatches(&smaller, joined, 16, &error), &error);
    assert_true(overlapped(smaller, 2, 0, 0) == time / 2);
    assert_int_equal(ppsched_config_with_stages(&divided, config, 8, NULL, NULL, &error), PPSCHED_ERROR_REFUSED);
    assert_non_null(strstr(error.message, "windows of 4 stages cannot be divided into 8"));
    ppsched_config_destroy(config);
    ppsched_config_destroy(joined);
    ppsched_config_destroy(smaller);
}

static void test_one_entry_for_all(void **state)
{
    (void)state;
    const ppsched_pair_windows own = layer(), *stages[] = {&own};
    ppsched_config *config = make_config(2, 4, 8), *joined = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_set_windows(config, stages, 1, &error), &error);
    size_t count = 0;
    assert_true(ppsched_config_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count)[0] == 18 && count == 1);
    expect_ok(ppsched_config_with_stages(&joined, config, 2, NULL, NULL, &error), &error);
    assert_true(value_of(joined, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0) <= 36);
    assert_int_equal(ppsched_config_set_windows(config, stages, 3, &error), PPSCHED_ERROR_LENGTH);
    ppsched_config_destroy(config);
    ppsched_config_destroy(joined);
}

/* Times of pairs that are given stay, whichever came first. */
static void test_given_times_go_over(void **state)
{
    (void)state;
    ppsched_pair_windows own[2];
    ppsched_config *config = make_config(4, 4, 8), *joined = NULL;
    ppsched_error error;
    set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 17);
    set_stages(config, own);
    assert_true(value_of(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0) == 17);
    assert_true(value_of(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0) == 10);
    ppsched_config_destroy(config);
    config = make_config(4, 4, 8);
    set_stages(config, own);
    set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 16);
    expect_ok(ppsched_config_with_stages(&joined, config, 2, NULL, NULL, &error), &error);
    assert_true(value_of(joined, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0) == 32 ||
                value_of(joined, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0) == 16);
    ppsched_config_destroy(config);
    ppsched_config_destroy(joined);
}

static void expect_unlike(ppsched_pair_windows second, const char *words)
{
    const ppsched_pair_windows first = layer(), *stages[] = {&first, &second};
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_error error;
    assert_int_equal(ppsched_config_set_windows(config, stages, 2, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(error.stage, 1);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, error.message);
    assert_null(ppsched_config_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, NULL));
    ppsched_config_destroy(config);
}

static void test_unlike_stages(void **state)
{
    (void)state;
    ppsched_pair_windows second = layer();
    second.weight_count = 0;
    expect_unlike(second, "stage 1 has none of weight and stage 0 has some");
    second = layer();
    second.slowdown[0] = 1.5;
    expect_unlike(second, "slowdown of channel 0 is 1.5 in stage 1 and 0 in stage 0");
}

/* --- layers --- */

static const ppsched_window mixed[] = {{2, COMPUTE, 0}, {1, NETWORK, 0}}, own_weight[] = {{1, COMPUTE, 2}};

static ppsched_layer layer_of(const ppsched_pair_windows *windows)
{
    return (ppsched_layer){.size = sizeof(ppsched_layer),
                           .name = "decoder",
                           .count = 2,
                           .forward_time = 3,
                           .backward_input_time = 3,
                           .backward_weight_time = 1,
                           .windows = windows};
}

static ppsched_pair_windows mixed_windows(void)
{
    return (ppsched_pair_windows){.size = sizeof(ppsched_pair_windows),
                                  .forward = mixed,
                                  .forward_count = 2,
                                  .backward = mixed,
                                  .backward_count = 2,
                                  .weight = own_weight,
                                  .weight_count = 1};
}

static ppsched_config *config_of_layers(const ppsched_layer *layer, const uint8_t *recomputes, const uint32_t *counts)
{
    const ppsched_layer *const list[] = {layer};
    const ppsched_split split = {sizeof split, 2, counts, recomputes};
    const ppsched_layers *layers = NULL;
    ppsched_config *base = make_config(2, 2, 4), *config = NULL;
    ppsched_error error;
    expect_ok(ppsched_layers_create(&layers, list, 1, NULL, &error), &error);
    expect_ok(ppsched_config_from_layers(&config, base, layers, &split, &error), &error);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
    return config;
}

static void expect_windows(const ppsched_window *windows, size_t count, const ppsched_window *wanted, size_t wanted_count)
{
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++) {
        assert_true(windows[i].time == wanted[i].time);
        assert_int_equal(windows[i].channel, wanted[i].channel);
        assert_int_equal(windows[i].after, wanted[i].after);
    }
}

/* Both layers in stage 0; stage 1 is empty. Recomputation as long as a forward comes first, less makes a window longer. */
static void test_stages_of_layers(void **state)
{
    (void)state;
    static const uint32_t both[] = {2, 0};
    static const uint8_t kinds[] = {1, 2};
    static const ppsched_recompute recomputes[] = {{"selective", 0.5, 0}, {"full", 6, 0}};
    static const ppsched_window both_forwards[] = {{2, COMPUTE, 0}, {1, NETWORK, 0}, {2, COMPUTE, 0}, {1, NETWORK, 0}},
                                both_weights[] = {{1, COMPUTE, 2}, {1, COMPUTE, 4}},
                                late_weight[] = {{1, COMPUTE, 4}, {1, COMPUTE, 6}},
                                again[] = {{4, COMPUTE, 0}, {2, NETWORK, 0},   {2, COMPUTE, 0},
                                           {1, NETWORK, 0}, {2.5, COMPUTE, 0}, {1, NETWORK, 0}};
    const ppsched_pair_windows own = mixed_windows();
    ppsched_pair_windows found = {.size = sizeof found};
    ppsched_layer layer = layer_of(&own);
    ppsched_config *config = config_of_layers(&layer, NULL, both);
    assert_int_equal(ppsched_config_get_windows(&found, config, 0, NULL), PPSCHED_OK);
    expect_windows(found.forward, found.forward_count, both_forwards, 4);
    expect_windows(found.backward, found.backward_count, both_forwards, 4);
    expect_windows(found.weight, found.weight_count, both_weights, 2);
    found.size = sizeof found;
    assert_true(overlapped(config, 2, 0, 0) == find(&found, NULL).time);
    assert_int_equal(ppsched_config_get_windows(&found, config, 1, NULL), PPSCHED_OK);
    expect_windows(found.forward, found.forward_count, (const ppsched_window[]){{0, 0, 0}}, 1);
    ppsched_config_destroy(config);
    layer.recomputes = recomputes;
    layer.recompute_count = 2;
    config = config_of_layers(&layer, kinds, both);
    assert_int_equal(ppsched_config_get_windows(&found, config, 0, NULL), PPSCHED_OK);
    expect_windows(found.backward, found.backward_count, again, 6);
    expect_windows(found.weight, found.weight_count, late_weight, 2);
    ppsched_config_destroy(config);
}

static void expect_refused_layers(const ppsched_layer *first, const ppsched_layer *second, const char *words)
{
    const ppsched_layer *const list[] = {first, second};
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    assert_int_equal(ppsched_layers_create(&layers, list, second != NULL ? 2 : 1, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_null(layers);
    if (strstr(error.message, words) == NULL)
        fail_msg("%s: not in: %s", words, error.message);
}

static void test_bad_layers(void **state)
{
    (void)state;
    ppsched_pair_windows own = mixed_windows(), slow = mixed_windows(), wrong = mixed_windows();
    ppsched_layer layer = layer_of(&own), other = layer_of(NULL);
    expect_refused_layers(&layer, &other, "layer entry 1 (decoder): all entries have windows, or none has");
    layer.forward_time = 4;
    expect_refused_layers(&layer, NULL, "its windows of forward take 3; they must take as long as the layer, 4");
    layer = layer_of(&own);
    layer.backward_weight_time = 2;
    expect_refused_layers(&layer, NULL, "its windows of weight take 1; they must take as long as the layer, 2");
    slow.slowdown[1] = 1.5;
    layer = layer_of(&own), other = layer_of(&slow);
    expect_refused_layers(&layer, &other, "slowdown of channel 1 is 1.5, in entry 0 0");
    wrong.slowdown[0] = 0.5;
    other = layer_of(&wrong);
    expect_refused_layers(&layer, &other, "slowdown of channel 0 is 0.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans_by_hand),
        cmocka_unit_test(test_weight_fills_gaps),
        cmocka_unit_test(test_slowdown),
        cmocka_unit_test(test_nothing_waits_on_purpose),
        cmocka_unit_test(test_thousand_windows),
        cmocka_unit_test(test_bad_windows),
        cmocka_unit_test(test_bad_orders),
        cmocka_unit_test(test_times_of_stages),
        cmocka_unit_test(test_fewer_stages),
        cmocka_unit_test(test_one_entry_for_all),
        cmocka_unit_test(test_given_times_go_over),
        cmocka_unit_test(test_unlike_stages),
        cmocka_unit_test(test_stages_of_layers),
        cmocka_unit_test(test_bad_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
