/* SPDX-License-Identifier: Apache-2.0 */
/* The split of a candidate's layers: for a rule the one that suits its order; for a search, whose order follows from the split,
 * the best of some that suit the orders which it finds one after another. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "plan/layering.h"

/* Orders in turn that are no better, after which a search ends, alone and among many candidates; kinds of recomputation that it
 * is begun with. */
enum { MOST_IDLE = 4, MOST_IDLE_OF_MANY = 2, KINDS_TRIED = 4 };

void ppi_candidate_drop_split(const ppsched_plan *plan, struct ppi_candidate *candidate)
{
    ppi_release(&plan->host, candidate->layers);
    ppi_release(&plan->host, candidate->recomputes);
    candidate->layers = NULL;
    candidate->recomputes = NULL;
    candidate->proved = candidate->tried_all = false;
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
    uint32_t stages = candidate->stages, blocks = 1, layer = 0, block = 0;
    for (uint32_t i = 1; i < layers->count; i++)
        blocks += layers->is_cut[i];
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

/* --- orders that follow from the split --- */

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

/* The same with its own order. */
static ppsched_status keep_better(struct ppi_layering *layering, const ppsched_config *config, const ppsched_schedule *schedule,
                                  ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_layering_note(layering, timeline, config);
    ppi_timeline_destroy(timeline);
    return PPSCHED_OK;
}

/* Whether the runtime, if there is one, can be told that all layers have a kind which it reaches. */
static bool tells_all(const ppsched_plan *plan, const char *name)
{
    enum ppi_reach reach;
    return plan->runtime == NULL || plan->runtime->rules.may_recompute_any ||
           (ppi_rules_tell(&plan->runtime->rules, name, &reach) && ppi_reach_is_whole(plan->layers, reach, name));
}

/* The number of an entry's kind with a name that can be told of all layers, or 0. */
static uint8_t kind_of(const ppsched_plan *plan, uint32_t entry, const char *name)
{
    enum ppi_reach reach;
    if (plan->runtime == NULL || plan->runtime->rules.may_recompute_any)
        return ppi_kind_named(&plan->layers->entries[entry].given, name);
    ppi_rules_tell(&plan->runtime->rules, name, &reach);
    return ppi_reached_kind(plan->layers, entry, reach, name);
}

/* The one name of all layers with which least is left of them, as far as that can be told; NULL: there is none. */
static const char *lean_kind(const ppsched_plan *plan)
{
    const struct ppi_split_rules *rules = &plan->runtime->rules;
    if (rules->first != NULL && tells_all(plan, rules->first))
        return rules->first;
    for (int i = 0; i < PPI_ALL_KINDS; i++)
        if (rules->all[i] != NULL && tells_all(plan, rules->all[i]))
            return rules->all[i];
    return NULL;
}

/* Which kind of recomputation leaves least of an entry's layers, of those that can be told; 0: none. */
static uint8_t least_kind(const ppsched_plan *plan, uint32_t entry)
{
    const ppsched_layer *layer = &plan->layers->entries[entry].given;
    bool any = plan->runtime == NULL || plan->runtime->rules.may_recompute_any;
    const char *lean = any ? NULL : lean_kind(plan);
    double least = layer->mem_forward;
    uint8_t best = 0;
    if (!any)
        return lean != NULL ? kind_of(plan, entry, lean) : 0;
    for (uint32_t k = 0; k < layer->recompute_count; k++)
        if (layer->recomputes[k].mem_forward < least) {
            least = layer->recomputes[k].mem_forward;
            best = (uint8_t)(k + 1);
        }
    return best;
}

/* Recomputes all that can be; tells whether that is more than before. */
static bool save_memory(const struct ppi_layering *layering)
{
    const ppsched_layers *layers = layering->plan->layers;
    bool saves = false;
    for (uint32_t e = 0, i = 0; e < layers->entry_count; e++) {
        uint8_t least = least_kind(layering->plan, e);
        for (uint32_t n = 0; n < layers->entries[e].given.count; n++, i++) {
            saves |= layering->candidate->recomputes[i] != least;
            layering->candidate->recomputes[i] = least;
        }
    }
    return saves;
}

/* The first order: where the limit is too small for one, with all recomputed. */
static ppsched_status order_first(ppsched_schedule **out, ppsched_config **config, struct ppi_layering *layering,
                                  ppsched_error *error)
{
    ppsched_status status = ppi_layering_order(out, config, layering, error);
    if (status != PPSCHED_ERROR_REFUSED || !save_memory(layering))
        return status;
    ppi_config_destroy(*config);
    *config = NULL;
    return ppi_layering_order(out, config, layering, error);
}

/* The order for the split at hand, if the search finds one. */
static ppsched_status try_seed(struct ppi_layering *layering, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_layering_order(&schedule, &config, layering, error);
    if (status == PPSCHED_OK)
        status = keep_better(layering, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* Stages as they are, and all layers with the kind of a name. */
static ppsched_status try_kind(struct ppi_layering *layering, const char *name, ppsched_error *error)
{
    const ppsched_layers *layers = layering->plan->layers;
    for (uint32_t e = 0, i = 0; e < layers->entry_count; e++) {
        uint8_t kind = kind_of(layering->plan, e, name);
        for (uint32_t n = 0; n < layers->entries[e].given.count; n++)
            layering->candidate->recomputes[i++] = kind;
    }
    return try_seed(layering, error);
}

static ppsched_status try_kinds(struct ppi_layering *layering, ppsched_error *error)
{
    const ppsched_layers *layers = layering->plan->layers;
    const char *names[KINDS_TRIED];
    uint32_t count = 0;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t e = 0; e < layers->entry_count && status == PPSCHED_OK; e++) {
        const ppsched_layer *layer = &layers->entries[e].given;
        for (uint32_t k = 0; k < layer->recompute_count && count < KINDS_TRIED && status == PPSCHED_OK; k++) {
            bool is_known = !tells_all(layering->plan, layer->recomputes[k].name);
            for (uint32_t n = 0; n < count; n++)
                is_known |= strcmp(names[n], layer->recomputes[k].name) == 0;
            if (is_known)
                continue;
            names[count++] = layer->recomputes[k].name;
            status = try_kind(layering, names[count - 1], error);
        }
    }
    return status;
}

/* A rule with the same stages on the same devices. */
static const char *rule_like(const struct ppi_candidate *candidate)
{
    int32_t own = candidate->strategy->placement;
    int32_t placement = own != PPSCHED_PLACEMENT_DEFAULT ? own : candidate->placement;
    return placement == PPSCHED_PLACEMENT_V ? "zbv" : placement == PPSCHED_PLACEMENT_LOOP ? "interleaved_1f1b" : "1f1b";
}

/* The split that suits such a rule: found in a hurry. */
static ppsched_status try_rule(struct ppi_layering *layering, ppsched_error *error)
{
    ppsched_plan view = *layering->plan;
    struct ppi_candidate rule = *layering->candidate;
    uint32_t index = 0;
    view.most_visited = view.most_visited / 8 < PPI_LEAST_VISITS ? PPI_LEAST_VISITS : view.most_visited / 8;
    view.runtime = NULL; /* which may not run the rule */
    if (layering->plan->runtime != NULL && !layering->plan->runtime->rules.may_recompute_any)
        return PPSCHED_OK;
    ppsched_status status = ppi_strategy_find(rule_like(&rule), &index, error);
    rule.strategy = ppi_strategy_at(index);
    rule.layers = NULL;
    rule.recomputes = NULL;
    rule.group_size = ppi_option_for(rule.strategy, PPI_ROLE_GROUP_SIZE) != NULL ? view.config->shape.devices : 0;
    if (status == PPSCHED_OK)
        status = ppi_candidate_split(&view, &rule, NULL, NULL, error);
    if (status == PPSCHED_OK) {
        memcpy(layering->candidate->layers, rule.layers, rule.stages * sizeof *rule.layers);
        memcpy(layering->candidate->recomputes, rule.recomputes, view.layers->count);
        status = try_seed(layering, error);
    }
    ppi_candidate_drop_split(&view, &rule);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* The first order, whatever it is; and those of other splits, as an order under a limit is one for its own split. */
static ppsched_status try_seeds(struct ppi_layering *layering, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error reason;
    ppsched_status first = order_first(&schedule, &config, layering, &reason);
    if (first == PPSCHED_OK)
        first = ppi_candidate_ask_order(layering->plan, layering->candidate, schedule, &reason);
    if (first == PPSCHED_OK)
        first = keep_better(layering, config, schedule, &reason);
    bool is_limited = config != NULL && config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL;
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    ppsched_status status = first == PPSCHED_OK && is_limited ? try_kinds(layering, error) : PPSCHED_OK;
    if (status == PPSCHED_OK && first == PPSCHED_OK && is_limited)
        status = try_rule(layering, error);
    if (first != PPSCHED_OK && error != NULL)
        *error = reason;
    return first != PPSCHED_OK ? first : status;
}

void ppi_layering_go_back(struct ppi_layering *layering)
{
    memcpy(layering->candidate->layers, layering->layers, layering->candidate->stages * sizeof *layering->layers);
    memcpy(layering->candidate->recomputes, layering->recomputes, layering->plan->layers->count);
}

/* Looks for a split that suits the order, with so many visits. */
static ppsched_status suit_for(struct ppi_layering *layering, uint64_t visits, const ppsched_config *config,
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

static void drop_order(ppsched_schedule **schedule, ppsched_config **config)
{
    ppi_schedule_release(*schedule);
    ppi_config_destroy(*config);
    *schedule = NULL;
    *config = NULL;
}

/* The order for the split at hand, which is kept where it is better. */
static ppsched_status try_order(ppsched_schedule **schedule, ppsched_config **config, struct ppi_layering *layering,
                                ppsched_error *error)
{
    layering->from = layering->to;
    layering->to += (PPI_SPLIT_SHARE - layering->to) / (MOST_IDLE + 1);
    ppsched_status status = ppi_layering_order(schedule, config, layering, error);
    return status == PPSCHED_OK ? keep_better(layering, *config, *schedule, error) : status;
}

/* One order after another, from the best seed on, each for the split that suits the last one, which is searched for longer and
 * longer, until some in turn are no better; a search that finds no order for a split ends it too. */
static ppsched_status alternate(struct ppi_layering *layering, ppsched_error *error)
{
    const int most_idle = layering->plan->count > 1 ? MOST_IDLE_OF_MANY : MOST_IDLE;
    uint64_t left = layering->plan->most_visited, visits = PPI_LEAST_VISITS;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = try_seeds(layering, error);
    if (status == PPSCHED_OK) {
        ppi_layering_go_back(layering);
        status = try_order(&schedule, &config, layering, error);
    }
    for (int idle = 0; idle < most_idle && left > 0 && status == PPSCHED_OK; visits *= 2) {
        double lack = layering->lack, time = layering->time;
        visits = visits < left ? visits : left;
        left -= visits;
        status = suit_for(layering, visits, config, schedule, error);
        drop_order(&schedule, &config);
        if (status == PPSCHED_OK)
            status = try_order(&schedule, &config, layering, error);
        idle = layering->lack < lack || layering->time < time ? 0 : idle + 1;
    }
    drop_order(&schedule, &config);
    return status == PPSCHED_ERROR_REFUSED && layering->time < PPI_INFINITE ? PPSCHED_OK : status;
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

/* --- any --- */

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
        status = candidate->offloads                 ? suit_best(&layering, ppi_layering_offload, error)
                 : candidate->strategy->plan == NULL ? suit_rule(&layering, error)
                                                     : suit_best(&layering, alternate, error);
    if (status != PPSCHED_OK)
        ppi_candidate_drop_split(plan, candidate);
    return status;
}
