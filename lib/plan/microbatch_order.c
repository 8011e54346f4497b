/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a candidate's microbatches if they differ in cost, and its step time over the plan's scenarios if times
 * vary. */
#include "base/error.h"
#include "eval/timeline.h"
#include "microbatches/order.h"
#include "plan/plan.h"
#include "scenario/scenario.h"

void ppi_candidate_drop_order(const ppsched_plan *plan, struct ppi_candidate *candidate)
{
    ppi_release(&plan->host, candidate->microbatch_order);
    candidate->microbatch_order = NULL;
}

/* Progress of one part of the work: its share runs from `from` to `to`. */
struct part {
    ppsched_progress_function progress;
    void *user;
    double from, to;
};

static int32_t tell_part(void *user, const ppsched_progress *progress)
{
    const struct part *part = user;
    const ppsched_progress told = {
        .size = sizeof told, .share = part->from + (part->to - part->from) * progress->share, .best = progress->best};
    return part->progress(part->user, &told);
}

/* The figures of the schedule that a strategy makes from a config. */
struct made {
    double overshoot, step;
};

static ppsched_status price(struct made *out, ppsched_schedule **schedule, const ppsched_plan *plan,
                            const struct ppi_candidate *candidate, const ppsched_config *config, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_generate(schedule, candidate->strategy, config, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&timeline, *schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    const ppsched_metrics *metrics = &timeline->metrics;
    *out = (struct made){ppi_overshoot_of(timeline),
                         plan->objective == PPSCHED_OBJECTIVE_SPAN ? metrics->span : metrics->makespan};
    ppi_timeline_destroy(timeline);
    return PPSCHED_OK;
}

/* A search makes another schedule for the new order. Drops the order if that schedule is worse. */
static ppsched_status keep_if_better(const ppsched_plan *plan, struct ppi_candidate *candidate, const struct made *before,
                                     const ppsched_config *ordered, struct part *part, ppsched_error *error)
{
    ppsched_schedule *schedule = NULL;
    struct made after;
    part->from = part->to;
    ppsched_status status = price(&after, &schedule, plan, candidate, ordered, error);
    ppi_schedule_release(schedule);
    if (status == PPSCHED_ERROR_REFUSED ||
        (status == PPSCHED_OK &&
         (after.overshoot > before->overshoot || (after.overshoot == before->overshoot && after.step > before->step)))) {
        ppi_candidate_drop_order(plan, candidate);
        return PPSCHED_OK;
    }
    return status;
}

static ppsched_status order_in(const ppsched_plan *plan, struct ppi_candidate *candidate, const ppsched_config *config,
                               struct part *part, ppsched_error *error)
{
    const ppsched_order_options options = {.size = sizeof options, .objective = plan->objective, .effort = plan->order_effort};
    ppsched_schedule *schedule = NULL;
    ppsched_config *ordered = NULL;
    struct made before;
    ppsched_status status = price(&before, &schedule, plan, candidate, config, error);
    part->from = part->to;
    part->to = PPI_ORDER_SHARE;
    if (status == PPSCHED_OK)
        status = ppi_order_microbatches(&ordered, candidate->microbatch_order, schedule, config, &options, error);
    if (status == PPSCHED_OK && candidate->strategy->plan != NULL)
        status = keep_if_better(plan, candidate, &before, ordered, part, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(ordered);
    return status;
}

ppsched_status ppi_candidate_order(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error)
{
    struct part part = {progress, user, 0, PPI_ORDER_SHARE / 2};
    ppsched_config *config = NULL;
    if (plan->order_effort == 0 || !ppi_microbatches_differ(plan->config))
        return PPSCHED_OK;
    ppsched_status status = ppi_candidate_config(&config, plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_candidate_take_one(plan, candidate, config);
    config->progress = progress != NULL ? tell_part : NULL;
    config->progress_user = &part;
    candidate->microbatch_order = ppi_allocate(&plan->host, candidate->microbatches, sizeof *candidate->microbatch_order);
    status = candidate->microbatch_order != NULL ? order_in(plan, candidate, config, &part, error)
                                                 : ppi_fail_memory(error, "the order of microbatches");
    if (status != PPSCHED_OK)
        ppi_candidate_drop_order(plan, candidate);
    ppi_config_destroy(config);
    return status;
}

/* --- scenarios --- */

ppsched_status ppi_candidate_take_scenarios(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                            const ppsched_schedule *schedule, const ppsched_config *config,
                                            ppsched_error *error)
{
    ppsched_scenarios *scenarios = NULL;
    struct ppi_ordered_scenarios ordered;
    if (plan->scenario_count == 0)
        return PPSCHED_OK;
    ppsched_status status = ppi_candidate_order_scenarios(&ordered, plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_scenarios_run(&scenarios, schedule, config, plan->scenario_count, &ordered.options, error);
    ppi_release(&plan->host, ordered.lists);
    if (status == PPSCHED_OK)
        candidate->scenario_time = ppi_scenarios_figure(scenarios, plan->rank_by, plan->quantile) / config->shape.iterations;
    ppi_scenarios_destroy(scenarios);
    return status;
}

double ppi_candidate_rank_time(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    return plan->rank_by == PPSCHED_RANK_BY_STEP ? ppi_candidate_step(plan, candidate) : candidate->scenario_time;
}
