/* SPDX-License-Identifier: Apache-2.0 */
/* If no candidate fits its memory limit: the least limit under which one fits. */
#include "base/checked.h"
#include "base/error.h"
#include "bound/bound.h"
#include "plan/plan.h"

/* With layers: the most rules and searches that are tried, the halvings for each, and the lower limits tried at last for the
 * best one, with longer searches. Measured: docs/performance.md. */
enum { MOST_RULES = 8, MOST_SEARCHES = 3, HALVINGS = 10, MOST_BELOW = 20, VISITS_BELOW = 8000000 };

/* The peak memory of a candidate under another limit; infinite if it is refused there. */
static ppsched_status peak_under(double *out, const ppsched_plan *plan, struct ppi_candidate candidate, double limit,
                                 ppsched_error *error)
{
    candidate.memory_limit = limit;
    candidate.reason = NULL;
    candidate.layers = NULL;
    candidate.recomputes = NULL;
    candidate.like = NULL;
    candidate.only_near = false;
    const uint32_t *device_order = candidate.device_order;
    ppsched_status status = ppi_candidate_evaluate(plan, &candidate, NULL, NULL, NULL, error);
    *out = ppi_candidate_runs(&candidate) ? candidate.metrics.peak_memory : PPI_INFINITE;
    ppi_release(&plan->host, candidate.reason);
    ppi_candidate_drop_split(plan, &candidate);
    if (candidate.device_order != device_order)
        ppi_release(&plan->host, candidate.device_order);
    return status;
}

/* The least limit worth trying with a search: what any schedule needs. */
static ppsched_status bound_of(double *out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                               ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_bound bound;
    int32_t placement = candidate->placement != PPSCHED_PLACEMENT_DEFAULT ? candidate->placement
                                                                          : candidate->strategy->placement;
    const struct ppi_bound_question question = {placement, plan->objective, 1, PPI_BOUND_SUMS};
    ppsched_error reason;
    ppsched_status status = ppi_candidate_config(&config, plan, candidate, &reason);
    if (status == PPSCHED_OK)
        status = ppi_lower_bound(&bound, config, &question, &reason);
    ppi_config_destroy(config);
    if (status == PPSCHED_OK)
        *out = bound.least_limit;
    else if (status != PPSCHED_ERROR_REFUSED && error != NULL)
        *error = reason;
    return status;
}

/* Lowers `*best` to the least limit under which a search finds a schedule. Tries what any schedule needs first, then ever
 * smaller limits. */
static ppsched_status search_least(double *best, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                   ppsched_error *error)
{
    double bound = 0, own = 0;
    ppsched_status status = bound_of(&bound, plan, candidate, error);
    if (status == PPSCHED_ERROR_REFUSED || (status == PPSCHED_OK && bound >= *best))
        return PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = peak_under(&own, plan, *candidate, bound, error);
    if (status == PPSCHED_OK && own <= bound * (1 + 1e-9)) {
        *best = own;
        return PPSCHED_OK;
    }
    for (own = 0; status == PPSCHED_OK && own < *best;) {
        double limit = *best < PPI_INFINITE ? *best * (1 - 1e-6) : 1e300;
        status = peak_under(&own, plan, *candidate, limit, error);
        if (status == PPSCHED_OK && own > limit * (1 + 1e-9))
            break; /* refused, or over the limit */
        *best = status == PPSCHED_OK ? own : *best;
        own = 0;
    }
    return status;
}

/* --- with stages --- */

/* Lowers `*least` to the peak memory of a candidate with offload, by halving from the least limit known. */
static ppsched_status halve_offloaded(double *least, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                      ppsched_error *error)
{
    double low = 0;
    for (int i = 0; i < HALVINGS && low < *least && *least < PPI_INFINITE; i++) {
        double own = PPI_INFINITE, middle = low + (*least - low) * 0.5;
        ppsched_status status = peak_under(&own, plan, *candidate, middle, error);
        if (status != PPSCHED_OK)
            return status;
        if (ppi_is_over_limit(own, middle))
            low = middle;
        else
            *least = own;
    }
    return PPSCHED_OK;
}

static ppsched_status least_of_stages(double *least, size_t *best, const ppsched_plan *plan, ppsched_error *error)
{
    for (size_t place = 0; place < plan->count; place++) {
        size_t i = ppi_candidate_at(plan, place);
        const struct ppi_candidate *candidate = &plan->candidates[i];
        if (candidate->strategy->plan == NULL && !candidate->offloads && ppi_candidate_runs(candidate) &&
            candidate->metrics.peak_memory < *least) {
            *least = candidate->metrics.peak_memory;
            *best = i;
        }
    }
    for (size_t place = 0; place < plan->count; place++) {
        size_t i = ppi_candidate_at(plan, place);
        double before = *least;
        bool searches = plan->candidates[i].strategy->plan != NULL;
        ppsched_status status = plan->candidates[i].offloads && searches ? PPSCHED_OK /* it would take too long */
                                : plan->candidates[i].offloads ? halve_offloaded(least, plan, &plan->candidates[i], error)
                                : searches                     ? search_least(least, plan, &plan->candidates[i], error)
                                                               : PPSCHED_OK;
        if (status != PPSCHED_OK)
            return status;
        if (*least < before)
            *best = i;
    }
    return PPSCHED_OK;
}

/* --- with layers, whose split and recomputation follow from the limit --- */

/* Lowers `*least` to `limit`, and sets `*held` to the peak memory, if the limit is smaller and the candidate fits. */
static ppsched_status try_limit(double *least, double *held, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                double limit, ppsched_error *error)
{
    double own = PPI_INFINITE;
    ppsched_status status = limit < *least ? peak_under(&own, plan, *candidate, limit, error) : PPSCHED_OK;
    if (status != PPSCHED_OK || ppi_is_over_limit(own, limit))
        return status;
    *least = limit;
    *held = own;
    return status;
}

/* Lowers `*least` by halving towards 0, then to the peak memory under the least limit found. */
static ppsched_status halve(double *least, const ppsched_plan *plan, const struct ppi_candidate *candidate, double held,
                            ppsched_error *error)
{
    double low = 0;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < HALVINGS && status == PPSCHED_OK; i++) {
        double middle = low + (*least - low) * 0.5;
        status = try_limit(least, &held, plan, candidate, middle, error);
        low = *least <= middle ? low : middle;
    }
    return status == PPSCHED_OK && held > low ? try_limit(least, &held, plan, candidate, held, error) : status;
}

/* Lowers `*least` to what a candidate needs. The first limit is the candidate's peak: of a rule under limit 0, of a search
 * without a limit, as a search finds nothing under limit 0. */
static ppsched_status least_of_candidate(double *least, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                         ppsched_error *error)
{
    double own = PPI_INFINITE, held = 0, before = *least;
    ppsched_status status = PPSCHED_OK;
    if (*least < PPI_INFINITE) {
        status = try_limit(least, &held, plan, candidate, *least * (1 - 1e-6), error);
    } else {
        status = peak_under(&own, plan, *candidate, candidate->strategy->plan == NULL ? 0 : 1e300, error);
        if (status == PPSCHED_OK && own < PPI_INFINITE)
            status = try_limit(least, &held, plan, candidate, own, error);
    }
    return status == PPSCHED_OK && *least < before ? halve(least, plan, candidate, held, error) : status;
}

/* Whether to try a candidate: the first of those that differ only in their limit, and of rules those that run. */
static bool is_worth(const ppsched_plan *plan, const struct ppi_candidate *candidate, bool is_search)
{
    return candidate->memory_limit == plan->candidates[0].memory_limit && (candidate->strategy->plan != NULL) == is_search &&
           (is_search || ppi_candidate_runs(candidate));
}

/* The rule that needs least memory among those that need more than `*peak`, or as much and come after `*place`. */
static bool next_rule(const ppsched_plan *plan, double *peak, size_t *place)
{
    double least = PPI_INFINITE;
    size_t best = plan->count;
    for (size_t at = 0; at < plan->count; at++) {
        const struct ppi_candidate *candidate = &plan->candidates[ppi_candidate_at(plan, at)];
        double own = candidate->metrics.peak_memory;
        if (!is_worth(plan, candidate, false) || own < *peak || (own == *peak && at <= *place) || own >= least)
            continue;
        least = own;
        best = at;
    }
    *peak = least;
    *place = best;
    return best < plan->count;
}

static ppsched_status try_candidate(double *least, size_t *best, const ppsched_plan *plan, size_t place, ppsched_error *error)
{
    size_t number = ppi_candidate_at(plan, place);
    double before = *least;
    ppsched_status status = least_of_candidate(least, plan, &plan->candidates[number], error);
    *best = *least < before ? number : *best;
    return status;
}

/* Goes on from the least limit so far in ever smaller steps, as a search that finds nothing under one limit may find a
 * schedule under a smaller one. */
static ppsched_status try_below(double *least, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    double step = 1.0 / 32;
    for (int i = 0; i < MOST_BELOW && step > 1.0 / 4096 && status == PPSCHED_OK; i++) {
        double before = *least, held = before;
        status = try_limit(least, &held, plan, candidate, before * (1 - step), error);
        if (status == PPSCHED_OK && held < *least)
            status = try_limit(least, &held, plan, candidate, held, error);
        step = *least < before ? step : step / 4;
    }
    return status;
}

/* Tries the rules that need least, then the searches that rank best, each with the shortest split search; then the best with a
 * longer split search, unless its strategy takes long. */
static ppsched_status least_of_layers(double *least, size_t *best, const ppsched_plan *plan, ppsched_error *error)
{
    ppsched_plan shorter = *plan;
    double peak = -1;
    size_t place = 0;
    ppsched_status status = PPSCHED_OK;
    shorter.most_visited = PPI_LEAST_VISITS;
    for (int i = 0; i < MOST_RULES && status == PPSCHED_OK && next_rule(plan, &peak, &place); i++)
        status = try_candidate(least, best, &shorter, place, error);
    int searches = 0;
    for (place = 0; place < plan->count && searches < MOST_SEARCHES && status == PPSCHED_OK; place++)
        if (is_worth(plan, &plan->candidates[ppi_candidate_at(plan, place)], true)) {
            status = try_candidate(least, best, &shorter, place, error);
            searches++;
        }
    if (status != PPSCHED_OK || !(*least < PPI_INFINITE) || plan->candidates[*best].strategy->searches_long)
        return status;
    shorter.most_visited = VISITS_BELOW;
    return try_below(least, &shorter, &plan->candidates[*best], error);
}

ppsched_status ppi_plan_least_limit(double *out, uint32_t *index, const ppsched_plan *plan, ppsched_error *error)
{
    double least = PPI_INFINITE;
    size_t best = 0;
    ppsched_status status = plan->layers != NULL ? least_of_layers(&least, &best, plan, error)
                                                 : least_of_stages(&least, &best, plan, error);
    if (status != PPSCHED_OK)
        return status;
    if (!(least < PPI_INFINITE))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "no candidate can solve the problem under any memory limit");
    *out = least;
    if (index != NULL)
        *index = (uint32_t)best;
    return PPSCHED_OK;
}
