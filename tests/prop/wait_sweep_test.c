/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom, and what of copies and recomputation is missing or does not go together, against lists that are searched
 * anew for each op: schedules of all placements, cut microbatches, pairs, two iterations with a flush and without, whose ops
 * were removed, repeated, moved, changed or joined by such as keep less, get exactly the findings that the rules tell. */
#include "support/problem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 4, MOST_OPS = 400, MOST_FINDINGS = 600 };

struct list {
    ppsched_op ops[MOST_OPS];
    uint32_t count;
};

/* --- schedules that are not quite right --- */

static void insert(struct list *list, uint32_t at, ppsched_op op)
{
    memmove(&list->ops[at + 1], &list->ops[at], (list->count - at) * sizeof op);
    list->ops[at] = op;
    list->count++;
}

static ppsched_op take(struct list *list, uint32_t at)
{
    ppsched_op op = list->ops[at];
    list->count--;
    memmove(&list->ops[at], &list->ops[at + 1], (list->count - at) * sizeof op);
    return op;
}

/* Of a pass that is there, an op of any kind that has a microbatch. */
static void add_any(struct list *list, ppsched_op op, uint64_t *seed)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_F,       PPSCHED_KIND_B,       PPSCHED_KIND_I,      PPSCHED_KIND_W,
                                    PPSCHED_KIND_OFFLOAD, PPSCHED_KIND_RELOAD,  PPSCHED_KIND_RELOAD, PPSCHED_KIND_OFFLOAD_WAIT,
                                    PPSCHED_KIND_OFFLOAD, PPSCHED_KIND_OFFLOAD, PPSCHED_KIND_SEND_F, PPSCHED_KIND_RECOMPUTE};
    op.kind = kinds[random_below(seed, sizeof kinds)];
    insert(list, random_below(seed, list->count + 1), op);
}

static void change(struct list *lists, uint32_t devices, uint64_t *seed)
{
    struct list *list = &lists[random_below(seed, devices)], *other = &lists[random_below(seed, devices)];
    if (list->count == 0)
        return;
    uint32_t at = random_below(seed, list->count), path = random_below(seed, 10);
    ppsched_op op = list->ops[at];
    if (path == 0) {
        take(list, at);
    } else if (path == 1) {
        insert(list, random_below(seed, list->count), op);
    } else if (path == 2 || path > 7) {
        take(list, at);
        insert(other, random_below(seed, other->count + 1), op);
    } else if (path < 5) { /* somewhat later, which may wait in a circle */
        uint32_t left = list->count - at;
        take(list, at);
        insert(list, at + random_below(seed, left < 6 ? left : 6), op);
    } else {
        add_any(list, op, seed);
    }
}

/* Whole offloads and recomputations, in their places. */
static void keep_less(struct list *list, uint64_t *seed)
{
    for (uint32_t i = 0; i < list->count; i++) {
        ppsched_op op = list->ops[i];
        if ((op.kind != PPSCHED_KIND_B && op.kind != PPSCHED_KIND_I) || random_below(seed, 3) != 0)
            continue;
        op.kind = random_below(seed, 2) == 0 ? PPSCHED_KIND_RECOMPUTE : PPSCHED_KIND_RELOAD;
        insert(list, i++, op);
        for (uint32_t k = 0; k < i && op.kind == PPSCHED_KIND_RELOAD; k++)
            if (list->ops[k].kind == PPSCHED_KIND_F && list->ops[k].stage == op.stage &&
                list->ops[k].microbatch == op.microbatch && list->ops[k].slice == op.slice) {
                op.kind = PPSCHED_KIND_OFFLOAD;
                insert(list, k + 1, op);
                i++;
            }
    }
}

static void make_pairs(struct list *list, uint64_t *seed)
{
    for (uint32_t i = 0; i + 1 < list->count; i++)
        if (list->ops[i].kind == PPSCHED_KIND_F &&
            (list->ops[i + 1].kind == PPSCHED_KIND_B || list->ops[i + 1].kind == PPSCHED_KIND_I) && random_below(seed, 2) == 0)
            list->ops[i].flags = PPSCHED_OP_FLAG_OVERLAPPED;
}

static ppsched_schedule *build(const ppsched_config *config, const struct list *lists, uint32_t flushes)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_set_flushes(builder, flushes, &error), &error);
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
        expect_ok(ppsched_builder_append(builder, d, lists[d].ops, lists[d].count, &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

/* Of whole microbatches that are to be cut, each op once for each slice, of backwards the last one first. */
static void take_lists(struct list *lists, const ppsched_schedule *schedule, uint32_t slices)
{
    uint32_t copies = slices / ppsched_schedule_slices(schedule);
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        assert_true(3 * count * copies + 40 < MOST_OPS);
        lists[d].count = 0;
        for (size_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < copies; k++) {
                ppsched_op op = ops[i];
                op.flags = 0;
                op.slice = (uint16_t)(copies == 1 ? op.slice : op.kind == PPSCHED_KIND_F ? k : copies - 1 - k);
                lists[d].ops[lists[d].count++] = op;
            }
    }
}

/* --- who waits for whom, by the rules --- */

struct run {
    const ppsched_schedule *schedule;
    const ppsched_op *ops[MOST_DEVICES];
    uint32_t count[MOST_DEVICES], position[MOST_DEVICES];
    uint32_t devices, stages, slices, microbatches; /* of an iteration */
};

struct wait {
    uint32_t position, other_device, other_position; /* PPSCHED_NONE where it is nowhere at home */
    ppsched_op other;
};

static int is_compute(int kind)
{
    return kind >= PPSCHED_KIND_F && kind <= PPSCHED_KIND_W;
}

static int keeps_less(int kind)
{
    return kind == PPSCHED_KIND_RECOMPUTE || kind == PPSCHED_KIND_OFFLOAD || kind == PPSCHED_KIND_RELOAD ||
           kind == PPSCHED_KIND_OFFLOAD_WAIT;
}

static uint32_t home_of(const struct run *run, const ppsched_op *op)
{
    return ppsched_schedule_device_of(run->schedule, op->stage, op->microbatch);
}

/* Likewise of an op with other stage, slice and kind; the first at home, or PPSCHED_NONE. B is an I that does more. */
static uint32_t find(const struct run *run, uint32_t device, const ppsched_op *op)
{
    for (uint32_t i = 0; i < run->count[device]; i++) {
        const ppsched_op *o = &run->ops[device][i];
        int is_kind = o->kind == op->kind || (op->kind == PPSCHED_KIND_I && o->kind == PPSCHED_KIND_B);
        if (is_kind && o->stage == op->stage && o->microbatch == op->microbatch && o->slice == op->slice)
            return i;
    }
    return PPSCHED_NONE;
}

static int is_anywhere(const struct run *run, const ppsched_op *op)
{
    for (uint32_t d = 0; d < run->devices; d++)
        if (find(run, d, op) != PPSCHED_NONE)
            return 1;
    return 0;
}

/* What an op needs that has the stage, slice and kind; 0 where it has not run, which `*wait` then says. */
static int has_run(const struct run *run, const ppsched_op *op, int stage, int slice, int kind, struct wait *wait)
{
    ppsched_op needed = {
        .microbatch = op->microbatch, .stage = (uint16_t)stage, .slice = (uint16_t)slice, .kind = (uint8_t)kind};
    needed.flags = run->slices > 1 ? PPSCHED_OP_FLAG_SLICED : 0;
    uint32_t home = home_of(run, &needed), at = find(run, home, &needed);
    if (at < run->position[home])
        return 1;
    wait->other_device = home;
    wait->other_position = at;
    wait->other = at != PPSCHED_NONE ? run->ops[home][at] : needed;
    return 0;
}

/* The first of an op's inputs that has not run: on its stage, from the next one, of the next slice, then of what keeps less. */
static int has_inputs(const struct run *run, const ppsched_op *op, struct wait *wait)
{
    const int s = op->stage, k = op->slice;
    ppsched_op kept = *op;
    if (op->kind == PPSCHED_KIND_F)
        return (s == 0 || has_run(run, op, s - 1, k, PPSCHED_KIND_F, wait)) &&
               (k == 0 || has_run(run, op, s, k - 1, PPSCHED_KIND_F, wait));
    if (op->kind == PPSCHED_KIND_W)
        return has_run(run, op, s, k, PPSCHED_KIND_I, wait);
    if (op->kind == PPSCHED_KIND_RECOMPUTE || op->kind == PPSCHED_KIND_OFFLOAD)
        return has_run(run, op, s, k, PPSCHED_KIND_F, wait);
    if (keeps_less(op->kind))
        return has_run(run, op, s, k, PPSCHED_KIND_OFFLOAD, wait);
    if (!has_run(run, op, s, k, PPSCHED_KIND_F, wait) ||
        (s + 1 < (int)run->stages && !has_run(run, op, s + 1, k, PPSCHED_KIND_I, wait)) ||
        (k + 1 < (int)run->slices && !has_run(run, op, s, k + 1, PPSCHED_KIND_I, wait)))
        return 0;
    kept.kind = PPSCHED_KIND_RELOAD;
    if (is_anywhere(run, &kept) && !has_run(run, op, s, k, PPSCHED_KIND_RELOAD, wait))
        return 0;
    kept.kind = PPSCHED_KIND_RECOMPUTE;
    return !is_anywhere(run, &kept) || has_run(run, op, s, k, PPSCHED_KIND_RECOMPUTE, wait);
}

/* Whether all ops at home of earlier iterations have run; if not, what is told is the first op of the earliest iteration that
 * has not, wherever that stands. */
static int is_flushed(const struct run *run, const ppsched_op *op, struct wait *wait)
{
    uint32_t iteration = op->microbatch / run->microbatches, earliest = iteration;
    for (uint32_t d = 0; d < run->devices && ppsched_schedule_flushes(run->schedule) != 0; d++)
        for (uint32_t i = run->position[d]; i < run->count[d]; i++) {
            const ppsched_op *o = &run->ops[d][i];
            if (is_compute(o->kind) && home_of(run, o) == d && o->microbatch / run->microbatches < earliest)
                earliest = o->microbatch / run->microbatches;
        }
    for (uint32_t d = 0; d < run->devices && earliest < iteration; d++)
        for (uint32_t i = run->position[d]; i < run->count[d]; i++)
            if (is_compute(run->ops[d][i].kind) && run->ops[d][i].microbatch / run->microbatches <= earliest) {
                *wait = (struct wait){wait->position, d, i, run->ops[d][i]};
                return 0;
            }
    return 1;
}

static uint32_t unit_length(const struct run *run, uint32_t device)
{
    return (run->ops[device][run->position[device]].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0 ? 2 : 1;
}

/* Ops elsewhere than at home do no one's work, and wait for nothing. */
static int is_ready(const struct run *run, uint32_t device, struct wait *wait)
{
    for (uint32_t i = 0; i < unit_length(run, device); i++) {
        const ppsched_op *op = &run->ops[device][run->position[device] + i];
        int has_needs = is_compute(op->kind) || keeps_less(op->kind);
        wait->position = run->position[device] + i;
        if (has_needs && home_of(run, op) != device)
            continue;
        if (!is_flushed(run, op, wait) || (has_needs && !has_inputs(run, op, wait)))
            return 0;
    }
    return 1;
}

static void run_all(struct run *run, const ppsched_schedule *schedule)
{
    struct wait wait;
    *run = (struct run){.schedule = schedule, .devices = ppsched_schedule_devices(schedule)};
    run->stages = ppsched_schedule_stages(schedule);
    run->slices = ppsched_schedule_slices(schedule);
    run->microbatches = ppsched_schedule_microbatches(schedule);
    for (uint32_t d = 0; d < run->devices; d++) {
        size_t count = 0;
        run->ops[d] = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        run->count[d] = (uint32_t)count;
    }
    for (int moves = 1; moves;) {
        moves = 0;
        for (uint32_t d = 0; d < run->devices; d++)
            while (run->position[d] < run->count[d] && is_ready(run, d, &wait)) {
                run->position[d] += unit_length(run, d);
                moves = 1;
            }
    }
}

/* --- the findings that there must be --- */

struct findings {
    ppsched_finding all[MOST_FINDINGS];
    size_t count;
};

static void add(struct findings *out, ppsched_finding finding)
{
    assert_true(out->count < MOST_FINDINGS);
    out->all[out->count++] = finding;
}

/* A device that waits for what is nowhere; one of several that wait in a circle. */
static void find_waits(const struct run *run, struct findings *out)
{
    struct wait waits[MOST_DEVICES];
    for (uint32_t d = 0; d < run->devices; d++)
        if (run->position[d] < run->count[d])
            assert_false(is_ready(run, d, &waits[d]));
    for (uint32_t d = 0; d < run->devices; d++) {
        if (run->position[d] == run->count[d])
            continue;
        const struct wait *wait = &waits[d];
        int is_blocked = wait->other_position == PPSCHED_NONE, is_circle = 0;
        for (uint32_t next = d, steps = 0; !is_blocked && steps < run->devices && !is_circle; steps++) {
            if (waits[next].other_position == PPSCHED_NONE)
                break;
            next = waits[next].other_device;
            is_circle = next == d;
        }
        if (is_blocked || is_circle)
            add(out,
                (ppsched_finding){is_blocked ? PPSCHED_FINDING_KIND_BLOCKED : PPSCHED_FINDING_KIND_CYCLE, d, wait->position,
                                  wait->other_device, wait->other_position, run->ops[d][wait->position], wait->other});
    }
}

static ppsched_op of_kind(ppsched_op op, uint8_t kind)
{
    op.kind = kind;
    op.flags &= (uint8_t)~PPSCHED_OP_FLAG_OVERLAPPED;
    return op;
}

/* Of one stage pass, what of its copies is missing, and whether it is recomputed too. */
static void find_saving(const struct run *run, struct findings *out, ppsched_op op)
{
    ppsched_op offload = of_kind(op, PPSCHED_KIND_OFFLOAD), reload = of_kind(op, PPSCHED_KIND_RELOAD);
    ppsched_op recompute = of_kind(op, PPSCHED_KIND_RECOMPUTE), wait = of_kind(op, PPSCHED_KIND_OFFLOAD_WAIT);
    uint32_t home = home_of(run, &op), first = find(run, home, &offload), again = find(run, home, &recompute);
    const ppsched_op none = {.kind = 0};
    if (is_anywhere(run, &offload) && !is_anywhere(run, &reload))
        add(out, (ppsched_finding){PPSCHED_FINDING_KIND_MISSING, home, PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, reload, none});
    if (!is_anywhere(run, &offload) && (is_anywhere(run, &reload) || is_anywhere(run, &wait)))
        add(out,
            (ppsched_finding){PPSCHED_FINDING_KIND_MISSING, home, PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, offload, none});
    if (first != PPSCHED_NONE && again != PPSCHED_NONE)
        add(out, (ppsched_finding){PPSCHED_FINDING_KIND_CONFLICT, home, again, home, first, recompute, offload});
}

/* Copies and recomputations that stood before, or stand elsewhere. */
static void find_wrong_copies(const struct run *run, struct findings *out)
{
    for (uint32_t d = 0; d < run->devices; d++)
        for (uint32_t i = 0; i < run->count[d]; i++) {
            const ppsched_op op = run->ops[d][i], none = {.kind = 0};
            uint32_t home = home_of(run, &op), first = find(run, d, &op);
            if (keeps_less(op.kind) && home != d)
                add(out, (ppsched_finding){PPSCHED_FINDING_KIND_MISPLACED, d, i, home, PPSCHED_NONE, op, none});
            else if (keeps_less(op.kind) && first < i)
                add(out, (ppsched_finding){PPSCHED_FINDING_KIND_DUPLICATE, d, i, d, first, op, run->ops[d][first]});
        }
}

static void find_all(const struct run *run, struct findings *out)
{
    uint32_t total = run->microbatches * ppsched_schedule_iterations(run->schedule);
    out->count = 0;
    find_wrong_copies(run, out);
    for (uint32_t s = 0; s < run->stages; s++)
        for (uint32_t m = 0; m < total; m++)
            for (uint32_t k = 0; k < run->slices; k++)
                find_saving(run, out,
                            (ppsched_op){.microbatch = m,
                                         .stage = (uint16_t)s,
                                         .slice = (uint16_t)k,
                                         .flags = run->slices > 1 ? PPSCHED_OP_FLAG_SLICED : 0});
    find_waits(run, out);
}

/* --- both against each other --- */

static int is_of_here(const ppsched_finding *finding)
{
    return finding->kind == PPSCHED_FINDING_KIND_CYCLE || finding->kind == PPSCHED_FINDING_KIND_BLOCKED ||
           keeps_less(finding->op.kind);
}

static void expect_there(const struct findings *here, const ppsched_finding *wanted, const char *what)
{
    char text[256];
    for (size_t i = 0; i < here->count; i++)
        if (memcmp(&here->all[i], wanted, sizeof *wanted) == 0)
            return;
    ppsched_finding_write_text(text, sizeof text, NULL, wanted, NULL);
    fail_msg("%s: %s", what, text);
}

/* Each op of a circle waits for one on the device of the next finding, the last for the first. */
static void expect_circles(const ppsched_finding *out, size_t count)
{
    for (size_t i = 0, first = 0; i < count; i++) {
        if (out[i].kind != PPSCHED_FINDING_KIND_CYCLE)
            continue;
        first = i;
        while (out[i].other_device != out[first].device) {
            assert_true(i + 1 < count && out[i + 1].kind == PPSCHED_FINDING_KIND_CYCLE);
            assert_int_equal(out[i].other_device, out[i + 1].device);
            i++;
        }
    }
}

static void compare(const ppsched_schedule *schedule, long seen[7])
{
    static struct findings wanted;
    static struct findings told;
    struct run run;
    ppsched_error error;
    size_t kept = 0;
    ppsched_status status = ppsched_schedule_check(told.all, MOST_FINDINGS, &told.count, schedule, &error);
    assert_int_equal(status, told.count > 0 ? PPSCHED_ERROR_INVALID_SCHEDULE : PPSCHED_OK);
    assert_true(told.count <= MOST_FINDINGS);
    run_all(&run, schedule);
    find_all(&run, &wanted);
    expect_circles(told.all, told.count);
    for (size_t i = 0; i < told.count; i++)
        if (is_of_here(&told.all[i])) {
            seen[told.all[i].kind]++;
            kept++;
            expect_there(&wanted, &told.all[i], "is told, but is not so");
        }
    for (size_t i = 0; i < wanted.count; i++)
        expect_there(&told, &wanted.all[i], "is so, but is not told");
    assert_int_equal(kept, wanted.count);
}

static void test_waits_are_those_of_the_rules(void **state)
{
    static const struct {
        const char *name;
        uint32_t chunks, slices;
        int32_t placement;
    } rows[] = {{"interleaved_zb", 3, 1, PPSCHED_PLACEMENT_LOOP},    {"zbv", 2, 1, PPSCHED_PLACEMENT_V},
                {"dualpipe", 1, 1, PPSCHED_PLACEMENT_BIDIRECTIONAL}, {"zb_h1", 1, 3, PPSCHED_PLACEMENT_LINEAR},
                {"seq_1f1b", 1, 2, PPSCHED_PLACEMENT_LINEAR},        {"dualpipe_v", 2, 1, PPSCHED_PLACEMENT_V},
                {"dualpipe", 1, 2, PPSCHED_PLACEMENT_BIDIRECTIONAL}};
    static struct list lists[MOST_DEVICES];
    uint64_t seed = 4;
    long seen[7] = {0};
    (void)state;
    for (uint32_t trial = 0; trial < 9000; trial++) {
        size_t row = trial % 7;
        uint32_t devices = row == 2 ? 4 : row == 6 ? 2 : 2 + trial / 7 % 2, iterations = 1 + random_below(&seed, 3) / 2;
        uint32_t microbatches = row == 2 ? 8 : row == 5 ? 6 : 4;
        ppsched_config *config = make_config(devices, devices * rows[row].chunks, microbatches);
        expect_ok(ppsched_config_set_iterations(config, iterations, NULL), NULL);
        expect_ok(ppsched_config_set_slices(config, row == 6 ? 1 : rows[row].slices, NULL), NULL);
        ppsched_schedule *schedule = make_schedule(config, rows[row].name);
        expect_ok(ppsched_config_set_slices(config, rows[row].slices, NULL), NULL);
        take_lists(lists, schedule, rows[row].slices);
        ppsched_schedule_release(schedule);
        for (uint32_t d = 0; d < devices && trial % 3 == 0; d++)
            keep_less(&lists[d], &seed);
        for (uint32_t changes = random_below(&seed, 5); changes > 0; changes--)
            change(lists, devices, &seed);
        for (uint32_t d = 0; d < devices; d++)
            make_pairs(&lists[d], &seed);
        expect_ok(ppsched_config_set_placement(config, rows[row].placement, NULL, 0, NULL), NULL);
        schedule = build(config, lists, random_below(&seed, 4) != 0);
        compare(schedule, seen);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    for (int kind = PPSCHED_FINDING_KIND_MISSING; kind <= PPSCHED_FINDING_KIND_CONFLICT; kind++)
        assert_true(seen[kind] > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_are_those_of_the_rules),
    };
    return cmocka_run_group_tests_name("wait sweep", tests, NULL, NULL);
}
