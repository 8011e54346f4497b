/* SPDX-License-Identifier: Apache-2.0 */
/* List schedules of a problem of jobs: the op that can start first is next, and rules decide between equals. A window bounds
 * the microbatches under way, so that memory suffices for all of them to end. */
#include "base/checked.h"
#include "search/jobs.h"

/* Measured: docs/performance.md. */
enum { WINDOWS = 10 }; /* numbers of microbatches under way that are tried */

/* Which of two ops that could start at the same time goes first. */
enum rule { BACKWARDS_FIRST, FORWARDS_FIRST, LONG_FIRST, DEEP_FIRST, OLD_FIRST, BROAD_FIRST, RULES };

static double urgency_of(const struct ppi_job *job, enum rule rule)
{
    const double old = -(double)job->micro_slice, last = job->kind == PPSCHED_KIND_W ? -1e15 : 0;
    const bool is_backward = job->kind != PPSCHED_KIND_F;
    switch (rule) {
    case BACKWARDS_FIRST:
        return last + (is_backward ? 1e12 : 0) + old;
    case FORWARDS_FIRST:
        return last + (is_backward ? 0 : 1e12) + old;
    case LONG_FIRST:
        return last + job->tail;
    case DEEP_FIRST:
        return last + (is_backward ? 1e12 - job->stage * 1e6 : job->stage * 1e6) + old;
    case BROAD_FIRST:
        return last + (is_backward ? 0 : 1e12 - job->stage * 1e6) + old;
    default:
        return last + old;
    }
}

struct listing {
    struct ppi_jobs_search *search;
    enum rule rule;
    uint32_t window, under_way, done;
    uint32_t *missing; /* inputs, by op */
    uint32_t ready;    /* how many are in `search->waits` */
};

/* The earliest start of an op; infinite where memory or the window forbids it now. */
static double start_of(const struct listing *listing, const struct ppi_job *job)
{
    const struct ppi_jobs_search *search = listing->search;
    const double *limit = &search->jobs->limit[job->device], *level = &search->level[job->device];
    double start = search->clock[job->device];
    if (*level + ppi_larger(job->memory, job->rise) > *limit + *limit * PPI_ROUNDING)
        return PPI_INFINITE;
    if (job->kind == PPSCHED_KIND_F && job->stage == 0 && listing->under_way >= listing->window &&
        job->micro_slice % search->jobs->shape.slices == 0)
        return PPI_INFINITE;
    for (int i = 0; i < PPI_JOB_INPUTS && job->input[i] != PPSCHED_NONE; i++)
        start = ppi_larger(start, search->now->end[job->input[i]] + job->delay[i]);
    return start;
}

static void append(struct listing *listing, uint32_t id, double start)
{
    struct ppi_jobs_search *search = listing->search;
    const struct ppi_job *job = &search->jobs->job[id];
    const bool is_first = job->micro_slice % search->jobs->shape.slices == 0;
    search->now->end[id] = search->clock[job->device] = start + job->length;
    search->level[job->device] += job->memory;
    search->sequence[listing->done++] = id;
    if (job->kind == PPSCHED_KIND_F && job->stage == 0 && is_first)
        listing->under_way++;
    if ((job->kind == PPSCHED_KIND_B || job->kind == PPSCHED_KIND_W) && job->stage == 0 && is_first)
        listing->under_way--;
    for (int k = 0; k < PPI_JOB_INPUTS && job->next[k] != PPSCHED_NONE; k++)
        if (--listing->missing[job->next[k]] == 0)
            search->waits[listing->ready++] = job->next[k];
}

static void start_listing(struct listing *listing)
{
    struct ppi_jobs_search *search = listing->search;
    const struct ppi_jobs *jobs = search->jobs;
    listing->missing = search->waits + jobs->count;
    for (uint32_t d = 0; d < jobs->devices; d++)
        search->clock[d] = search->level[d] = 0;
    for (uint32_t i = 0; i < jobs->count; i++) {
        uint32_t inputs = 0;
        while (inputs < PPI_JOB_INPUTS && jobs->job[i].input[inputs] != PPSCHED_NONE)
            inputs++;
        listing->missing[i] = inputs;
        if (inputs == 0)
            search->waits[listing->ready++] = i;
    }
}

/* Lists all ops, the earliest start first; false where memory lets none go on. Counts its work. */
static bool list(struct ppi_jobs_search *search, enum rule rule, uint32_t window, double *visits)
{
    struct listing listing = {.search = search, .rule = rule, .window = window};
    const struct ppi_jobs *jobs = search->jobs;
    start_listing(&listing);
    while (listing.ready > 0) {
        uint32_t best = PPSCHED_NONE;
        double best_start = PPI_INFINITE, best_urgency = 0;
        for (uint32_t i = 0; i < listing.ready; i++) {
            const struct ppi_job *job = &jobs->job[search->waits[i]];
            double start = start_of(&listing, job), urgency = urgency_of(job, rule);
            if (start > best_start || start == PPI_INFINITE || (start == best_start && urgency <= best_urgency))
                continue;
            best = i;
            best_start = start;
            best_urgency = urgency;
        }
        *visits += listing.ready;
        if (best == PPSCHED_NONE)
            return false;
        uint32_t id = search->waits[best];
        search->waits[best] = search->waits[--listing.ready];
        append(&listing, id, best_start);
    }
    return true;
}

/* Windows: 1, 2, 3 and so on, at last all; each rule with each. */
ppsched_status ppi_jobs_list(struct ppi_jobs_search *search, ppsched_error *error)
{
    const struct ppi_jobs *jobs = search->jobs;
    const uint32_t all = jobs->shape.microbatches;
    const bool has_backwards = jobs->job[jobs->count - 1].kind != PPSCHED_KIND_F;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t w = has_backwards ? 0 : WINDOWS; w <= WINDOWS && status == PPSCHED_OK; w++) {
        const uint32_t window = w == WINDOWS || w + 1 > all ? all : w < 6 ? w + 1 : (w - 4) * jobs->devices / 2 + 1;
        for (int rule = 0; rule < RULES && status == PPSCHED_OK && search->best_time > jobs->least; rule++) {
            double visits = jobs->count;
            if (list(search, rule, window, &visits))
                ppi_jobs_offer(search, search->sequence);
            status = ppi_poll_spend(search->poll, visits, error);
            if (search->poll->is_stopped || (visits > 1e7 && rule >= 1))
                break;
        }
    }
    return status;
}
