/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer that plans each step with the times that it just measured. The library takes its memory from an arena of the
 * trainer, and needs no more memory once the loop runs. */
#include <stddef.h>
#include <stdio.h>

#include <ppsched/ppsched.h>

enum { DEVICES = 4, MICROBATCHES = 8, STEPS = 5, ARENA = 1 << 16 };

/* The arena is freed as a whole, so releasing a part does nothing. */
struct arena {
    _Alignas(max_align_t) unsigned char bytes[ARENA];
    size_t used;
};

static void *take(void *user, size_t size)
{
    struct arena *arena = user;
    size_t rounded = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    if (rounded < size || rounded > ARENA - arena->used)
        return NULL;
    arena->used += rounded;
    return arena->bytes + arena->used - rounded;
}

static void leave(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

static int fail(const ppsched_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

/* In place of measurements: stage 2 becomes slower. */
static void measure(double *times, int step)
{
    for (int stage = 0; stage < DEVICES; stage++)
        times[stage] = 1 + (stage == 2 ? 0.1 * step : 0);
}

int main(void)
{
    static struct arena arena;
    const ppsched_environment environment = {.size = sizeof environment, .user = &arena, .allocate = take, .release = leave};
    ppsched_error error;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    double times[DEVICES];
    measure(times, 0);
    if (ppsched_config_create(&config, DEVICES, DEVICES, MICROBATCHES, &environment, &error) != PPSCHED_OK ||
        ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, times, DEVICES, &error) != PPSCHED_OK ||
        ppsched_schedule_generate(&schedule, config, "zb_h1", &error) != PPSCHED_OK ||
        ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error) != PPSCHED_OK)
        return fail(&error);

    size_t used = arena.used;
    for (int step = 0; step < STEPS; step++) {
        ppsched_metrics metrics = {.size = sizeof metrics};
        measure(times, step);
        if (ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, times, DEVICES, &error) != PPSCHED_OK ||
            ppsched_timeline_update(timeline, config, &error) != PPSCHED_OK ||
            ppsched_timeline_get_metrics(&metrics, timeline, &error) != PPSCHED_OK)
            return fail(&error);
        printf("step %d: makespan %.1f, bubble %.4f of total\n", step, metrics.makespan, metrics.bubble_of_total);
    }
    printf("%zu bytes more were taken\n", arena.used - used);

    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return arena.used != used;
}
