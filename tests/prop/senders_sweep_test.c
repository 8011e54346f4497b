/* SPDX-License-Identifier: Apache-2.0 */
/* Where senders wait (PPSCHED_SENDER_WAITS_LIKE_KIND): times, slack, critical paths, sensitivities, idle time, scenarios and
 * searches against brute force, whose two rules are written anew, on problems of all strategies in which everything differs,
 * and on orders of any kind with pairs, slices, two iterations and several stages a device. */
#include "support/plan_choice.h"
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 4096 };

static struct seen {
    int served, waited, paths, transfers, pairs, scenarios;
} seen;

static void wait_for_transfers(ppsched_config *config, int32_t waits)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_sender_waits(config, waits, &error), &error);
    assert_int_equal(ppsched_config_sender_waits(config), waits);
}

static void run_brute(struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs)
{
    brute_load(brute, schedule);
    brute->senders_wait = 1;
    assert_true(brute_run(brute, schedule, costs));
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

static double span_start(const ppsched_timeline *timeline, const ppsched_critical_op *op)
{
    return ppsched_timeline_spans(timeline, op->device, NULL)[op->position].start;
}

/* From 0 to the makespan, each when what it waited for was there; a transfer of what its own device sent took some time. */
static void check_path(const ppsched_timeline *timeline)
{
    static ppsched_critical_op path[MOST_STEPS];
    size_t count = 0;
    ppsched_error error;
    expect_ok(ppsched_timeline_get_critical_path(path, MOST_STEPS, &count, timeline, &error), &error);
    assert_true(path[0].start == 0 && path[0].reason == PPSCHED_REASON_BEGIN);
    assert_true(path[count - 1].end == metrics_of(timeline).makespan);
    for (size_t i = 0; i < count; i++) {
        assert_true(path[i].start == span_start(timeline, &path[i]));
        assert_true(ppsched_timeline_latest_starts(timeline, path[i].device, NULL)[path[i].position] == path[i].start);
        if (i == 0)
            continue;
        if (path[i].reason == PPSCHED_REASON_TRANSFER) {
            assert_true(path[i - 1].device == path[i].device && path[i - 1].end < path[i].start);
            assert_true(path[i - 1].op.stage == path[i].op.stage);
            seen.transfers++;
        } else if (path[i].reason != PPSCHED_REASON_INPUT) {
            assert_true(path[i - 1].end == path[i].start);
        }
    }
    seen.paths++;
}

/* Idle time is the sum of its causes, and a device that starts an op when a transfer of its own is there waits for a transfer
 * from the end of what made that. */
static void check_idle(const ppsched_timeline *timeline)
{
    for (uint32_t d = 0; d < ppsched_schedule_devices(ppsched_timeline_schedule(timeline)); d++) {
        ppsched_idle idle = {.size = sizeof idle};
        ppsched_error error;
        expect_ok(ppsched_timeline_get_idle(&idle, timeline, d, &error), &error);
        double sum = idle.fill + idle.neighbour + idle.imbalance + idle.transfer + idle.drain;
        assert_true(fabs(sum - device_metrics_of(timeline, d).idle) < 1e-9);
    }
}

/* The makespan where each op of a stage takes so much longer. */
static double makespan_with(const ppsched_timeline *timeline, const struct brute_costs *costs, uint32_t stage, double more)
{
    struct brute_costs longer = *costs;
    struct brute brute;
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        longer.duration[kind][stage] += more;
    run_brute(&brute, ppsched_timeline_schedule(timeline), &longer);
    double makespan = brute.makespan;
    brute_free(&brute);
    return makespan;
}

/* Without factors of pieces and times of pairs, which a stage's times do not reach. */
static void check_sensitivities(const ppsched_timeline *timeline, const struct brute_costs *costs)
{
    const double step = 0x1p-30;
    ppsched_sensitivity found[BRUTE_STAGES];
    ppsched_error error;
    expect_ok(ppsched_timeline_get_sensitivities(found, BRUTE_STAGES, NULL, timeline, PPSCHED_OBJECTIVE_MAKESPAN, 0, NULL, NULL,
                                                 &error),
              &error);
    for (uint32_t s = 0; s < ppsched_schedule_stages(ppsched_timeline_schedule(timeline)); s++) {
        double more = (makespan_with(timeline, costs, s, step) - metrics_of(timeline).makespan) / step;
        double less = (metrics_of(timeline).makespan - makespan_with(timeline, costs, s, -step)) / step;
        assert_true(fabs(found[s].more - more) < 1e-3 && fabs(found[s].less - less) < 1e-3);
    }
}

/* Scenarios without factors are the evaluation; one in which links are slower is that of a problem with slower links. */
static void check_scenarios(uint64_t *seed, const ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    double factors[BRUTE_DEVICES * BRUTE_DEVICES], makespan = 0;
    struct brute_costs costs;
    struct brute brute;
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    uint32_t devices = ppsched_schedule_devices(schedule);
    ppsched_scenario_options options = {.size = sizeof options};
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, 1, &options, &error), &error);
    makespan = ppsched_scenarios_makespans(scenarios, NULL)[0];
    assert_true(makespan == metrics_of(timeline).makespan);
    ppsched_scenarios_destroy(scenarios);
    brute_costs_of(&costs, config);
    draw_uneven(factors, (size_t)devices * devices, 0.5, seed);
    for (uint32_t a = 0; a < devices; a++)
        for (uint32_t b = 0; b < devices; b++) {
            costs.delay[a][b] *= factors[a * devices + b];
            costs.bandwidth[a][b] /= factors[a * devices + b];
        }
    options.link_factors = factors;
    options.link_factor_count = (size_t)devices * devices;
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, 1, &options, &error), &error);
    makespan = ppsched_scenarios_makespans(scenarios, NULL)[0];
    run_brute(&brute, schedule, &costs);
    if (fabs(makespan - brute.makespan) > 1e-9)
        fail_msg("%s: %.17g with slower links, reckoned %.17g", ppsched_schedule_name(schedule), makespan, brute.makespan);
    brute_free(&brute);
    ppsched_scenarios_destroy(scenarios);
    seen.scenarios++;
}

static void check(uint64_t *seed, const ppsched_schedule *schedule, ppsched_config *config, int is_plain)
{
    struct brute_costs costs;
    struct brute brute;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    wait_for_transfers(config, PPSCHED_SENDER_WAITS_NEVER);
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error), &error);
    double never = metrics_of(timeline).makespan;
    wait_for_transfers(config, PPSCHED_SENDER_WAITS_LIKE_KIND);
    expect_ok(ppsched_timeline_update(timeline, config, &error), &error); /* a timeline that knew of no senders */
    brute_costs_of(&costs, config);
    run_brute(&brute, schedule, &costs);
    compare_spans(timeline, &brute);
    assert_true(never <= brute.makespan + 1e-9);
    seen.waited += brute.makespan > never + 1e-9;
    check_path(timeline);
    check_idle(timeline);
    check_scenarios(seed, timeline, config);
    if (brute.count < 150)
        compare_slack(seed, timeline, &brute, &costs);
    if (brute.count < 100 && is_plain)
        check_sensitivities(timeline, &costs);
    wait_for_transfers(config, PPSCHED_SENDER_WAITS_NEVER);
    expect_ok(ppsched_timeline_update(timeline, config, &error), &error); /* and back */
    assert_true(metrics_of(timeline).makespan == never);
    for (int i = 0; i < brute.count; i++)
        seen.pairs += brute.ops[i].leader != i;
    brute_free(&brute);
    ppsched_timeline_destroy(timeline);
    seen.served++;
}

/* --- all strategies --- */

static ppsched_config *draw(uint64_t *seed, const ppsched_strategy_info *info, int *is_plain)
{
    struct uneven sizes = uneven_of_seed(random_next(seed));
    ppsched_error error;
    unsigned parts = (random_below(seed, 3) == 0 ? UNEVEN_PAIRS : 0) | (random_below(seed, 3) == 0 ? UNEVEN_MICRO_SLICES : 0) |
                     (random_below(seed, 3) == 0 ? UNEVEN_RUNTIME : 0);
    sizes.devices = 1 + random_below(seed, 5);
    sizes.chunks = info->chunks != 0 ? info->chunks : 1 + random_below(seed, 3);
    sizes.microbatches = 1 + random_below(seed, 9);
    sizes.iterations = 1 + random_below(seed, 2);
    ppsched_config *config = make_uneven(&sizes);
    uint32_t slices = random_below(seed, 3) == 0 ? 1 + random_below(seed, 3) : 1;
    expect_ok(ppsched_config_set_slices(config, slices, &error), &error);
    expect_ok(ppsched_config_set_forward_only(config, random_below(seed, 6) == 0, &error), &error);
    add_uneven(config, parts, seed);
    if (random_below(seed, 2)) /* transfers that take longer than ops */
        set_uneven(config, PPSCHED_QUANTITY_P2P_TIME, (size_t)sizes.devices * sizes.devices, 4, seed);
    *is_plain = (parts & (UNEVEN_PAIRS | UNEVEN_MICRO_SLICES)) == 0;
    return config;
}

static void test_all_strategies(void **state)
{
    uint64_t seed = 77;
    (void)state;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        for (int trial = 0; trial < 30 && !info.searches && !info.offloads; trial++) {
            int is_plain = 0;
            ppsched_schedule *schedule = NULL;
            ppsched_config *config = draw(&seed, &info, &is_plain);
            if (ppsched_schedule_generate(&schedule, config, info.name, NULL) == PPSCHED_OK)
                check(&seed, schedule, config, is_plain);
            ppsched_schedule_release(schedule);
            ppsched_config_destroy(config);
        }
    }
    if (seen.served < 200 || seen.waited < 150 || seen.transfers < 500 || seen.pairs < 200)
        fail_msg("%d served, %d of them longer; %d paths with %d transfers; %d pairs", seen.served, seen.waited, seen.paths,
                 seen.transfers, seen.pairs);
}

/* --- any order --- */

enum { MOST_OPS = 1200 };

struct draft {
    ppsched_op ops[BRUTE_DEVICES][MOST_OPS];
    size_t count[BRUTE_DEVICES];
};

static void add(struct draft *draft, uint32_t device, uint8_t kind, uint32_t stage, uint32_t microbatch)
{
    draft->ops[device][draft->count[device]++] = (ppsched_op){.microbatch = microbatch, .stage = (uint16_t)stage, .kind = kind};
}

/* Ops at random where their inputs are there, on any map; an F with the backward behind it may become a pair. */
static void draw_order(uint64_t *seed, struct draft *draft, uint32_t stages, uint32_t microbatches, const uint32_t *map)
{
    static uint8_t done[BRUTE_STAGES + 1][BRUTE_MICRO_SLICES]; /* 0: nothing, 1: F, 2: I, 3: all */
    uint32_t pairs = random_below(seed, 4), sticks = random_below(seed, 4), s = 0;
    const ppsched_op *last = NULL; /* of all devices: what stands behind it does not need it */
    memset(done, 0, sizeof done);
    memset(draft->count, 0, sizeof draft->count);
    for (uint32_t left = stages * microbatches; left > 0;) {
        uint32_t m = random_below(seed, microbatches);
        if (random_below(seed, 4) >= sticks) /* else the same stage again */
            s = random_below(seed, stages);
        uint8_t now = done[s][m];
        int waits = (now == 0 && s > 0 && done[s - 1][m] < 1) || (now == 1 && s + 1 < stages && done[s + 1][m] < 2);
        if (now == 3 || waits) {
            s = random_below(seed, stages);
            continue;
        }
        size_t count = draft->count[map[s]];
        ppsched_op *before = count > 0 ? &draft->ops[map[s]][count - 1] : NULL;
        int may_pair = now == 1 && before != NULL && before == last && before->kind == PPSCHED_KIND_F && before->flags == 0 &&
                       (before->stage != s || before->microbatch != m) && random_below(seed, 4) < pairs;
        int is_whole = now == 1 && random_below(seed, 3) == 0;
        if (may_pair)
            before->flags = PPSCHED_OP_FLAG_OVERLAPPED;
        add(draft, map[s],
            now == 0   ? PPSCHED_KIND_F
            : now == 2 ? PPSCHED_KIND_W
            : is_whole ? PPSCHED_KIND_B
                       : PPSCHED_KIND_I,
            s, m);
        last = &draft->ops[map[s]][count];
        done[s][m] = is_whole ? 3 : now + 1;
        left -= done[s][m] == 3;
    }
}

static ppsched_schedule *build(const struct draft *draft, const ppsched_config *config, int flushes)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_set_flushes(builder, flushes, &error), &error);
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++)
        expect_ok(ppsched_builder_append(builder, d, draft->ops[d], draft->count[d], &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

static void test_any_order(void **state)
{
    static struct draft draft;
    uint64_t seed = 99;
    (void)state;
    memset(&seen, 0, sizeof seen);
    for (int trial = 0; trial < 400; trial++) {
        struct uneven sizes = uneven_of_seed(random_next(&seed));
        uint32_t map[BRUTE_STAGES];
        ppsched_error error;
        sizes.devices = 1 + random_below(&seed, 4);
        sizes.chunks = 1 + random_below(&seed, 3);
        sizes.microbatches = 1 + random_below(&seed, 5);
        sizes.iterations = 1 + random_below(&seed, 2);
        ppsched_config *config = make_uneven(&sizes);
        uint32_t stages = ppsched_config_stages(config);
        for (uint32_t s = 0; s < stages; s++)
            map[s] = random_below(&seed, sizes.devices);
        expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, stages, &error), &error);
        if (random_below(&seed, 2))
            set_uneven(config, PPSCHED_QUANTITY_P2P_TIME, (size_t)sizes.devices * sizes.devices, 4, &seed);
        draw_order(&seed, &draft, stages, sizes.microbatches * sizes.iterations, map);
        ppsched_schedule *schedule = build(&draft, config, 0);
        check(&seed, schedule, config, 1);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    if (seen.waited < 200 || seen.transfers < 300 || seen.pairs < 100)
        fail_msg("%d served, %d of them longer; %d paths with %d transfers; %d pairs", seen.served, seen.waited, seen.paths,
                 seen.transfers, seen.pairs);
}

/* --- searches --- */

/* What searches and bounds say of a problem whose senders wait: no schedule is below the bound, and auto is never longer than
 * another strategy. */
static void test_searches(void **state)
{
    static const struct {
        const char *name;
        uint32_t chunks;
    } searches[] = {{"zb_auto", 1}, {"zbv_auto", 2}, {"v_half", 2}, {"v_min", 2}};
    static const char *const rules[2][4] = {{"1f1b", "gpipe", "zb_h1", "zb_h2"}, {"zbv", "v_1f1b", "dualpipe_v", "zbv"}};
    uint64_t seed = 5;
    (void)state;
    for (int trial = 0; trial < 24; trial++) {
        uint32_t chunks = 1 + random_below(&seed, 2);
        struct uneven sizes = {2 + random_below(&seed, 3), chunks, 2 + random_below(&seed, 5), 1, random_next(&seed)};
        ppsched_config *config = make_uneven(&sizes);
        ppsched_error error;
        double best = HUGE_VAL, found = HUGE_VAL;
        wait_for_transfers(config, PPSCHED_SENDER_WAITS_LIKE_KIND);
        if (chunks == 2)
            expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, &error), &error);
        ppsched_bound bound = {.size = sizeof bound};
        expect_ok(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_MAKESPAN, &error), &error);
        expect_ok(ppsched_config_set_option(config, "objective", "makespan", &error), &error);
        for (size_t i = 0; i < 9; i++) {
            const char *name = i == 0 ? "auto" : i < 5 ? rules[chunks - 1][i - 1] : searches[i - 5].name;
            ppsched_schedule *schedule = NULL;
            struct brute_costs costs;
            struct brute brute;
            if ((i >= 5 && searches[i - 5].chunks != chunks) ||
                ppsched_schedule_generate(&schedule, config, name, NULL) != PPSCHED_OK)
                continue;
            ppsched_timeline *timeline = make_timeline(schedule, config);
            brute_costs_of(&costs, config);
            run_brute(&brute, schedule, &costs);
            assert_true(fabs(metrics_of(timeline).makespan - brute.makespan) < 1e-9);
            assert_true(bound.value <= brute.makespan * (1 + 1e-9));
            *(i == 0 ? &found : &best) = fmin(i == 0 ? found : best, brute.makespan);
            brute_free(&brute);
            ppsched_timeline_destroy(timeline);
            ppsched_schedule_release(schedule);
        }
        if (!(found <= best * (1 + 1e-9)))
            fail_msg("trial %d: auto takes %.17g, another %.17g", trial, found, best);
        ppsched_config_destroy(config);
    }
}

/* --- what it does not go with --- */

static void expect_refused(ppsched_status status, const ppsched_error *error)
{
    assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    assert_non_null(strstr(error->message, "like_kind"));
    assert_null(strchr(error->message, '\n'));
}

static void test_refusals(void **state)
{
    ppsched_config *config = make_config(4, 4, 8);
    ppsched_schedule *schedule = make_schedule(config, "1f1b"), *other = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_scenarios *scenarios = NULL;
    ppsched_plan *plan = NULL;
    ppsched_error error;
    const ppsched_lower_options lower = {.size = sizeof lower, .lowering = PPSCHED_LOWERING_PYTORCH};
    const ppsched_lower_options merge = {.size = sizeof merge, .split_backwards = 1};
    const ppsched_recompute_options recompute = {.size = sizeof recompute};
    const ppsched_scenario_options ready = {.size = sizeof ready, .dispatch = PPSCHED_DISPATCH_READY};
    const struct plan_choice planned = {.size = sizeof planned, .lowering = PPSCHED_LOWERING_PYTORCH};
    (void)state;
    wait_for_transfers(config, PPSCHED_SENDER_WAITS_LIKE_KIND);
    assert_int_equal(ppsched_config_set_sender_waits(config, 2, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_set_sender_waits(config, -1, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_set_sender_waits(NULL, 0, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_sender_waits(config), PPSCHED_SENDER_WAITS_LIKE_KIND);
    assert_int_equal(ppsched_config_sender_waits(NULL), PPSCHED_SENDER_WAITS_NEVER);
    expect_refused(ppsched_schedule_lower(&other, schedule, config, &lower, &error), &error);
    expect_refused(ppsched_schedule_evaluate_transfers(&timeline, schedule, config, NULL, 0, &error), &error);
    expect_refused(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, 4, &ready, &error), &error);
    expect_refused(create_plan(&plan, config, &planned, &error), &error);
    expect_ok(ppsched_schedule_lower(&other, schedule, config, &merge, &error), &error); /* which sends nothing */
    ppsched_schedule_release(other);
    expect_ok(ppsched_schedule_recompute(&other, schedule, &recompute, &error), &error);
    expect_refused(ppsched_schedule_evaluate(&timeline, other, config, 0, &error), &error);
    ppsched_schedule_release(other);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_strategies), cmocka_unit_test(test_any_order),
                                       cmocka_unit_test(test_searches), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests_name("senders sweep", tests, NULL, NULL);
}
