/* SPDX-License-Identifier: Apache-2.0 */
/* zb_auto on random problems: it keeps to the memory limits, is no longer than any fixed schedule that does, and not much
 * longer than what a full search finds, however short of memory the devices are. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <string.h>

static const char *const fixed[] = {"gpipe", "1f1b", "eager_1f1b", "zb_h1", "zb_h2"};

static double draw(uint64_t *seed, double from, double to)
{
    return from + (to - from) * random_below(seed, 1000) / 1000;
}

static void set_list(ppsched_config *config, int32_t quantity, const double *values)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, ppsched_config_devices(config), &error), &error);
}

/* Up to 16 devices, in half the problems with stages up to five times as long as others; memory and limits by device. `tight`:
 * limits from one stage pass on; else from D. `times`: so many times more microbatches than usual. */
static ppsched_config *random_problem(uint64_t *seed, int tight, uint32_t times)
{
    static const int32_t kinds[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    uint32_t devices = 2 + random_below(seed, 15);
    ppsched_config *config = make_config(devices, devices, times * (1 + random_below(seed, 3 * devices)));
    double scale[16], values[16], memory[16], spread = random_below(seed, 2) ? 5 : 1;
    double limit = tight ? draw(seed, 1, devices) : draw(seed, devices, 2 * devices);
    for (uint32_t s = 0; s < devices; s++)
        scale[s] = draw(seed, 1, spread);
    for (int k = 0; k < 3; k++) {
        double mean = draw(seed, 0.5, 1.5);
        for (uint32_t s = 0; s < devices; s++)
            values[s] = scale[s] * mean * (spread > 1 ? draw(seed, 0.7, 1.3) : 1);
        set_list(config, kinds[k], values);
    }
    for (uint32_t s = 0; s < devices; s++) {
        memory[s] = random_below(seed, 2) ? 1 : draw(seed, 0.5, 1.5);
        values[s] = -memory[s] * draw(seed, 0, 1);
    }
    set_list(config, PPSCHED_QUANTITY_MEM_FORWARD, memory);
    set_list(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, values);
    for (uint32_t s = 0; s < devices; s++)
        values[s] = memory[s] * limit * (random_below(seed, 2) ? 1 : draw(seed, 1, 1.4));
    set_list(config, PPSCHED_QUANTITY_MEM_LIMIT, values);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 2) ? draw(seed, 0, 1) : 0);
    return config;
}

/* The longest span; infinite where the schedule goes over a limit. */
static double span_of(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = make_schedule(config, strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return metrics.limit_device == PPSCHED_NONE ? metrics.span : INFINITY;
}

static void set_option(ppsched_config *config, const char *name, const char *value)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_option(config, name, value, &error), &error);
}

static void compare_all(int tight, double most)
{
    uint64_t seed = 21 + tight;
    double worst = 0;
    for (int trial = 0; trial < ROUNDS(250); trial++) {
        ppsched_config *config = random_problem(&seed, tight, 1);
        double span = span_of(config, "zb_auto");
        assert_true(isfinite(span));
        for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++)
            if (span > span_of(config, fixed[k]) * (1 + 1e-9))
                fail_msg("trial %d: zb_auto %g, %s %g", trial, span, fixed[k], span_of(config, fixed[k]));
        set_option(config, "placement", "linear");
        set_option(config, "effort", "3");
        worst = fmax(worst, span / span_of(config, "auto"));
        ppsched_config_destroy(config);
    }
    print_message("# the span is at most %.3f of auto's\n", worst);
    assert_true(worst < most);
}

static void test_ample_memory(void **state)
{
    (void)state;
    compare_all(0, 1.2);
}

static void test_short_memory(void **state)
{
    (void)state;
    compare_all(1, 1.25);
}

/* With F = I = W, M >= 2D and a limit of k >= D stage passes the longest span idles 2D - 1 - k, but no less than nothing. */
static void test_idle_cells_of_alike_stages(void **state)
{
    (void)state;
    for (uint32_t devices = 2; devices <= 12; devices++)
        for (uint32_t limit = devices; limit <= 2 * devices; limit++) {
            uint32_t microbatches = 2 * devices + limit % 4;
            ppsched_config *config = make_config(devices, devices, microbatches);
            set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
            double idle = span_of(config, "zb_auto") - 3.0 * microbatches;
            if (idle != (limit < 2 * devices ? 2 * devices - 1 - limit : 0))
                fail_msg("%u devices, a limit of %u: %g cells", devices, limit, idle);
            ppsched_config_destroy(config);
        }
}

/* With many microbatches, rounds repeat: the sum of spans per microbatch is no larger than where all rounds are planned one by
 * one. */
static void test_many_microbatches(void **state)
{
    uint64_t seed = 57;
    double sum = 0;
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        ppsched_config *config = random_problem(&seed, trial % 2, 24);
        const double span = span_of(config, "zb_auto");
        assert_true(isfinite(span));
        for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++)
            assert_true(span <= span_of(config, fixed[k]) * (1 + 1e-9));
        sum += span / ppsched_config_microbatches(config);
        ppsched_config_destroy(config);
    }
    print_message("# the spans are %.12g per microbatch\n", sum);
    assert_true(sum <= 761.61492242);
}

static const ppsched_op *queue_of(const ppsched_schedule *schedule, uint32_t device, size_t *count)
{
    return ppsched_queue_ops(ppsched_schedule_queue(schedule, device), count);
}

static int is_same(const ppsched_op *a, const ppsched_op *b)
{
    return a->kind == b->kind && a->stage == b->stage && a->microbatch == b->microbatch;
}

/* What zb_auto takes for granted of the rules that it looks at: up to the last forward, the queues are those of more
 * microbatches. */
static void expect_same_start(const char *rule, uint32_t devices, uint32_t fewer, uint32_t more)
{
    ppsched_config *configs[] = {make_config(devices, devices, fewer), make_config(devices, devices, more)};
    ppsched_schedule *schedules[] = {make_schedule(configs[0], rule), make_schedule(configs[1], rule)};
    for (uint32_t d = 0; d < devices; d++) {
        size_t counts[2];
        const ppsched_op *own = queue_of(schedules[0], d, &counts[0]), *longer = queue_of(schedules[1], d, &counts[1]);
        while (counts[0] > 0 && own[counts[0] - 1].kind != PPSCHED_KIND_F)
            counts[0]--;
        for (size_t i = 0; i < counts[0]; i++)
            if (!is_same(&own[i], &longer[i]))
                fail_msg("%s on %u devices: op %zu of device %u differs for %u and %u microbatches", rule, devices, i, d, fewer,
                         more);
    }
    for (int i = 0; i < 2; i++) {
        ppsched_schedule_release(schedules[i]);
        ppsched_config_destroy(configs[i]);
    }
}

static void test_rules_start_alike(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++)
        for (uint32_t devices = 2; devices <= 12; devices++)
            for (uint32_t warmup = devices; warmup <= 2 * devices; warmup += devices)
                for (uint32_t more = 1; more < 9; more += 2)
                    if (warmup == 2 * devices || strcmp(fixed[k], "1f1b") == 0 || strcmp(fixed[k], "zb_h1") == 0)
                        expect_same_start(fixed[k], devices, warmup + 4, warmup + 4 + more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_start_alike), cmocka_unit_test(test_idle_cells_of_alike_stages),
        cmocka_unit_test(test_ample_memory),      cmocka_unit_test(test_short_memory),
        cmocka_unit_test(test_many_microbatches),
    };
    return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
