/* SPDX-License-Identifier: Apache-2.0 */
/* Known orders: Megatron-LM's table, 1F1B's rules, and which schedules are recognised as it. */
#include "support/problem.h"

#include "order/compare.h"
#include "order/max_in_flight.h"
#include "order/order_1f1b.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSED = PPSCHED_ERROR_REFUSED, ROOM = 64 };

/* --- the table and the warm-up --- */

/* Five microbatches in groups of three, on two chunks. */
static void test_table(void **state)
{
    static const uint32_t wanted[][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 0}, {4, 0}, {3, 1}, {4, 1}};
    struct ppi_table table = ppi_table_start(2, 5, 3);
    (void)state;
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++, ppi_table_advance(&table)) {
        assert_int_equal(table.microbatch, wanted[k][0]);
        assert_int_equal(table.chunk, wanted[k][1]);
    }
}

static void expect_warmups(struct ppi_order_1f1b order, uint32_t slope, const uint64_t wanted[4])
{
    for (uint32_t d = 0; d < 4; d++)
        assert_int_equal(ppi_sloped_warmup(&order, d, slope), wanted[d]);
}

static void test_warmups(void **state)
{
    (void)state;
    expect_warmups((struct ppi_order_1f1b){4, 1, 8, 4, false}, 1, (const uint64_t[4]){3, 2, 1, 0});
    expect_warmups((struct ppi_order_1f1b){4, 1, 2, 4, false}, 1, (const uint64_t[4]){2, 2, 1, 0}); /* no more than there are */
    expect_warmups((struct ppi_order_1f1b){4, 1, 8, 4, true}, 2, (const uint64_t[4]){7, 5, 3, 1});
    expect_warmups((struct ppi_order_1f1b){4, 2, 8, 4, false}, 2, (const uint64_t[4]){10, 8, 6, 4});
    expect_warmups((struct ppi_order_1f1b){4, 3, 8, 6, false}, 1, (const uint64_t[4]){15, 14, 13, 12});
    const struct ppi_order_1f1b plain = {4, 1, 8, 4, false}, interleaved = {4, 2, 8, 4, true};
    assert_int_equal(ppi_warmup_of(&plain, 1), 2);
    assert_int_equal(ppi_warmup_of(&interleaved, 1), 9);
}

/* --- what is put --- */

static void expect_ops(const ppsched_op *ops, const struct ppi_op_writer *writer, const char *tokens)
{
    char text[400] = "", token[PPI_UNIT_TOKEN_SIZE];
    for (const ppsched_op *op = ops; op < writer->next; op += ppi_unit_length(op)) {
        ppi_unit_token(token, op);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", op > ops ? " " : "", token);
    }
    assert_string_equal(text, tokens);
}

static void test_rules(void **state)
{
    const struct ppi_order_1f1b plain = {2, 2, 4, 2, false}, overlapped = {2, 2, 4, 2, true};
    ppsched_op ops[ROOM];
    (void)state;
    struct ppi_op_writer writer = {.next = ops, .end = ops + ROOM, .slices = 1};
    ppi_put_1f1b(1, 3, 1, false, &writer);
    expect_ops(ops, &writer, "1F0 1F1 1B0 1F2 1B1 1B2");
    writer.next = ops;
    ppi_put_1f1b(1, 3, 1, true, &writer);
    expect_ops(ops, &writer, "1F0 (1F1;1B0)OVERLAP_F_B (1F2;1B1)OVERLAP_F_B 1B2");
    writer.next = ops;
    ppi_put_interleaved_1f1b(&plain, 1, ppi_warmup_of(&plain, 1), &writer);
    expect_ops(ops, &writer, "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
    writer.next = ops;
    ppi_put_interleaved_1f1b(&overlapped, 1, ppi_warmup_of(&overlapped, 1), &writer);
    expect_ops(ops, &writer,
               "1F0 1F1 3F0 (3F1;3B0)OVERLAP_F_B (1F2;3B1)OVERLAP_F_B (1F3;1B0)OVERLAP_F_B (3F2;1B1)OVERLAP_F_B "
               "(3F3;3B2)OVERLAP_F_B 3B3 1B2 1B3");
}

/* With one chunk both rules are one. */
static void test_one_chunk(void **state)
{
    (void)state;
    for (uint32_t m = 1; m < 9; m++)
        for (uint32_t warmup = 0; warmup <= m; warmup++) {
            const struct ppi_order_1f1b order = {4, 1, m, 4, m % 2 == 1};
            ppsched_op ops[ROOM], others[ROOM];
            struct ppi_op_writer writer = {.next = ops, .end = ops + ROOM, .slices = 1},
                                 other = {.next = others, .end = others + ROOM, .slices = 1};
            ppi_put_1f1b(2, m, warmup, order.overlapped, &writer);
            ppi_put_interleaved_1f1b(&order, 2, warmup, &other);
            const ppsched_queue queue = {.ops = ops, .count = (size_t)(writer.next - ops)};
            assert_int_equal(ppi_first_difference(&queue, others, (size_t)(other.next - others)), PPSCHED_NONE);
        }
}

static void test_differences(void **state)
{
    ppsched_op ops[ROOM], others[ROOM];
    struct ppi_op_writer writer = {.next = ops, .end = ops + ROOM, .slices = 1},
                         other = {.next = others, .end = others + ROOM, .slices = 1};
    (void)state;
    ppi_put_1f1b(0, 2, 1, false, &writer);
    ppi_put_1f1b(0, 2, 1, false, &other);
    const ppsched_queue queue = {.ops = ops, .count = 4}, shorter = {.ops = ops, .count = 3};
    assert_int_equal(ppi_first_difference(&queue, others, 4), PPSCHED_NONE);
    assert_int_equal(ppi_first_difference(&queue, others, 3), 3);
    assert_int_equal(ppi_first_difference(&shorter, others, 4), 3);
    others[2].flags = PPSCHED_OP_FLAG_OVERLAPPED;
    assert_int_equal(ppi_first_difference(&queue, others, 4), 2);
}

/* --- which schedules are it --- */

/* The sizes that a strategy's schedule shows, and whether it is that order. */
static ppsched_status recognise(const char *strategy, int64_t devices, int64_t stages, int64_t microbatches, uint32_t group,
                                bool overlapped, struct ppi_order_1f1b *order, ppsched_error *error)
{
    ppsched_config *config = make_config(devices, stages, microbatches);
    char text[16];
    snprintf(text, sizeof text, "%u", group);
    if (group != 0)
        expect_ok(ppsched_config_set_option(config, "group_size", text, error), error);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    *order = ppi_order_of(schedule);
    order->overlapped = overlapped;
    ppsched_status status = ppi_has_order(schedule, order, "A runtime", error);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return status;
}

static void test_recognised(void **state)
{
    struct ppi_order_1f1b order;
    ppsched_error error;
    (void)state;
    for (uint32_t m = 1; m < 12; m++) {
        expect_ok(recognise("1f1b", 4, 4, m, 0, false, &order, &error), &error);
        assert_true(order.devices == 4 && order.chunks == 1 && order.microbatches == m && order.group_size == 4);
    }
    for (uint32_t chunks = 2; chunks < 4; chunks++)
        for (uint32_t group = 4; group < 8; group++) {
            expect_ok(recognise("interleaved_1f1b", 3, 3 * chunks, 8, group, false, &order, &error), &error);
            assert_true(order.chunks == chunks && order.group_size == group);
        }
    expect_ok(recognise("interleaved_1f1b_overlap", 2, 4, 8, 0, true, &order, &error), &error);
    assert_int_equal(recognise("interleaved_1f1b_overlap", 2, 4, 8, 0, false, &order, &error), REFUSED);
}

static void test_not_recognised(void **state)
{
    static const char *const others[] = {"gpipe",  "eager_1f1b", "zb_h1",      "zb_h2",
                                         "v_half", "zbv",        "looped_bfs", "interleaved_zb"};
    struct ppi_order_1f1b order;
    ppsched_error error;
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        int64_t stages = i < 4 ? 4 : 8;
        assert_int_equal(recognise(others[i], 4, stages, 8, 0, false, &order, &error), REFUSED);
        assert_non_null(strstr(error.message, "A runtime runs 1F1B orders: device "));
    }
    assert_int_equal(recognise("1f1b_no_flush", 4, 4, 8, 0, false, &order, &error), REFUSED);
    assert_non_null(strstr(error.message, "flushes after every iteration"));
    assert_int_equal(recognise("gpipe", 2, 2, 4, 0, false, &order, &error), REFUSED);
    assert_string_equal(error.message,
                        "A runtime runs 1F1B orders: device 0 has 0F2 at position 2, where A runtime would run 0B0");
    assert_true(error.device == 0 && error.position == 2);
}

/* --- what V schedules hold --- */

static void test_held(void **state)
{
    static const char *const strategies[] = {"zbv", "v_half", "v_min"};
    static const uint32_t wanted[][3] = {{4, 4, 4}, {6, 4, 4}, {8, 6, 4}, {10, 6, 6}, {12, 8, 6}}; /* D from 2 */
    (void)state;
    for (uint32_t d = 2; d < 7; d++)
        for (uint32_t part = 1; part <= 3; part++) {
            ppsched_config *config = make_config(d, 2 * d, 3 * d);
            ppsched_schedule *schedule = make_schedule(config, strategies[part - 1]);
            ppsched_timeline *timeline = make_timeline(schedule, config); /* an F adds 1 */
            assert_int_equal(ppi_v_held(d, part), wanted[d - 2][part - 1]);
            for (uint32_t k = 0; k < d; k++)
                assert_true(device_metrics_of(timeline, k).peak_memory <= ppi_v_held(d, part));
            ppsched_timeline_destroy(timeline);
            ppsched_schedule_release(schedule);
            ppsched_config_destroy(config);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_warmups),     cmocka_unit_test(test_rules),
        cmocka_unit_test(test_one_chunk),      cmocka_unit_test(test_differences), cmocka_unit_test(test_recognised),
        cmocka_unit_test(test_not_recognised), cmocka_unit_test(test_held),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
