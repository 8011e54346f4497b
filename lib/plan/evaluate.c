/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates one candidate: finds its split and its order of microbatches, then its timeline and figures. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "ir/stage_graph.h"
#include "plan/plan.h"

/* The pairs of different devices, one of each stage, that a link of a graph joins. */
static uint32_t count_pairs(const struct ppi_placement *placement, uint32_t stage, uint32_t input)
{
    uint32_t count = 0, own_count, input_count;
    const uint32_t *own = ppi_devices_of(placement, stage, &own_count),
                   *fed_by = ppi_devices_of(placement, input, &input_count);
    for (uint32_t i = 0; i < own_count; i++)
        for (uint32_t k = 0; k < input_count; k++)
            count += own[i] != fed_by[k];
    return count;
}

/* The same for a stage graph: link by link, and only what runs. */
static void sum_graph_traffic(struct ppi_candidate *candidate, const ppsched_config *config, const ppsched_schedule *schedule)
{
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    const struct ppi_shape *shape = &config->shape;
    for (uint32_t s = 0; s < shape->stages; s++)
        for (uint32_t i = graph->input_first[s]; i < graph->input_first[s + 1]; i++) {
            const uint32_t input = graph->inputs[i], pairs = count_pairs(&schedule->placement, s, input);
            const bool returns = !config->is_forward_only && ppi_stage_has_backward(graph, s) &&
                                 ppi_stage_has_backward(graph, input);
            for (uint32_t m = 0; m < shape->microbatches && pairs > 0; m++) {
                if (!ppi_stage_runs(graph, s, m) || !ppi_stage_runs(graph, input, m))
                    continue;
                const double bytes = ppi_bytes_of(config, input, false) + (returns ? ppi_bytes_of(config, s, true) : 0);
                candidate->transfers += (uint64_t)pairs * (returns ? 2 : 1) * shape->slices;
                candidate->bytes += pairs * bytes * ppi_config_factor(config, 0, m, 0).memory * shape->slices;
            }
        }
}

/* Counts the transfers and bytes between devices in an iteration. */
static void sum_traffic(struct ppi_candidate *candidate, const ppsched_config *config, const ppsched_schedule *schedule)
{
    const struct ppi_placement *placement = &schedule->placement;
    const struct ppi_shape *shape = &config->shape;
    uint32_t stages = shape->stages, m = shape->microbatches;
    double sent[2] = {0, 0}; /* micro-slices through each copy of the model, each counted by its size */
    candidate->transfers = 0;
    candidate->bytes = 0;
    if (placement->graph != NULL) {
        sum_graph_traffic(candidate, config, schedule);
        return;
    }
    for (uint32_t i = 0; i < m; i++)
        sent[ppi_copy_of(placement, shape, i)] += ppi_config_factor(config, 0, i, 0).memory * shape->slices;
    for (uint32_t copy = 0; copy < placement->copies; copy++) {
        uint32_t passes = placement->copies == 1 ? m : copy == 0 ? m - m / 2 : m / 2;
        const uint32_t *device = placement->device_of + (size_t)copy * stages;
        for (uint32_t s = 0; s + 1 < stages; s++)
            if (device[s] != device[s + 1]) {
                candidate->transfers += 2 * (uint64_t)passes * shape->slices;
                candidate->bytes += sent[copy] * (ppi_bytes_of(config, s, false) + ppi_bytes_of(config, s + 1, true));
            }
    }
}

/* How much less work the devices have than the most loaded one, as a share of the time of all devices. */
static double imbalance_of(const ppsched_timeline *timeline)
{
    const uint32_t devices = timeline->schedule->shape.devices;
    double most = 0, sum = 0;
    for (uint32_t d = 0; d < devices; d++) {
        most = ppi_larger(most, timeline->devices[d].busy);
        sum += timeline->devices[d].busy;
    }
    return timeline->metrics.makespan > 0 ? ppi_larger(0, most - sum / devices) / timeline->metrics.makespan : 0;
}

static ppsched_status take_figures(struct ppi_candidate *candidate, const ppsched_plan *plan, struct ppi_known_bounds *known,
                                   const ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    double bound = 0;
    ppsched_status status = ppi_candidate_bound(&bound, known, plan, candidate, schedule, config, error);
    if (status != PPSCHED_OK)
        return status;
    candidate->metrics = ppi_candidate_metrics(timeline, config);
    if (!ppi_is_finite(candidate->metrics.makespan) || !ppi_is_finite(candidate->metrics.span))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    candidate->imbalance = imbalance_of(timeline);
    candidate->overshoot = ppi_overshoot_of(timeline);
    status = ppi_candidate_prove(&bound, plan, candidate, schedule, config, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_candidate_take_bound(candidate, plan, schedule, bound);
    sum_traffic(candidate, config, schedule);
    candidate->copies = candidate->offloads ? ppi_count_offloads(schedule) / schedule->shape.iterations : 0;
    return PPSCHED_OK;
}

/* Keeps a refusal, or a deadlock in the channel model, as the reason of the candidate. Any other status is an error. */
static ppsched_status keep_reason(const ppsched_plan *plan, struct ppi_candidate *candidate, ppsched_status status,
                                  const ppsched_error *reason, ppsched_error *error)
{
    if (status != PPSCHED_ERROR_REFUSED && status != PPSCHED_ERROR_INVALID_SCHEDULE) {
        if (error != NULL)
            *error = *reason;
        return status;
    }
    candidate->reason = ppi_copy_text(&plan->host, reason->message);
    return candidate->reason != NULL ? PPSCHED_OK : ppi_fail_memory(error, "a reason");
}

/* Progress of the work that remains after the search for the split or the order of microbatches. */
struct rest {
    ppsched_progress_function progress;
    void *user;
    double from;
};

static int32_t tell_rest(void *user, const ppsched_progress *progress)
{
    const struct rest *rest = user;
    const ppsched_progress part = {
        .size = sizeof part, .share = rest->from + (1 - rest->from) * progress->share, .best = progress->best};
    return rest->progress(rest->user, &part);
}

static void drop_finds(const ppsched_plan *plan, struct ppi_candidate *candidate)
{
    ppi_candidate_drop_split(plan, candidate);
    ppi_candidate_drop_order(plan, candidate);
}

/* Makes and times the order of a candidate, and what else needs it. */
static ppsched_status time_order(ppsched_timeline **timeline, const ppsched_schedule **order, const ppsched_plan *plan,
                                 struct ppi_candidate *candidate, const ppsched_config *config, ppsched_error *error)
{
    ppsched_status status = ppi_candidate_timeline(timeline, order, plan, candidate, config,
                                                   PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK)
        status = ppi_candidate_ask_runtimes(plan, candidate, *order, error);
    return status == PPSCHED_OK ? ppi_candidate_take_scenarios(plan, candidate, *order, config, error) : status;
}

/* Whether nothing is searched for each candidate, so that equal orders have equal figures. */
static bool may_share(const ppsched_plan *plan)
{
    return plan->layers == NULL && plan->order_effort == 0 && !plan->orders_devices;
}

const struct ppi_candidate *ppi_candidate_twin(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const uint32_t devices = plan->config->shape.devices;
    if (!may_share(plan) || !candidate->strategy->bounds_groups || candidate->group_size <= devices)
        return NULL;
    for (const struct ppi_candidate *other = candidate; other > plan->candidates;) {
        other--;
        if (other->strategy != candidate->strategy || other->stages != candidate->stages)
            return NULL;
        if (other->group_size >= devices && other->evaluated && ppi_candidates_are_alike(other, candidate))
            return other;
    }
    return NULL;
}

/* Whether the strategy itself takes the candidate; where it does not, it may name the group size. */
static bool is_served(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    struct ppi_task task;
    ppsched_config *config = NULL;
    ppsched_status status = ppi_candidate_config(&config, plan, candidate, NULL);
    if (status == PPSCHED_OK)
        status = ppi_task_make(&task, candidate->strategy, config, NULL);
    ppi_config_destroy(config);
    return status == PPSCHED_OK;
}

ppsched_status ppi_candidate_take_twin(const ppsched_plan *plan, struct ppi_candidate *candidate, ppsched_error *error)
{
    const struct ppi_candidate *twin = ppi_candidate_twin(plan, candidate);
    struct ppi_candidate same;
    if (twin == NULL || (twin->reason != NULL && !is_served(plan, candidate)))
        return PPSCHED_OK;
    same = *twin;
    same.group_size = candidate->group_size;
    same.min_group_size = candidate->min_group_size;
    same.rank = candidate->rank;
    same.reason = twin->reason != NULL ? ppi_copy_text(&plan->host, twin->reason) : NULL;
    if (twin->reason != NULL && same.reason == NULL)
        return ppi_fail_memory(error, "a reason");
    *candidate = same;
    return PPSCHED_OK;
}

bool ppi_candidate_leaves(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const struct ppi_candidate *next = candidate + 1;
    if (!may_share(plan) || next >= plan->candidates + plan->count || candidate->offloads || !next->offloads)
        return false;
    struct ppi_candidate bare = *next;
    bare.offloads = false;
    return !next->evaluated && ppi_option_for(next->strategy, PPI_ROLE_OFFLOAD) == NULL &&
           next->group_size == candidate->group_size && ppi_candidates_are_alike(candidate, &bare);
}

void ppi_shared_clear(struct ppi_shared *shared)
{
    ppi_schedule_release(shared->order);
    ppi_timeline_destroy(shared->timeline);
    shared->order = NULL;
    shared->timeline = NULL;
}

static void take_left(struct ppi_candidate *candidate, struct ppi_shared *shared)
{
    if (!candidate->offloads || shared == NULL || shared->order == NULL)
        return;
    candidate->found = shared->order;
    candidate->plain = shared->timeline;
    shared->order = NULL;
    shared->timeline = NULL;
}

/* Leaves the order of a candidate, and its timeline, unless that is of a lowered one. */
static void leave(struct ppi_shared *shared, const ppsched_plan *plan, const ppsched_schedule **order,
                  ppsched_timeline **timeline)
{
    shared->order = *order;
    *order = NULL;
    if (shared->order == NULL || plan->lower.lowering != PPSCHED_LOWERING_NONE)
        return;
    shared->timeline = *timeline;
    *timeline = NULL;
}

ppsched_status ppi_candidate_evaluate(const ppsched_plan *plan, struct ppi_candidate *candidate, struct ppi_shared *shared,
                                      ppsched_progress_function progress, void *user, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_timeline *timeline = NULL;
    const ppsched_schedule *order = NULL;
    struct ppsched_steady steady = {.timeline = NULL};
    struct rest rest = {progress, user, plan->layers != NULL ? PPI_SPLIT_SHARE : plan->order_effort > 0 ? PPI_ORDER_SHARE : 0};
    const bool had_order = candidate->device_order != NULL;
    ppsched_error reason;
    ppsched_status status = ppi_candidate_arrange(plan, candidate, progress, user, &reason);
    if (status == PPSCHED_OK)
        status = ppi_candidate_order(plan, candidate, progress, user, &reason);
    if (status == PPSCHED_OK)
        status = ppi_candidate_config(&config, plan, candidate, &reason);
    if (status == PPSCHED_OK) {
        ppi_candidate_take_one(plan, candidate, config);
        config->progress = progress != NULL ? tell_rest : NULL;
        config->progress_user = &rest;
        status = ppi_candidate_steady(&steady, plan, candidate, config, &reason);
    }
    take_left(candidate, shared);
    if (status == PPSCHED_OK && steady.timeline == NULL)
        status = time_order(&timeline, &order, plan, candidate, config, &reason);
    if (status == PPSCHED_OK)
        status = take_figures(candidate, plan, shared != NULL ? shared->known : NULL,
                              steady.timeline != NULL ? steady.timeline : timeline, config, &reason);
    if (status == PPSCHED_OK && shared != NULL && shared->leaves)
        leave(shared, plan, &order, &timeline);
    if (status != PPSCHED_OK)
        status = keep_reason(plan, candidate, status, &reason, error);
    candidate->evaluated = status == PPSCHED_OK;
    ppi_candidate_drop_found(candidate);
    if (!ppi_candidate_runs(candidate))
        drop_finds(plan, candidate);
    if (!candidate->evaluated && !had_order) { /* another call searches again */
        ppi_release(&plan->host, candidate->device_order);
        candidate->device_order = NULL;
    }
    ppi_steady_clear(&steady);
    ppi_timeline_destroy(timeline);
    ppi_schedule_release(order);
    ppi_config_destroy(config);
    return status;
}
