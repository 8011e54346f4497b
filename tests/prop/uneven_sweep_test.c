/* SPDX-License-Identifier: Apache-2.0 */
/* Every strategy that plans without a search, on problems in which every stage, device, edge, pair, microbatch and slice
 * differs, with two iterations and microbatches that no device count divides: times, memory and the device that is over its
 * limit are those of brute force, and timed anew they are those of the problem that is given then. */
#include "support/uneven.h"

#include <math.h>

static void expect_near(double told, double reckoned, const char *what, const char *strategy, uint32_t device)
{
    if (fabs(told - reckoned) > 1e-9 * (1 + fabs(reckoned)))
        fail_msg("%s, device %u: %s is %.17g, reckoned %.17g", strategy, device, what, told, reckoned);
}

/* What a device holds whatever runs. */
static double static_memory(const ppsched_config *config, const ppsched_schedule *schedule, uint32_t device)
{
    double sum = value_at(config, PPSCHED_QUANTITY_MEM_OTHER, device, 0);
    uint32_t stages = ppsched_config_stages(config), microbatches = ppsched_config_microbatches(config);
    int copies = ppsched_schedule_placement(schedule) == PPSCHED_PLACEMENT_BIDIRECTIONAL ? 2 : 1;
    for (uint32_t s = 0; s < stages; s++)
        for (int copy = 0; copy < copies; copy++)
            if (ppsched_schedule_device_of(schedule, s, copy == 0 ? 0 : microbatches - 1) == device)
                sum += value_at(config, PPSCHED_QUANTITY_MEM_STATIC, s, 0) +
                       ppsched_schedule_weight_versions(schedule) * value_at(config, PPSCHED_QUANTITY_MEM_WEIGHTS, s, 0);
    return sum;
}

/* Returns whether the device is over its limit. */
static int compare_device(const ppsched_timeline *timeline, const struct brute *brute, const struct brute_costs *costs,
                          const ppsched_config *config, uint32_t device, int *index)
{
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    const char *name = ppsched_schedule_name(schedule);
    const ppsched_device_metrics figures = device_metrics_of(timeline, device);
    size_t count = 0;
    const ppsched_span *spans = ppsched_timeline_spans(timeline, device, &count);
    double busy = 0, held = static_memory(config, schedule, device), peak = held, at_peak = held;
    expect_near(figures.static_memory, held, "static memory", name, device);
    for (size_t i = 0; i < count; i++, ++*index) {
        const struct brute_op *b = &brute->ops[*index];
        expect_near(spans[i].start, b->start, "a start", name, device);
        expect_near(spans[i].end, b->end, "an end", name, device);
        busy += b->leader == *index ? b->end - b->start : 0;
        held += costs->memory[b->op.kind][b->op.stage] * brute_memory_factor(costs, schedule, &b->op);
        peak = fmax(peak, held);
        at_peak = i == figures.peak_position ? held : at_peak;
    }
    double limit = value_at(config, PPSCHED_QUANTITY_MEM_LIMIT, device, HUGE_VAL);
    expect_near(figures.busy, busy, "busy time", name, device);
    expect_near(figures.peak_memory, peak, "peak memory", name, device);
    expect_near(at_peak, peak, "what is held where it is told to be most", name, device);
    expect_near(figures.memory_limit, limit, "the limit", name, device);
    return peak > limit;
}

/* Returns the first device over its limit. */
static uint32_t compare(const ppsched_timeline *timeline, const ppsched_config *config)
{
    static struct brute_costs costs;
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    struct brute brute;
    uint32_t over = PPSCHED_NONE;
    int index = 0;
    brute_costs_of(&costs, config);
    brute_load(&brute, schedule);
    assert_true(brute_run(&brute, schedule, &costs));
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
        if (compare_device(timeline, &brute, &costs, config, d, &index) && over == PPSCHED_NONE)
            over = d;
    expect_near(metrics_of(timeline).makespan, brute.makespan, "the makespan", ppsched_schedule_name(schedule), 0);
    assert_int_equal(metrics_of(timeline).limit_device, over);
    brute_free(&brute);
    return over;
}

/* Each or not, as without some the evaluator has quicker ways. */
static unsigned some_parts(uint64_t *seed)
{
    static const unsigned parts[] = {UNEVEN_PAIRS, UNEVEN_MICRO_SLICES, UNEVEN_RUNTIME, UNEVEN_SPEEDS, UNEVEN_OVERHEADS};
    unsigned some = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        some |= random_below(seed, 3) > 0 ? parts[i] : 0;
    return some;
}

static ppsched_config *draw(uint64_t *seed, const ppsched_strategy_info *info)
{
    struct uneven sizes = uneven_of_seed(random_next(seed));
    ppsched_error error;
    uint32_t factor = 1 + random_below(seed, 3);
    sizes.devices = 1 + random_below(seed, 5);
    sizes.chunks = info->chunks != 0 ? info->chunks : 1 + random_below(seed, 3);
    sizes.microbatches = 1 + random_below(seed, 9);
    ppsched_config *config = make_uneven(&sizes);
    expect_ok(ppsched_config_set_slices(config, random_below(seed, 3) == 0 ? 1 + random_below(seed, 4) : 1, &error), &error);
    add_uneven(config, some_parts(seed) | UNEVEN_LIMITS, seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, sizes.devices, 4 + 12 * factor, seed); /* above and below what is needed */
    if (random_below(seed, 2)) /* a cause of memory of its own, without which levels are no sums of causes */
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_OTHER, NULL, 0, &error), &error);
    return config;
}

/* Each strategy; returns whether it serves the draw. */
static int try(uint64_t *seed, const ppsched_strategy_info *info, uint32_t *over)
{
    ppsched_config *config = draw(seed, info);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    ppsched_status status = ppsched_schedule_generate(&schedule, config, info->name, &error);
    if (status == PPSCHED_OK) {
        expect_ok(ppsched_schedule_check(NULL, 0, NULL, schedule, &error), &error);
        expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error), &error);
        *over += compare(timeline, config) != PPSCHED_NONE;
        set_uneven(config, PPSCHED_QUANTITY_FORWARD_TIMES, ppsched_config_stages(config), 1, seed);
        add_uneven(config, some_parts(seed), seed);
        expect_ok(ppsched_timeline_update(timeline, config, &error), &error);
        compare(timeline, config);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return status == PPSCHED_OK;
}

static void test_as_brute_force(void **state)
{
    uint64_t seed = 41;
    uint32_t over = 0, served = 0;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        uint32_t own = 0;
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        for (int trial = 0; trial < 40 && !info.searches && !info.offloads; trial++)
            own += (uint32_t)try(&seed, &info, &over);
        if (own == 0 && !info.searches && !info.offloads)
            fail_msg("%s serves none", info.name);
        served += own;
    }
    if (served < 300 || over < 60 || served - over < 60)
        fail_msg("%u served, %u of them over a limit", served, over);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_brute_force),
    };
    return cmocka_run_group_tests_name("uneven sweep", tests, NULL, NULL);
}
