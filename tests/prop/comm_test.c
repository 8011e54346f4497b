/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering and its proof, over thousands of random schedules: lowered orders keep the compute ops, "safe" and "deadlock" agree
 * with a plain execution of the channel model, and what claims to be safe is safe. */
#include "support/channel_rules.h"
#include "support/lowering.h"
#include "support/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS = 4 * 8, MOST_LINKS = 64 };

/* --- a plain execution of the model: every comm op is looked at again and again until nothing changes --- */

static bool step_comm(struct plain *plain, uint32_t d, size_t i)
{
    const ppsched_op *op = &plain->ops[d][i];
    ppsched_op other = partner_of(op);
    uint32_t peer = device_of(plain, other.stage, other.microbatch);
    if (plain->done[d][i] || !has_turn(plain, d, i))
        return false;
    if (is_send(op) && !plain->model->rendezvous)
        return plain->done[d][i] = true;
    if (is_send(op))
        return false; /* its receive does both */
    size_t k = find(plain, peer, &other);
    bool can = plain->model->rendezvous ? has_turn(plain, peer, k) && !plain->done[peer][k] : plain->done[peer][k];
    if (!can || !is_oldest(plain, peer, k))
        return false;
    return plain->done[peer][k] = plain->done[d][i] = true;
}

static bool step_device(struct plain *plain, uint32_t d)
{
    if (plain->position[d] == plain->count[d])
        return false;
    const ppsched_op *op = &plain->ops[d][plain->position[d]];
    ppsched_op receive;
    if (plain->model->blocking && !(plain->model->batched && is_comm(op)))
        for (size_t i = 0; i < plain->position[d]; i++)
            if (is_comm(&plain->ops[d][i]) && !plain->done[d][i])
                return false;
    if (receive_of(plain, d, op, &receive) && !plain->done[d][find(plain, d, &receive)])
        return false;
    plain->position[d]++;
    return true;
}

static bool ends(struct plain *plain)
{
    uint32_t devices = ppsched_schedule_devices(plain->schedule);
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t d = 0; d < devices; d++) {
            while (step_device(plain, d))
                progress = true;
            for (size_t i = 0; i < plain->position[d]; i++)
                if ((is_send(&plain->ops[d][i]) || is_receive(&plain->ops[d][i])) && step_comm(plain, d, i))
                    progress = true;
        }
    }
    for (uint32_t d = 0; d < devices; d++)
        for (size_t i = 0; i < plain->count[d]; i++)
            if (plain->position[d] < plain->count[d] || (is_comm(&plain->ops[d][i]) && !plain->done[d][i]))
                return false;
    return true;
}

static bool ends_plainly(const ppsched_schedule *schedule, const ppsched_channel_model *model)
{
    static struct plain plain;
    plain_start(&plain, schedule, model);
    return ends(&plain);
}

/* --- schedules and lowerings --- */

/* The order without its comm ops is the one that was lowered. */
static void expect_same_compute(const ppsched_schedule *lowered, const ppsched_schedule *schedule)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t ours = 0, theirs = 0, k = 0;
        const ppsched_op *all = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &ours);
        const ppsched_op *compute = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &theirs);
        for (size_t i = 0; i < ours; i++)
            if (!is_send(&all[i]) && !is_receive(&all[i])) {
                assert_true(k < theirs && is_same(&all[i], &compute[k]) && all[i].flags == compute[k].flags);
                k++;
            }
        assert_int_equal(k, theirs);
    }
}

/* A link waits in a send or a receive of its queue; for the other end of that, or for something on its own device. Of that is
 * the next link (NULL: not known). */
static void check_link(const ppsched_schedule *lowered, const ppsched_wait *link, const ppsched_wait *next)
{
    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, link->device), &count);
    assert_true(is_send(&link->op) || is_receive(&link->op));
    assert_true(link->position < count && is_same(&ops[link->position], &link->op));
    ppsched_op other = partner_of(&link->op);
    if (next != NULL && next->device != link->device)
        assert_int_equal(next->device, ppsched_schedule_device_of(lowered, other.stage, other.microbatch));
}

/* The links of a circle each wait for the next one's device, and the plain execution agrees. */
static void check_proof(const ppsched_schedule *lowered, const ppsched_channel_model *model, const char *what, int must_be_safe)
{
    ppsched_wait circle[MOST_LINKS];
    ppsched_error error;
    size_t count = 0;
    ppsched_status status = ppsched_schedule_prove(circle, MOST_LINKS, &count, lowered, model, &error);
    bool safe = ends_plainly(lowered, model);
    if ((status == PPSCHED_OK) != safe)
        fail_msg("%s, order %d, rendezvous %u, batched %u, blocking %u: proved %s, but it %s (%s)", what, model->order,
                 model->rendezvous, model->batched, model->blocking, status == PPSCHED_OK ? "safe" : "unsafe",
                 safe ? "ends" : "hangs", status == PPSCHED_OK ? "" : error.message);
    if (must_be_safe && !safe)
        fail_msg("%s is not safe: %s", what, error.message);
    if (safe)
        return;
    assert_int_equal(status, PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_true(count > 0);
    for (size_t i = 0; i < count && i < MOST_LINKS; i++)
        check_link(lowered, &circle[i], i + 1 == count ? &circle[0] : i + 1 < MOST_LINKS ? &circle[i + 1] : NULL);
}

static void check_all_models(const ppsched_schedule *lowered, const char *what, int must_be_safe, int *unsafe)
{
    for (int32_t order = PPSCHED_CHANNEL_ORDER_GROUP; order <= PPSCHED_CHANNEL_ORDER_SENDS; order++)
        for (uint32_t bits = 0; bits < 8; bits++) {
            ppsched_channel_model model = {
                .size = sizeof model, .order = order, .rendezvous = bits % 2, .batched = bits / 2 % 2, .blocking = bits / 4};
            check_proof(lowered, &model, what, must_be_safe);
            *unsafe += ppsched_schedule_prove(NULL, 0, NULL, lowered, &model, NULL) != PPSCHED_OK;
        }
}

/* Where a compute op is on its device that consumes a receive. */
static size_t consumer_of(const struct plain *plain, uint32_t d, const ppsched_op *receive)
{
    for (size_t i = 0; i < plain->count[d]; i++) {
        const ppsched_op *op = &plain->ops[d][i];
        bool takes = receive->kind == PPSCHED_KIND_RECV_F ? op->kind == PPSCHED_KIND_F
                                                          : op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
        if (takes && op->stage == receive->stage && op->microbatch == receive->microbatch)
            return i;
    }
    fail_msg("a receive has no consumer");
    return 0;
}

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

static void check_edges(const struct plain *plain)
{
    ppsched_edge edges[MOST_DEVICES * MOST_DEVICES];
    ppsched_error error;
    size_t count = 0, messages = 0, sends = 0;
    expect_ok(ppsched_schedule_get_edges(edges, MOST_DEVICES * MOST_DEVICES, &count, plain->schedule, &error), &error);
    for (size_t k = 0; k < count; k++) {
        uint32_t flight = 0, most = 0, own = 0;
        for (size_t i = 0; i < plain->count[edges[k].receiver]; i++) {
            const ppsched_op *op = &plain->ops[edges[k].receiver][i];
            for (size_t j = 0; j < i; j++) { /* consumed by this op */
                const ppsched_op *earlier = &plain->ops[edges[k].receiver][j];
                if (is_receive(earlier) && consumer_of(plain, edges[k].receiver, earlier) == i) {
                    ppsched_op send = partner_of(earlier);
                    flight -= device_of(plain, send.stage, send.microbatch) == edges[k].sender;
                }
            }
            if (!is_receive(op))
                continue;
            ppsched_op send = partner_of(op);
            bool mine = device_of(plain, send.stage, send.microbatch) == edges[k].sender;
            own += mine;
            flight += mine;
            most = flight > most ? flight : most;
        }
        assert_int_equal(edges[k].transfers, own);
        assert_int_equal(edges[k].most_in_flight, most);
        messages += own;
    }
    for (uint32_t d = 0; d < ppsched_schedule_devices(plain->schedule); d++)
        for (size_t i = 0; i < plain->count[d]; i++)
            sends += is_send(&plain->ops[d][i]);
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
        uint32_t way = random_below(&seed, 4);
        ppsched_schedule *lowered = way == 3 ? lower_ahead(schedule, 1 + random_below(&seed, 4))
                                             : lower(schedule, config, 1 + (int32_t)way, 0);
        ppsched_op_buffer none[1];
        uint32_t slots = 0;
        plain.schedule = lowered;
        for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++)
            plain.ops[d] = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &plain.count[d]);
        for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++)
            check_buffers(&plain, d);
        check_edges(&plain);
        assert_int_equal(ppsched_schedule_get_buffers(none, 1, NULL, &slots, lowered, 0, NULL), PPSCHED_ERROR_BUFFER);
        assert_int_equal(ppsched_schedule_get_buffers(none, 1, NULL, &slots, lowered, 99, NULL), PPSCHED_ERROR_RANGE);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

static void test_lowerings(void **state)
{
    uint64_t seed = 4;
    int unsafe = 0, deferred_unsafe = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(250); trial++) {
        const char *strategy = NULL;
        ppsched_config *config = random_problem(&seed, &strategy);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        for (int32_t lowering = PPSCHED_LOWERING_PYTORCH; lowering <= PPSCHED_LOWERING_JUST_IN_TIME; lowering++) {
            ppsched_schedule *lowered = lower(schedule, config, lowering, 0);
            expect_same_compute(lowered, schedule);
            check_all_models(lowered, strategy, lowering != PPSCHED_LOWERING_BY_TIME, &unsafe);
            ppsched_schedule_release(lowered);
        }
        ppsched_schedule *deferred = lower(schedule, config, PPSCHED_LOWERING_PYTORCH, 1);
        expect_same_compute(deferred, schedule);
        check_all_models(deferred, strategy, 0, &deferred_unsafe);
        ppsched_schedule_release(deferred);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# of %d runs by time %d hang, of %d with deferred receives %d\n", 250 * MODELS, unsafe, 250 * MODELS,
                  deferred_unsafe);
    assert_int_equal(unsafe, 0);
    assert_true(deferred_unsafe > 0);
}

/* What a pair's F sends goes before what its B sends; how many pairs send both. */
static int expect_forwards_first(const ppsched_schedule *lowered)
{
    int both = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &count);
        for (size_t i = 0; i + 1 < count; i++) {
            size_t sent[2] = {count, count};
            for (size_t k = 0; k < count && (ops[i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0; k++)
                for (size_t part = 0; part < 2; part++)
                    if (ops[k].kind == (ops[i + part].kind == PPSCHED_KIND_F ? PPSCHED_KIND_SEND_F : PPSCHED_KIND_SEND_B) &&
                        ops[k].stage == ops[i + part].stage && ops[k].microbatch == ops[i + part].microbatch)
                        sent[part] = k;
            if (sent[0] == count || sent[1] == count)
                continue;
            assert_true(sent[0] < sent[1]);
            both++;
        }
    }
    return both;
}

/* Where stages are alike many values are sent at once. By time, what the two ops of a pair send goes behind one another, in the
 * same order for all devices, so that none waits for the other in a circle. */
static void test_pairs_by_time(void **state)
{
    static const struct {
        const char *name;
        uint32_t chunks;
    } rows[] = {{"1f1b_overlap", 1},
                {"interleaved_1f1b_overlap", 2},
                {"interleaved_1f1b_overlap", 3},
                {"dualpipe_v", 2},
                {"dualpipe", 1}};
    int served = 0, unsafe = 0, both = 0;
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (uint32_t devices = 2; devices <= MOST_DEVICES; devices++)
            for (uint32_t microbatches = 1; microbatches <= 12; microbatches++) {
                ppsched_config *config = make_config(devices, (int64_t)devices * rows[row].chunks, microbatches);
                set_number(config, PPSCHED_QUANTITY_P2P_TIME, microbatches % 2);
                if (ppsched_strategy_fits(rows[row].name, config, NULL) == PPSCHED_OK) {
                    ppsched_schedule *schedule = make_schedule(config, rows[row].name);
                    ppsched_schedule *lowered = lower(schedule, config, PPSCHED_LOWERING_BY_TIME, 0);
                    check_all_models(lowered, rows[row].name, 1, &unsafe);
                    both += expect_forwards_first(lowered);
                    served++;
                    ppsched_schedule_release(lowered);
                    ppsched_schedule_release(schedule);
                }
                ppsched_config_destroy(config);
            }
    assert_true(served > ROUNDS(50) && both > ROUNDS(200));
    assert_int_equal(unsafe, 0);
}

/* --- receives ahead --- */

/* How many units stand between a receive and its consumer. */
static size_t lead_of(const struct plain *plain, uint32_t d, size_t receive)
{
    size_t consumer = consumer_of(plain, d, &plain->ops[d][receive]), units = 0;
    for (size_t i = receive; i < consumer; i++) {
        const ppsched_op *op = &plain->ops[d][i];
        bool is_second = i > 0 && (plain->ops[d][i - 1].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
        units += !is_comm(op) && !is_second;
    }
    return units;
}

/* No receive stands further ahead than the lead adds to its place in the order without; returns how many do stand further. */
static size_t compare_leads(const ppsched_schedule *ahead, const ppsched_schedule *late, uint32_t lead)
{
    static struct plain first, second;
    const ppsched_channel_model model = {.size = sizeof model};
    size_t more = 0;
    plain_start(&first, ahead, &model);
    plain_start(&second, late, &model);
    for (uint32_t d = 0; d < ppsched_schedule_devices(ahead); d++)
        for (size_t i = 0; i < first.count[d]; i++) {
            if (!is_receive(&first.ops[d][i]))
                continue;
            size_t ours = lead_of(&first, d, i), theirs = lead_of(&second, d, find(&second, d, &first.ops[d][i]));
            assert_true(ours <= theirs + lead);
            more += ours > theirs;
        }
    return more;
}

/* The makespan where messages start once both sides are there, in no order among themselves. */
static double makespan_of(const ppsched_schedule *lowered, const ppsched_config *config)
{
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_NONE, .rendezvous = 1};
    ppsched_metrics metrics = {.size = sizeof metrics};
    ppsched_timeline *timeline = NULL;
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, NULL), NULL);
    expect_ok(ppsched_timeline_get_metrics(&metrics, timeline, NULL), NULL);
    ppsched_timeline_destroy(timeline);
    return metrics.makespan;
}

static void test_receives_ahead(void **state)
{
    uint64_t seed = 7;
    size_t more = 0;
    int faster = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(250); trial++) {
        const char *strategy = NULL;
        int unsafe = 0;
        ppsched_config *config = random_problem(&seed, &strategy);
        ppsched_schedule *schedule = make_schedule(config, strategy), *late = lower_ahead(schedule, 0);
        uint32_t lead = 1 + random_below(&seed, 5);
        ppsched_schedule *ahead = lower_ahead(schedule, lead);
        expect_same_compute(ahead, schedule);
        check_all_models(ahead, strategy, 1, &unsafe);
        more += compare_leads(ahead, late, lead);
        double ours = makespan_of(ahead, config), theirs = makespan_of(late, config);
        assert_true(ours <= theirs);
        faster += ours < theirs;
        ppsched_schedule_release(ahead);
        ppsched_schedule_release(late);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# of 250 orders %d are faster with receives ahead\n", faster);
    assert_true(more > ROUNDS(1000) && faster > ROUNDS(50));
}

static void test_shuffled_orders(void **state)
{
    uint64_t seed = 5;
    int unsafe = 0;
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
        ppsched_schedule_release(other);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# of %d runs of shuffled orders %d hang\n", 250 * MODELS, unsafe);
    assert_true(unsafe > ROUNDS(1000));
}

/* The example of the documentation: two devices, each sends before it receives. */
static void test_circle_in_words(void **state)
{
    static const char *const rows[2][12] = {{"0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1"},
                                            {"1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F1", "1F1", "1B1", "1SEND_B1"}};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_channel_model model = {.size = sizeof model, .rendezvous = 1};
    ppsched_wait circle[4];
    ppsched_error error;
    size_t count = 0;
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, NULL), NULL);
    for (uint32_t d = 0; d < 2; d++)
        for (int i = 0; i < 8; i++) {
            ppsched_op op = op_from_token(rows[d][i]);
            expect_ok(ppsched_builder_append(builder, d, &op, 1, NULL), NULL);
        }
    expect_ok(ppsched_builder_finish(&schedule, builder, NULL), NULL);
    ppsched_builder_destroy(builder);
    assert_int_equal(ppsched_schedule_prove(circle, 4, &count, schedule, &model, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(count, 2);
    assert_string_equal(error.message, "device 0 waits in 0SEND_F1 for device 1, which waits in 1SEND_B0 for device 0");
    assert_int_equal(circle[0].device, 0);
    assert_int_equal(circle[0].position, 3);
    assert_int_equal(circle[1].device, 1);
    assert_int_equal(circle[1].position, 3);
    model.rendezvous = 0;
    expect_ok(ppsched_schedule_prove(circle, 4, &count, schedule, &model, &error), &error);
    assert_int_equal(count, 0);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* Without times nothing says what is sent first. */
static void test_by_time_needs_times(void **state)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_BY_TIME};
    (void)state;
    for (int64_t iterations = 1; iterations <= 2; iterations++) {
        ppsched_config *config = make_config(3, 3, 4);
        ppsched_schedule *lowered = NULL;
        ppsched_error error;
        expect_ok(ppsched_config_set_iterations(config, iterations, NULL), NULL);
        ppsched_schedule *schedule = make_schedule(config, "gpipe");
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 0);
        assert_int_equal(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), PPSCHED_ERROR_REFUSED);
        assert_non_null(strstr(error.message, "stage 0's F takes none"));
        assert_null(lowered);
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1e-3);
        lowered = lower(schedule, config, PPSCHED_LOWERING_BY_TIME, 0);
        expect_ok(ppsched_schedule_check(NULL, 0, NULL, lowered, &error), &error);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lowerings),
        cmocka_unit_test(test_pairs_by_time),
        cmocka_unit_test(test_receives_ahead),
        cmocka_unit_test(test_shuffled_orders),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_circle_in_words),
        cmocka_unit_test(test_by_time_needs_times),
    };
    return cmocka_run_group_tests_name("comm", tests, NULL, NULL);
}
