/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering, over random schedules: lowered orders keep the compute ops, and what claims to be safe is safe. */
#include "support/lowering.h"
#include "support/proofs.h"
#include "support/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        assert_non_null(strstr(error.message, "stage 0's F has time 0"));
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
        cmocka_unit_test(test_by_time_needs_times),
    };
    return cmocka_run_group_tests_name("comm", tests, NULL, NULL);
}
