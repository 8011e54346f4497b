/* SPDX-License-Identifier: Apache-2.0 */
/* Plain numbers are in units of the caller's choice: in other units of time, of memory and of bytes every strategy finds the
 * same schedule, and every figure is the same in these units; to the last bit where the units are powers of 2. */
#include "support/last.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { MOST_VALUES = 256, SEARCHED = 4, TRIALS = 24 };

/* How much larger each number becomes. */
struct units {
    double time, memory, bytes;
};

static double unit_of(const struct units *units, int32_t quantity)
{
    switch (quantity) {
    case PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE:
    case PPSCHED_QUANTITY_SHARDING_SLOWDOWN:
    case PPSCHED_QUANTITY_COPY_SLOWDOWN:
    case PPSCHED_QUANTITY_HOST_LINK:
    case PPSCHED_QUANTITY_MICROBATCH_SCALE:
    case PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE:
    case PPSCHED_QUANTITY_SLICE_SCALE:
        return 1;
    case PPSCHED_QUANTITY_P2P_BANDWIDTH:
    case PPSCHED_QUANTITY_SHARDING_BANDWIDTH:
    case PPSCHED_QUANTITY_HOST_BANDWIDTH:
        return units->bytes / units->time;
    case PPSCHED_QUANTITY_ACTIVATION_BYTES:
    case PPSCHED_QUANTITY_GRADIENT_BYTES:
    case PPSCHED_QUANTITY_UNSHARD_BYTES:
    case PPSCHED_QUANTITY_REDUCE_GRAD_BYTES:
    case PPSCHED_QUANTITY_OFFLOAD_BYTES:
        return units->bytes;
    default:
        return strncmp(ppsched_quantity_name(quantity), "mem_", 4) == 0 ? units->memory : units->time;
    }
}

static ppsched_config *in_units(const ppsched_config *config, const struct units *units)
{
    ppsched_config *other = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_copy(&other, config, &error), &error);
    for (int32_t q = 1; q <= LAST_QUANTITY; q++) {
        double values[MOST_VALUES];
        size_t count = 0;
        const double *given = ppsched_config_values(config, q, &count);
        assert_true(count <= MOST_VALUES);
        for (size_t i = 0; i < count; i++)
            values[i] = given[i] * unit_of(units, q);
        if (count > 0)
            expect_ok(ppsched_config_set_values(other, q, values, count, &error), &error);
    }
    return other;
}

/* --- figures --- */

static void expect_unit(double figure, double other, double unit, const char *what, const char *strategy)
{
    if (other != figure * unit)
        fail_msg("%s: %s is %.17g, in a unit of %g %.17g", strategy, what, figure, unit, other);
}

static void expect_same_queue(const ppsched_timeline *one, const ppsched_timeline *other, uint32_t device, double unit,
                              const char *strategy)
{
    size_t count = 0, others = 0;
    const ppsched_op *a = ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(one), device), &count);
    const ppsched_op *b = ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(other), device), &others);
    const ppsched_span *spans = ppsched_timeline_spans(one, device, NULL), *those = ppsched_timeline_spans(other, device, NULL);
    const double *latest = ppsched_timeline_latest_starts(one, device, NULL);
    const double *later = ppsched_timeline_latest_starts(other, device, NULL);
    if (count != others || memcmp(a, b, count * sizeof *a) != 0)
        fail_msg("%s: another order on device %u where the unit of time is %g", strategy, device, unit);
    for (size_t i = 0; i < count; i++) {
        expect_unit(spans[i].start, those[i].start, unit, "a start", strategy);
        expect_unit(spans[i].end, those[i].end, unit, "an end", strategy);
        expect_unit(latest[i], later[i], unit, "a latest start", strategy);
    }
}

static void expect_same_device(const ppsched_timeline *one, const ppsched_timeline *other, uint32_t device,
                               const struct units *units, const char *strategy)
{
    const ppsched_device_metrics a = device_metrics_of(one, device), b = device_metrics_of(other, device);
    ppsched_idle idle = {.size = sizeof idle}, others = {.size = sizeof others};
    assert_int_equal(a.peak_position, b.peak_position);
    expect_unit(a.busy, b.busy, units->time, "busy time", strategy);
    expect_unit(a.peak_memory, b.peak_memory, units->memory, "peak memory", strategy);
    assert_int_equal(ppsched_timeline_get_idle(&idle, one, device, NULL), PPSCHED_OK);
    assert_int_equal(ppsched_timeline_get_idle(&others, other, device, NULL), PPSCHED_OK);
    for (const double *x = &idle.fill, *y = &others.fill; x <= &idle.calls; x++, y++)
        expect_unit(*x, *y, units->time, "idle time of a cause", strategy);
}

static void expect_same_sensitivities(const ppsched_timeline *one, const ppsched_timeline *other, const char *strategy)
{
    ppsched_sensitivity a[BRUTE_STAGES], b[BRUTE_STAGES];
    size_t stages = 0;
    ppsched_status status = ppsched_timeline_get_sensitivities(a, BRUTE_STAGES, &stages, one, PPSCHED_OBJECTIVE_MAKESPAN, 0,
                                                               NULL, NULL, NULL);
    assert_int_equal(
        ppsched_timeline_get_sensitivities(b, BRUTE_STAGES, &stages, other, PPSCHED_OBJECTIVE_MAKESPAN, 0, NULL, NULL, NULL),
        status);
    if (status != PPSCHED_OK) /* with copies there are none */
        return;
    for (size_t s = 0; s < stages; s++) {
        expect_unit(a[s].more, b[s].more, 1, "what a longer op costs", strategy);
        expect_unit(a[s].less, b[s].less, 1, "what a shorter op saves", strategy);
    }
}

static void expect_same_schedule(const ppsched_schedule *one, const ppsched_config *config, const ppsched_schedule *other,
                                 const ppsched_config *changed, const struct units *units, const char *strategy)
{
    ppsched_timeline *timeline = make_timeline(one, config), *timed = make_timeline(other, changed);
    const ppsched_metrics a = metrics_of(timeline), b = metrics_of(timed);
    for (uint32_t d = 0; d < ppsched_schedule_devices(one); d++) {
        expect_same_queue(timeline, timed, d, units->time, strategy);
        expect_same_device(timeline, timed, d, units, strategy);
    }
    expect_unit(a.span, b.span, units->time, "the span", strategy);
    expect_unit(a.bubble_of_ideal, b.bubble_of_ideal, 1, "the bubble", strategy);
    assert_int_equal(a.limit_device, b.limit_device);
    expect_same_sensitivities(timeline, timed, strategy);
    ppsched_timeline_destroy(timed);
    ppsched_timeline_destroy(timeline);
}

static void expect_same_bound(const ppsched_config *config, const ppsched_config *changed, int32_t objective,
                              const struct units *units)
{
    ppsched_bound a = {.size = sizeof a}, b = {.size = sizeof b};
    ppsched_error error;
    expect_ok(ppsched_config_find_bound(&a, config, objective, &error), &error);
    expect_ok(ppsched_config_find_bound(&b, changed, objective, &error), &error);
    expect_unit(a.work, b.work, units->time, "work", "bound");
    expect_unit(a.fill_drain, b.fill_drain, units->time, "fill and drain", "bound");
    expect_unit(a.memory, b.memory, units->time, "memory", "bound");
    expect_unit(a.one_machine, b.one_machine, units->time, "one machine", "bound");
    expect_unit(a.least_limit, b.least_limit, units->memory, "the least limit", "bound");
    assert_int_equal(a.device, b.device);
}

/* --- problems --- */

static ppsched_config *draw(const ppsched_strategy_info *info, uint64_t *seed)
{
    static const unsigned parts[] = {UNEVEN_PAIRS, UNEVEN_MICRO_SLICES, UNEVEN_CAUSES, UNEVEN_COPIES, UNEVEN_RUNTIME};
    struct uneven sizes = uneven_of_seed(random_next(seed));
    sizes.devices = 2 + random_below(seed, 3);
    sizes.chunks = info->chunks != 0 ? info->chunks : 1 + random_below(seed, 2);
    sizes.microbatches = (info->searches_long ? 1 : 2) * sizes.devices + random_below(seed, 4);
    sizes.iterations = info->searches_long ? 1 : UNEVEN_ITERATIONS;
    ppsched_config *config = make_uneven(&sizes);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (random_below(seed, 3) == 0)
            add_uneven(config, parts[i], seed);
    if (random_below(seed, 2) == 0) /* a stage pass takes some 2.5, all stages' memory but that some 3 to 6 */
        set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, sizes.devices, sizes.chunks * (6 + 2.5 * sizes.devices), seed);
    return config;
}

/* Whether the strategy has a schedule in both units, the same. */
static int try(const ppsched_strategy_info *info, const struct units *units, uint64_t *seed)
{
    ppsched_config *config = draw(info, seed), *changed = in_units(config, units);
    ppsched_schedule *one = NULL, *other = NULL;
    ppsched_status status = ppsched_schedule_generate(&one, config, info->name, NULL);
    assert_int_equal(ppsched_schedule_generate(&other, changed, info->name, NULL), status);
    if (status == PPSCHED_OK)
        expect_same_schedule(one, config, other, changed, units, info->name);
    if (info->placement == PPSCHED_PLACEMENT_DEFAULT) {
        expect_same_bound(config, changed, PPSCHED_OBJECTIVE_SPAN, units);
        expect_same_bound(config, changed, PPSCHED_OBJECTIVE_MAKESPAN, units);
    }
    ppsched_schedule_release(other);
    ppsched_schedule_release(one);
    ppsched_config_destroy(changed);
    ppsched_config_destroy(config);
    return status == PPSCHED_OK;
}

static void test_units(void **state)
{
    static const struct units units[] = {{0x1p-33, 1, 1}, {1, 0x1p36, 1}, {1, 1, 0x1p30}, {0x1p24, 0x1p-27, 0x1p-20}};
    uint64_t seed = 12;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        uint32_t served = 0;
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        for (uint32_t trial = 0; trial < (info.searches_long ? SEARCHED : ROUNDS(TRIALS)); trial++)
            served += try(&info, &units[trial % 4], &seed);
        if (served == 0 && ROUND_SHARE == 1)
            fail_msg("%s serves none", info.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_units)};
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
