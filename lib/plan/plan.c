/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan: evaluates all candidates, ranks them, and with layers searches the splits of the best candidates for longer. */
#include "plan/plan.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/recycler.h"
#include "base/sort.h"
#include "candidate/restage.h"
#include "eval/timeline.h"

/* Rounds of longer split searches for the best candidates. Each round has fewer candidates (`looks`) and visits at least
 * `visits` nodes in each search. A candidate must be within `near` of the best, as a share of its time. At most LOOKS_ALIKE
 * candidates that differ only in group size are chosen. A plan for a runtime has fewer strategies, so its first round has
 * MORE_LOOKS more candidates, and one more of each such set if its groups are large. Searches are in the last round only if
 * they have at most FEW_FORWARDS forwards; they then visit as many nodes as if planned alone.
 * Measured: docs/performance.md. */
enum { ROUNDS = 2, LOOKS_ALIKE = 1, MORE_LOOKS = 3, TIMES_LONGER = 8, FEW_FORWARDS = 600 };
static const struct {
    uint32_t looks, visits;
    double near;
} rounds[ROUNDS] = {{5, 12000000, PPI_INFINITE}, {3, 40000000, 0.02}};

/* Group sizes of all microbatches, a half and a third of them. Their split searches visit 1 / APART_SHARE of the usual
 * nodes. */
enum { MOST_PARTS = 3, APART_SHARE = 4 };

/* Checks that the embedding and head fit their stages, as candidates with unchanged stages do not check it. */
static ppsched_status fit_ends(const ppsched_config *config, const struct ppi_plan_options *options, ppsched_error *error)
{
    ppsched_config *same = NULL;
    if (options->embedding == NULL && options->head == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_restage(&same, config, &config->shape, options->embedding, options->head, NULL, error);
    ppi_config_destroy(same);
    return status;
}

/* Takes the layers. In a forward-only problem their backwards are dropped, so that they do not count for a split. For a
 * runtime with MTP layers, these are joined, as it has them in one stage. */
static ppsched_status take_layers(ppsched_plan *plan, const ppsched_layers *layers, bool forward_only, ppsched_error *error)
{
    const ppsched_layers *forwards = NULL;
    ppsched_status status = PPSCHED_OK;
    if (layers != NULL && forward_only) {
        status = ppi_layers_resize(&forwards, layers, &(struct ppi_microbatch_size){1, 0, 1, 1, 1, 1}, error);
        layers = forwards;
    }
    if (layers != NULL && plan->runtime != NULL && plan->runtime->rules.has_mtps) {
        status = ppi_layers_join(&plan->layers, layers, "mtp", error);
    } else if (layers != NULL) {
        plan->layers = layers;
        ppi_layers_retain(layers);
    }
    ppi_layers_release(forwards);
    return status;
}

static double *copy_factors(const struct ppi_host *host, const double *from, size_t count)
{
    double *copy = ppi_allocate(host, count, sizeof *copy);
    if (copy != NULL && count > 0)
        memcpy(copy, from, count * sizeof *copy);
    return copy;
}

static ppsched_status take_scenarios(ppsched_plan *plan, const struct ppi_plan_options *options, ppsched_error *error)
{
    plan->scenario_count = options->scenario_count;
    plan->rank_by = options->rank_by;
    plan->quantile = options->quantile > 0 ? options->quantile : 0.9;
    if (options->scenario_options == NULL)
        return PPSCHED_OK;
    plan->scenarios = *options->scenario_options;
    plan->device_factors = copy_factors(&plan->host, plan->scenarios.device_factors, plan->scenarios.device_factor_count);
    plan->link_factors = copy_factors(&plan->host, plan->scenarios.link_factors, plan->scenarios.link_factor_count);
    if (plan->device_factors == NULL || plan->link_factors == NULL)
        return ppi_fail_memory(error, "the factors");
    plan->scenarios.device_factors = plan->scenarios.device_factor_count > 0 ? plan->device_factors : NULL;
    plan->scenarios.link_factors = plan->scenarios.link_factor_count > 0 ? plan->link_factors : NULL;
    return PPSCHED_OK;
}

static ppsched_status fill(ppsched_plan *plan, const ppsched_config *config, const struct ppi_plan_options *options,
                           ppsched_error *error)
{
    plan->host = config->host;
    plan->objective = options->objective != 0 ? options->objective : PPSCHED_OBJECTIVE_MAKESPAN;
    plan->lower = options->lower;
    plan->effort = options->effort;
    plan->top = options->top;
    plan->slicing = (struct ppi_slicing){options->slice_time, options->attention_share, NULL};
    plan->order_effort = options->order_effort;
    plan->orders_devices = options->free_device_order != 0;
    plan->channel = (ppsched_channel_model){.order = PPSCHED_CHANNEL_ORDER_NONE};
    if (options->channel != NULL)
        plan->channel = *options->channel;
    if (options->embedding != NULL)
        plan->embedding = *options->embedding;
    if (options->head != NULL)
        plan->head = *options->head;
    plan->runtimes = options->runtimes;
    if (options->runtime != 0)
        ppi_runtime_find(&plan->runtime, options->runtime, NULL);
    ppsched_status status = take_layers(plan, options->layers, config->is_forward_only, error);
    if (status == PPSCHED_OK)
        status = take_scenarios(plan, options, error);
    if (status != PPSCHED_OK)
        return status;
    plan->split_effort = options->split_effort > 0 ? options->split_effort : PPI_USUAL_SPLIT_EFFORT;
    plan->may_be_empty = plan->runtime != NULL ? plan->runtime->rules.may_be_empty : options->empty_stages != 0;
    status = plan->layers == NULL ? fit_ends(config, options, error) : PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = ppi_config_copy(&plan->config, config, error);
    return status == PPSCHED_OK ? ppi_list_candidates(plan, options, error) : status;
}

ppsched_status ppi_plan_make(ppsched_plan **out, const ppsched_config *config, const struct ppi_plan_options *options,
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
        ppi_candidate_drop_order(plan, &plan->candidates[i]);
        ppi_release(&host, plan->candidates[i].device_order);
    }
    ppi_release(&host, plan->device_factors);
    ppi_release(&host, plan->link_factors);
    ppi_layers_release(plan->layers);
    ppi_release(&host, plan->candidates);
    ppi_release(&host, plan->order);
    ppi_config_destroy(plan->config);
    ppi_release(&host, plan);
}

/* --- ranking --- */

enum group { FITS, OVER_LIMIT, REFUSED, LEFT_OUT };

static enum group group_of(const struct ppi_candidate *candidate)
{
    if (!candidate->evaluated)
        return LEFT_OUT;
    return ppi_candidate_fits(candidate) ? FITS : ppi_candidate_runs(candidate) ? OVER_LIMIT : REFUSED;
}

/* Rounds to 40 bits, so that sums of the same times in another order are equal. */
static double rounded(double x)
{
    double large = x * 8193;
    return ppi_is_finite(large) ? large - (large - x) : x;
}

bool ppi_candidate_ranks_before(const ppsched_plan *plan, const struct ppi_candidate *a, const struct ppi_candidate *b)
{
    const enum group group = group_of(a);
    if (group != group_of(b))
        return group < group_of(b);
    if (group >= REFUSED)
        return false;
    if (group == OVER_LIMIT && rounded(a->overshoot) != rounded(b->overshoot))
        return rounded(a->overshoot) < rounded(b->overshoot);
    double step = rounded(ppi_candidate_rank_time(plan, a)), other = rounded(ppi_candidate_rank_time(plan, b));
    if (step != other)
        return step < other;
    return rounded(a->metrics.peak_memory) < rounded(b->metrics.peak_memory);
}

static bool goes_before(const void *plan, uint32_t a, uint32_t b)
{
    const struct ppi_candidate *candidates = ((const ppsched_plan *)plan)->candidates;
    return ppi_candidate_ranks_before(plan, &candidates[a], &candidates[b]);
}

ppsched_status ppi_plan_rank(ppsched_plan *plan, ppsched_error *error)
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

static int32_t tell_share(const struct ppi_plan_share *whole, double share)
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

ppsched_status ppi_plan_evaluate(const ppsched_plan *view, struct ppi_plan_share *share, struct ppi_candidate *candidate,
                                 struct ppi_shared *shared, ppsched_error *error)
{
    const ppsched_plan *plan = share->plan;
    ppsched_progress_function progress = plan->config->progress != NULL ? tell : NULL;
    ppsched_status status = PPSCHED_OK;
    if (!candidate->evaluated)
        status = ppi_candidate_take_twin(plan, candidate, error);
    if (status == PPSCHED_OK && !candidate->evaluated)
        status = ppi_candidate_evaluate(view, candidate, shared, progress, share, error);
    if (status == PPSCHED_OK && ppi_candidate_fits(candidate))
        share->best = ppi_smaller(share->best, ppi_candidate_step(plan, candidate));
    return status;
}

ppsched_status ppi_plan_go_on(const struct ppi_plan_share *share, ppsched_error *error)
{
    if (share->plan->config->progress != NULL && tell_share(share, 0) != 0)
        return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the plan was cancelled");
    return PPSCHED_OK;
}

/* The best candidate so far that differs only in group size and was not refused, or NULL. */
static const struct ppi_candidate *find_like(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const struct ppi_candidate *best = NULL, *other = candidate;
    while (other > plan->candidates && candidate->strategy->plan == NULL) {
        other--;
        if (other->strategy != candidate->strategy || other->stages != candidate->stages)
            break;
        if (!ppi_candidates_are_alike(other, candidate))
            continue;
        if (other->layers != NULL && (best == NULL || ppi_candidate_ranks_before(plan, other, best)))
            best = other;
    }
    return best;
}

/* Whether there are at most MOST_PARTS groups, all of one size but the last. A split of another group size may then be far
 * from the best. */
static bool has_few_groups(const struct ppi_candidate *candidate)
{
    for (uint32_t parts = 1; parts <= MOST_PARTS; parts++)
        if (candidate->group_size == (candidate->microbatches + parts - 1) / parts)
            return true;
    return false;
}

/* Sets where the split search of a candidate starts, and how many nodes it may visit. */
static void plan_search(struct ppi_candidate *candidate, const ppsched_plan *plan, const ppsched_plan *view, ppsched_plan *own)
{
    candidate->like = plan->layers != NULL ? find_like(plan, candidate) : NULL;
    candidate->only_near = candidate->like != NULL && (candidate->offloads || !has_few_groups(candidate));
    own->most_visited = candidate->strategy->comes_last ? view->last_visited : view->most_visited;
    if (candidate->like != NULL && !candidate->only_near)
        own->most_visited /= APART_SHARE;
}

/* Evaluates all candidates. `view` is a copy of the plan whose problem has its own memory. */
static ppsched_status evaluate_all(const ppsched_plan *view, ppsched_plan *plan, ppsched_error *error)
{
    struct ppi_plan_share share = {plan, 0, PPI_INFINITE};
    struct ppi_known_bounds known = {0};
    struct ppi_shared shared = {.known = &known};
    ppsched_plan own = *view;
    ppsched_status status = ppi_plan_go_on(&share, error);
    for (; share.done < plan->count && status == PPSCHED_OK; share.done++) {
        struct ppi_candidate *candidate = &plan->candidates[share.done];
        plan_search(candidate, plan, view, &own);
        shared.leaves = ppi_candidate_leaves(plan, candidate);
        status = ppi_plan_evaluate(&own, &share, candidate, &shared, error);
        if (!shared.leaves || status != PPSCHED_OK)
            ppi_shared_clear(&shared);
        if (status == PPSCHED_OK)
            status = ppi_plan_go_on(&(struct ppi_plan_share){plan, share.done + 1, share.best}, error);
    }
    ppi_shared_clear(&shared);
    return status;
}

/* --- longer searches for the best --- */

/* Searches the split of a candidate for longer, and keeps the result if it ranks before the old one. */
static ppsched_status look_again(ppsched_plan *plan, const ppsched_plan *view, struct ppi_candidate *candidate,
                                 ppsched_error *error)
{
    struct ppi_candidate again = *candidate;
    again.layers = NULL;
    again.recomputes = NULL;
    again.microbatch_order = NULL;
    again.evaluated = again.proved = false;
    again.like = candidate;
    again.only_near = false;
    ppsched_status status = ppi_candidate_evaluate(view, &again, NULL, NULL, NULL, error);
    if (status == PPSCHED_OK && ppi_candidate_ranks_before(plan, &again, candidate)) {
        struct ppi_candidate old = *candidate;
        *candidate = again;
        again = old;
    } else {
        ppi_release(&plan->host, again.reason);
    }
    ppi_candidate_drop_split(plan, &again);
    ppi_candidate_drop_order(plan, &again);
    candidate->is_chosen = status != PPSCHED_OK;
    return status;
}

/* How many candidates that differ only in group size are chosen before `rank`. */
static uint32_t chosen_like(const ppsched_plan *plan, const struct ppi_candidate *candidate, uint32_t rank)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank; i++) {
        const struct ppi_candidate *other = &plan->candidates[plan->order[i]];
        count += other->is_chosen && ppi_candidates_are_alike(other, candidate);
    }
    return count;
}

/* How many nodes each split search of a round may visit. */
static uint64_t visits_of(const ppsched_plan *plan, uint32_t round)
{
    uint64_t least = plan->last_visited < plan->most_visited ? plan->last_visited : plan->most_visited;
    uint64_t usual = ppi_plan_visits(plan, rounds[round].visits), most = ppi_plan_visits(plan, PPI_MOST_VISITS);
    uint64_t visits = TIMES_LONGER * least > usual ? TIMES_LONGER * least : usual;
    return visits < most ? visits : most;
}

/* Whether a longer split search may help. The order of a search changes with the split, so with long orders the last round
 * gains little. */
static bool may_gain(const struct ppi_candidate *candidate, uint32_t round)
{
    const struct ppi_strategy *strategy = candidate->strategy;
    const bool is_short = (uint64_t)candidate->stages * candidate->microbatches <= FEW_FORWARDS;
    return ppi_candidate_fits(candidate) && !strategy->searches_long && !candidate->tried_all &&
           (round == 0 || strategy->plan == NULL || is_short);
}

static uint32_t looks_of(const ppsched_plan *plan, uint32_t round)
{
    return rounds[round].looks + (round == 0 && plan->runtime != NULL ? MORE_LOOKS : 0);
}

/* How many candidates that differ only in group size may be chosen, up to and with this one. */
static uint32_t looks_alike(const ppsched_plan *plan, const struct ppi_candidate *candidate, uint32_t round)
{
    bool is_apart = candidate->group_size == plan->config->shape.devices || has_few_groups(candidate);
    return LOOKS_ALIKE + (round == 0 && plan->runtime != NULL && candidate->group_size > 0 && is_apart);
}

/* With layers the best candidates get a longer split search than all could get. They are chosen once for each round, so that a
 * plan that was cancelled goes on with the same choice. */
static void choose_best(ppsched_plan *plan, uint32_t round)
{
    bool is_longer = round == 0 || visits_of(plan, round) / visits_of(plan, round - 1) > 1;
    uint32_t left = is_longer ? looks_of(plan, round) : 0;
    double most = PPI_INFINITE;
    for (uint32_t rank = 0; rank < plan->count && left > 0; rank++) {
        struct ppi_candidate *candidate = &plan->candidates[plan->order[rank]];
        if (rank == 0)
            most = ppi_candidate_rank_time(plan, candidate) * (1 + rounds[round].near);
        if (ppi_candidate_rank_time(plan, candidate) > most)
            break;
        candidate->is_chosen = may_gain(candidate, round) &&
                               chosen_like(plan, candidate, rank) < looks_alike(plan, candidate, round);
        left -= candidate->is_chosen;
    }
    plan->rounds = round + 1;
}

static ppsched_status look_at_chosen(const ppsched_plan *view, ppsched_plan *plan, uint32_t round, ppsched_error *error)
{
    struct ppi_plan_share share = {plan, plan->count, PPI_INFINITE};
    ppsched_plan longer = *view;
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < plan->count; i++)
        if (ppi_candidate_fits(&plan->candidates[i]))
            share.best = ppi_smaller(share.best, ppi_candidate_step(plan, &plan->candidates[i]));
    for (size_t i = 0; i < plan->count && status == PPSCHED_OK; i++) {
        struct ppi_candidate *candidate = &plan->candidates[i];
        if (!candidate->is_chosen)
            continue;
        longer.most_visited = round + 1 == ROUNDS && candidate->strategy->plan != NULL ? ppi_plan_visits(plan, PPI_MOST_VISITS)
                                                                                       : visits_of(plan, round);
        status = look_again(plan, &longer, candidate, error);
        share.best = ppi_smaller(share.best, ppi_candidate_step(plan, candidate));
        if (status == PPSCHED_OK)
            status = ppi_plan_go_on(&share, error);
    }
    return status;
}

/* Restores the ranking from before the run, if there was one. */
static void rank_as_before(ppsched_plan *plan, uint32_t *order)
{
    ppi_release(&plan->host, plan->order);
    plan->order = order;
    for (size_t i = 0; i < plan->count; i++)
        plan->candidates[i].rank = PPSCHED_NONE;
    for (size_t i = 0; i < plan->count && order != NULL; i++)
        plan->candidates[order[i]].rank = (uint32_t)i;
}

static ppsched_status rank_layered(const ppsched_plan *view, ppsched_plan *plan, ppsched_error *error)
{
    uint32_t *before = plan->order;
    plan->order = NULL;
    ppsched_status status = ppi_plan_rank(plan, error);
    for (uint32_t round = plan->rounds > 0 ? plan->rounds - 1 : 0; round < ROUNDS && status == PPSCHED_OK; round++) {
        if (round == plan->rounds)
            choose_best(plan, round);
        status = look_at_chosen(view, plan, round, error);
        if (status == PPSCHED_OK)
            status = ppi_plan_rank(plan, error);
    }
    if (status != PPSCHED_OK)
        rank_as_before(plan, before);
    else
        ppi_release(&plan->host, before);
    return status;
}

ppsched_status ppi_plan_run_once(ppsched_plan *plan, ppsched_error *error)
{
    struct ppi_recycler recycler;
    ppi_recycler_start(&recycler, &plan->host);
    ppsched_config problem = *plan->config;
    problem.host = ppi_recycler_host(&recycler);
    ppsched_plan view = *plan;
    view.config = &problem;
    ppsched_status status = ppi_plan_may_leave_out(plan) ? ppi_plan_evaluate_top(&view, plan, error)
                                                         : evaluate_all(&view, plan, error);
    if (status == PPSCHED_OK)
        status = plan->layers != NULL && plan->count > 1 ? rank_layered(&view, plan, error) : ppi_plan_rank(plan, error);
    ppi_recycler_clear(&recycler);
    return status;
}
