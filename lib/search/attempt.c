/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the problem and its lower bound, and keeps the best schedule: the evaluator prices a candidate where the search's own
 * time is only an estimate. */
#include "search/attempt.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/inline.h"
#include "bound/bound.h"

/* A bound is a sum: by rounding, a schedule that reaches it may be above it by this share. */
static const double BOUND_ROUNDING = 1e-12;

static ppsched_status find_goal(struct ppi_attempt *attempt, enum ppi_bound_depth depth, ppsched_error *error)
{
    static const int32_t objectives[] = {PPSCHED_OBJECTIVE_SPAN, PPSCHED_OBJECTIVE_MAKESPAN};
    ppsched_bound bound;
    double value[2] = {0, 0};
    ppsched_status status = PPSCHED_OK;
    for (int32_t i = 0; i < 2 && status == PPSCHED_OK; i++) {
        const struct ppi_bound_question question = {.placement = attempt->placement,
                                                    .objective = objectives[i],
                                                    .unflushed = 1,
                                                    .depth = depth,
                                                    .poll = &attempt->poll};
        status = ppi_lower_bound(&bound, attempt->config, &question, error);
        value[i] = bound.value;
    }
    if (status == PPSCHED_OK)
        attempt->goal = ppi_objective(attempt->problem.span_share, value[0], value[1]) * (1 + BOUND_ROUNDING);
    return status;
}

/* Orders that own their ops, also after an error. */
static ppsched_status make_orders(struct ppi_orders *out, struct ppi_attempt *attempt, ppsched_error *error)
{
    out->ops = ppi_allocate(attempt->arena.host, ppi_orders_space(&attempt->problem), sizeof *out->ops);
    return ppi_orders_make_in(out, &attempt->arena, &attempt->problem, out->ops, error);
}

ppsched_status ppi_attempt_make(struct ppi_attempt *out, const void *asked, const char *name, const ppsched_config *config,
                                int32_t placement, bool by_span, ppsched_error *error)
{
    struct ppi_attempt attempt = {.asked = asked,
                                  .name = name,
                                  .config = config,
                                  .placement = placement,
                                  .poll = ppi_poll_start(config),
                                  .arena.host = &config->host,
                                  .objective = PPI_INFINITE};
    ppsched_status status = ppi_problem_make(&attempt.problem, &attempt.arena, config, placement, by_span, error);
    if (status == PPSCHED_OK)
        status = find_goal(&attempt, PPI_BOUND_SUMS, error);
    if (status == PPSCHED_OK)
        status = make_orders(&attempt.best, &attempt, error);
    if (status == PPSCHED_OK)
        status = make_orders(&attempt.candidate, &attempt, error);
    if (status == PPSCHED_OK)
        *out = attempt;
    else
        ppi_attempt_clear(&attempt);
    return status;
}

void ppi_attempt_clear(struct ppi_attempt *attempt)
{
    ppi_pricer_clear(&attempt->pricer);
    if (attempt->arena.host != NULL) { /* it was made */
        ppi_release(attempt->arena.host, attempt->best.ops);
        ppi_release(attempt->arena.host, attempt->candidate.ops);
    }
    attempt->best.ops = attempt->candidate.ops = NULL;
    ppi_arena_clear(&attempt->arena);
    ppi_config_destroy(attempt->expected); /* last: the arena uses its allocator */
    attempt->expected = NULL;
}

ppsched_op *ppi_attempt_release_best(struct ppi_attempt *attempt)
{
    ppsched_op *ops = attempt->best.ops;
    attempt->best.ops = NULL;
    return ops;
}

ppsched_status ppi_attempt_require_fit(const struct ppi_attempt *attempt, ppsched_error *error)
{
    if (ppi_problem_unfit_device(&attempt->problem) == PPSCHED_NONE)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s: no schedule fits the memory limit; the least limit that works is %g",
                    attempt->name, attempt->problem.least_limit);
}

ppsched_status ppi_attempt_repeat(struct ppi_attempt *attempt, uint32_t iterations, ppsched_error *error)
{
    if (attempt->problem.by_span)
        attempt->problem.span_share = 1.0 / iterations;
    return find_goal(attempt, PPI_BOUND_OPS, error);
}

void ppi_attempt_split_only(struct ppi_attempt *attempt)
{
    double work = attempt->problem.split_work * attempt->problem.microbatches;
    attempt->goal = ppi_larger(attempt->goal, work * (1 + BOUND_ROUNDING));
}

/* Searches plan with the mean of microbatches that differ, and ignore that senders wait; the evaluator does neither. */
static bool must_evaluate(const struct ppi_attempt *attempt)
{
    return attempt->problem.ratio != NULL || attempt->config->senders_wait;
}

static double true_objective(struct ppi_attempt *attempt, double reckoned)
{
    double objective = reckoned;
    if (!must_evaluate(attempt) || !ppi_is_finite(reckoned))
        return reckoned;
    ppsched_status status = ppi_attempt_price(attempt, &objective, NULL);
    attempt->is_out_of_memory |= status == PPSCHED_ERROR_NO_MEMORY;
    return status == PPSCHED_OK ? objective : PPI_INFINITE;
}

bool ppi_attempt_keeps_by_time(const struct ppi_attempt *attempt)
{
    return attempt->pool == NULL && !must_evaluate(attempt) && !(attempt->problem.rises && attempt->problem.has_limits);
}

void ppi_attempt_keep(struct ppi_attempt *attempt, double objective)
{
    struct ppi_orders best = attempt->candidate;
    bool fits = true;
    if (attempt->problem.rises && attempt->problem.has_limits && ppi_is_finite(objective))
        ppi_attempt_peak(attempt, &fits);
    if (!fits) /* planners only estimate the rise of memory inside backwards */
        return;
    objective = true_objective(attempt, objective);
    if (attempt->pool != NULL && ppi_is_finite(objective))
        ppi_pool_offer(attempt->pool, &best, objective);
    if (!(objective < attempt->objective))
        return;
    attempt->candidate = attempt->best;
    attempt->best = best;
    attempt->objective = attempt->poll.best = objective;
}

/* The most that a device holds while it runs the candidate's ops in order. */
PPI_INLINE double peak_of(const struct ppi_problem *problem, const ppsched_op *op, const ppsched_op *end, bool rises)
{
    double level = 0, peak = 0;
    for (; op < end; op++) {
        uint32_t micro_slice = op->microbatch * problem->slices + op->slice;
        if (rises)
            peak = ppi_larger(peak, level + ppi_problem_rise(problem, op->stage, op->kind, micro_slice));
        level += ppi_problem_memory(problem, op->stage, op->kind, micro_slice);
        peak = ppi_larger(peak, level);
    }
    return peak;
}

double ppi_attempt_peak(const struct ppi_attempt *attempt, bool *fits)
{
    double most = 0;
    *fits = true;
    for (uint32_t d = 0; d < attempt->problem.devices; d++) {
        const struct ppi_device *device = &attempt->problem.device[d];
        const ppsched_op *op = attempt->candidate.ops + attempt->candidate.first[d];
        const ppsched_op *end = op + attempt->candidate.count[d];
        double peak = attempt->problem.rises ? peak_of(&attempt->problem, op, end, true)
                                             : peak_of(&attempt->problem, op, end, false);
        *fits = *fits && !(peak > device->peak_limit + (device->peak_limit + device->fixed) * PPI_ROUNDING);
        most = ppi_larger(most, peak + device->fixed);
    }
    return most;
}

ppsched_status ppi_attempt_price(struct ppi_attempt *attempt, double *objective, ppsched_error *error)
{
    ppsched_status status = ppi_pricer_put(&attempt->pricer, attempt->config, attempt->placement, &attempt->candidate, error);
    return status == PPSCHED_OK ? ppi_pricer_time(&attempt->pricer, attempt->problem.span_share, objective, error) : status;
}

ppsched_status ppi_attempt_offer(struct ppi_attempt *attempt, ppsched_error *error)
{
    double objective;
    bool fits = true;
    if (attempt->problem.has_limits)
        ppi_attempt_peak(attempt, &fits);
    if (!fits)
        return ppi_attempt_spend(attempt, 1, error);
    ppsched_status status = ppi_attempt_price(attempt, &objective, error);
    if (status == PPSCHED_OK)
        ppi_attempt_keep(attempt, objective);
    return status == PPSCHED_ERROR_INVALID_SCHEDULE || status == PPSCHED_OK ? ppi_attempt_spend(attempt, 2, error) : status;
}
