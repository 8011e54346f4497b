/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B on the V placement. One microbatch is laid in unit cells, a forward one and a full backward two, each at the first time
 * that is free in its device's period of six. The others follow six cells apart, and all ops are compacted within the
 * pattern's memory, 2 floor((2D+3)/3) stage passes. The order does not depend on the costs. */
#include "search/compact.h"
#include "search/periodic.h"
#include "strategy/descriptors.h"

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    uint32_t most = 2 * ((attempt->problem.stages + 3) / 3);
    struct ppi_problem units;
    struct ppi_periodic pattern;
    struct ppi_compactor compactor;
    ppsched_status status = ppi_problem_make_units(&units, &attempt->arena, attempt->config, attempt->placement, most, error);
    if (status == PPSCHED_OK)
        status = ppi_periodic_make(&pattern, &attempt->arena, &units, error);
    if (status == PPSCHED_OK)
        status = ppi_compactor_make(&compactor, &attempt->arena, &units, error);
    if (status != PPSCHED_OK)
        return status;
    compactor.poll = &attempt->poll;
    const struct ppi_recipe recipe = {units.least_period, .share = 1, .weights = PPI_WEIGHTS_JOINED, .crowds = true};
    ppi_periodic_lay(&pattern, &units, &recipe);
    ppi_periodic_repeat(&pattern, &units, &attempt->best);
    if (ppi_periodic_fits(&pattern, &units, true))
        ppi_compact(&compactor, &attempt->best, false, &attempt->objective); /* the only candidate; its time in cells */
    return ppi_poll_spend(&attempt->poll, 0, error);
}

const struct ppi_strategy ppi_v_1f1b = {
    .name = "v_1f1b",
    .summary = "1F1B on the V placement: two thirds of 1F1B's memory",
    .source = "Pipeline Parallelism with Controllable Memory (Qi et al. 2024, arXiv 2405.15362), 1F1B-V",
    .placement = PPSCHED_PLACEMENT_V,
    .chunks = 2,
    .weight_versions = 1,
    .splits_backward = false,
    .flushes = true,
    .plan = plan,
};
