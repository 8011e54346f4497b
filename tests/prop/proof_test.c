/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that a lowered schedule ends, over shuffled orders, many of which hang: it agrees with a plain execution of the
 * channel model, and names a circle that is one. */
#include "support/lowering.h"
#include "support/proofs.h"
#include "support/rounds.h"

#include <string.h>

/* The same orders on devices that are numbered from the other end. */
static ppsched_schedule *renumbered(const ppsched_schedule *schedule, const ppsched_config *config)
{
    uint32_t devices = ppsched_schedule_devices(schedule), stages = ppsched_schedule_stages(schedule), map[64];
    ppsched_config *own = NULL;
    ppsched_builder *builder = NULL;
    ppsched_schedule *other = NULL;
    ppsched_error error;
    assert_true(stages <= 64);
    for (uint32_t s = 0; s < stages; s++)
        map[s] = devices - 1 - ppsched_schedule_device_of(schedule, s, 0);
    expect_ok(ppsched_config_copy(&own, config, &error), &error);
    expect_ok(ppsched_config_set_placement(own, PPSCHED_PLACEMENT_MAP, map, stages, &error), &error);
    expect_ok(ppsched_builder_create(&builder, own, &error), &error);
    for (uint32_t d = 0; d < devices; d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        expect_ok(ppsched_builder_append(builder, devices - 1 - d, ops, count, &error), &error);
    }
    expect_ok(ppsched_builder_finish(&other, builder, &error), &error);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(own);
    return other;
}

/* Which circle is a shortest does not hang on how devices are numbered; counts those that are longer than two. */
static void expect_as_short(const ppsched_schedule *schedule, const ppsched_config *config, uint32_t *longer)
{
    ppsched_schedule *other = renumbered(schedule, config);
    for (int32_t order = PPSCHED_CHANNEL_ORDER_GROUP; order <= PPSCHED_CHANNEL_ORDER_SENDS; order++)
        for (uint32_t rendezvous = 0; rendezvous < 2; rendezvous++) {
            const ppsched_channel_model model = {.size = sizeof model, .order = order, .rendezvous = rendezvous};
            ppsched_wait none[1];
            size_t count = 0, again = 0;
            ppsched_status status = ppsched_schedule_prove(none, 1, &count, schedule, &model, NULL);
            assert_int_equal(ppsched_schedule_prove(none, 1, &again, other, &model, NULL), status);
            assert_int_equal(again, count);
            *longer += count > 2;
        }
    ppsched_schedule_release(other);
}

static void test_shuffled_orders(void **state)
{
    uint64_t seed = 5;
    int unsafe = 0;
    uint32_t longer = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(250); trial++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        if (strcmp(strategy, "dualpipe") == 0 || strcmp(strategy, "looped_bfs") == 0) {
            ppsched_config_destroy(config);
            continue;
        }
        ppsched_schedule *schedule = make_schedule(config, strategy);
        expect_ok(ppsched_config_set_placement(config, ppsched_schedule_placement(schedule), NULL, 0, NULL), NULL);
        ppsched_schedule *lowered = lower(schedule, config, 1 + (int32_t)random_below(&seed, 3), 0);
        ppsched_schedule *other = shuffled(lowered, config, &seed);
        check_all_models(other, strategy, 0, &unsafe);
        expect_as_short(other, config, &longer);
        ppsched_schedule_release(other);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# of %d runs of shuffled orders %d hang\n", 250 * MODELS, unsafe);
    assert_true(unsafe > ROUNDS(1000) && longer > ROUNDS(100));
}

static ppsched_schedule *schedule_of(const char *const rows[2][12], size_t count)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    expect_ok(ppsched_builder_create(&builder, config, NULL), NULL);
    for (uint32_t d = 0; d < 2; d++)
        append_tokens(builder, d, rows[d], count);
    expect_ok(ppsched_builder_finish(&schedule, builder, NULL), NULL);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
    return schedule;
}

/* The example of the documentation: two devices, each sends before it receives. */
static void test_circle_in_words(void **state)
{
    static const char *const rows[2][12] = {{"0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1"},
                                            {"1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F1", "1F1", "1B1", "1SEND_B1"}};
    ppsched_schedule *schedule = schedule_of(rows, 8);
    ppsched_channel_model model = {.size = sizeof model, .rendezvous = 1};
    ppsched_wait cycle[4];
    ppsched_error error;
    size_t count = 0;
    (void)state;
    assert_int_equal(ppsched_schedule_prove(cycle, 4, &count, schedule, &model, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(count, 2);
    assert_string_equal(error.message, "device 0 waits in 0SEND_F1 for device 1, which waits in 1SEND_B0 for device 0");
    assert_int_equal(cycle[0].device, 0);
    assert_int_equal(cycle[0].position, 3);
    assert_int_equal(cycle[1].device, 1);
    assert_int_equal(cycle[1].position, 3);
    model.rendezvous = 0;
    expect_ok(ppsched_schedule_prove(cycle, 4, &count, schedule, &model, &error), &error);
    assert_int_equal(count, 0);
    ppsched_schedule_release(schedule);
}

/* A receive that comes before that of an older transfer waits for its own device: no send is to blame, done or not. */
static void test_circle_of_receives_in_another_order(void **state)
{
    static const char *const rows[2][12] = {{"0F0", "0F1", "0SEND_F0", "0SEND_F1", "0RECV_B1", "0B1", "0RECV_B0", "0B0"},
                                            {"1RECV_F1", "1F1", "1B1", "1SEND_B1", "1RECV_F0", "1F0", "1B0", "1SEND_B0"}};
    static const int32_t orders[] = {PPSCHED_CHANNEL_ORDER_DIRECTION, PPSCHED_CHANNEL_ORDER_PAIR};
    ppsched_schedule *schedule = schedule_of(rows, 8);
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const ppsched_channel_model model = {.size = sizeof model, .order = orders[i / 2], .rendezvous = i % 2, .batched = 1};
        ppsched_wait cycle[2];
        ppsched_error error;
        size_t count = 0;
        assert_int_equal(ppsched_schedule_prove(cycle, 2, &count, schedule, &model, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_string_equal(
            error.message,
            "device 1 waits in 1RECV_F1 for its 1RECV_F0, which comes later, at position 4, as 0SEND_F0 comes first");
        assert_int_equal(count, 1);
        assert_int_equal(cycle[0].device, 1);
        assert_int_equal(cycle[0].position, 0);
    }
    ppsched_schedule_release(schedule);
}

/* Gradients are received in another order than they are sent in: where sends wait for nobody the device waits for itself. */
static void test_device_that_waits_for_itself(void **state)
{
    static const char *const rows[2][12] = {{"0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B1", "0B1", "0RECV_B0", "0B0"},
                                            {"1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F1", "1F1", "1B1", "1SEND_B1"}};
    static const char own[] =
        "device 0 waits in 0RECV_B1 for its 0RECV_B0, which comes later, at position 6, as 1SEND_B0 comes first";
    ppsched_schedule *schedule = schedule_of(rows, 8);
    ppsched_wait cycle[4];
    ppsched_error error;
    size_t count = 0;
    (void)state;
    for (int32_t order = PPSCHED_CHANNEL_ORDER_GROUP; order <= PPSCHED_CHANNEL_ORDER_PAIR; order++) {
        ppsched_channel_model model = {.size = sizeof model, .order = order};
        assert_int_equal(ppsched_schedule_prove(cycle, 4, &count, schedule, &model, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_int_equal(count, 1);
        assert_string_equal(error.message, own);
        model.rendezvous = 1;
        assert_int_equal(ppsched_schedule_prove(cycle, 4, &count, schedule, &model, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_int_equal(count, order == PPSCHED_CHANNEL_ORDER_GROUP ? 3 : 2);
        assert_string_equal(error.message,
                            order == PPSCHED_CHANNEL_ORDER_GROUP
                                ? "device 0 waits in 0SEND_F1 for device 1, which waits in 1SEND_B0 for device 0, which waits "
                                  "in 0RECV_B1 for its 0SEND_F1, which comes before, at position 3"
                                : "device 0 waits in 0RECV_B1 for device 1, which waits in 1SEND_B0 for device 0");
    }
    ppsched_schedule_release(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffled_orders),
        cmocka_unit_test(test_circle_in_words),
        cmocka_unit_test(test_circle_of_receives_in_another_order),
        cmocka_unit_test(test_device_that_waits_for_itself),
    };
    return cmocka_run_group_tests_name("proof", tests, NULL, NULL);
}
