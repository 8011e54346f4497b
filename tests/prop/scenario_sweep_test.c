/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios against the plain evaluator, bit by bit, and against brute force with each op's factor from libm;
 * what causes the makespan is found again from the last op back. */
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIOS = 11, MOST_LIST = BRUTE_STAGES * BRUTE_STAGES, VALUES = 4096 };

static const char *const STRATEGIES[] = {"gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "dualpipe", "dualpipev", "zb_v"};

struct problem {
    ppsched_config *config;
    ppsched_schedule *schedule;
    struct brute_costs costs;
};

static double some_time(uint64_t *seed)
{
    return random_below(seed, 8) / 3.0;
}

static void set_list(struct problem *p, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(p->config, quantity, values, count, &error), &error);
}

static void draw_costs(uint64_t *seed, struct problem *p, uint32_t devices, uint32_t stages)
{
    static const int32_t quantity[] = {0, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                       PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    double list[MOST_LIST];
    int has_pairs = random_below(seed, 2) == 0;
    for (int k = 1; k <= 4; k++) {
        for (uint32_t s = 0; s < stages; s++)
            p->costs.duration[k][s] = some_time(seed);
        set_list(p, quantity[k], p->costs.duration[k], stages);
    }
    for (uint32_t i = 0; i < stages * stages; i++)
        list[i] = p->costs.overlapped[i / stages][i % stages] = has_pairs ? some_time(seed) : -1;
    if (has_pairs)
        set_list(p, PPSCHED_QUANTITY_OVERLAPPED_TIMES, list, stages * stages);
    for (uint32_t i = 0; i < devices * devices; i++)
        list[i] = p->costs.delay[i / devices][i % devices] = some_time(seed);
    set_list(p, PPSCHED_QUANTITY_P2P_TIME, list, devices * devices);
}

/* Microbatches that differ, in half of the draws. */
static void draw_scale(uint64_t *seed, struct problem *p, uint32_t microbatches)
{
    int differ = random_below(seed, 2) == 0;
    for (uint32_t m = 0; m < microbatches; m++)
        p->costs.memory_factor[m] = differ ? (1 + random_below(seed, 12)) / 4.0 : 1;
    for (uint32_t s = 0; s < BRUTE_STAGES; s++)
        memcpy(p->costs.time_factor[s], p->costs.memory_factor, sizeof p->costs.memory_factor);
    if (differ)
        set_list(p, PPSCHED_QUANTITY_MICROBATCH_SCALE, p->costs.memory_factor, microbatches);
}

/* False where the strategy refuses. */
static int draw(uint64_t *seed, struct problem *p)
{
    const char *strategy = STRATEGIES[random_below(seed, sizeof STRATEGIES / sizeof *STRATEGIES)];
    uint32_t devices = 1 + random_below(seed, 5), chunks = 1 + random_below(seed, 3);
    ppsched_error error;
    memset(p, 0, sizeof *p);
    p->config = make_config(devices, devices * chunks, 1 + random_below(seed, 12));
    expect_ok(ppsched_config_set_iterations(p->config, 1 + random_below(seed, 3), &error), &error);
    draw_costs(seed, p, devices, devices * chunks);
    draw_scale(seed, p, ppsched_config_microbatches(p->config));
    return ppsched_schedule_generate(&p->schedule, p->config, strategy, &error) == PPSCHED_OK;
}

static void clear(struct problem *p)
{
    ppsched_schedule_release(p->schedule);
    ppsched_config_destroy(p->config);
}

static ppsched_scenarios *run(const struct problem *p, int64_t count, const ppsched_scenario_options *options)
{
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, p->schedule, p->config, count, options, &error), &error);
    return scenarios;
}

static void test_no_factors(void **state)
{
    uint64_t seed = 5;
    int seen = 0;
    (void)state;
    for (int n = 0; n < 6000; n++) {
        struct problem p;
        if (draw(&seed, &p)) {
            ppsched_timeline *timeline = make_timeline(p.schedule, p.config);
            ppsched_scenarios *scenarios = run(&p, 9, NULL);
            for (int i = 0; i < 9; i++)
                assert_true(ppsched_scenarios_makespans(scenarios, NULL)[i] == metrics_of(timeline).makespan);
            ppsched_scenarios_destroy(scenarios);
            ppsched_timeline_destroy(timeline);
            seen++;
        }
        clear(&p);
    }
    assert_true(seen > 2000);
}

/* --- the factors anew --- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* By bisection of libm's erfc. */
static double quantile(double p)
{
    double low = -9, high = 9;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (erfc(-middle / sqrt(2)) / 2 < p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double jitter_of(const double *z, double sigma, uint64_t seed, const ppsched_op *op, uint32_t kind, uint32_t scenario)
{
    uint64_t stream = mix(mix(mix(seed) + ((uint64_t)kind << 32 | op->stage)) + op->microbatch + 1);
    uint64_t bits = mix(stream + 0x9E3779B97F4A7C15u * (scenario / 4 + 1)) >> (16 * (scenario % 4));
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += z[VALUES + i];
    return exp(sigma * z[bits % VALUES]) * VALUES / sum;
}

struct factors {
    ppsched_scenario_options options;
    double device[SCENARIOS * BRUTE_DEVICES], stage[SCENARIOS * BRUTE_STAGES], link[BRUTE_DEVICES * BRUTE_DEVICES];
    double z[2 * VALUES], message_z[2 * VALUES]; /* quantiles; what they come to with sigma */
};

static void draw_factors(uint64_t *seed, struct factors *f, uint32_t devices, uint32_t stages)
{
    f->options = (ppsched_scenario_options){.size = sizeof f->options, .seed = random_next(seed)};
    f->options.jitter = random_below(seed, 3) * 0.15;
    f->options.message_jitter = random_below(seed, 3) * 0.3;
    f->options.device_factors = f->device;
    f->options.device_factor_count = devices * (random_below(seed, 2) ? SCENARIOS : 1);
    f->options.stage_factors = f->stage;
    f->options.stage_factor_count = stages * (random_below(seed, 2) ? SCENARIOS : 1);
    f->options.link_factors = f->link;
    f->options.link_factor_count = devices * devices;
    for (size_t i = 0; i < SCENARIOS * BRUTE_DEVICES; i++)
        f->device[i] = random_below(seed, 9) / 5.0;
    for (size_t i = 0; i < SCENARIOS * BRUTE_STAGES; i++)
        f->stage[i] = random_below(seed, 9) / 5.0;
    for (size_t i = 0; i < devices * devices; i++)
        f->link[i] = random_below(seed, 9) / 5.0;
    for (int i = 0; i < VALUES; i++) {
        f->message_z[i] = f->z[i];
        f->z[VALUES + i] = exp(f->options.jitter * f->z[i]);
        f->message_z[VALUES + i] = exp(f->options.message_jitter * f->z[i]);
    }
}

static double at(const double *list, size_t count, uint32_t each, uint32_t scenario, uint32_t i)
{
    return list[count == each ? i : scenario * each + i];
}

static double brute_makespan(const struct problem *p, const struct factors *f, uint32_t scenario)
{
    const ppsched_scenario_options *o = &f->options;
    uint32_t devices = ppsched_config_devices(p->config), stages = ppsched_config_stages(p->config);
    struct brute_costs costs = p->costs;
    struct brute brute;
    for (uint32_t i = 0; i < devices * devices; i++)
        costs.delay[i / devices][i % devices] *= f->link[i];
    brute_load(&brute, p->schedule);
    for (int i = 0; i < brute.count; i++) {
        struct brute_op *b = &brute.ops[i];
        b->factor = at(f->device, o->device_factor_count, devices, scenario, b->device) *
                    at(f->stage, o->stage_factor_count, stages, scenario, b->op.stage) *
                    jitter_of(f->z, o->jitter, o->seed, &b->op, b->op.kind, scenario);
        b->delay_factor = jitter_of(f->message_z, o->message_jitter, o->seed, &b->op, b->op.kind + 16u, scenario);
    }
    assert_true(brute_run(&brute, p->schedule, &costs));
    brute_free(&brute);
    return brute.makespan;
}

static void check_figures(const ppsched_scenarios *scenarios)
{
    ppsched_scenario_metrics metrics = {.size = sizeof metrics};
    const double *makespans = ppsched_scenarios_makespans(scenarios, NULL), *causes;
    double q[3], sum = 0, shares = 0;
    size_t devices;
    assert_int_equal(ppsched_scenarios_get_metrics(&metrics, scenarios, NULL), PPSCHED_OK);
    causes = ppsched_scenarios_causes(scenarios, &devices);
    for (int i = 0; i < SCENARIOS; i++)
        sum += makespans[i];
    for (int i = 0; i < 3; i++)
        assert_int_equal(ppsched_scenarios_get_quantile(&q[i], scenarios, i / 2.0, NULL), PPSCHED_OK);
    for (size_t d = 0; d < devices; d++) {
        shares += causes[d];
        assert_true(causes[d] >= 0 && causes[d] <= causes[metrics.cause_device]);
    }
    int below = 0, to = 0;
    for (int i = 0; i < SCENARIOS; i++) {
        below += makespans[i] < q[1];
        to += makespans[i] <= q[1];
    }
    assert_true(shares <= 1 + 1e-9 && below < SCENARIOS / 2.0 && to >= SCENARIOS / 2.0);
    assert_true(fabs(metrics.mean - sum / SCENARIOS) <= 1e-12 * sum && q[0] == metrics.best && q[2] == metrics.worst);
    assert_true(makespans[metrics.best_scenario] == q[0] && makespans[metrics.worst_scenario] == q[2]);
}

static void test_brute(void **state)
{
    static struct factors f;
    uint64_t seed = 9;
    int seen = 0;
    (void)state;
    for (int i = 0; i < VALUES; i++)
        f.z[i] = quantile((i + 0.5) / VALUES);
    for (int n = 0; n < 60; n++) {
        struct problem p;
        if (draw(&seed, &p)) {
            draw_factors(&seed, &f, ppsched_config_devices(p.config), ppsched_config_stages(p.config));
            ppsched_scenarios *scenarios = run(&p, SCENARIOS, &f.options);
            for (uint32_t i = 0; i < SCENARIOS; i += 5) {
                double expected = brute_makespan(&p, &f, i), got = ppsched_scenarios_makespans(scenarios, NULL)[i];
                assert_true(fabs(expected - got) <= 1e-9 * expected);
            }
            check_figures(scenarios);
            ppsched_scenarios_destroy(scenarios);
            seen++;
        }
        clear(&p);
    }
    assert_true(seen > 20);
}

/* --- causes --- */

static int last_of_unit(const struct brute *brute, int index)
{
    return index + 1 < brute->count && brute->ops[index + 1].leader == index ? index + 1 : index;
}

/* The unit before on its device, or -1. */
static int turn_of(const struct brute *brute, int index)
{
    return index > 0 && brute->ops[index - 1].device == brute->ops[index].device ? brute->ops[index - 1].leader : -1;
}

static uint32_t iteration_of(const struct problem *p, const struct brute *brute, int index)
{
    return brute->ops[index].op.microbatch / ppsched_config_microbatches(p->config);
}

/* Which unit ends the iterations before one: the last of the lowest device among those that end last. */
static int last_before(const struct problem *p, const struct brute *brute, uint32_t iteration)
{
    int last = -1;
    for (int i = 0; i < brute->count; i++)
        if (iteration_of(p, brute, i) < iteration && (last < 0 || brute->ops[i].end > brute->ops[last].end))
            last = brute->ops[i].leader;
    return last;
}

/* Of what another device made for an op of this unit, what came last. */
static int sender_of(const struct problem *p, const struct brute *brute, int index)
{
    double latest = -1;
    int sender = -1;
    for (int k = index; k <= last_of_unit(brute, index); k++)
        for (int i = 0; i < brute->count; i++) {
            const struct brute_op *to = &brute->ops[k], *from = &brute->ops[i];
            int is_forward = to->op.kind == PPSCHED_KIND_F;
            if (to->op.kind == PPSCHED_KIND_W || from->op.kind == PPSCHED_KIND_W || from->op.microbatch != to->op.microbatch ||
                (from->op.kind == PPSCHED_KIND_F) != is_forward || from->device == to->device ||
                (is_forward ? from->op.stage + 1u != to->op.stage : from->op.stage != to->op.stage + 1u))
                continue;
            double arrival = from->end + p->costs.delay[from->device][to->device];
            if (arrival > latest) {
                latest = arrival;
                sender = from->leader;
            }
        }
    return sender;
}

/* What a unit waited for; -1: nothing. */
static int reason_of(const struct problem *p, const struct brute *brute, int index)
{
    int turn = turn_of(brute, index);
    uint32_t iteration = iteration_of(p, brute, index);
    if (turn >= 0 && ppsched_schedule_flushes(p->schedule) && iteration_of(p, brute, turn) < iteration)
        turn = last_before(p, brute, iteration);
    if (turn >= 0 && brute->ops[turn].end == brute->ops[index].start)
        return turn;
    return brute->ops[index].start > 0 ? sender_of(p, brute, index) : -1;
}

static void add_causes(const struct problem *p, const double *factors, double *causes)
{
    struct brute brute;
    brute_load(&brute, p->schedule);
    for (int i = 0; i < brute.count; i++)
        brute.ops[i].factor = factors[brute.ops[i].device];
    assert_true(brute_run(&brute, p->schedule, &p->costs));
    int last = last_before(p, &brute, UINT32_MAX);
    for (; last >= 0; last = reason_of(p, &brute, last))
        causes[brute.ops[last].device] += (brute.ops[last].end - brute.ops[last].start) / brute.makespan;
    brute_free(&brute);
}

/* Times are sums without rounding, so that what ends when another begins is told apart. */
static void test_causes(void **state)
{
    uint64_t seed = 12;
    int seen = 0;
    (void)state;
    for (int n = 0; n < 400; n++) {
        const char *strategy = STRATEGIES[random_below(&seed, sizeof STRATEGIES / sizeof *STRATEGIES)];
        struct uneven sizes = uneven_of_seed(random_next(&seed));
        double factors[2 * BRUTE_DEVICES], causes[BRUTE_DEVICES] = {0};
        struct problem p = {0};
        sizes.devices = 1 + random_below(&seed, 4);
        sizes.chunks = 1 + random_below(&seed, 3);
        sizes.microbatches = 1 + random_below(&seed, 8);
        p.config = make_uneven(&sizes);
        expect_ok(ppsched_config_set_values(p.config, PPSCHED_QUANTITY_P2P_BANDWIDTH, NULL, 0, NULL), NULL);
        add_uneven(p.config, UNEVEN_PAIRS, &seed);
        brute_costs_of(&p.costs, p.config);
        for (uint32_t i = 0; i < 2 * sizes.devices; i++)
            factors[i] = 0.5 * (1 + random_below(&seed, 4));
        if (ppsched_schedule_generate(&p.schedule, p.config, strategy, NULL) == PPSCHED_OK) {
            ppsched_scenario_options options = {.size = sizeof options, .device_factors = factors};
            options.device_factor_count = 2 * (size_t)sizes.devices;
            ppsched_scenarios *scenarios = run(&p, 2, &options);
            for (int i = 0; i < 2; i++)
                add_causes(&p, factors + i * sizes.devices, causes);
            for (uint32_t d = 0; d < sizes.devices; d++)
                if (fabs(ppsched_scenarios_causes(scenarios, NULL)[d] - causes[d] / 2) > 1e-12)
                    fail_msg("%s, device %u causes %.17g, reckoned %.17g", strategy, d,
                             ppsched_scenarios_causes(scenarios, NULL)[d], causes[d] / 2);
            ppsched_scenarios_destroy(scenarios);
            seen++;
        }
        clear(&p);
    }
    assert_true(seen > 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_factors), cmocka_unit_test(test_brute),
                                       cmocka_unit_test(test_causes)};
    return cmocka_run_group_tests_name("scenario_sweep", tests, NULL, NULL);
}
