/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a job: takes the caller's options with their defaults, and lists the layouts. */
#include "job/job.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "launch/launch.h"
#include "strategy/strategy.h"

enum { MOST_GPUS = 1 << 20, USUAL_TOP = 10, USUAL_TOKENS = 1 << 22 };

double ppi_job_key(const ppsched_job *job, const ppsched_job_layout *layout, double seconds)
{
    return job->goal == PPSCHED_JOB_GOAL_TOKENS ? seconds / layout->global_batch : seconds;
}

ppsched_training ppi_job_training(const ppsched_job *job, const ppsched_job_layout *layout)
{
    ppsched_training training = job->training;
    training.micro_batch_size = layout->micro_batch_size;
    training.tensor_parallel = layout->tensor_parallel;
    training.context_parallel = layout->context_parallel;
    training.expert_parallel = layout->expert_parallel;
    training.expert_tensor_parallel = layout->expert_tensor_parallel;
    training.data_parallel = layout->data_parallel;
    training.sharding = layout->sharding;
    return training;
}

/* --- options --- */

static ppsched_status take_list(ppsched_job *job, const ppsched_job_list *list, ppsched_error *error)
{
    static const char *const names[PPI_JOB_DIMENSIONS] = {"tensor parallelism", "context parallelism",
                                                          "expert parallelism", "expert tensor parallelism",
                                                          "pipeline",           "chunks",
                                                          "micro-batch",        "sharding",
                                                          "global batch",       "rank order"};
    static const uint32_t mosts[PPI_JOB_DIMENSIONS] = {[PPSCHED_JOB_DIMENSION_SHARDING] = 3,
                                                       [PPSCHED_JOB_DIMENSION_GLOBAL_BATCH] = 1u << 30,
                                                       [PPSCHED_JOB_DIMENSION_RANK_ORDER] = PPSCHED_RANK_ORDER_PIPELINE_FIRST};
    ppsched_status status = ppi_check_choice("dimension", list->dimension, 0, PPI_JOB_DIMENSIONS - 1, error);
    if (status != PPSCHED_OK)
        return status;
    if (list->values == NULL || list->count == 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the list of %s has no values", names[list->dimension]);
    bool may_be_0 = list->dimension == PPSCHED_JOB_DIMENSION_SHARDING || list->dimension == PPSCHED_JOB_DIMENSION_RANK_ORDER;
    uint32_t least = may_be_0 ? 0 : 1, most = mosts[list->dimension] > 0 ? mosts[list->dimension] : MOST_GPUS;
    uint32_t *values = ppi_arena_take(&job->arena, list->count, sizeof *values);
    status = ppi_arena_check(&job->arena, "the lists", error);
    for (uint32_t i = 0; i < list->count && status == PPSCHED_OK; i++) {
        values[i] = list->values[i];
        if (values[i] < least || values[i] > most)
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %u; it must be %u to %u", names[list->dimension], values[i],
                              least, most);
    }
    job->values[list->dimension] = (struct ppi_job_values){values, list->count};
    return status;
}

static ppsched_status take_strategies(ppsched_job *job, const ppsched_job_options *options, ppsched_error *error)
{
    static const char *const usual[] = {"1f1b", "zb_h1", "interleaved_1f1b", "interleaved_zb", "zbv", "zb_auto"};
    const char *const *names = options->strategy_count > 0 ? options->strategies : usual;
    job->strategy_count = options->strategy_count > 0 ? options->strategy_count : (uint32_t)(sizeof usual / sizeof usual[0]);
    job->has_usual_strategies = options->strategy_count == 0;
    if (names == NULL || job->strategy_count > PPI_JOB_STRATEGIES)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "strategies must be a list of at most %d name%p",
                        (int)PPI_JOB_STRATEGIES);
    for (uint32_t i = 0; i < job->strategy_count; i++) {
        uint32_t number;
        ppsched_status status = ppi_strategy_find(names[i], &number, error);
        if (status != PPSCHED_OK)
            return status;
        const struct ppi_strategy *strategy = ppi_strategy_at(number);
        if (!strategy->flushes || strategy->offloads || strategy->is_for_slices || strategy->shares_head ||
            strategy->placement == PPSCHED_PLACEMENT_DEFAULT || strategy->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                            "%s: layouts are priced with strategies that flush, hold each stage once, run whole microbatches, "
                            "share no head and offload nothing",
                            strategy->name);
        job->strategies[i] = strategy->name;
    }
    return PPSCHED_OK;
}

/* The usual batch: a multiple of the largest divisor of the devices that is not above it, which most data parallelism
 * divides. */
static uint32_t usual_batch(const ppsched_job *job)
{
    uint32_t sequence = job->training.sequence_length > 0 ? job->training.sequence_length : 1;
    uint32_t batch = (USUAL_TOKENS + sequence - 1) / sequence, divisor = job->gpus < batch ? job->gpus : batch;
    while (job->gpus % divisor != 0)
        divisor--;
    return (batch + divisor - 1) / divisor * divisor;
}

static ppsched_status take_options(ppsched_job *job, const ppsched_job_options *options, ppsched_error *error)
{
    const struct ppi_runtime *runtime = NULL;
    ppsched_status status = ppi_check_choice("goal", options->goal, PPSCHED_JOB_GOAL_STEP, PPSCHED_JOB_GOAL_TOKENS, error);
    if (status == PPSCHED_OK && options->runtime != 0)
        status = ppi_runtime_find(&runtime, options->runtime, error);
    if (status == PPSCHED_OK && (options->gpus < 1 || options->gpus > MOST_GPUS))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "gpus is %u; it must be 1 to %d", options->gpus, (int)MOST_GPUS);
    if (status == PPSCHED_OK && !(options->memory_limit >= 0 && ppi_is_finite(options->memory_limit)))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "memory_limit is %g; it must be finite and at least 0",
                          options->memory_limit);
    if (status == PPSCHED_OK && options->list_count > 0 && options->lists == NULL)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "lists is NULL, and its count is not 0");
    for (uint32_t i = 0; i < options->list_count && status == PPSCHED_OK; i++)
        status = take_list(job, &options->lists[i], error);
    if (status != PPSCHED_OK)
        return status;
    job->gpus = options->gpus;
    job->goal = options->goal;
    job->runtime = options->runtime;
    job->top = options->top > 0 ? options->top : USUAL_TOP;
    job->limit = options->memory_limit > 0 ? options->memory_limit : job->base->device.memory;
    job->batch = usual_batch(job);
    return take_strategies(job, options, error);
}

/* --- all --- */

static ppsched_status fill(ppsched_job *job, const ppsched_description *description, const ppsched_accelerator *device,
                           const ppsched_job_options *options, ppsched_error *error)
{
    ppsched_training alone = job->training;
    alone.tensor_parallel = alone.context_parallel = alone.expert_parallel = alone.expert_tensor_parallel = 1;
    alone.data_parallel = alone.micro_batch_size = 1;
    alone.sharding = 0;
    ppsched_status status = options->type_count > 0
                                ? ppi_job_take_types(job, description, &alone, options, error)
                                : ppi_model_create(&job->base, description, &alone, device, options->table, &job->host, error);
    if (status == PPSCHED_OK && alone.flags >= PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE,
                          "flags of the training is %u; a search of layouts does not support windows of overlapped pairs",
                          alone.flags);
    if (status == PPSCHED_OK && options->table != NULL)
        status = ppi_job_take_table(job, options->table, error);
    if (status != PPSCHED_OK)
        return status;
    job->training.sequence_length = job->base->training.sequence_length;
    status = take_options(job, options, error);
    if (status == PPSCHED_OK)
        status = ppi_job_list(job, error);
    return status == PPSCHED_OK ? ppi_job_check_open_sizes(job, error) : status;
}

ppsched_status ppi_job_create(ppsched_job **out, const ppsched_description *description, const ppsched_training *training,
                              const ppsched_accelerator *device, const ppsched_job_options *options,
                              const struct ppi_host *host, ppsched_error *error)
{
    ppsched_job *job = ppi_allocate_zeroed(host, 1, sizeof *job);
    if (job == NULL)
        return ppi_fail_memory(error, "the job");
    job->host = *host;
    job->arena.host = &job->host;
    job->training = *training;
    ppsched_status status = fill(job, description, device, options, error);
    if (status == PPSCHED_OK)
        *out = job;
    else
        ppi_job_destroy(job);
    return status;
}

void ppi_job_destroy(ppsched_job *job)
{
    if (job == NULL)
        return;
    struct ppi_host host = job->host;
    ppi_arena_clear(&job->arena);
    for (uint32_t i = 0; i < job->type_count; i++)
        ppi_model_destroy(job->types[i].base);
    if (job->type_count == 0)
        ppi_model_destroy(job->base);
    ppi_release(&host, job->entries);
    ppi_release(&host, job->best);
    ppi_release(&host, job);
}
