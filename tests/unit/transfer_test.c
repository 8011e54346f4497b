/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: their numbers, what they are, and where their ops stand, against a search through all ops. */
#include "support/lowering.h"

#include "ir/transfer.h"

#include <string.h>

static ppsched_op op_of(uint8_t kind, uint32_t stage, uint32_t microbatch)
{
    return (ppsched_op){.microbatch = microbatch, .stage = (uint16_t)stage, .kind = kind};
}

/* V placement: stages 2 and 3 of 6 are on one device. */
static ppsched_schedule *make_v(ppsched_config **config)
{
    *config = make_config(3, 6, 4);
    return make_schedule(*config, "zbv");
}

/* What one stage hands on has the number of what the other takes; at the ends of the model there is nothing. */
static void test_numbers(void **state)
{
    static const uint8_t forwards[][2] = {{PPSCHED_KIND_F, PPSCHED_KIND_F}, {PPSCHED_KIND_SEND_F, PPSCHED_KIND_RECV_F}};
    static const uint8_t backwards[][2] = {{PPSCHED_KIND_B, PPSCHED_KIND_I}, {PPSCHED_KIND_SEND_B, PPSCHED_KIND_RECV_B}};
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = make_v(&config);
    bool used[48] = {false};
    (void)state;
    assert_int_equal(ppi_transfer_numbers(schedule), 48);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t m = 0; m < 4; m++) {
            for (uint32_t s = 0; s + 1 < 6; s++) {
                const ppsched_op give = op_of(forwards[k][0], s, m), take = op_of(forwards[k][1], s + 1, m);
                const ppsched_op back = op_of(backwards[k][0], s + 1, m), taken = op_of(backwards[k][1], s, m);
                assert_int_equal(ppi_output_of(schedule, &give), 2 * ((s + 1) * 4 + m));
                assert_int_equal(ppi_input_of(schedule, &take), 2 * ((s + 1) * 4 + m));
                assert_int_equal(ppi_output_of(schedule, &back), 2 * (s * 4 + m) + 1);
                assert_int_equal(ppi_input_of(schedule, &taken), 2 * (s * 4 + m) + 1);
                used[2 * ((s + 1) * 4 + m)] = used[2 * (s * 4 + m) + 1] = true;
            }
            const ppsched_op first = op_of(forwards[k][1], 0, m), last = op_of(forwards[k][0], 5, m);
            const ppsched_op end = op_of(backwards[k][0], 0, m), start = op_of(backwards[k][1], 5, m);
            assert_int_equal(ppi_input_of(schedule, &first), PPSCHED_NONE);
            assert_int_equal(ppi_output_of(schedule, &last), PPSCHED_NONE);
            assert_int_equal(ppi_output_of(schedule, &end), PPSCHED_NONE);
            assert_int_equal(ppi_input_of(schedule, &start), PPSCHED_NONE);
        }
    for (uint32_t n = 0; n < 48; n++)
        assert_int_equal(used[n], n >= 8 ? n < 40 || n % 2 == 0 : n % 2 == 1);
    const ppsched_op weight = op_of(PPSCHED_KIND_W, 3, 0), gather = op_of(PPSCHED_KIND_UNSHARD, 3, PPSCHED_NONE);
    assert_int_equal(ppi_input_of(schedule, &weight), PPSCHED_NONE);
    assert_int_equal(ppi_output_of(schedule, &gather), PPSCHED_NONE);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Both ends tell of the same transfer, and none is between stages of one device. */
static void test_transfers_cross_devices(void **state)
{
    static const uint32_t devices[] = {0, 1, 2, 2, 1, 0};
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = make_v(&config);
    (void)state;
    for (uint32_t s = 0; s + 1 < 6; s++) {
        const ppsched_op give = op_of(PPSCHED_KIND_F, s, 2), take = op_of(PPSCHED_KIND_F, s + 1, 2);
        const ppsched_op back = op_of(PPSCHED_KIND_I, s + 1, 2), taken = op_of(PPSCHED_KIND_B, s, 2);
        struct ppi_transfer out, in;
        memset(&out, 0, sizeof out);
        memset(&in, 0, sizeof in);
        assert_int_equal(ppi_transfer_out(schedule, &give, &out), s != 2);
        assert_int_equal(ppi_transfer_in(schedule, &take, &in), s != 2);
        assert_memory_equal(&out, &in, sizeof in);
        if (s != 2) {
            const ppsched_op send = op_of(PPSCHED_KIND_SEND_F, s, 2), receive = op_of(PPSCHED_KIND_RECV_F, s + 1, 2);
            assert_true(ppi_is_same_op(&in.send, &send) && ppi_is_same_op(&in.receive, &receive));
            assert_true(in.from == devices[s] && in.to == devices[s + 1]);
        }
        assert_int_equal(ppi_transfer_out(schedule, &back, &out), s != 2);
        assert_int_equal(ppi_transfer_in(schedule, &taken, &in), s != 2);
        assert_memory_equal(&out, &in, sizeof in);
        assert_true(in.from == devices[s + 1] && in.to == devices[s]);
    }
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* The op of one of two kinds for a stage and a microbatch, by a search through all. */
static uint32_t search(const ppsched_schedule *schedule, uint8_t kind, uint8_t other, uint32_t stage, uint32_t microbatch)
{
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const ppsched_op *op = &schedule->ops[i];
        if ((op->kind == kind || op->kind == other) && op->stage == stage && op->microbatch == microbatch)
            return i;
    }
    return PPSCHED_NONE;
}

static void expect_index(const ppsched_schedule *schedule)
{
    struct ppi_transfers transfers;
    ppsched_error error;
    uint32_t stages = schedule->shape.stages;
    expect_ok(ppi_transfers_find(&transfers, schedule, &error), &error);
    for (uint32_t s = 0; s < stages; s++)
        for (uint32_t m = 0; m < ppi_total_microbatches(&schedule->shape); m++) {
            const ppsched_op f = op_of(PPSCHED_KIND_F, s, m), b = op_of(PPSCHED_KIND_B, s, m);
            const struct ppi_transfer_ops *ahead = &transfers.ops[ppi_number_of(schedule, &f)];
            const struct ppi_transfer_ops *back = &transfers.ops[ppi_number_of(schedule, &b)];
            uint32_t before = s > 0 ? s - 1 : PPSCHED_NONE, after = s + 1 < stages ? s + 1 : PPSCHED_NONE;
            assert_int_equal(ahead->producer, search(schedule, PPSCHED_KIND_F, PPSCHED_KIND_F, before, m));
            assert_int_equal(ahead->send, search(schedule, PPSCHED_KIND_SEND_F, PPSCHED_KIND_SEND_F, before, m));
            assert_int_equal(ahead->receive, search(schedule, PPSCHED_KIND_RECV_F, PPSCHED_KIND_RECV_F, s, m));
            assert_int_equal(ahead->consumer, search(schedule, PPSCHED_KIND_F, PPSCHED_KIND_F, s, m));
            assert_int_equal(back->producer, search(schedule, PPSCHED_KIND_B, PPSCHED_KIND_I, after, m));
            assert_int_equal(back->send, search(schedule, PPSCHED_KIND_SEND_B, PPSCHED_KIND_SEND_B, after, m));
            assert_int_equal(back->receive, search(schedule, PPSCHED_KIND_RECV_B, PPSCHED_KIND_RECV_B, s, m));
            assert_int_equal(back->consumer, search(schedule, PPSCHED_KIND_B, PPSCHED_KIND_I, s, m));
            assert_int_equal(ppi_is_paired(ahead), ahead->send != PPSCHED_NONE);
        }
    ppi_transfers_clear(&transfers);
}

/* As generated, and lowered. */
static void test_index(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int i = 0; i < 40; i++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_JUST_IN_TIME, 0);
        expect_index(schedule);
        expect_index(lowered);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

/* 0F0 0SEND_F0 0SEND_F0 | 1RECV_F0 1F0, and a send to no stage. */
static void test_repeated_ops(void **state)
{
    const ppsched_op first[] = {op_of(PPSCHED_KIND_F, 0, 0), op_of(PPSCHED_KIND_SEND_F, 0, 0),
                                op_of(PPSCHED_KIND_SEND_F, 0, 0)};
    const ppsched_op second[] = {op_of(PPSCHED_KIND_RECV_F, 1, 0), op_of(PPSCHED_KIND_F, 1, 0),
                                 op_of(PPSCHED_KIND_SEND_F, 1, 0)};
    ppsched_config *config = make_config(2, 2, 1);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    struct ppi_transfers transfers;
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_append(builder, 0, first, 3, &error), &error);
    expect_ok(ppsched_builder_append(builder, 1, second, 3, &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    expect_ok(ppi_transfers_make(&transfers, schedule, &error), &error);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(ppi_transfers_add(&transfers, i / 3, i), i != 2);
    const struct ppi_transfer_ops *ops = &transfers.ops[2];
    assert_true(ops->producer == 0 && ops->send == PPI_REPEATED && ops->receive == 3 && ops->consumer == 4);
    assert_false(ppi_is_paired(ops));
    ppi_transfers_clear(&transfers);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* Places from PPI_REPEATED on say that there is no op, or no one op. */
static void test_as_many_ops_as_can_be_told_apart(void **state)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = make_v(&config), large = *schedule;
    struct ppi_transfers transfers;
    ppsched_error error;
    (void)state;
    large.op_count = PPI_REPEATED;
    assert_int_equal(ppi_transfers_make(&transfers, &large, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "4294967294 ops are too many to match sends and receives");
    large.op_count--;
    expect_ok(ppi_transfers_make(&transfers, &large, &error), &error);
    ppi_transfers_clear(&transfers);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_transfers_cross_devices),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_repeated_ops),
        cmocka_unit_test(test_as_many_ops_as_can_be_told_apart),
    };
    return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
