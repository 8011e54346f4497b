/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark of writing and reading: one JSON line a measurement, megabytes of text per second, beside the floor of the same
 * run: a copy of the text.
 *
 * usage: format_bench [ops, default 1e6]. Each figure is that of the fastest of several runs. */
#define _POSIX_C_SOURCE 200809L

#include <ppsched/ppsched.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 7 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void need(ppsched_status status, const char *what, const ppsched_error *error)
{
    if (status == PPSCHED_OK)
        return;
    fprintf(stderr, "format_bench: %s: %s\n", what, error->message);
    exit(1);
}

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

static void measure(const ppsched_schedule *schedule, const ppsched_timeline *timeline, const char *name, int32_t format)
{
    ppsched_error error;
    double write = 0, read = 0, copy = 0;
    size_t capacity = 0;
    need(ppsched_schedule_export_to_buffer(NULL, 0, &capacity, schedule, timeline, format, NULL, &error), name, &error);
    size_t size = capacity - 1; /* without the NUL */
    char *text = calloc(capacity, 1), *target = calloc(capacity, 1);
    for (int i = 0; i < RUNS && text != NULL && target != NULL; i++) {
        ppsched_schedule *again = NULL;
        double t0 = now();
        need(ppsched_schedule_export_to_buffer(text, capacity, NULL, schedule, timeline, format, NULL, &error), name, &error);
        double t1 = now();
        need(ppsched_schedule_import(&again, format, text, size, NULL, &error), name, &error);
        double t2 = now();
        memcpy(target, text, size);
        double t3 = now();
        ppsched_schedule_release(again);
        keep_least(&write, t1 - t0);
        keep_least(&read, t2 - t1);
        keep_least(&copy, t3 - t2);
    }
    printf("{\"format\": \"%s\", \"strategy\": \"%s\", \"times\": %s, \"ops\": %llu, \"bytes\": %zu, "
           "\"megabytes_per_second\": {\"write\": %.0f, \"read\": %.0f, \"copy\": %.0f}}\n",
           name, ppsched_schedule_name(schedule), timeline != NULL ? "true" : "false",
           (unsigned long long)ppsched_schedule_op_count(schedule), size, 1e3 * (double)size / write, 1e3 * (double)size / read,
           1e3 * (double)size / copy);
    fflush(stdout);
    free(text);
    free(target);
}

static void measure_strategy(const char *strategy, int64_t stages, double ops)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    int64_t microbatches = (int64_t)(ops / (double)(2 * stages)) / 8 * 8;
    need(ppsched_config_create(&config, 8, stages, microbatches < 16 ? 16 : microbatches, NULL, &error), strategy, &error);
    need(ppsched_schedule_generate(&schedule, config, strategy, &error), strategy, &error);
    need(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), strategy, &error);
    measure(schedule, NULL, "csv", PPSCHED_FORMAT_CSV);
    measure(schedule, NULL, "json", PPSCHED_FORMAT_JSON);
    measure(schedule, timeline, "json", PPSCHED_FORMAT_JSON);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

int main(int argc, char **argv)
{
    double ops = argc > 1 ? atof(argv[1]) : 1e6;
    measure_strategy("1f1b", 8, ops);
    measure_strategy("dualpipe_v", 16, ops);
    return 0;
}
