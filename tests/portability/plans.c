/* SPDX-License-Identifier: Apache-2.0 */
#include "portability/plans.h"

#include <string.h>

#include "portability/fold.h"
#include "portability/problems.h"
#include "portability/results.h"
#include "support/plan_choice.h"
#include "support/problem.h"

static void fold_bound(uint64_t *digest, const ppsched_config *config, int32_t objective)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    if (fold_outcome(digest, ppsched_config_find_bound(&bound, config, objective, &error), &error)) {
        fold_integer(digest, bound.device);
        fold_numbers(digest, (double[]){bound.value, bound.work, bound.fill_drain, bound.memory, bound.least_limit}, 5);
    }
}

uint64_t digest_of_bounds(void)
{
    uint64_t digest = FOLD_START;
    ppsched_error error;
    for (int costs = 0; costs < COSTS_COUNT; costs++)
        for (uint32_t devices = 1; devices <= 9; devices += 2)
            for (int32_t placement = PPSCHED_PLACEMENT_DEFAULT; placement < PPSCHED_PLACEMENT_MAP; placement++) {
                ppsched_config *config = make_problem(devices, devices * 2, 8, 1, (enum costs)costs);
                if (fold_outcome(&digest, ppsched_config_set_placement(config, placement, NULL, 0, &error), &error)) {
                    fold_bound(&digest, config, PPSCHED_OBJECTIVE_SPAN);
                    fold_bound(&digest, config, PPSCHED_OBJECTIVE_MAKESPAN);
                }
                ppsched_config_destroy(config);
            }
    return digest;
}

/* Folds all lists of a config that a call made, or why it refused to; frees it. */
static void fold_made(uint64_t *digest, ppsched_status status, ppsched_config **made, const ppsched_error *error)
{
    if (!fold_outcome(digest, status, error))
        return;
    for (int32_t quantity = 1; quantity <= PPSCHED_QUANTITY_SLICE_SCALE; quantity++) {
        size_t count = 0;
        if (ppsched_quantity_name(quantity) == NULL)
            continue;
        const double *values = ppsched_config_values(*made, quantity, &count);
        fold_numbers(digest, values, count);
    }
    ppsched_config_destroy(*made);
}

uint64_t digest_of_restaged(void)
{
    static const ppsched_model_end end = {
        .size = sizeof end, .forward_time = 0.01, .backward_input_time = 0.02, .mem_static = 0.1};
    uint64_t digest = FOLD_START;
    ppsched_error error;
    for (int costs = 0; costs < COSTS_COUNT; costs++) {
        ppsched_config *config = make_problem(4, 12, 7, 1, (enum costs)costs), *other = NULL;
        for (int64_t stages = 4; stages <= 24; stages += 4) {
            fold_made(&digest, ppsched_config_with_stages(&other, config, stages, NULL, &end, &error), &other, &error);
            fold_made(&digest, ppsched_config_with_stages(&other, config, stages, &end, NULL, &error), &other, &error);
        }
        for (int64_t microbatches = 1; microbatches <= 11; microbatches++)
            fold_made(&digest, ppsched_config_with_microbatches(&other, config, microbatches, &error), &other, &error);
        ppsched_config_destroy(config);
    }
    return digest;
}

static void fold_text_or_none(uint64_t *digest, const char *text)
{
    fold_text(digest, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

static void fold_candidate(uint64_t *digest, const ppsched_plan *plan, uint32_t number)
{
    ppsched_candidate c = {.size = sizeof c};
    const uint32_t *counts[] = {&c.chunks,    &c.stages, &c.microbatches, &c.group_size,
                                &c.evaluated, &c.fits,   &c.limit_device, &c.peak_device};
    fold_integer(digest, (uint64_t)ppsched_plan_get_candidate(&c, plan, number, NULL));
    fold_integer(digest, (uint64_t)c.status);
    fold_text_or_none(digest, c.strategy);
    fold_text_or_none(digest, c.reason);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        fold_integer(digest, *counts[i]);
    fold_integer(digest, (uint64_t)c.placement);
    fold_integer(digest, c.transfers);
    fold_numbers(digest,
                 (double[]){c.memory_limit, c.step_time, c.makespan, c.span, c.bubble_of_total, c.bubble_of_ideal,
                            c.bubble_of_span, c.peak_memory, c.overshoot, c.bound, c.bytes},
                 11);
}

static uint32_t rank_of(const ppsched_plan *plan, uint32_t number)
{
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_plan_get_candidate(&candidate, plan, number, NULL);
    return candidate.rank;
}

static void fold_plan(uint64_t *digest, const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *plan = NULL;
    ppsched_timeline *best = NULL;
    ppsched_error error;
    double limit = 0;
    uint32_t candidate = 0;
    if (!fold_outcome(digest, create_plan(&plan, config, options, &error), &error))
        return;
    fold_outcome(digest, ppsched_plan_run(plan, &error), &error);
    fold_integer(digest, ppsched_plan_count(plan));
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        fold_candidate(digest, plan, ppsched_plan_candidate_at_rank(plan, i));
    if (fold_outcome(digest, ppsched_plan_create_timeline(&best, plan, ppsched_plan_candidate_at_rank(plan, 0), &error),
                     &error))
        fold_timeline(digest, digest, best);
    if (fold_outcome(digest, ppsched_plan_find_least_limit(&limit, &candidate, plan, &error), &error)) {
        fold_number(digest, limit);
        fold_integer(digest, rank_of(plan, candidate));
    }
    ppsched_timeline_destroy(best);
    ppsched_plan_destroy(plan);
}

uint64_t digest_of_plans(void)
{
    static const uint32_t chunks[] = {1, 2}, microbatches[] = {4, 6};
    static const double limits[] = {9.7, 1e6};
    uint64_t digest = FOLD_START;
    for (int costs = 0; costs < COSTS_COUNT; costs++)
        for (int32_t lowering = PPSCHED_LOWERING_NONE; lowering <= PPSCHED_LOWERING_PYTORCH; lowering++) {
            ppsched_config *config = make_problem(3, 6, 6, 1, (enum costs)costs);
            struct plan_choice options = {.size = sizeof options,
                                          .objective = PPSCHED_OBJECTIVE_SPAN,
                                          .lowering = lowering,
                                          .chunks = chunks,
                                          .chunk_count = 2,
                                          .microbatches = microbatches,
                                          .microbatch_count = 2,
                                          .memory_limits = limits,
                                          .memory_limit_count = costs == COSTS_LIMITED ? 0 : 2};
            fold_plan(&digest, config, &options);
            ppsched_config_destroy(config);
        }
    return digest;
}

/* What a plan that varies finds beside the others. */
static void fold_variation(uint64_t *digest, const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *plan = NULL;
    ppsched_error error;
    if (!fold_outcome(digest, create_plan(&plan, config, options, &error), &error))
        return;
    fold_outcome(digest, ppsched_plan_run(plan, &error), &error);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = {.size = sizeof candidate};
        uint32_t order[8] = {0};
        size_t count = 0;
        ppsched_plan_get_candidate(&candidate, plan, i, NULL);
        fold_integer(digest, candidate.rank);
        fold_integer(digest, candidate.slices);
        fold_number(digest, candidate.scenario_time);
        if (ppsched_plan_get_microbatch_order(order, 8, &count, plan, i, NULL) == PPSCHED_OK)
            for (size_t j = 0; j < count; j++)
                fold_integer(digest, order[j]);
    }
    ppsched_plan_destroy(plan);
}

uint64_t digest_of_varied_plans(void)
{
    static const double scale[] = {1.1, 0.7, 2.3, 0.9, 1.7, 0.3, 1.3, 0.8}, slow[] = {1, 1.3, 0.9};
    static const char *const strategies[] = {"gpipe", "1f1b", "zb_h1", "zbv", "looped_bfs"};
    static const uint32_t chunks[] = {1, 2}, slices[] = {1, 3};
    uint64_t digest = FOLD_START;
    for (int32_t dispatch = PPSCHED_DISPATCH_PLANNED; dispatch <= PPSCHED_DISPATCH_READY; dispatch++) {
        ppsched_config *config = make_problem(3, 6, 8, 1, COSTS_DECIMAL);
        const ppsched_scenario_options scenarios = {.size = sizeof scenarios,
                                                    .seed = 3,
                                                    .jitter = 0.2,
                                                    .message_jitter = 0.3,
                                                    .device_factors = slow,
                                                    .device_factor_count = 3,
                                                    .dispatch = dispatch};
        const struct plan_choice options = {.size = sizeof options,
                                            .strategies = strategies,
                                            .strategy_count = 5,
                                            .chunks = chunks,
                                            .chunk_count = 2,
                                            .slices = slices,
                                            .slice_count = 2,
                                            .order_effort = 1,
                                            .slice_time = 0.01,
                                            .attention_share = 0.3,
                                            .scenario_options = &scenarios,
                                            .scenario_count = 20,
                                            .rank_by = PPSCHED_RANK_BY_QUANTILE,
                                            .quantile = 0.7};
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 8, NULL), NULL);
        fold_variation(&digest, config, &options);
        ppsched_config_destroy(config);
    }
    return digest;
}
