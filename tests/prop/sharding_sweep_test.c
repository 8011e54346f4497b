/* SPDX-License-Identifier: Apache-2.0 */
/* Sharding ops, and calls of sends and receives, that take time, over random uneven problems: against the equations of what
 * each op waits for, raised until none changes; and UNSHARDs that are put off until they are needed. */
#include "support/channel_rules.h"
#include "support/lowering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct equations {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    const ppsched_op *ops[MOST_DEVICES];
    size_t count[MOST_DEVICES];
    double start[MOST_DEVICES][MOST_OPS], end[MOST_DEVICES][MOST_OPS];
    double flush[4]; /* before each iteration */
};

static double value(const ppsched_config *config, int32_t quantity, size_t index, double fallback)
{
    size_t count = 0;
    const double *values = ppsched_config_values(config, quantity, &count);
    return count == 0 ? fallback : values[count == 1 ? 0 : index];
}

static int computes(const ppsched_op *op)
{
    return op->kind <= PPSCHED_KIND_W;
}

static int shards(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_UNSHARD || op->kind == PPSCHED_KIND_REDUCE_GRAD;
}

/* Of what makes a value, or of the call that sends it. */
static double end_of(const struct equations *eq, uint32_t stage, uint32_t microbatch, int backward, int sent)
{
    uint32_t d = ppsched_schedule_device_of(eq->schedule, stage, microbatch);
    for (size_t i = 0; i < eq->count[d]; i++) {
        const ppsched_op *op = &eq->ops[d][i];
        int is_backward = op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
        int sends = op->kind == (backward ? PPSCHED_KIND_SEND_B : PPSCHED_KIND_SEND_F);
        if (op->stage == stage && op->microbatch == microbatch &&
            (sent       ? sends
             : backward ? is_backward
                        : op->kind == PPSCHED_KIND_F))
            return eq->end[d][i];
    }
    fail();
    return 0;
}

/* When what an op takes from another stage is there: there are no bandwidths, and no latency on a device. */
static double input_of(const struct equations *eq, uint32_t d, const ppsched_op *op)
{
    int backward = op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
    uint32_t stages = ppsched_schedule_stages(eq->schedule), devices = ppsched_schedule_devices(eq->schedule);
    if (op->kind == PPSCHED_KIND_W || (backward ? op->stage + 1u == stages : op->stage == 0))
        return 0;
    uint32_t stage = backward ? op->stage + 1u : op->stage - 1u;
    uint32_t from = ppsched_schedule_device_of(eq->schedule, stage, op->microbatch);
    double latency = from == d ? 0 : value(eq->config, PPSCHED_QUANTITY_P2P_TIME, from * devices + d, 0);
    return end_of(eq, stage, op->microbatch, backward, from != d) + latency;
}

static double duration_of(const struct equations *eq, const ppsched_op *unit)
{
    static const int32_t quantities[] = {0, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES};
    double sum = 0;
    for (int k = 0; k < (unit->flags ? 2 : 1); k++) {
        double whole = value(eq->config, quantities[unit[k].kind == PPSCHED_KIND_F ? 1 : 2], unit[k].stage, 0);
        sum += unit[k].kind == PPSCHED_KIND_I || unit[k].kind == PPSCHED_KIND_W ? whole / 2 : whole;
    }
    return sum;
}

static double sharding_time(const struct equations *eq, uint32_t d, const ppsched_op *op)
{
    int unshards = op->kind == PPSCHED_KIND_UNSHARD;
    double bytes = value(eq->config, unshards ? PPSCHED_QUANTITY_UNSHARD_BYTES : PPSCHED_QUANTITY_REDUCE_GRAD_BYTES, op->stage,
                         0);
    double own = bytes / value(eq->config, PPSCHED_QUANTITY_SHARDING_BANDWIDTH, d, HUGE_VAL);
    return value(eq->config, unshards ? PPSCHED_QUANTITY_UNSHARD_TIMES : PPSCHED_QUANTITY_REDUCE_GRAD_TIMES, op->stage, own);
}

/* Compute that starts then, while the channel is busy until `busy`. */
static double slowed(double duration, double start, double busy, double slowdown)
{
    double rest = duration, clock = start;
    if (busy > clock && slowdown > 1) {
        double done = fmin(rest, (busy - clock) / slowdown);
        clock = done == rest ? clock + rest * slowdown : busy;
        rest -= done;
    }
    return clock + rest;
}

static int waits_seen; /* waits that took time */

/* One pass over a device's queue with what is known of the others. A wait ends with the reduction before it. */
static int raise_device(struct equations *eq, uint32_t d)
{
    double clock = 0, busy = 0, reduced = 0, slowdown = value(eq->config, PPSCHED_QUANTITY_SHARDING_SLOWDOWN, d, 1),
           gathered[64] = {0};
    int changed = 0;
    for (size_t i = 0; i < eq->count[d];) {
        const ppsched_op *op = &eq->ops[d][i];
        size_t length = op->flags ? 2 : 1;
        double start = clock, end = clock;
        if (shards(op)) {
            start = fmax(clock, busy);
            end = busy = start + sharding_time(eq, d, op);
            if (op->kind == PPSCHED_KIND_UNSHARD)
                gathered[op->stage] = end;
            else
                reduced = end;
        } else if (op->kind == PPSCHED_KIND_WAIT_REDUCE_GRAD) {
            clock = end = fmax(clock, reduced);
            waits_seen += end > start;
        } else if (computes(op)) {
            if (ppsched_schedule_flushes(eq->schedule))
                start = fmax(start, eq->flush[op->microbatch / ppsched_schedule_microbatches(eq->schedule)]);
            for (size_t k = 0; k < length; k++)
                start = fmax(start, fmax(input_of(eq, d, &op[k]), gathered[op[k].stage]));
            if (slowdown == HUGE_VAL)
                start = fmax(start, busy);
            clock = end = slowed(duration_of(eq, op), start, busy, slowdown == HUGE_VAL ? 1 : slowdown);
        } else if (is_comm(op)) {
            if (ppsched_schedule_flushes(eq->schedule))
                start = fmax(start, eq->flush[op->microbatch / ppsched_schedule_microbatches(eq->schedule)]);
            clock = end = start + value(eq->config, PPSCHED_QUANTITY_SEND_OVERHEAD, d, 0);
        }
        for (size_t k = i; k < i + length; k++) {
            changed |= eq->start[d][k] != start || eq->end[d][k] != end;
            eq->start[d][k] = start;
            eq->end[d][k] = end;
        }
        i += length;
    }
    return changed;
}

/* An iteration starts when all of those before has ended, what is sharded behind it too. */
static int raise_flushes(struct equations *eq)
{
    uint32_t m = ppsched_schedule_microbatches(eq->schedule);
    int changed = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(eq->schedule); d++) {
        uint32_t iteration = 0;
        for (size_t i = 0; i < eq->count[d]; i++) {
            const ppsched_op *op = &eq->ops[d][i];
            if (computes(op))
                iteration = op->microbatch / m;
            if ((computes(op) || shards(op)) && eq->end[d][i] > eq->flush[iteration + 1]) {
                eq->flush[iteration + 1] = eq->end[d][i];
                changed = 1;
            }
        }
    }
    return changed;
}

static void solve(struct equations *eq, const ppsched_schedule *schedule, const ppsched_config *config)
{
    memset(eq, 0, sizeof *eq);
    eq->schedule = schedule;
    eq->config = config;
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
        eq->ops[d] = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &eq->count[d]);
    for (int changed = 1; changed;) {
        changed = raise_flushes(eq);
        for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
            changed |= raise_device(eq, d);
    }
}

static double all_weights, all_calls; /* waits seen */

static void compare(const struct equations *eq, const ppsched_timeline *timeline)
{
    double makespan = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(eq->schedule); d++) {
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, NULL);
        ppsched_idle idle = {.size = sizeof idle};
        ppsched_error error;
        for (size_t i = 0; i < eq->count[d]; i++) {
            if (is_comm(&eq->ops[d][i]) || eq->ops[d][i].kind == PPSCHED_KIND_RESHARD)
                continue;
            assert_true(spans[i].start == eq->start[d][i] && spans[i].end == eq->end[d][i]);
            makespan = fmax(makespan, spans[i].end);
        }
        expect_ok(ppsched_timeline_get_idle(&idle, timeline, d, &error), &error);
        double sum = idle.fill + idle.drain + idle.neighbour + idle.imbalance + idle.transfer + idle.link + idle.head_of_line +
                     idle.weights + idle.calls;
        assert_true(idle.weights >= 0 && idle.calls >= 0);
        all_weights += idle.weights;
        all_calls += idle.calls;
        assert_true(fabs(sum - device_metrics_of(timeline, d).idle) < 1e-9 * (1 + sum));
    }
    assert_true(metrics_of(timeline).makespan == makespan);
}

/* --- random problems --- */

/* Eighths, but where slowdowns divide them: powers of 2 keep all sums exact. */
static void draw(ppsched_config *config, int32_t quantity, uint32_t count, uint32_t most, uint64_t *seed)
{
    double list[MOST_DEVICES * MOST_DEVICES];
    ppsched_error error;
    for (uint32_t i = 0; i < count; i++)
        list[i] = random_below(seed, most) / 8.0;
    expect_ok(ppsched_config_set_values(config, quantity, list, count, &error), &error);
}

static void draw_sharding(ppsched_config *config, uint64_t *seed)
{
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    double slowdown[MOST_DEVICES], bandwidth[MOST_DEVICES];
    ppsched_error error;
    draw(config, PPSCHED_QUANTITY_FORWARD_TIMES, stages, 20, seed);
    draw(config, PPSCHED_QUANTITY_BACKWARD_TIMES, stages, 40, seed);
    draw(config, PPSCHED_QUANTITY_P2P_TIME, devices * devices, 8, seed);
    draw(config, random_below(seed, 2) ? PPSCHED_QUANTITY_UNSHARD_TIMES : PPSCHED_QUANTITY_UNSHARD_BYTES, stages, 30, seed);
    draw(config, random_below(seed, 2) ? PPSCHED_QUANTITY_REDUCE_GRAD_TIMES : PPSCHED_QUANTITY_REDUCE_GRAD_BYTES, stages, 30,
         seed);
    for (uint32_t d = 0; d < devices; d++)
        bandwidth[d] = 1 << random_below(seed, 2);
    if (random_below(seed, 2))
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SHARDING_BANDWIDTH, bandwidth, devices, &error), &error);
    for (uint32_t d = 0; d < devices; d++)
        slowdown[d] = random_below(seed, 4) == 0 ? HUGE_VAL : 1 << random_below(seed, 2);
    if (random_below(seed, 2))
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SHARDING_SLOWDOWN, slowdown, devices, &error), &error);
}

/* Each stage's gradients are reduced once in `every` iterations, behind the last op of the device that adds to them. */
static void check_reductions(const ppsched_schedule *lowered, uint32_t every)
{
    uint32_t microbatches = ppsched_schedule_microbatches(lowered) * every;
    for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &count);
        for (size_t i = 0; i < count; i++) {
            if (ops[i].kind != PPSCHED_KIND_B && ops[i].kind != PPSCHED_KIND_W)
                continue;
            size_t next = i + 1;
            while (next < count &&
                   (ops[next].stage != ops[i].stage || (ops[next].kind != PPSCHED_KIND_REDUCE_GRAD &&
                                                        ops[next].kind != PPSCHED_KIND_B && ops[next].kind != PPSCHED_KIND_W)))
                next++;
            int goes_on = 0;
            for (size_t k = i + 1; k < count; k++)
                goes_on |= ops[k].stage == ops[i].stage && (ops[k].kind == PPSCHED_KIND_B || ops[k].kind == PPSCHED_KIND_W) &&
                           ops[k].microbatch / microbatches == ops[i].microbatch / microbatches;
            assert_true(next < count && (ops[next].kind == PPSCHED_KIND_REDUCE_GRAD) == !goes_on);
        }
    }
}

/* The waits of a device are as PyTorch 2.15 puts them: right after the reduction, or before the next and at the end of the
 * iteration, not counting sends and receives. */
static void check_waits(const ppsched_schedule *lowered, uint32_t reduce_grad)
{
    uint32_t microbatches = ppsched_schedule_microbatches(lowered);
    for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &count);
        uint32_t iteration = 0, in_flight = PPSCHED_NONE, waited = 0;
        for (size_t i = 0; i < count; i++) {
            if (is_comm(&ops[i]))
                continue;
            uint32_t before = iteration;
            iteration = computes(&ops[i]) ? ops[i].microbatch / microbatches : iteration;
            if (ops[i].kind == PPSCHED_KIND_WAIT_REDUCE_GRAD) {
                assert_int_equal(ops[i].stage, in_flight);
                in_flight = PPSCHED_NONE;
                waited = 1;
                continue;
            }
            if (waited && reduce_grad == 4)
                assert_true(ops[i].kind == PPSCHED_KIND_REDUCE_GRAD || ops[i].kind == PPSCHED_KIND_UNSHARD ||
                            iteration > before);
            waited = 0;
            if (in_flight != PPSCHED_NONE)
                assert_true(reduce_grad == 4 && ops[i].kind != PPSCHED_KIND_REDUCE_GRAD &&
                            (iteration == before || !ppsched_schedule_flushes(lowered)));
            if (ops[i].kind == PPSCHED_KIND_REDUCE_GRAD)
                in_flight = ops[i].stage;
        }
        assert_int_equal(in_flight, PPSCHED_NONE);
    }
}

static void test_equations(void **state)
{
    static struct equations eq;
    uint64_t seed = 215, call_seed = 37, wait_seed = 17;
    int summed_up = 0;
    (void)state;
    for (int n = 0; n < 2000; n++) {
        const char *strategy = NULL;
        ppsched_schedule *lowered = NULL;
        ppsched_timeline *timeline = NULL;
        ppsched_error error;
        ppsched_config *config = random_problem(&seed, &strategy);
        if (random_below(&seed, 3) == 0 && ppsched_config_microbatches(config) < 7)
            expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        static const uint32_t reductions[] = {1, 3, 4};
        ppsched_lower_options options = {.size = sizeof options, .reduce_grad = reductions[random_below(&wait_seed, 3)]};
        options.lowering = random_below(&seed, 2) ? PPSCHED_LOWERING_PYTORCH : PPSCHED_LOWERING_JUST_IN_TIME;
        options.reduce_every = random_below(&wait_seed, ppsched_schedule_iterations(schedule) + 1);
        options.unshard = 2 + random_below(&seed, 3);
        options.unshard_lookahead = (int32_t)random_below(&seed, 2);
        draw_sharding(config, &seed);
        if (n % 2 == 1)
            draw(config, PPSCHED_QUANTITY_SEND_OVERHEAD, ppsched_config_devices(config), 6, &call_seed);
        expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
        check_reductions(lowered, options.reduce_every > 1 ? options.reduce_every : 1);
        summed_up += options.reduce_every > 1;
        if (options.reduce_grad > 1)
            check_waits(lowered, options.reduce_grad);
        expect_ok(ppsched_schedule_check(NULL, 0, NULL, lowered, &error), &error);
        expect_ok(ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 0, &error), &error);
        solve(&eq, lowered, config);
        compare(&eq, timeline);
        ppsched_timeline_destroy(timeline);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    assert_true(all_weights > 0 && all_calls > 0 && waits_seen > 0 && summed_up > 50);
}

/* Of three microbatches the first copy of the model runs two. */
static void test_reductions_of_two_copies(void **state)
{
    static const char *const first[] = {"0F0", "0F1", "1F2", "1B2", "0B0", "0B1"};
    static const char *const second[] = {"0F2", "1F0", "1B0", "1F1", "1B1", "0B2"};
    ppsched_config *config = make_config(2, 2, 3);
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL, *lowered = NULL;
    ppsched_error error;
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_PYTORCH, .reduce_grad = 1};
    (void)state;
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_BIDIRECTIONAL, NULL, 0, &error), &error);
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    append_tokens(builder, 0, first, 6);
    append_tokens(builder, 1, second, 6);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    check_reductions(lowered, 1);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    ppsched_config_destroy(config);
}

/* By hand: one device, two stages, whose weights are gathered one after the other; F and B are 1 and 2 long. */
static void expect_sharded(double slowdown, const double *ends, double makespan, double weights)
{
    static const char queue[] = "0UNSHARD,1UNSHARD,0F0,1F0,1B0,1REDUCE_GRAD,0B0,0REDUCE_GRAD\n";
    ppsched_config *config = make_config(1, 2, 1);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_idle idle = {.size = sizeof idle};
    ppsched_error error;
    set_number(config, PPSCHED_QUANTITY_UNSHARD_BYTES, 3);
    set_number(config, PPSCHED_QUANTITY_SHARDING_BANDWIDTH, 2);
    set_number(config, PPSCHED_QUANTITY_REDUCE_GRAD_TIMES, 4);
    set_number(config, PPSCHED_QUANTITY_SHARDING_SLOWDOWN, slowdown);
    expect_ok(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, queue, sizeof queue - 1, NULL, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, schedule, config, NULL, 0, &error), &error);
    const ppsched_span *spans = ppsched_timeline_spans(timeline, 0, NULL);
    for (size_t i = 0; i < 8; i++)
        assert_true(spans[i].end == ends[i]);
    expect_ok(ppsched_timeline_get_idle(&idle, timeline, 0, &error), &error);
    assert_true(metrics_of(timeline).makespan == makespan && idle.weights == weights);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_by_hand(void **state)
{
    (void)state;
    expect_sharded(1, (const double[]){1.5, 3, 2.5, 4, 6, 10, 8, 14}, 14, 2);
    expect_sharded(2, (const double[]){1.5, 3, 3.25, 4.25, 6.25, 10.25, 10.25, 14.25}, 14.25, 1.5);
    expect_sharded(HUGE_VAL, (const double[]){1.5, 3, 4, 5, 7, 11, 13, 17}, 17, 7);
}

/* By hand: the backward of a stage runs while the gradients of the other are reduced, not after a wait at once. */
static void expect_waits(const char *queue, const double *starts, double makespan, double weights)
{
    ppsched_config *config = make_config(1, 2, 1);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_idle idle = {.size = sizeof idle};
    ppsched_error error;
    size_t count = 0;
    set_number(config, PPSCHED_QUANTITY_REDUCE_GRAD_TIMES, 3);
    expect_ok(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, queue, strlen(queue), NULL, &error), &error);
    expect_ok(ppsched_schedule_evaluate_transfers(&timeline, schedule, config, NULL, 0, &error), &error);
    const ppsched_span *spans = ppsched_timeline_spans(timeline, 0, &count);
    for (size_t i = 0; i < count; i++)
        assert_true(spans[i].start == starts[i]);
    expect_ok(ppsched_timeline_get_idle(&idle, timeline, 0, &error), &error);
    assert_true(metrics_of(timeline).makespan == makespan && idle.weights == weights);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_waits_by_hand(void **state)
{
    (void)state;
    expect_waits("0F0,1F0,1B0,1REDUCE_GRAD,0B0,0REDUCE_GRAD\n", (const double[]){0, 1, 2, 4, 4, 7}, 10, 0);
    expect_waits("0F0,1F0,1B0,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n",
                 (const double[]){0, 1, 2, 4, 4, 7, 9, 9}, 12, 6);
    expect_waits("0F0,1F0,1B0,1REDUCE_GRAD,0B0,1WAIT_REDUCE_GRAD,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n",
                 (const double[]){0, 1, 2, 4, 4, 6, 7, 7}, 10, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_waits_by_hand),
                                       cmocka_unit_test(test_reductions_of_two_copies), cmocka_unit_test(test_equations)};
    return cmocka_run_group_tests_name("sharding_sweep", tests, NULL, NULL);
}
