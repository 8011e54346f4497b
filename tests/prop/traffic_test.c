/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and links of lowered orders, over random schedules, held against counts of what is in flight. */
#include "support/lowering.h"
#include "support/proofs.h"
#include "support/rounds.h"

#include <string.h>

/* The first op of a send's device that can only run when the other device has used the value, by looking at all it sends. */
static uint32_t released_at(const struct plain *plain, uint32_t d, size_t i)
{
    ppsched_op receive = partner_of(&plain->ops[d][i]);
    uint32_t peer = device_of(plain, receive.stage, receive.microbatch);
    for (size_t k = consumer_of(plain, peer, &receive) + 1; k < plain->count[peer]; k++) {
        ppsched_op back = partner_of(&plain->ops[peer][k]);
        if (is_send(&plain->ops[peer][k]) && device_of(plain, back.stage, back.microbatch) == d) {
            size_t consumer = consumer_of(plain, d, &back);
            return consumer > i ? (uint32_t)consumer : PPSCHED_NONE;
        }
    }
    return PPSCHED_NONE;
}

/* Slots are never shared by two receives in flight, and are as many as there are at most in flight. */
static void check_buffers(const struct plain *plain, uint32_t d)
{
    static ppsched_op_buffer buffers[MOST_OPS];
    static size_t taken_until[MOST_OPS];
    uint32_t slots = 0, flight = 0, most = 0;
    ppsched_error error;
    expect_ok(ppsched_schedule_get_buffers(buffers, MOST_OPS, NULL, &slots, plain->schedule, d, &error), &error);
    memset(taken_until, 0, sizeof taken_until);
    for (size_t i = 0; i < plain->count[d]; i++) {
        const ppsched_op *op = &plain->ops[d][i];
        if (is_receive(op)) {
            assert_int_equal(buffers[i].until, consumer_of(plain, d, op));
            assert_true(buffers[i].slot < slots && taken_until[buffers[i].slot] <= i);
            taken_until[buffers[i].slot] = buffers[i].until;
            most = ++flight > most ? flight : most;
        } else {
            assert_int_equal(buffers[i].slot, PPSCHED_NONE);
            assert_int_equal(buffers[i].until, is_send(op) ? released_at(plain, d, i) : PPSCHED_NONE);
        }
        for (size_t k = 0; k < i; k++)
            flight -= is_receive(&plain->ops[d][k]) && buffers[k].until == i;
    }
    assert_int_equal(slots, most);
}

static void check_links(const struct plain *plain)
{
    ppsched_link links[MOST_DEVICES * MOST_DEVICES];
    ppsched_error error;
    size_t count = 0, messages = 0, sends = 0;
    expect_ok(ppsched_schedule_get_links(links, MOST_DEVICES * MOST_DEVICES, &count, plain->schedule, &error), &error);
    for (size_t k = 0; k < count; k++) {
        uint32_t flight = 0, most = 0, own = 0;
        for (size_t i = 0; i < plain->count[links[k].receiver]; i++) {
            const ppsched_op *op = &plain->ops[links[k].receiver][i];
            for (size_t j = 0; j < i; j++) { /* consumed by this op */
                const ppsched_op *earlier = &plain->ops[links[k].receiver][j];
                if (is_receive(earlier) && consumer_of(plain, links[k].receiver, earlier) == i) {
                    ppsched_op send = partner_of(earlier);
                    flight -= device_of(plain, send.stage, send.microbatch) == links[k].sender;
                }
            }
            if (!is_receive(op))
                continue;
            ppsched_op send = partner_of(op);
            bool mine = device_of(plain, send.stage, send.microbatch) == links[k].sender;
            own += mine;
            flight += mine;
            most = flight > most ? flight : most;
        }
        assert_int_equal(links[k].transfers, own);
        assert_int_equal(links[k].most_in_flight, most);
        messages += own;
    }
    for (uint32_t d = 0; d < ppsched_schedule_devices(plain->schedule); d++)
        for (size_t i = 0; i < plain->count[d]; i++) {
            const ppsched_op *op = &plain->ops[d][i], other = partner_of(op);
            bool is_transfer = is_send(op) || is_receive(op);
            uint32_t peer = ppsched_schedule_peer_of(plain->schedule, op);
            assert_int_equal(peer, is_transfer ? device_of(plain, other.stage, other.microbatch) : PPSCHED_NONE);
            sends += is_send(op);
        }
    assert_int_equal(messages, sends);
}

static void test_traffic(void **state)
{
    static struct plain plain;
    uint64_t seed = 6;
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        uint32_t path = random_below(&seed, 4);
        ppsched_schedule *lowered = path == 3 ? lower_ahead(schedule, 1 + random_below(&seed, 4))
                                              : lower(schedule, config, 1 + (int32_t)path, 0);
        ppsched_op_buffer none[1];
        uint32_t slots = 0;
        plain.schedule = lowered;
        for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++)
            plain.ops[d] = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &plain.count[d]);
        for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++)
            check_buffers(&plain, d);
        check_links(&plain);
        assert_int_equal(ppsched_schedule_get_buffers(none, 1, NULL, &slots, lowered, 0, NULL), PPSCHED_ERROR_BUFFER);
        assert_int_equal(ppsched_schedule_get_buffers(none, 1, NULL, &slots, lowered, 99, NULL), PPSCHED_ERROR_RANGE);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_traffic)};
    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
