/* SPDX-License-Identifier: Apache-2.0 */
/* Properties over random problems of all strategies: sensitivities equal what another evaluation of slightly longer or shorter
 * ops gives, and the critical path is a way from 0 to the makespan on which each op waits for the one before. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 30, MOST_STAGES = 120, MOST_PASSES = 10, MOST_OPS = MOST_STAGES * MOST_PASSES * 3, MOST_STEPS = 2000 };

/* The largest sizes that are drawn: of a strategy's problems, or of those in an order of their own. */
struct largest {
    uint32_t devices, chunks, microbatches;
};

struct largest_own {
    uint32_t devices, stages, microbatches;
};

/* Times come from a grid whose sums tie often and otherwise differ by much more than `step` times the ops of a way. */
struct problem {
    ppsched_config *config;
    ppsched_schedule *schedule; /* NULL where the strategy refuses the draw */
    double duration[5][MOST_STAGES];
    double latency[MOST_DEVICES][MOST_DEVICES];
    double occupancy;
    double step, accuracy; /* of a difference quotient; 0: exact */
    int irrational;
};

static struct seen {
    long problems, ties, negatives, inputs, flushes, devices, pairs;
} seen;

static const int32_t QUANTITY[] = {0, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                   PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};

static double random_time(uint64_t *seed, const struct problem *p)
{
    double whole = random_below(seed, 4);
    return p->irrational ? whole + random_below(seed, 3) * sqrt(2) : whole;
}

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

static void random_costs(uint64_t *seed, struct problem *p)
{
    uint32_t stages = ppsched_config_stages(p->config), devices = ppsched_config_devices(p->config);
    static double list[MOST_STAGES * MOST_STAGES];
    int alike = (int)random_below(seed, 3) == 0; /* all stages: the most ties */
    int far = random_below(seed, 2) ? 1 : 6;     /* devices: more waiting */
    p->irrational = (int)random_below(seed, 2);
    p->step = p->irrational ? 0x1p-26 : 0x1p-20;
    p->accuracy = p->irrational ? 0.01 : 0;
    for (int k = 1; k <= 4; k++) {
        for (uint32_t s = 0; s < stages; s++)
            p->duration[k][s] = alike && s > 0 ? p->duration[k][0] : random_time(seed, p);
        set_list(p->config, QUANTITY[k], p->duration[k], stages);
    }
    for (uint32_t i = 0; i < stages * stages; i++)
        list[i] = random_time(seed, p);
    if (random_below(seed, 3) == 0)
        set_list(p->config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, list, stages * stages);
    for (uint32_t a = 0; a < devices; a++)
        for (uint32_t b = 0; b < devices; b++)
            p->latency[a][b] = list[a * devices + b] = alike ? 0 : random_time(seed, p) * far;
    set_list(p->config, PPSCHED_QUANTITY_P2P_TIME, list, devices * devices);
    double bandwidth = random_below(seed, 2) ? 4 : HUGE_VAL, bytes = random_below(seed, 4);
    set_number(p->config, PPSCHED_QUANTITY_P2P_BANDWIDTH, bandwidth);
    set_number(p->config, PPSCHED_QUANTITY_ACTIVATION_BYTES, bytes);
    p->occupancy = bytes / bandwidth;
}

/* Puts comm ops, and ops without a microbatch, between the others. Not by time, which has no order where all times are 0. */
static void lower(uint64_t *seed, struct problem *p)
{
    static const int32_t lowerings[] = {PPSCHED_LOWERING_NONE, PPSCHED_LOWERING_PYTORCH, PPSCHED_LOWERING_JUST_IN_TIME};
    const ppsched_lower_options options = {
        .size = sizeof options, .lowering = lowerings[random_below(seed, 3)], .unshard = 2, .reduce_grad = 1};
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_lower(&lowered, p->schedule, p->config, &options, &error), &error);
    ppsched_schedule_release(p->schedule);
    p->schedule = lowered;
}

static void draw(uint64_t *seed, struct problem *p, const char *strategy, struct largest largest)
{
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_error error;
    memset(p, 0, sizeof *p);
    uint32_t number = 0;
    do
        assert_int_equal(ppsched_strategy_get_info(&info, number++, NULL), PPSCHED_OK);
    while (strcmp(info.name, strategy) != 0);
    uint32_t devices = 1 + random_below(seed, largest.devices);
    uint32_t chunks = info.chunks != 0 ? info.chunks : 1 + random_below(seed, largest.chunks);
    p->config = make_config(devices, devices * chunks, 1 + random_below(seed, largest.microbatches));
    expect_ok(ppsched_config_set_iterations(p->config, 1 + random_below(seed, 2), &error), &error);
    random_costs(seed, p);
    ppsched_status status = ppsched_schedule_generate(&p->schedule, p->config, strategy, &error);
    if (status != PPSCHED_OK)
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    else if (random_below(seed, 4) == 0)
        lower(seed, p);
}

/* --- schedules in any order, on any placement --- */

struct draft {
    ppsched_op ops[MOST_DEVICES][MOST_OPS];
    size_t count[MOST_DEVICES];
};

static int is_backward(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
}

static int is_pair(const ppsched_op *unit)
{
    return (unit->flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
}

/* Appends ops at random where their inputs are there, iteration by iteration if they flush; in each eight chances
 * `pairs` times an F and the B or I behind it become a pair. */
static void random_order(uint64_t *seed, struct draft *draft, uint32_t stages, uint32_t from, uint32_t to, const uint32_t *map,
                         uint32_t pairs)
{
    static uint8_t done[MOST_STAGES][MOST_PASSES]; /* 0: nothing, 1: F, 2: I, 3: all */
    memset(done, 0, sizeof done);
    for (uint32_t left = stages * (to - from); left > 0;) {
        uint32_t s = random_below(seed, stages), m = from + random_below(seed, to - from);
        uint8_t now = done[s][m];
        int ready = now == 0 ? s == 0 || done[s - 1][m] >= 1 : now == 1 ? s + 1 == stages || done[s + 1][m] >= 2 : now == 2;
        if (!ready)
            continue;
        int full = now == 1 && random_below(seed, 2);
        uint8_t kind = now == 0 ? PPSCHED_KIND_F : full ? PPSCHED_KIND_B : now == 1 ? PPSCHED_KIND_I : PPSCHED_KIND_W;
        ppsched_op *op = &draft->ops[map[s]][draft->count[map[s]]++];
        *op = (ppsched_op){.microbatch = m, .stage = (uint16_t)s, .kind = kind};
        if (draft->count[map[s]] > 1 && op[-1].kind == PPSCHED_KIND_F && is_backward(op) && random_below(seed, 8) < pairs)
            op[-1].flags = PPSCHED_OP_FLAG_OVERLAPPED;
        done[s][m] = full ? 3 : now + 1;
        left -= done[s][m] == 3;
    }
}

static void build(struct problem *p, const struct draft *draft, uint32_t flushes)
{
    ppsched_builder *builder = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, p->config, &error), &error);
    expect_ok(ppsched_builder_set_flushes(builder, flushes, &error), &error);
    for (uint32_t d = 0; d < ppsched_config_devices(p->config); d++)
        expect_ok(ppsched_builder_append(builder, d, draft->ops[d], draft->count[d], &error), &error);
    expect_ok(ppsched_builder_finish(&p->schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
}

/* Leaves `schedule` NULL where the pairs make it wait in a circle. */
static void draw_own(uint64_t *seed, struct problem *p, struct largest_own largest)
{
    static struct draft draft;
    ppsched_error error;
    uint32_t devices = 1 + random_below(seed, largest.devices), stages = 1 + random_below(seed, largest.stages);
    uint32_t microbatches = 1 + random_below(seed, largest.microbatches), iterations = 1 + random_below(seed, 2);
    uint32_t flushes = random_below(seed, 2), map[MOST_STAGES];
    uint32_t pairs = random_below(seed, 2) * random_below(seed, 8);
    memset(p, 0, sizeof *p);
    memset(draft.count, 0, sizeof draft.count);
    p->config = make_config(devices, stages, microbatches);
    expect_ok(ppsched_config_set_iterations(p->config, iterations, &error), &error);
    for (uint32_t s = 0; s < stages; s++)
        map[s] = random_below(seed, devices);
    expect_ok(ppsched_config_set_placement(p->config, PPSCHED_PLACEMENT_MAP, map, stages, &error), &error);
    random_costs(seed, p);
    for (uint32_t i = 0; i < (flushes ? iterations : 1); i++)
        random_order(seed, &draft, stages, i * microbatches, (flushes ? i + 1 : iterations) * microbatches, map, pairs);
    build(p, &draft, flushes);
    if (ppsched_schedule_check(NULL, 0, NULL, p->schedule, &error) != PPSCHED_OK) {
        ppsched_schedule_release(p->schedule);
        p->schedule = NULL;
    } else if (random_below(seed, 4) == 0) {
        lower(seed, p);
    }
}

static void end(struct problem *p)
{
    ppsched_schedule_release(p->schedule);
    ppsched_config_destroy(p->config);
}

/* --- sensitivities --- */

/* The objectives when the ops of a stage and kind (0: all) take `change` more, or 0 where that is below 0. */
static ppsched_metrics changed(const struct problem *p, uint32_t stage, int kind, double change)
{
    uint32_t stages = ppsched_config_stages(p->config);
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    for (int k = 1; k <= 4; k++) {
        double list[MOST_STAGES];
        memcpy(list, p->duration[k], sizeof list);
        if (kind == 0 || kind == k)
            list[stage] = fmax(0, list[stage] + change);
        set_list(p->config, QUANTITY[k], list, stages);
    }
    expect_ok(ppsched_schedule_evaluate(&timeline, p->schedule, p->config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error),
              &error);
    ppsched_metrics metrics = metrics_of(timeline);
    ppsched_timeline_destroy(timeline);
    return metrics;
}

static void compare(const struct problem *p, double told, double difference, uint32_t stage, int kind, const char *what)
{
    if (fabs(told - difference / p->step) > p->accuracy)
        fail_msg("%s: %s of stage %u and kind %d is %g, the difference quotient %.9g", ppsched_schedule_name(p->schedule), what,
                 stage, kind, told, difference / p->step);
}

static void compare_sensitivities(const struct problem *p, const ppsched_timeline *timeline, int kind)
{
    uint32_t stages = ppsched_schedule_stages(p->schedule);
    ppsched_sensitivity of_span[MOST_STAGES], of_makespan[MOST_STAGES];
    ppsched_metrics now = metrics_of(timeline);
    ppsched_error error;
    expect_ok(
        ppsched_timeline_get_sensitivities(of_span, stages, NULL, timeline, PPSCHED_OBJECTIVE_SPAN, kind, NULL, NULL, &error),
        &error);
    expect_ok(ppsched_timeline_get_sensitivities(of_makespan, stages, NULL, timeline, PPSCHED_OBJECTIVE_MAKESPAN, kind, NULL,
                                                 NULL, &error),
              &error);
    for (uint32_t s = 0; s < stages; s++) {
        ppsched_metrics longer = changed(p, s, kind, p->step), shorter = changed(p, s, kind, -p->step);
        compare(p, of_makespan[s].more, longer.makespan - now.makespan, s, kind, "makespan's more");
        compare(p, of_makespan[s].less, now.makespan - shorter.makespan, s, kind, "makespan's less");
        compare(p, of_span[s].more, longer.span - now.span, s, kind, "span's more");
        compare(p, of_span[s].less, now.span - shorter.span, s, kind, "span's less");
        assert_true(of_makespan[s].less >= 0 && of_makespan[s].more >= of_makespan[s].less);
        seen.ties += of_makespan[s].more > of_makespan[s].less && p->duration[kind == 0 ? 1 : kind][s] > 0;
        seen.negatives += of_span[s].more < 0 || of_span[s].less < 0;
    }
}

/* --- critical path --- */

static const ppsched_op *queue_of(const ppsched_timeline *timeline, uint32_t device, size_t *count)
{
    return ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(timeline), device), count);
}

static const ppsched_op *op_of(const ppsched_timeline *timeline, const ppsched_critical_op *op)
{
    return queue_of(timeline, op->device, NULL) + op->position;
}

static int is_compute(const ppsched_op *op)
{
    return op->kind >= PPSCHED_KIND_F && op->kind <= PPSCHED_KIND_W;
}

/* Position of the last op before one that computes; -1 where there is none. Of a pair, that of its second op. */
static long previous_of(const ppsched_timeline *timeline, const ppsched_critical_op *op)
{
    const ppsched_op *ops = queue_of(timeline, op->device, NULL);
    long i = (long)op->position - 1;
    while (i >= 0 && !is_compute(&ops[i]))
        i--;
    return i;
}

static uint32_t length_of(const ppsched_op *unit)
{
    return is_pair(unit) ? 2 : 1;
}

static int makes_input_of(const ppsched_op *before, const ppsched_op *op)
{
    if (before->microbatch != op->microbatch)
        return 0;
    if (is_backward(op))
        return is_backward(before) && before->stage == op->stage + 1;
    return op->kind == PPSCHED_KIND_F && before->kind == PPSCHED_KIND_F && before->stage + 1 == op->stage;
}

static int unit_makes_input_of(const ppsched_op *before, const ppsched_op *unit)
{
    for (uint32_t i = 0; i < length_of(before); i++)
        for (uint32_t k = 0; k < length_of(unit); k++)
            if (makes_input_of(&before[i], &unit[k]))
                return 1;
    return 0;
}

/* That an op starts when the one before it lets it. */
static void check_link(const struct problem *p, const ppsched_timeline *timeline, const ppsched_critical_op *before,
                       const ppsched_critical_op *op)
{
    const ppsched_op *unit = op_of(timeline, op), *other = op_of(timeline, before);
    uint32_t microbatches = ppsched_schedule_microbatches(p->schedule);
    long previous = previous_of(timeline, op);
    if (op->reason == PPSCHED_REASON_DEVICE) {
        assert_true(before->device == op->device && before->end == op->start);
        assert_int_equal(before->position + length_of(other) - 1, previous);
        seen.devices++;
        return;
    }
    assert_true(before->device != op->device);
    assert_true(previous < 0 || ppsched_timeline_spans(timeline, op->device, NULL)[previous].end < op->start);
    if (op->reason == PPSCHED_REASON_INPUT) {
        assert_true(unit_makes_input_of(other, unit));
        assert_true(op->start == before->end + (p->occupancy + p->latency[before->device][op->device]));
        seen.inputs++;
        return;
    }
    assert_int_equal(op->reason, PPSCHED_REASON_FLUSH);
    assert_true(ppsched_schedule_flushes(p->schedule));
    assert_int_equal(before->op.microbatch / microbatches + 1, op->op.microbatch / microbatches);
    assert_true(op->start == before->end);
    seen.flushes++;
}

static void check_path(const struct problem *p, const ppsched_timeline *timeline)
{
    static ppsched_critical_op path[MOST_STEPS], again[MOST_STEPS];
    size_t count = 0, counted = 0;
    ppsched_error error;
    expect_ok(ppsched_timeline_get_critical_path(path, MOST_STEPS, &count, timeline, &error), &error);
    expect_ok(ppsched_timeline_get_critical_path(NULL, 0, &counted, timeline, &error), &error);
    expect_ok(ppsched_timeline_get_critical_path(again, count, NULL, timeline, &error), &error);
    assert_int_equal(count, counted);
    assert_memory_equal(path, again, count * sizeof path[0]);
    assert_true(path[0].start == 0 && path[0].reason == PPSCHED_REASON_BEGIN && previous_of(timeline, &path[0]) < 0);
    assert_true(path[count - 1].end == metrics_of(timeline).makespan);
    for (size_t i = 0; i < count; i++) {
        const ppsched_span *span = &ppsched_timeline_spans(timeline, path[i].device, NULL)[path[i].position];
        const double *latest = ppsched_timeline_latest_starts(timeline, path[i].device, NULL);
        assert_memory_equal(&path[i].op, op_of(timeline, &path[i]), sizeof path[i].op);
        assert_true(path[i].start == span->start && path[i].end == span->end);
        assert_true(latest[path[i].position] == span->start);
        assert_true(is_compute(&path[i].op));
        seen.pairs += length_of(&path[i].op) == 2;
        if (i > 0)
            check_link(p, timeline, &path[i - 1], &path[i]);
    }
}

/* --- slack --- */

static void check_slack(const struct problem *p, const ppsched_timeline *timeline)
{
    double by_device[MOST_DEVICES], by_stage[MOST_STAGES], stages[MOST_STAGES];
    ppsched_error error;
    expect_ok(ppsched_timeline_get_device_slack(by_device, MOST_DEVICES, NULL, timeline, &error), &error);
    expect_ok(ppsched_timeline_get_stage_slack(by_stage, MOST_STAGES, NULL, timeline, &error), &error);
    for (uint32_t s = 0; s < ppsched_schedule_stages(p->schedule); s++)
        stages[s] = HUGE_VAL;
    for (uint32_t d = 0; d < ppsched_schedule_devices(p->schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = queue_of(timeline, d, &count);
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, NULL);
        const double *latest = ppsched_timeline_latest_starts(timeline, d, NULL);
        double least = HUGE_VAL;
        for (size_t i = 0; i < count; i++) {
            if (!is_compute(&ops[i]))
                continue;
            least = fmin(least, latest[i] - spans[i].start);
            stages[ops[i].stage] = fmin(stages[ops[i].stage], latest[i] - spans[i].start);
        }
        assert_true(by_device[d] == least);
    }
    for (uint32_t s = 0; s < ppsched_schedule_stages(p->schedule); s++)
        assert_true(by_stage[s] == stages[s]);
}

static void check(const struct problem *p)
{
    ppsched_timeline *timeline = make_timeline(p->schedule, p->config);
    check_path(p, timeline);
    check_slack(p, timeline);
    for (int kind = 0; kind <= PPSCHED_KIND_W; kind++)
        compare_sensitivities(p, timeline, kind);
    ppsched_timeline_destroy(timeline);
    seen.problems++;
}

/* The tests have been to all corners. */
static void expect_all_seen(void)
{
    if (seen.problems < ROUNDS(2000) || seen.ties < ROUNDS(1000) || seen.inputs < ROUNDS(1000) || seen.flushes < ROUNDS(10) ||
        seen.devices < ROUNDS(1000) || seen.pairs < ROUNDS(100))
        fail_msg("%ld problems, %ld ties, %ld negatives; paths: %ld inputs, %ld flushes, %ld devices, %ld pairs", seen.problems,
                 seen.ties, seen.negatives, seen.inputs, seen.flushes, seen.devices, seen.pairs);
}

static void test_all_strategies(void **state)
{
    ppsched_strategy_info info = {.size = sizeof info};
    uint64_t seed = 12;
    (void)state;
    for (uint32_t number = 0; number < ppsched_strategy_count(); number++) {
        assert_int_equal(ppsched_strategy_get_info(&info, number, NULL), PPSCHED_OK);
        if (info.offloads)
            continue; /* keeping_sweep_test.c explains these */
        long wanted = seen.problems + ROUNDS(info.searches ? 40 : 200);
        while (seen.problems < wanted) {
            struct problem p;
            draw(&seed, &p, info.name, info.searches ? (struct largest){3, 2, 4} : (struct largest){5, 3, 7});
            if (p.schedule != NULL)
                check(&p);
            end(&p);
        }
    }
    expect_all_seen();
    assert_true(seen.negatives >= ROUNDS(1)); /* rare: it takes two model copies */
}

static void test_own_schedules(void **state)
{
    uint64_t seed = 12;
    (void)state;
    seen = (struct seen){0};
    while (seen.problems < ROUNDS(2000)) {
        struct problem p;
        draw_own(&seed, &p, (struct largest_own){5, 7, 5});
        if (p.schedule != NULL)
            check(&p);
        end(&p);
    }
    expect_all_seen();
}

/* More stages than are counted at once, over and over; of each problem the sensitivities to one kind of op, or to all. */
static void test_many_stages(void **state)
{
    static const char *const strategies[] = {"1f1b",           "1f1b_overlap", "dualpipe", "gpipe", "interleaved_1f1b",
                                             "interleaved_zb", "looped_bfs",   "zb_h1",    "zb_h2", "zbv"};
    const uint32_t count = sizeof strategies / sizeof strategies[0];
    uint64_t seed = 13;
    (void)state;
    seen = (struct seen){0};
    for (uint32_t number = 0; seen.problems < ROUNDS(500); number++) {
        struct problem p;
        if (number % 2 == 0)
            draw(&seed, &p, strategies[number / 2 % count], (struct largest){MOST_DEVICES, 4, 5});
        else
            draw_own(&seed, &p, (struct largest_own){MOST_DEVICES, MOST_STAGES, 5});
        if (p.schedule != NULL && ppsched_schedule_stages(p.schedule) > 16) {
            ppsched_timeline *timeline = make_timeline(p.schedule, p.config);
            compare_sensitivities(&p, timeline, random_below(&seed, 2) ? 0 : 1 + (int)random_below(&seed, 4));
            ppsched_timeline_destroy(timeline);
            seen.problems++;
        }
        end(&p);
    }
    assert_true(seen.ties > ROUNDS(4000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_strategies),
        cmocka_unit_test(test_own_schedules),
        cmocka_unit_test(test_many_stages),
    };
    return cmocka_run_group_tests_name("explain_sweep", tests, NULL, NULL);
}
