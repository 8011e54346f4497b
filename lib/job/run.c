/* SPDX-License-Identifier: Apache-2.0 */
/* Prices layouts in the order of their bounds, until those that are left cannot be among the best. */
#include "base/checked.h"
#include "base/error.h"
#include "job/job.h"

static bool ranks_before(const ppsched_job *job, uint32_t a, uint32_t b)
{
    const struct ppi_job_entry *one = &job->entries[a], *other = &job->entries[b];
    if ((one->runs_on != 0) != (other->runs_on != 0))
        return one->runs_on != 0;
    double key = ppi_job_key(job, &one->layout, one->step_time), second = ppi_job_key(job, &other->layout, other->step_time);
    if (key != second)
        return key < second;
    return one->memory != other->memory ? one->memory < other->memory : a < b;
}

/* Puts a priced layout among the best, if it is one of them. */
static void rank(ppsched_job *job, uint32_t number)
{
    uint32_t place = job->best_count;
    while (place > 0 && ranks_before(job, number, job->best[place - 1]))
        place--;
    if (place == job->top)
        return;
    if (job->best_count < job->top)
        job->best_count++;
    for (uint32_t i = job->best_count - 1; i > place; i--)
        job->best[i] = job->best[i - 1];
    job->best[place] = number;
}

/* The key that a layout must not exceed to be among the best: that of the last of them, if all of these run. */
static double worst_key(const ppsched_job *job)
{
    if (job->best_count < job->top)
        return PPI_INFINITE;
    const struct ppi_job_entry *last = &job->entries[job->best[job->top - 1]];
    return last->runs_on != 0 ? ppi_job_key(job, &last->layout, last->step_time) : PPI_INFINITE;
}

static ppsched_status tell(const ppsched_job *job, uint32_t done, uint32_t all, ppsched_error *error)
{
    if (job->progress == NULL)
        return PPSCHED_OK;
    const ppsched_progress progress = {.size = sizeof progress,
                                       .share = all > 0 ? (double)done / all : 1,
                                       .best = job->best_count > 0 ? job->entries[job->best[0]].step_time : PPI_INFINITE};
    return job->progress(job->progress_user, &progress) != 0
               ? ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the search for layouts was cancelled")
               : PPSCHED_OK;
}

static ppsched_status price_next(ppsched_job *job, uint32_t number, double worst, ppsched_error *error)
{
    struct ppi_job_entry *entry = &job->entries[number];
    ppsched_price *price = NULL;
    ppsched_job_found found;
    double scale = ppi_job_key(job, &entry->layout, 1), above = worst / scale;
    above *= scale == 1 ? 1 : 1 + 0x1p-48; /* the division may round down, and the layout may rank with the same key */
    ppsched_status status = ppi_job_price(&price, &found, job, number, above, error);
    if (status != PPSCHED_OK)
        return status;
    entry->layout.state = found.state;
    if (found.state == PPSCHED_JOB_STATE_PRICED) {
        entry->runs_on = found.runs_on;
        entry->step_time = price->step.step_time;
        entry->memory = found.memory;
        rank(job, number);
    }
    ppi_price_destroy(price);
    return PPSCHED_OK;
}

static uint32_t count_possible(const ppsched_job *job)
{
    uint32_t count = 0;
    while (count < job->count && job->entries[count].layout.state != PPSCHED_JOB_STATE_OVER_LIMIT)
        count++;
    return count;
}

ppsched_status ppi_job_run(ppsched_job *job, ppsched_error *error)
{
    uint32_t possible = count_possible(job);
    if (job->has_run)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the job has run already");
    job->has_run = true;
    job->best = ppi_allocate(&job->host, job->top < possible ? job->top : possible, sizeof *job->best);
    if (job->best == NULL)
        return ppi_fail_memory(error, "the best layouts");
    job->top = job->top < possible || possible == 0 ? job->top : possible;
    ppsched_status status = tell(job, 0, possible, error);
    for (uint32_t i = 0; i < possible && status == PPSCHED_OK; i++) {
        double worst = worst_key(job);
        if (ppi_job_key(job, &job->entries[i].layout, job->entries[i].layout.bound) > worst)
            break;
        status = price_next(job, i, worst, error);
        if (status == PPSCHED_OK)
            status = tell(job, i + 1, possible, error);
    }
    if (status != PPSCHED_OK) {
        job->best_count = 0;
        return status;
    }
    for (uint32_t i = 0; i < possible; i++)
        if (job->entries[i].layout.state == PPSCHED_JOB_STATE_LISTED)
            job->entries[i].layout.state = PPSCHED_JOB_STATE_SLOWER;
    for (uint32_t i = 0; i < job->best_count; i++)
        job->entries[job->best[i]].layout.rank = i;
    return PPSCHED_OK;
}
