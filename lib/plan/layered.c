/* SPDX-License-Identifier: Apache-2.0 */
/* The split of a candidate's layers: for a rule the one that suits its order; for a search, whose order follows from the split,
 * the best of some that suit the orders which it finds one after another. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "plan/plan.h"
#include "split/splitting.h"

/* Orders of a search that are looked at. */
enum { ROUNDS = 2 };

struct layering {
    const ppsched_plan *plan;
    struct ppi_candidate *candidate; /* its split is that at hand */
    uint32_t *layers;                /* the best so far */
    uint8_t *recomputes;
    double lack, time; /* of the best */
    ppsched_progress_function progress;
    void *user;
    double from, to; /* the present part of the work */
};

void ppi_candidate_drop_split(const ppsched_plan *plan, struct ppi_candidate *candidate)
{
    ppi_release(&plan->host, candidate->layers);
    ppi_release(&plan->host, candidate->recomputes);
    candidate->layers = NULL;
    candidate->recomputes = NULL;
    candidate->proved = false;
}

static ppsched_status check_blocks(uint32_t blocks, const ppsched_plan *plan, uint32_t stages, ppsched_error *error)
{
    uint32_t devices = plan->config->shape.devices, least = plan->may_be_empty && stages > 2 ? 2 : stages;
    if (blocks >= least)
        return PPSCHED_OK;
    if (blocks >= devices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%u stages need %u layers that may be apart, and there are %u; take %u stages at most", stages, least,
                        blocks, blocks / devices * devices);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "%u stages need %u layers that may be apart, and there are %u; take %u devices at most", stages, least,
                    blocks, blocks);
}

/* A split to begin with: stages have as many layers, as far as they may be apart; of few the last stage gets one. */
static ppsched_status split_evenly(struct ppi_candidate *candidate, const ppsched_plan *plan, ppsched_error *error)
{
    const ppsched_layers *layers = plan->layers;
    uint32_t stages = candidate->stages, blocks = 1, layer = 0, block = 0;
    for (uint32_t i = 1; i < layers->count; i++)
        blocks += layers->is_cut[i];
    ppsched_status status = check_blocks(blocks, plan, stages, error);
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

/* As many decoders on each stage; embedding and head are beside them. */
static ppsched_status divide(uint32_t *counts, const ppsched_layers *layers, uint32_t stages, const char *title,
                             ppsched_error *error)
{
    uint32_t decoders = layers->count - layers->first - layers->last, begin = 0;
    if (decoders % stages != 0 || decoders == 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s divides decoders evenly, and %u do not go into %u stages", title,
                        decoders, stages);
    for (uint32_t s = 0; s < stages; begin += counts[s++]) {
        if (s > 0 && !layers->is_cut[begin])
            return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                            "%s divides decoders evenly, and stage %u would begin with layer %u, which must be with the one "
                            "before it",
                            title, s, begin);
        counts[s] = decoders / stages + (s == 0 ? layers->first : 0) + (s + 1 == stages ? layers->last : 0);
    }
    return PPSCHED_OK;
}

/* By the runtime's rule where it has one. */
static ppsched_status split_first(struct ppi_candidate *candidate, const ppsched_plan *plan, ppsched_error *error)
{
    ppsched_status status = split_evenly(candidate, plan, error);
    if (status == PPSCHED_OK && plan->runtime != NULL && !plan->runtime->rules.may_be_uneven)
        status = divide(candidate->layers, plan->layers, candidate->stages, plan->runtime->title, error);
    return status;
}

/* --- one order --- */

static int32_t tell_part(void *user, const ppsched_progress *progress)
{
    const struct layering *layering = user;
    const ppsched_progress part = {.size = sizeof part,
                                   .share = layering->from + (layering->to - layering->from) * progress->share,
                                   .best = progress->best};
    return layering->progress(layering->user, &part);
}

/* The order for the split at hand. */
static ppsched_status order(ppsched_schedule **out, ppsched_config **config, struct layering *layering, ppsched_error *error)
{
    ppsched_status status = ppi_candidate_config(config, layering->plan, layering->candidate, error);
    if (status != PPSCHED_OK)
        return status;
    if (layering->progress != NULL) {
        (*config)->progress = tell_part;
        (*config)->progress_user = layering;
    }
    return ppi_generate(out, layering->candidate->strategy, *config, error);
}

/* A search for the split that suits an order, with what a runtime can be told; the best is put at hand. */
struct suiting {
    struct layering *layering;
    struct ppi_split_question question;
    double lack, time; /* of the best so far */
    bool proved;
};

/* One way to recompute, of as many layers; keeps its split where it is the best, and tells whether it fits. */
static ppsched_status suit_one(struct suiting *suiting, const struct ppi_same_kind *same, bool *fits, ppsched_error *error)
{
    struct ppi_candidate *candidate = suiting->layering->candidate;
    struct ppi_room room = {.host = &suiting->question.config->host};
    struct ppi_splitting splitting;
    suiting->question.same = same;
    ppsched_status status = ppi_split_search(&splitting, &room, &suiting->question, error);
    const struct ppi_split_price *best = &splitting.best;
    *fits = status == PPSCHED_OK && best->lack <= 0;
    if (status == PPSCHED_OK && (best->lack < suiting->lack || (best->lack <= suiting->lack && best->time < suiting->time))) {
        suiting->lack = best->lack;
        suiting->time = best->time;
        suiting->proved = splitting.proved;
        status = ppi_splitting_tell(&splitting, candidate->layers, candidate->recomputes, error);
    }
    ppi_room_clear(&room);
    return status;
}

/* The fewest layers of each stage with which some split fits, by halving; those found on the way are looked at in a hurry. */
static ppsched_status suit_first(struct suiting *suiting, const char *kind, ppsched_error *error)
{
    uint64_t whole = suiting->question.most_visited;
    struct ppi_same_kind same = {kind, 0};
    uint32_t stages = suiting->question.schedule->shape.stages, low = 0;
    uint32_t high = 2 * (suiting->layering->plan->layers->count / stages) + 2; /* more than any good split has */
    bool fits;
    ppsched_status status = PPSCHED_OK;
    suiting->question.most_visited = whole / 16;
    while (low + 1 < high && status == PPSCHED_OK) {
        same.count = low + (high - low) / 2;
        status = suit_one(suiting, &same, &fits, error);
        low = fits ? low : same.count;
        high = fits ? same.count : high;
    }
    suiting->question.most_visited = whole;
    same.count = high;
    return status == PPSCHED_OK ? suit_one(suiting, &same, &fits, error) : status;
}

/* Nothing recomputed where that fits, else all ways that the runtime has. */
static ppsched_status suit_runtime(struct suiting *suiting, const struct ppi_split_rules *rules, ppsched_error *error)
{
    const struct ppi_same_kind none = {NULL, 0}, all = {rules->all, PPSCHED_MAX_LAYERS};
    bool fits;
    suiting->question.most_visited /= 4;
    ppsched_status status = suit_one(suiting, &none, &fits, error);
    if (status != PPSCHED_OK || fits)
        return status;
    if (rules->first != NULL)
        status = suit_first(suiting, rules->first, error);
    if (status == PPSCHED_OK && rules->all != NULL)
        status = suit_one(suiting, &all, &fits, error);
    suiting->proved = false; /* of one way to recompute alone */
    return status;
}

static ppsched_status suit_with(struct suiting *suiting, ppsched_error *error)
{
    const struct ppi_runtime *runtime = suiting->layering->plan->runtime;
    bool fits;
    return runtime == NULL || runtime->rules.may_recompute_any ? suit_one(suiting, NULL, &fits, error)
                                                               : suit_runtime(suiting, &runtime->rules, error);
}

/* The split that suits an order, at hand. */
static ppsched_status suit(struct layering *layering, const ppsched_config *config, const ppsched_schedule *schedule,
                           ppsched_error *error)
{
    const ppsched_plan *plan = layering->plan;
    layering->from = layering->to; /* the search of the split tells no share of its own */
    struct suiting suiting = {.layering = layering, .lack = PPI_INFINITE, .time = PPI_INFINITE};
    suiting.question = (struct ppi_split_question){.config = config,
                                                   .layers = plan->layers,
                                                   .schedule = schedule,
                                                   .by_span = plan->objective == PPSCHED_OBJECTIVE_SPAN,
                                                   .may_be_empty = plan->may_be_empty,
                                                   .most_visited = plan->most_visited};
    const ppsched_layers *resized = NULL;
    uint32_t now = config->shape.microbatches, then = plan->config->shape.microbatches;
    ppsched_status status = now == then ? PPSCHED_OK : ppi_layers_resize(&resized, plan->layers, (double)then / now, error);
    if (resized != NULL)
        suiting.question.layers = resized;
    uint32_t *fixed = NULL;
    if (status == PPSCHED_OK && plan->runtime != NULL && !plan->runtime->rules.may_be_uneven) {
        fixed = ppi_allocate(&plan->host, schedule->shape.stages, sizeof *fixed);
        status = fixed != NULL ? divide(fixed, plan->layers, schedule->shape.stages, plan->runtime->title, error)
                               : ppi_fail_memory(error, "the split");
        suiting.question.fixed = fixed;
    }
    if (status == PPSCHED_OK)
        status = suit_with(&suiting, error);
    layering->candidate->proved = status == PPSCHED_OK && suiting.proved && layering->candidate->strategy->plan == NULL;
    ppi_release(&plan->host, fixed);
    ppi_layers_release(resized);
    return status;
}

/* --- orders that follow from the split --- */

static double step_of(const ppsched_plan *plan, const ppsched_timeline *timeline)
{
    return plan->objective == PPSCHED_OBJECTIVE_SPAN ? timeline->metrics.span : timeline->metrics.makespan;
}

/* Keeps the split at hand where its own order is better than those before. */
static ppsched_status keep_better(struct layering *layering, const ppsched_config *config, const ppsched_schedule *schedule,
                                  ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    double lack = ppi_excess_of(timeline), time = step_of(layering->plan, timeline);
    if (lack < layering->lack || (lack == layering->lack && time < layering->time)) {
        layering->lack = lack;
        layering->time = time;
        memcpy(layering->layers, layering->candidate->layers, layering->candidate->stages * sizeof *layering->layers);
        memcpy(layering->recomputes, layering->candidate->recomputes, layering->plan->layers->count);
    }
    ppi_timeline_destroy(timeline);
    return PPSCHED_OK;
}

/* Which kind of recomputation leaves least of a layer, of those that can be told; 0: none. */
static uint8_t least_kind(const ppsched_plan *plan, const ppsched_layer *layer)
{
    const char *all = plan->runtime != NULL ? plan->runtime->rules.all : NULL;
    const char *first = plan->runtime != NULL ? plan->runtime->rules.first : NULL;
    const char *lean = first != NULL ? first : all; /* one name for all layers */
    bool any = plan->runtime == NULL || plan->runtime->rules.may_recompute_any;
    double least = layer->mem_forward;
    uint8_t best = 0;
    for (uint32_t k = 0; k < layer->recompute_count; k++) {
        const ppsched_recompute *kind = &layer->recomputes[k];
        if (kind->mem_forward < least && (any || (lean != NULL && strcmp(kind->name, lean) == 0))) {
            least = kind->mem_forward;
            best = (uint8_t)(k + 1);
        }
    }
    return best;
}

/* Recomputes all that can be; tells whether that is more than before. */
static bool save_memory(const struct layering *layering)
{
    const ppsched_layers *layers = layering->plan->layers;
    bool saves = false;
    for (uint32_t i = 0; i < layers->count; i++) {
        uint8_t *kind = &layering->candidate->recomputes[i],
                least = least_kind(layering->plan, &ppi_layer_at(layers, i)->given);
        saves |= *kind != least;
        *kind = least;
    }
    return saves;
}

/* The first order: where the limit is too small for one, with all recomputed. */
static ppsched_status order_first(ppsched_schedule **out, ppsched_config **config, struct layering *layering,
                                  ppsched_error *error)
{
    ppsched_status status = order(out, config, layering, error);
    if (status != PPSCHED_ERROR_REFUSED || !save_memory(layering))
        return status;
    ppi_config_destroy(*config);
    *config = NULL;
    return order(out, config, layering, error);
}

/* One order after another; a search that finds none for a split ends it. */
static ppsched_status alternate(struct layering *layering, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (int round = 0; round <= ROUNDS && status == PPSCHED_OK; round++) {
        ppsched_config *config = NULL;
        ppsched_schedule *schedule = NULL;
        layering->from = PPI_SPLIT_SHARE * round / (ROUNDS + 1);
        layering->to = PPI_SPLIT_SHARE * (round + 1) / (ROUNDS + 1);
        status = round == 0 ? order_first(&schedule, &config, layering, error) : order(&schedule, &config, layering, error);
        if (status == PPSCHED_OK)
            status = keep_better(layering, config, schedule, error);
        if (status == PPSCHED_OK && round < ROUNDS)
            status = suit(layering, config, schedule, error);
        ppi_schedule_release(schedule);
        ppi_config_destroy(config);
    }
    return status == PPSCHED_ERROR_REFUSED && layering->time < PPI_INFINITE ? PPSCHED_OK : status;
}

/* A rule's order is the same for all splits. */
static ppsched_status suit_rule(struct layering *layering, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = order(&schedule, &config, layering, error);
    if (status == PPSCHED_OK)
        status = suit(layering, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    return status;
}

static ppsched_status suit_search(struct layering *layering, ppsched_error *error)
{
    const struct ppi_host *host = &layering->plan->host;
    layering->layers = ppi_allocate(host, layering->candidate->stages, sizeof *layering->layers);
    layering->recomputes = ppi_allocate(host, layering->plan->layers->count, 1);
    layering->lack = layering->time = PPI_INFINITE;
    ppsched_status status = layering->layers != NULL && layering->recomputes != NULL ? alternate(layering, error)
                                                                                     : ppi_fail_memory(error, "the splits");
    if (status == PPSCHED_OK) {
        memcpy(layering->candidate->layers, layering->layers, layering->candidate->stages * sizeof *layering->layers);
        memcpy(layering->candidate->recomputes, layering->recomputes, layering->plan->layers->count);
    }
    ppi_release(host, layering->layers);
    ppi_release(host, layering->recomputes);
    return status;
}

ppsched_status ppi_candidate_split(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                   ppsched_progress_function progress, void *user, ppsched_error *error)
{
    struct layering layering = {.plan = plan, .candidate = candidate, .progress = progress, .user = user};
    if (plan->layers == NULL || candidate->layers != NULL)
        return PPSCHED_OK;
    candidate->layers = ppi_allocate(&plan->host, candidate->stages, sizeof *candidate->layers);
    candidate->recomputes = ppi_allocate(&plan->host, plan->layers->count, 1);
    ppsched_status status = candidate->layers != NULL && candidate->recomputes != NULL ? PPSCHED_OK
                                                                                       : ppi_fail_memory(error, "the split");
    if (status == PPSCHED_OK)
        status = split_first(candidate, plan, error);
    if (status == PPSCHED_OK)
        status = candidate->strategy->plan == NULL ? suit_rule(&layering, error) : suit_search(&layering, error);
    if (status != PPSCHED_OK)
        ppi_candidate_drop_split(plan, candidate);
    return status;
}
