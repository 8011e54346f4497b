/* SPDX-License-Identifier: Apache-2.0 */
#include "portability/plans.h"

#include <string.h>

#include "portability/fold.h"
#include "portability/problems.h"
#include "portability/results.h"

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
    for (int32_t quantity = 1; ppsched_quantity_name(quantity) != NULL; quantity++) {
        size_t count = 0;
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
                            c.bubble_of_span, c.peak_memory, c.excess, c.bound, c.bytes},
                 11);
}

static uint32_t rank_of(const ppsched_plan *plan, uint32_t number)
{
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_plan_get_candidate(&candidate, plan, number, NULL);
    return candidate.rank;
}

static void fold_plan(uint64_t *digest, const ppsched_config *config, const ppsched_plan_options *options)
{
    ppsched_plan *plan = NULL;
    ppsched_timeline *best = NULL;
    ppsched_error error;
    double limit = 0;
    uint32_t candidate = 0;
    if (!fold_outcome(digest, ppsched_plan_create(&plan, config, options, &error), &error))
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
            ppsched_plan_options options = {.size = sizeof options,
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
