/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the candidates of a plan: each strategy with all chunks, group sizes, microbatches, slices and limits it can have. */
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "ir/stage_graph.h"
#include "plan/plan.h"

/* Chunks per device by default: with stages up to USUAL_CHUNKS; with layers each number up to FEW_CHUNKS, and some larger
 * ones. Measured: docs/performance.md. */
enum { USUAL_CHUNKS = 4, FEW_CHUNKS = 16, MOST_CHUNKS = 64 };

/* With layers each group size takes a split search. So with more than MOST_PARTED microbatches, group sizes are divisors of
 * their number, and up to 2D also others if the schedule has at most MOST_FORWARDS forwards. */
enum { MOST_PARTED = 64, MOST_FORWARDS = 5000 };

/* The most nodes that all split searches of a plan may visit together. A single family may visit PPI_MOST_VISITS. */
#define ALL_VISITS 40000000u

/* The same for candidates with so few splits that all are tried. */
#define ALL_SMALL_VISITS 400000000u
enum { MOST_SMALL_VISITS = 8000000 };

/* What varies from candidate to candidate, with defaults filled in. */
struct listing {
    ppsched_plan *plan;
    const struct ppi_plan_options *options;
    const uint32_t *chunks, *microbatches, *slices;
    const double *limits;
    uint32_t chunk_count, microbatch_count, slice_count, limit_count;
};

static ppsched_status add(struct listing *listing, const struct ppi_candidate *candidate, ppsched_error *error)
{
    ppsched_plan *plan = listing->plan;
    if (plan->count == plan->capacity) {
        size_t capacity = 2 * plan->capacity + 64;
        if (capacity >= PPSCHED_NONE)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "there are more than %zu candidate%p", plan->capacity);
        struct ppi_candidate *grown = ppi_allocate(&plan->host, capacity, sizeof *grown);
        if (grown == NULL)
            return ppi_fail_memory(error, "the candidates");
        if (plan->count > 0)
            memcpy(grown, plan->candidates, plan->count * sizeof *grown);
        ppi_release(&plan->host, plan->candidates);
        plan->candidates = grown;
        plan->capacity = capacity;
    }
    plan->candidates[plan->count] = *candidate;
    plan->candidates[plan->count++].rank = PPSCHED_NONE;
    return PPSCHED_OK;
}

/* Whether the strategy is a search that chooses the order and the offload together, and there is a limit for it. */
static bool chooses_offload(const struct listing *listing, const struct ppi_candidate *candidate)
{
    const ppsched_config *config = listing->plan->config;
    return ppi_option_for(candidate->strategy, PPI_ROLE_OFFLOAD) != NULL && listing->plan->layers == NULL &&
           (candidate->memory_limit >= 0 || config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL);
}

/* Whether the candidate is also listed with offload. With layers, where each takes a search, only for some group sizes. */
static bool may_offload(const struct listing *listing, const struct ppi_candidate *candidate)
{
    uint32_t devices = listing->plan->config->shape.devices, group = candidate->group_size;
    bool is_usual = group == 0 || group == devices || group == (devices + 1) / 2;
    return listing->options->offload != 0 && !candidate->strategy->offloads &&
           (candidate->strategy->plan == NULL || chooses_offload(listing, candidate)) &&
           (listing->plan->layers == NULL || is_usual || listing->options->group_size_count > 0);
}

static ppsched_status add_limits(struct listing *listing, struct ppi_candidate *candidate, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < listing->limit_count && status == PPSCHED_OK; i++) {
        candidate->memory_limit = listing->limits[i];
        candidate->offloads = false;
        status = add(listing, candidate, error);
        candidate->offloads = true;
        if (status == PPSCHED_OK && may_offload(listing, candidate))
            status = add(listing, candidate, error);
    }
    return status;
}

/* Whether to list this group size: if the strategy supports it. D is always listed, so that a refusal gives the reason. */
static bool may_have_group(const struct listing *listing, const struct ppi_candidate *candidate, uint32_t group)
{
    struct ppi_task task = {.strategy = candidate->strategy,
                            .shape = listing->plan->config->shape,
                            .is_forward_only = listing->plan->config->is_forward_only};
    task.shape.stages = candidate->stages;
    task.shape.microbatches = candidate->microbatches;
    task.shape.slices = candidate->slices;
    ppi_set_defaults(&task);
    task.option[ppi_option_for(candidate->strategy, PPI_ROLE_GROUP_SIZE) - candidate->strategy->options] = group;
    return group == task.shape.devices || ppi_serves(&task);
}

/* With many microbatches or chunks, a group size is tried only if it divides the microbatches, or is not much above D. */
static bool is_worth_a_search(const struct ppi_candidate *candidate, uint32_t devices, uint32_t group)
{
    const uint32_t microbatches = candidate->microbatches, stages = candidate->stages;
    return (microbatches <= MOST_PARTED && stages <= FEW_CHUNKS * devices) || microbatches % group == 0 ||
           (group > devices && group <= 2 * devices && (uint64_t)microbatches * stages <= MOST_FORWARDS);
}

/* Whether a group size other than D is tried if the caller gives none. With layers each takes a split search. A strategy that
 * comes last gains nothing from groups larger than D, and the search for offload takes long. */
static bool is_worth_keeping(const struct listing *listing, const struct ppi_candidate *candidate, uint32_t group)
{
    const uint32_t devices = listing->plan->config->shape.devices;
    const bool is_half = group == (devices + 1) / 2;
    if (listing->plan->layers == NULL || group == devices)
        return group != devices;
    if (candidate->strategy->offloads)
        return group == 1 || is_half;
    if (candidate->strategy->comes_last)
        return is_half || (group < devices && is_worth_a_search(candidate, devices, group));
    return is_worth_a_search(candidate, devices, group);
}

static ppsched_status add_groups(struct listing *listing, struct ppi_candidate *candidate, ppsched_error *error)
{
    const struct ppi_plan_options *options = listing->options;
    struct ppi_shape shape = listing->plan->config->shape;
    ppsched_status status = PPSCHED_OK;
    if (ppi_option_for(candidate->strategy, PPI_ROLE_GROUP_SIZE) == NULL)
        return add_limits(listing, candidate, error);
    for (uint32_t i = 0; i < options->group_size_count && status == PPSCHED_OK; i++) {
        candidate->group_size = options->group_sizes[i];
        status = add_limits(listing, candidate, error);
    }
    if (options->group_size_count > 0)
        return status;
    shape.microbatches = candidate->microbatches;
    candidate->group_size = shape.devices;
    status = add_limits(listing, candidate, error);
    for (uint32_t g = ppi_next_group(&shape, 0); g != 0 && status == PPSCHED_OK; g = ppi_next_group(&shape, g)) {
        candidate->group_size = g;
        if (is_worth_keeping(listing, candidate, g) && may_have_group(listing, candidate, g))
            status = add_limits(listing, candidate, error);
    }
    return status;
}

/* Unless the caller names the strategies, only those that are made for slices get more than one slice. */
static ppsched_status add_slices(struct listing *listing, struct ppi_candidate *candidate, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    bool may_cut = candidate->strategy->cuts || listing->options->strategy_count > 0 || listing->options->slice_count == 0;
    for (uint32_t i = 0; i < listing->slice_count && status == PPSCHED_OK; i++) {
        candidate->slices = listing->slices[i];
        candidate->group_size = 0;
        if (candidate->slices == 1 || may_cut)
            status = add_groups(listing, candidate, error);
    }
    return status;
}

static ppsched_status add_microbatches(struct listing *listing, struct ppi_candidate *candidate, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < listing->microbatch_count && status == PPSCHED_OK; i++) {
        candidate->microbatches = listing->microbatches[i];
        status = add_slices(listing, candidate, error);
    }
    return status;
}

static bool may_place(const struct listing *listing, int32_t placement)
{
    return listing->options->placements == 0 || (listing->options->placements >> placement & 1) != 0;
}

/* The placement of auto is an option; each other strategy has one placement. */
static ppsched_status add_placements(struct listing *listing, struct ppi_candidate *candidate, uint32_t chunks,
                                     ppsched_error *error)
{
    static const int32_t all[] = {PPSCHED_PLACEMENT_LINEAR, PPSCHED_PLACEMENT_LOOP, PPSCHED_PLACEMENT_V};
    ppsched_status status = PPSCHED_OK;
    if (candidate->strategy->placement != PPSCHED_PLACEMENT_DEFAULT)
        return may_place(listing, candidate->strategy->placement) ? add_microbatches(listing, candidate, error) : PPSCHED_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == PPSCHED_OK; i++)
        if (may_place(listing, all[i]) && (chunks == 1) == (all[i] == PPSCHED_PLACEMENT_LINEAR)) {
            candidate->placement = all[i];
            status = add_microbatches(listing, candidate, error);
        }
    return status;
}

/* A loop of one chunk is linear placement, for which there are other strategies. */
static bool may_have_chunks(const struct listing *listing, const struct ppi_strategy *strategy, uint32_t chunks)
{
    bool is_loop = strategy->placement == PPSCHED_PLACEMENT_LOOP && listing->options->strategy_count == 0;
    return strategy->chunks != 0 ? strategy->chunks == chunks : !(is_loop && chunks == 1);
}

static bool has_map(const struct listing *listing)
{
    return listing->plan->config->placement == PPSCHED_PLACEMENT_MAP;
}

static bool has_graph(const struct listing *listing)
{
    return listing->plan->config->graph != NULL;
}

/* A placement map, or a graph, fixes the number of stages. */
static ppsched_status add_mapped(struct listing *listing, const struct ppi_strategy *strategy, ppsched_error *error)
{
    struct ppi_candidate candidate = {.strategy = strategy, .stages = listing->plan->config->shape.stages};
    const int32_t placement = listing->plan->config->placement;
    candidate.placement = strategy->placement == PPSCHED_PLACEMENT_DEFAULT ? placement : PPSCHED_PLACEMENT_DEFAULT;
    return placement == PPSCHED_PLACEMENT_DEFAULT || may_place(listing, placement)
               ? add_microbatches(listing, &candidate, error)
               : PPSCHED_OK;
}

static ppsched_status add_strategy(struct listing *listing, const struct ppi_strategy *strategy, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    if (has_map(listing) || has_graph(listing))
        return add_mapped(listing, strategy, error);
    for (uint32_t i = 0; i < listing->chunk_count && status == PPSCHED_OK; i++) {
        uint64_t stages = (uint64_t)listing->chunks[i] * listing->plan->config->shape.devices;
        struct ppi_candidate candidate = {.strategy = strategy, .stages = (uint32_t)stages};
        if (!may_have_chunks(listing, strategy, listing->chunks[i]))
            continue;
        if (stages > PPSCHED_MAX_STAGES)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%u chunk%p on %u device%p are more than %u stage%p",
                            listing->chunks[i], listing->plan->config->shape.devices, PPSCHED_MAX_STAGES);
        status = add_placements(listing, &candidate, listing->chunks[i], error);
    }
    return status;
}

/* Lists one candidate of a named strategy that supports none of these numbers of chunks, so that its refusal gives the
 * reason. */
static ppsched_status add_unserved(struct listing *listing, const struct ppi_strategy *strategy, ppsched_error *error)
{
    uint32_t devices = listing->plan->config->shape.devices;
    uint32_t chunks = listing->options->chunk_count > 0 ? listing->chunks[0] : strategy->chunks;
    struct ppi_candidate candidate = {.strategy = strategy, .stages = chunks * devices};
    for (uint32_t i = 0; i < listing->chunk_count; i++)
        if (may_have_chunks(listing, strategy, listing->chunks[i]))
            return PPSCHED_OK;
    if (has_map(listing) || has_graph(listing) || (uint64_t)chunks * devices > PPSCHED_MAX_STAGES)
        return PPSCHED_OK;
    return add_placements(listing, &candidate, chunks, error);
}

/* Whether a strategy is tried on a graph: a search, or a rule that supports this graph. */
static bool suits_graph(const struct ppi_strategy *strategy, const ppsched_config *config)
{
    struct ppi_task task;
    if (!strategy->serves_graphs || strategy->plan != NULL || strategy->make != NULL)
        return strategy->serves_graphs;
    ppsched_config plain = *config; /* without options of other strategies */
    plain.option_count = 0;
    return ppi_task_make(&task, strategy, &plain, NULL) == PPSCHED_OK;
}

/* Whether the head is apart, so that devices may share it. */
static bool has_head(const struct listing *listing)
{
    const ppsched_model_end *head = listing->options->head;
    return head != NULL &&
           head->forward_time + head->backward_time + head->backward_input_time + head->backward_weight_time > 0;
}

static bool is_usual(const struct listing *listing, const struct ppi_strategy *strategy)
{
    const bool may_search = listing->options->effort > 0 || !strategy->searches_long;
    if (has_graph(listing))
        return suits_graph(strategy, listing->plan->config);
    if (has_map(listing))
        return strategy->placement == PPSCHED_PLACEMENT_DEFAULT;
    return may_search && !strategy->is_for_slices && !strategy->offloads && (!strategy->shares_head || has_head(listing));
}

/* By default only strategies that flush, as others change the optimizer. With a placement map only those for any placement. */
static ppsched_status add_all(struct listing *listing, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < ppi_strategy_count() && status == PPSCHED_OK; i++) {
        const struct ppi_strategy *strategy = ppi_strategy_at(i);
        if (strategy->flushes && is_usual(listing, strategy) && ppi_may_split(strategy, listing->plan->config))
            status = add_strategy(listing, strategy, error);
    }
    return status;
}

static ppsched_status add_named(struct listing *listing, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < listing->options->strategy_count && status == PPSCHED_OK; i++) {
        uint32_t index = 0;
        if (listing->options->strategies[i] == NULL)
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "strategies: name %u is NULL", i);
        status = ppi_strategy_find(listing->options->strategies[i], &index, error);
        if (status == PPSCHED_OK)
            status = add_strategy(listing, ppi_strategy_at(index), error);
        if (status == PPSCHED_OK)
            status = add_unserved(listing, ppi_strategy_at(index), error);
    }
    return status;
}

/* Default numbers of chunks. With layers up to one layer per stage; above FEW_CHUNKS only numbers that give stages equal
 * numbers of layers. A single device waits for no other, so more than one chunk cannot help it. */
static uint32_t list_usual(uint32_t *chunks, const ppsched_plan *plan, bool is_named)
{
    const ppsched_layers *layers = plan->layers;
    uint32_t devices = plan->config->shape.devices, count = 0;
    uint32_t each = layers != NULL ? layers->count / devices : USUAL_CHUNKS;
    uint32_t middle = layers != NULL ? (layers->count - layers->first - layers->last) / devices : 0;
    if (layers != NULL && devices == 1 && !is_named)
        each = middle = 1;
    for (uint32_t n = 1; n == 1 || (n <= each && n <= FEW_CHUNKS); n++)
        chunks[count++] = n;
    for (uint32_t n = FEW_CHUNKS + 1; n <= middle && n <= MOST_CHUNKS; n++)
        if (middle / (middle / n) == n)
            chunks[count++] = n;
    return count;
}

/* Candidates that differ only in group size are a family, which shares the split of its first one. Counts the families whose
 * strategy comes last, or does not. */
static uint64_t count_families(const ppsched_plan *plan, bool comes_last)
{
    uint64_t families = 0;
    for (size_t i = 0; i < plan->count; i++)
        families += plan->candidates[i].strategy->comes_last == comes_last &&
                    (i == 0 || !ppi_candidates_are_alike(&plan->candidates[i], &plan->candidates[i - 1]));
    return families;
}

static uint64_t share_of(const ppsched_plan *plan, uint64_t families)
{
    uint64_t each = ppi_plan_visits(plan, families > 1 ? ALL_VISITS / families : PPI_MOST_VISITS);
    return each < PPI_LEAST_VISITS ? PPI_LEAST_VISITS : each;
}

/* Strategies that come last take nothing from the share of the others. */
static void share_visits(ppsched_plan *plan)
{
    uint64_t last = count_families(plan, true), others = count_families(plan, false);
    plan->last_visited = share_of(plan, last > 0 ? last : others);
    plan->most_visited = share_of(plan, others > 0 ? others : last);
    plan->small_visited = plan->count > 0 ? ALL_SMALL_VISITS / plan->count : 0;
    if (plan->small_visited > MOST_SMALL_VISITS)
        plan->small_visited = MOST_SMALL_VISITS;
}

ppsched_status ppi_list_candidates(ppsched_plan *plan, const struct ppi_plan_options *options, ppsched_error *error)
{
    uint32_t usual[MOST_CHUNKS];
    static const double own_limits = -1;
    struct listing listing = {.plan = plan,
                              .options = options,
                              .chunks = options->chunks,
                              .microbatches = options->microbatches,
                              .slices = options->slices,
                              .limits = options->memory_limits,
                              .chunk_count = options->chunk_count,
                              .microbatch_count = options->microbatch_count,
                              .slice_count = options->slice_count,
                              .limit_count = options->memory_limit_count};
    if (listing.chunk_count > 0 && (has_map(&listing) || has_graph(&listing)))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "chunks cannot be given with a %s, which has %u stage%p",
                        has_map(&listing) ? "placement map" : "stage graph", plan->config->shape.stages);
    if (listing.chunk_count == 0) {
        listing.chunks = usual;
        listing.chunk_count = list_usual(usual, plan, options->strategy_count > 0);
    }
    if (listing.microbatch_count == 0) {
        listing.microbatches = &plan->config->shape.microbatches;
        listing.microbatch_count = 1;
    }
    if (listing.slice_count == 0) {
        listing.slices = &plan->config->shape.slices;
        listing.slice_count = 1;
    }
    if (listing.limit_count == 0) {
        listing.limits = &own_limits;
        listing.limit_count = 1;
    }
    ppsched_status status = options->strategy_count > 0 ? add_named(&listing, error) : add_all(&listing, error);
    share_visits(plan);
    return status;
}
