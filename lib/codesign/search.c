/* SPDX-License-Identifier: Apache-2.0 */
/* The split for a strategy that searches, whose order depends on the split: alternates between the order for a split and the
 * best split for that order; tries all splits where there are few, else moves near the best. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"

/* Orders in a row without gain after which a search ends, alone and among many candidates; recompute kinds for first
 * splits. Measured: docs/performance.md. */
enum { MOST_IDLE = 4, MOST_IDLE_OF_MANY = 2, KINDS_TRIED = 4 };

/* Visits counted per op for searching and pricing an order, by a quick and by a long search. */
enum { AN_ORDERED_OP = 300, AN_ORDERED_OP_OF_LONG = 10000 };

/* --- orders for a split --- */

/* Whether the runtime, if there is one, supports a choice for each layer. */
static bool may_recompute_any(const ppsched_plan *plan)
{
    return plan->runtime == NULL || plan->runtime->rules.may_recompute_any;
}

/* Whether the runtime can recompute, with one kind, all layers that it reaches. */
static bool tells_all(const ppsched_plan *plan, const char *name)
{
    enum ppi_reach reach;
    return may_recompute_any(plan) ||
           (ppi_rules_tell(&plan->runtime->rules, name, &reach) && ppi_reach_is_whole(plan->layers, reach, name));
}

/* The number of an entry's kind with a name that the runtime can use for all layers, or 0. */
static uint8_t kind_of(const ppsched_plan *plan, uint32_t entry, const char *name)
{
    enum ppi_reach reach;
    if (may_recompute_any(plan))
        return ppi_kind_named(&plan->layers->entries[entry].given, name);
    ppi_rules_tell(&plan->runtime->rules, name, &reach);
    return ppi_reached_kind(plan->layers, entry, reach, name);
}

/* The kind for all layers that saves most memory, assumed to be the runtime's first choice; NULL: none. */
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

/* The recompute kind with which an entry's layers hold least, of those that the runtime supports; 0: none. */
static uint8_t least_kind(const ppsched_plan *plan, uint32_t entry)
{
    const ppsched_layer *layer = &plan->layers->entries[entry].given;
    bool any = may_recompute_any(plan);
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

/* Recomputes all that can be recomputed; returns whether that is a change. */
static bool save_memory(const struct ppi_codesign *codesign)
{
    const ppsched_layers *layers = codesign->plan->layers;
    bool saves = false;
    for (uint32_t e = 0, i = 0; e < layers->entry_count; e++) {
        uint8_t least = least_kind(codesign->plan, e);
        for (uint32_t n = 0; n < layers->entries[e].given.count; n++, i++) {
            saves |= codesign->candidate->recomputes[i] != least;
            codesign->candidate->recomputes[i] = least;
        }
    }
    return saves;
}

/* The first order; where the limit is too small for one, with all recomputed. */
static ppsched_status order_first(ppsched_schedule **out, ppsched_config **config, struct ppi_codesign *codesign,
                                  ppsched_error *error)
{
    ppsched_status status = ppi_codesign_order(out, config, codesign, error);
    if (status != PPSCHED_ERROR_REFUSED || !save_memory(codesign))
        return status;
    ppi_config_destroy(*config);
    *config = NULL;
    return ppi_codesign_order(out, config, codesign, error);
}

/* Tries the order for the present split, if there is one. */
static ppsched_status try_seed(struct ppi_codesign *codesign, ppsched_error *error)
{
    bool better;
    ppsched_status status = ppi_codesign_try_order(&better, codesign, error);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* Tries the present stages with one kind for all layers. */
static ppsched_status try_kind(struct ppi_codesign *codesign, const char *name, ppsched_error *error)
{
    const ppsched_layers *layers = codesign->plan->layers;
    for (uint32_t e = 0, i = 0; e < layers->entry_count; e++) {
        uint8_t kind = kind_of(codesign->plan, e, name);
        for (uint32_t n = 0; n < layers->entries[e].given.count; n++)
            codesign->candidate->recomputes[i++] = kind;
    }
    return try_seed(codesign, error);
}

static ppsched_status try_kinds(struct ppi_codesign *codesign, ppsched_error *error)
{
    const ppsched_layers *layers = codesign->plan->layers;
    const char *names[KINDS_TRIED];
    uint32_t count = 0;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t e = 0; e < layers->entry_count && status == PPSCHED_OK; e++) {
        const ppsched_layer *layer = &layers->entries[e].given;
        for (uint32_t k = 0; k < layer->recompute_count && count < KINDS_TRIED && status == PPSCHED_OK; k++) {
            bool is_known = !tells_all(codesign->plan, layer->recomputes[k].name);
            for (uint32_t n = 0; n < count; n++)
                is_known |= strcmp(names[n], layer->recomputes[k].name) == 0;
            if (is_known)
                continue;
            names[count++] = layer->recomputes[k].name;
            status = try_kind(codesign, names[count - 1], error);
        }
    }
    return status;
}

ppsched_status ppi_candidate_follow_rule(struct ppi_candidate *candidate, const ppsched_plan *plan, ppsched_error *error)
{
    const int32_t own = candidate->strategy->placement;
    const int32_t placement = own != PPSCHED_PLACEMENT_DEFAULT ? own : candidate->placement;
    const char *name = placement == PPSCHED_PLACEMENT_V      ? "zbv"
                       : placement == PPSCHED_PLACEMENT_LOOP ? "interleaved_1f1b"
                                                             : "1f1b";
    uint32_t index = 0;
    ppsched_status status = ppi_strategy_find(name, &index, error);
    candidate->strategy = ppi_strategy_at(index);
    candidate->group_size = ppi_option_for(candidate->strategy, PPI_ROLE_GROUP_SIZE) != NULL ? plan->config->shape.devices : 0;
    return status;
}

/* Tries the best split for such a rule, found with so many visits. */
static ppsched_status try_rule(struct ppi_codesign *codesign, uint64_t visits, ppsched_error *error)
{
    ppsched_plan view = *codesign->plan;
    struct ppi_candidate rule = *codesign->candidate;
    view.most_visited = visits;
    view.runtime = NULL; /* as it may not run the rule */
    if (!may_recompute_any(codesign->plan))
        return PPSCHED_OK;
    ppsched_status status = ppi_candidate_follow_rule(&rule, &view, error);
    rule.layers = NULL;
    rule.recomputes = NULL;
    if (status == PPSCHED_OK)
        status = ppi_candidate_split(&view, &rule, NULL, NULL, error);
    if (status == PPSCHED_OK) {
        memcpy(codesign->candidate->layers, rule.layers, rule.stages * sizeof *rule.layers);
        memcpy(codesign->candidate->recomputes, rule.recomputes, view.layers->count);
        status = try_seed(codesign, error);
    }
    ppi_candidate_drop_split(&view, &rule);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

static void drop_order(ppsched_schedule **schedule, ppsched_config **config)
{
    ppi_schedule_release(*schedule);
    ppi_config_destroy(*config);
    *schedule = NULL;
    *config = NULL;
}

/* Makes the order for the present split, and keeps both where they are better. */
static ppsched_status try_order(ppsched_schedule **schedule, ppsched_config **config, struct ppi_codesign *codesign,
                                ppsched_error *error)
{
    codesign->from = codesign->to;
    codesign->to += (PPI_SPLIT_SHARE - codesign->to) / (MOST_IDLE + 1);
    ppsched_status status = ppi_codesign_order(schedule, config, codesign, error);
    bool better;
    return status == PPSCHED_OK ? ppi_codesign_keep_better(&better, codesign, *config, *schedule, error) : status;
}

/* Tries the first order and, with a limit, those of other splits, as such an order fits its own split best. `*reason`: why
 * there is no first one. REFUSED where the runtime does not run it. */
static ppsched_status try_seeds(struct ppi_codesign *codesign, ppsched_error *reason, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    const uint64_t whole = codesign->plan->most_visited; /* reports no progress: at most the usual effort */
    const uint64_t hurry = (whole < PPI_MOST_VISITS ? whole : PPI_MOST_VISITS) / 8;
    const uint64_t most = hurry < PPI_LEAST_VISITS ? PPI_LEAST_VISITS : hurry;
    bool better, is_limited = ppi_codesign_is_limited(codesign);
    ppsched_status first = order_first(&schedule, &config, codesign, reason), status = first;
    if (status == PPSCHED_OK)
        status = ppi_candidate_ask_order(codesign->plan, codesign->candidate, schedule, reason);
    if (status == PPSCHED_OK)
        status = ppi_codesign_keep_better(&better, codesign, config, schedule, reason);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    if (status != PPSCHED_OK && first != PPSCHED_ERROR_REFUSED) {
        if (error != NULL)
            *error = *reason;
        return status;
    }
    status = is_limited ? try_kinds(codesign, error) : PPSCHED_OK;
    for (uint64_t visits = PPI_LEAST_VISITS; is_limited && visits <= most && status == PPSCHED_OK; visits *= 8)
        status = try_rule(codesign, visits, error);
    return status;
}

/* Alternates from the best split on: an order for the split, then the best split for the order, with twice the visits each
 * time, until some in a row are no better, or there is no order for a split. */
static ppsched_status alternate(struct ppi_codesign *codesign, ppsched_error *error)
{
    const int most_idle = codesign->plan->count > 1 ? MOST_IDLE_OF_MANY : MOST_IDLE;
    uint64_t left = codesign->plan->most_visited, visits = PPI_LEAST_VISITS;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppi_codesign_go_back(codesign);
    ppsched_status status = try_order(&schedule, &config, codesign, error);
    for (int idle = 0; idle < most_idle && left > 0 && status == PPSCHED_OK; visits *= 2) {
        double overshoot = codesign->overshoot, time = codesign->time;
        visits = visits < left ? visits : left;
        left -= visits;
        status = ppi_codesign_fit_for(codesign, visits, config, schedule, error);
        drop_order(&schedule, &config);
        if (status == PPSCHED_OK)
            status = try_order(&schedule, &config, codesign, error);
        idle = codesign->overshoot < overshoot || codesign->time < time ? 0 : idle + 1;
    }
    drop_order(&schedule, &config);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* On devices that differ: tries the order for the split that gives each device layers by its speed. */
static ppsched_status try_balanced(struct ppi_codesign *codesign, ppsched_error *error)
{
    const struct ppi_same_kind same = codesign->candidate->same;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    bool better = false;
    ppi_codesign_go_back(codesign);
    ppsched_status status = ppi_codesign_order(&schedule, &config, codesign, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_fit_for(codesign, 0, config, schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_codesign_try_order(&better, codesign, error);
    if (!better)
        codesign->candidate->same = same;
    drop_order(&schedule, &config);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* --- splits one by one --- */

/* Prices the present split without recomputation and, with a limit, with each kind for all layers. */
static ppsched_status price_kinds(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    double overshoot = codesign->overshoot, time = codesign->time;
    memset(codesign->candidate->recomputes, 0, codesign->plan->layers->count);
    ppsched_status status = try_seed(codesign, error);
    if (status == PPSCHED_OK && ppi_codesign_is_limited(codesign))
        status = try_kinds(codesign, error);
    *better = codesign->overshoot < overshoot || codesign->time < time;
    return status;
}

/* Prices the present split with all recompute choices. */
static ppsched_status price_all_kinds(bool *better, struct ppi_codesign *codesign, ppsched_error *error)
{
    return ppi_codesign_price_all_kinds(better, codesign, ppi_codesign_try_order, error);
}

bool ppi_codesign_may_move(const struct ppi_codesign *codesign)
{
    bool any = false;
    for (uint32_t i = 0; i < codesign->plan->layers->count; i++)
        any |= codesign->recomputes[i] != 0;
    return !ppi_candidate_is_even(codesign->plan, codesign->candidate) &&
           (!any || may_recompute_any(codesign->plan) || codesign->plan->runtime->rules.first == NULL);
}

/* Moves and kinds near the best split, while they help. */
static ppsched_status look_near(struct ppi_codesign *codesign, uint64_t tries, ppsched_error *error)
{
    const bool changes_kinds = ppi_codesign_is_limited(codesign) && may_recompute_any(codesign->plan);
    ppsched_status status = PPSCHED_OK;
    codesign->from = codesign->to;
    for (bool goes_on = true; goes_on && tries > 0 && status == PPSCHED_OK;) {
        bool moved;
        goes_on = false;
        if (ppi_codesign_may_move(codesign))
            status = ppi_codesign_move_blocks(&moved, codesign, ppi_codesign_try_order, &tries, error);
        if (status == PPSCHED_OK && changes_kinds)
            status = ppi_codesign_change_kinds(&goes_on, codesign, ppi_codesign_try_order, &tries, error);
    }
    return status;
}

/* The number of orders for so many visits. */
static uint64_t orders_of(const struct ppi_codesign *codesign, uint64_t visits)
{
    return visits / ((codesign->candidate->strategy->searches_long ? AN_ORDERED_OP_OF_LONG : AN_ORDERED_OP) *
                     ppi_codesign_ops(codesign));
}

ppsched_status ppi_codesign_search(struct ppi_codesign *codesign, ppsched_error *error)
{
    const ppsched_plan *plan = codesign->plan;
    const bool is_limited = ppi_codesign_is_limited(codesign);
    const double splits = ppi_codesign_count_splits(codesign), kinds = ppi_codesign_count_kinds(codesign);
    const uint64_t visits = plan->small_visited > plan->most_visited ? plan->small_visited : plan->most_visited;
    const double orders = (double)orders_of(codesign, visits);
    const bool all_kinds = splits * kinds <= orders && is_limited && may_recompute_any(plan);
    const bool all_splits = all_kinds || splits * (is_limited ? 1 + KINDS_TRIED : 1) <= orders;
    ppsched_error reason;
    ppsched_status status = try_seeds(codesign, &reason, error);
    codesign->from = codesign->to;
    if (status == PPSCHED_OK && all_splits)
        status = ppi_codesign_try_all(codesign, all_kinds ? price_all_kinds : price_kinds, error);
    if (status == PPSCHED_OK && codesign->time < PPI_INFINITE && !all_kinds)
        status = alternate(codesign, error);
    if (status == PPSCHED_OK && codesign->time < PPI_INFINITE && !all_splits && ppi_has_speeds(plan->config))
        status = try_balanced(codesign, error);
    if (status == PPSCHED_OK && codesign->time < PPI_INFINITE && !all_kinds)
        status = look_near(codesign, orders_of(codesign, visits / 8), error);
    if (status != PPSCHED_OK || codesign->time < PPI_INFINITE)
        return status;
    if (error != NULL)
        *error = reason;
    return PPSCHED_ERROR_REFUSED;
}
