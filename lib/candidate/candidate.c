/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the problem of a candidate from the config of the plan, and the candidate's timeline and figures. */
#include "candidate/candidate.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "candidate/share_head.h"
#include "channel/evaluate_transfers.h"
#include "eval/timeline.h"
#include "ir/device_order.h"
#include "lower/lower.h"
#include "microbatches/order.h"
#include "ir/stage_graph.h"
#include "offload/offload.h"
#include "pair/layers.h"

/* Orders of fewer stage passes are timed op by op; longer ones too, where their times do not repeat within a share of their
 * microbatches. */
enum { MANY_OPS = 1000000, MANY_PASSES = 1 << 13, STEADY_SHARE = 8 };

/* --- the problem of a candidate --- */

/* Removes the options that this strategy does not have. */
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

ppsched_status ppi_candidate_order_scenarios(struct ppi_ordered_scenarios *out, const ppsched_plan *plan,
                                             const struct ppi_candidate *candidate, ppsched_error *error)
{
    const uint32_t devices = plan->config->shape.devices;
    const size_t device_count = plan->scenarios.device_factor_count, link_count = plan->scenarios.link_factor_count;
    *out = (struct ppi_ordered_scenarios){plan->scenarios, NULL};
    if (candidate->device_order == NULL || device_count + link_count == 0)
        return PPSCHED_OK;
    out->lists = ppi_allocate(&plan->host, device_count + link_count, sizeof *out->lists);
    if (out->lists == NULL)
        return ppi_fail_memory(error, "the factors");
    ppi_order_by_device(out->lists, plan->scenarios.device_factors, device_count, candidate->device_order, devices);
    if (link_count > 0)
        ppi_order_by_pair(out->lists + device_count, plan->scenarios.link_factors, candidate->device_order, devices);
    out->options.device_factors = device_count > 0 ? out->lists : NULL;
    out->options.link_factors = link_count > 0 ? out->lists + device_count : NULL;
    return PPSCHED_OK;
}

/* Sets the robust objective for a search, so that the search minimises what the plan ranks by. On a stage graph, the search
 * minimises the planned time. */
static ppsched_status set_goal(ppsched_config *config, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                               ppsched_error *error)
{
    struct ppi_robust_objective goal = {.count = plan->scenario_count, .rank_by = plan->rank_by, .quantile = plan->quantile};
    struct ppi_ordered_scenarios ordered;
    if (plan->scenario_count == 0 || plan->rank_by == PPSCHED_RANK_BY_STEP || plan->effort == 0 ||
        plan->scenarios.dispatch != PPSCHED_DISPATCH_PLANNED || config->graph != NULL)
        return PPSCHED_OK;
    ppi_robust_objective_destroy(config->goal, &config->host);
    config->goal = NULL;
    ppsched_status status = ppi_candidate_order_scenarios(&ordered, plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    goal.options = ordered.options;
    status = ppi_robust_objective_make(&config->goal, &config->host, &goal, error);
    ppi_release(&plan->host, ordered.lists);
    return status;
}

/* Sets the options of the strategy in which the candidate differs from others. */
static void set_roles(ppsched_config *config, const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const struct ppi_option_row *placement = ppi_option_for(candidate->strategy, PPI_ROLE_PLACEMENT);
    if (candidate->group_size > 0)
        ppi_config_set_role(config, PPI_ROLE_GROUP_SIZE, candidate->group_size);
    if (candidate->min_group_size > 0)
        ppi_config_set_role(config, PPI_ROLE_MIN_GROUP_SIZE, candidate->min_group_size);
    if (placement != NULL)
        ppi_config_set_role(config, PPI_ROLE_PLACEMENT, ppi_choice_number(placement, ppi_placement_name(candidate->placement)));
    ppi_config_set_role(config, PPI_ROLE_OBJECTIVE, plan->objective == PPSCHED_OBJECTIVE_SPAN ? PPI_BY_SPAN : PPI_BY_MAKESPAN);
    if (plan->effort > 0)
        ppi_config_set_role(config, PPI_ROLE_EFFORT, plan->effort);
    if (candidate->offloads)
        ppi_config_set_role(config, PPI_ROLE_OFFLOAD, PPI_OFFLOAD_TO_LIMIT);
}

static ppsched_status specialise(ppsched_config *config, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                 ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    config->progress = NULL; /* the plan calls it instead: see ppsched_plan_run */
    config->progress_user = NULL;
    drop_foreign_options(config, candidate->strategy);
    set_roles(config, plan, candidate);
    if (ppi_option_for(candidate->strategy, PPI_ROLE_EFFORT) != NULL)
        status = set_goal(config, plan, candidate, error);
    if (status == PPSCHED_OK && candidate->memory_limit >= 0)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &candidate->memory_limit, 1, error);
    return status;
}

double ppi_candidate_size(const ppsched_plan *plan, const ppsched_config *config)
{
    const struct ppi_shape *old = &plan->config->shape, *new = &config->shape;
    return (double)old->microbatches / new->microbatches / (new->slices / old->slices);
}

/* Resizes the microbatches of a split, or cuts them into slices, which grow by the share of attention in their stage's layers
 * unless the plan has one share for all. */
static ppsched_status resize(ppsched_config **out, const ppsched_config *config, const ppsched_plan *plan,
                             const ppsched_split *split, const struct ppi_shape *shape, ppsched_error *error)
{
    struct ppi_slicing slicing = plan->slicing;
    double *shares = NULL;
    if (shape->slices > config->shape.slices && slicing.attention_share == 0 && ppi_layers_most_attention(plan->layers) > 0) {
        shares = ppi_allocate(&plan->host, split->stages, sizeof *shares);
        if (shares == NULL)
            return ppi_fail_memory(error, "the slices' times");
        ppi_split_attention(shares, plan->layers, split);
        slicing.shares = shares;
    }
    ppsched_status status = ppi_restage(out, config, shape, NULL, NULL, &slicing, error);
    ppi_release(&plan->host, shares);
    return status;
}

/* The config of the candidate's split, with costs scaled to the size of its microbatches and slices. */
static ppsched_status layered_config(ppsched_config **out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                     const struct ppi_shape *shape, ppsched_error *error)
{
    const ppsched_split split = {sizeof split, candidate->stages, candidate->layers, candidate->recomputes};
    const uint32_t cuts = shape->slices / plan->config->shape.slices;
    const struct ppi_microbatch_size size = {1, 1, 1, 1, cuts, (double)plan->config->shape.microbatches / shape->microbatches};
    const ppsched_layers *cut = NULL;
    ppsched_config *config = NULL;
    ppsched_status status = cuts > 1 ? ppi_layers_resize(&cut, plan->layers, &size, error) : PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = ppi_layers_config(&config, plan->config, cut != NULL ? cut : plan->layers, &split, error);
    ppi_layers_release(cut);
    if (status == PPSCHED_OK && ppi_candidate_has_windows(plan, candidate))
        status = ppi_config_put_layer_windows(config, plan->layers, &split, PPSCHED_PAIR_RULE_BEST, error);
    if (status != PPSCHED_OK) {
        ppi_config_destroy(config);
        return status;
    }
    if (shape->microbatches == config->shape.microbatches && shape->slices == config->shape.slices) {
        *out = config;
        return status;
    }
    status = resize(out, config, plan, &split, shape, error);
    ppi_config_destroy(config);
    return status;
}

bool ppi_has_head_to_share(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    return candidate->strategy->shares_head && plan->config->graph == NULL &&
           plan->head.forward_time + plan->head.backward_time + plan->head.backward_input_time +
                   plan->head.backward_weight_time >
               0;
}

/* The head of a microbatch of another size. */
static ppsched_model_end head_of(const ppsched_plan *plan, const ppsched_config *config)
{
    ppsched_model_end head = plan->head;
    double *const values[] = {&head.forward_time,         &head.backward_time, &head.backward_input_time,
                              &head.backward_weight_time, &head.mem_forward,   &head.mem_backward_input,
                              &head.mem_backward_weight};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        *values[i] *= ppi_candidate_size(plan, config);
    return head;
}

/* The config of a candidate whose devices share the head. */
static ppsched_status shared_config(ppsched_config **out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                    const struct ppi_shape *shape, ppsched_error *error)
{
    ppsched_config *chain = NULL;
    struct ppi_task task;
    ppsched_status status = ppi_restage(&chain, plan->config, shape, &plan->embedding, &plan->head, &plan->slicing, error);
    if (status != PPSCHED_OK)
        return status;
    drop_foreign_options(chain, candidate->strategy);
    const ppsched_model_end head = head_of(plan, chain);
    status = ppi_task_make(&task, candidate->strategy, chain, error);
    if (status == PPSCHED_OK)
        status = ppi_share_head(out, chain, &head, ppi_head_form_of(&task), error);
    ppi_config_destroy(chain);
    return status;
}

/* The config of a candidate with other stages or microbatches. Windows tell only what pairs take: orders without pairs do not
 * need them, as times of ops follow from the config. Windows cannot be divided into more stages, for any order. */
static ppsched_status restaged_config(ppsched_config **out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                      const struct ppi_shape *shape, ppsched_error *error)
{
    ppsched_config *plain = NULL;
    ppsched_status status = PPSCHED_OK;
    if (plan->config->windows != NULL && !candidate->strategy->overlaps && shape->stages <= plan->config->shape.stages) {
        status = ppi_config_copy(&plain, plan->config, error);
        if (status == PPSCHED_OK) /* which the windows go with */
            status = ppi_config_set_values(plain, PPSCHED_QUANTITY_OVERLAPPED_TIMES, NULL, 0, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_restage(out, plain != NULL ? plain : plan->config, shape, &plan->embedding, &plan->head, &plan->slicing,
                             error);
    ppi_config_destroy(plain);
    return status;
}

/* What plans cannot do with a graph. */
static ppsched_status allow_graph(const ppsched_plan *plan, const struct ppi_candidate *candidate, const ppsched_config *config,
                                  ppsched_error *error)
{
    const char *what = candidate->offloads      ? "offload"
                       : plan->orders_devices   ? "a free order of devices"
                       : plan->order_effort > 0 ? "an order of microbatches"
                                                : NULL;
    return what != NULL ? ppi_refuse_graph(config->graph, what, error)
                        : ppi_lower_takes_graph(config->graph, &plan->lower, error);
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
    if (plan->layers != NULL && candidate->strategy->shares_head)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s: needs stages and the costs of the head, not layers",
                        candidate->strategy->name);
    if (plan->layers != NULL)
        status = layered_config(&config, plan, candidate, &shape, error);
    else if (ppi_has_head_to_share(plan, candidate))
        status = shared_config(&config, plan, candidate, &shape, error);
    else if (shape.stages == old->stages && shape.microbatches == old->microbatches && shape.slices == old->slices)
        status = ppi_config_copy(&config, plan->config, error);
    else
        status = restaged_config(&config, plan, candidate, &shape, error);
    if (status == PPSCHED_OK && config->graph != NULL)
        status = allow_graph(plan, candidate, config, error);
    if (status == PPSCHED_OK && candidate->device_order != NULL)
        status = ppi_config_order_devices(config, candidate->device_order, error);
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

/* --- the timeline of a candidate --- */

uint64_t ppi_count_offloads(const ppsched_schedule *schedule)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < schedule->op_count; i++)
        count += schedule->ops[i].kind == PPSCHED_KIND_OFFLOAD;
    return count;
}

/* Adds offload to a schedule; `plain`: its timeline, or NULL, without which `*timeline` is not filled in. */
static ppsched_status add_offload(ppsched_schedule **schedule, ppsched_timeline **timeline, const ppsched_timeline *plain,
                                  const ppsched_config *config, const ppsched_offload_options *options, ppsched_error *error)
{
    ppsched_schedule *next = NULL;
    ppsched_status status = plain != NULL ? ppi_offload_timed(&next, timeline, plain, config, options, error)
                                          : ppi_offload(&next, *schedule, config, options, false, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_schedule_release(*schedule);
    *schedule = next;
    return PPSCHED_OK;
}

/* Replaces a schedule by one with offload, unless the strategy has added offload already. `*timeline`: its figures, or
 * NULL. */
static ppsched_status offload(ppsched_schedule **schedule, ppsched_timeline **timeline, const struct ppi_candidate *candidate,
                              const ppsched_config *config, ppsched_error *error)
{
    const ppsched_offload_options options = {.size = sizeof options,
                                             .until_limit = config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL};
    if (ppi_option_for(candidate->strategy, PPI_ROLE_OFFLOAD) == NULL) {
        ppsched_status status = add_offload(schedule, timeline, candidate->plain, config, &options, error);
        if (status != PPSCHED_OK)
            return status;
    }
    if (ppi_count_offloads(*schedule) == 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s: %s", candidate->strategy->name,
                        options.until_limit != 0 ? "it fits its memory limit without offload"
                                                 : "no copy fits between a forward and its backward");
    return PPSCHED_OK;
}

void ppi_candidate_drop_found(struct ppi_candidate *candidate)
{
    ppi_schedule_release(candidate->found);
    ppi_timeline_destroy(candidate->plain);
    candidate->found = NULL;
    candidate->plain = NULL;
}

ppsched_status ppi_candidate_timeline(ppsched_timeline **out, const ppsched_schedule **order, const ppsched_plan *plan,
                                      const struct ppi_candidate *candidate, const ppsched_config *config, uint32_t flags,
                                      ppsched_error *error)
{
    ppsched_schedule *schedule = (ppsched_schedule *)candidate->found, *lowered = NULL;
    ppsched_timeline *offloaded = NULL;
    ppsched_status status = PPSCHED_OK;
    if (schedule != NULL)
        ppi_schedule_retain(schedule);
    else
        status = ppi_generate(&schedule, candidate->strategy, config, error);
    if (status == PPSCHED_OK && candidate->offloads)
        status = offload(&schedule, &offloaded, candidate, config, error);
    if (status == PPSCHED_OK && plan->lower.lowering != PPSCHED_LOWERING_NONE)
        status = ppi_lower(&lowered, schedule, config, &plan->lower, error);
    if (status == PPSCHED_OK && lowered != NULL)
        status = ppi_evaluate_transfers(out, lowered, config, &plan->channel, error);
    else if (status == PPSCHED_OK && offloaded != NULL && flags == PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY)
        *out = offloaded, offloaded = NULL;
    else if (status == PPSCHED_OK)
        status = ppi_evaluate(out, schedule, config, flags, error);
    ppi_timeline_destroy(offloaded);
    ppi_schedule_release(lowered);
    if (order != NULL && status == PPSCHED_OK)
        *order = schedule;
    else
        ppi_schedule_release(schedule);
    return status;
}

ppsched_status ppi_candidate_steady(struct ppsched_steady *steady, const ppsched_plan *plan,
                                    const struct ppi_candidate *candidate, const ppsched_config *config, ppsched_error *error)
{
    static const struct ppi_steady_options options = {.share = STEADY_SHARE, .only_repeats = true};
    *steady = (struct ppsched_steady){.timeline = NULL};
    if (candidate->offloads || plan->lower.lowering != PPSCHED_LOWERING_NONE || plan->scenario_count > 0 ||
        plan->runtime != NULL || plan->runtimes != 0 ||
        ppi_total_micro_slices(&config->shape) < MANY_PASSES / config->shape.stages)
        return PPSCHED_OK;
    return ppi_steady_make(steady, candidate->strategy, config, &options, error);
}

/* --- the figures of a candidate --- */

ppsched_metrics ppi_candidate_metrics(const ppsched_timeline *timeline, const ppsched_config *config)
{
    ppsched_metrics metrics = timeline->metrics;
    double repeats = config->repeats > 0 ? config->repeats : 1, busy = metrics.span * (1 - metrics.bubble_of_span);
    if (repeats > 1 && metrics.span > 0) { /* each iteration starts when the one before has ended on all devices */
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

double ppi_overshoot_of(const ppsched_timeline *timeline)
{
    double overshoot = 0;
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        const ppsched_device_metrics *device = &timeline->devices[d];
        if (ppi_is_over_limit(device->peak_memory, device->memory_limit))
            overshoot = ppi_larger(overshoot, device->peak_memory - device->memory_limit);
    }
    return overshoot;
}
