/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/recycler.h"
#include "base/sort.h"
#include "eval/timeline.h"
#include "plan/restage.h"
#include "search/bound.h"

/* Candidates with layers that are looked at again, and nodes that their searches visit at least. */
enum { SECOND_LOOKS = 5 };
#define LEAST_SECOND_VISITS 25000000u

/* Whether the ends fit their stages, which candidates with the stages that there are would not tell. */
static ppsched_status fit_ends(const ppsched_config *config, const ppsched_plan_options *options, ppsched_error *error)
{
    ppsched_config *same = NULL;
    if (options->embedding == NULL && options->head == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_restage(&same, config, &config->shape, options->embedding, options->head, error);
    ppi_config_destroy(same);
    return status;
}

static ppsched_status fill(ppsched_plan *plan, const ppsched_config *config, const ppsched_plan_options *options,
                           ppsched_error *error)
{
    plan->host = config->host;
    plan->objective = options->objective != 0 ? options->objective : PPSCHED_OBJECTIVE_MAKESPAN;
    plan->lowering = options->lowering;
    plan->effort = options->effort;
    plan->channel = (ppsched_channel_model){.order = PPSCHED_CHANNEL_ORDER_NONE};
    if (options->channel != NULL)
        plan->channel = *options->channel;
    if (options->embedding != NULL)
        plan->embedding = *options->embedding;
    if (options->head != NULL)
        plan->head = *options->head;
    plan->layers = options->layers;
    if (plan->layers != NULL)
        ppi_layers_retain(plan->layers);
    plan->runtimes = options->runtimes;
    if (options->runtime != 0)
        ppi_runtime_find(&plan->runtime, options->runtime, NULL);
    plan->may_be_empty = options->empty_stages != 0 || (plan->runtime != NULL && plan->runtime->rules.may_be_empty);
    ppsched_status status = plan->layers == NULL ? fit_ends(config, options, error) : PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = ppi_config_copy(&plan->config, config, error);
    return status == PPSCHED_OK ? ppi_list_candidates(plan, options, error) : status;
}

ppsched_status ppi_plan_make(ppsched_plan **out, const ppsched_config *config, const ppsched_plan_options *options,
                             ppsched_error *error)
{
    ppsched_plan *plan = ppi_allocate_zeroed(&config->host, 1, sizeof *plan);
    if (plan == NULL)
        return ppi_fail_memory(error, "the plan");
    ppsched_status status = fill(plan, config, options, error);
    if (status != PPSCHED_OK) {
        ppi_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return PPSCHED_OK;
}

void ppi_plan_destroy(ppsched_plan *plan)
{
    if (plan == NULL)
        return;
    struct ppi_host host = plan->host;
    for (size_t i = 0; i < plan->count; i++) {
        ppi_release(&host, plan->candidates[i].reason);
        ppi_candidate_drop_split(plan, &plan->candidates[i]);
    }
    ppi_layers_release(plan->layers);
    ppi_release(&host, plan->candidates);
    ppi_release(&host, plan->order);
    ppi_config_destroy(plan->config);
    ppi_release(&host, plan);
}

/* --- ranking --- */

/* Those that fit, those over their limit, those refused. */
static int group_of(const struct ppi_candidate *candidate)
{
    return ppi_candidate_fits(candidate) ? 0 : ppi_candidate_runs(candidate) ? 1 : 2;
}

/* To 40 bits, so that sums of the same times in another order are equal. */
static double rounded(double x)
{
    double large = x * 8193;
    return ppi_is_finite(large) ? large - (large - x) : x;
}

static bool ranks_before(const ppsched_plan *plan, const struct ppi_candidate *a, const struct ppi_candidate *b)
{
    int group = group_of(a);
    if (group != group_of(b))
        return group < group_of(b);
    if (group == 2)
        return false;
    if (group == 1 && rounded(a->excess) != rounded(b->excess))
        return rounded(a->excess) < rounded(b->excess);
    double step = rounded(ppi_candidate_step(plan, a)), other = rounded(ppi_candidate_step(plan, b));
    if (step != other)
        return step < other;
    return rounded(a->metrics.peak_memory) < rounded(b->metrics.peak_memory);
}

static bool goes_before(const void *plan, uint32_t a, uint32_t b)
{
    const struct ppi_candidate *candidates = ((const ppsched_plan *)plan)->candidates;
    return ranks_before(plan, &candidates[a], &candidates[b]);
}

/* Equal ones stay in order. */
static ppsched_status rank(ppsched_plan *plan, ppsched_error *error)
{
    uint32_t *numbers = ppi_allocate(&plan->host, plan->count, 2 * sizeof *numbers);
    uint32_t *order = ppi_allocate(&plan->host, plan->count, sizeof *order);
    if (numbers == NULL || order == NULL) {
        ppi_release(&plan->host, numbers);
        ppi_release(&plan->host, order);
        return ppi_fail_memory(error, "the ranking");
    }
    for (size_t i = 0; i < plan->count; i++)
        numbers[i] = (uint32_t)i;
    const uint32_t *sorted = ppi_sort(numbers, numbers + plan->count, plan->count, goes_before, plan);
    for (size_t i = 0; i < plan->count; i++) {
        order[i] = sorted[i];
        plan->candidates[order[i]].rank = (uint32_t)i;
    }
    ppi_release(&plan->host, numbers);
    ppi_release(&plan->host, plan->order);
    plan->order = order;
    return PPSCHED_OK;
}

/* --- running --- */

/* What of the whole a candidate's own search is. */
struct share {
    const ppsched_plan *plan;
    size_t done;
    double best;
};

static int32_t tell_share(const struct share *whole, double share)
{
    const ppsched_config *config = whole->plan->config;
    size_t count = whole->plan->count;
    double done = count > 0 ? ((double)whole->done + share) / (double)count : 1;
    return ppi_config_tell(config, done, whole->best);
}

static int32_t tell(void *user, const ppsched_progress *progress)
{
    return tell_share(user, progress->share);
}

/* Evaluates all candidates; those of `view`, which stands for the plan but has memory of its own for each one's problem. */
static ppsched_status evaluate_all(const ppsched_plan *view, ppsched_plan *plan, ppsched_error *error)
{
    struct share share = {plan, 0, PPI_INFINITE};
    ppsched_progress_function progress = plan->config->progress != NULL ? tell : NULL;
    for (; share.done < plan->count; share.done++) {
        struct ppi_candidate *candidate = &plan->candidates[share.done];
        ppsched_status status = PPSCHED_OK;
        if (progress != NULL && tell_share(&share, 0) != 0)
            return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the plan was cancelled");
        if (!candidate->evaluated)
            status = ppi_candidate_evaluate(view, candidate, progress, &share, error);
        if (status != PPSCHED_OK)
            return status;
        if (ppi_candidate_fits(candidate))
            share.best = ppi_smaller(share.best, ppi_candidate_step(plan, candidate));
    }
    if (progress != NULL && tell_share(&share, 0) != 0)
        return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the plan was cancelled");
    return PPSCHED_OK;
}

/* Replaces a candidate by one whose split was searched for longer, where that is better. */
static ppsched_status look_again(ppsched_plan *plan, const ppsched_plan *view, struct ppi_candidate *candidate,
                                 ppsched_error *error)
{
    struct ppi_candidate again = *candidate;
    again.layers = NULL;
    again.recomputes = NULL;
    again.evaluated = false;
    ppsched_status status = ppi_candidate_evaluate(view, &again, NULL, NULL, error);
    struct ppi_candidate *worse = &again;
    if (status == PPSCHED_OK && ppi_candidate_fits(&again) && ranks_before(plan, &again, candidate)) {
        struct ppi_candidate old = *candidate;
        *candidate = again;
        again = old;
    } else if (again.reason != NULL) {
        ppi_release(&plan->host, again.reason);
    }
    ppi_candidate_drop_split(plan, worse);
    return status;
}

/* With layers the first few of the ranking are worth a longer search than each of all could get. */
static ppsched_status look_again_at_best(const ppsched_plan *view, ppsched_plan *plan, ppsched_error *error)
{
    ppsched_plan longer = *view;
    longer.most_visited = 8 * plan->most_visited > LEAST_SECOND_VISITS ? 8 * plan->most_visited : LEAST_SECOND_VISITS;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t rank = 0; rank < SECOND_LOOKS && rank < plan->count && status == PPSCHED_OK; rank++) {
        struct ppi_candidate *candidate = &plan->candidates[plan->order[rank]];
        if (plan->config->progress != NULL && ppi_config_tell(plan->config, 1, ppi_candidate_step(plan, candidate)) != 0)
            return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the plan was cancelled");
        if (ppi_candidate_fits(candidate) && candidate->strategy->plan == NULL && !candidate->proved)
            status = look_again(plan, &longer, candidate, error);
    }
    return status;
}

ppsched_status ppi_plan_run(ppsched_plan *plan, ppsched_error *error)
{
    struct ppi_recycler recycler;
    ppi_recycler_start(&recycler, &plan->host);
    ppsched_config problem = *plan->config;
    problem.host = ppi_recycler_host(&recycler);
    ppsched_plan view = *plan;
    view.config = &problem;
    ppsched_status status = evaluate_all(&view, plan, error);
    if (status == PPSCHED_OK)
        status = rank(plan, error);
    if (status == PPSCHED_OK && plan->layers != NULL && plan->count > 1) {
        status = look_again_at_best(&view, plan, error);
        status = status == PPSCHED_OK ? rank(plan, error) : status;
    }
    ppi_recycler_clear(&recycler);
    return status;
}

/* --- when nothing fits --- */

/* The peak of a candidate under another limit; infinite where it is refused there. */
static ppsched_status peak_under(double *out, const ppsched_plan *plan, struct ppi_candidate candidate, double limit,
                                 ppsched_error *error)
{
    candidate.memory_limit = limit;
    candidate.reason = NULL;
    candidate.layers = NULL;
    candidate.recomputes = NULL;
    ppsched_status status = ppi_candidate_evaluate(plan, &candidate, NULL, NULL, error);
    *out = ppi_candidate_runs(&candidate) ? candidate.metrics.peak_memory : PPI_INFINITE;
    ppi_release(&plan->host, candidate.reason);
    ppi_candidate_drop_split(plan, &candidate);
    return status;
}

/* The least limit that a strategy which plans within it is given: what any schedule needs. */
static ppsched_status bound_of(double *out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                               ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_bound bound;
    int32_t placement = candidate->placement != PPSCHED_PLACEMENT_DEFAULT ? candidate->placement
                                                                          : candidate->strategy->placement;
    ppsched_error reason;
    ppsched_status status = ppi_candidate_config(&config, plan, candidate, &reason);
    if (status == PPSCHED_OK)
        status = ppi_lower_bound(&bound, config, placement, 1, plan->objective, &reason);
    ppi_config_destroy(config);
    if (status == PPSCHED_OK)
        *out = bound.least_limit;
    else if (status != PPSCHED_ERROR_REFUSED && error != NULL)
        *error = reason;
    return status;
}

/* Lowers `*best` to the least limit under which a strategy that plans within it finds something: what any schedule needs, or
 * else what it needs under ever smaller limits. */
static ppsched_status search_least(double *best, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                   ppsched_error *error)
{
    double bound = 0, own = 0;
    ppsched_status status = PPSCHED_OK;
    if (plan->layers == NULL) { /* a candidate without a split has no costs that could be bounded */
        status = bound_of(&bound, plan, candidate, error);
        if (status == PPSCHED_ERROR_REFUSED || (status == PPSCHED_OK && bound >= *best))
            return PPSCHED_OK;
        if (status == PPSCHED_OK)
            status = peak_under(&own, plan, *candidate, bound, error);
        if (status == PPSCHED_OK && own <= bound * (1 + 1e-9)) {
            *best = own;
            return PPSCHED_OK;
        }
    }
    for (own = 0; status == PPSCHED_OK && own < *best;) {
        double limit = *best < PPI_INFINITE ? *best * (1 - 1e-6) : 1e300;
        status = peak_under(&own, plan, *candidate, limit, error);
        if (status == PPSCHED_OK && own > limit * (1 + 1e-9))
            break; /* refused, or over it */
        *best = status == PPSCHED_OK ? own : *best;
        own = 0;
    }
    return status;
}

ppsched_status ppi_plan_least_limit(double *out, uint32_t *index, const ppsched_plan *plan, ppsched_error *error)
{
    double least = PPI_INFINITE;
    size_t best = 0;
    for (size_t place = 0; place < plan->count; place++) {
        size_t i = ppi_candidate_at(plan, place);
        const struct ppi_candidate *candidate = &plan->candidates[i];
        if (candidate->strategy->plan == NULL && ppi_candidate_runs(candidate) && candidate->metrics.peak_memory < least) {
            least = candidate->metrics.peak_memory;
            best = i;
        }
    }
    for (size_t place = 0; place < plan->count; place++) {
        size_t i = ppi_candidate_at(plan, place);
        double before = least;
        ppsched_status status = plan->candidates[i].strategy->plan != NULL
                                    ? search_least(&least, plan, &plan->candidates[i], error)
                                    : PPSCHED_OK;
        if (status != PPSCHED_OK)
            return status;
        if (least < before)
            best = i;
    }
    if (!(least < PPI_INFINITE))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "no candidate can serve the problem under any memory limit");
    *out = least;
    if (index != NULL)
        *index = (uint32_t)best;
    return PPSCHED_OK;
}
