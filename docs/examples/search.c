/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for the best schedule of uneven stages under a memory limit. Shows the progress of the search, and the distance of
 * its result from the lower bound. */
#include <stdio.h>

#include <ppsched/ppsched.h>

static int fail(const ppsched_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

/* Called regularly during the search. A result other than 0 would stop it. */
static int32_t show(void *user, const ppsched_progress *progress)
{
    double *shown = user;
    if (progress->share < *shown + 0.2 && progress->share < 1)
        return 0;
    printf("%3.0f %%, best span so far %g\n", 100 * progress->share, progress->best);
    *shown = progress->share;
    return 0;
}

/* Eight stages on four devices in V placement. The last stage also has the output layer. A device has memory for five stage
 * passes. */
static ppsched_status describe(ppsched_config *config, double *shown, ppsched_error *error)
{
    const double forward[] = {1, 1, 1, 1, 1, 1, 1, 1.75}, backward[] = {2, 2, 2, 2, 2, 2, 2, 3.5}, delay = 0.125, limit = 5;
    ppsched_status status = ppsched_config_set_placement(config, PPSCHED_PLACEMENT_V, NULL, 0, error);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 8, error);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_values(config, PPSCHED_QUANTITY_BACKWARD_TIMES, backward, 8, error);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &delay, 1, error);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1, error);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_option(config, "effort", "3", error);
    return status == PPSCHED_OK ? ppsched_config_set_progress(config, show, shown, NULL) : status;
}

int main(void)
{
    double shown = 0;
    ppsched_error error;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_metrics metrics = {.size = sizeof metrics};

    if (ppsched_config_create(&config, 4, 8, 12, NULL, &error) != PPSCHED_OK ||
        describe(config, &shown, &error) != PPSCHED_OK ||
        ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_MAKESPAN, &error) != PPSCHED_OK ||
        ppsched_schedule_generate(&schedule, config, "auto", &error) != PPSCHED_OK ||
        ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error) != PPSCHED_OK)
        return fail(&error);

    ppsched_timeline_get_metrics(&metrics, timeline, NULL);
    printf("makespan %g, at least %g: %.1f %% above; peak memory %g of 5, at least %g\n", metrics.makespan, bound.value,
           100 * (metrics.makespan / bound.value - 1), metrics.peak_memory, bound.least_limit);

    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return 0;
}
