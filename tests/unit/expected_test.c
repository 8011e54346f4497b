/* SPDX-License-Identifier: Apache-2.0 */
/* The average scenario, list by list: on problems in which every stage, device, edge and pair differs, with factors that are
 * the same in each scenario and such that are not, each of its numbers is the config's times the mean of its factors. */
#include "support/uneven.h"

#include "scenario/scenario.h"

#include <math.h>

enum { TRIALS = 120, MOST_DEVICES = 5, MOST_STAGES = 15, MOST_SCENARIOS = 4 };

struct trial {
    ppsched_config *config, *expected;
    struct brute_costs costs;
    uint32_t map[MOST_STAGES], devices, stages, scenarios;
    double device_factors[MOST_SCENARIOS * MOST_DEVICES], stage_factors[MOST_SCENARIOS * MOST_STAGES];
    double link_factors[MOST_DEVICES * MOST_DEVICES];
    ppsched_scenario_options options;
};

/* A list of factors: none, one of each, or one of each in each scenario. */
static size_t draw_factors(double *factors, uint32_t each, uint32_t scenarios, uint64_t *seed)
{
    const size_t counts[] = {0, each, (size_t)each * scenarios};
    size_t count = counts[random_below(seed, 3)];
    if (count > 0)
        draw_uneven(factors, count, 0.75, seed);
    return count;
}

static void make_trial(struct trial *trial, uint64_t *seed)
{
    struct uneven sizes = uneven_of_seed(random_next(seed));
    sizes.devices = 1 + random_below(seed, MOST_DEVICES);
    *trial = (struct trial){.config = make_uneven(&sizes), .devices = sizes.devices, .stages = sizes.devices * sizes.chunks};
    trial->scenarios = 2 + random_below(seed, MOST_SCENARIOS - 1);
    for (uint32_t s = 0; s < trial->stages; s++)
        trial->map[s] = s < trial->devices ? trial->devices - 1 - s : random_below(seed, trial->devices);
    expect_ok(ppsched_config_set_placement(trial->config, PPSCHED_PLACEMENT_MAP, trial->map, trial->stages, NULL), NULL);
    add_uneven(trial->config,
               (random_below(seed, 3) > 0 ? UNEVEN_PAIRS : 0) | UNEVEN_RUNTIME | UNEVEN_OVERHEADS | UNEVEN_MICRO_SLICES, seed);
    if (random_below(seed, 3) == 0) /* by forward stage alone */
        set_uneven(trial->config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, trial->stages, 2, seed);
    if (random_below(seed, 3) == 0)
        set_number(trial->config, PPSCHED_QUANTITY_P2P_TIME, 0.375);
    if (random_below(seed, 3) == 0)
        set_number(trial->config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 3);
    brute_costs_of(&trial->costs, trial->config);
    ppsched_scenario_options *options = &trial->options;
    options->size = sizeof *options;
    options->device_factor_count = draw_factors(trial->device_factors, trial->devices, trial->scenarios, seed);
    options->stage_factor_count = draw_factors(trial->stage_factors, trial->stages, trial->scenarios, seed);
    options->device_factors = options->device_factor_count > 0 ? trial->device_factors : NULL;
    options->stage_factors = options->stage_factor_count > 0 ? trial->stage_factors : NULL;
    if (random_below(seed, 3) > 0) {
        options->link_factor_count = (size_t)trial->devices * trial->devices;
        options->link_factors = trial->link_factors;
        draw_uneven(trial->link_factors, options->link_factor_count, 0.5, seed);
    }
    expect_ok(ppsched_config_set_robust_objective(trial->config, PPSCHED_RANK_BY_MEAN, 0, trial->scenarios, options, NULL),
              NULL);
}

static double mean_of(const double *factors, size_t count, uint32_t each, uint32_t index)
{
    double sum = 0;
    for (size_t i = index; i < count; i += each)
        sum += factors[i];
    return count > 0 ? sum / (double)(count / each) : 1;
}

static double factor_of(const struct trial *trial, uint32_t stage)
{
    const ppsched_scenario_options *options = &trial->options;
    return mean_of(options->device_factors, options->device_factor_count, trial->devices, trial->map[stage]) *
           mean_of(options->stage_factors, options->stage_factor_count, trial->stages, stage);
}

static void expect_listed(const struct trial *trial, int32_t quantity, size_t index, double reckoned)
{
    double told = value_at(trial->expected, quantity, index, HUGE_VAL);
    if (fabs(told - reckoned) > 1e-12 * fabs(reckoned))
        fail_msg("%s %zu is %.17g, reckoned %.17g", ppsched_quantity_name(quantity), index, told, reckoned);
}

static void compare_stage(const struct trial *trial, uint32_t s, int has_pairs)
{
    static const int32_t times[] = {[PPSCHED_KIND_F] = PPSCHED_QUANTITY_FORWARD_TIMES,
                                    [PPSCHED_KIND_B] = PPSCHED_QUANTITY_BACKWARD_TIMES,
                                    [PPSCHED_KIND_I] = PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                    [PPSCHED_KIND_W] = PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    size_t count = 0;
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        expect_listed(trial, times[kind], s,
                      (trial->costs.duration[kind][s] + trial->costs.own_overhead[trial->map[s]]) * factor_of(trial, s));
    ppsched_config_values(trial->expected, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count);
    for (uint32_t b = 0; b < trial->stages && has_pairs; b++) {
        size_t index = count == trial->stages ? s : s * trial->stages + b;
        expect_listed(trial, PPSCHED_QUANTITY_OVERLAPPED_TIMES, index, trial->costs.overlapped[s][b] * factor_of(trial, s));
    }
}

/* Pieces and memory are the config's. */
static void expect_others_kept(const struct trial *trial)
{
    static const int32_t kept[] = {PPSCHED_QUANTITY_MICROBATCH_SCALE, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE,
                                   PPSCHED_QUANTITY_MEM_FORWARD, PPSCHED_QUANTITY_ACTIVATION_BYTES};
    size_t count = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        ppsched_config_values(trial->config, kept[i], &count);
        for (size_t k = 0; k < count; k++)
            expect_listed(trial, kept[i], k, value_at(trial->config, kept[i], k, 0));
    }
}

static void compare(const struct trial *trial)
{
    size_t pairs = 0, pairs_there = 0, overhead = 0, own = 0;
    ppsched_config_values(trial->config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &pairs);
    ppsched_config_values(trial->expected, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &pairs_there);
    ppsched_config_values(trial->expected, PPSCHED_QUANTITY_OP_OVERHEAD, &overhead);
    assert_int_equal(pairs_there, pairs);
    ppsched_config_values(trial->expected, PPSCHED_QUANTITY_DEVICE_OVERHEAD, &own);
    assert_int_equal(overhead + own, 0); /* the times have them */
    assert_null(trial->expected->goal);
    for (uint32_t s = 0; s < trial->stages; s++)
        compare_stage(trial, s, pairs > 0);
    for (uint32_t from = 0; from < trial->devices; from++)
        for (uint32_t to = 0; to < trial->devices; to++) {
            size_t edge = from * trial->devices + to;
            double factor = trial->options.link_factors != NULL ? trial->link_factors[edge] : 1;
            expect_listed(trial, PPSCHED_QUANTITY_P2P_TIME, edge, trial->costs.delay[from][to] * factor);
            expect_listed(trial, PPSCHED_QUANTITY_P2P_BANDWIDTH, edge, trial->costs.bandwidth[from][to] / factor);
        }
    expect_others_kept(trial);
}

static void test_each_list(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial;
        make_trial(&trial, &seed);
        expect_ok(ppi_expected_config(&trial.expected, trial.config, &trial.options, trial.scenarios, PPSCHED_PLACEMENT_DEFAULT,
                                      NULL),
                  NULL);
        compare(&trial);
        ppsched_config_destroy(trial.expected);
        ppsched_config_destroy(trial.config);
    }
}

/* A link that takes no time has all the bandwidth that a double holds. */
static void test_links_of_no_time(void **state)
{
    const double factors[] = {1, 0, 2, 1}, least[] = {1, 1e-308, 2, 1};
    ppsched_scenario_options options = {.size = sizeof options, .link_factors = factors, .link_factor_count = 4};
    ppsched_config *config = make_config(2, 2, 2), *expected = NULL;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, 5);
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 8);
    expect_ok(ppi_expected_config(&expected, config, &options, 1, PPSCHED_PLACEMENT_DEFAULT, NULL), NULL);
    assert_true(value_at(expected, PPSCHED_QUANTITY_P2P_BANDWIDTH, 1, 0) == 1e300);
    assert_true(value_at(expected, PPSCHED_QUANTITY_P2P_BANDWIDTH, 2, 0) == 4);
    ppsched_config_destroy(expected);
    options.link_factors = least;
    expect_ok(ppi_expected_config(&expected, config, &options, 1, PPSCHED_PLACEMENT_DEFAULT, NULL), NULL);
    assert_true(value_at(expected, PPSCHED_QUANTITY_P2P_BANDWIDTH, 1, 0) == 1e300);
    ppsched_config_destroy(expected);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_list), cmocka_unit_test(test_links_of_no_time)};
    return cmocka_run_group_tests_name("expected", tests, NULL, NULL);
}
