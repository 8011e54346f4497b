/* SPDX-License-Identifier: Apache-2.0 */
/* The best split for a given order, with recomputation that the runtime can express: one split search per recompute choice,
 * each on a shorter schedule first where there is one. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "codesign/codesign.h"
#include "split/split_search.h"

ppsched_status ppi_divide_evenly(uint32_t *counts, const ppsched_layers *layers, uint32_t stages, const char *title,
                                 ppsched_error *error)
{
    uint32_t decoders = layers->count - layers->first - layers->last, begin = 0;
    for (uint32_t e = 0; e < layers->entry_count; e++)
        if (ppi_is_mtp(&layers->entries[e].given))
            return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s has no arguments for MTP layers; leave them out", title);
    if (decoders < stages)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s divides decoders evenly, and %u cannot be divided by %u stage%p; %u can", title, decoders, stages,
                        stages);
    if (decoders % stages != 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "%s divides decoders evenly, and %u cannot be divided by %u stage%p; %u or %u can", title, decoders,
                        stages, decoders / stages * stages, (decoders / stages + 1) * stages);
    for (uint32_t s = 0; s < stages; begin += counts[s++]) {
        if (s > 0 && !layers->is_cut[begin])
            return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                            "%s divides decoders evenly, and stage %u would begin with layer %u, which must be in the same "
                            "stage as the layer before it",
                            title, s, begin);
        counts[s] = decoders / stages + (s == 0 ? layers->first : 0) + (s + 1 == stages ? layers->last : 0);
    }
    return PPSCHED_OK;
}

/* A search for the best split for an order; the candidate's split becomes the best one. */
struct suiting {
    const ppsched_plan *plan;
    struct ppi_candidate *candidate; /* has the best split so far */
    struct ppi_split_question question;
    struct ppi_splitting splitting;
    struct ppi_splitting short_splitting; /* of the shorter schedule */
    ppsched_schedule *shorter;            /* searched first, or NULL */
    double overshoot, time;               /* of the best so far */
    bool proved;
    bool is_limited; /* in the last search a balanced split did not fit */
};

/* NEAR: the divisor of visits for a local search from another candidate's split. MORE: how many more layers per stage than
 * there are tried to be recomputed. Measured: docs/performance.md. */
enum { NEAR = 32, MORE = 3 };

/* Most visits on a shorter schedule, and then on the whole one: more bring little gain. */
enum { MOST_OF_SHORTER = 12000000 };

/* Layer names that are tried alone: each is a search. */
enum { MOST_NAMES = 4 };

/* Searches on a shorter schedule first, where there is one, then with as many visits on the whole one. With one stage per
 * device a search ends by itself, so its visits are not capped. */
static ppsched_status search(struct suiting *suiting, ppsched_error *error)
{
    struct ppi_split_question question = suiting->question;
    const struct ppi_shape *shape = &question.schedule->shape;
    const uint64_t usual = ppi_plan_visits(suiting->plan, MOST_OF_SHORTER);
    const uint64_t most = usual > MOST_OF_SHORTER ? usual : MOST_OF_SHORTER, half = question.most_visited / 2;
    if (suiting->shorter == NULL)
        return ppi_splitting_search(&suiting->splitting, &question, error);
    question.most_visited = shape->stages > shape->devices && half > most ? most : half;
    ppsched_status status = ppi_splitting_search(&suiting->short_splitting, &question, error);
    question.most_visited = half > most ? most : half;
    return status == PPSCHED_OK ? ppi_splitting_go_on(&suiting->splitting, &suiting->short_splitting, &question, error)
                                : status;
}

/* Searches with one recompute choice; keeps the split where it is the best. `*fits`: whether it fits. */
static ppsched_status fit_one(struct suiting *suiting, const struct ppi_same_kind *same, bool *fits, ppsched_error *error)
{
    struct ppi_candidate *candidate = suiting->candidate;
    struct ppi_splitting *splitting = &suiting->splitting;
    suiting->question.same = same;
    ppsched_status status = search(suiting, error);
    const struct ppi_split_price *best = &splitting->best;
    *fits = status == PPSCHED_OK && best->overshoot <= 0;
    suiting->is_limited = splitting->first_overshoot > 0;
    if (status == PPSCHED_OK &&
        (best->overshoot < suiting->overshoot || (best->overshoot <= suiting->overshoot && best->time < suiting->time))) {
        suiting->overshoot = best->overshoot;
        suiting->time = best->time;
        suiting->proved = splitting->proved;
        candidate->same = same != NULL ? *same : (struct ppi_same_kind){.kind = NULL};
        status = ppi_splitting_tell(splitting, candidate->layers, candidate->recomputes, error);
    }
    return status;
}

/* The fewest recomputed layers per stage with which a balanced split fits, by halving. */
static ppsched_status find_fewest(struct suiting *suiting, struct ppi_same_kind *same, ppsched_error *error)
{
    uint64_t whole = suiting->question.most_visited;
    uint32_t low = 0, high = same->count;
    bool fits;
    ppsched_status status = PPSCHED_OK;
    suiting->question.most_visited = 0;
    while (low + 1 < high && status == PPSCHED_OK) {
        same->count = low + (high - low) / 2;
        status = fit_one(suiting, same, &fits, error);
        low = fits ? low : same->count;
        high = fits ? same->count : high;
    }
    suiting->question.most_visited = whole;
    same->count = high;
    return status;
}

/* Recomputes the fewest layers per stage that fit, then more while that helps, as a better split may fit. The first layer of a
 * stage frees nothing while its backward runs, so the search ends after four numbers without gain. Where some decoders have no
 * such kind, it starts from one. */
static ppsched_status fit_first(struct suiting *suiting, const char *kind, bool fits_without, ppsched_error *error)
{
    uint32_t most = 2 * (suiting->plan->layers->count / suiting->question.schedule->shape.stages) +
                    2; /* more than any good split has */
    bool from_one = fits_without || !ppi_reach_is_whole(suiting->plan->layers, PPI_REACH_DECODERS, kind), fits;
    struct ppi_same_kind same = {kind, from_one ? 1 : most, PPI_REACH_DECODERS, NULL};
    ppsched_status status = from_one ? PPSCHED_OK : find_fewest(suiting, &same, error);
    for (int idle = 0; idle < 4 && same.count <= most && status == PPSCHED_OK; same.count++) {
        double overshoot = suiting->overshoot, time = suiting->time;
        status = fit_one(suiting, &same, &fits, error);
        suiting->question.start = suiting->overshoot <= 0 ? suiting->candidate->layers : NULL;
        idle = suiting->overshoot < overshoot || suiting->time < time ? 0 : idle + 1;
    }
    suiting->question.start = NULL;
    return status;
}

/* Whether an entry is the first of its name. */
static bool is_first_named(const ppsched_layers *layers, uint32_t entry)
{
    for (uint32_t e = 0; e < entry; e++)
        if (strcmp(layers->entries[e].given.name, layers->entries[entry].given.name) == 0)
            return false;
    return true;
}

/* Where layers are given by name, recomputes those of each name alone, if there are several; of many names the first ones. */
static ppsched_status fit_names(struct suiting *suiting, const char *kind, ppsched_error *error)
{
    const ppsched_layers *layers = suiting->plan->layers;
    uint32_t names = 0;
    ppsched_status status = PPSCHED_OK;
    bool fits;
    for (uint32_t e = 0; e < layers->entry_count; e++)
        names += is_first_named(layers, e) && ppi_reached_kind(layers, e, PPI_REACH_NAMES, kind) > 0;
    for (uint32_t e = 0, tried = 0; e < layers->entry_count && names > 1 && tried < MOST_NAMES && status == PPSCHED_OK; e++) {
        struct ppi_same_kind one = {kind, PPSCHED_MAX_LAYERS, PPI_REACH_NAMES, layers->entries[e].given.name};
        if (!is_first_named(layers, e) || ppi_reached_kind(layers, e, PPI_REACH_NAMES, kind) == 0)
            continue;
        status = fit_one(suiting, &one, &fits, error);
        tried++;
    }
    return status;
}

/* Recomputes all layers of a runtime's word, one word after another. `but`: one that was tried, or NULL. */
static ppsched_status fit_all(struct suiting *suiting, const struct ppi_split_rules *rules, const char *but,
                              ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    bool fits;
    for (int i = 0; i < PPI_ALL_KINDS && status == PPSCHED_OK; i++) {
        struct ppi_same_kind all = {rules->all[i], PPSCHED_MAX_LAYERS, PPI_REACH_MIDDLE, NULL};
        if (all.kind != but && ppi_rules_tell(rules, all.kind, &all.reach) &&
            ppi_reach_is_whole(suiting->plan->layers, all.reach, all.kind))
            status = fit_one(suiting, &all, &fits, error);
        if (status == PPSCHED_OK && rules->by_name)
            status = fit_names(suiting, all.kind, error);
    }
    return status;
}

/* The kind that the first decoders of each stage may have with this order, or NULL. */
static const char *first_kind(const struct suiting *suiting, const struct ppi_runtime *runtime)
{
    bool may = runtime->may_recompute_first == NULL || runtime->may_recompute_first(suiting->question.schedule);
    return may ? runtime->rules.first : NULL;
}

/* Recomputes as many layers as the candidate that this one is like; where that does not fit more, then all. */
static ppsched_status fit_alike(struct suiting *suiting, const struct ppi_runtime *runtime, ppsched_error *error)
{
    struct ppi_same_kind same = suiting->candidate->like->same;
    const char *first = first_kind(suiting, runtime);
    bool fits;
    ppsched_status status = fit_one(suiting, &same, &fits, error);
    if (same.kind == NULL)
        same = (struct ppi_same_kind){first, 0, PPI_REACH_DECODERS, NULL};
    bool counts = same.kind != NULL && same.reach == PPI_REACH_DECODERS;
    for (int i = 0; i < MORE && !fits && counts && status == PPSCHED_OK; i++) {
        same.count++;
        status = fit_one(suiting, &same, &fits, error);
    }
    return status == PPSCHED_OK && !fits ? fit_all(suiting, &runtime->rules, same.kind, error) : status;
}

/* Recomputes nothing and, where a balanced split exceeds memory, tries all choices of the runtime. */
static ppsched_status fit_runtime(struct suiting *suiting, const struct ppi_runtime *runtime, ppsched_error *error)
{
    const struct ppi_same_kind none = {.kind = NULL};
    const char *first = first_kind(suiting, runtime);
    bool fits_without, fits;
    if (suiting->candidate->like != NULL)
        return fit_alike(suiting, runtime, error);
    if (suiting->splitting.state.fronts != NULL) /* without limits there is only one choice */
        suiting->question.most_visited /= 4;
    suiting->question.must_fit = first != NULL || runtime->rules.all[0] != NULL;
    ppsched_status status = fit_one(suiting, &none, &fits_without, error);
    if (status != PPSCHED_OK || !suiting->is_limited || suiting->question.most_visited == 0)
        return status;
    if (first != NULL)
        status = fit_first(suiting, first, fits_without, error);
    if (status == PPSCHED_OK)
        status = fit_all(suiting, &runtime->rules, NULL, error);
    suiting->question.must_fit = false;
    if (status == PPSCHED_OK && suiting->overshoot > 0) {
        const struct ppi_same_kind nearest = suiting->candidate->same;
        status = fit_one(suiting, &nearest, &fits, error);
    }
    suiting->proved = false; /* only for one recompute choice */
    return status;
}

static ppsched_status fit_with(struct suiting *suiting, ppsched_error *error)
{
    const struct ppi_runtime *runtime = suiting->plan->runtime;
    bool fits;
    return runtime == NULL || runtime->rules.may_recompute_any ? fit_one(suiting, NULL, &fits, error)
                                                               : fit_runtime(suiting, runtime, error);
}

static uint64_t visits_of(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    return candidate->only_near ? plan->most_visited / NEAR : plan->most_visited;
}

/* The size of a microbatch, or of a slice, for the split search: where sizes differ, the mean of times and of sent bytes, and
 * the most of memory, so that what fits does so in any order. Slices that grow differently on stages have a mean of 1 on
 * each. */
static struct ppi_microbatch_size size_of(const ppsched_plan *plan, const ppsched_config *config)
{
    const uint32_t slices = config->shape.slices, count = config->shape.microbatches * slices;
    const uint32_t cuts = slices / plan->config->shape.slices;
    const double size = ppi_candidate_size(plan, config);
    struct ppi_microbatch_size sum = {0, 0, 0, 0, cuts, size * cuts};
    if (!ppi_has_factors(config))
        return (struct ppi_microbatch_size){size, size, size, size, cuts, size * cuts};
    for (uint32_t i = 0; i < count; i++) {
        const struct ppi_factor factor = ppi_config_factor(config, 0, i / slices, i % slices);
        sum.time += size * factor.time / count;
        sum.bytes += size * factor.memory / count;
        sum.memory = ppi_larger(sum.memory, size * factor.memory);
    }
    sum.backward = sum.time;
    return sum;
}

/* Time of ops in addition to their layers: the runtime's overhead and, with more slices than in the plan's config, the
 * overhead of slices. It grows with the op's time, on average by `scale`. */
static void add_overhead(double *overhead, const ppsched_plan *plan, const ppsched_config *config, double scale)
{
    bool is_cut = config->shape.slices > plan->config->shape.slices;
    ppi_add_op_overhead(overhead, config);
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        overhead[kind] += is_cut && kind != PPSCHED_KIND_W ? plan->slicing.slice_time : 0;
        overhead[kind] *= scale;
    }
}

/* Opens a shorter schedule, whose devices hold the same, where there are too many splits to try all. */
static ppsched_status open_shorter(struct suiting *suiting, struct ppi_arena *arena, ppsched_error *error)
{
    struct ppi_split_question question = suiting->question;
    const struct ppi_held_passes *holdings = suiting->splitting.state.holdings;
    ppsched_schedule *shorter = NULL;
    if (question.fixed != NULL || ppi_split_is_small(&suiting->splitting))
        return PPSCHED_OK;
    ppsched_status status = ppi_candidate_shorten(&shorter, suiting->candidate, question.config, question.schedule, error);
    if (status != PPSCHED_OK || shorter == NULL)
        return status;
    question.left_out = question.schedule->shape.microbatches - shorter->shape.microbatches;
    question.schedule = shorter;
    status = ppi_splitting_open(&suiting->short_splitting, arena, &question, error);
    if (status == PPSCHED_OK &&
        ppi_holdings_are_alike(holdings, suiting->short_splitting.state.holdings, shorter->shape.devices))
        suiting->shorter = shorter;
    else
        ppi_schedule_release(shorter);
    return status;
}

ppsched_status ppi_candidate_fit(const ppsched_plan *plan, struct ppi_candidate *candidate, const ppsched_config *config,
                                 const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &config->host};
    struct suiting suiting = {.plan = plan, .candidate = candidate, .overshoot = PPI_INFINITE, .time = PPI_INFINITE};
    suiting.question = (struct ppi_split_question){.config = config,
                                                   .layers = plan->layers,
                                                   .schedule = schedule,
                                                   .by_span = plan->objective == PPSCHED_OBJECTIVE_SPAN,
                                                   .may_be_empty = plan->may_be_empty,
                                                   .start = candidate->like != NULL ? candidate->like->layers : NULL,
                                                   .only_near = candidate->only_near,
                                                   .most_visited = visits_of(plan, candidate),
                                                   .small_visited = plan->small_visited};
    const ppsched_layers *resized = NULL;
    const struct ppi_microbatch_size size = size_of(plan, config);
    suiting.question.overhead_scale = size.time / ppi_candidate_size(plan, config);
    add_overhead(suiting.question.overhead, plan, config, suiting.question.overhead_scale);
    bool is_same = config->shape.microbatches == plan->config->shape.microbatches &&
                   config->shape.slices == plan->config->shape.slices && !ppi_has_factors(config);
    ppsched_status status = is_same ? PPSCHED_OK : ppi_layers_resize(&resized, plan->layers, &size, error);
    if (resized != NULL)
        suiting.question.layers = resized;
    uint32_t *fixed = NULL;
    if (status == PPSCHED_OK && ppi_candidate_is_even(plan, candidate)) {
        fixed = ppi_allocate(&plan->host, schedule->shape.stages, sizeof *fixed);
        status = fixed != NULL ? ppi_divide_evenly(fixed, plan->layers, schedule->shape.stages, plan->runtime->title, error)
                               : ppi_fail_memory(error, "the split");
        suiting.question.fixed = fixed;
    }
    if (status == PPSCHED_OK)
        status = ppi_splitting_open(&suiting.splitting, &arena, &suiting.question, error);
    if (status == PPSCHED_OK)
        status = open_shorter(&suiting, &arena, error);
    if (status == PPSCHED_OK)
        status = fit_with(&suiting, error);
    candidate->tried_all = status == PPSCHED_OK && suiting.proved && candidate->strategy->plan == NULL;
    candidate->proved = candidate->tried_all && !ppi_has_factors(config);
    ppi_arena_clear(&arena);
    ppi_release(&plan->host, fixed);
    ppi_schedule_release(suiting.shorter);
    ppi_layers_release(resized);
    return status;
}
