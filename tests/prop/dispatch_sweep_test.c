/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that runs what is ready, against brute force. All numbers are multiples of powers of 2, so that moments are equal
 * to the last bit or not at all. */
#include "support/brute_dispatch.h"
#include "support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = 1500, SCENARIOS = 3, MOST_LIST = BRUTE_STAGES * BRUTE_STAGES };

static const char *const STRATEGIES[] = {"gpipe", "1f1b",   "interleaved_1f1b", "zb_h1",    "zb_h2",      "dualpipe",
                                         "zbv",   "v_half", "1f1b_overlap",     "seq_1f1b", "dualpipe_v", "1f1b_no_flush"};

struct problem {
    ppsched_config *config;
    ppsched_schedule *schedule;
    struct brute_costs costs;
    double device[SCENARIOS * BRUTE_DEVICES], stage[SCENARIOS * BRUTE_STAGES];
    uint32_t stage_rows; /* 1: all scenarios have the same, or one a scenario */
    double limit;        /* 0: none */
};

static double eighths(uint64_t *seed, uint32_t below)
{
    return random_below(seed, below) / 8.0;
}

static void set_list(struct problem *p, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(p->config, quantity, values, count, &error), &error);
}

static void draw_times(uint64_t *seed, struct problem *p, uint32_t devices, uint32_t stages)
{
    double list[MOST_LIST];
    int has_pairs = random_below(seed, 2) == 0;
    for (uint32_t s = 0; s < stages; s++) {
        p->costs.duration[PPSCHED_KIND_F][s] = eighths(seed, 12);
        p->costs.duration[PPSCHED_KIND_I][s] = eighths(seed, 12);
        p->costs.duration[PPSCHED_KIND_W][s] = eighths(seed, 12);
        p->costs.duration[PPSCHED_KIND_B][s] = eighths(seed, 20);
    }
    set_list(p, PPSCHED_QUANTITY_FORWARD_TIMES, p->costs.duration[PPSCHED_KIND_F], stages);
    set_list(p, PPSCHED_QUANTITY_BACKWARD_TIMES, p->costs.duration[PPSCHED_KIND_B], stages);
    set_list(p, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, p->costs.duration[PPSCHED_KIND_I], stages);
    set_list(p, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, p->costs.duration[PPSCHED_KIND_W], stages);
    for (uint32_t i = 0; i < stages * stages; i++)
        list[i] = p->costs.overlapped[i / stages][i % stages] = has_pairs ? eighths(seed, 16) : -1;
    if (has_pairs)
        set_list(p, PPSCHED_QUANTITY_OVERLAPPED_TIMES, list, stages * stages);
    for (uint32_t i = 0; i < devices * devices; i++)
        list[i] = p->costs.delay[i / devices][i % devices] = eighths(seed, 8);
    set_list(p, PPSCHED_QUANTITY_P2P_TIME, list, devices * devices);
}

static void draw_memory(uint64_t *seed, struct problem *p, uint32_t devices, uint32_t stages)
{
    for (uint32_t s = 0; s < stages; s++) {
        double taken = random_below(seed, 6), by_input = random_below(seed, (uint32_t)taken + 1);
        p->costs.memory[PPSCHED_KIND_F][s] = taken;
        p->costs.memory[PPSCHED_KIND_B][s] = -taken;
        p->costs.memory[PPSCHED_KIND_I][s] = -by_input;
        p->costs.memory[PPSCHED_KIND_W][s] = by_input - taken;
    }
    set_list(p, PPSCHED_QUANTITY_MEM_FORWARD, p->costs.memory[PPSCHED_KIND_F], stages);
    set_list(p, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, p->costs.memory[PPSCHED_KIND_I], stages);
    p->limit = random_below(seed, 2) == 0 ? random_below(seed, 40) : 0;
    if (p->limit > 0)
        set_list(p, PPSCHED_QUANTITY_MEM_LIMIT, &p->limit, 1);
    for (uint32_t i = 0; i < SCENARIOS * devices; i++)
        p->device[i] = (1 + random_below(seed, 4)) / 2.0;
    p->stage_rows = random_below(seed, 2) == 0 ? 1 : SCENARIOS;
    for (uint32_t i = 0; i < p->stage_rows * stages; i++)
        p->stage[i] = 1 << random_below(seed, 3);
}

static void draw_factors(uint64_t *seed, struct problem *p, uint32_t microbatches, uint32_t slices)
{
    int differ = random_below(seed, 2) == 0;
    double list[BRUTE_MICRO_SLICES];
    for (uint32_t m = 0; m < microbatches; m++) {
        list[m] = differ ? (1 + random_below(seed, 8)) / 4.0 : 1;
        for (uint32_t k = 0; k < slices; k++)
            p->costs.memory_factor[m * slices + k] = list[m];
    }
    for (uint32_t s = 0; s < BRUTE_STAGES; s++)
        memcpy(p->costs.time_factor[s], p->costs.memory_factor, sizeof p->costs.memory_factor);
    if (differ)
        set_list(p, PPSCHED_QUANTITY_MICROBATCH_SCALE, list, microbatches);
}

/* False where the strategy refuses. */
static int draw(uint64_t *seed, struct problem *p)
{
    const char *strategy = STRATEGIES[random_below(seed, sizeof STRATEGIES / sizeof *STRATEGIES)];
    uint32_t devices = 1 + random_below(seed, 4), chunks = 1 + random_below(seed, 2), microbatches = 1 + random_below(seed, 8);
    uint32_t slices = strcmp(strategy, "seq_1f1b") == 0 ? 1 + random_below(seed, 3) : 1;
    ppsched_error error;
    memset(p, 0, sizeof *p);
    p->config = make_config(devices, devices * chunks, microbatches);
    expect_ok(ppsched_config_set_iterations(p->config, 1 + random_below(seed, 2), &error), &error);
    expect_ok(ppsched_config_set_slices(p->config, slices, &error), &error);
    draw_times(seed, p, devices, devices * chunks);
    draw_memory(seed, p, devices, devices * chunks);
    draw_factors(seed, p, microbatches, slices);
    return ppsched_schedule_generate(&p->schedule, p->config, strategy, &error) == PPSCHED_OK;
}

static ppsched_scenarios *run(const struct problem *p, int32_t dispatch)
{
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    const ppsched_scenario_options options = {.size = sizeof options,
                                              .device_factors = p->device,
                                              .device_factor_count = SCENARIOS * ppsched_config_devices(p->config),
                                              .stage_factors = p->stage,
                                              .stage_factor_count = (size_t)p->stage_rows * ppsched_config_stages(p->config),
                                              .dispatch = dispatch};
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, p->schedule, p->config, SCENARIOS, &options, &error), &error);
    return scenarios;
}

/* One scenario by brute force; raises the peaks. */
static double brute_makespan(const struct problem *p, uint32_t scenario, double *peaks)
{
    struct brute brute;
    double cap[BRUTE_DEVICES];
    uint32_t devices = ppsched_config_devices(p->config), row = p->stage_rows == 1 ? 0 : scenario;
    const double *stage = &p->stage[row * ppsched_config_stages(p->config)];
    brute_load(&brute, p->schedule);
    for (int i = 0; i < brute.count; i++)
        brute.ops[i].factor = p->device[scenario * devices + brute.ops[i].device] * stage[brute.ops[i].op.stage];
    brute_planned_peaks(cap, &brute, p->schedule, &p->costs);
    for (uint32_t d = 0; d < devices; d++)
        cap[d] = fmax(cap[d], p->limit);
    brute_dispatch(&brute, p->schedule, &p->costs, cap, peaks);
    for (int i = 0; i < brute.count; i++)
        assert_true(brute.ops[i].done);
    for (uint32_t d = 0; d < devices; d++)
        assert_true(peaks[d] <= cap[d]);
    brute_free(&brute);
    return brute.makespan;
}

static void test_against_brute_force(void **state)
{
    uint64_t seed = 3;
    int seen = 0, sooner = 0, later = 0, higher = 0;
    (void)state;
    for (int n = 0; n < PROBLEMS; n++) {
        struct problem p;
        if (draw(&seed, &p)) {
            double peaks[BRUTE_DEVICES] = {0};
            ppsched_scenarios *planned = run(&p, PPSCHED_DISPATCH_PLANNED), *ready = run(&p, PPSCHED_DISPATCH_READY);
            const double *as_planned = ppsched_scenarios_makespans(planned, NULL);
            const double *as_ready = ppsched_scenarios_makespans(ready, NULL), *held;
            size_t devices;
            for (uint32_t i = 0; i < SCENARIOS; i++) {
                double wanted = brute_makespan(&p, i, peaks);
                if (as_ready[i] != wanted)
                    fail_msg("problem %d, %s, scenario %u: %g, not %g", n, ppsched_schedule_name(p.schedule), i, as_ready[i],
                             wanted);
                sooner += as_ready[i] < as_planned[i];
                later += as_ready[i] > as_planned[i];
            }
            held = ppsched_scenarios_peaks(ready, &devices);
            for (size_t d = 0; d < devices; d++) {
                assert_true(held[d] == peaks[d]);
                higher += held[d] > ppsched_scenarios_peaks(planned, NULL)[d];
            }
            ppsched_scenarios_destroy(planned);
            ppsched_scenarios_destroy(ready);
            seen++;
        }
        ppsched_schedule_release(p.schedule);
        ppsched_config_destroy(p.config);
    }
    assert_true(seen > 300 && sooner > 150 && later > 20 && higher > 20);
}

/* On one device nothing waits, so nothing overtakes; and jitter is the same. */
static void test_jitter(void **state)
{
    ppsched_config *config = make_config(1, 1, 9);
    ppsched_schedule *schedule = make_schedule(config, "zb_h1");
    ppsched_scenario_options options = {.size = sizeof options, .seed = 5, .jitter = 0.3};
    ppsched_scenarios *planned = NULL, *ready = NULL;
    (void)state;
    expect_ok(ppsched_schedule_evaluate_scenarios(&planned, schedule, config, 50, &options, NULL), NULL);
    options.dispatch = PPSCHED_DISPATCH_READY;
    expect_ok(ppsched_schedule_evaluate_scenarios(&ready, schedule, config, 50, &options, NULL), NULL);
    for (int i = 0; i < 50; i++)
        assert_true(ppsched_scenarios_makespans(planned, NULL)[i] == ppsched_scenarios_makespans(ready, NULL)[i]);
    assert_true(fabs(ppsched_scenarios_causes(ready, NULL)[0] - 1) < 1e-12);
    ppsched_scenarios_destroy(planned);
    ppsched_scenarios_destroy(ready);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* With messages' jitter, where they alone take time: each F waits for that before it. */
static void test_message_jitter(void **state)
{
    const double none = 0, some = 1;
    ppsched_config *config = make_config(4, 4, 1);
    ppsched_scenario_options options = {.size = sizeof options, .seed = 2, .message_jitter = 0.5};
    ppsched_scenarios *planned = NULL, *ready = NULL;
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, &none, 1, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_TIMES, &none, 1, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &some, 1, NULL), NULL);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    expect_ok(ppsched_schedule_evaluate_scenarios(&planned, schedule, config, 50, &options, NULL), NULL);
    options.dispatch = PPSCHED_DISPATCH_READY;
    expect_ok(ppsched_schedule_evaluate_scenarios(&ready, schedule, config, 50, &options, NULL), NULL);
    for (int i = 0; i < 50; i++) {
        assert_true(ppsched_scenarios_makespans(planned, NULL)[i] == ppsched_scenarios_makespans(ready, NULL)[i]);
        assert_true(ppsched_scenarios_makespans(ready, NULL)[i] > 0);
    }
    ppsched_scenarios_destroy(planned);
    ppsched_scenarios_destroy(ready);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_brute_force), cmocka_unit_test(test_jitter),
                                       cmocka_unit_test(test_message_jitter)};
    return cmocka_run_group_tests_name("dispatch_sweep", tests, NULL, NULL);
}
