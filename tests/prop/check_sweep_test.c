/* SPDX-License-Identifier: Apache-2.0 */
/* The checker against lists that are searched for each stage pass: schedules whose ops were removed, repeated, moved or changed
 * at random get exactly the findings that the header tells, in one line, and hang where a plain run does. */
#include "support/brute.h"
#include "support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 3, MOST_OPS = 400, MOST_FINDINGS = 500, IN_MESSAGE = 4, ROOM = 439 };

struct queues {
    ppsched_op ops[MOST_DEVICES][MOST_OPS];
    uint32_t count[MOST_DEVICES], devices, stages, microbatches; /* of all iterations */
};

struct findings {
    ppsched_finding all[MOST_FINDINGS];
    size_t count;
};

/* --- what is wrong, by looking for it --- */

enum { FORWARD, BACKWARD, WEIGHT };

static int part_of(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_F ? FORWARD : op->kind == PPSCHED_KIND_W ? WEIGHT : BACKWARD;
}

static uint32_t home_of(const struct queues *queues, uint32_t stage)
{
    return stage % queues->devices;
}

static void add(struct findings *findings, const ppsched_finding *finding)
{
    assert_true(findings->count < MOST_FINDINGS);
    findings->all[findings->count++] = *finding;
}

/* The first op at home before a position that does the same; -1 where there is none. */
static int first_alike(const struct queues *queues, uint32_t device, uint32_t end, const ppsched_op *op)
{
    for (uint32_t i = 0; i < end; i++) {
        const ppsched_op *other = &queues->ops[device][i];
        if (part_of(other) == part_of(op) && other->stage == op->stage && other->microbatch == op->microbatch)
            return (int)i;
    }
    return -1;
}

static int is_elsewhere(const struct queues *queues, int part, uint32_t stage, uint32_t microbatch)
{
    for (uint32_t d = 0; d < queues->devices; d++)
        for (uint32_t i = 0; i < queues->count[d] && d != home_of(queues, stage); i++) {
            const ppsched_op *op = &queues->ops[d][i];
            if (part_of(op) == part && op->stage == stage && op->microbatch == microbatch)
                return 1;
        }
    return 0;
}

static void find_wrong_ops(const struct queues *queues, struct findings *findings)
{
    for (uint32_t d = 0; d < queues->devices; d++)
        for (uint32_t i = 0; i < queues->count[d]; i++) {
            const ppsched_op *op = &queues->ops[d][i];
            uint32_t home = home_of(queues, op->stage);
            int earlier = first_alike(queues, d, i, op);
            ppsched_finding finding = {.device = d, .position = i, .op = *op};
            finding.other_device = home != d ? home : d;
            finding.other_position = home != d ? PPSCHED_NONE : (uint32_t)earlier;
            finding.kind = home != d ? PPSCHED_FINDING_KIND_MISPLACED : PPSCHED_FINDING_KIND_DUPLICATE;
            if (home == d && earlier >= 0)
                finding.other = queues->ops[d][earlier];
            if (home != d || earlier >= 0)
                add(findings, &finding);
        }
}

static void find_missing(const struct queues *queues, struct findings *findings, int kind, uint32_t stage, uint32_t microbatch)
{
    ppsched_finding finding = {.kind = PPSCHED_FINDING_KIND_MISSING,
                               .device = home_of(queues, stage),
                               .position = PPSCHED_NONE,
                               .other_device = PPSCHED_NONE,
                               .other_position = PPSCHED_NONE,
                               .op = {.microbatch = microbatch, .stage = (uint16_t)stage, .kind = (uint8_t)kind}};
    add(findings, &finding);
}

static void find_wrong_pass(const struct queues *queues, struct findings *findings, uint32_t stage, uint32_t microbatch)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_B, PPSCHED_KIND_W};
    uint32_t home = home_of(queues, stage);
    int at[3], elsewhere[3];
    for (int part = 0; part < 3; part++) {
        const ppsched_op op = {.microbatch = microbatch, .stage = (uint16_t)stage, .kind = kinds[part]};
        at[part] = first_alike(queues, home, queues->count[home], &op);
        elsewhere[part] = is_elsewhere(queues, part, stage, microbatch);
    }
    if (at[FORWARD] < 0 && !elsewhere[FORWARD])
        find_missing(queues, findings, PPSCHED_KIND_F, stage, microbatch);
    if (at[BACKWARD] < 0) { /* with a W, wherever, it is I that is missing */
        int has_weight = at[WEIGHT] >= 0 || elsewhere[WEIGHT];
        if (!elsewhere[BACKWARD])
            find_missing(queues, findings, has_weight ? PPSCHED_KIND_I : PPSCHED_KIND_B, stage, microbatch);
        return;
    }
    int full = queues->ops[home][at[BACKWARD]].kind == PPSCHED_KIND_B;
    if (!full && at[WEIGHT] < 0 && !elsewhere[WEIGHT])
        find_missing(queues, findings, PPSCHED_KIND_W, stage, microbatch);
    if (full && at[WEIGHT] >= 0) {
        ppsched_finding finding = {.kind = PPSCHED_FINDING_KIND_DUPLICATE,
                                   .device = home,
                                   .position = (uint32_t)at[WEIGHT],
                                   .other_device = home,
                                   .other_position = (uint32_t)at[BACKWARD],
                                   .op = queues->ops[home][at[WEIGHT]],
                                   .other = queues->ops[home][at[BACKWARD]]};
        add(findings, &finding);
    }
}

/* --- schedules that are not quite right --- */

static void take_queues(struct queues *out, const ppsched_schedule *schedule)
{
    memset(out, 0, sizeof *out);
    out->devices = ppsched_schedule_devices(schedule);
    out->stages = ppsched_schedule_stages(schedule);
    out->microbatches = ppsched_schedule_microbatches(schedule) * ppsched_schedule_iterations(schedule);
    for (uint32_t d = 0; d < out->devices; d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        assert_true(count + 20 < MOST_OPS);
        memcpy(out->ops[d], ops, count * sizeof *ops);
        out->count[d] = (uint32_t)count;
        for (size_t i = 0; i < count; i++)
            out->ops[d][i].flags = 0;
    }
}

static void insert(struct queues *queues, uint32_t device, uint32_t at, ppsched_op op)
{
    memmove(&queues->ops[device][at + 1], &queues->ops[device][at], (queues->count[device] - at) * sizeof op);
    queues->ops[device][at] = op;
    queues->count[device]++;
}

static ppsched_op take(struct queues *queues, uint32_t device, uint32_t at)
{
    ppsched_op op = queues->ops[device][at];
    queues->count[device]--;
    memmove(&queues->ops[device][at], &queues->ops[device][at + 1], (queues->count[device] - at) * sizeof op);
    return op;
}

static void change(struct queues *queues, uint64_t *seed)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_B, PPSCHED_KIND_I, PPSCHED_KIND_W};
    uint32_t device = random_below(seed, queues->devices), other = random_below(seed, queues->devices);
    if (queues->count[device] == 0)
        return;
    uint32_t at = random_below(seed, queues->count[device]), to = random_below(seed, queues->count[device]);
    ppsched_op op = queues->ops[device][at];
    switch (random_below(seed, 5)) {
    case 0:
        take(queues, device, at);
        break;
    case 1:
        insert(queues, device, to, op);
        break;
    case 2:
        take(queues, device, at);
        insert(queues, other, random_below(seed, queues->count[other] + 1), op);
        break;
    case 3:
        queues->ops[device][at].kind = kinds[random_below(seed, 4)];
        break;
    default: /* a little later, which may wait in a circle */
        take(queues, device, at);
        insert(queues, device, at + random_below(seed, (queues->count[device] - at < 4 ? queues->count[device] - at : 4) + 1),
               op);
        break;
    }
}

static ppsched_schedule *build(const struct queues *queues, const ppsched_config *config)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; d < queues->devices; d++)
        expect_ok(ppsched_builder_append(builder, d, queues->ops[d], queues->count[d], &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

/* --- both against each other --- */

static int is_there(const struct findings *findings, const ppsched_finding *wanted)
{
    for (size_t i = 0; i < findings->count; i++)
        if (memcmp(&findings->all[i], wanted, sizeof *wanted) == 0)
            return 1;
    return 0;
}

static void expect_all_there(const struct findings *here, const struct findings *wanted, const char *what)
{
    char text[256];
    for (size_t i = 0; i < wanted->count; i++)
        if (!is_there(here, &wanted->all[i])) {
            ppsched_finding_write_text(text, sizeof text, NULL, &wanted->all[i], NULL);
            fail_msg("%s: %s", what, text);
        }
}

/* The first four findings in words as far as there is room, and how many there are where that is more. */
static void expect_message(const ppsched_finding *told, size_t count, const char *message)
{
    char whole[4 * 256] = "", text[256], tail[64] = "";
    for (size_t i = 0; i < count && i < IN_MESSAGE; i++) {
        expect_ok(ppsched_finding_write_text(text, sizeof text, NULL, &told[i], NULL), NULL);
        strcat(whole, i > 0 ? "; " : "");
        strcat(whole, text);
    }
    if (count > IN_MESSAGE)
        snprintf(tail, sizeof tail, "; %zu findings in all", count);
    size_t told_length = strlen(message) - strlen(tail), length = strlen(whole);
    assert_int_equal(strncmp(message, whole, told_length), 0);
    assert_string_equal(message + told_length, tail);
    assert_true(told_length == length || (told_length < length && told_length >= ROOM - 3 && told_length <= ROOM));
}

static void compare(const struct queues *queues, const ppsched_schedule *schedule, long seen[7])
{
    static struct findings brute, told;
    static ppsched_finding out[MOST_FINDINGS];
    static const struct brute_costs free_of_cost;
    struct brute plain;
    ppsched_error error;
    size_t count = 0, waits = 0;
    brute.count = told.count = 0;
    find_wrong_ops(queues, &brute);
    for (uint32_t s = 0; s < queues->stages; s++)
        for (uint32_t m = 0; m < queues->microbatches; m++)
            find_wrong_pass(queues, &brute, s, m);
    ppsched_status status = ppsched_schedule_check(out, MOST_FINDINGS, &count, schedule, &error);
    assert_int_equal(status, count > 0 ? PPSCHED_ERROR_INVALID_SCHEDULE : PPSCHED_OK);
    assert_true(count <= MOST_FINDINGS);
    for (size_t i = 0; i < count; i++) {
        int is_wait = out[i].kind == PPSCHED_FINDING_KIND_CYCLE || out[i].kind == PPSCHED_FINDING_KIND_BLOCKED;
        seen[out[i].kind]++;
        waits += (size_t)is_wait;
        if (!is_wait)
            add(&told, &out[i]);
    }
    expect_all_there(&brute, &told, "is told, but is not so");
    expect_all_there(&told, &brute, "is so, but is not told");
    assert_int_equal(told.count, brute.count);
    if (count > 0)
        expect_message(out, count, error.message);
    brute_load(&plain, schedule);
    assert_int_equal(brute_complete(&plain, schedule), brute.count == 0);
    if (brute.count == 0)
        assert_int_equal(waits == 0, brute_run(&plain, schedule, &free_of_cost));
    brute_free(&plain);
}

static void test_findings_are_what_is_wrong(void **state)
{
    static const struct {
        const char *name;
        uint32_t chunks;
    } rows[] = {{"interleaved_zb", 3}, {"1f1b", 1}, {"group_interleaved_1f1b", 2}, {"interleaved_1f1b", 3}};
    static struct queues queues;
    uint64_t seed = 21;
    long seen[7] = {0};
    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        size_t row = (size_t)trial % 4;
        ppsched_config *config = make_config(3, 3 * (int64_t)rows[row].chunks, 4 + trial % 3);
        expect_ok(ppsched_config_set_iterations(config, 1 + trial % 2, NULL), NULL);
        ppsched_schedule *schedule = make_schedule(config, rows[row].name);
        take_queues(&queues, schedule);
        ppsched_schedule_release(schedule);
        for (uint32_t changes = random_below(&seed, 5); changes > 0; changes--)
            change(&queues, &seed);
        expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_LOOP, NULL, 0, NULL), NULL);
        schedule = build(&queues, config);
        compare(&queues, schedule, seen);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    for (int kind = PPSCHED_FINDING_KIND_MISSING; kind <= PPSCHED_FINDING_KIND_BLOCKED; kind++)
        assert_true(seen[kind] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings_are_what_is_wrong),
    };
    return cmocka_run_group_tests_name("check sweep", tests, NULL, NULL);
}
