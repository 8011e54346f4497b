/* SPDX-License-Identifier: Apache-2.0 */
/* The split for times that vary. The search for a split knows one vector of times: that of the average scenario, in which slow
 * devices are slow in all scenarios. Where times differ from scenario to scenario, layers then move while that improves the
 * time by which candidates are ranked. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"
#include "eval/timeline.h"
#include "scenario/scenario.h"

/* Scenarios by which moves are judged, and splits that are tried. Measured: docs/performance.md. */
enum { JUDGED_BY = 64, MOST_TRIES = 400 };

/* Visits counted for an op of a scenario, and for searching an order, by a quick and by a long search. */
enum { AN_OP = 4, AN_OP_OF_SEARCH = 300, AN_OP_OF_LONG = 10000 };

/* Whether the average says all: the same in each scenario, and no part of an op is left out. */
static bool is_one(const ppsched_plan *plan)
{
    const ppsched_scenario_options *options = &plan->scenarios;
    return !(options->jitter > 0) && !(options->message_jitter > 0) && options->dispatch == PPSCHED_DISPATCH_PLANNED &&
           options->device_factor_count <= plan->config->shape.devices && options->stage_factor_count == 0 &&
           plan->config->values[PPSCHED_QUANTITY_OP_OVERHEAD].values == NULL;
}

/* The best split for the average scenario becomes the candidate's. */
static ppsched_status split_average(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                    ppsched_progress_function progress, void *user, ppsched_error *error)
{
    ppsched_plan view = *plan;
    ppsched_config *average = NULL;
    ppsched_status status = ppi_average_config(&average, plan->config, &plan->scenarios, plan->scenario_count, error);
    if (status != PPSCHED_OK)
        return status;
    view.config = average;
    view.has_average = true;
    view.scenarios.device_factors = view.scenarios.link_factors = NULL;
    view.scenarios.device_factor_count = view.scenarios.link_factor_count = 0;
    if (!(view.scenarios.jitter > 0) && !(view.scenarios.message_jitter > 0))
        view.scenario_count = 0;
    status = ppi_candidate_split(&view, candidate, progress, user, error);
    ppi_candidate_drop_found(candidate); /* an order for average times */
    ppi_config_destroy(average);
    return status;
}

/* Some of the scenarios; all plans meet the same ones first. */
static ppsched_scenario_options first_scenarios(const ppsched_plan *plan, ppsched_scenario_options options, uint32_t count)
{
    if (options.device_factor_count > plan->config->shape.devices)
        options.device_factor_count = (size_t)count * plan->config->shape.devices;
    return options;
}

/* What a split is judged by: the time by which candidates are ranked; the time of a step as planned, where those are equal. */
struct judgement {
    double time, overshoot, step;
};

/* Rounds to 40 bits, as equal times are sums in several orders. */
static double rounded(double x)
{
    const double large = x * 8193;
    return ppi_is_finite(large) ? large - (large - x) : x;
}

/* Judges the present split over so many scenarios. */
static ppsched_status judge(struct judgement *out, const struct ppi_codesign *codesign, uint32_t count, ppsched_error *error)
{
    const ppsched_plan *plan = codesign->plan;
    struct ppi_ordered_scenarios ordered = {.lists = NULL};
    ppsched_config *config = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_scenarios *scenarios = NULL;
    const ppsched_schedule *order = NULL;
    ppsched_status status = ppi_candidate_config(&config, plan, codesign->candidate, error);
    if (status == PPSCHED_OK) {
        ppi_candidate_take_one(plan, codesign->candidate, config);
        status = ppi_candidate_timeline(&timeline, &order, plan, codesign->candidate, config,
                                        PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_candidate_order_scenarios(&ordered, plan, codesign->candidate, error);
    if (status == PPSCHED_OK) {
        const ppsched_scenario_options options = first_scenarios(plan, ordered.options, count);
        status = ppi_scenarios_run(&scenarios, order, config, count, &options, error);
    }
    if (status == PPSCHED_OK) {
        out->time = rounded(ppi_scenarios_figure(scenarios, plan->rank_by, plan->quantile));
        out->overshoot = ppi_overshoot_of(timeline);
        out->step = rounded(timeline->metrics.makespan);
    }
    ppi_release(&plan->host, ordered.lists);
    ppi_scenarios_destroy(scenarios);
    ppi_timeline_destroy(timeline);
    ppi_schedule_release(order);
    ppi_config_destroy(config);
    return status;
}

/* The scenarios by which moves are judged, at most `most`; one where all are alike. */
static uint32_t judged_by(const ppsched_plan *plan, uint32_t most)
{
    return is_one(plan) ? 1 : plan->scenario_count < most ? plan->scenario_count : most;
}

static ppsched_status price_by(bool *better, struct ppi_codesign *codesign, uint32_t count, ppsched_error *error)
{
    struct judgement now;
    ppsched_status status = judge(&now, codesign, count, error);
    *better = status == PPSCHED_OK && ppi_codesign_note_time(codesign, now.overshoot, now.time, now.step);
    return status;
}

static ppsched_status price(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    return price_by(better, codesign, judged_by(codesign->plan, JUDGED_BY), error);
}

static ppsched_status price_by_all(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    return price_by(better, codesign, judged_by(codesign->plan, UINT32_MAX), error);
}

/* The number of splits that are tried over so many scenarios. */
static uint64_t tries_of(const struct ppi_codesign *codesign, uint32_t count)
{
    const struct ppi_strategy *strategy = codesign->candidate->strategy;
    const uint64_t an_order = strategy->plan == NULL ? 0 : strategy->searches_long ? AN_OP_OF_LONG : AN_OP_OF_SEARCH;
    const uint64_t an_op = AN_OP * (uint64_t)count + an_order;
    const uint64_t tries = codesign->plan->most_visited / (an_op * ppi_codesign_ops(codesign));
    return tries < MOST_TRIES ? tries : MOST_TRIES;
}

/* Moves layers from the candidate's split while that helps in some scenarios; `*better`: it does so in all. */
static ppsched_status improve(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    const uint32_t all = judged_by(codesign->plan, UINT32_MAX);
    uint64_t tries = tries_of(codesign, judged_by(codesign->plan, JUDGED_BY));
    struct judgement before = {0, 0, 0}, after = {0, 0, 0};
    bool is_first;
    ppsched_status status = price(&is_first, codesign, error);
    *better = false;
    if (status != PPSCHED_OK || tries == 0 || !ppi_codesign_may_move(codesign))
        return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
    status = judge(&before, codesign, all, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_move_blocks(better, codesign, price, &tries, error);
    ppi_codesign_go_back(codesign);
    if (status == PPSCHED_OK && *better)
        status = judge(&after, codesign, all, error);
    *better = status == PPSCHED_OK && *better && after.overshoot <= before.overshoot &&
              (after.time < before.time || (after.time == before.time && after.step < before.step));
    return status;
}

/* Moves layers from the candidate's split while that helps over all scenarios, where these are more than judged the moves so
 * far. */
static ppsched_status improve_in_all(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    const uint32_t all = judged_by(codesign->plan, UINT32_MAX);
    uint64_t tries = tries_of(codesign, all);
    bool is_first;
    *better = false;
    if (all <= JUDGED_BY || tries == 0 || !ppi_codesign_may_move(codesign))
        return PPSCHED_OK;
    codesign->overshoot = codesign->time = PPI_INFINITE;
    ppsched_status status = price_by_all(&is_first, codesign, error);
    if (status != PPSCHED_OK)
        return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
    status = ppi_codesign_move_blocks(better, codesign, price_by_all, &tries, error);
    ppi_codesign_go_back(codesign);
    return status;
}

/* The same from a copy of the split, to which it goes back where nothing is gained. */
static ppsched_status improve_copy(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error)
{
    struct ppi_codesign codesign = {.plan = plan,
                                    .candidate = candidate,
                                    .overshoot = PPI_INFINITE,
                                    .time = PPI_INFINITE,
                                    .progress = progress,
                                    .user = user,
                                    .from = PPI_SPLIT_SHARE,
                                    .to = PPI_SPLIT_SHARE};
    const size_t stages = candidate->stages, layers = plan->layers->count;
    bool better = false;
    uint32_t *counts = ppi_allocate(&plan->host, 2 * stages, sizeof *counts);
    uint8_t *kinds = ppi_allocate(&plan->host, 2 * layers, sizeof *kinds);
    ppsched_status status = counts != NULL && kinds != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the splits");
    if (status == PPSCHED_OK) {
        codesign.layers = counts + stages;
        codesign.recomputes = kinds + layers;
        memcpy(counts, candidate->layers, stages * sizeof *counts);
        memcpy(kinds, candidate->recomputes, layers * sizeof *kinds);
        status = improve(&better, &codesign, error);
        if (!better) {
            memcpy(candidate->layers, counts, stages * sizeof *counts);
            memcpy(candidate->recomputes, kinds, layers * sizeof *kinds);
        }
    }
    if (status == PPSCHED_OK)
        status = improve_in_all(&better, &codesign, error);
    ppi_release(&plan->host, counts);
    ppi_release(&plan->host, kinds);
    return status;
}

ppsched_status ppi_candidate_split_varied(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                          ppsched_progress_function progress, void *user, ppsched_error *error)
{
    ppsched_status status = split_average(plan, candidate, progress, user, error);
    if (status == PPSCHED_OK)
        status = improve_copy(plan, candidate, progress, user, error);
    candidate->tried_all = candidate->tried_all && is_one(plan);
    candidate->proved = false;
    if (status != PPSCHED_OK)
        ppi_candidate_drop_split(plan, candidate);
    return status;
}
