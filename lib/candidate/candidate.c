/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/number.h"
#include "eval/timeline.h"
#include "offload/offload.h"
#include "lower/lower.h"
#include "channel/evaluate_transfers.h"
#include "plan/plan.h"
#include "candidate/restage.h"
#include "microbatches/order.h"

enum { MANY_OPS = 1000000 };

/* --- its problem --- */

/* Options of other strategies are not for this one. */
static void drop_foreign_options(ppsched_config *config, const struct ppi_strategy *strategy)
{
    for (size_t i = config->option_count; i-- > 0;) {
        uint32_t k = 0;
        while (k < strategy->option_count && strcmp(strategy->options[k].name, config->options[i].name) != 0)
            k++;
        if (k == strategy->option_count)
            ppi_config_set_option(config, config->options[i].name, NULL, NULL);
    }
}

/* Sets the option with a role, where the strategy has one. */
static ppsched_status set_role(ppsched_config *config, const struct ppi_strategy *strategy, enum ppi_role role,
                               const char *value, ppsched_error *error)
{
    const struct ppi_option_row *row = ppi_option_for(strategy, role);
    return row != NULL ? ppi_config_set_option(config, row->name, value, error) : PPSCHED_OK;
}

static ppsched_status set_number(ppsched_config *config, const struct ppi_strategy *strategy, enum ppi_role role,
                                 uint32_t value, ppsched_error *error)
{
    char text[PPI_INTEGER_SIZE + 1];
    text[ppi_integer_to_text(text, value)] = '\0';
    return value > 0 ? set_role(config, strategy, role, text, error) : PPSCHED_OK;
}

/* Searches look for what the plan ranks by. */
static ppsched_status set_goal(ppsched_config *config, const ppsched_plan *plan, ppsched_error *error)
{
    const struct ppi_scenario_goal goal = {
        .options = plan->scenarios, .count = plan->scenario_count, .rank_by = plan->rank_by, .quantile = plan->quantile};
    if (plan->scenario_count == 0 || plan->rank_by == PPSCHED_RANK_BY_STEP || plan->effort == 0 ||
        plan->scenarios.dispatch != PPSCHED_DISPATCH_PLANNED)
        return PPSCHED_OK;
    ppi_scenario_goal_destroy(config->goal, &config->host);
    config->goal = NULL;
    return ppi_scenario_goal_make(&config->goal, &config->host, &goal, error);
}

static ppsched_status specialise(ppsched_config *config, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                 ppsched_error *error)
{
    const struct ppi_strategy *strategy = candidate->strategy;
    const char *objective = plan->objective == PPSCHED_OBJECTIVE_SPAN ? "span" : "makespan";
    config->progress = NULL; /* the plan's own: see ppsched_plan_run */
    config->progress_user = NULL;
    drop_foreign_options(config, strategy);
    ppsched_status status = set_number(config, strategy, PPI_ROLE_GROUP_SIZE, candidate->group_size, error);
    if (status == PPSCHED_OK)
        status = set_number(config, strategy, PPI_ROLE_MIN_GROUP_SIZE, candidate->min_group_size, error);
    if (status == PPSCHED_OK)
        status = set_role(config, strategy, PPI_ROLE_PLACEMENT, ppi_placement_name(candidate->placement), error);
    if (status == PPSCHED_OK)
        status = set_role(config, strategy, PPI_ROLE_OBJECTIVE, objective, error);
    if (status == PPSCHED_OK)
        status = set_number(config, strategy, PPI_ROLE_EFFORT, plan->effort, error);
    if (status == PPSCHED_OK && ppi_option_for(strategy, PPI_ROLE_EFFORT) != NULL)
        status = set_goal(config, plan, error);
    if (status == PPSCHED_OK && candidate->memory_limit >= 0)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &candidate->memory_limit, 1, error);
    if (status == PPSCHED_OK && candidate->offloads)
        status = set_role(config, strategy, PPI_ROLE_OFFLOAD, "limit", error);
    return status;
}

double ppi_candidate_size(const ppsched_plan *plan, const ppsched_config *config)
{
    const struct ppi_shape *old = &plan->config->shape, *new = &config->shape;
    return (double)old->microbatches / new->microbatches / (new->slices / old->slices);
}

/* Of its split; microbatches of another size, and slices, cost so much more or less. */
static ppsched_status layered_config(ppsched_config **out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                     const struct ppi_shape *shape, ppsched_error *error)
{
    const ppsched_split split = {sizeof split, candidate->stages, candidate->layers, candidate->recomputes};
    ppsched_config *config = NULL;
    ppsched_status status = ppi_layers_config(&config, plan->config, plan->layers, &split, error);
    if (status != PPSCHED_OK || (shape->microbatches == config->shape.microbatches && shape->slices == config->shape.slices)) {
        *out = config;
        return status;
    }
    status = ppi_restage(out, config, shape, NULL, NULL, &plan->slicing, error);
    ppi_config_destroy(config);
    return status;
}

ppsched_status ppi_candidate_config(ppsched_config **out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                    ppsched_error *error)
{
    const struct ppi_shape *old = &plan->config->shape;
    struct ppi_shape shape = *old;
    ppsched_config *config = NULL;
    ppsched_status status = ppi_shape_make(&shape, old->devices, candidate->stages, candidate->microbatches, old->iterations,
                                           error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(&shape, candidate->slices, error);
    if (status != PPSCHED_OK)
        return status;
    if (plan->layers != NULL)
        status = layered_config(&config, plan, candidate, &shape, error);
    else if (shape.stages == old->stages && shape.microbatches == old->microbatches && shape.slices == old->slices)
        status = ppi_config_copy(&config, plan->config, error);
    else
        status = ppi_restage(&config, plan->config, &shape, &plan->embedding, &plan->head, &plan->slicing, error);
    if (status == PPSCHED_OK)
        status = specialise(config, plan, candidate, error);
    if (status == PPSCHED_OK && candidate->microbatch_order != NULL)
        ppi_put_microbatch_order(config, plan->config, candidate->microbatch_order);
    if (status != PPSCHED_OK) {
        ppi_config_destroy(config);
        return status;
    }
    *out = config;
    return PPSCHED_OK;
}

void ppi_candidate_take_one(const ppsched_plan *plan, const struct ppi_candidate *candidate, ppsched_config *config)
{
    double ops = 3.0 * config->shape.stages * config->shape.microbatches * config->shape.iterations;
    if (!candidate->strategy->flushes || plan->lower.lowering != PPSCHED_LOWERING_NONE || ops < MANY_OPS ||
        config->shape.iterations == 1)
        return;
    config->repeats = config->shape.iterations;
    config->shape.iterations = 1;
}

/* --- its timeline --- */

static uint64_t count_offloads(const ppsched_schedule *schedule)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < schedule->op_count; i++)
        count += schedule->ops[i].kind == PPSCHED_KIND_OFFLOAD;
    return count;
}

/* Replaces a schedule by one whose activations go to the host, but where its strategy has done so. */
static ppsched_status offload(ppsched_schedule **schedule, const struct ppi_candidate *candidate, const ppsched_config *config,
                              ppsched_error *error)
{
    const ppsched_offload_options options = {.size = sizeof options,
                                             .until_limit = config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL};
    if (ppi_option_for(candidate->strategy, PPI_ROLE_OFFLOAD) == NULL) {
        ppsched_schedule *next = NULL;
        ppsched_status status = ppi_offload(&next, *schedule, config, &options, false, error);
        if (status != PPSCHED_OK)
            return status;
        ppi_schedule_release(*schedule);
        *schedule = next;
    }
    if (count_offloads(*schedule) == 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s: %s", candidate->strategy->name,
                        options.until_limit != 0 ? "it holds its memory limit without offload"
                                                 : "no copy fits between a forward and its backward");
    return PPSCHED_OK;
}

ppsched_status ppi_candidate_timeline(ppsched_timeline **out, const ppsched_schedule **order, const ppsched_plan *plan,
                                      const struct ppi_candidate *candidate, const ppsched_config *config, uint32_t flags,
                                      ppsched_error *error)
{
    ppsched_schedule *schedule = NULL, *lowered = NULL;
    ppsched_status status = ppi_generate(&schedule, candidate->strategy, config, error);
    if (status == PPSCHED_OK && candidate->offloads)
        status = offload(&schedule, candidate, config, error);
    if (status == PPSCHED_OK && plan->lower.lowering != PPSCHED_LOWERING_NONE)
        status = ppi_lower(&lowered, schedule, config, &plan->lower, error);
    if (status == PPSCHED_OK && lowered != NULL)
        status = ppi_evaluate_transfers(out, lowered, config, &plan->channel, error);
    else if (status == PPSCHED_OK)
        status = ppi_evaluate(out, schedule, config, flags, error);
    ppi_schedule_release(lowered);
    if (order != NULL && status == PPSCHED_OK)
        *order = schedule;
    else
        ppi_schedule_release(schedule);
    return status;
}

/* --- its figures --- */

ppsched_metrics ppi_candidate_metrics(const ppsched_timeline *timeline, const ppsched_config *config)
{
    ppsched_metrics metrics = timeline->metrics;
    double repeats = config->repeats > 0 ? config->repeats : 1, busy = metrics.span * (1 - metrics.bubble_of_span);
    if (repeats > 1 && metrics.span > 0) { /* each begins where the one before has ended on all devices */
        metrics.span += (repeats - 1) * metrics.makespan;
        metrics.makespan *= repeats;
        metrics.bubble_of_span = 1 - repeats * busy / metrics.span;
    }
    return metrics;
}

double ppi_candidate_step(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    double whole = plan->objective == PPSCHED_OBJECTIVE_SPAN ? candidate->metrics.span : candidate->metrics.makespan;
    return whole / plan->config->shape.iterations;
}

/* Transfers and bytes that go from device to device in an iteration. */
static void sum_traffic(struct ppi_candidate *candidate, const ppsched_config *config, const ppsched_schedule *schedule)
{
    const struct ppi_placement *placement = &schedule->placement;
    uint32_t stages = schedule->shape.stages, m = schedule->shape.microbatches;
    double sent[2] = {0, 0}; /* pieces by copy, each as often as it is larger than what the lists say */
    candidate->transfers = 0;
    candidate->bytes = 0;
    for (uint32_t i = 0; i < m; i++)
        sent[ppi_copy_of(placement, &schedule->shape, i)] += ppi_config_factor(config, i, 0).memory * schedule->shape.slices;
    for (uint32_t copy = 0; copy < placement->copies; copy++) {
        uint32_t passes = placement->copies == 1 ? m : copy == 0 ? m - m / 2 : m / 2;
        const uint32_t *device = placement->device_of + (size_t)copy * stages;
        for (uint32_t s = 0; s + 1 < stages; s++)
            if (device[s] != device[s + 1]) {
                candidate->transfers += 2 * (uint64_t)passes * schedule->shape.slices;
                candidate->bytes += sent[copy] * (ppi_bytes_of(config, s, false) + ppi_bytes_of(config, s + 1, true));
            }
    }
}

double ppi_excess_of(const ppsched_timeline *timeline)
{
    double excess = 0;
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        const ppsched_device_metrics *device = &timeline->devices[d];
        if (ppi_is_over_limit(device->peak_memory, device->memory_limit))
            excess = ppi_larger(excess, device->peak_memory - device->memory_limit);
    }
    return excess;
}

/* What devices have less to do than the one that has most, as a share of all time of all devices. */
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
    candidate->excess = ppi_excess_of(timeline);
    ppi_candidate_take_bound(candidate, plan, schedule, bound);
    sum_traffic(candidate, config, schedule);
    candidate->copies = candidate->offloads ? count_offloads(schedule) / schedule->shape.iterations : 0;
    return PPSCHED_OK;
}

/* A refusal is an answer, and so is that an order hangs in the channel model; the others are errors. */
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

/* The work that is left once there is a split, or an order. */
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

ppsched_status ppi_candidate_evaluate(const ppsched_plan *plan, struct ppi_candidate *candidate, struct ppi_known_bounds *known,
                                      ppsched_progress_function progress, void *user, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_timeline *timeline = NULL;
    const ppsched_schedule *order = NULL;
    struct rest rest = {progress, user, plan->layers != NULL ? PPI_SPLIT_SHARE : plan->order_effort > 0 ? PPI_ORDER_SHARE : 0};
    ppsched_error reason;
    ppsched_status status = ppi_candidate_split(plan, candidate, progress, user, &reason);
    if (status == PPSCHED_OK)
        status = ppi_candidate_order(plan, candidate, progress, user, &reason);
    if (status == PPSCHED_OK)
        status = ppi_candidate_config(&config, plan, candidate, &reason);
    if (status == PPSCHED_OK) {
        ppi_candidate_take_one(plan, candidate, config);
        config->progress = progress != NULL ? tell_rest : NULL;
        config->progress_user = &rest;
        status = ppi_candidate_timeline(&timeline, &order, plan, candidate, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY,
                                        &reason);
    }
    if (status == PPSCHED_OK)
        status = ppi_candidate_ask_runtimes(plan, candidate, order, &reason);
    if (status == PPSCHED_OK)
        status = ppi_candidate_take_scenarios(plan, candidate, order, config, &reason);
    if (status == PPSCHED_OK)
        status = take_figures(candidate, plan, known, timeline, config, &reason);
    if (status != PPSCHED_OK)
        status = keep_reason(plan, candidate, status, &reason, error);
    candidate->evaluated = status == PPSCHED_OK;
    if (!ppi_candidate_runs(candidate))
        drop_finds(plan, candidate);
    ppi_timeline_destroy(timeline);
    ppi_schedule_release(order);
    ppi_config_destroy(config);
    return status;
}
