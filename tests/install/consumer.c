/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside: builds a schedule with the installed package. Prints the makespan; 33 is right. */
#include <stdio.h>

#include <ppsched/ppsched.h>

int main(void)
{
    ppsched_error error;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_metrics metrics;
    metrics.size = sizeof metrics;
    if (ppsched_abi_version() != PPSCHED_ABI_VERSION || ppsched_config_create(&config, 4, 4, 8, NULL, &error) != PPSCHED_OK ||
        ppsched_schedule_generate(&schedule, config, "1f1b", &error) != PPSCHED_OK ||
        ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error) != PPSCHED_OK ||
        ppsched_timeline_get_metrics(&metrics, timeline, NULL) != PPSCHED_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("makespan %g\n", metrics.makespan);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return metrics.makespan == 33 ? 0 : 1;
}
