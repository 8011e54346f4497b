/* SPDX-License-Identifier: Apache-2.0 */
/* Why devices are idle without channels: each cause reckoned again from the spans alone, by the rules that evaluate.h tells, on
 * problems in which everything differs and on such as have many ties. */
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { MOST_DEVICES = 6 };

struct problem {
    const ppsched_config *config;
    const ppsched_schedule *schedule;
    const ppsched_timeline *timeline;
    uint32_t devices, stages, microbatches;
};

/* The end of the F, or of the B or I, of a stage pass. */
static double end_of(const struct problem *p, int is_forward, uint32_t stage, uint32_t microbatch)
{
    uint32_t device = ppsched_schedule_device_of(p->schedule, stage, microbatch);
    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(p->schedule, device), &count);
    const ppsched_span *spans = ppsched_timeline_spans(p->timeline, device, &count);
    for (size_t i = 0; i < count; i++) {
        int fits = is_forward ? ops[i].kind == PPSCHED_KIND_F : ops[i].kind == PPSCHED_KIND_B || ops[i].kind == PPSCHED_KIND_I;
        if (fits && ops[i].stage == stage && ops[i].microbatch == microbatch)
            return spans[i].end;
    }
    fail_msg("no op of stage %u, microbatch %u", stage, microbatch);
    return 0;
}

/* How long what a stage sends is on its way to another. */
static double path(const struct problem *p, uint32_t from, uint32_t to, uint32_t microbatch)
{
    uint32_t a = ppsched_schedule_device_of(p->schedule, from, microbatch);
    uint32_t b = ppsched_schedule_device_of(p->schedule, to, microbatch);
    double bytes = value_at(p->config, PPSCHED_QUANTITY_ACTIVATION_BYTES, from < to ? from : to, 0);
    if (a == b)
        return 0;
    if (from > to)
        bytes = value_at(p->config, PPSCHED_QUANTITY_GRADIENT_BYTES, from, bytes);
    return value_at(p->config, PPSCHED_QUANTITY_P2P_TIME, a * p->devices + b, 0) +
           bytes / value_at(p->config, PPSCHED_QUANTITY_P2P_BANDWIDTH, a * p->devices + b, HUGE_VAL);
}

/* When the value was made that is there last of those that a unit needs from other stages; of two at once that of its first op.
 * 0 where it needs none. */
static double last_made(const struct problem *p, const ppsched_op *unit, size_t length)
{
    double made = 0, there = -1;
    for (size_t k = 0; k < length; k++) {
        const ppsched_op *op = &unit[k];
        int is_forward = op->kind == PPSCHED_KIND_F, has_input = is_forward ? op->stage > 0 : op->stage + 1u < p->stages;
        if (op->kind == PPSCHED_KIND_W || !has_input)
            continue;
        uint32_t from = is_forward ? op->stage - 1u : op->stage + 1u;
        double end = end_of(p, is_forward, from, op->microbatch), comes = end + path(p, from, op->stage, op->microbatch);
        if (comes > there) {
            there = comes;
            made = end;
        }
    }
    return made;
}

/* The last end of all ops of an iteration and those before. */
static double end_of_iteration(const struct problem *p, uint32_t iteration)
{
    double end = 0;
    for (uint32_t d = 0; d < p->devices; d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(p->schedule, d), &count);
        const ppsched_span *spans = ppsched_timeline_spans(p->timeline, d, &count);
        for (size_t i = 0; i < count; i++)
            if (ops[i].microbatch / p->microbatches <= iteration)
                end = fmax(end, spans[i].end);
    }
    return end;
}

/* All but imbalance, which is in neighbour still. */
static ppsched_idle reckon(const struct problem *p, uint32_t device)
{
    ppsched_idle idle = {.size = sizeof idle};
    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(p->schedule, device), &count);
    const ppsched_span *spans = ppsched_timeline_spans(p->timeline, device, &count);
    double clock = 0;
    uint32_t iteration = 0;
    int is_first = 1;
    for (size_t i = 0, length; i < count; i += length) {
        length = (ops[i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0 ? 2 : 1;
        for (; ppsched_schedule_flushes(p->schedule) && ops[i].microbatch / p->microbatches > iteration; iteration++) {
            double end = end_of_iteration(p, iteration);
            idle.drain += end - clock;
            clock = end;
            is_first = 1;
        }
        double made = fmin(fmax(last_made(p, &ops[i], length), clock), spans[i].start);
        *(is_first ? &idle.fill : &idle.neighbour) += made - clock;
        idle.transfer += spans[i].start - made;
        clock = spans[i].end;
        is_first = 0;
    }
    idle.drain += end_of_iteration(p, PPSCHED_NONE / 2) - clock;
    return idle;
}

static void expect_near(double told, double reckoned, const char *cause, const struct problem *p, uint32_t device)
{
    if (fabs(told - reckoned) > 1e-9)
        fail_msg("%s, device %u: %s is %.17g, reckoned %.17g", ppsched_schedule_name(p->schedule), device, cause, told,
                 reckoned);
}

/* All but what slow devices cause. */
static ppsched_idle reckon_all(const struct problem *p, uint32_t device)
{
    ppsched_idle idle = reckon(p, device);
    double most = 0;
    for (uint32_t d = 0; d < p->devices; d++)
        most = fmax(most, device_metrics_of(p->timeline, d).busy);
    idle.imbalance = fmin(idle.neighbour, most - device_metrics_of(p->timeline, device).busy);
    idle.neighbour -= idle.imbalance;
    return idle;
}

static void compare(const struct problem *p, int seen[4])
{
    for (uint32_t d = 0; d < p->devices; d++) {
        ppsched_idle own = reckon_all(p, d), told = {.size = sizeof told};
        assert_int_equal(ppsched_timeline_get_idle(&told, p->timeline, d, NULL), PPSCHED_OK);
        expect_near(told.fill, own.fill, "fill", p, d);
        expect_near(told.drain, own.drain, "drain", p, d);
        expect_near(told.transfer, own.transfer, "transfer", p, d);
        expect_near(told.imbalance, own.imbalance, "imbalance", p, d);
        expect_near(told.neighbour, own.neighbour, "neighbour", p, d);
        assert_true(told.slow_devices == 0 && told.link == 0 && told.head_of_line == 0 && told.weights == 0 &&
                    told.reload == 0);
        seen[0] += told.fill > 0;
        seen[1] += told.neighbour > 0;
        seen[2] += told.imbalance > 0;
        seen[3] += told.transfer > 0;
    }
}

/* Small whole numbers, so that two values are often there at once. */
static ppsched_config *draw_with_ties(const struct uneven *sizes, uint64_t *seed)
{
    static const int32_t times[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    uint32_t stages = sizes->devices * sizes->chunks;
    ppsched_config *config = make_config(sizes->devices, stages, sizes->microbatches);
    double list[MOST_DEVICES * MOST_DEVICES];
    expect_ok(ppsched_config_set_iterations(config, sizes->iterations, NULL), NULL);
    for (size_t k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < stages; s++)
            list[s] = 1 + random_below(seed, 2);
        expect_ok(ppsched_config_set_values(config, times[k], list, stages, NULL), NULL);
    }
    for (uint32_t i = 0; i < sizes->devices * sizes->devices; i++)
        list[i] = random_below(seed, 4);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, list, sizes->devices * sizes->devices, NULL), NULL);
    return config;
}

static void test_each_cause_again(void **state)
{
    static const struct {
        const char *name;
        uint32_t chunks;
    } rows[] = {{"1f1b_overlap", 1}, {"interleaved_1f1b_overlap", 3},
                {"dualpipe_v", 2},   {"interleaved_zb", 3},
                {"zbv", 2},          {"1f1b_no_flush", 1},
                {"looped_bfs", 2},   {"dualpipe", 1},
                {"zb_h2", 1},        {"group_interleaved_1f1b", 3},
                {"eager_1f1b", 1}};
    uint64_t seed = 41;
    int seen[4] = {0}, served = 0;
    (void)state;
    for (int trial = 0; trial < 2200; trial++) {
        size_t row = (size_t)trial % (sizeof rows / sizeof rows[0]);
        const struct uneven sizes = {1 + random_below(&seed, 5), rows[row].chunks, 1 + random_below(&seed, 13),
                                     1 + random_below(&seed, 2), random_next(&seed)};
        ppsched_config *config = trial % 2 ? make_uneven(&sizes) : draw_with_ties(&sizes, &seed);
        if (trial % 3 == 0)
            set_uneven(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES,
                       (size_t)sizes.devices * sizes.chunks * sizes.devices * sizes.chunks, 1, &seed);
        if (ppsched_strategy_fits(rows[row].name, config, NULL) == PPSCHED_OK) {
            ppsched_schedule *schedule = make_schedule(config, rows[row].name);
            ppsched_timeline *timeline = make_timeline(schedule, config);
            const struct problem p = {
                config, schedule, timeline, sizes.devices, sizes.devices * sizes.chunks, sizes.microbatches};
            compare(&p, seen);
            served++;
            ppsched_timeline_destroy(timeline);
            ppsched_schedule_release(schedule);
        }
        ppsched_config_destroy(config);
    }
    assert_true(served > 1000);
    for (size_t i = 0; i < 4; i++)
        assert_true(seen[i] > 1000);
}

/* --- slow devices --- */

/* Some devices that are slower, or slower in some kinds of ops, or with some stages; or all ops of a device take longer. */
static void slow_down(ppsched_config *config, uint32_t devices, uint32_t stages, int variant, uint64_t *seed)
{
    double list[4 * MOST_DEVICES * MOST_DEVICES * 3];
    const size_t scales = variant == 1 ? 4 * (size_t)devices : 4 * (size_t)devices * stages;
    if (variant == 3 || random_below(seed, 3) == 0) {
        for (uint32_t d = 0; d < devices; d++)
            list[d] = random_below(seed, 4) / 4.0;
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_OVERHEAD, list, devices, NULL), NULL);
    }
    if (variant == 3)
        return;
    for (uint32_t d = 0; d < devices; d++)
        list[d] = random_below(seed, 2) == 0 ? 1 : 0.25 + random_below(seed, 6) / 4.0;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, list, devices, NULL), NULL);
    for (size_t i = 0; i < scales && variant > 0; i++)
        list[i] = random_below(seed, 3) == 0 ? 1 : 0.5 + random_below(seed, 8) / 4.0;
    if (variant > 0)
        expect_ok(ppsched_config_set_values(config, variant == 1 ? PPSCHED_QUANTITY_DEVICE_SCALE : PPSCHED_QUANTITY_STAGE_SCALE,
                                            list, scales, NULL),
                  NULL);
}

/* `stated`: the same order with devices as fast as stated. */
static void compare_slow(const struct problem *p, const struct problem *stated, int seen[2])
{
    for (uint32_t d = 0; d < p->devices; d++) {
        const ppsched_idle own = reckon_all(p, d), alike = reckon_all(stated, d);
        const double grown = device_metrics_of(p->timeline, d).idle - device_metrics_of(stated->timeline, d).idle;
        const double slow[] = {own.imbalance, own.neighbour, own.fill, own.drain, own.transfer};
        const double before[] = {alike.imbalance, alike.neighbour, alike.fill, alike.drain, alike.transfer};
        static const char *const names[] = {"imbalance", "neighbour", "fill", "drain", "transfer"};
        ppsched_idle told = {.size = sizeof told};
        assert_int_equal(ppsched_timeline_get_idle(&told, p->timeline, d, NULL), PPSCHED_OK);
        const double left[] = {told.imbalance, told.neighbour, told.fill, told.drain, told.transfer};
        double rest = fmax(0, grown);
        expect_near(told.slow_devices, rest, "slow_devices", p, d);
        for (size_t i = 0; i < 5; i++) {
            const double taken = fmax(0, fmin(rest, slow[i] - before[i]));
            expect_near(left[i], slow[i] - taken, names[i], p, d);
            rest -= taken;
        }
        seen[0] += told.slow_devices > 0;
        seen[1] += grown < 0;
    }
}

static void test_what_slow_devices_cause(void **state)
{
    static const char *const names[] = {"1f1b", "interleaved_1f1b", "zbv", "zb_h1", "gpipe", "dualpipe_v", "1f1b_no_flush"};
    static const uint32_t chunks[] = {1, 3, 2, 1, 1, 2, 1};
    uint64_t seed = 43;
    int seen[2] = {0};
    (void)state;
    for (int trial = 0; trial < 560; trial++) {
        const size_t row = (size_t)trial % 7;
        const struct uneven sizes = {2 + random_below(&seed, 4), chunks[row], 1 + random_below(&seed, 9),
                                     1 + random_below(&seed, 2), random_next(&seed)};
        const uint32_t stages = sizes.devices * sizes.chunks;
        ppsched_config *config = trial % 2 ? make_uneven(&sizes) : draw_with_ties(&sizes, &seed), *stated = NULL;
        expect_ok(ppsched_config_copy(&stated, config, NULL), NULL);
        slow_down(config, sizes.devices, stages, trial / 7 % 4, &seed);
        if (ppsched_strategy_fits(names[row], config, NULL) == PPSCHED_OK) {
            ppsched_schedule *schedule = make_schedule(config, names[row]);
            ppsched_timeline *timeline = NULL, *plain = make_timeline(schedule, stated);
            if (trial % 4 == 0) { /* updated from what is not slow */
                expect_ok(ppsched_schedule_evaluate(&timeline, schedule, stated, PPSCHED_EVALUATE_FLAG_REUSABLE, NULL), NULL);
                expect_ok(ppsched_timeline_update(timeline, config, NULL), NULL);
            } else {
                timeline = make_timeline(schedule, config);
            }
            const struct problem p = {config, schedule, timeline, sizes.devices, stages, sizes.microbatches};
            const struct problem without = {stated, schedule, plain, sizes.devices, stages, sizes.microbatches};
            compare_slow(&p, &without, seen);
            ppsched_timeline_destroy(timeline);
            ppsched_timeline_destroy(plain);
            ppsched_schedule_release(schedule);
        }
        ppsched_config_destroy(config);
        ppsched_config_destroy(stated);
    }
    assert_true(seen[0] > 300 && seen[1] > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cause_again),
        cmocka_unit_test(test_what_slow_devices_cause),
    };
    return cmocka_run_group_tests_name("idle sweep", tests, NULL, NULL);
}
