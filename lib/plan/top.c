/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the best candidates alone. All others are left out by a bound: of the placement, else of the order of some devices,
 * else of its times. The one with the least bound comes first, so few are evaluated. */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "candidate/outlook.h"

/* A candidate that is neither evaluated nor left out. */
struct hopeful {
    struct ppi_outlook outlook;
    enum ppi_outlook_depth depth;
    bool is_known; /* there is an outlook; without one it is evaluated, as it is refused */
    bool is_done;
};

struct search {
    ppsched_plan *plan;
    const ppsched_plan *view;
    struct hopeful *hopefuls;
    struct ppi_outlook_bounds known;
};

bool ppi_plan_may_leave_out(const ppsched_plan *plan)
{
    return plan->top > 0 && plan->top < plan->count && plan->layers == NULL && plan->order_effort == 0 &&
           plan->rank_by == PPSCHED_RANK_BY_STEP;
}

/* The candidate as good as its outlook allows. */
static struct ppi_candidate at_best(const struct search *search, size_t number)
{
    const struct ppi_outlook *outlook = &search->hopefuls[number].outlook;
    const struct ppi_candidate *twin = ppi_candidate_twin(search->plan, &search->plan->candidates[number]);
    struct ppi_candidate best = search->plan->candidates[number];
    if (twin != NULL && ppi_candidate_fits(twin))
        return *twin;
    best.evaluated = true;
    best.reason = NULL;
    best.metrics.limit_device = PPSCHED_NONE;
    best.metrics.makespan = best.metrics.span = outlook->step * search->plan->config->shape.iterations;
    best.metrics.peak_memory = outlook->memory;
    return best;
}

/* Whether so many others rank before a candidate, whatever its figures are, that it has none of the wanted ranks. */
static bool is_ruled_out(const struct search *search, size_t number)
{
    const ppsched_plan *plan = search->plan;
    const struct hopeful *hopeful = &search->hopefuls[number];
    const struct ppi_candidate best = at_best(search, number);
    uint32_t before = 0;
    for (size_t i = 0; i < plan->count && before < plan->top && hopeful->is_known; i++) {
        const struct ppi_candidate *other = &plan->candidates[i];
        if (!ppi_candidate_fits(other))
            continue;
        before += hopeful->outlook.is_over || ppi_candidate_ranks_before(plan, other, &best) ||
                  (i < number && !ppi_candidate_ranks_before(plan, &best, other));
    }
    return before >= plan->top;
}

/* Group sizes near the number of devices are mostly the best, and searches take long. */
static uint32_t distance_of(const struct search *search, size_t number)
{
    const struct ppi_candidate *candidate = &search->plan->candidates[number];
    const uint32_t devices = search->plan->config->shape.devices, group = candidate->group_size;
    if (candidate->strategy->plan != NULL)
        return PPSCHED_NONE;
    return group > devices ? group - devices : group > 0 ? devices - group : 0;
}

/* Whether a candidate is to be tried before another. */
static bool comes_before(const struct search *search, size_t a, size_t b)
{
    const struct hopeful *first = &search->hopefuls[a], *second = &search->hopefuls[b];
    if (first->outlook.is_over != second->outlook.is_over)
        return second->outlook.is_over;
    if (first->outlook.step != second->outlook.step)
        return first->outlook.step < second->outlook.step;
    return distance_of(search, a) < distance_of(search, b);
}

/* The next to be tried; the number of candidates after the last. */
static size_t next_of(const struct search *search)
{
    size_t next = search->plan->count;
    for (size_t i = 0; i < search->plan->count; i++)
        if (!search->hopefuls[i].is_done && (next == search->plan->count || comes_before(search, i, next)))
            next = i;
    return next;
}

/* Looks at a candidate, to its depth. */
static ppsched_status look(struct search *search, size_t number, ppsched_error *error)
{
    struct hopeful *hopeful = &search->hopefuls[number];
    struct ppi_candidate *candidate = &search->plan->candidates[number];
    ppsched_error reason;
    ppsched_status status = ppi_candidate_outlook(&hopeful->outlook, &search->known, search->view, candidate, hopeful->depth,
                                                  &reason);
    hopeful->is_known = status == PPSCHED_OK;
    if (hopeful->is_known)
        candidate->bound = hopeful->outlook.bound;
    if (status != PPSCHED_ERROR_NO_MEMORY)
        return PPSCHED_OK; /* what else is wrong is told where it is evaluated */
    if (error != NULL)
        *error = reason;
    return status;
}

static ppsched_status run(struct search *search, ppsched_error *error)
{
    ppsched_plan *plan = search->plan;
    struct ppi_plan_share share = {plan, 0, PPI_INFINITE};
    ppsched_status status = ppi_plan_go_on(&share, error);
    for (size_t i = 0; i < plan->count && status == PPSCHED_OK; i++) {
        search->hopefuls[i].is_done = plan->candidates[i].evaluated;
        share.done += plan->candidates[i].evaluated;
        if (!plan->candidates[i].evaluated)
            status = look(search, i, error);
    }
    for (size_t next; status == PPSCHED_OK && (next = next_of(search)) < plan->count;) {
        struct hopeful *hopeful = &search->hopefuls[next];
        bool is_out = is_ruled_out(search, next);
        if (!is_out && hopeful->is_known && hopeful->depth < ppi_outlook_depth_of(plan, &plan->candidates[next])) {
            hopeful->depth++;
            status = look(search, next, error);
            continue;
        }
        if (!is_out)
            status = ppi_plan_evaluate(search->view, &share, &plan->candidates[next],
                                       &(struct ppi_shared){.known = &search->known.any}, error);
        hopeful->is_done = true;
        share.done++;
        if (status == PPSCHED_OK)
            status = ppi_plan_go_on(&share, error);
    }
    return status;
}

ppsched_status ppi_plan_evaluate_top(const ppsched_plan *view, ppsched_plan *plan, ppsched_error *error)
{
    struct search search = {.plan = plan, .view = view};
    search.hopefuls = ppi_allocate_zeroed(&plan->host, plan->count, sizeof *search.hopefuls);
    if (search.hopefuls == NULL)
        return ppi_fail_memory(error, "the plan");
    ppsched_status status = run(&search, error);
    ppi_release(&plan->host, search.hopefuls);
    return status;
}
