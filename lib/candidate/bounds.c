/* SPDX-License-Identifier: Apache-2.0 */
/* The lower bound of a candidate, and whether the candidate is proved to have the least step time. */
#include "base/checked.h"
#include "base/error.h"
#include "bound/bound.h"
#include "candidate/candidate.h"
#include "split/load.h"

/* The lower bound of a candidate's config on a placement. Takes a known bound for the same question if there is one. */
static ppsched_status find_bound(double *out, struct ppi_known_bounds *known, const ppsched_plan *plan,
                                 const struct ppi_known_bound *asked, const ppsched_config *config, ppsched_error *error)
{
    const struct ppi_bound_question question = {asked->placement, plan->objective, asked->unflushed, PPI_BOUND_OPS};
    ppsched_bound bound;
    for (uint32_t i = 0; known != NULL && i < PPI_KNOWN_BOUNDS; i++) {
        const struct ppi_known_bound *other = &known->bound[i];
        if (other->placement == asked->placement && other->unflushed == asked->unflushed && other->stages == asked->stages &&
            other->microbatches == asked->microbatches && other->slices == asked->slices &&
            other->memory_limit == asked->memory_limit) {
            *out = other->value;
            return PPSCHED_OK;
        }
    }
    ppsched_status status = ppi_lower_bound(&bound, config, &question, error);
    if (status == PPSCHED_OK && known != NULL) {
        struct ppi_known_bound *oldest = &known->bound[known->count++ % PPI_KNOWN_BOUNDS];
        *oldest = *asked;
        oldest->value = bound.value;
    }
    if (status == PPSCHED_OK)
        *out = bound.value;
    return status;
}

/* The bound of a candidate that may offload: the bound without a memory limit. */
static ppsched_status bound_without_limit(double *out, struct ppi_known_bounds *known, const ppsched_plan *plan,
                                          const struct ppi_known_bound *asked, const ppsched_config *config,
                                          ppsched_error *error)
{
    struct ppi_known_bound without = *asked;
    ppsched_config *unlimited = NULL;
    without.memory_limit = PPI_INFINITE;
    ppsched_status status = ppi_config_copy(&unlimited, config, error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_values(unlimited, PPSCHED_QUANTITY_MEM_LIMIT, NULL, 0, error);
    if (status == PPSCHED_OK)
        status = find_bound(out, known, plan, &without, unlimited, error);
    ppi_config_destroy(unlimited);
    return status;
}

/* The least time that the transfers on the path of one microbatch take; 0 with slices, whose latency may differ. */
static double least_on_links(const ppsched_schedule *schedule, const ppsched_config *config)
{
    const struct ppi_values *latency = &config->values[PPSCHED_QUANTITY_P2P_TIME];
    const uint32_t *device_of = schedule->placement.device_of;
    double least = latency->values != NULL && config->shape.slices == 1 ? latency->values[0] : 0;
    uint32_t hops = 0;
    for (size_t i = 1; i < latency->count && latency->values != NULL; i++)
        least = ppi_smaller(least, latency->values[i]);
    for (uint32_t s = 1; s < config->shape.stages; s++)
        hops += device_of[s] != device_of[s - 1];
    return least * hops * (config->is_forward_only ? 1 : 2);
}

/* The least op overhead of a stage pass. */
static double overhead_of_pass(const ppsched_config *config)
{
    double overhead[PPI_COMPUTE_KINDS] = {0};
    ppi_add_op_overhead(overhead, config);
    const double split = overhead[PPSCHED_KIND_I] + overhead[PPSCHED_KIND_W], whole = overhead[PPSCHED_KIND_B];
    return overhead[PPSCHED_KIND_F] + (config->is_forward_only       ? 0
                                       : config->has_whole_backwards ? whole
                                                                     : ppi_smaller(whole, split));
}

/* The microbatches of each copy of the model, weighted by their scale: that of the stage where they take least. */
static void count_passes(double passes[2], const ppsched_schedule *schedule, const ppsched_config *config)
{
    const struct ppi_shape *shape = &config->shape;
    if (!ppi_has_factors(config)) {
        const uint32_t second = schedule->placement.copies == 2 ? shape->microbatches / 2 : 0;
        passes[0] = (double)(shape->microbatches - second) * shape->slices;
        passes[1] = (double)second * shape->slices;
        return;
    }
    passes[0] = passes[1] = PPI_INFINITE;
    for (uint32_t s = 0; s < (ppi_has_stage_factors(config) ? shape->stages : 1); s++) {
        double sum[2] = {0, 0};
        for (uint32_t i = 0; i < shape->microbatches * shape->slices; i++)
            sum[ppi_copy_of(&schedule->placement, shape, i / shape->slices)] +=
                ppi_config_factor(config, s, i / shape->slices, i % shape->slices).time;
        passes[0] = ppi_smaller(passes[0], sum[0]);
        passes[1] = ppi_smaller(passes[1], sum[1]);
    }
}

/* The least scale of a microbatch, or of a slice, in any split: where layers have shares of attention, that of the first slice
 * on a stage with the largest share. */
static double least_factor(const ppsched_plan *plan, const ppsched_config *config)
{
    const struct ppi_shape *shape = &config->shape;
    const struct ppi_values *scale = &config->values[PPSCHED_QUANTITY_MICROBATCH_SCALE];
    const bool by_layer = shape->slices > plan->config->shape.slices && plan->slicing.attention_share == 0;
    const double share = by_layer ? ppi_layers_most_attention(plan->layers) : 0;
    double least = PPI_INFINITE;
    if (share > 0) {
        for (size_t m = 0; m < scale->count; m++)
            least = ppi_smaller(least, scale->values[m]);
        return (scale->count > 0 ? least : 1) * (1 - share + share / shape->slices);
    }
    if (!ppi_has_factors(config))
        return 1;
    for (uint32_t s = 0; s < (ppi_has_stage_factors(config) ? shape->stages : 1); s++)
        for (uint32_t i = 0; i < shape->microbatches * shape->slices; i++)
            least = ppi_smaller(least, ppi_config_factor(config, s, i / shape->slices, i % shape->slices).time);
    return least;
}

/* The work of the most loaded device, for any split. `layers`: the plan's, or what of them a channel runs. */
static double work_on_devices(const ppsched_plan *plan, const ppsched_layers *layers, const ppsched_schedule *schedule,
                              const ppsched_config *config, const struct ppi_split_types *types)
{
    const struct ppi_values *speeds = &config->values[PPSCHED_QUANTITY_DEVICE_SPEEDS],
                            *overheads = &config->values[PPSCHED_QUANTITY_DEVICE_OVERHEAD];
    const struct ppi_shape *shape = &config->shape;
    const uint32_t unflushed = schedule->flushes ? 1 : shape->iterations;
    const double size = ppi_candidate_size(plan, config);
    const bool counts_overhead = layers == plan->layers;
    struct ppi_split_load load = {.layers = layers,
                                  .device_of = schedule->placement.device_of,
                                  .speeds = speeds,
                                  .types = types,
                                  .devices = shape->devices,
                                  .stages = shape->stages,
                                  .copies = schedule->placement.copies,
                                  .overhead = counts_overhead ? overhead_of_pass(config) / size : 0,
                                  .own_overhead = counts_overhead ? (config->is_forward_only ? 1 : 2) / size : 0,
                                  .overheads = overheads,
                                  .may_be_empty = plan->may_be_empty,
                                  .any_order = plan->orders_devices &&
                                               (types != NULL || speeds->count > 1 || overheads->count > 1),
                                  .has_whole_backwards = config->has_whole_backwards};
    count_passes(load.passes, schedule, config);
    load.is_chain = !ppi_has_factors(config) && plan->objective != PPSCHED_OBJECTIVE_SPAN && unflushed == 1 &&
                    load.copies == 1 && shape->stages == shape->devices;
    return size * ppi_split_bound(&load);
}

/* The same for what of the layers a channel runs, whose times on devices are other shares of all. */
static ppsched_status work_of_channel(double *out, const ppsched_plan *plan, uint32_t channel, const ppsched_schedule *schedule,
                                      const ppsched_config *config, bool are_scaled, ppsched_error *error)
{
    const ppsched_layers *layers = NULL;
    struct ppi_split_types types = {0};
    ppsched_status status = ppi_layers_on_channel(&layers, plan->layers, channel, error);
    if (status == PPSCHED_OK && are_scaled)
        status = ppi_split_types_make(&types, config, layers, true, error);
    if (status == PPSCHED_OK)
        *out = ppi_larger(*out, work_on_devices(plan, layers, schedule, config, are_scaled ? &types : NULL));
    ppi_release(&config->host, types.work);
    if (layers != NULL)
        ppi_layers_release(layers);
    return status;
}

/* Where pairs follow from windows, the work of the most loaded channel. */
static ppsched_status find_work(double *out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                const ppsched_schedule *schedule, const ppsched_config *config,
                                const struct ppi_split_types *types, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    *out = 0;
    if (!ppi_candidate_has_windows(plan, candidate))
        *out = work_on_devices(plan, plan->layers, schedule, config, types);
    for (uint32_t channel = 0; channel < PPSCHED_MAX_WINDOW_CHANNELS && ppi_candidate_has_windows(plan, candidate); channel++)
        if (status == PPSCHED_OK)
            status = work_of_channel(out, plan, channel, schedule, config, types != NULL, error);
    return status;
}

/* With layers, for any split: the work of the most loaded device, or the path of one microbatch. Without a flush the path is
 * no bound, as it may take more than one step. In forwards alone no device is there all the way, so it bounds no span. */
static ppsched_status bound_of_types(double *out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                     const ppsched_schedule *schedule, const ppsched_config *config,
                                     const struct ppi_split_types *types, ppsched_error *error)
{
    ppsched_status status = find_work(out, plan, candidate, schedule, config, types, error);
    const bool has_path = schedule->flushes && !(config->is_forward_only && plan->objective == PPSCHED_OBJECTIVE_SPAN);
    if (status != PPSCHED_OK || !has_path)
        return status;
    const double path = ppi_split_path(plan->layers, &config->values[PPSCHED_QUANTITY_DEVICE_SPEEDS], types);
    *out = ppi_larger(*out,
                      ppi_candidate_size(plan, config) * least_factor(plan, config) * path + least_on_links(schedule, config));
    return PPSCHED_OK;
}

static ppsched_status bound_of_layers(double *out, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                      const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error)
{
    struct ppi_split_types types = {0};
    if (!ppi_layers_are_scaled(config, plan->layers))
        return bound_of_types(out, plan, candidate, schedule, config, NULL, error);
    ppsched_status status = ppi_split_types_make(&types, config, plan->layers, ppi_candidate_has_windows(plan, candidate),
                                                 error);
    if (status == PPSCHED_OK)
        status = bound_of_types(out, plan, candidate, schedule, config, &types, error);
    ppi_release(&config->host, types.work);
    return status;
}

ppsched_status ppi_candidate_bound_at(double *out, struct ppi_known_bounds *known, const ppsched_plan *plan,
                                      const struct ppi_candidate *candidate, int32_t placement, uint32_t unflushed,
                                      const ppsched_config *config, ppsched_error *error)
{
    const struct ppi_known_bound asked = {.placement = placement,
                                          .unflushed = unflushed,
                                          .stages = candidate->stages,
                                          .microbatches = candidate->microbatches,
                                          .slices = candidate->slices,
                                          .memory_limit = candidate->memory_limit};
    const bool is_shared = config->graph != NULL && plan->config->graph == NULL; /* by a strategy with stages of its own */
    if (candidate->microbatch_order != NULL || is_shared)
        known = NULL;
    if (candidate->offloads || candidate->strategy->offloads)
        return bound_without_limit(out, known, plan, &asked, config, error);
    return find_bound(out, known, plan, &asked, config, error);
}

ppsched_status ppi_candidate_bound(double *out, struct ppi_known_bounds *known, const ppsched_plan *plan,
                                   const struct ppi_candidate *candidate, const ppsched_schedule *schedule,
                                   const ppsched_config *config, ppsched_error *error)
{
    const uint32_t unflushed = schedule->flushes ? 1 : config->shape.iterations;
    if (plan->layers == NULL)
        return ppi_candidate_bound_at(out, known, plan, candidate, schedule->placement.kind, unflushed, config, error);
    ppsched_status status = bound_of_layers(out, plan, candidate, schedule, config, error);
    if (status == PPSCHED_OK)
        *out = ppi_larger(*out, candidate->order_bound);
    return status;
}

/* --- what the bound proves --- */

enum { PROOF_EFFORT = 6 };
static const double PROOF_VISITS = 1e8; /* at that effort: about half a second */

ppsched_status ppi_candidate_prove(double *bound, const ppsched_plan *plan, const struct ppi_candidate *candidate,
                                   const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error)
{
    const double step = ppi_candidate_step(plan, candidate);
    ppsched_bound proof;
    if (plan->effort < PROOF_EFFORT || plan->layers != NULL || plan->scenario_count > 0 || *bound >= step * (1 - 1e-12) ||
        candidate->offloads || candidate->metrics.limit_device != PPSCHED_NONE ||
        ppi_option_for(candidate->strategy, PPI_ROLE_EFFORT) == NULL || (!schedule->flushes && config->shape.iterations > 1))
        return PPSCHED_OK;
    struct ppi_poll poll = ppi_poll_start(config);
    poll.from = poll.told = 1;
    const struct ppi_bound_question question = {.placement = schedule->placement.kind,
                                                .objective = plan->objective,
                                                .unflushed = 1,
                                                .depth = PPI_BOUND_OPS,
                                                .poll = &poll,
                                                .known = step,
                                                .visits = PROOF_VISITS * (double)(1 << (plan->effort - PROOF_EFFORT))};
    ppsched_status status = ppi_lower_bound(&proof, config, &question, error);
    if (status == PPSCHED_OK)
        *bound = ppi_larger(*bound, proof.value);
    return status;
}

/* Returns the step itself if the bound exceeds it by no more than rounding. With layers, or a stage graph, whose times are
 * added in another order, also if the bound is below it by no more than rounding. */
static double bound_below(const ppsched_plan *plan, bool has_graph, double bound, double step)
{
    const bool adds_otherwise = plan->layers != NULL || has_graph;
    const double rounding = adds_otherwise ? 1e-11 : 1e-12;
    const bool is_near = bound <= step * (1 + rounding) && (bound > step || (adds_otherwise && bound >= step * (1 - rounding)));
    return is_near ? step : bound;
}

/* Whether pairs have windows, and layers may be recomputed: of ways that take equal time and memory, pairs may hide one more
 * than another. */
static bool hides_recomputation(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const bool is_limited = plan->config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL || candidate->memory_limit >= 0;
    return ppi_candidate_has_windows(plan, candidate) && (is_limited || plan->runtime != NULL);
}

/* Whether the candidate's step time is proved to be the least: it reaches the bound, or all splits were tried. Nothing is
 * proved for times that vary, for splits with transfers, which the split search does not see, for windows that may hide
 * recomputation, or for orders of microbatches through two copies of the model. */
static bool is_proved(const ppsched_plan *plan, const struct ppi_candidate *candidate, const ppsched_schedule *schedule)
{
    const bool has_other_orders = candidate->microbatch_order != NULL && schedule->placement.copies > 1;
    if (candidate->metrics.limit_device != PPSCHED_NONE || plan->scenario_count > 0 || has_other_orders)
        return false;
    return candidate->bound == ppi_candidate_step(plan, candidate) ||
           (candidate->proved && plan->lower.lowering == PPSCHED_LOWERING_NONE && !hides_recomputation(plan, candidate));
}

void ppi_candidate_take_bound(struct ppi_candidate *candidate, const ppsched_plan *plan, const ppsched_schedule *schedule,
                              double bound)
{
    candidate->bound = bound_below(plan, schedule->placement.graph != NULL, bound, ppi_candidate_step(plan, candidate));
    candidate->proved = is_proved(plan, candidate, schedule);
}
