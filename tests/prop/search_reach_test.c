/* SPDX-License-Identifier: Apache-2.0 */
/* How near the searches come to the lower bounds, on small problems in which every stage, device, edge and microbatch differs:
 * no farther, in any class of problems, than when this was written. A rule that chooses, breaks a tie or ends a search another
 * way comes farther in some class. What is shorter is fine; then the figures go down: `search_reach_test -` tells them. */
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Memory: none is set; most of what a schedule wants; little more than a microbatch needs, which for some is too little. */
enum { NO_LIMIT, ROOMY, TIGHT, LIMITS };

/* What is looked for. */
enum aim { SPAN, STEP, MEAN /* of scenarios in which devices and stages differ */, ORDER /* of microbatches */ };

enum { MOST_OPTIONS = 2, MOST_DEVICES = 8, SCENARIOS = 20 };

static const struct search {
    const char *strategy;
    const char *options[MOST_OPTIONS][2];
    uint32_t chunks, slices, problems, most_devices, most_microbatches;
    int32_t placement;
    enum aim aim;
    unsigned parts;
    double farthest[LIMITS]; /* mean of what the objective is above the bound, as a share of it; -1: none is served */
} searches[] = {
#define FIXED PPSCHED_PLACEMENT_LINEAR
#define V PPSCHED_PLACEMENT_V
#define LOOP PPSCHED_PLACEMENT_LOOP
#define COPIES UNEVEN_COPIES
    {"zb_auto", {{0}}, 1, 1, 40, 8, 20, FIXED, SPAN, 0, {0.020695, 0.046450, 0.019493}},
    {"zbv_auto", {{0}}, 2, 1, 40, 8, 20, V, SPAN, 0, {0.189661, 0.112823, 0.150921}},
    {"v_half", {{0}}, 2, 1, 40, 8, 20, V, SPAN, 0, {0.309443, 0.288350, 0.108870}},
    {"v_min", {{0}}, 2, 1, 40, 8, 20, V, SPAN, 0, {0.428210, 0.416323, 0.252824}},
    {"v_search", {{0}}, 2, 1, 40, 8, 20, V, SPAN, 0, {0.168817, 0.147190, 0.243560}},
    {"auto", {{"effort", "0"}}, 2, 1, 16, 4, 10, LOOP, STEP, 0, {0.132280, 0.177020, 0.316151}},
    {"auto", {{"effort", "1"}}, 2, 1, 6, 4, 6, LOOP, STEP, UNEVEN_CAUSES, {0.007449, 0.001138, 0.063745}},
    {"auto", {{"effort", "1"}}, 1, 1, 6, 4, 6, FIXED, STEP, UNEVEN_MICRO_SLICES, {0.163653, 0.220640, 0.166613}},
    {"auto", {{"effort", "2"}, {"objective", "span"}}, 3, 1, 3, 4, 5, LOOP, SPAN, 0, {0.013719, 0.023709, 0.127773}},
    {"auto", {{"effort", "2"}}, 2, 1, 3, 4, 5, V, STEP, 0, {0.000000, 0.019881, 0.109167}},
    {"auto", {{"effort", "1"}}, 2, 3, 8, 4, 6, V, STEP, 0, {0.000000, 0.016929, 0.088083}},
    {"auto", {{"effort", "0"}}, 1, 2, 24, 4, 8, FIXED, STEP, UNEVEN_MICRO_SLICES, {0.041694, 0.047059, 0.181401}},
    {"auto", {{"effort", "0"}, {"objective", "span"}}, 2, 4, 12, 4, 6, LOOP, SPAN, 0, {0.023080, 0.040198, 0.051975}},
    {"auto", {{"effort", "1"}}, 2, 1, 3, 4, 5, LOOP, MEAN, 0, {0.048116, 0.055020, 0.182774}},
    {"auto", {{"effort", "1"}, {"offload", "limit"}}, 2, 1, 6, 4, 6, LOOP, STEP, COPIES, {0.011778, 0.122969, 0.022276}},
    {"1f1b", {{0}}, 1, 1, 24, 4, 14, FIXED, ORDER, UNEVEN_MICRO_SLICES, {0.320572, 0.308750, 0.233709}},
};

/* --- problems --- */

static void set_goal(ppsched_config *config, uint64_t *seed)
{
    double factors[SCENARIOS * MOST_DEVICES];
    ppsched_scenario_options options = {.size = sizeof options, .seed = *seed, .jitter = 0.25, .device_factors = factors};
    ppsched_error error;
    options.device_factor_count = (size_t)SCENARIOS * ppsched_config_devices(config);
    draw_uneven(factors, options.device_factor_count, 0.5, seed);
    expect_ok(ppsched_config_set_robust_objective(config, PPSCHED_RANK_BY_MEAN, 0, SCENARIOS, &options, &error), &error);
}

static ppsched_config *draw(const struct search *search, int limit, uint64_t *seed)
{
    struct uneven sizes = uneven_of_seed(random_next(seed));
    ppsched_error error;
    sizes.devices = 2 + random_below(seed, search->most_devices - 1);
    sizes.chunks = search->chunks;
    sizes.microbatches = 3 + random_below(seed, search->most_microbatches - 2);
    sizes.iterations = 1;
    ppsched_config *config = make_uneven(&sizes);
    expect_ok(ppsched_config_set_placement(config, search->placement, NULL, 0, &error), &error);
    expect_ok(ppsched_config_set_slices(config, search->slices, &error), &error);
    add_uneven(config, search->parts, seed);
    for (int k = 0; k < MOST_OPTIONS && search->options[k][0] != NULL; k++)
        expect_ok(ppsched_config_set_option(config, search->options[k][0], search->options[k][1], &error), &error);
    /* A stage pass takes some 2.5, a stage some 3 without any; causes double both. */
    double passes = limit == TIGHT ? fmax(1.7 * search->slices, 0.6 * sizes.devices + 0.6) : sizes.devices + search->slices;
    double scale = (search->parts & UNEVEN_CAUSES) != 0 ? 2 : 1;
    if (limit != NO_LIMIT)
        set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, sizes.devices, scale * search->chunks * (3 + 2.5 * passes), seed);
    if (search->aim == MEAN)
        set_goal(config, seed);
    return config;
}

/* --- how near --- */

static double mean_of(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_scenario_metrics metrics = {.size = sizeof metrics};
    ppsched_scenario_options options = {.size = sizeof options, .seed = 9, .jitter = 0.25};
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, SCENARIOS, &options, &error), &error);
    expect_ok(ppsched_scenarios_get_metrics(&metrics, scenarios, &error), &error);
    ppsched_scenarios_destroy(scenarios);
    return metrics.mean;
}

static double objective_of(const struct search *search, const ppsched_schedule *schedule, const ppsched_config *config)
{
    const ppsched_order_options effort = {.size = sizeof effort, .effort = 1};
    uint32_t order[64];
    ppsched_config *ordered = NULL;
    ppsched_error error;
    if (search->aim == ORDER)
        expect_ok(ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(config), NULL, &ordered, schedule,
                                                      config, &effort, &error),
                  &error);
    if (search->aim == MEAN)
        return mean_of(schedule, config);
    ppsched_timeline *timeline = make_timeline(schedule, ordered != NULL ? ordered : config);
    const ppsched_metrics metrics = metrics_of(timeline);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(ordered);
    return search->aim == SPAN ? metrics.span : metrics.makespan;
}

/* Above the bound, as a share of it; -1 where the strategy does not serve it. */
static double distance(const struct search *search, const ppsched_config *config)
{
    ppsched_schedule *schedule = NULL;
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    ppsched_status status = ppsched_schedule_generate(&schedule, config, search->strategy, &error);
    if (status == PPSCHED_ERROR_REFUSED)
        return -1;
    expect_ok(status, &error);
    double objective = objective_of(search, schedule, config);
    ppsched_schedule_release(schedule);
    expect_ok(ppsched_config_find_bound(&bound, config,
                                        search->aim == SPAN ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN, &error),
              &error);
    return objective / bound.value - 1;
}

static double mean_distance(size_t k, int limit)
{
    uint64_t seed = 100 * k + (uint64_t)limit;
    uint32_t served = 0;
    double sum = 0;
    for (uint32_t i = 0; i < ROUNDS(searches[k].problems); i++) {
        ppsched_config *config = draw(&searches[k], limit, &seed);
        double own = distance(&searches[k], config);
        sum += own > -1 ? own : 0;
        served += own > -1;
        ppsched_config_destroy(config);
    }
    return served > 0 ? sum / served : -1;
}

static void test_no_farther(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof searches / sizeof searches[0]; k++)
        for (int limit = 0; limit < LIMITS; limit++) {
            double mean = mean_distance(k, limit);
            if (ROUND_SHARE == 1 && !(mean <= searches[k].farthest[limit] && (mean > -1) == (searches[k].farthest[limit] > -1)))
                fail_msg("search %zu, %s, limit %d: %.8f above the bound, not %.8f", k, searches[k].strategy, limit, mean,
                         searches[k].farthest[limit]);
        }
}

/* The figures rounded up, as they stand above. */
static void tell(void)
{
    for (size_t k = 0; k < sizeof searches / sizeof searches[0]; k++) {
        printf("%s:", searches[k].strategy);
        for (int limit = 0; limit < LIMITS; limit++)
            printf(" %.6f", ceil(mean_distance(k, limit) * 1e6) / 1e6);
        printf("\n");
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_farther)};
    (void)words;
    if (count > 1) {
        tell();
        return 0;
    }
    return cmocka_run_group_tests_name("search reach", tests, NULL, NULL);
}
