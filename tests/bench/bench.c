/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark: one JSON line a measurement, nanoseconds and bytes per op, beside the floor of the same run: one pass over
 * memory that reads the ops and writes start and end. The last lines are a timeline that is timed anew.
 *
 * Each size is measured twice where the allocator lets it: in memory that comes fresh from the system each time, whose pages
 * the first touch must clear, and in memory that this process has used before. The floor has the same kind of memory.
 *
 * usage: bench [most ops, default 1e7]. Each figure is the least of several runs. */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L

#include "support/meter.h"

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#endif
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum pages { FRESH, USED };

static const char *const PAGES[] = {"fresh", "used"};

/* From now on large blocks come from the system and go back to it, or stay with the process. False where the allocator cannot
 * be told. */
static bool set_pages(enum pages pages)
{
#ifdef __GLIBC__
    return mallopt(M_MMAP_MAX, pages == FRESH ? 65536 : 0) == 1 && mallopt(M_MMAP_THRESHOLD, 128 << 10) == 1 &&
           mallopt(M_TRIM_THRESHOLD, pages == FRESH ? 128 << 10 : -1) == 1;
#else
    return pages == FRESH;
#endif
}

/* Before a step: what the process still holds of memory used before goes back. */
static void renew(enum pages pages)
{
#ifdef __GLIBC__
    if (pages == FRESH)
        malloc_trim(0);
#else
    (void)pages;
#endif
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* With an allocator of its own, or without. */
static ppsched_config *make_config(uint32_t devices, uint32_t chunks, uint32_t microbatches, struct meter *meter)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    ppsched_environment environment = metered_environment(meter);
    double delay = 0.25;
    if (ppsched_config_create(&config, devices, (int64_t)devices * chunks, microbatches, meter != NULL ? &environment : NULL,
                              &error) != PPSCHED_OK ||
        ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &delay, 1, &error) != PPSCHED_OK)
        die("config", error.message);
    return config;
}

struct times {
    double floor, generate, check, earliest, evaluate, update, memory, csv, json;
};

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

/* Memory as the library takes it by itself: large blocks in huge pages. */
static void *allocate_as_the_library(size_t size)
{
#ifdef MADV_HUGEPAGE
    const size_t page = (size_t)2 << 20;
    if (size >= page / 4) {
        void *memory = aligned_alloc(page, (size / page + 1) * page);
        if (memory != NULL)
            madvise(memory, (size / page + (size % page >= page / 4)) * page, MADV_HUGEPAGE);
        return memory;
    }
#endif
    return malloc(size);
}

/* The floor, in memory for the spans such as the evaluator takes. */
static double measure_floor(const ppsched_schedule *schedule)
{
    double start = now(), clock = 0;
    ppsched_span *spans = allocate_as_the_library((size_t)ppsched_schedule_op_count(schedule) * sizeof *spans), *next = spans;
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

static double measure_evaluate(const ppsched_schedule *schedule, const ppsched_config *config, uint32_t flags,
                               ppsched_timeline **out)
{
    ppsched_error error;
    double start = now();
    if (ppsched_schedule_evaluate(out, schedule, config, flags, &error) != PPSCHED_OK)
        die("evaluate", error.message);
    return now() - start;
}

static double measure_export(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format)
{
    size_t bytes = 0;
    double start = now();
    ppsched_schedule_export(schedule, timeline, format, NULL, count_bytes, &bytes, NULL);
    return now() - start;
}

/* All memory curves. */
static double measure_memory(const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = ppsched_timeline_schedule(timeline);
    size_t room = (size_t)ppsched_schedule_op_count(schedule) + 1;
    ppsched_memory_point *points = malloc(room * sizeof *points);
    if (points == NULL)
        die("memory", "out of memory");
    double start = now();
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++)
        ppsched_timeline_get_memory(points, room, NULL, timeline, d, NULL);
    double taken = now() - start;
    free(points);
    return taken;
}

static void measure_timelines(enum pages pages, const ppsched_schedule *schedule, const ppsched_config *config,
                              struct times *least)
{
    ppsched_timeline *timeline = NULL;
    renew(pages);
    keep_least(&least->earliest, measure_evaluate(schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &timeline));
    ppsched_timeline_destroy(timeline);
    renew(pages);
    keep_least(&least->evaluate, measure_evaluate(schedule, config, 0, &timeline));
    if (ppsched_schedule_op_count(schedule) <= 1000000) {
        keep_least(&least->memory, measure_memory(timeline));
        keep_least(&least->csv, measure_export(schedule, NULL, PPSCHED_FORMAT_CSV));
        keep_least(&least->json, measure_export(schedule, timeline, PPSCHED_FORMAT_JSON));
    }
    ppsched_timeline_destroy(timeline);
    measure_evaluate(schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY | PPSCHED_EVALUATE_FLAG_REUSABLE, &timeline);
    ppsched_timeline_update(timeline, config, NULL); /* the first touches fresh memory */
    double start = now();
    ppsched_timeline_update(timeline, config, NULL);
    keep_least(&least->update, now() - start);
    ppsched_timeline_destroy(timeline);
}

static void measure_once(enum pages pages, const ppsched_config *config, const char *strategy, struct times *least,
                         uint64_t *ops)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    renew(pages);
    double start = now();
    if (ppsched_schedule_generate(&schedule, config, strategy, &error) != PPSCHED_OK)
        die(strategy, error.message);
    keep_least(&least->generate, now() - start);
    renew(pages);
    keep_least(&least->floor, measure_floor(schedule));
    measure_timelines(pages, schedule, config, least);
    start = now();
    if (ppsched_schedule_check(NULL, 0, NULL, schedule, &error) != PPSCHED_OK)
        die(strategy, error.message);
    keep_least(&least->check, now() - start);
    *ops = ppsched_schedule_op_count(schedule);
    ppsched_schedule_release(schedule);
}

/* Bytes the library holds at most while it generates and evaluates. */
static double measure_bytes(uint32_t devices, uint32_t chunks, uint32_t microbatches, const char *strategy, uint32_t flags)
{
    struct meter meter = {0};
    ppsched_config *config = make_config(devices, chunks, microbatches, &meter);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    size_t before = meter.used;
    meter.peak = before;
    ppsched_schedule_generate(&schedule, config, strategy, NULL);
    ppsched_schedule_evaluate(&timeline, schedule, config, flags, NULL);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return (double)(meter.peak - before);
}

static void measure_in(enum pages pages, const char *strategy, uint32_t devices, uint32_t chunks, uint64_t wanted, int kinds)
{
    struct times least = {0};
    uint64_t ops = 0;
    uint32_t microbatches = (uint32_t)(wanted / ((uint64_t)devices * chunks * (uint64_t)kinds));
    microbatches = microbatches < devices ? devices : microbatches / devices * devices;
    ppsched_config *config = make_config(devices, chunks, microbatches, NULL);
    if (!set_pages(pages)) {
        ppsched_config_destroy(config);
        return;
    }
    int runs = wanted <= 100000 ? 50 : wanted <= 1000000 ? 7 : 3;
    for (int i = 0; i < runs; i++)
        measure_once(pages, config, strategy, &least, &ops);
    double n = (double)ops, both = least.generate + least.earliest;
    printf("{\"strategy\": \"%s\", \"devices\": %u, \"chunks\": %u, \"microbatches\": %u, \"ops\": %llu, "
           "\"pages\": \"%s\", \"ns_per_op\": {\"floor\": %.2f, \"generate\": %.2f, \"evaluate_earliest\": %.2f, "
           "\"evaluate_all\": %.2f, \"update_earliest\": %.2f, \"check\": %.2f, \"memory\": %.2f, \"csv\": %.1f, "
           "\"json\": %.1f}, "
           "\"generate_and_evaluate\": %.2f, \"to_floor\": %.2f, \"bytes_per_op\": {\"earliest\": %.1f, \"all\": %.1f}}\n",
           strategy, devices, chunks, microbatches, (unsigned long long)ops, PAGES[pages], least.floor / n, least.generate / n,
           least.earliest / n, least.evaluate / n, least.update / n, least.check / n, least.memory / n, least.csv / n,
           least.json / n, both / n, both / least.floor,
           measure_bytes(devices, chunks, microbatches, strategy, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY) / n,
           measure_bytes(devices, chunks, microbatches, strategy, 0) / n);
    fflush(stdout);
    ppsched_config_destroy(config);
}

static void measure(const char *strategy, uint32_t devices, uint32_t chunks, uint64_t wanted, int kinds)
{
    measure_in(FRESH, strategy, devices, chunks, wanted, kinds);
    measure_in(USED, strategy, devices, chunks, wanted, kinds);
}

/* A launcher that plans each step: microseconds to time a schedule anew. */
static void measure_update(uint32_t flags, const char *what)
{
    ppsched_config *config = make_config(16, 2, 64, NULL);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    double least = 0;
    if (ppsched_schedule_generate(&schedule, config, "interleaved_1f1b", NULL) != PPSCHED_OK)
        die("update", "no schedule");
    measure_evaluate(schedule, config, flags | PPSCHED_EVALUATE_FLAG_REUSABLE, &timeline);
    for (int i = 0; i < 2000; i++) {
        double start = now();
        ppsched_timeline_update(timeline, config, NULL);
        keep_least(&least, now() - start);
    }
    printf("{\"update\": \"%s\", \"strategy\": \"interleaved_1f1b\", \"devices\": 16, \"chunks\": 2, \"microbatches\": 64, "
           "\"ops\": %llu, \"microseconds\": %.1f}\n",
           what, (unsigned long long)ppsched_schedule_op_count(schedule), least / 1e3);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
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
        ppsched_strategy_get_info(&info, s, NULL);
        if (!info.searches && info.slices < 2)
            measure(info.name, 8, info.chunks != 0 ? info.chunks : 2, 1000000, info.splits_backward ? 3 : 2);
    }
    measure_update(PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, "earliest");
    measure_update(0, "all");
    return 0;
}
