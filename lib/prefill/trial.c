/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the schedule of a number of chunks, and evaluates it with the times of theirs. */
#include "prefill/trial.h"

#include "base/checked.h"
#include "base/error.h"

static ppsched_status put_chunks(ppsched_config *config, const double *times, const double *shares, const double *requests,
                                 uint32_t count, ppsched_error *error)
{
    static const double one[] = {0};
    ppsched_status status = ppi_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, times, count, error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, shares, count, error);
    return status == PPSCHED_OK ? ppi_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_REQUEST,
                                                        requests != NULL ? requests : one, requests != NULL ? count : 1, error)
                                : status;
}

ppsched_status ppi_config_with_chunks(ppsched_config **out, const ppsched_config *config, const double *times,
                                      const double *shares, const double *requests, uint32_t count, ppsched_error *error)
{
    ppsched_config *made = NULL;
    ppsched_status status = ppi_config_copy(&made, config, error);
    if (status != PPSCHED_OK)
        return status;
    made->shape.microbatches = count;
    status = put_chunks(made, times, shares, requests, count, error);
    if (status == PPSCHED_OK)
        *out = made;
    else
        ppi_config_destroy(made);
    return status;
}

void ppi_trial_clear(struct ppi_trial *trial)
{
    ppi_timeline_destroy(trial->timeline);
    ppi_schedule_release(trial->schedule);
    ppi_config_destroy(trial->made);
    trial->timeline = NULL;
    trial->schedule = NULL;
    trial->made = NULL;
}

/* The callback of a search for a schedule, as a part of all the work. */
static int32_t pass_on(void *user, const ppsched_progress *progress)
{
    const struct ppi_trial *trial = user;
    (void)progress;
    return ppi_config_tell(trial->config, trial->poll.told, trial->poll.best);
}

/* A new schedule, and its timeline. */
static ppsched_status start(struct ppi_trial *trial, uint32_t count, ppsched_error *error)
{
    ppi_trial_clear(trial);
    ppsched_status status = ppi_config_with_chunks(&trial->made, trial->config, trial->times, trial->shares, trial->requests,
                                                   count, error);
    if (status == PPSCHED_OK && trial->config->progress != NULL) {
        trial->made->progress = pass_on;
        trial->made->progress_user = trial;
    }
    if (status == PPSCHED_OK)
        status = ppi_generate(&trial->schedule, trial->strategy, trial->made, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&trial->timeline, trial->schedule, trial->made,
                              PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY | PPSCHED_EVALUATE_FLAG_REUSABLE, error);
    return status;
}

static ppsched_status time_again(struct ppi_trial *trial, uint32_t count, ppsched_error *error)
{
    ppsched_status status = put_chunks(trial->made, trial->times, trial->shares, trial->requests, count, error);
    return status == PPSCHED_OK ? ppi_timeline_update(trial->timeline, trial->made, error) : status;
}

ppsched_status ppi_trial_time(double *makespan, struct ppi_trial *trial, const uint32_t *ends, uint32_t count,
                              ppsched_error *error)
{
    const bool is_search = trial->strategy->plan != NULL; /* its order may depend on times */
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t begin = i > 0 ? ends[i - 1] : 0;
        trial->times[i] = ppi_chunk_time(trial->prompts, begin, ends[i]);
        trial->shares[i] = (double)(trial->prompts->tokens[ends[i]] - trial->prompts->tokens[begin]) /
                           (double)ppi_tokens_of_all(trial->prompts);
        if (trial->requests != NULL)
            trial->requests[i] = trial->prompts->owner[begin];
    }
    ppsched_status status = trial->timeline == NULL || is_search || trial->made->shape.microbatches != count
                                ? start(trial, count, error)
                                : time_again(trial, count, error);
    *makespan = status == PPSCHED_OK ? trial->timeline->metrics.makespan : PPI_INFINITE;
    if (status == PPSCHED_ERROR_REFUSED)
        status = PPSCHED_OK;
    if (status != PPSCHED_OK)
        return status;
    const double visits = (double)trial->config->shape.stages * count;
    trial->visits += visits;
    return ppi_poll_spend(&trial->poll, visits, error);
}

ppsched_status ppi_trial_refuse(struct ppi_trial *trial, uint32_t count, ppsched_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        trial->times[i] = trial->shares[i] = 1;
        if (trial->requests != NULL)
            trial->requests[i] = 0;
    }
    ppsched_status status = start(trial, count, error);
    return status != PPSCHED_OK ? status : ppi_fail(error, PPSCHED_ERROR_REFUSED, "no number of chunks is possible");
}
