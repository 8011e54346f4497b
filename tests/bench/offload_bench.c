/* SPDX-License-Identifier: Apache-2.0 */
/* Times ppsched_schedule_offload: a JSON line a measurement, with the least CPU time of several runs, the step, and that
 * without copies. All that goes, and as little as holds a limit that is held without loss, or one for which devices wait. */
#include "measure.h"

#include <math.h>
#include <stdbool.h>

static ppsched_metrics figures_of(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_timeline *timeline = NULL;
    ppsched_metrics metrics = {.size = sizeof metrics};
    ppsched_error error;
    require(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error), &error);
    require(ppsched_timeline_get_metrics(&metrics, timeline, &error), &error);
    ppsched_timeline_destroy(timeline);
    return metrics;
}

struct size {
    uint32_t devices, chunks, microbatches;
    int runs;
};

/* Copies that take so long, links of pairs of devices, and a limit as a share of the peak; 0: all that goes. */
static void measure(const struct size *size, const char *strategy, double copies, double share)
{
    double links[64], best = INFINITY, limit = 0;
    ppsched_config *config = NULL;
    ppsched_schedule *plain = NULL, *schedule = NULL;
    ppsched_error error;
    const ppsched_offload_options options = {.size = sizeof options, .until_limit = share > 0};
    require(
        ppsched_config_create(&config, size->devices, (int64_t)size->devices * size->chunks, size->microbatches, NULL, &error),
        &error);
    for (uint32_t d = 0; d < size->devices; d++)
        links[d] = d / 2;
    require(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_LINK, links, size->devices, &error), &error);
    set_one(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 1);
    set_one(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, 1);
    set_one(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, copies);
    require(ppsched_schedule_generate(&plain, config, strategy, &error), &error);
    const ppsched_metrics before = figures_of(plain, config);
    if (share > 0)
        set_one(config, PPSCHED_QUANTITY_MEM_LIMIT, limit = round(share * before.peak_memory));
    for (int i = 0; i < size->runs; i++) {
        if (schedule != NULL)
            ppsched_schedule_release(schedule);
        double start = now();
        require(ppsched_schedule_offload(&schedule, plain, config, &options, &error), &error);
        best = fmin(best, now() - start);
    }
    const ppsched_metrics after = figures_of(schedule, config);
    printf("{\"strategy\": \"%s\", \"devices\": %u, \"chunks\": %u, \"microbatches\": %u, \"copy\": %g, \"limit\": %g, "
           "\"peak_without\": %g, \"peak\": %g, \"step_without\": %g, \"step\": %g, \"ms\": %.2f}\n",
           strategy, size->devices, size->chunks, size->microbatches, copies, limit, before.peak_memory, after.peak_memory,
           before.makespan, after.makespan, 1000 * best);
    fflush(stdout);
    ppsched_schedule_release(schedule);
    ppsched_schedule_release(plain);
    ppsched_config_destroy(config);
}

int main(void)
{
    static const struct size sizes[] = {{16, 2, 64, 20}, {64, 4, 512, 2}};
    static const char *const strategies[] = {"group_interleaved_1f1b", "interleaved_1f1b"};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            measure(&sizes[i], strategies[k], 0.5, 0);
            measure(&sizes[i], strategies[k], 0.5, 0.7);
            measure(&sizes[i], strategies[k], 2, 0);
            measure(&sizes[i], strategies[k], 2, 0.5);
        }
    return 0;
}
