/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation with transfers: cases that can be told by hand, and bad input. */
#include "support/lowering.h"
#include "support/uneven.h"

#include <math.h>
#include <string.h>

static ppsched_timeline *timed(const ppsched_schedule *lowered, const ppsched_config *config, int32_t order,
                               uint32_t rendezvous, uint32_t blocking)
{
    ppsched_channel_model model = {.size = sizeof model, .order = order, .rendezvous = rendezvous, .blocking = blocking};
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, &error), &error);
    return timeline;
}

static ppsched_idle idle_of(const ppsched_timeline *timeline, uint32_t device)
{
    ppsched_idle idle = {.size = sizeof idle};
    assert_int_equal(ppsched_timeline_get_idle(&idle, timeline, device, NULL), PPSCHED_OK);
    return idle;
}

/* Starts of a device's compute ops. */
static void expect_starts(const ppsched_timeline *timeline, uint32_t device, const double *starts, size_t count)
{
    size_t all = 0, k = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(timeline), device), &all);
    const ppsched_span *spans = ppsched_timeline_spans(timeline, device, &all);
    for (size_t i = 0; i < all; i++)
        if (ops[i].kind <= PPSCHED_KIND_W) {
            assert_true(k < count);
            if (spans[i].start != starts[k])
                fail_msg("device %u, compute op %zu starts at %g, not %g", device, k, spans[i].start, starts[k]);
            k++;
        }
    assert_int_equal(k, count);
}

/* What a device holds of received values: times and levels. */
static void expect_receives(const ppsched_timeline *timeline, uint32_t device, const double *steps, size_t count)
{
    ppsched_memory_point points[16];
    size_t needed = 0;
    assert_int_equal(
        ppsched_timeline_get_memory_of_cause(points, 16, &needed, timeline, device, PPSCHED_MEMORY_CAUSE_RECEIVES, NULL),
        PPSCHED_OK);
    for (size_t i = 0; i < needed && i < count; i++)
        if (points[i].time != steps[2 * i] || points[i].memory != steps[2 * i + 1])
            fail_msg("device %u, step %zu: %g from %g on", device, i, points[i].memory, points[i].time);
    assert_int_equal(needed, count);
}

/* The ops of two devices. */
static ppsched_schedule *of_two_queues(const ppsched_config *config, const char *const *first, size_t first_count,
                                       const char *const *second, size_t second_count)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    append_tokens(builder, 0, first, first_count);
    append_tokens(builder, 1, second, second_count);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

static void set_two(ppsched_config *config, int32_t quantity, double first, double second)
{
    const double values[] = {first, second};
    expect_ok(ppsched_config_set_values(config, quantity, values, 2, NULL), NULL);
}

/* GPipe on two devices: three activations in a row share the edge, then three gradients. Each takes it for 3, and is there
 * 0.5 later. */
static void test_transfers_share_their_link(void **state)
{
    static const double first[] = {0, 1, 2, 17, 20, 23}, second[] = {4.5, 7.5, 10.5, 11.5, 13.5, 15.5};
    ppsched_config *config = make_config(2, 2, 3);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.5);
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 2);
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 6);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_JUST_IN_TIME, 0);
    ppsched_timeline *timeline = timed(lowered, config, PPSCHED_CHANNEL_ORDER_NONE, 0, 0);
    ppsched_idle idle = idle_of(timeline, 0);
    (void)state;
    expect_starts(timeline, 0, first, 6);
    expect_starts(timeline, 1, second, 6);
    assert_true(metrics_of(timeline).makespan == 25);
    assert_true(idle.fill == 0 && idle.neighbour == 10.5 && idle.transfer == 5.5 && idle.drain == 0);
    idle = idle_of(timeline, 1);
    assert_true(idle.fill == 1 && idle.neighbour == 0 && idle.transfer == 7.5 && idle.drain == 7.5);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* The same where a device has its next message on the way when the one before is there: 3.5 each. */
static void test_sends_go_one_after_another(void **state)
{
    static const double first[] = {0, 1, 2, 18, 21.5, 25}, second[] = {4.5, 8, 11.5, 12.5, 14.5, 16.5};
    ppsched_config *config = make_config(2, 2, 3);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.5);
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 2);
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 6);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_JUST_IN_TIME, 0);
    ppsched_timeline *timeline = timed(lowered, config, PPSCHED_CHANNEL_ORDER_SENDS, 0, 0);
    (void)state;
    expect_starts(timeline, 0, first, 6);
    expect_starts(timeline, 1, second, 6);
    assert_true(metrics_of(timeline).makespan == 27);
    assert_true(idle_of(timeline, 1).transfer == 8.5 && idle_of(timeline, 1).head_of_line == 0);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* What is static is there before the first op: three activations of GPipe come on top, the last with the third forward. */
static void test_peaks_are_above_what_is_static(void **state)
{
    static const double fixed[] = {7, 11}, peaks[] = {7 + 3 * 2, 11 + 3 * 5}, forward[] = {2, 5};
    ppsched_config *config = make_config(2, 2, 3);
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_STATIC, fixed, 2, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD, forward, 2, NULL), NULL);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_JUST_IN_TIME, 0);
    ppsched_timeline *timeline = timed(lowered, config, PPSCHED_CHANNEL_ORDER_NONE, 0, 0);
    for (uint32_t d = 0; d < 2; d++) {
        const ppsched_device_metrics figures = device_metrics_of(timeline, d);
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), NULL);
        assert_true(figures.peak_memory == peaks[d]);
        assert_true(ops[figures.peak_position].kind == PPSCHED_KIND_F && ops[figures.peak_position].microbatch == 2);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Device 0 asks for its gradient once it has sent, though its send takes until 4, unless sends block. Device 1 has F from 4 to
 * 5 and B to 7; its gradient is there at 10. */
static void test_receives_wait_for_no_send_that_goes_on(void **state)
{
    static const char *const one[] = {"0F0", "0SEND_F0", "0RECV_B0", "0B0"}, *const other[] = {"1RECV_F0", "1F0", "1B0",
                                                                                               "1SEND_B0"};
    ppsched_config *config = make_config(2, 2, 1);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 2);
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 6);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2);
    set_number(config, PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD, 5);
    ppsched_schedule *schedule = of_two_queues(config, one, 4, other, 4);
    for (uint32_t blocking = 0; blocking <= 1; blocking++) {
        ppsched_timeline *timeline = timed(schedule, config, PPSCHED_CHANNEL_ORDER_NONE, 0, blocking);
        expect_receives(timeline, 0, (const double[]){0, 0, blocking != 0 ? 4 : 1, 5, 12, 0}, 3);
        ppsched_timeline_destroy(timeline);
    }
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* GPipe on two devices, whose calls take 0.25 and 0.5. Device 0: F0 to 1, its send is called for until 1.25, F1 to 2.25, its
 * send until 2.5, the receive of B0 until 2.75. Device 1: a call to 0.5, F0 once it is sent, 1.25 to 2.25, a call to 2.75. */
static void test_calls_take_the_device(void **state)
{
    static const double first[] = {0, 1.25, 6.25, 8.75}, second[] = {1.25, 2.75, 3.75, 6.25}, calls[] = {0.25, 0.5};
    ppsched_config *config = make_config(2, 2, 2);
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2);
    set_number(config, PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD, 5);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SEND_OVERHEAD, calls, 2, NULL), NULL);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_JUST_IN_TIME, 0);
    ppsched_timeline *timeline = timed(lowered, config, PPSCHED_CHANNEL_ORDER_NONE, 0, 0);
    ppsched_timeline *plain = make_timeline(lowered, config);
    ppsched_idle idle = idle_of(timeline, 0);
    (void)state;
    expect_starts(timeline, 0, first, 4);
    expect_starts(timeline, 1, second, 4);
    assert_true(metrics_of(timeline).makespan == 10.75 && metrics_of(plain).makespan == 9);
    /* four calls of its own; 0.5 and 0.25 of those with which device 1 sends what it waits for */
    assert_true(idle.calls == 1.75 && idle.neighbour == 3 && idle.fill == 0 && idle.drain == 0 && idle.head_of_line == 0);
    idle = idle_of(timeline, 1);
    assert_true(idle.calls == 2.25 && idle.fill == 0.5 && idle.drain == 2 && idle.neighbour == 0 && idle.head_of_line == 0);
    assert_true(idle_of(plain, 0).calls == 0 && idle_of(plain, 1).calls == 0);
    assert_true(device_metrics_of(timeline, 1).busy == 6 && device_metrics_of(timeline, 1).idle == 4.75);
    expect_receives(timeline, 0, (const double[]){0, 0, 2.5, 5, 8.25, 0, 8.25, 5, 10.75, 0}, 5);
    expect_receives(timeline, 1, (const double[]){0, 0, 0, 3, 1.25, 0, 2.25, 3, 2.75, 0}, 5);
    ppsched_timeline_destroy(plain);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* What is called for together goes together: of three devices the middle one sends F0 and
 * asks for F1 at 2.25 + 2 * 0.25, or one after the other. */
static void test_calls_of_a_batch(void **state)
{
    static const char text[] = "0F0,0SEND_F0,0F1,0SEND_F1\n"
                               "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1\n"
                               "2RECV_F0,2F0,2RECV_F1,2F1\n";
    static const double starts[2][2] = {{2.75, 4}, {2.5, 4}};
    ppsched_config *config = make_config(3, 3, 2);
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_SEND_OVERHEAD, 0.25);
    expect_ok(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, text, sizeof text - 1, NULL, &error), &error);
    for (uint32_t batched = 0; batched < 2; batched++) {
        ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_NONE, .batched = batched};
        ppsched_timeline *timeline = NULL;
        expect_ok(ppsched_schedule_evaluate_transfers(&timeline, schedule, config, &model, 0, &error), &error);
        expect_starts(timeline, 0, (const double[]){0, 1.25}, 2);
        expect_starts(timeline, 1, (const double[]){1.25, 2.75}, 2);
        expect_starts(timeline, 2, starts[!batched], 2);
        ppsched_timeline_destroy(timeline);
    }
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_calls_that_are_refused(void **state)
{
    static const double bad[] = {-1, NAN, HUGE_VAL};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const double pair[] = {0, bad[i]};
        assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_SEND_OVERHEAD, pair, 2, &error),
                         PPSCHED_ERROR_RANGE);
        assert_int_equal(error.device, 1);
    }
    assert_string_equal(error.message, "send_overhead of device 1 is Infinity; it must be finite and at least 0");
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_SEND_OVERHEAD, (const double[]){0, 0, 0}, 3, &error),
                     PPSCHED_ERROR_LENGTH);
    assert_string_equal(error.message, "send_overhead has 3 values; give 1 for all devices or 2, one per device");
    set_number(config, PPSCHED_QUANTITY_SEND_OVERHEAD, 1e308);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_JUST_IN_TIME, 0);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 0, &error), PPSCHED_ERROR_RANGE);
    assert_null(timeline);
    print_message("# %s\n", error.message);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* A device that blocks cannot compute while it sends. Device 0: F0 0 to 1, its send to 4, F1 to 5, its send to 8. */
static void test_blocking_sends_take_the_device(void **state)
{
    static const double first[] = {0, 4, 13, 17}, second[] = {4, 8, 9, 13};
    ppsched_config *config = make_config(2, 2, 2);
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 1);
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 3);
    set_number(config, PPSCHED_QUANTITY_GRADIENT_BYTES, 2);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_JUST_IN_TIME, 0);
    ppsched_timeline *timeline = timed(lowered, config, PPSCHED_CHANNEL_ORDER_PAIR, 1, 1);
    (void)state;
    /* device 1: F0 4 to 5; its receive of F1 is there at 8; B0 9 to 11, its send to 13; B1 13 to 15, its send to 17 */
    assert_true(idle_of(timeline, 0).transfer == 3 + 3 + 2 + 2);
    expect_starts(timeline, 0, first, 4);
    expect_starts(timeline, 1, second, 4);
    assert_true(metrics_of(timeline).makespan == 19);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* PyTorch appends a receive when the sender computes; with one queue a device later sends then wait behind it, which its users
 * see as a bubble in the warm-up of interleaved schedules (pytorch/pytorch#188833). */
static void test_early_receives_hold_up_the_line(void **state)
{
    ppsched_config *config = make_config(4, 8, 8);
    double waiting[2] = {0, 0}, makespan[2];
    (void)state;
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.25);
    ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b");
    for (int i = 0; i < 2; i++) {
        ppsched_schedule *lowered = lower(schedule, config, i == 0 ? PPSCHED_LOWERING_PYTORCH : PPSCHED_LOWERING_JUST_IN_TIME,
                                          0);
        ppsched_timeline *free = timed(lowered, config, PPSCHED_CHANNEL_ORDER_NONE, 0, 0);
        ppsched_timeline *queued = timed(lowered, config, PPSCHED_CHANNEL_ORDER_GROUP, 0, 0);
        for (uint32_t d = 0; d < 4; d++) {
            assert_true(idle_of(free, d).head_of_line == 0);
            waiting[i] += idle_of(queued, d).head_of_line;
        }
        makespan[i] = metrics_of(queued).makespan - metrics_of(free).makespan;
        ppsched_timeline_destroy(queued);
        ppsched_timeline_destroy(free);
        ppsched_schedule_release(lowered);
    }
    print_message("# waiting in line: %g by PyTorch's lowering, %g just in time; longer by %g and %g\n", waiting[0], waiting[1],
                  makespan[0], makespan[1]);
    assert_true(waiting[0] > 0 && waiting[1] < waiting[0] && makespan[1] < makespan[0]);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_bad_input(void **state)
{
    static const double bad[] = {0, -1, NAN, -INFINITY};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_PYTORCH, 0);
    ppsched_timeline *timeline = NULL;
    ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_SENDS + 1};
    ppsched_error error;
    double value = INFINITY;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &bad[i], 1, &error),
                         PPSCHED_ERROR_RANGE);
        assert_non_null(strstr(error.message, "p2p_bandwidth"));
    }
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &value, 1, &error), &error);
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, &value, 1, &error),
                     PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, &error),
                     PPSCHED_ERROR_ARGUMENT);
    model.order = 0;
    model.blocking = 2;
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, &error), PPSCHED_ERROR_RANGE);
    model.size = 3;
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, &error),
                     PPSCHED_ERROR_STRUCT_SIZE);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 2, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_evaluate_transfers(NULL, lowered, config, NULL, 0, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, NULL, config, NULL, 0, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, NULL, NULL, 0, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, schedule, config, NULL, 0, &error),
                     PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_non_null(strstr(error.message, "receive"));
    value = 5e-324;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &value, 1, &error), &error);
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 1e300);
    assert_int_equal(ppsched_schedule_evaluate(&timeline, lowered, config, 0, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 0, &error), PPSCHED_ERROR_RANGE);
    ppsched_config *other = make_config(3, 3, 2);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, other, NULL, 0, &error), PPSCHED_ERROR_MISMATCH);
    assert_null(timeline);
    ppsched_config_destroy(other);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Device 0 stands still in its OFFLOAD_WAIT from 1 to 4, and runs its second forward then; device 1 from 7 to 12, with no
 * message to come, and from 16 to 18 for its RELOAD. */
static void test_waits_for_copies_hold_up_a_device(void **state)
{
    static const char *const one[] = {"0F0",      "0SEND_F0", "0OFFLOAD0", "0OFFLOAD_WAIT0", "0F1", "0SEND_F1",
                                      "0RELOAD0", "0RECV_B0", "0B0",       "0RECV_B1",       "0B1"},
                             *const other[] = {"1RECV_F0", "1F0",      "1RECV_F1", "1F1", "1OFFLOAD1", "1OFFLOAD_WAIT1",
                                               "1B0",      "1SEND_B0", "1RELOAD1", "1B1", "1SEND_B1"};
    static const double first[] = {0, 4, 16, 22}, second[] = {1, 5, 12, 18};
    ppsched_config *config = make_config(2, 2, 2);
    (void)state;
    set_two(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1, 2);
    set_two(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2, 4);
    set_two(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 3, 5);
    set_two(config, PPSCHED_QUANTITY_RELOAD_TIMES, 1, 2);
    ppsched_schedule *schedule = of_two_queues(config, one, 11, other, 11);
    ppsched_timeline *timeline = timed(schedule, config, PPSCHED_CHANNEL_ORDER_NONE, 0, 0);
    expect_starts(timeline, 0, first, 4);
    expect_starts(timeline, 1, second, 4);
    assert_true(metrics_of(timeline).makespan == 24);
    assert_true(idle_of(timeline, 0).reload == 3 && idle_of(timeline, 1).reload == 7);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Device 0 has its gradient from device 1 at 7.5, half a unit after it was made, and waits on for its RELOAD until 15. */
static void test_what_came_while_a_copy_is_awaited(void **state)
{
    static const char *const one[] = {"0F0", "0SEND_F0", "0OFFLOAD0", "0OFFLOAD_WAIT0", "0RELOAD0", "0RECV_B0", "0B0"},
                             *const other[] = {"1RECV_F0", "1F0", "1B0", "1SEND_B0"};
    static const double first[] = {0, 15}, second[] = {1.5, 3};
    ppsched_config *config = make_config(2, 2, 1);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.5);
    set_two(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1, 1.5);
    set_two(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2, 4);
    set_two(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 3, 0);
    set_two(config, PPSCHED_QUANTITY_RELOAD_TIMES, 11, 0);
    ppsched_schedule *schedule = of_two_queues(config, one, 7, other, 4);
    ppsched_timeline *timeline = timed(schedule, config, PPSCHED_CHANNEL_ORDER_NONE, 0, 0);
    ppsched_idle idle = idle_of(timeline, 0);
    expect_starts(timeline, 0, first, 2);
    expect_starts(timeline, 1, second, 2);
    assert_true(metrics_of(timeline).makespan == 17);
    assert_true(idle.neighbour + idle.imbalance == 3 && idle.transfer == 0.5 && idle.reload == 3 + 7.5);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* An UNSHARD takes its device's channel, and holds up the ops of its stage on that device alone: device 1 does not wait for
 * device 0's, which takes until 8. */
static void test_weights_hold_up_their_own_device(void **state)
{
    static const char *const one[] = {"0UNSHARD", "1UNSHARD", "0F0", "0SEND_F0", "0RECV_B0", "0B0"}, *const other[] = {
                                                                                                         "1RECV_F0", "1F0",
                                                                                                         "1B0", "1SEND_B0"};
    static const double first[] = {3, 12}, second[] = {4, 6};
    ppsched_config *config = make_config(2, 2, 1);
    (void)state;
    set_two(config, PPSCHED_QUANTITY_UNSHARD_TIMES, 3, 5);
    set_two(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1, 2);
    set_two(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 4, 6);
    ppsched_schedule *schedule = of_two_queues(config, one, 6, other, 4);
    ppsched_timeline *timeline = timed(schedule, config, PPSCHED_CHANNEL_ORDER_NONE, 0, 0);
    expect_starts(timeline, 0, first, 2);
    expect_starts(timeline, 1, second, 2);
    assert_true(metrics_of(timeline).makespan == 16);
    assert_true(idle_of(timeline, 0).weights == 3 && idle_of(timeline, 1).weights == 0);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Costs that contradict each other are told, also where ops keep less. */
static void test_bad_costs_with_copies(void **state)
{
    ppsched_config *config = make_config(2, 2, 3);
    ppsched_schedule *schedule = make_schedule(config, "1f1b"), *copied = NULL;
    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_PYTORCH, 0);
    const ppsched_offload_options options = {.size = sizeof options, .chunks = 1};
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_schedule_offload(&copied, schedule, config, &options, &error), &error);
    ppsched_schedule *both = lower(copied, config, PPSCHED_LOWERING_PYTORCH, 0);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 3);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 0, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, both, config, NULL, 0, &error), PPSCHED_ERROR_RANGE);
    assert_null(timeline);
    ppsched_schedule_release(both);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(copied);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* What is left on a device when all has ended. */
static double left_on(const ppsched_timeline *timeline, uint32_t device)
{
    static ppsched_memory_point points[4096];
    size_t count = 0;
    assert_int_equal(ppsched_timeline_get_memory(points, 4096, &count, timeline, device, NULL), PPSCHED_OK);
    assert_true(count > 0 && count <= 4096);
    return points[count - 1].memory;
}

/* Whatever the microbatches hold, of all causes, is given back in the end: as much is left as where they are alike. */
static void test_all_is_given_back(void **state)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    uint64_t seed = 3;
    (void)state;
    for (int i = 0; i < 12; i++) {
        const struct uneven sizes = uneven_of_seed(random_next(&seed));
        double left[2][UNEVEN_DEVICES];
        for (int k = 0; k < 2; k++) {
            uint64_t own = sizes.seed;
            ppsched_config *config = make_uneven(&sizes);
            ppsched_timeline *timeline = NULL;
            ppsched_error error;
            add_uneven(config, UNEVEN_CAUSES, &own);
            if (k == 1)
                add_uneven(config, UNEVEN_MICRO_SLICES, &own);
            ppsched_schedule *schedule = make_schedule(config, "looped_bfs"), *lowered = NULL;
            expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
            expect_ok(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 0, &error), &error);
            for (uint32_t d = 0; d < UNEVEN_DEVICES; d++)
                left[k][d] = left_on(timeline, d);
            ppsched_timeline_destroy(timeline);
            ppsched_schedule_release(lowered);
            ppsched_schedule_release(schedule);
            ppsched_config_destroy(config);
        }
        for (uint32_t d = 0; d < UNEVEN_DEVICES; d++)
            if (!(left[0][d] - left[1][d] < 1e-9 && left[1][d] - left[0][d] < 1e-9))
                fail_msg("device %u is left with %.17g, and where microbatches differ %.17g", d, left[0][d], left[1][d]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers_share_their_link),
        cmocka_unit_test(test_sends_go_one_after_another),
        cmocka_unit_test(test_peaks_are_above_what_is_static),
        cmocka_unit_test(test_receives_wait_for_no_send_that_goes_on),
        cmocka_unit_test(test_calls_take_the_device),
        cmocka_unit_test(test_calls_of_a_batch),
        cmocka_unit_test(test_calls_that_are_refused),
        cmocka_unit_test(test_blocking_sends_take_the_device),
        cmocka_unit_test(test_early_receives_hold_up_the_line),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_waits_for_copies_hold_up_a_device),
        cmocka_unit_test(test_what_came_while_a_copy_is_awaited),
        cmocka_unit_test(test_weights_hold_up_their_own_device),
        cmocka_unit_test(test_bad_costs_with_copies),
        cmocka_unit_test(test_all_is_given_back),
    };
    return cmocka_run_group_tests_name("transfers", tests, NULL, NULL);
}
