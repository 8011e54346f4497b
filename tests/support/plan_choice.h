/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a plan without their groups, as tests vary one after another; zero means the default. */
#ifndef PPSCHED_TESTS_PLAN_CHOICE_H
#define PPSCHED_TESTS_PLAN_CHOICE_H

#include <ppsched/plan.h>

struct plan_choice {
    uint32_t size; /* sizeof of this; any other is handed on as the size of the public struct */
    int32_t objective;
    const char *const *strategies;
    const uint32_t *chunks, *group_sizes, *microbatches, *slices;
    const double *memory_limits;
    uint32_t strategy_count, chunk_count, group_size_count, microbatch_count, slice_count, memory_limit_count;
    uint32_t placements, effort, order_effort, runtimes, offload, free_device_order, reserved;
    int32_t runtime, lowering, unshard_lookahead, rank_by;
    uint32_t unshard, reduce_grad, receive_prefetch;
    const ppsched_channel_model *channel;
    const ppsched_model_end *embedding, *head;
    const ppsched_layers *layers;
    uint32_t split_effort, empty_stages, scenario_count;
    double slice_time, attention_share, quantile;
    const ppsched_scenario_options *scenario_options;
};

/* ppsched_plan_create, with the groups that the choice needs. */
static inline ppsched_status create_plan(ppsched_plan **out, const ppsched_config *config, const struct plan_choice *choice,
                                         ppsched_error *error)
{
    if (choice == NULL)
        return ppsched_plan_create(out, config, NULL, error);
    const struct plan_choice *c = choice;
    const ppsched_lower_options lower = {.size = sizeof lower,
                                         .lowering = c->lowering,
                                         .unshard = c->unshard,
                                         .unshard_lookahead = c->unshard_lookahead,
                                         .reduce_grad = c->reduce_grad,
                                         .receive_prefetch = c->receive_prefetch};
    const ppsched_split_options split = {
        .size = sizeof split, .effort = c->split_effort, .layers = c->layers, .empty_stages = c->empty_stages};
    const ppsched_slice_options slice = {.size = sizeof slice,
                                         .slice_count = c->slice_count,
                                         .slices = c->slices,
                                         .slice_time = c->slice_time,
                                         .attention_share = c->attention_share};
    const ppsched_ranking_options ranking = {.size = sizeof ranking,
                                             .scenario_count = c->scenario_count,
                                             .rank_by = c->rank_by,
                                             .quantile = c->quantile,
                                             .scenario_options = c->scenario_options};
    const int lowers = c->lowering != 0 || c->unshard != 0 || c->unshard_lookahead != 0 || c->reduce_grad != 0 ||
                       c->receive_prefetch != 0;
    const int splits = c->layers != NULL || c->split_effort != 0 || c->empty_stages != 0;
    const int slices = c->slices != NULL || c->slice_count != 0 || c->slice_time != 0 || c->attention_share != 0;
    const int ranks = c->scenario_count != 0 || c->rank_by != 0 || c->quantile != 0 || c->scenario_options != NULL;
    const ppsched_plan_options options = {.size = c->size == sizeof *c ? sizeof options : c->size,
                                          .objective = c->objective,
                                          .strategies = c->strategies,
                                          .chunks = c->chunks,
                                          .group_sizes = c->group_sizes,
                                          .microbatches = c->microbatches,
                                          .memory_limits = c->memory_limits,
                                          .strategy_count = c->strategy_count,
                                          .chunk_count = c->chunk_count,
                                          .group_size_count = c->group_size_count,
                                          .microbatch_count = c->microbatch_count,
                                          .memory_limit_count = c->memory_limit_count,
                                          .placements = c->placements,
                                          .effort = c->effort,
                                          .order_effort = c->order_effort,
                                          .runtimes = c->runtimes,
                                          .runtime = c->runtime,
                                          .offload = c->offload,
                                          .free_device_order = c->free_device_order,
                                          .lower = lowers ? &lower : NULL,
                                          .channel = c->channel,
                                          .embedding = c->embedding,
                                          .head = c->head,
                                          .split = splits ? &split : NULL,
                                          .slice = slices ? &slice : NULL,
                                          .ranking = ranks ? &ranking : NULL,
                                          .reserved = {c->reserved}};
    return ppsched_plan_create(out, config, &options, error);
}

#endif
