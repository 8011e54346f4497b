/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark of lowering, proof and evaluation with transfers: one JSON line a size and lowering, milliseconds, the fastest
 * of several runs, beside the plain evaluation of the same run.
 *
 * usage: comm_bench */
#define _POSIX_C_SOURCE 200809L

#include <ppsched/ppsched.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void need(ppsched_status status, const char *what, const ppsched_error *error)
{
    if (status == PPSCHED_OK)
        return;
    fprintf(stderr, "comm_bench: %s: %s\n", what, error->message);
    exit(1);
}

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

static void measure(const ppsched_schedule *schedule, const ppsched_config *config, int32_t lowering, const char *name)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = lowering};
    const ppsched_channel_model proved = {.size = sizeof proved, .order = PPSCHED_CHANNEL_ORDER_PAIR, .rendezvous = 1};
    double lower = 0, prove = 0, transfers = 0, plain = 0;
    ppsched_error error;
    uint64_t ops = 0;
    for (int i = 0; i < RUNS; i++) {
        ppsched_schedule *lowered = NULL;
        ppsched_timeline *timed = NULL, *timeline = NULL;
        double t0 = now();
        need(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), name, &error);
        double t1 = now();
        ppsched_status status = ppsched_schedule_prove(NULL, 0, NULL, lowered, &proved, &error);
        if (status != PPSCHED_ERROR_INVALID_SCHEDULE || lowering != PPSCHED_LOWERING_BY_TIME)
            need(status, name, &error);
        double t2 = now();
        need(ppsched_schedule_evaluate_transfers(&timed, lowered, config, NULL, 0, &error), name, &error);
        double t3 = now();
        need(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), name, &error);
        double t4 = now();
        keep_least(&lower, t1 - t0);
        keep_least(&prove, t2 - t1);
        keep_least(&transfers, t3 - t2);
        keep_least(&plain, t4 - t3);
        ops = ppsched_schedule_op_count(lowered);
        ppsched_timeline_destroy(timeline);
        ppsched_timeline_destroy(timed);
        ppsched_schedule_release(lowered);
    }
    printf("{\"lowering\": \"%s\", \"devices\": %u, \"stages\": %u, \"microbatches\": %u, \"ops\": %llu, \"milliseconds\": "
           "{\"lower\": %.3f, \"prove\": %.3f, \"evaluate_transfers\": %.3f, \"evaluate\": %.3f}}\n",
           name, ppsched_config_devices(config), ppsched_config_stages(config), ppsched_config_microbatches(config),
           (unsigned long long)ops, lower, prove, transfers, plain);
    fflush(stdout);
}

int main(void)
{
    static const int64_t sizes[][3] = {{16, 2, 64}, {64, 4, 128}, {64, 4, 256}, {64, 4, 512}, {64, 4, 1024}};
    static const char *const names[] = {"pytorch", "by_time", "just_in_time"};
    const double latency = 0.1, bandwidth = 10, bytes = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ppsched_config *config = NULL;
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        const int64_t devices = sizes[i][0], stages = devices * sizes[i][1], microbatches = sizes[i][2];
        need(ppsched_config_create(&config, devices, stages, microbatches, NULL, &error), "config", &error);
        need(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &latency, 1, &error), "config", &error);
        need(ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &bandwidth, 1, &error), "config", &error);
        need(ppsched_config_set_values(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, &bytes, 1, &error), "config", &error);
        need(ppsched_schedule_generate(&schedule, config, "interleaved_1f1b", &error), "schedule", &error);
        for (int32_t lowering = PPSCHED_LOWERING_PYTORCH; lowering <= PPSCHED_LOWERING_JUST_IN_TIME; lowering++)
            measure(schedule, config, lowering, names[lowering - PPSCHED_LOWERING_PYTORCH]);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    return 0;
}
