/* SPDX-License-Identifier: Apache-2.0 */
/* UNSHARDs that come as late as they hide, over random uneven problems, beside PyTorch's rules and right before their use. */
#include "support/channel_rules.h"
#include "support/lowering.h"
#include "support/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 3, NEEDED = RULES }; /* full, auto, one by one; and ours */

struct result {
    ppsched_schedule *lowered;
    ppsched_timeline *timeline;
    double overshoot, time, held;
};

static void draw(ppsched_config *config, int32_t quantity, size_t count, uint32_t most, uint64_t *seed)
{
    double values[MOST_DEVICES * MOST_DEVICES + 64];
    ppsched_error error;
    assert_true(count <= sizeof values / sizeof values[0]);
    for (size_t i = 0; i < count; i++)
        values[i] = (1 + random_below(seed, most)) * 0.125;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

/* From each UNSHARD's start to the first op of its stage behind it. */
static double held_on(const ppsched_op *ops, size_t count, const ppsched_span *spans)
{
    double held = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count && ops[i].kind == PPSCHED_KIND_UNSHARD; k++)
            if (ops[k].stage == ops[i].stage && ops[k].kind <= PPSCHED_KIND_W) {
                held += spans[k].start - spans[i].start;
                break;
            }
    return held;
}

static void measure(struct result *out, const ppsched_config *config)
{
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate_transfers(&out->timeline, out->lowered, config, NULL, 0, &error), &error);
    out->time = metrics_of(out->timeline).makespan;
    out->overshoot = out->held = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(out->lowered); d++) {
        ppsched_device_metrics device = {.size = sizeof device};
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(out->lowered, d), &count);
        expect_ok(ppsched_timeline_get_device_metrics(&device, out->timeline, d, &error), &error);
        out->overshoot += fmax(0, device.peak_memory - device.memory_limit);
        out->held += held_on(ops, count, ppsched_timeline_spans(out->timeline, d, NULL));
    }
}

static void lower_by(struct result *out, const ppsched_schedule *schedule, const ppsched_config *config,
                     ppsched_lower_options options, int rule)
{
    static const int32_t rules[] = {PPSCHED_UNSHARD_LOOKAHEAD_FULL, PPSCHED_UNSHARD_LOOKAHEAD_AUTO,
                                    PPSCHED_UNSHARD_LOOKAHEAD_LIST, PPSCHED_UNSHARD_LOOKAHEAD_NEEDED};
    uint32_t ones[MOST_DEVICES];
    ppsched_error error;
    for (int d = 0; d < MOST_DEVICES; d++)
        ones[d] = 1;
    options.unshard_lookahead = rules[rule];
    if (options.unshard_lookahead == PPSCHED_UNSHARD_LOOKAHEAD_LIST) {
        options.unshard_lookaheads = ones;
        options.unshard_lookahead_count = ppsched_schedule_devices(schedule);
    }
    expect_ok(ppsched_schedule_lower(&out->lowered, schedule, config, &options, &error), &error);
    measure(out, config);
}

static void clear(struct result *result)
{
    ppsched_timeline_destroy(result->timeline);
    ppsched_schedule_release(result->lowered);
}

/* Receives may be elsewhere, too, as an UNSHARD has a turn of its own in PyTorch's lowering. */
static int moves(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_UNSHARD || is_send(op) || is_receive(op);
}

/* The same computing ops, RESHARDs and REDUCE_GRADs in the same order, and as many UNSHARDs of each stage between them, none
 * before the place that `full` has for it nor behind the stage's next op. */
static void expect_same_but_later(const ppsched_schedule *late, const ppsched_schedule *full)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(full); d++) {
        size_t counts[2], at[2] = {0, 0};
        const ppsched_op *ops[2] = {ppsched_queue_ops(ppsched_schedule_queue(late, d), &counts[0]),
                                    ppsched_queue_ops(ppsched_schedule_queue(full, d), &counts[1])};
        int ahead[65536] = {0}; /* by stage: UNSHARDs that `full` has had and we have not */
        assert_int_equal(counts[0], counts[1]);
        for (;;) {
            for (int k = 0; k < 2; k++)
                for (; at[k] < counts[k] && moves(&ops[k][at[k]]); at[k]++)
                    if (ops[k][at[k]].kind == PPSCHED_KIND_UNSHARD)
                        ahead[ops[k][at[k]].stage] += k == 1 ? 1 : -1;
            if (at[0] == counts[0])
                break;
            const ppsched_op *op = &ops[0][at[0]++], *other = &ops[1][at[1]++];
            assert_memory_equal(op, other, sizeof *op);
            assert_true(ahead[op->stage] == 0 || op->kind > PPSCHED_KIND_W);
        }
        for (size_t s = 0; s < sizeof ahead / sizeof ahead[0]; s++)
            assert_int_equal(ahead[s], 0);
    }
}

/* Several stages a device, so that not all are kept. */
static ppsched_config *draw_interleaved(uint64_t *seed, const char **strategy)
{
    static const char *const names[] = {"interleaved_1f1b", "interleaved_zb", "looped_bfs"};
    for (;;) {
        uint32_t devices = 1 + random_below(seed, 4);
        ppsched_config *config = make_config(devices, (int64_t)devices * (3 + random_below(seed, 4)),
                                             devices * (1 + random_below(seed, 4)));
        *strategy = names[random_below(seed, 3)];
        if (ppsched_strategy_fits(*strategy, config, NULL) == PPSCHED_OK)
            return config;
        ppsched_config_destroy(config);
    }
}

static ppsched_config *draw_problem(uint64_t *seed, const char **strategy)
{
    ppsched_config *config = random_below(seed, 2) ? random_problem(seed, strategy) : draw_interleaved(seed, strategy);
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    double slowdown[MOST_DEVICES];
    ppsched_error error;
    if (random_below(seed, 3) == 0 && ppsched_config_microbatches(config) < 7)
        expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    draw(config, PPSCHED_QUANTITY_FORWARD_TIMES, stages, 20, seed);
    draw(config, PPSCHED_QUANTITY_BACKWARD_TIMES, stages, 40, seed);
    draw(config, PPSCHED_QUANTITY_P2P_TIME, devices * devices, 8, seed);
    draw(config, PPSCHED_QUANTITY_UNSHARD_TIMES, stages, 1 + random_below(seed, 20), seed);
    draw(config, PPSCHED_QUANTITY_REDUCE_GRAD_TIMES, stages, 30, seed);
    draw(config, PPSCHED_QUANTITY_MEM_GATHERED, stages, 30, seed);
    draw(config, PPSCHED_QUANTITY_MEM_FORWARD, stages, 10, seed);
    for (uint32_t d = 0; d < devices; d++)
        slowdown[d] = random_below(seed, 4) == 0 ? HUGE_VAL : 1 + random_below(seed, 4) * 0.25;
    if (random_below(seed, 3) == 0)
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SHARDING_SLOWDOWN, slowdown, devices, &error), &error);
    return config;
}

/* Limits between what one by one takes and what `full` takes. */
static void draw_limits(ppsched_config *config, const struct result *full, const struct result *least, uint64_t *seed)
{
    double limits[MOST_DEVICES];
    uint32_t devices = ppsched_config_devices(config);
    ppsched_error error;
    for (uint32_t d = 0; d < devices; d++) {
        ppsched_device_metrics most = {.size = sizeof most}, some = {.size = sizeof some};
        expect_ok(ppsched_timeline_get_device_metrics(&most, full->timeline, d, &error), &error);
        expect_ok(ppsched_timeline_get_device_metrics(&some, least->timeline, d, &error), &error);
        limits[d] = some.peak_memory + (most.peak_memory - some.peak_memory) * random_below(seed, 3) * 0.5;
    }
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, devices, &error), &error);
}

static int is_worse(const struct result *a, const struct result *b)
{
    if (a->overshoot != b->overshoot)
        return a->overshoot > b->overshoot;
    if (fabs(a->time - b->time) > 1e-11 * b->time)
        return a->time > b->time;
    return a->held > b->held + 1e-9;
}

/* One after another: where the first figure is as before the next must be no more than it was. */
static void expect_no_more(const double figures[3], const double before[3])
{
    for (int i = 0; i < 3; i++) {
        if (figures[i] < before[i] * (1 - 1e-12))
            return;
        assert_true(figures[i] <= before[i] * (1 + 1e-12));
    }
}

static void test_never_worse(void **state)
{
    uint64_t seed = 77;
    int faster = 0, shorter = 0, tight = 0;
    double overshoot = 0, time = 0, held = 0; /* together: multiples of 1/8 and parts of them */
    (void)state;
    for (int n = 0; n < ROUNDS(2000); n++) {
        const char *strategy = NULL;
        struct result results[RULES + 1];
        ppsched_config *config = draw_problem(&seed, &strategy);
        ppsched_schedule *schedule = make_schedule(config, strategy);
        ppsched_lower_options options = {.size = sizeof options, .reduce_grad = random_below(&seed, 2)};
        options.lowering = random_below(&seed, 2) ? PPSCHED_LOWERING_PYTORCH : PPSCHED_LOWERING_JUST_IN_TIME;
        options.split_backwards = random_below(&seed, 2);
        options.unshard = 2 + random_below(&seed, 3);
        for (int rule = 0; rule <= NEEDED; rule++)
            lower_by(&results[rule], schedule, config, options, rule);
        if (random_below(&seed, 2)) { /* again, with limits */
            draw_limits(config, &results[0], &results[2], &seed);
            for (int rule = 0; rule <= NEEDED; rule++) {
                clear(&results[rule]);
                lower_by(&results[rule], schedule, config, options, rule);
            }
            tight += results[0].overshoot > 0;
        }
        expect_same_but_later(results[NEEDED].lowered, results[0].lowered);
        for (int rule = 0; rule < RULES; rule++)
            if (is_worse(&results[NEEDED], &results[rule]))
                fail_msg("problem %d, %s: lack %g time %g held %g; rule %d: %g %g %g", n, strategy, results[NEEDED].overshoot,
                         results[NEEDED].time, results[NEEDED].held, rule, results[rule].overshoot, results[rule].time,
                         results[rule].held);
        faster += results[NEEDED].time < fmin(results[0].time, results[1].time) - 1e-9;
        overshoot += results[NEEDED].overshoot;
        time += results[NEEDED].time;
        held += results[NEEDED].held;
        shorter += results[NEEDED].held < fmin(results[0].held, results[1].held) - 1e-9;
        for (int rule = 0; rule <= NEEDED; rule++)
            clear(&results[rule]);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    print_message("# faster %d, held for less %d, tight %d of 2000\n", faster, shorter, tight);
    assert_true(faster > 0 && shorter > ROUNDS(500) && tight > ROUNDS(100));
    print_message("# lack %.17g, time %.17g, held for %.17g together\n", overshoot, time, held);
    if (ROUNDS(500) == 500) /* no worse than before: who finds better ones writes the new figures here */
        expect_no_more((const double[]){overshoot, time, held}, (const double[]){0, 252082.68663853742, 147099.88754556209});
}

/* Two stages of one device, of which it keeps one or both: then the second is gathered while the first computes. */
static void test_by_hand(void **state)
{
    static const char *const wanted[] = {"0UNSHARD 0F0 0RESHARD 1UNSHARD 1F0 1B0 1RESHARD 0UNSHARD 0B0 0RESHARD",
                                         "0UNSHARD 1UNSHARD 0F0 1F0 1B0 1RESHARD 0B0 0RESHARD"};
    (void)state;
    for (uint32_t most = 1; most <= 2; most++) {
        ppsched_config *config = make_config(1, 2, 1);
        ppsched_lower_options options = {
            .size = sizeof options, .unshard = most, .unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_NEEDED};
        ppsched_schedule *lowered = NULL;
        ppsched_error error;
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 2);
        set_number(config, PPSCHED_QUANTITY_UNSHARD_TIMES, most == 1 ? 3 : 1);
        ppsched_schedule *schedule = make_schedule(config, "looped_bfs");
        assert_int_equal(ppsched_schedule_lower(&lowered, schedule, NULL, &options, &error), PPSCHED_ERROR_ARGUMENT);
        assert_string_equal(error.message, "unshard_lookahead needed requires a config with the times");
        expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
        char *text = queue_text(lowered, 0);
        assert_string_equal(text, wanted[most - 1]);
        free(text);
        ppsched_schedule_release(lowered);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_never_worse)};
    return cmocka_run_group_tests_name("gathers_sweep", tests, NULL, NULL);
}
