/* SPDX-License-Identifier: Apache-2.0 */
/* The split of a candidate's layers: for a rule the one that suits its order; else the best of some. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"
#include "eval/timeline.h"

void ppi_candidate_drop_split(const ppsched_plan *plan, struct ppi_candidate *candidate)
{
    ppi_release(&plan->host, candidate->layers);
    ppi_release(&plan->host, candidate->recomputes);
    candidate->layers = NULL;
    candidate->recomputes = NULL;
    candidate->proved = candidate->tried_all = false;
    candidate->min_group_size = 0;
}

/* `fixed`: stages a device that the strategy has, or 0. */
static ppsched_status check_blocks(uint32_t blocks, const ppsched_plan *plan, uint32_t stages, uint32_t fixed,
                                   ppsched_error *error)
{
    uint32_t devices = plan->config->shape.devices, least = plan->may_be_empty && stages > 2 ? 2 : stages;
    if (blocks >= least)
        return PPSCHED_OK;
    if (fixed > 1 && blocks >= fixed)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%u stages, %u a device, need %u layers that may be apart, and there are %u; take %u device%s at most",
                        stages, fixed, least, blocks, blocks / fixed, blocks / fixed == 1 ? "" : "s");
    if (blocks >= devices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%u stages need %u layers that may be apart, and there are %u; take %u stages at most", stages, least,
                        blocks, blocks / devices * devices);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "%u stages need %u layers that may be apart, and there %s %u; take %u device%s at most", stages, least,
                    blocks == 1 ? "is" : "are", blocks, blocks, blocks == 1 ? "" : "s");
}

/* What no split mends: a strategy of another number of stages a device, and one that the runtime never runs. */
static ppsched_status check_strategy(const struct ppi_candidate *candidate, const ppsched_plan *plan, ppsched_error *error)
{
    const struct ppi_strategy *strategy = candidate->strategy;
    struct ppi_task task = {.strategy = strategy, .shape = plan->config->shape};
    char nearest[200];
    ppsched_error reason;
    if (plan->runtime != NULL && plan->runtime->check_strategy != NULL &&
        plan->runtime->check_strategy(strategy, &plan->config->shape, error) != PPSCHED_OK)
        return PPSCHED_ERROR_REFUSED;
    if (strategy->chunks == 0 || candidate->stages == strategy->chunks * task.shape.devices)
        return PPSCHED_OK;
    task.shape.stages = candidate->stages;
    task.shape.microbatches = candidate->microbatches;
    task.shape.slices = candidate->slices;
    ppi_set_defaults(&task);
    ppi_serve(&task, &reason);
    ppi_suggest(nearest, sizeof nearest, &task);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s%s", reason.message, nearest);
}

/* A split to begin with: stages have as many layers, as far as they may be apart; of few the last stage gets one. */
static ppsched_status split_evenly(struct ppi_candidate *candidate, const ppsched_plan *plan, ppsched_error *error)
{
    const ppsched_layers *layers = plan->layers;
    const uint32_t stages = candidate->stages, blocks = ppi_count_blocks(layers);
    uint32_t layer = 0, block = 0;
    ppsched_status status = check_blocks(blocks, plan, stages, candidate->strategy->chunks, error);
    if (status != PPSCHED_OK)
        return status;
    memset(candidate->recomputes, 0, layers->count);
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t begin = layer, end = (uint32_t)((uint64_t)(s + 1) * blocks / stages);
        if (blocks < stages && s + 1 < stages)
            end = s + 1 < blocks ? s + 1 : blocks - 1;
        for (; block < end; block++)
            do
                layer++;
            while (layer < layers->count && !layers->is_cut[layer]);
        candidate->layers[s] = layer - begin;
    }
    return PPSCHED_OK;
}

bool ppi_candidate_is_even(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    int32_t own = candidate->strategy->placement;
    bool is_v = (own != PPSCHED_PLACEMENT_DEFAULT ? own : candidate->placement) == PPSCHED_PLACEMENT_V;
    return plan->runtime != NULL && ppi_rules_divide_evenly(&plan->runtime->rules, is_v);
}

/* By the runtime's rule where it has one. */
static ppsched_status split_first(struct ppi_candidate *candidate, const ppsched_plan *plan, ppsched_error *error)
{
    ppsched_status status = check_strategy(candidate, plan, error);
    if (status == PPSCHED_OK)
        status = split_evenly(candidate, plan, error);
    if (status == PPSCHED_OK && ppi_candidate_is_even(plan, candidate))
        status = ppi_divide_evenly(candidate->layers, plan->layers, candidate->stages, plan->runtime->title, error);
    return status;
}

/* --- one order --- */

static int32_t tell_part(void *user, const ppsched_progress *progress)
{
    const struct ppi_layering *layering = user;
    const ppsched_progress part = {.size = sizeof part,
                                   .share = layering->from + (layering->to - layering->from) * progress->share,
                                   .best = progress->best};
    return layering->progress(layering->user, &part);
}

ppsched_status ppi_layering_order(ppsched_schedule **out, ppsched_config **config, struct ppi_layering *layering,
                                  ppsched_error *error)
{
    ppsched_status status = ppi_candidate_config(config, layering->plan, layering->candidate, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_candidate_take_one(layering->plan, layering->candidate, *config);
    if (layering->progress != NULL) {
        (*config)->progress = tell_part;
        (*config)->progress_user = layering;
    }
    return ppi_generate(out, layering->candidate->strategy, *config, error);
}

ppsched_status ppi_layering_suit(struct ppi_layering *layering, const ppsched_config *config, const ppsched_schedule *schedule,
                                 ppsched_error *error)
{
    layering->from = layering->to; /* the search of the split tells no share of its own */
    return ppi_candidate_suit(layering->plan, layering->candidate, config, schedule, error);
}

ppsched_status ppi_layering_suit_for(struct ppi_layering *layering, uint64_t visits, const ppsched_config *config,
                                     const ppsched_schedule *schedule, ppsched_error *error)
{
    const ppsched_plan *plan = layering->plan;
    ppsched_plan view = *plan;
    view.most_visited = visits;
    layering->plan = &view;
    ppsched_status status = ppi_layering_suit(layering, config, schedule, error);
    layering->plan = plan;
    return status;
}

/* --- the best so far --- */

static double time_of(const ppsched_plan *plan, const ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_metrics metrics = ppi_candidate_metrics(timeline, config);
    return plan->objective == PPSCHED_OBJECTIVE_SPAN ? metrics.span : metrics.makespan;
}

bool ppi_layering_note(struct ppi_layering *layering, const ppsched_timeline *timeline, const ppsched_config *config)
{
    double lack = ppi_excess_of(timeline), time = time_of(layering->plan, timeline, config);
    if (lack > layering->lack || (lack == layering->lack && time >= layering->time))
        return false;
    layering->lack = lack;
    layering->time = time;
    memcpy(layering->layers, layering->candidate->layers, layering->candidate->stages * sizeof *layering->layers);
    memcpy(layering->recomputes, layering->candidate->recomputes, layering->plan->layers->count);
    return true;
}

ppsched_status ppi_layering_keep_better(bool *better, struct ppi_layering *layering, const ppsched_config *config,
                                        const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    *better = ppi_layering_note(layering, timeline, config);
    ppi_timeline_destroy(timeline);
    return PPSCHED_OK;
}

ppsched_status ppi_layering_try_order(bool *better, struct ppi_layering *layering, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_layering_order(&schedule, &config, layering, error);
    if (status == PPSCHED_OK)
        status = ppi_layering_keep_better(better, layering, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    return status;
}

void ppi_layering_go_back(struct ppi_layering *layering)
{
    memcpy(layering->candidate->layers, layering->layers, layering->candidate->stages * sizeof *layering->layers);
    memcpy(layering->candidate->recomputes, layering->recomputes, layering->plan->layers->count);
}

/* --- any --- */

/* Whether a rule's order follows from costs, by a number that the caller has not set. */
static bool takes_costs(const ppsched_plan *plan, const struct ppi_strategy *strategy)
{
    const struct ppi_option_row *row = ppi_option_for(strategy, PPI_ROLE_MIN_GROUP_SIZE);
    bool is_set = false;
    for (size_t i = 0; i < plan->config->option_count && row != NULL; i++)
        is_set |= strcmp(plan->config->options[i].name, row->name) == 0;
    return row != NULL && strategy->take_costs != NULL && !is_set;
}

/* A rule's order is the same for all splits. */
static ppsched_status suit_rule(struct ppi_layering *layering, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_layering_order(&schedule, &config, layering, error);
    if (status == PPSCHED_OK)
        status = ppi_candidate_ask_order(layering->plan, layering->candidate, schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_layering_suit(layering, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    return status;
}

/* The best of several splits that `find` keeps. */
static ppsched_status suit_best(struct ppi_layering *layering, ppsched_status (*find)(struct ppi_layering *, ppsched_error *),
                                ppsched_error *error)
{
    const struct ppi_host *host = &layering->plan->host;
    layering->layers = ppi_allocate(host, layering->candidate->stages, sizeof *layering->layers);
    layering->recomputes = ppi_allocate(host, layering->plan->layers->count, 1);
    layering->lack = layering->time = PPI_INFINITE;
    ppsched_status status = layering->layers != NULL && layering->recomputes != NULL ? find(layering, error)
                                                                                     : ppi_fail_memory(error, "the splits");
    if (status == PPSCHED_OK)
        ppi_layering_go_back(layering);
    ppi_release(host, layering->layers);
    ppi_release(host, layering->recomputes);
    return status;
}

ppsched_status ppi_candidate_split(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error)
{
    struct ppi_layering layering = {.plan = plan, .candidate = candidate, .progress = progress, .user = user};
    if (plan->layers == NULL || candidate->layers != NULL)
        return PPSCHED_OK;
    candidate->layers = ppi_allocate(&plan->host, candidate->stages, sizeof *candidate->layers);
    candidate->recomputes = ppi_allocate(&plan->host, plan->layers->count, 1);
    ppsched_status status = candidate->layers != NULL && candidate->recomputes != NULL ? PPSCHED_OK
                                                                                       : ppi_fail_memory(error, "the split");
    if (status == PPSCHED_OK)
        status = split_first(candidate, plan, error);
    if (status == PPSCHED_OK)
        status = candidate->offloads                      ? suit_best(&layering, ppi_layering_offload, error)
                 : candidate->strategy->plan != NULL      ? suit_best(&layering, ppi_layering_search, error)
                 : takes_costs(plan, candidate->strategy) ? suit_best(&layering, ppi_layering_distances, error)
                                                          : suit_rule(&layering, error);
    if (status != PPSCHED_OK)
        ppi_candidate_drop_split(plan, candidate);
    return status;
}
