/* SPDX-License-Identifier: Apache-2.0 */
/* Problems without backwards: whose forwards they are, bounds, memory, files, and who refuses. Their times are tested by
 * random_test. */
#include "support/uneven.h"

#include <stdlib.h>
#include <string.h>

static const char *const serving[] = {"gpipe", "looped_bfs", "interleaved_1f1b"};

enum { SERVING = 3, PROBLEMS = 300 };

static ppsched_config *forwards_of(ppsched_config *config)
{
    expect_ok(ppsched_config_set_forward_only(config, 1, NULL), NULL);
    assert_int_equal(ppsched_config_forward_only(config), 1);
    return config;
}

/* NULL where the strategy does not serve the sizes. */
static ppsched_schedule *generate(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppsched_schedule_generate(&schedule, config, strategy, NULL);
    assert_true(status == PPSCHED_OK || status == PPSCHED_ERROR_REFUSED);
    return schedule;
}

static const ppsched_op *ops_of(const ppsched_schedule *schedule, uint32_t device, size_t *count)
{
    return ppsched_queue_ops(ppsched_schedule_queue(schedule, device), count);
}

static void expect_forwards_of(const ppsched_schedule *forwards, const ppsched_schedule *whole)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(whole); d++) {
        size_t all_count, count, next = 0;
        const ppsched_op *all = ops_of(whole, d, &all_count), *some = ops_of(forwards, d, &count);
        for (size_t i = 0; i < all_count; i++)
            if (all[i].kind == PPSCHED_KIND_F) {
                assert_true(next < count);
                assert_memory_equal(&some[next++], &all[i], sizeof all[i]);
            }
        assert_int_equal(next, count);
    }
}

static void test_forwards_in_their_order(void **state)
{
    int served = 0;
    (void)state;
    for (uint32_t devices = 1; devices <= 5; devices++)
        for (uint32_t chunks = 1; chunks <= 3; chunks++)
            for (uint32_t microbatches = 1; microbatches <= 9; microbatches++)
                for (uint32_t k = 0; k < SERVING; k++) {
                    ppsched_config *config = make_config(devices, devices * chunks, microbatches);
                    expect_ok(ppsched_config_set_slices(config, 1 + microbatches % 3, NULL), NULL);
                    expect_ok(ppsched_config_set_iterations(config, 1 + microbatches % 2, NULL), NULL);
                    ppsched_schedule *whole = generate(config, serving[k]);
                    ppsched_schedule *forwards = generate(forwards_of(config), serving[k]);
                    assert_int_equal(whole != NULL, forwards != NULL);
                    if (whole != NULL)
                        expect_forwards_of(forwards, whole);
                    served += whole != NULL;
                    ppsched_schedule_release(whole);
                    ppsched_schedule_release(forwards);
                    ppsched_config_destroy(config);
                }
    assert_true(served > 150);
}

static ppsched_bound bound_of(const ppsched_config *config, int32_t objective)
{
    ppsched_bound bound = {.size = sizeof bound};
    expect_ok(ppsched_config_find_bound(&bound, config, objective, NULL), NULL);
    return bound;
}

/* Makespans and spans are not below the bounds; the least limit is the peak of all. */
static void check_bounds(ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = generate(config, strategy);
    if (schedule == NULL)
        return;
    expect_ok(ppsched_config_set_placement(config, ppsched_schedule_placement(schedule), NULL, 0, NULL), NULL);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    ppsched_bound makespan = bound_of(config, PPSCHED_OBJECTIVE_MAKESPAN), span = bound_of(config, PPSCHED_OBJECTIVE_SPAN);
    double iterations = ppsched_config_iterations(config), peak = 0;
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++) {
        double own = device_metrics_of(timeline, d).peak_memory;
        peak = own > peak ? own : peak;
    }
    assert_true(makespan.value <= metrics.makespan / iterations * (1 + 1e-12) && makespan.value > 0);
    assert_true(span.value <= metrics.span / iterations * (1 + 1e-12) && span.value > 0);
    assert_true(makespan.least_limit <= peak * (1 + 1e-12) && makespan.least_limit >= peak * (1 - 1e-12));
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
}

static void test_bounds(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct uneven problem = {.devices = 1 + random_below(&seed, 5),
                                       .chunks = 1 + random_below(&seed, 3),
                                       .microbatches = 1 + random_below(&seed, 8),
                                       .iterations = 1 + random_below(&seed, 2),
                                       .seed = random_next(&seed)};
        ppsched_config *config = forwards_of(make_uneven(&problem));
        expect_ok(ppsched_config_set_slices(config, 1 + random_below(&seed, 3), NULL), NULL);
        if (random_below(&seed, 2))
            set_uneven(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, problem.microbatches, 0.25, &seed);
        check_bounds(config, serving[problem.chunks == 1 ? 0 : 1 + random_below(&seed, 2)]);
        ppsched_config_destroy(config);
    }
}

/* Of equal stages and one behind the other GPipe's forwards are as short as any: (M + D - 1) F and the delays. */
static void test_closed_form(void **state)
{
    (void)state;
    ppsched_config *config = forwards_of(make_config(4, 4, 6));
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 2);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.5);
    ppsched_schedule *schedule = make_schedule(config, "gpipe");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_LINEAR, NULL, 0, NULL), NULL);
    assert_true(metrics_of(timeline).makespan == (6 + 4 - 1) * 2 + 3 * 0.5 && metrics_of(timeline).span == 12);
    assert_true(bound_of(config, PPSCHED_OBJECTIVE_MAKESPAN).value == 19.5);
    assert_true(bound_of(config, PPSCHED_OBJECTIVE_SPAN).value == 12);
    assert_true(device_metrics_of(timeline, 2).peak_memory == 6 &&
                bound_of(config, PPSCHED_OBJECTIVE_MAKESPAN).least_limit == 6);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void expect_refused(ppsched_status status, const ppsched_error *error, const char *part)
{
    assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    if (strstr(error->message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
}

static void test_refusals(void **state)
{
    ppsched_error error;
    ppsched_schedule *schedule = NULL, *other = NULL;
    ppsched_recompute_options recompute = {.size = sizeof recompute};
    ppsched_offload_options offload = {.size = sizeof offload};
    char line[200];
    (void)state;
    ppsched_config *config = forwards_of(make_config(4, 4, 6));
    expect_refused(
        ppsched_schedule_generate(&schedule, config, "1f1b", &error), &error,
        "1f1b: needs backwards, and the problem is forward-only; these support it: gpipe, looped_bfs, interleaved_1f1b, auto");
    expect_refused(ppsched_schedule_generate(&schedule, config, "zb_auto", &error), &error, "needs backwards");
    assert_null(schedule);
    schedule = make_schedule(config, "gpipe");
    expect_refused(ppsched_schedule_recompute(&other, schedule, &recompute, &error), &error, "no backward");
    expect_refused(ppsched_schedule_offload(&other, schedule, config, &offload, &error), &error, "no backward");
    for (int32_t runtime = 1; ppsched_runtime_name(runtime) != NULL; runtime++)
        expect_refused(ppsched_schedule_write_launch_arguments(line, sizeof line, NULL, schedule, runtime, NULL, &error),
                       &error, "supports only training, and the schedule has no backward");
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* One F is missing; and a backward too much makes all others missing. */
static void test_checker(void **state)
{
    const ppsched_op ops[] = {{.microbatch = 0, .kind = PPSCHED_KIND_F},
                              {.microbatch = 1, .kind = PPSCHED_KIND_F},
                              {.microbatch = 1, .kind = PPSCHED_KIND_B}};
    static const size_t counts[] = {0, 1, 2, 3}, findings_wanted[] = {4, 1, 0, 1};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ppsched_config *config = make_config(1, 1, 2);
        ppsched_builder *builder = NULL;
        ppsched_schedule *schedule = NULL;
        size_t findings = 0;
        expect_ok(ppsched_builder_create(&builder, config, NULL), NULL);
        expect_ok(ppsched_builder_append(builder, 0, ops, counts[i], NULL), NULL);
        expect_ok(ppsched_builder_finish(&schedule, builder, NULL), NULL);
        assert_int_equal(ppsched_schedule_check(NULL, 0, &findings, schedule, NULL),
                         i == 2 ? PPSCHED_OK : PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_int_equal(findings, findings_wanted[i]);
        ppsched_builder_destroy(builder);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

/* Out and in again, and lowered with all transfers there, at the same times. */
static void test_files_and_lowering(void **state)
{
    static const int32_t formats[] = {PPSCHED_FORMAT_CSV, PPSCHED_FORMAT_JSON};
    ppsched_lower_options by_time = {.size = sizeof by_time, .lowering = PPSCHED_LOWERING_BY_TIME};
    ppsched_schedule *read = NULL, *lowered = NULL;
    ppsched_timeline *transferred = NULL;
    ppsched_error error;
    uint64_t sends = 0;
    (void)state;
    const struct uneven problem = {.devices = 3, .chunks = 3, .microbatches = 7, .iterations = 1, .seed = 9};
    ppsched_config *config = forwards_of(make_uneven(&problem));
    ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    for (size_t i = 0; i < 2; i++) {
        char *text = export_text(schedule, timeline, formats[i], NULL);
        expect_ok(ppsched_schedule_import(&read, formats[i], text, strlen(text), NULL, &error), &error);
        expect_ok(ppsched_schedule_check(NULL, 0, NULL, read, &error), &error);
        expect_forwards_of(read, schedule);
        ppsched_schedule_release(read);
        free(text);
    }
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &by_time, &error), &error);
    for (uint32_t d = 0; d < 3; d++) {
        size_t count;
        const ppsched_op *ops = ops_of(lowered, d, &count);
        for (size_t i = 0; i < count; i++)
            sends += ops[i].kind == PPSCHED_KIND_SEND_F;
    }
    assert_int_equal(sends, 8 * 7);
    expect_ok(ppsched_schedule_evaluate_transfers(&transferred, lowered, config, NULL, 0, &error), &error);
    assert_true(metrics_of(transferred).makespan >= metrics_of(timeline).makespan * (1 - 1e-12));
    ppsched_timeline_destroy(transferred);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* --- lifetimes --- */

/* Whether an op reads what the F of a stage pass made, or sends it: the F itself, that of the next stage, those of later slices
 * of its microbatch. */
static int reads(const ppsched_op *op, uint32_t stage, uint32_t microbatch, uint32_t slice)
{
    if (op->microbatch != microbatch)
        return 0;
    if (op->kind == PPSCHED_KIND_SEND_F)
        return op->stage == stage && op->slice == slice;
    return op->kind == PPSCHED_KIND_F &&
           ((op->stage == stage && op->slice >= slice) || (op->stage == stage + 1u && op->slice == slice));
}

/* The last op of a queue that reads a stage pass; with `is_input`, its F alone, which reads its input. */
static uint32_t last_reader(const ppsched_op *ops, size_t count, const ppsched_op *pass, int is_input)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        int is_own = ops[i].kind == PPSCHED_KIND_F && ops[i].stage == pass->stage && ops[i].microbatch == pass->microbatch &&
                     ops[i].slice == pass->slice;
        if (is_input ? is_own : reads(&ops[i], pass->stage, pass->microbatch, pass->slice))
            last = i;
    }
    return last;
}

/* The lifetime of a stage pass, a microbatch or a received value in a list: from the first to the last op that has to do with
 * it. */
static void expect_life(const ppsched_lifetime *lives, size_t count, uint32_t number, uint32_t stage, uint32_t first,
                        uint32_t last)
{
    size_t found = 0;
    while (found < count && (lives[found].microbatch != number || lives[found].stage != stage))
        found++;
    if (found == count)
        fail_msg("no lifetime of stage %u, %u", stage, number);
    if (lives[found].first != first || lives[found].last != last)
        fail_msg("stage %u, %u: from %u to %u, reckoned %u to %u", stage, number, lives[found].first, lives[found].last, first,
                 last);
}

/* All lifetimes of a device; returns how many. */
static size_t expect_lives(const ppsched_schedule *schedule, uint32_t device, int32_t use)
{
    static ppsched_lifetime lives[2000];
    uint32_t slices = ppsched_schedule_slices(schedule), first[64], last[64];
    size_t count, held = 0, wanted = 0;
    ppsched_error error;
    const ppsched_op *ops = ops_of(schedule, device, &count);
    expect_ok(ppsched_schedule_get_lifetimes(lives, 2000, &held, schedule, device, use, &error), &error);
    memset(first, 0xff, sizeof first);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = ops[i].microbatch * slices + ops[i].slice, end = last_reader(ops, count, &ops[i], 0);
        if (use == PPSCHED_SLOT_USE_RECEIVE && ops[i].kind == PPSCHED_KIND_RECV_F)
            expect_life(lives, held, number, ops[i].stage, i, last_reader(ops, count, &ops[i], 1)), wanted++;
        if (use == PPSCHED_SLOT_USE_STAGE_MICROBATCH && ops[i].kind == PPSCHED_KIND_F)
            expect_life(lives, held, number, ops[i].stage, i, end), wanted++;
        if (use != PPSCHED_SLOT_USE_MICROBATCH || ops[i].kind != PPSCHED_KIND_F)
            continue;
        wanted += first[number] == UINT32_MAX;
        last[number] = first[number] == UINT32_MAX || end > last[number] ? end : last[number];
        first[number] = i < first[number] ? i : first[number];
    }
    for (uint32_t number = 0; number < 64 && use == PPSCHED_SLOT_USE_MICROBATCH; number++)
        if (first[number] != UINT32_MAX)
            expect_life(lives, held, number, PPSCHED_NONE, first[number], last[number]);
    assert_int_equal(held, wanted);
    return held;
}

/* As it is, and with sends and receives. */
static size_t expect_lives_of(const ppsched_schedule *schedule, const ppsched_config *config)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_BY_TIME};
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    size_t received = 0;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    for (int32_t use = PPSCHED_SLOT_USE_STAGE_MICROBATCH; use <= PPSCHED_SLOT_USE_RECEIVE; use++)
        for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
            size_t plain = expect_lives(schedule, d, use), with = expect_lives(lowered, d, use);
            assert_true(use == PPSCHED_SLOT_USE_RECEIVE ? plain == 0 : plain == with);
            received += use == PPSCHED_SLOT_USE_RECEIVE ? with : 0;
        }
    ppsched_schedule_release(lowered);
    return received;
}

/* Without backwards a value ends with the last op of its device that reads or sends it. */
static void test_lifetimes(void **state)
{
    size_t received = 0;
    (void)state;
    for (uint32_t trial = 0; trial < 24; trial++) {
        const struct uneven problem = {
            .devices = 1 + trial % 3, .chunks = 1 + trial % 4, .microbatches = 6, .iterations = 2, 9};
        ppsched_config *config = make_uneven(&problem);
        expect_ok(ppsched_config_set_slices(forwards_of(config), 1 + trial % 2, NULL), NULL);
        for (uint32_t k = 0; k < SERVING; k++) {
            ppsched_schedule *schedule = generate(config, serving[k]);
            if (schedule != NULL)
                received += expect_lives_of(schedule, config);
            ppsched_schedule_release(schedule);
        }
        ppsched_config_destroy(config);
    }
    assert_true(received > 1000);
}

static ppsched_schedule *built(const ppsched_config *config, const char *const *tokens, size_t count)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    append_tokens(builder, 0, tokens, count);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

static void test_lifetimes_of_incomplete_orders(void **state)
{
    static const struct {
        const char *const tokens[4];
        size_t count;
        const char *message;
    } orders[] = {{{"0F0"}, 1, "device 0 is missing the forward of stage 0, microbatch 1"},
                  {{"0F0", "0F1", "0F0"}, 3, "device 0 has 0F0 at position 2, a second time"},
                  {{"0F0", "0F1", "0RECV_F1"}, 3, "device 0 has 0RECV_F1 at position 2, after its forward"},
                  {{"0F0", "0F1", "1SEND_F0"}, 3, "device 0 has 1SEND_F0 at position 2, whose stage is on another device"},
                  {{"0F0", "0F1", "0RECV_B1"}, 3, "device 0 has 0RECV_B1 at position 2, which no backward reads"}};
    ppsched_config *config = make_config(2, 2, 2);
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        ppsched_schedule *schedule = built(config, orders[i].tokens, orders[i].count);
        ppsched_error error;
        assert_int_equal(ppsched_schedule_get_lifetimes(NULL, 0, NULL, schedule, 0, PPSCHED_SLOT_USE_RECEIVE, &error),
                         PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_string_equal(error.message, orders[i].message);
        ppsched_schedule_release(schedule);
    }
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forwards_in_their_order),
                                       cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_closed_form),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_checker),
                                       cmocka_unit_test(test_files_and_lowering),
                                       cmocka_unit_test(test_lifetimes),
                                       cmocka_unit_test(test_lifetimes_of_incomplete_orders)};
    return cmocka_run_group_tests_name("forwards", tests, NULL, NULL);
}
