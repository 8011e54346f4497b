/* SPDX-License-Identifier: Apache-2.0 */
/* Builds 1F1B for four devices, evaluates it, prints its figures and the order of one device. */
#include <stdio.h>

#include <ppsched/ppsched.h>

static int fail(const ppsched_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

int main(void)
{
    const double forward[] = {1.0, 1.2, 1.2, 1.4}; /* one time per stage, in any unit */
    ppsched_error error;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;

    /* The problem: 4 devices, 4 stages, 8 microbatches. */
    if (ppsched_config_create(&config, 4, 4, 8, NULL, &error) != PPSCHED_OK ||
        ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 4, &error) != PPSCHED_OK)
        return fail(&error);

    /* A schedule, and the times of its ops. */
    if (ppsched_schedule_generate(&schedule, config, "1f1b", &error) != PPSCHED_OK ||
        ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error) != PPSCHED_OK)
        return fail(&error);

    ppsched_metrics metrics = {.size = sizeof metrics};
    ppsched_timeline_get_metrics(&metrics, timeline, NULL);
    printf("makespan %.1f, bubble %.4f of total, peak memory %.0f on device %u\n", metrics.makespan, metrics.bubble_of_total,
           metrics.peak_memory, metrics.peak_device);

    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, 3), &count);
    const ppsched_span *spans = ppsched_timeline_spans(timeline, 3, NULL);
    for (size_t i = 0; i < count; i++) {
        char token[32];
        ppsched_op_write_token(token, sizeof token, NULL, &ops[i], NULL);
        printf("%s from %.1f to %.1f\n", token, spans[i].start, spans[i].end);
    }

    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return 0;
}
