/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that searches for the order of devices tries the order as given just as long as a plan without that search: all its
 * candidates are evaluated in that order, too, and each keeps what ranks first. So it is never worse than the other plan. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "plan/plan.h"

/* One of the two halves of a run. */
struct half {
    const ppsched_config *config; /* with the caller's progress function */
    double from;
};

static int32_t tell_half(void *user, const ppsched_progress *progress)
{
    const struct half *half = user;
    const ppsched_progress told = {.size = sizeof told, .share = half->from + 0.5 * progress->share, .best = progress->best};
    return half->config->progress(half->config->progress_user, &told);
}

/* Runs a plan as one half. */
static ppsched_status run_half(ppsched_plan *plan, double from, ppsched_error *error)
{
    struct half half = {plan->config, from};
    ppsched_config config = *plan->config;
    if (config.progress != NULL) {
        config.progress = tell_half;
        config.progress_user = &half;
    }
    plan->config = &config;
    ppsched_status status = ppi_plan_run_once(plan, error);
    plan->config = (ppsched_config *)half.config;
    return status;
}

/* Whether nothing is to be gained: it stands in the given order, or it is proved, or no order lets it run. */
static bool is_done(const struct ppi_candidate *candidate, uint32_t devices)
{
    uint32_t p = 0;
    while (candidate->device_order != NULL && p < devices && candidate->device_order[p] == p)
        p++;
    return candidate->evaluated && (candidate->reason != NULL || candidate->proved || p == devices);
}

/* The candidate before its evaluation, in the given order. */
static ppsched_status start_again(struct ppi_candidate *out, const ppsched_plan *plan, const struct ppi_candidate *from,
                                  ppsched_error *error)
{
    const uint32_t devices = plan->config->shape.devices;
    *out = *from;
    out->reason = NULL;
    out->layers = out->microbatch_order = NULL;
    out->recomputes = NULL;
    out->like = NULL;
    out->same = (struct ppi_same_kind){0};
    out->min_group_size = 0;
    out->scenario_time = 0;
    out->evaluated = out->proved = out->tried_all = out->only_near = out->is_chosen = false;
    out->device_order = ppi_allocate(&plan->host, devices, sizeof *out->device_order);
    for (uint32_t p = 0; p < devices && out->device_order != NULL; p++)
        out->device_order[p] = p;
    return out->device_order != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the device order");
}

static void drop_candidate(const ppsched_plan *plan, struct ppi_candidate *candidate)
{
    ppi_release(&plan->host, candidate->reason);
    ppi_candidate_drop_split(plan, candidate);
    ppi_candidate_drop_order(plan, candidate);
    ppi_release(&plan->host, candidate->device_order);
}

/* Takes the better of both; the bound stays that of all orders. */
static void merge(ppsched_plan *plan, struct ppi_candidate *free, struct ppi_candidate *given)
{
    if (ppi_candidate_ranks_before(plan, given, free)) {
        const struct ppi_candidate old = *free;
        *free = *given;
        *given = old;
        free->bound = old.reason == NULL ? ppi_smaller(old.bound, free->bound) : 0;
        free->proved = free->bound == ppi_candidate_step(plan, free);
        free->tried_all = false;
        free->like = NULL;
    }
    drop_candidate(plan, given);
}

/* Evaluates the candidates that stand in another order in the given one. Those that are done are lent to this run. */
static ppsched_status run_given(ppsched_plan *plan, bool *is_lent, ppsched_error *error)
{
    ppsched_plan given = *plan;
    size_t made = 0;
    bool any = false;
    ppsched_status status = PPSCHED_OK;
    given.orders_devices = false;
    given.order = NULL;
    given.rounds = 0;
    given.candidates = ppi_allocate(&plan->host, plan->count, sizeof *given.candidates);
    if (given.candidates == NULL)
        return ppi_fail_memory(error, "the plan");
    for (; made < plan->count && status == PPSCHED_OK; made++) {
        is_lent[made] = is_done(&plan->candidates[made], plan->config->shape.devices);
        if (is_lent[made])
            given.candidates[made] = plan->candidates[made];
        else
            status = start_again(&given.candidates[made], plan, &plan->candidates[made], error);
        any = any || !is_lent[made];
    }
    if (status == PPSCHED_OK && any)
        status = run_half(&given, 0.5, error);
    for (size_t i = 0; i < made; i++)
        if (is_lent[i])
            plan->candidates[i] = given.candidates[i];
        else if (status == PPSCHED_OK)
            merge(plan, &plan->candidates[i], &given.candidates[i]);
        else
            drop_candidate(plan, &given.candidates[i]);
    ppi_release(&plan->host, given.order);
    ppi_release(&plan->host, given.candidates);
    return status == PPSCHED_OK && any ? ppi_plan_rank(plan, error) : status;
}

ppsched_status ppi_plan_run(ppsched_plan *plan, ppsched_error *error)
{
    const bool was_ranked = plan->order != NULL;
    if (!plan->orders_devices)
        return ppi_plan_run_once(plan, error);
    bool *is_lent = ppi_allocate_zeroed(&plan->host, plan->count > 0 ? plan->count : 1, sizeof *is_lent);
    if (is_lent == NULL)
        return ppi_fail_memory(error, "the plan");
    ppsched_status status = run_half(plan, 0, error);
    if (status == PPSCHED_OK)
        status = run_given(plan, is_lent, error);
    ppi_release(&plan->host, is_lent);
    if (status == PPSCHED_OK || was_ranked)
        return status;
    ppi_release(&plan->host, plan->order);
    plan->order = NULL;
    for (size_t i = 0; i < plan->count; i++)
        plan->candidates[i].rank = PPSCHED_NONE;
    return status;
}
