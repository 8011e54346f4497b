/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark: one JSON line a measurement, nanoseconds and bytes per op, beside the floor of the same run: one pass over
 * memory that reads the ops and writes start and end.
 *
 * usage: bench [most ops, default 1e7]. Each figure is the least of several runs. */
#define _POSIX_C_SOURCE 200809L

#include <ppsched/ppsched.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* An allocator that knows how much is in use. */
struct meter {
    size_t used, peak;
};

enum { HEADER = 16 };

static void *metered_allocate(void *user, size_t size)
{
    struct meter *meter = user;
    char *block = malloc(size + HEADER);
    if (block == NULL)
        return NULL;
    memcpy(block, &size, sizeof size);
    meter->used += size;
    meter->peak = meter->used > meter->peak ? meter->used : meter->peak;
    return block + HEADER;
}

static void metered_release(void *user, void *memory)
{
    struct meter *meter = user;
    char *block = (char *)memory - HEADER;
    size_t size;
    memcpy(&size, block, sizeof size);
    meter->used -= size;
    free(block);
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static ppsched_config *make_config(uint32_t devices, uint32_t chunks, uint32_t microbatches, struct meter *meter)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    ppsched_environment environment = {.size = sizeof environment, .user = meter, .allocate = metered_allocate,
                                       .release = metered_release};
    double delay = 0.25;
    if (ppsched_config_create(&config, devices, (int64_t)devices * chunks, microbatches, &environment, &error) != PPSCHED_OK ||
        ppsched_config_set_values(config, PPSCHED_P2P_TIMES, &delay, 1, &error) != PPSCHED_OK)
        die("config", error.message);
    return config;
}

struct times {
    double floor, generate, check, earliest, evaluate, json;
};

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

/* The floor: fresh memory for the spans, as the evaluator takes it. */
static double measure_floor(const ppsched_schedule *schedule)
{
    double start = now(), clock = 0;
    ppsched_span *spans = malloc((size_t)ppsched_schedule_op_count(schedule) * sizeof *spans), *next = spans;
    if (spans == NULL)
        die("floor", "out of memory");
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++, next++) {
            next->start = clock;
            clock += ops[i].kind + ops[i].microbatch;
            next->end = clock;
        }
    }
    double taken = now() - start;
    volatile double sink = spans[0].end;
    (void)sink;
    free(spans);
    return taken;
}

static int32_t count_bytes(void *user, const char *data, size_t size)
{
    (void)data;
    *(size_t *)user += size;
    return 0;
}

static void measure_once(const ppsched_config *config, const char *strategy, struct times *least, uint64_t *ops, size_t *json)
{
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    double t0 = now();
    if (ppsched_schedule_generate(&schedule, config, strategy, &error) != PPSCHED_OK)
        die(strategy, error.message);
    double t1 = now();
    if (ppsched_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_EARLIEST_ONLY, &error) != PPSCHED_OK)
        die(strategy, error.message);
    double t2 = now();
    ppsched_timeline_destroy(timeline);
    double t3 = now();
    if (ppsched_evaluate(&timeline, schedule, config, 0, &error) != PPSCHED_OK)
        die(strategy, error.message);
    double t4 = now();
    *ops = ppsched_schedule_op_count(schedule);
    if (*ops <= 1000000) {
        double t5 = now();
        *json = 0;
        ppsched_export(schedule, timeline, PPSCHED_FORMAT_JSON, NULL, count_bytes, json, &error);
        keep_least(&least->json, now() - t5);
    }
    ppsched_timeline_destroy(timeline);
    double t6 = now();
    if (ppsched_check(schedule, NULL, 0, NULL, &error) != PPSCHED_OK)
        die(strategy, error.message);
    keep_least(&least->check, now() - t6);
    keep_least(&least->generate, t1 - t0);
    keep_least(&least->earliest, t2 - t1);
    keep_least(&least->evaluate, t4 - t3);
    keep_least(&least->floor, measure_floor(schedule));
    ppsched_schedule_release(schedule);
}

/* Bytes the library holds at most while it generates and evaluates. */
static size_t measure_bytes(const ppsched_config *config, const char *strategy, struct meter *meter, uint32_t flags)
{
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    size_t before = meter->used;
    meter->peak = before;
    ppsched_schedule_generate(&schedule, config, strategy, NULL);
    ppsched_evaluate(&timeline, schedule, config, flags, NULL);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return meter->peak - before;
}

static void measure(const char *strategy, uint32_t devices, uint32_t chunks, uint64_t wanted, int kinds)
{
    struct meter meter = {0, 0};
    struct times least = {0};
    uint64_t ops = 0;
    size_t json = 0;
    uint32_t microbatches = (uint32_t)(wanted / ((uint64_t)devices * chunks * (uint64_t)kinds));
    microbatches = microbatches < devices ? devices : microbatches / devices * devices;
    ppsched_config *config = make_config(devices, chunks, microbatches, &meter);
    int runs = wanted <= 100000 ? 50 : wanted <= 1000000 ? 7 : 3;
    for (int i = 0; i < runs; i++)
        measure_once(config, strategy, &least, &ops, &json);
    double n = (double)ops, both = least.generate + least.earliest;
    printf("{\"strategy\": \"%s\", \"devices\": %u, \"chunks\": %u, \"microbatches\": %u, \"ops\": %llu, "
           "\"ns_per_op\": {\"floor\": %.2f, \"generate\": %.2f, \"evaluate_earliest\": %.2f, \"evaluate_with_latest\": %.2f, "
           "\"check\": %.2f, \"json\": %.1f}, \"generate_and_evaluate_to_floor\": %.2f, "
           "\"bytes_per_op\": {\"earliest\": %.1f, \"with_latest\": %.1f}}\n",
           strategy, devices, chunks, microbatches, (unsigned long long)ops, least.floor / n, least.generate / n,
           least.earliest / n, least.evaluate / n, least.check / n, least.json / n, both / least.floor,
           (double)measure_bytes(config, strategy, &meter, PPSCHED_EVALUATE_EARLIEST_ONLY) / n,
           (double)measure_bytes(config, strategy, &meter, 0) / n);
    fflush(stdout);
    ppsched_config_destroy(config);
}

int main(int argc, char **argv)
{
    double most = argc > 1 ? atof(argv[1]) : 1e7;
    for (double ops = 1e3; ops <= most; ops *= ops < 1e7 ? 100 : 10) {
        measure("1f1b", 8, 1, (uint64_t)ops, 2);
        measure("interleaved_1f1b", 16, 2, (uint64_t)ops, 2);
        measure("zb_h1", 8, 1, (uint64_t)ops, 3);
    }
    for (uint32_t s = 0; s < ppsched_strategy_count(); s++) {
        ppsched_strategy_info info = {.size = sizeof info};
        ppsched_strategy_describe(s, &info);
        if (!info.searches)
            measure(info.name, 8, info.chunks != 0 ? info.chunks : 2, 1000000, info.splits_backward ? 3 : 2);
    }
    return 0;
}
