/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks all candidates for a problem, evaluated by two threads, and prints the launch arguments of the best candidate that
 * Megatron-LM can run. */
#include <pthread.h>
#include <stdio.h>

#include <ppsched/ppsched.h>

enum { THREADS = 2 };

static int fail(const ppsched_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

/* The part of a thread: every second candidate. A refused candidate keeps the reason. */
struct part {
    ppsched_plan *plan;
    uint32_t first;
    ppsched_status status;
    ppsched_error error;
};

static void *evaluate(void *argument)
{
    struct part *part = argument;
    for (uint32_t i = part->first; i < ppsched_plan_count(part->plan) && part->status == PPSCHED_OK; i += THREADS)
        part->status = ppsched_plan_evaluate(part->plan, i, &part->error);
    return NULL;
}

static int evaluate_all(ppsched_plan *plan)
{
    struct part parts[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        parts[i] = (struct part){.plan = plan, .first = i};
        if (pthread_create(&threads[i], NULL, evaluate, &parts[i]) != 0)
            return perror("pthread_create"), 1;
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        if (parts[i].status != PPSCHED_OK)
            return fail(&parts[i].error);
    return 0;
}

int main(void)
{
    const double limit = 10; /* memory of a device, if a stage pass holds 1 */
    const ppsched_plan_options options = {.size = sizeof options, .runtime = PPSCHED_RUNTIME_MEGATRON};
    ppsched_error error;
    ppsched_config *config = NULL;
    ppsched_plan *plan = NULL;
    if (ppsched_config_create(&config, 4, 4, 16, NULL, &error) != PPSCHED_OK ||
        ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1, &error) != PPSCHED_OK ||
        ppsched_plan_create(&plan, config, &options, &error) != PPSCHED_OK)
        return fail(&error);
    if (evaluate_all(plan) != 0)
        return 1;
    if (ppsched_plan_run(plan, &error) != PPSCHED_OK) /* ranks the candidates */
        return fail(&error);

    uint32_t best = ppsched_plan_candidate_at_rank(plan, 0);
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_timeline *timeline = NULL;
    char line[1000];
    const ppsched_launch_options launch = {.size = sizeof launch, .micro_batch = 1};
    if (ppsched_plan_get_candidate(&candidate, plan, best, &error) != PPSCHED_OK ||
        ppsched_plan_create_timeline(&timeline, plan, best, &error) != PPSCHED_OK ||
        ppsched_schedule_write_launch_arguments(line, sizeof line, NULL, ppsched_timeline_schedule(timeline),
                                                PPSCHED_RUNTIME_MEGATRON, &launch, &error) != PPSCHED_OK)
        return fail(&error);
    printf("%s, %u stages a device: step time %.2f, peak memory %.1f\n%s\n", candidate.strategy, candidate.chunks,
           candidate.step_time, candidate.peak_memory, line);

    ppsched_timeline_destroy(timeline);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    return 0;
}
