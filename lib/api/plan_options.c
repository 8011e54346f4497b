/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in the nested structs of a plan's options one by one, then checks all options together. */
#include "api/plan_options.h"

#include "api/channel.h"
#include "api/lower.h"
#include "api/model_end.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "launch/launch.h"
#include "microbatches/order.h"
#include "scenario/scenario.h"

/* --- copying in --- */

static ppsched_status take_plain(struct ppi_plan_options *out, const ppsched_plan_options *own, ppsched_error *error)
{
    *out = (struct ppi_plan_options){.objective = own->objective,
                                     .strategies = own->strategies,
                                     .chunks = own->chunks,
                                     .group_sizes = own->group_sizes,
                                     .microbatches = own->microbatches,
                                     .memory_limits = own->memory_limits,
                                     .strategy_count = own->strategy_count,
                                     .chunk_count = own->chunk_count,
                                     .group_size_count = own->group_size_count,
                                     .microbatch_count = own->microbatch_count,
                                     .memory_limit_count = own->memory_limit_count,
                                     .placements = own->placements,
                                     .effort = own->effort,
                                     .order_effort = own->order_effort,
                                     .runtimes = own->runtimes,
                                     .runtime = own->runtime,
                                     .offload = own->offload,
                                     .free_device_order = own->free_device_order,
                                     .top = own->top,
                                     .embedding = own->embedding,
                                     .head = own->head};
    for (size_t i = 0; i < sizeof own->reserved / sizeof own->reserved[0]; i++)
        if (own->reserved[i] != 0)
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
    return PPSCHED_OK;
}

static ppsched_status take_lower(struct ppi_plan_options *out, const ppsched_lower_options *given, const ppsched_config *config,
                                 ppsched_error *error)
{
    if (given == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_take_sized(&out->lower, sizeof out->lower,
                                           PPI_SIZE_UP_TO(ppsched_lower_options, receive_prefetch), given,
                                           "ppsched_lower_options", error);
    if (status == PPSCHED_OK && out->lower.unshard_lookahead == PPSCHED_UNSHARD_LOOKAHEAD_LIST)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "a plan cannot use a list of lookaheads; use unshard_lookahead full, auto or needed");
    if (status == PPSCHED_OK)
        status = ppi_check_lower_options(&out->lower, config, config->shape.devices, config->shape.iterations, error);
    if (status == PPSCHED_OK && out->lower.lowering == PPSCHED_LOWERING_NONE)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "lower has lowering none; choose another lowering, or leave lower out");
    return status;
}

static ppsched_status take_split(struct ppi_plan_options *out, const ppsched_split_options *given, ppsched_error *error)
{
    ppsched_split_options own = {0};
    if (given == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof own, given, "ppsched_split_options", error);
    if (status == PPSCHED_OK && own.reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
    if (status == PPSCHED_OK && own.layers == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "split has no layers; give them, or leave split out");
    out->layers = own.layers;
    out->split_effort = own.effort;
    out->empty_stages = own.empty_stages;
    return status;
}

static ppsched_status take_slice(struct ppi_plan_options *out, const ppsched_slice_options *given, ppsched_error *error)
{
    ppsched_slice_options own = {0};
    if (given == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof own, given, "ppsched_slice_options", error);
    out->slices = own.slices;
    out->slice_count = own.slice_count;
    out->slice_time = own.slice_time;
    out->attention_share = own.attention_share;
    return status;
}

static ppsched_status take_ranking(struct ppi_plan_options *out, ppsched_scenario_options *scenarios,
                                   const ppsched_ranking_options *given, ppsched_error *error)
{
    ppsched_ranking_options own = {0};
    if (given == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof own, given, "ppsched_ranking_options", error);
    if (status == PPSCHED_OK && own.reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
    if (status == PPSCHED_OK)
        status = ppi_take_scenario_options(scenarios, own.scenario_options, error);
    out->scenario_count = own.scenario_count;
    out->rank_by = own.rank_by;
    out->quantile = own.quantile;
    out->scenario_options = own.scenario_options != NULL || own.scenario_count > 0 ? scenarios : NULL;
    return status;
}

/* --- checks --- */

static ppsched_status check_counts(const struct ppi_plan_options *options, ppsched_error *error)
{
    const struct {
        const void *list;
        uint32_t count;
        const char *name;
    } lists[] = {{options->strategies, options->strategy_count, "strategies"},
                 {options->chunks, options->chunk_count, "chunks"},
                 {options->group_sizes, options->group_size_count, "group_sizes"},
                 {options->microbatches, options->microbatch_count, "microbatches"},
                 {options->memory_limits, options->memory_limit_count, "memory_limits"},
                 {options->slices, options->slice_count, "slices"}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if ((lists[i].list == NULL) != (lists[i].count == 0))
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s: the list and its count must both be given, or neither",
                            lists[i].name);
    return PPSCHED_OK;
}

static ppsched_status check_positive(const uint32_t *list, uint32_t count, uint32_t most, const char *name,
                                     ppsched_error *error)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == 0 || list[i] > most)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: value %u is %u; it must be 1 to %u", name, i, list[i], most);
    return PPSCHED_OK;
}

static ppsched_status check_plan_lists(const struct ppi_plan_options *options, ppsched_error *error)
{
    ppsched_status status = check_counts(options, error);
    if (status == PPSCHED_OK)
        status = check_positive(options->chunks, options->chunk_count, PPSCHED_MAX_CELLS, "chunks", error);
    if (status == PPSCHED_OK)
        status = check_positive(options->group_sizes, options->group_size_count, PPSCHED_MAX_CELLS, "group_sizes", error);
    if (status == PPSCHED_OK)
        status = check_positive(options->microbatches, options->microbatch_count, PPSCHED_MAX_CELLS, "microbatches", error);
    if (status == PPSCHED_OK)
        status = check_positive(options->slices, options->slice_count, PPSCHED_MAX_SLICES, "slices", error);
    for (uint32_t i = 0; i < options->memory_limit_count && status == PPSCHED_OK; i++)
        if (!ppi_is_finite(options->memory_limits[i]) || options->memory_limits[i] < 0)
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "memory_limits: value %u is %g; it must be finite and at least 0", i,
                              options->memory_limits[i]);
    return status;
}

static ppsched_status check_plan_split(const struct ppi_plan_options *options, ppsched_error *error)
{
    if (options->empty_stages > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "empty_stages is %u; it must be 0 or 1", options->empty_stages);
    if (options->split_effort > PPI_MOST_SPLIT_EFFORT)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the split effort is %u; it must be 1 to %d, or 0 for the default",
                        options->split_effort, PPI_MOST_SPLIT_EFFORT);
    return PPSCHED_OK;
}

static ppsched_status check_slicing(const struct ppi_plan_options *options, ppsched_error *error)
{
    if (!ppi_is_finite(options->slice_time) || options->slice_time < 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "slice_time is %g; it must be finite and at least 0", options->slice_time);
    if (!(options->attention_share >= 0 && options->attention_share <= 1))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "attention_share is %g; it must be 0 to 1", options->attention_share);
    if (options->order_effort > PPI_MOST_ORDER_EFFORT)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "order_effort is %u; it must be 0 to %d", options->order_effort,
                        PPI_MOST_ORDER_EFFORT);
    return PPSCHED_OK;
}

static ppsched_status check_scenarios(const struct ppi_plan_options *options, const ppsched_config *config,
                                      ppsched_error *error)
{
    const ppsched_scenario_options *scenarios = options->scenario_options;
    ppsched_status status = ppi_check_choice("rank_by", options->rank_by, PPSCHED_RANK_BY_STEP, PPSCHED_RANK_BY_WORST, error);
    if (status == PPSCHED_OK && !(options->quantile >= 0 && options->quantile <= 1))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "quantile is %g; it must be above 0 and at most 1", options->quantile);
    if (status != PPSCHED_OK)
        return status;
    if (options->scenario_count == 0 && (options->rank_by != PPSCHED_RANK_BY_STEP || scenarios != NULL))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s needs scenarios; scenario_count is 0",
                        scenarios != NULL ? "scenario_options" : "rank_by");
    if (options->scenario_count == 0)
        return PPSCHED_OK;
    if (scenarios->stage_factor_count != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "a plan cannot use stage_factors, as candidates differ in stages; give device_factors");
    if (config->senders_wait && scenarios->dispatch == PPSCHED_DISPATCH_READY)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "sender_waits like_kind needs dispatch planned; with dispatch ready use never");
    return ppi_scenario_options_check(scenarios, config->shape.devices, 0, options->scenario_count, error);
}

static ppsched_status check_plan_options(const struct ppi_plan_options *options, ppsched_error *error)
{
    ppsched_status status = ppi_check_choice("objective", options->objective, 0, PPSCHED_OBJECTIVE_MAKESPAN, error);
    if (status != PPSCHED_OK)
        return status;
    if (options->placements >> (PPSCHED_PLACEMENT_MAP + 1) != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "placements is %u, with unknown bits; it must be 0 to %u",
                        options->placements, (2u << PPSCHED_PLACEMENT_MAP) - 1);
    if (options->runtimes >> (PPI_LAST_RUNTIME + 1) != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "runtimes is %u, with unknown bits; it must be 0 to %u",
                        options->runtimes, (2u << PPI_LAST_RUNTIME) - 1);
    status = ppi_check_choice("runtime", options->runtime, 0, PPI_LAST_RUNTIME, error);
    if (status == PPSCHED_OK)
        status = check_plan_split(options, error);
    if (status != PPSCHED_OK)
        return status;
    if (options->effort > 12)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "effort is %u; it must be 0 to 12", options->effort);
    status = check_slicing(options, error);
    return status == PPSCHED_OK ? check_plan_lists(options, error) : status;
}

static ppsched_status check_device_order(const struct ppi_plan_options *options, ppsched_error *error)
{
    if (options->free_device_order > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "free_device_order is %u; it must be 0 or 1", options->free_device_order);
    if (options->free_device_order == 1 && options->layers == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "free_device_order needs the model by its layers, so that these can move with the devices");
    return PPSCHED_OK;
}

/* Checks that a plan with offload has no scenarios and knows how fast copies are. */
static ppsched_status check_plan_offload(const struct ppi_plan_options *options, const ppsched_config *config,
                                         ppsched_error *error)
{
    if (options->offload > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "offload is %u; it must be 0 or 1", options->offload);
    if (options->offload == 0)
        return PPSCHED_OK;
    if (options->scenario_count > 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "offload cannot be combined with scenarios; use only one of them");
    if (options->layers != NULL && config->values[PPSCHED_QUANTITY_HOST_BANDWIDTH].values == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "offload: the speed of copies is unknown; with layers give host_bandwidth");
    if (config->values[PPSCHED_QUANTITY_OFFLOAD_TIMES].values == NULL &&
        config->values[PPSCHED_QUANTITY_HOST_BANDWIDTH].values == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "offload: the speed of copies is unknown; give host_bandwidth or offload_times");
    return PPSCHED_OK;
}

ppsched_status ppi_take_plan_options(struct ppi_plan_options *out, struct ppi_taken_plan_options *taken,
                                     const ppsched_plan_options *given, const ppsched_config *config, ppsched_error *error)
{
    ppsched_plan_options own;
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof own, given, "ppsched_plan_options", error);
    if (status == PPSCHED_OK)
        status = take_plain(out, &own, error);
    if (status == PPSCHED_OK)
        status = take_lower(out, own.lower, config, error);
    if (status == PPSCHED_OK)
        status = take_split(out, own.split, error);
    if (status == PPSCHED_OK)
        status = take_slice(out, own.slice, error);
    if (status == PPSCHED_OK)
        status = take_ranking(out, &taken->scenarios, own.ranking, error);
    if (status == PPSCHED_OK)
        status = check_plan_options(out, error);
    if (status == PPSCHED_OK)
        status = check_scenarios(out, config, error);
    if (status == PPSCHED_OK)
        status = check_plan_offload(out, config, error);
    if (status == PPSCHED_OK)
        status = check_device_order(out, error);
    if (status == PPSCHED_OK && own.channel != NULL) {
        status = ppi_take_channel_model(&taken->channel, own.channel, error);
        out->channel = &taken->channel;
    }
    if (status == PPSCHED_OK)
        status = ppi_take_model_end(&taken->embedding, &out->embedding, error);
    return status == PPSCHED_OK ? ppi_take_model_end(&taken->head, &out->head, error) : status;
}
