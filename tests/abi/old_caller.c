/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the first release: it knows nothing but that release's header, and runs with the library of today. */
#include "1/ppsched.h"

#include <stdio.h>
#include <string.h>

#define NEED(condition)                                                                                                        \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                            \
            return 1;                                                                                                          \
        }                                                                                                                      \
    } while (0)

static int32_t count_bytes(void *user, const char *data, size_t size)
{
    (void)data;
    *(size_t *)user += size;
    return 0;
}

/* Times and figures of a schedule. */
static int use_timeline(const ppsched_schedule *schedule, const ppsched_config *config)
{
    ppsched_timeline *timeline = NULL;
    ppsched_metrics metrics = {.size = sizeof metrics};
    ppsched_device_metrics device = {.size = sizeof device};
    ppsched_idle idle = {.size = sizeof idle};
    size_t bytes = 0, count = 0;
    NEED(ppsched_schedule_evaluate(&timeline, schedule, config, 0, NULL) == PPSCHED_OK);
    NEED(ppsched_timeline_get_metrics(&metrics, timeline, NULL) == PPSCHED_OK && metrics.makespan == 33);
    NEED(ppsched_timeline_get_device_metrics(&device, timeline, 0, NULL) == PPSCHED_OK && device.busy == 24);
    NEED(ppsched_timeline_get_idle(&idle, timeline, 0, NULL) == PPSCHED_OK && idle.fill == 0);
    const ppsched_span *spans = ppsched_timeline_spans(timeline, 3, &count);
    NEED(count == 16 && spans[0].start == 3 && spans[0].end == 4);
    NEED(ppsched_schedule_export(schedule, timeline, PPSCHED_FORMAT_JSON, NULL, count_bytes, &bytes, NULL) == PPSCHED_OK &&
         bytes > 0);
    ppsched_timeline_destroy(timeline);
    return 0;
}

static int use_lowering(const ppsched_schedule *schedule, const ppsched_config *config)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR};
    ppsched_schedule *lowered = NULL;
    NEED(ppsched_schedule_lower(&lowered, schedule, config, &options, NULL) == PPSCHED_OK);
    NEED(ppsched_schedule_prove(NULL, 0, NULL, lowered, &model, NULL) == PPSCHED_OK);
    ppsched_schedule_release(lowered);
    return 0;
}

static int use_plan(const ppsched_config *config)
{
    ppsched_plan *plan = NULL;
    ppsched_candidate candidate = {.size = sizeof candidate};
    NEED(ppsched_plan_create(&plan, config, NULL, NULL) == PPSCHED_OK && ppsched_plan_run(plan, NULL) == PPSCHED_OK);
    NEED(ppsched_plan_get_candidate(&candidate, plan, 0, NULL) == PPSCHED_OK && candidate.strategy != NULL && candidate.fits);
    ppsched_plan_destroy(plan);
    return 0;
}

int main(void)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_environment environment = {.size = sizeof environment};
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_error error;
    NEED(ppsched_abi_version() == PPSCHED_ABI_VERSION);
    NEED(ppsched_config_create(&config, 4, 4, 8, &environment, &error) == PPSCHED_OK);
    NEED(ppsched_schedule_generate(&schedule, config, "nothing", &error) != PPSCHED_OK && strlen(error.message) > 0);
    NEED(ppsched_schedule_generate(&schedule, config, "1f1b", &error) == PPSCHED_OK);
    NEED(ppsched_schedule_check(NULL, 0, NULL, schedule, &error) == PPSCHED_OK);
    NEED(ppsched_strategy_get_info(&info, 0, NULL) == PPSCHED_OK && info.name != NULL);
    if (use_timeline(schedule, config) != 0 || use_lowering(schedule, config) != 0 || use_plan(config) != 0)
        return 1;
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return 0;
}
