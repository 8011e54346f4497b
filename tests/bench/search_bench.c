/* SPDX-License-Identifier: Apache-2.0 */
/* Times the strategies that search, and tells how good their schedules are: a JSON line a measurement, with the median time
 * of a whole call, the span, and how far that is above the lower bound. At last the distribution of that distance over random
 * problems, for `auto`.
 *
 * search_bench [runs a measurement [random problems]], by default 5 and 150. */
#include "measure.h"

#include <math.h>
#include <string.h>

enum { MOST_RUNS = 101, MOST_STAGES = 256, MOST_PROBLEMS = 10000 };

/* F, I, W of all stages, the delay, and what an activation takes. */
struct costs {
    const char *name;
    double forward, input, weight, delay;
};

static const struct costs unit = {"unit", 1, 1, 1, 0};
static const struct costs delayed = {"unit, delay 0.1", 1, 1, 1, 0.1};
static const struct costs uneven = {"uneven", 10, 12, 8, 1};
static const struct costs published = {"28.3B", 10.402, 10.248, 7.698, 0.46};

static ppsched_config *make_config(int64_t devices, int64_t chunks, int64_t microbatches)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    require(ppsched_config_create(&config, devices, devices * chunks, microbatches, NULL, &error), &error);
    return config;
}

static void set_costs(ppsched_config *config, const struct costs *costs)
{
    set_one(config, PPSCHED_QUANTITY_FORWARD_TIMES, costs->forward);
    set_one(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, costs->input);
    set_one(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, costs->weight);
    set_one(config, PPSCHED_QUANTITY_P2P_TIME, costs->delay);
}

static ppsched_metrics metrics_of(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    ppsched_metrics metrics = {.size = sizeof metrics};
    require(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), &error);
    ppsched_timeline_get_metrics(&metrics, timeline, NULL);
    ppsched_timeline_destroy(timeline);
    return metrics;
}

static double bound_of(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_config *placed = NULL;
    ppsched_error error;
    ppsched_bound bound = {.size = sizeof bound};
    require(ppsched_config_copy(&placed, config, &error), &error);
    require(ppsched_config_set_placement(placed, ppsched_schedule_placement(schedule), NULL, 0, &error), &error);
    require(ppsched_config_find_bound(&bound, placed, PPSCHED_OBJECTIVE_SPAN, &error), &error);
    ppsched_config_destroy(placed);
    return bound.value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static ppsched_schedule *timed(const ppsched_config *config, const char *strategy, double *seconds)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    double start = now();
    require(ppsched_schedule_generate(&schedule, config, strategy, &error), &error);
    *seconds = now() - start;
    return schedule;
}

/* `limit`: in stage passes; 0 for none. */
static void measure(const char *strategy, const char *placement, int64_t devices, int64_t chunks, int64_t microbatches,
                    const struct costs *costs, double limit, int runs)
{
    double seconds[MOST_RUNS];
    ppsched_schedule *schedule = NULL;
    ppsched_config *config = make_config(devices, chunks, microbatches);
    set_costs(config, costs);
    if (limit > 0)
        set_one(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    if (placement != NULL)
        ppsched_config_set_option(config, "placement", placement, NULL);
    for (int run = 0; run < runs; run++) {
        ppsched_schedule_release(schedule);
        schedule = timed(config, strategy, &seconds[run]);
    }
    qsort(seconds, (size_t)runs, sizeof seconds[0], by_value);
    ppsched_metrics metrics = metrics_of(schedule, config);
    double bound = bound_of(schedule, config);
    printf("{\"strategy\": \"%s\", \"placement\": \"%s\", \"devices\": %lld, \"microbatches\": %lld, \"costs\": \"%s\", "
           "\"limit\": %g, \"span\": %.10g, \"peak\": %g, \"bound\": %.10g, \"above_bound\": %.4f, \"ms\": %.3f}\n",
           strategy, placement != NULL ? placement : "own", (long long)devices, (long long)microbatches, costs->name, limit,
           metrics.span, metrics.peak_memory, bound, metrics.span / bound - 1, 1e3 * seconds[runs / 2]);
    fflush(stdout);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* --- random problems --- */

static uint64_t state = 88172645463325252u;

static double uniform(double from, double to)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return from + (to - from) * (double)(state >> 11) / 9007199254740992.0;
}

/* D 2 to 16, M 1 to 4D, costs up to 5 times by stage, delay up to one forward, limits from the least to 3D. */
static ppsched_config *random_problem(const char *placement, int64_t chunks)
{
    double forward[MOST_STAGES], input[MOST_STAGES], weight[MOST_STAGES], spread = uniform(1, 5);
    int64_t devices = (int64_t)uniform(2, 17), microbatches = (int64_t)uniform(1, 4 * (double)devices + 1);
    size_t stages = (size_t)(devices * chunks);
    ppsched_config *config = make_config(devices, chunks, microbatches);
    ppsched_error error;
    for (size_t s = 0; s < stages; s++) {
        forward[s] = uniform(1, spread);
        input[s] = uniform(1, spread);
        weight[s] = uniform(1, spread);
    }
    require(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, stages, &error), &error);
    require(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, input, stages, &error), &error);
    require(ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, weight, stages, &error), &error);
    set_one(config, PPSCHED_QUANTITY_P2P_TIME, uniform(0, 1));
    set_one(config, PPSCHED_QUANTITY_MEM_LIMIT, uniform((double)chunks, 3 * (double)(devices * chunks)));
    ppsched_config_set_option(config, "placement", placement, NULL);
    return config;
}

static void distribution(const char *placement, int64_t chunks, int problems)
{
    static double above[MOST_PROBLEMS], seconds[MOST_PROBLEMS];
    double sum = 0;
    for (int i = 0; i < problems; i++) {
        ppsched_config *config = random_problem(placement, chunks);
        ppsched_schedule *schedule = timed(config, "auto", &seconds[i]);
        above[i] = metrics_of(schedule, config).span / bound_of(schedule, config) - 1;
        sum += above[i];
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    qsort(above, (size_t)problems, sizeof above[0], by_value);
    qsort(seconds, (size_t)problems, sizeof seconds[0], by_value);
    printf("{\"distribution\": \"auto above the bound\", \"placement\": \"%s\", \"chunks\": %lld, \"problems\": %d, "
           "\"mean\": %.4f, \"median\": %.4f, \"90%%\": %.4f, \"largest\": %.4f, \"median_ms\": %.1f, \"largest_ms\": %.1f}\n",
           placement, (long long)chunks, problems, sum / problems, above[problems / 2], above[problems * 9 / 10],
           above[problems - 1], 1e3 * seconds[problems / 2], 1e3 * seconds[problems - 1]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 16, 32};
    int runs = argc > 1 ? atoi(argv[1]) : 5, problems = argc > 2 ? atoi(argv[2]) : 150;
    if (runs < 1 || runs > MOST_RUNS || problems < 0 || problems > MOST_PROBLEMS) {
        fprintf(stderr, "search_bench: runs must be 1 to %d, problems 0 to %d\n", MOST_RUNS, MOST_PROBLEMS);
        return 2;
    }
    measure("v_search", NULL, 4, 2, 16, &unit, 0, runs);
    measure("v_search", NULL, 8, 2, 32, &unit, 0, runs);
    measure("v_search", NULL, 12, 2, 48, &unit, 0, runs);
    measure("v_search", NULL, 32, 2, 128, &unit, 0, runs);
    measure("v_search", NULL, 32, 2, 128, &uneven, 0, 1);
    measure("zb_auto", NULL, 32, 1, 256, &published, 32, runs);
    measure("zb_auto", NULL, 32, 1, 256, &published, 64, runs);
    for (int i = 0; i < 3; i++) {
        int d = sizes[i];
        measure("zb_auto", NULL, d, 1, 4 * d, &unit, d, runs);
        measure("zb_auto", NULL, d, 1, 4 * d, &unit, 2 * d, runs);
        measure("v_1f1b", NULL, d, 2, 4 * d, &unit, 0, runs);
        measure("zbv_auto", NULL, d, 2, 4 * d, &unit, 2 * d, runs);
        measure("v_half", NULL, d, 2, 4 * d, &unit, 0, runs);
        measure("v_half", NULL, d, 2, 4 * d, &uneven, 0, runs);
        measure("v_min", NULL, d, 2, 4 * d, &unit, 0, runs);
        measure("v_min", NULL, d, 2, 4 * d, &uneven, 0, runs);
        measure("auto", "linear", d, 1, 4 * d, &uneven, d, runs > 3 ? 3 : runs);
        measure("auto", "loop", d, 2, 4 * d, &uneven, 2 * d, runs > 3 ? 3 : runs);
        measure("auto", "v", d, 2, 4 * d, &uneven, d, 1);
    }
    measure("zb_auto", NULL, 32, 1, 256, &delayed, 32, runs);
    for (int many = 256; many <= 1024; many *= 4) {
        measure("v_search", NULL, 8, 2, many, &unit, 0, runs);
        measure("v_search", NULL, 8, 2, many, &uneven, 0, runs);
        measure("v_half", NULL, 8, 2, many, &unit, 0, runs);
        measure("auto", "linear", 8, 1, many, &uneven, 8, runs > 3 ? 3 : runs);
        measure("auto", "loop", 8, 2, many, &uneven, 16, runs > 3 ? 3 : runs);
        measure("auto", "v", 8, 2, many, &uneven, 16, runs > 3 ? 3 : runs);
    }
    if (problems > 0) {
        distribution("linear", 1, problems);
        distribution("loop", 2, problems);
        distribution("v", 2, problems);
    }
    return 0;
}
