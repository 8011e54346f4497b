/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of overlapped pairs, where windows say what is in them: times, slack, critical paths, idle time, scenarios and
 * bounds against brute force, which gets what each pair takes, and the ends of its ops, from ppsched_pair_find_order. */
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 4096, MOST_WINDOWS = 6 };

/* Windows of all stages. */
struct drawn {
    ppsched_window windows[BRUTE_STAGES][3][MOST_WINDOWS];
    ppsched_pair_windows stages[BRUTE_STAGES];
    uint32_t count; /* of stages: 1 or all */
};

static int served, earlier, longer_scenarios, updated;

static size_t draw_list(uint64_t *seed, ppsched_window *out, uint32_t channels, uint32_t backwards, int is_weight)
{
    const size_t count = 1 + random_below(seed, MOST_WINDOWS);
    uint32_t after = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_weight && random_below(seed, 2))
            after = after < backwards ? after + 1 : after;
        out[i] = (ppsched_window){random_below(seed, 1000) / 128.0, random_below(seed, channels), after};
    }
    return count;
}

static void draw_windows(uint64_t *seed, struct drawn *out, uint32_t stages)
{
    const uint32_t channels = 1 + random_below(seed, 4);
    const int splits = (int)random_below(seed, 2), slows = random_below(seed, 3) == 0;
    memset(out, 0, sizeof *out);
    out->count = random_below(seed, 4) == 0 ? 1 : stages;
    for (uint32_t s = 0; s < out->count; s++) {
        ppsched_pair_windows *own = &out->stages[s];
        own->size = sizeof *own;
        own->forward = out->windows[s][0];
        own->backward = out->windows[s][1];
        own->forward_count = draw_list(seed, out->windows[s][0], channels, 0, 0);
        own->backward_count = draw_list(seed, out->windows[s][1], channels, 0, 0);
        if (splits) {
            own->weight = out->windows[s][2];
            own->weight_count = draw_list(seed, out->windows[s][2], channels, (uint32_t)own->backward_count, 1);
        }
        own->slowdown[0] = slows ? 1.25 : 0;
    }
}

static void set_windows(ppsched_config *config, const struct drawn *drawn)
{
    const ppsched_pair_windows *pointers[BRUTE_STAGES];
    ppsched_error error;
    for (uint32_t s = 0; s < drawn->count; s++)
        pointers[s] = &drawn->stages[s];
    expect_ok(ppsched_config_set_windows(config, pointers, drawn->count, &error), &error);
}

/* The same for brute force. */
static void add_ends(struct brute_costs *costs, const struct drawn *drawn, uint32_t stages)
{
    costs->has_ends = 1;
    for (uint32_t s = 0; s < stages && drawn->stages[0].weight_count == 0; s++) /* the library's defaults */
        costs->duration[PPSCHED_KIND_I][s] = costs->duration[PPSCHED_KIND_W][s] = costs->duration[PPSCHED_KIND_B][s] / 2;
    for (uint32_t f = 0; f < stages; f++)
        for (uint32_t b = 0; b < stages; b++) {
            const ppsched_pair_windows *first = &drawn->stages[drawn->count == 1 ? 0 : f];
            ppsched_pair_windows pair = drawn->stages[drawn->count == 1 ? 0 : b];
            ppsched_pair_times times = {.size = sizeof times};
            ppsched_error error;
            pair.forward = first->forward;
            pair.forward_count = first->forward_count;
            expect_ok(ppsched_pair_find_order(NULL, 0, NULL, &times, &pair, NULL, &error), &error);
            assert_true(fabs(times.time - costs->overlapped[f][b]) < 1e-9);
            costs->ends[0][f][b] = times.forward_end;
            costs->ends[1][f][b] = times.backward_end;
        }
}

static void compare_spans(const ppsched_timeline *timeline, const struct brute *brute)
{
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    int index = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, &count);
        for (size_t i = 0; i < count; i++, index++)
            if (fabs(spans[i].start - brute->ops[index].start) > 1e-9 || fabs(spans[i].end - brute->ops[index].end) > 1e-9)
                fail_msg("%s, device %u, op %zu: starts at %.17g, reckoned %.17g", ppsched_schedule_name(schedule), d, i,
                         spans[i].start, brute->ops[index].start);
    }
    assert_true(fabs(metrics_of(timeline).makespan - brute->makespan) < 1e-9);
}

/* An op may come as late as its slack says, and no later. */
static void compare_slack(uint64_t *seed, const ppsched_timeline *timeline, struct brute *brute,
                          const struct brute_costs *costs)
{
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    const double makespan = brute->makespan;
    for (int trial = 0; trial < 6; trial++) {
        int index = (int)random_below(seed, (uint32_t)brute->count), first = index;
        struct brute_op *b = &brute->ops[brute->ops[index].leader];
        while (first > 0 && brute->ops[first - 1].device == brute->ops[index].device)
            first--;
        double latest = ppsched_timeline_latest_starts(timeline, b->device, NULL)[index - first];
        b->not_before = latest;
        assert_true(brute_run(brute, schedule, costs) && fabs(brute->makespan - makespan) < 1e-9);
        b->not_before = latest + 1e-6;
        assert_true(brute_run(brute, schedule, costs) && brute->makespan > makespan + 1e-9);
        b->not_before = 0;
    }
    assert_true(brute_run(brute, schedule, costs));
}

/* From 0 to the makespan, each op with slack 0. */
static void check_path(const ppsched_timeline *timeline)
{
    static ppsched_critical_op path[MOST_STEPS];
    size_t count = 0;
    ppsched_error error;
    expect_ok(ppsched_timeline_get_critical_path(path, MOST_STEPS, &count, timeline, &error), &error);
    assert_true(path[0].start == 0 && path[0].reason == PPSCHED_REASON_BEGIN);
    assert_true(path[count - 1].end == metrics_of(timeline).makespan);
    for (size_t i = 0; i < count; i++)
        assert_true(ppsched_timeline_latest_starts(timeline, path[i].device, NULL)[path[i].position] == path[i].start);
}

static void check_idle(const ppsched_timeline *timeline)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(ppsched_timeline_schedule(timeline)); d++) {
        ppsched_idle idle = {.size = sizeof idle};
        ppsched_error error;
        expect_ok(ppsched_timeline_get_idle(&idle, timeline, d, &error), &error);
        double sum = idle.fill + idle.neighbour + idle.imbalance + idle.transfer + idle.drain + idle.slow_devices;
        assert_true(fabs(sum - device_metrics_of(timeline, d).idle) < 1e-9);
    }
}

static double scenario_of(const ppsched_schedule *schedule, const ppsched_config *config, ppsched_scenario_options *options)
{
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, 1, options, &error), &error);
    const double makespan = ppsched_scenarios_makespans(scenarios, NULL)[0];
    ppsched_scenarios_destroy(scenarios);
    return makespan;
}

/* Without factors a scenario is the evaluation; with one for all devices all of it takes longer; devices that run what is ready
 * are no faster than the busiest of them. */
static void check_scenarios(const ppsched_timeline *timeline, const ppsched_config *config, struct brute *brute,
                            const struct brute_costs *costs)
{
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    double factors[BRUTE_DEVICES];
    ppsched_scenario_options options = {.size = sizeof options};
    assert_true(scenario_of(schedule, config, &options) == metrics_of(timeline).makespan);
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
        factors[d] = 1 + d / 4.0;
    options.device_factors = factors;
    options.device_factor_count = ppsched_schedule_devices(schedule);
    for (int i = 0; i < brute->count; i++)
        brute->ops[i].factor = factors[brute->ops[i].device];
    assert_true(brute_run(brute, schedule, costs));
    assert_true(fabs(scenario_of(schedule, config, &options) - brute->makespan) < 1e-9);
    longer_scenarios += brute->makespan > metrics_of(timeline).makespan;
    for (int i = 0; i < brute->count; i++)
        brute->ops[i].factor = 1;
    assert_true(brute_run(brute, schedule, costs));
}

static void check_bound(const ppsched_timeline *timeline, const ppsched_config *config, int32_t placement)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_config *placed = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_copy(&placed, config, &error), &error);
    expect_ok(ppsched_config_set_placement(placed, placement, NULL, 0, &error), &error);
    expect_ok(ppsched_config_find_bound(&bound, placed, PPSCHED_OBJECTIVE_MAKESPAN, &error), &error);
    assert_true(bound.value <= metrics_of(timeline).makespan * (1 + 1e-9));
    ppsched_config_destroy(placed);
}

/* A timeline that knew of no windows gets them, and loses them. */
static void check_update(const ppsched_schedule *schedule, ppsched_config *config, const ppsched_config *without, double with)
{
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, without, PPSCHED_EVALUATE_FLAG_REUSABLE, &error), &error);
    const double before = metrics_of(timeline).makespan;
    expect_ok(ppsched_timeline_update(timeline, config, &error), &error);
    assert_true(metrics_of(timeline).makespan == with && with <= before);
    updated += with < before;
    expect_ok(ppsched_timeline_update(timeline, without, &error), &error);
    assert_true(metrics_of(timeline).makespan == before);
    ppsched_timeline_destroy(timeline);
}

/* The same times of pairs, given: both ops end with the pair. */
static ppsched_config *without_ends(const ppsched_config *config)
{
    ppsched_config *copy = NULL;
    size_t count = 0;
    ppsched_error error;
    const double *pairs = ppsched_config_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count);
    expect_ok(ppsched_config_copy(&copy, config, &error), &error);
    expect_ok(ppsched_config_set_values(copy, PPSCHED_QUANTITY_OVERLAPPED_TIMES, pairs, count, &error), &error);
    return copy;
}

static void check(uint64_t *seed, const ppsched_schedule *schedule, ppsched_config *config, const struct drawn *drawn,
                  int32_t placement)
{
    struct brute_costs costs;
    struct brute brute;
    ppsched_config *without = without_ends(config);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    brute_costs_of(&costs, config);
    add_ends(&costs, drawn, ppsched_schedule_stages(schedule));
    brute_load(&brute, schedule);
    assert_true(brute_run(&brute, schedule, &costs));
    compare_spans(timeline, &brute);
    check_path(timeline);
    check_idle(timeline);
    check_bound(timeline, config, placement);
    check_scenarios(timeline, config, &brute, &costs);
    check_update(schedule, config, without, metrics_of(timeline).makespan);
    if (brute.count < 150)
        compare_slack(seed, timeline, &brute, &costs);
    for (int i = 0; i < brute.count; i++)
        earlier += brute.ops[i].made < brute.ops[i].end;
    served++;
    brute_free(&brute);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(without);
}

static void test_both_ends(void **state)
{
    static const char *const names[] = {"1f1b_overlap", "interleaved_1f1b_overlap", "dualpipe", "dualpipe_v"};
    static const int32_t placements[] = {PPSCHED_PLACEMENT_LOOP, PPSCHED_PLACEMENT_LOOP, PPSCHED_PLACEMENT_BIDIRECTIONAL,
                                         PPSCHED_PLACEMENT_V};
    uint64_t seed = 59;
    (void)state;
    for (int trial = 0; trial < 240; trial++) {
        const char *name = names[trial % 4];
        const uint32_t devices = 2 * (1 + random_below(&seed, 3)),
                       stages = trial % 4 == 0 || trial % 4 == 2 ? devices : 2 * devices;
        static struct drawn drawn;
        ppsched_schedule *schedule = NULL;
        ppsched_config *config = make_config(devices, stages, 2 * devices + 2 * random_below(&seed, 4));
        draw_windows(&seed, &drawn, stages);
        set_windows(config, &drawn);
        if (random_below(&seed, 2))
            set_uneven(config, PPSCHED_QUANTITY_P2P_TIME, (size_t)devices * devices, 0.25, &seed);
        if (random_below(&seed, 3) == 0)
            add_uneven(config, UNEVEN_MICRO_SLICES, &seed);
        if (random_below(&seed, 3) == 0)
            add_uneven(config, UNEVEN_SPEEDS, &seed);
        if (ppsched_schedule_generate(&schedule, config, name, NULL) == PPSCHED_OK)
            check(&seed, schedule, config, &drawn, placements[trial % 4]);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    if (served < 120 || earlier < 2000 || longer_scenarios < 100 || updated < 60)
        fail_msg("%d served, %d ops ended before their pair, %d scenarios and %d updates differ", served, earlier,
                 longer_scenarios, updated);
}

/* By hand: two devices, a forward of 4 and a backward of 1 + 1 on two channels. The pair takes 5; what needs the backward may
 * start after 2. */
static void test_by_hand(void **state)
{
    (void)state;
    const ppsched_window f[] = {{4, 0, 0}}, b[] = {{1, 0, 0}, {1, 1, 0}};
    const ppsched_pair_windows windows = {
        .size = sizeof windows, .forward = f, .forward_count = 1, .backward = b, .backward_count = 2};
    const ppsched_pair_windows *stages[] = {&windows};
    ppsched_error error;
    ppsched_config *config = make_config(2, 2, 4);
    expect_ok(ppsched_config_set_windows(config, stages, 1, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "1f1b_overlap");
    ppsched_timeline *timeline = make_timeline(schedule, config);
    size_t count = 0;
    const ppsched_span *first = ppsched_timeline_spans(timeline, 0, &count);
    const ppsched_span *second = ppsched_timeline_spans(timeline, 1, NULL);
    assert_true(count == 8 && first[3].start == 12 && first[3].end == 17 && first[5].start == 17); /* the pair; 0B1 */
    assert_true(second[5].start == 18 && second[5].end == 23 && first[6].start == 20);             /* 1B2 in a pair; 0B2 */
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_both_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
