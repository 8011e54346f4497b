/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark of plans: one JSON line a problem, milliseconds of CPU time for all candidates (V 1 to 4, all groups), the
 * median of several runs, with those of the candidates' strategies beside. The last problem has V 2 alone, and offload.
 *
 * usage: plan_bench */
#define _POSIX_C_SOURCE 200809L

#include "support/plan_choice.h"
#include <ppsched/ppsched.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 9, MOST_STRATEGIES = 64 };

struct sum {
    const char *strategy;
    double milliseconds;
    size_t candidates;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void need(ppsched_status status, const ppsched_error *error)
{
    if (status == PPSCHED_OK)
        return;
    fprintf(stderr, "plan_bench: %s\n", error->message);
    exit(1);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add(struct sum *sums, const ppsched_plan *plan, uint32_t index, double milliseconds)
{
    ppsched_candidate candidate = {.size = sizeof candidate};
    size_t i = 0;
    ppsched_plan_get_candidate(&candidate, plan, index, NULL);
    while (sums[i].strategy != NULL && strcmp(sums[i].strategy, candidate.strategy) != 0)
        i++;
    sums[i].strategy = candidate.strategy;
    sums[i].milliseconds += milliseconds;
    sums[i].candidates++;
}

/* The candidates one by one, each in memory of its own. */
static void measure_parts(struct sum *sums, const ppsched_config *config, const struct plan_choice *choice)
{
    ppsched_plan *plan = NULL;
    ppsched_error error;
    need(create_plan(&plan, config, choice, &error), &error);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        double before = now();
        need(ppsched_plan_evaluate(plan, i, &error), &error);
        add(sums, plan, i, now() - before);
    }
    ppsched_plan_destroy(plan);
}

static void measure_plan(const char *costs, const ppsched_config *config, const struct plan_choice *choice)
{
    ppsched_error error;
    double runs[RUNS];
    size_t count = 0;
    struct sum sums[MOST_STRATEGIES] = {{0}};
    for (int run = 0; run < RUNS; run++) {
        ppsched_plan *plan = NULL;
        double start = now();
        need(create_plan(&plan, config, choice, &error), &error);
        need(ppsched_plan_run(plan, &error), &error);
        runs[run] = now() - start;
        count = ppsched_plan_count(plan);
        ppsched_plan_destroy(plan);
    }
    measure_parts(sums, config, choice);
    qsort(runs, RUNS, sizeof runs[0], by_size);
    printf("{\"plan\": \"%s\", \"devices\": %u, \"microbatches\": %u, \"candidates\": %zu, \"milliseconds\": %.2f, "
           "\"least\": %.2f, \"strategies\": {",
           costs, ppsched_config_devices(config), ppsched_config_microbatches(config), count, runs[RUNS / 2], runs[0]);
    for (size_t i = 0; sums[i].strategy != NULL; i++)
        printf("%s\"%s\": [%zu, %.2f]", i > 0 ? ", " : "", sums[i].strategy, sums[i].candidates, sums[i].milliseconds);
    printf("}}\n");
}

static const int32_t quantities[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                     PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, PPSCHED_QUANTITY_P2P_TIME};

static void measure(const char *costs, uint32_t devices, int64_t microbatches, const double *times)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    need(ppsched_config_create(&config, devices, devices, microbatches, NULL, &error), &error);
    for (size_t i = 0; i < 4; i++)
        need(ppsched_config_set_values(config, quantities[i], &times[i], 1, &error), &error);
    measure_plan(costs, config, NULL);
    ppsched_config_destroy(config);
}

/* Each rule with and without offload, at two stages per device whose times differ, under a limit of 8 stage passes. */
static void measure_offload(void)
{
    enum { DEVICES = 8, STAGES = 2 * DEVICES, MICROBATCHES = 128 };
    static const uint32_t chunks[] = {2};
    const struct plan_choice choice = {.size = sizeof choice, .offload = 1, .chunks = chunks, .chunk_count = 1};
    const double delay = 1, copies = 5, limit = 8;
    double times[3][STAGES];
    ppsched_config *config = NULL;
    ppsched_error error;
    need(ppsched_config_create(&config, DEVICES, STAGES, MICROBATCHES, NULL, &error), &error);
    for (int s = 0; s < STAGES; s++) {
        times[0][s] = 10 + s * 7 % 5 / 2.0;
        times[1][s] = 12 + s * 5 % 7 / 2.0;
        times[2][s] = 8 + s * 3 % 5 / 2.0;
    }
    for (size_t i = 0; i < 3; i++)
        need(ppsched_config_set_values(config, quantities[i], times[i], STAGES, &error), &error);
    need(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &delay, 1, &error), &error);
    need(ppsched_config_set_values(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, &copies, 1, &error), &error);
    need(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1, &error), &error);
    measure_plan("offload", config, &choice);
    ppsched_config_destroy(config);
}

int main(void)
{
    static const double unit[] = {1, 1, 1, 0}, measured[] = {10.4, 10.2, 7.7, 0.4};
    measure("unit", 8, 32, unit);
    measure("unit", 16, 64, unit);
    measure("measured", 16, 64, measured);
    measure("measured", 32, 128, measured);
    measure_offload();
    return 0;
}
