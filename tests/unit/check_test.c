/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's own schedules: builder, generator callback, and what the checker says of them. */
#include "support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ppsched_status append(ppsched_builder *builder, uint32_t device, const char *tokens, ppsched_error *error)
{
    char copy[512];
    ppsched_status status = PPSCHED_OK;
    strncpy(copy, tokens, sizeof copy - 1);
    copy[sizeof copy - 1] = '\0';
    for (char *token = strtok(copy, " "); token != NULL && status == PPSCHED_OK; token = strtok(NULL, " ")) {
        ppsched_op op = op_from_token(token[0] == '+' ? token + 1 : token); /* '+': overlapped with the next */
        op.flags = token[0] == '+' ? PPSCHED_OP_FLAG_OVERLAPPED : 0;
        status = ppsched_builder_append(builder, device, &op, 1, error);
    }
    return status;
}

static ppsched_schedule *build(const ppsched_config *config, const char *const *rows)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
        expect_ok(append(builder, d, rows[d], &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

/* Checks rows for two devices and two microbatches; the first finding's text must be `wanted`, NULL for none. */
static void expect_finding(const char *const *rows, uint32_t iterations, size_t wanted_count, int32_t kind, const char *wanted)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_finding findings[8];
    size_t count = 99;
    char text[256];
    ppsched_error error;
    expect_ok(ppsched_config_set_iterations(config, iterations, &error), &error);
    ppsched_schedule *schedule = build(config, rows);
    ppsched_status status = ppsched_schedule_check(findings, 8, &count, schedule, &error);
    assert_int_equal(status, wanted == NULL ? PPSCHED_OK : PPSCHED_ERROR_INVALID_SCHEDULE);
    if (count != wanted_count)
        fail_msg("%zu findings, first: %s", count, error.message);
    if (wanted != NULL) {
        assert_int_equal(ppsched_finding_write_text(text, sizeof text, NULL, &findings[0], NULL), PPSCHED_OK);
        assert_string_equal(text, wanted);
        assert_int_equal(findings[0].kind, kind);
        assert_int_equal(strncmp(error.message, wanted, strlen(wanted)), 0);
        assert_int_equal(error.device, findings[0].device);
        ppsched_timeline *timeline = NULL;
        status = strstr(wanted, "REDUCE_GRAD") == NULL /* the plain evaluation ignores these */
                     ? ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error)
                     : ppsched_schedule_evaluate_transfers(&timeline, schedule, config, NULL, 0, &error);
        assert_int_equal(status, PPSCHED_ERROR_INVALID_SCHEDULE);
        assert_null(timeline);
        assert_int_equal(strncmp(error.message, wanted, strlen(wanted)), 0);
    }
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_valid(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1I1 1W1"}, 1, 0, 0, NULL);
    expect_finding((const char *const[]){"0F0 0F1 0SEND_F1 0B0 0B1 0REDUCE_GRAD", "1F0 +1F1 1B0 1B1"}, 1, 0, 0, NULL);
}

/* A device that waits for reductions waits for each, one at a time. */
static void test_reductions(void **state)
{
    static const char second[] = "1F0 1B0 1F1 1B1";
    static const struct {
        const char *end, *text;
        int32_t kind;
    } cases[] = {
        {"0REDUCE_GRAD 0WAIT_REDUCE_GRAD", NULL, 0},
        {"0REDUCE_GRAD 0WAIT_REDUCE_GRAD 0REDUCE_GRAD 0WAIT_REDUCE_GRAD", NULL, 0},
        {"0REDUCE_GRAD 0REDUCE_GRAD", NULL, 0},
        {"0REDUCE_GRAD 0WAIT_REDUCE_GRAD 0REDUCE_GRAD", "device 0: 0WAIT_REDUCE_GRAD is missing", PPSCHED_FINDING_KIND_MISSING},
        {"0REDUCE_GRAD 0REDUCE_GRAD 0WAIT_REDUCE_GRAD",
         "device 0, position 5: 0REDUCE_GRAD conflicts with 0REDUCE_GRAD of position 4: a device that waits for reductions has "
         "at most one in flight",
         PPSCHED_FINDING_KIND_CONFLICT},
        {"0REDUCE_GRAD 0WAIT_REDUCE_GRAD 0WAIT_REDUCE_GRAD",
         "device 0, position 6: 0WAIT_REDUCE_GRAD repeats 0WAIT_REDUCE_GRAD of position 5", PPSCHED_FINDING_KIND_DUPLICATE},
        {"0WAIT_REDUCE_GRAD 0REDUCE_GRAD",
         "deadlock: device 0 waits at position 4 (0WAIT_REDUCE_GRAD) for 0REDUCE_GRAD, which is at position 5 of device 0",
         PPSCHED_FINDING_KIND_CYCLE},
        {"0REDUCE_GRAD 1WAIT_REDUCE_GRAD",
         "device 0 waits at position 5 (1WAIT_REDUCE_GRAD) for 1REDUCE_GRAD, which device 0 never runs",
         PPSCHED_FINDING_KIND_BLOCKED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char first[120];
        snprintf(first, sizeof first, "0F0 0F1 0B0 0B1 %s", cases[i].end);
        expect_finding((const char *const[]){first, second}, 1, cases[i].text != NULL, cases[i].kind, cases[i].text);
    }
}

static void test_missing(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0F1 0B0", "1F0 1B0 1F1 1B1"}, 1, 1, PPSCHED_FINDING_KIND_MISSING,
                   "device 0: 0B1 is missing");
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1I1"}, 1, 1, PPSCHED_FINDING_KIND_MISSING,
                   "device 1: 1W1 is missing");
    expect_finding((const char *const[]){"0F0 0B0 0B1", "1F0 1B0 1F1 1B1"}, 1, 3, PPSCHED_FINDING_KIND_MISSING,
                   "device 0: 0F1 is missing"); /* and both devices are blocked */
}

static void test_blocked(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1", "1F1 1B1"}, 1, 3, PPSCHED_FINDING_KIND_MISSING,
                   "device 1: 1F0 is missing");
}

static void test_duplicate(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0F1 0F0 0B0 0B1", "1F0 1B0 1F1 1B1"}, 1, 1, PPSCHED_FINDING_KIND_DUPLICATE,
                   "device 0, position 2: 0F0 repeats 0F0 of position 0");
    expect_finding((const char *const[]){"0F0 0F1 0B0 0I0 0W0 0B1", "1F0 1B0 1F1 1B1"}, 1, 2, PPSCHED_FINDING_KIND_DUPLICATE,
                   "device 0, position 3: 0I0 repeats 0B0 of position 2");
}

static void test_misplaced(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1 1B1", "1F0 1B0 1F1"}, 1, 2, PPSCHED_FINDING_KIND_MISPLACED,
                   "device 0, position 4: 1B1 belongs to device 1");
    /* One that is at home too does no harm elsewhere. */
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1", "1F0 0F0 1B0 1F1 1B1"}, 1, 1, PPSCHED_FINDING_KIND_MISPLACED,
                   "device 1, position 1: 0F0 belongs to device 0");
}

/* A W, wherever it is, is that of an I. */
static void test_what_belongs_to_a_weight(void **state)
{
    static const char *const rows[] = {"0F0 0F1 0B1", "1F0 1B0 0W0 1F1 1B1"};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_schedule *schedule = build(config, rows);
    ppsched_finding findings[4];
    size_t count = 0;
    (void)state;
    assert_int_equal(ppsched_schedule_check(findings, 4, &count, schedule, NULL), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(count, 2);
    assert_true(findings[0].kind == PPSCHED_FINDING_KIND_MISPLACED && findings[0].op.kind == PPSCHED_KIND_W);
    assert_true(findings[1].kind == PPSCHED_FINDING_KIND_MISSING && findings[1].op.kind == PPSCHED_KIND_I);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_cycle(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"}, 1, 2, PPSCHED_FINDING_KIND_CYCLE,
                   "deadlock: device 0 waits at position 1 (0B0) for 1B0, which is at position 2 of device 1");
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1B1 1F1 1B0"}, 1, 1, PPSCHED_FINDING_KIND_CYCLE,
                   "deadlock: device 1 waits at position 1 (1B1) for 1F1, which is at position 2 of device 1");
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1", "1F0 +1F1 1B1 1B0"}, 1, 1, PPSCHED_FINDING_KIND_CYCLE,
                   "deadlock: device 1 waits at position 2 (1B1) for 1F1, which is at position 1 of device 1");
}

/* Four findings whose texts are longer together than the message: it is cut, and nothing behind it is written to. */
static void test_long_findings(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0OFFLOAD0 0F1 0OFFLOAD1 0RECOMPUTE0 0RELOAD0 0B0 0RECOMPUTE1 0RELOAD1 0B1",
                                         "1F0 1OFFLOAD0 1RECOMPUTE0 1RELOAD0 1B0 1F1 1OFFLOAD1 1RECOMPUTE1 1RELOAD1 1B1"},
                   1, 4, PPSCHED_FINDING_KIND_CONFLICT,
                   "device 0, position 4: 0RECOMPUTE0 conflicts with 0OFFLOAD0 of position 1: a stage pass is recomputed or "
                   "offloaded, not both");
}

/* A copy that never comes back: no evaluation takes it, and both say the same. */
static void test_evaluations_of_copies_that_are_not_whole(void **state)
{
    ppsched_config *config = make_config(1, 1, 1);
    ppsched_schedule *schedule = build(config, (const char *const[]){"0F0 0OFFLOAD0 0B0"});
    ppsched_timeline *timeline = NULL;
    ppsched_error plain, timed;
    (void)state;
    assert_int_equal(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &plain), PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(ppsched_schedule_evaluate_transfers(&timeline, schedule, config, NULL, 0, &timed),
                     PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_string_equal(plain.message, timed.message);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_flush(void **state)
{
    (void)state;
    expect_finding((const char *const[]){"0F0 0F1 0F2 0B0 0B1 0F3 0B2 0B3", "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"}, 2, 1,
                   PPSCHED_FINDING_KIND_CYCLE,
                   "deadlock: device 0 waits at position 2 (0F2) for 0B0, which is at position 3 of device 0");
    expect_finding((const char *const[]){"0F0 0F1 0B0 0B1 0F2 0F3 0B2 0B3", "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"}, 2, 0, 0, NULL);
}

static void expect_append_error(const char *token, uint8_t flags, uint32_t device, ppsched_status wanted, const char *part)
{
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_builder *builder = NULL;
    ppsched_error error;
    ppsched_op op = op_from_token(token), sliced = op;
    op.flags = flags;
    sliced.flags &= (uint8_t)~PPSCHED_OP_FLAG_OVERLAPPED;
    sliced.slice = 1;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    assert_int_equal(ppsched_builder_append(builder, device, &op, 1, &error), wanted);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
    assert_int_equal(ppsched_builder_append(builder, 0, &sliced, 1, &error), PPSCHED_ERROR_RANGE); /* none has slices */
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

static void test_append_checks_values(void **state)
{
    (void)state;
    expect_append_error("2F0", 0, 0, PPSCHED_ERROR_RANGE, "stage is 2; it must be 0 to 1");
    expect_append_error("0F2", 0, 0, PPSCHED_ERROR_RANGE, "microbatch is 2; it must be 0 to 1");
    expect_append_error("0F0", 0, 2, PPSCHED_ERROR_RANGE, "device is 2; it must be 0 to 1");
    expect_append_error("0F0", 4, 0, PPSCHED_ERROR_ARGUMENT, "unknown flags");
    expect_append_error("0UNSHARD1", 0, 0, PPSCHED_ERROR_ARGUMENT, "UNSHARD has no microbatch");
    expect_append_error("0B0", PPSCHED_OP_FLAG_OVERLAPPED, 0, PPSCHED_ERROR_ARGUMENT, "B cannot lead an overlapped pair");
}

static void test_pairs_are_checked(void **state)
{
    ppsched_config *config = make_config(1, 1, 2);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    assert_int_equal(append(builder, 0, "0F0 +0F1 0W0", &error), PPSCHED_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "W cannot end an overlapped pair"));
    assert_int_equal(ppsched_builder_finish(&schedule, builder, &error), PPSCHED_ERROR_INVALID_SCHEDULE);
    expect_ok(append(builder, 0, "0B0 0B1", &error), &error); /* the builder goes on where it was */
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
    char *text = queue_text(schedule, 0);
    assert_string_equal(text, "0F0 (0F1;0B0)OVERLAP_F_B 0B1");
    free(text);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* GPipe as a caller would write it. */
static ppsched_status my_gpipe(void *user, const ppsched_config *config, ppsched_builder *builder)
{
    uint32_t microbatches = ppsched_config_microbatches(config);
    (void)user;
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
        for (uint32_t i = 0; i < 2 * microbatches; i++) {
            ppsched_op op = {.microbatch = i % microbatches,
                             .stage = (uint16_t)d,
                             .kind = i < microbatches ? PPSCHED_KIND_F : PPSCHED_KIND_B};
            ppsched_status status = ppsched_builder_append(builder, d, &op, 1, NULL);
            if (status != PPSCHED_OK)
                return status;
        }
    return PPSCHED_OK;
}

static ppsched_status my_failure(void *user, const ppsched_config *config, ppsched_builder *builder)
{
    (void)config, (void)builder;
    return *(ppsched_status *)user;
}

static void test_findings_of_unknown_ops_have_no_words(void **state)
{
    ppsched_finding finding = {.kind = PPSCHED_FINDING_KIND_MISSING, .op = op_from_token("0F0")};
    char text[100];
    size_t needed = 0;
    (void)state;
    assert_int_equal(ppsched_finding_write_text(text, sizeof text, &needed, &finding, NULL), PPSCHED_OK);
    assert_string_equal(text, "device 0: 0F0 is missing");
    finding.kind = PPSCHED_FINDING_KIND_DUPLICATE; /* of none, which has no words */
    assert_int_equal(ppsched_finding_write_text(text, sizeof text, &needed, &finding, NULL), PPSCHED_OK);
    assert_string_equal(text, "device 0, position 0: 0F0 repeats  of position 0");
    finding.other.kind = 77;
    assert_int_equal(ppsched_finding_write_text(text, sizeof text, &needed, &finding, NULL), PPSCHED_ERROR_ARGUMENT);
    finding.other.kind = 0;
    finding.op.kind = 77;
    assert_int_equal(ppsched_finding_write_text(text, sizeof text, &needed, &finding, NULL), PPSCHED_ERROR_ARGUMENT);
}

static void test_generator_callback(void **state)
{
    ppsched_config *config = make_config(3, 3, 4);
    ppsched_schedule *mine = NULL, *theirs = make_schedule(config, "gpipe");
    ppsched_error error;
    ppsched_status failure = 77;
    (void)state;
    expect_ok(ppsched_schedule_generate_with(&mine, config, "my_gpipe", my_gpipe, NULL, &error), &error);
    assert_string_equal(ppsched_schedule_name(mine), "my_gpipe");
    for (uint32_t d = 0; d < 3; d++) {
        char *a = queue_text(mine, d), *b = queue_text(theirs, d);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
    ppsched_timeline *timeline = make_timeline(mine, config), *other = make_timeline(theirs, config);
    assert_true(metrics_of(timeline).makespan == metrics_of(other).makespan);
    ppsched_timeline_destroy(timeline);
    ppsched_timeline_destroy(other);
    ppsched_schedule_release(mine);
    ppsched_schedule_release(theirs);
    mine = NULL;
    assert_int_equal(ppsched_schedule_generate_with(&mine, config, NULL, my_failure, &failure, &error), PPSCHED_ERROR_CALLBACK);
    assert_non_null(strstr(error.message, "status 77"));
    failure = PPSCHED_OK; /* and appends nothing */
    assert_int_equal(ppsched_schedule_generate_with(&mine, config, NULL, my_failure, &failure, &error),
                     PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_null(mine);
    ppsched_config_destroy(config);
}

/* What keeps less: in its place, once, and with what belongs to it. */
static void test_saving(void **state)
{
    static const char *const rest = "1F0 1B0 1F1 1B1";
    static const struct {
        const char *row, *wanted;
        int32_t kind;
        size_t count;
    } cases[] = {
        {"0F0 0OFFLOAD0 0F1 0RELOAD0 0B0 0RECOMPUTE1 0B1", NULL, 0, 0},
        {"0F0 0RELOAD0 0F1 0B0 0B1", "device 0: 0OFFLOAD0 is missing", PPSCHED_FINDING_KIND_MISSING, 2},
        {"0F0 0OFFLOAD0 0F1 0B0 0B1", "device 0: 0RELOAD0 is missing", PPSCHED_FINDING_KIND_MISSING, 1},
        {"0F0 0OFFLOAD0 0F1 0B0 0RELOAD0 0B1",
         "deadlock: device 0 waits at position 3 (0B0) for 0RELOAD0, which is at position 4 of device 0",
         PPSCHED_FINDING_KIND_CYCLE, 1},
        {"0F0 0RELOAD0 0OFFLOAD0 0F1 0B0 0B1",
         "deadlock: device 0 waits at position 1 (0RELOAD0) for 0OFFLOAD0, which is at position 2 of device 0",
         PPSCHED_FINDING_KIND_CYCLE, 1},
        {"0OFFLOAD0 0F0 0F1 0RELOAD0 0B0 0B1",
         "deadlock: device 0 waits at position 0 (0OFFLOAD0) for 0F0, which is at position 1 of device 0",
         PPSCHED_FINDING_KIND_CYCLE, 1},
        {"0F0 0OFFLOAD0 0F1 0OFFLOAD0 0RELOAD0 0B0 0B1", "device 0, position 3: 0OFFLOAD0 repeats 0OFFLOAD0 of position 1",
         PPSCHED_FINDING_KIND_DUPLICATE, 1},
        {"0F0 0OFFLOAD0 0F1 0RELOAD0 0RELOAD0 0B0 0B1", "device 0, position 4: 0RELOAD0 repeats 0RELOAD0 of position 3",
         PPSCHED_FINDING_KIND_DUPLICATE, 1},
        {"0F0 0F1 0B0 0RECOMPUTE0 0B1",
         "deadlock: device 0 waits at position 2 (0B0) for 0RECOMPUTE0, which is at position 3 of device 0",
         PPSCHED_FINDING_KIND_CYCLE, 1},
        {"0F0 0OFFLOAD0 0F1 0RELOAD0 0RECOMPUTE0 0B0 0B1",
         "device 0, position 4: 0RECOMPUTE0 conflicts with 0OFFLOAD0 of position 1: a stage pass is recomputed or offloaded, "
         "not both",
         PPSCHED_FINDING_KIND_CONFLICT, 1},
        {"0F0 0F1 1RECOMPUTE0 0B0 0B1", "device 0, position 2: 1RECOMPUTE0 belongs to device 1", PPSCHED_FINDING_KIND_MISPLACED,
         2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *rows[] = {cases[i].row, rest};
        expect_finding(rows, 1, cases[i].count, cases[i].kind, cases[i].wanted);
    }
}

static void expect_line(ppsched_status status, ppsched_status wanted, const ppsched_error *error, const char *message)
{
    assert_int_equal(status, wanted);
    assert_string_equal(error->message, message);
}

/* The passes that place them, and costs that contradict each other. */
static void test_saving_is_refused(void **state)
{
    ppsched_config *config = make_config(2, 4, 4);
    ppsched_schedule *plain = make_schedule(config, "gis"), *schedule = NULL, *again = NULL;
    ppsched_recompute_options recompute = {.size = sizeof recompute};
    ppsched_offload_options offload = {.size = sizeof offload, .chunks = 1};
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    (void)state;
    offload.until_limit = 2;
    expect_line(ppsched_schedule_offload(&schedule, plain, config, &offload, &error), PPSCHED_ERROR_RANGE, &error,
                "offload: until_limit is 2; it must be 0 or 1");
    offload = (ppsched_offload_options){.size = sizeof offload, .chunks = 1, .share = 1.5};
    expect_line(ppsched_schedule_offload(&schedule, plain, config, &offload, &error), PPSCHED_ERROR_RANGE, &error,
                "offload: share is 1.5; it must be between 0 and 1");
    offload = (ppsched_offload_options){.size = sizeof offload, .chunks = 1, .until_limit = 1, .prefetch_distance = 2};
    expect_line(ppsched_schedule_offload(&schedule, plain, config, &offload, &error), PPSCHED_ERROR_RANGE, &error,
                "offload: prefetch_distance is 2, but until_limit places reloads itself; set only one of them");
    offload = (ppsched_offload_options){.size = sizeof offload, .chunks = 1};
    expect_ok(ppsched_schedule_offload(&schedule, plain, config, &offload, &error), &error);
    expect_line(ppsched_schedule_offload(&again, schedule, config, &offload, &error), PPSCHED_ERROR_REFUSED, &error,
                "device 0 has OFFLOAD at position 1: the schedule has recomputation or offload already");
    set_number(config, PPSCHED_QUANTITY_MEM_OFFLOAD, 2);
    expect_line(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), PPSCHED_ERROR_RANGE, &error,
                "mem_offload of stage 0 is 2; it must be at most mem_forward, which is 1");
    set_number(config, PPSCHED_QUANTITY_MEM_OFFLOAD, 1);
    set_number(config, PPSCHED_QUANTITY_HOST_LINK, 2);
    expect_line(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), PPSCHED_ERROR_RANGE, &error,
                "host_link of device 0 is 2; it must be an integer from 0 to 1");
    set_number(config, PPSCHED_QUANTITY_HOST_LINK, 0.5);
    expect_line(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), PPSCHED_ERROR_RANGE, &error,
                "host_link of device 0 is 0.5; it must be an integer from 0 to 1");
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, (double[]){2, 1}, 2, &error), &error);
    expect_line(ppsched_schedule_offload(&again, plain, config, &offload, &error), PPSCHED_ERROR_RANGE, &error,
                "host_link of device 0 is 2; it must be an integer from 0 to 1");
    assert_int_equal(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, (double[]){0}, 1, &error),
                     PPSCHED_ERROR_RANGE);
    set_number(config, PPSCHED_QUANTITY_HOST_LINK, 0);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 1);
    offload.until_limit = 1;
    expect_line(ppsched_schedule_offload(&again, plain, config, &offload, &error), PPSCHED_ERROR_REFUSED, &error,
                "offload: no choice fits the memory limit of 1; the least limit found to work is 2");
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, (double[]){0.5, 1}, 2, &error), &error);
    expect_line(ppsched_schedule_offload(&again, plain, config, &offload, &error), PPSCHED_ERROR_REFUSED, &error,
                "offload: no choice fits the memory limits, such as device 0's, 0.5; 4 times these limits work");
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, (double[]){0, 1}, 2, &error), &error);
    expect_line(ppsched_schedule_offload(&again, plain, config, &offload, &error), PPSCHED_ERROR_REFUSED, &error,
                "offload: no choice fits the memory limits, of which one is 0");
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

/* A graph of stages refuses some ops. Then the call has failed, so it writes no finding, though there is one before them. */
static void test_graphs_refuse_before_the_first_finding(void **state)
{
    const char *const rows[] = {"1F0 0F0 +0F1 0B0 0B1", "1F1 1B0 1B1"};
    ppsched_config *config = make_config(2, 2, 2);
    ppsched_finding findings[8], untouched[8];
    ppsched_error error;
    size_t count = 77;
    (void)state;
    expect_ok(ppsched_config_set_stage_inputs(config, (uint32_t[]){0, 0}, (uint32_t[]){0}, 2, &error), &error);
    ppsched_schedule *schedule = build(config, rows);
    memset(findings, 0x5A, sizeof findings);
    memcpy(untouched, findings, sizeof findings);
    assert_int_equal(ppsched_schedule_check(findings, 8, &count, schedule, &error), PPSCHED_ERROR_REFUSED);
    assert_non_null(strstr(error.message, "overlapped pairs"));
    assert_memory_equal(findings, untouched, sizeof findings);
    assert_int_equal(count, 77);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_blocked),
        cmocka_unit_test(test_duplicate),
        cmocka_unit_test(test_misplaced),
        cmocka_unit_test(test_what_belongs_to_a_weight),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_long_findings),
        cmocka_unit_test(test_evaluations_of_copies_that_are_not_whole),
        cmocka_unit_test(test_flush),
        cmocka_unit_test(test_append_checks_values),
        cmocka_unit_test(test_pairs_are_checked),
        cmocka_unit_test(test_findings_of_unknown_ops_have_no_words),
        cmocka_unit_test(test_generator_callback),
        cmocka_unit_test(test_saving),
        cmocka_unit_test(test_saving_is_refused),
        cmocka_unit_test(test_graphs_refuse_before_the_first_finding),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
