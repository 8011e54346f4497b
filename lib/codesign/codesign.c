/* SPDX-License-Identifier: Apache-2.0 */
/* The split of a candidate's layers: for a fixed rule, the best for its order; for searches, the best of several splits with
 * their orders. */
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
    ppi_candidate_drop_found(candidate);
    candidate->proved = candidate->tried_all = false;
    candidate->min_group_size = 0;
}

/* `fixed`: the strategy's stages per device, or 0. */
static ppsched_status check_blocks(uint32_t blocks, const ppsched_plan *plan, uint32_t stages, uint32_t fixed,
                                   ppsched_error *error)
{
    uint32_t devices = plan->config->shape.devices, least = plan->may_be_empty && stages > 2 ? 2 : stages;
    if (blocks >= least)
        return PPSCHED_OK;
    if (fixed > 1 && blocks >= fixed)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%u stage%p, %u per device, need %u layer%p that can be separated, not %u; use at most %u device%s",
                        stages, fixed, least, blocks, blocks / fixed, blocks / fixed == 1 ? "" : "s");
    if (blocks >= devices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%u stage%p need %u layer%p that can be separated, not %u; use at most %u stage%p", stages, least,
                        blocks, blocks / devices * devices);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "%u stage%p need %u layer%p that can be separated, not %u; use at most %u device%s", stages, least, blocks,
                    blocks, blocks == 1 ? "" : "s");
}

/* Refuses what no split can change: another number of stages per device than the strategy's, and a strategy that the runtime
 * does not run. */
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

/* A first split: equally many layers per stage where cuts allow it; with few layers the last stage gets one. */
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

/* The first split, by the runtime's rule where it has one. */
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
    const struct ppi_codesign *codesign = user;
    const ppsched_progress part = {.size = sizeof part,
                                   .share = codesign->from + (codesign->to - codesign->from) * progress->share,
                                   .best = progress->best};
    return codesign->progress(codesign->user, &part);
}

/* Whether the present split is the best so far, and its order is kept. */
static bool has_order(const struct ppi_codesign *codesign)
{
    const struct ppi_candidate *candidate = codesign->candidate;
    return codesign->schedule != NULL &&
           memcmp(candidate->layers, codesign->layers, candidate->stages * sizeof *codesign->layers) == 0 &&
           memcmp(candidate->recomputes, codesign->recomputes, codesign->plan->layers->count) == 0;
}

ppsched_status ppi_codesign_order(ppsched_schedule **out, ppsched_config **config, struct ppi_codesign *codesign,
                                  ppsched_error *error)
{
    ppsched_status status = ppi_candidate_config(config, codesign->plan, codesign->candidate, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_candidate_take_one(codesign->plan, codesign->candidate, *config);
    if (codesign->progress != NULL) {
        (*config)->progress = tell_part;
        (*config)->progress_user = codesign;
    }
    if (has_order(codesign)) {
        ppi_schedule_retain(codesign->schedule);
        *out = (ppsched_schedule *)codesign->schedule;
        return PPSCHED_OK;
    }
    return ppi_generate(out, codesign->candidate->strategy, *config, error);
}

ppsched_status ppi_codesign_fit(struct ppi_codesign *codesign, const ppsched_config *config, const ppsched_schedule *schedule,
                                ppsched_error *error)
{
    codesign->from = codesign->to; /* the split search reports no share of progress itself */
    return ppi_candidate_fit(codesign->plan, codesign->candidate, config, schedule, error);
}

ppsched_status ppi_codesign_fit_for(struct ppi_codesign *codesign, uint64_t visits, const ppsched_config *config,
                                    const ppsched_schedule *schedule, ppsched_error *error)
{
    const ppsched_plan *plan = codesign->plan;
    ppsched_plan view = *plan;
    view.most_visited = visits;
    codesign->plan = &view;
    ppsched_status status = ppi_codesign_fit(codesign, config, schedule, error);
    codesign->plan = plan;
    return status;
}

/* --- the best so far --- */

static double time_of(const ppsched_plan *plan, const ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_metrics metrics = ppi_candidate_metrics(timeline, config);
    return plan->objective == PPSCHED_OBJECTIVE_SPAN ? metrics.span : metrics.makespan;
}

bool ppi_codesign_note_time(struct ppi_codesign *codesign, double overshoot, double time, double second)
{
    if (overshoot > codesign->overshoot || (overshoot == codesign->overshoot && time > codesign->time) ||
        (overshoot == codesign->overshoot && time == codesign->time && second >= codesign->second))
        return false;
    codesign->overshoot = overshoot;
    codesign->time = time;
    codesign->second = second;
    memcpy(codesign->layers, codesign->candidate->layers, codesign->candidate->stages * sizeof *codesign->layers);
    memcpy(codesign->recomputes, codesign->candidate->recomputes, codesign->plan->layers->count);
    return true;
}

bool ppi_codesign_note(struct ppi_codesign *codesign, const ppsched_timeline *timeline, const ppsched_config *config)
{
    return ppi_codesign_note_time(codesign, ppi_overshoot_of(timeline), time_of(codesign->plan, timeline, config), 0);
}

static void keep_order(struct ppi_codesign *codesign, const ppsched_schedule *schedule)
{
    ppi_schedule_retain(schedule);
    ppi_schedule_release(codesign->schedule);
    codesign->schedule = schedule;
}

ppsched_status ppi_codesign_keep_better(bool *better, struct ppi_codesign *codesign, const ppsched_config *config,
                                        const ppsched_schedule *schedule, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    *better = ppi_codesign_note(codesign, timeline, config);
    if (*better && codesign->candidate->strategy->plan != NULL)
        keep_order(codesign, schedule);
    ppi_timeline_destroy(timeline);
    return PPSCHED_OK;
}

ppsched_status ppi_codesign_try_order(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_codesign_order(&schedule, &config, codesign, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_keep_better(better, codesign, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    return status;
}

void ppi_codesign_go_back(struct ppi_codesign *codesign)
{
    memcpy(codesign->candidate->layers, codesign->layers, codesign->candidate->stages * sizeof *codesign->layers);
    memcpy(codesign->candidate->recomputes, codesign->recomputes, codesign->plan->layers->count);
}

/* --- any strategy --- */

/* Whether a rule's order depends on costs, by an option that the caller has not set. */
static bool takes_costs(const ppsched_plan *plan, const struct ppi_strategy *strategy)
{
    const struct ppi_option_row *row = ppi_option_for(strategy, PPI_ROLE_MIN_GROUP_SIZE);
    bool is_set = false;
    for (size_t i = 0; i < plan->config->option_count && row != NULL; i++)
        is_set |= strcmp(plan->config->options[i].name, row->name) == 0;
    return row != NULL && strategy->take_costs != NULL && !is_set;
}

/* The best split for a rule, whose order is the same for all splits. */
static ppsched_status fit_rule(struct ppi_codesign *codesign, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_codesign_order(&schedule, &config, codesign, error);
    if (status == PPSCHED_OK)
        status = ppi_candidate_ask_order(codesign->plan, codesign->candidate, schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_fit(codesign, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    return status;
}

/* The best of several splits, found by `find`. */
static ppsched_status fit_best(struct ppi_codesign *codesign, ppsched_status (*find)(struct ppi_codesign *, ppsched_error *),
                               ppsched_error *error)
{
    const struct ppi_host *host = &codesign->plan->host;
    codesign->layers = ppi_allocate(host, codesign->candidate->stages, sizeof *codesign->layers);
    codesign->recomputes = ppi_allocate(host, codesign->plan->layers->count, 1);
    codesign->overshoot = codesign->time = PPI_INFINITE;
    ppsched_status status = codesign->layers != NULL && codesign->recomputes != NULL ? find(codesign, error)
                                                                                     : ppi_fail_memory(error, "the splits");
    if (status == PPSCHED_OK)
        ppi_codesign_go_back(codesign);
    if (status == PPSCHED_OK && codesign->plan->order_effort == 0)
        codesign->candidate->found = codesign->schedule;
    else
        ppi_schedule_release(codesign->schedule);
    ppi_release(host, codesign->layers);
    ppi_release(host, codesign->recomputes);
    return status;
}

ppsched_status ppi_candidate_split(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error)
{
    struct ppi_codesign codesign = {.plan = plan, .candidate = candidate, .progress = progress, .user = user};
    if (plan->layers == NULL || candidate->layers != NULL)
        return PPSCHED_OK;
    if (ppi_codesign_varies(plan))
        return ppi_candidate_split_varied(plan, candidate, progress, user, error);
    candidate->layers = ppi_allocate(&plan->host, candidate->stages, sizeof *candidate->layers);
    candidate->recomputes = ppi_allocate(&plan->host, plan->layers->count, 1);
    ppsched_status status = candidate->layers != NULL && candidate->recomputes != NULL ? PPSCHED_OK
                                                                                       : ppi_fail_memory(error, "the split");
    if (status == PPSCHED_OK)
        status = split_first(candidate, plan, error);
    if (status == PPSCHED_OK)
        status = candidate->offloads                      ? fit_best(&codesign, ppi_codesign_offload, error)
                 : candidate->strategy->plan != NULL      ? fit_best(&codesign, ppi_codesign_search, error)
                 : takes_costs(plan, candidate->strategy) ? fit_best(&codesign, ppi_codesign_distances, error)
                                                          : fit_rule(&codesign, error);
    if (status != PPSCHED_OK)
        ppi_candidate_drop_split(plan, candidate);
    return status;
}
