/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B on the V placement. One microbatch runs through in unit cells, a forward one and a full backward two, each at the first
 * time that is free in its device's period of six. The others follow six apart, and all ops are packed to the front within the
 * memory that the pattern holds, 2 floor((2D+3)/3) stage passes. The order does not depend on the costs. */
#include "base/checked.h"
#include "strategy/descriptors.h"
#include "strategy/searches/v_pack.h"

/* Unit costs: a full backward is all in I. */
static void set_units(struct ppi_v_planner *p)
{
    for (uint32_t s = 0; s < 2 * p->devices; s++) {
        struct ppi_lane *lane = &p->costs.lanes[s];
        lane->forward_delay = lane->backward_delay = 0;
        for (int k = 0; k < PPI_COMPUTE_KINDS; k++)
            lane->duration[k] = lane->memory[k] = 0;
        lane->duration[PPSCHED_KIND_F] = lane->memory[PPSCHED_KIND_F] = 1;
        lane->duration[PPSCHED_KIND_I] = 2;
        lane->memory[PPSCHED_KIND_I] = -1;
    }
    for (uint32_t r = 0; r < p->devices; r++)
        ppi_v_set_limit(p, r, 2 * ((2 * p->devices + 3) / 3));
}

/* An I and the W behind it become a B. */
static size_t join_backwards(ppsched_op *ops, size_t count)
{
    size_t joined = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].kind == PPSCHED_KIND_W)
            continue;
        ops[joined] = ops[i];
        if (ops[i].kind == PPSCHED_KIND_I)
            ops[joined].kind = PPSCHED_KIND_B;
        joined++;
    }
    return joined;
}

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    struct ppi_v_planner planner = {.costs.host = attempt->config->host};
    struct ppi_v_pattern pattern = {0};
    struct ppi_v_pack pack = {0};
    struct ppi_orders *orders = &attempt->best;
    const struct ppi_v_recipe recipe = {.period = 6, .share = 1, .full_backward = true};
    ppsched_status status = ppi_v_planner_make(&planner, attempt->config, error);
    if (status == PPSCHED_OK) {
        set_units(&planner);
        status = ppi_v_pattern_make(&pattern, &planner, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_v_pack_make(&pack, &planner, error);
    if (status == PPSCHED_OK &&
        (!ppi_v_pattern_lay(&pattern, &planner, &recipe) || !ppi_is_finite(ppi_v_pack(&pack, &planner, &pattern, orders->ops))))
        status = ppi_refuse(error, attempt->task, "there is no schedule for %u microbatches on %u devices",
                            planner.microbatches, planner.devices);
    for (uint32_t d = 0; d < orders->devices && status == PPSCHED_OK; d++)
        orders->count[d] = join_backwards(orders->ops + orders->first[d], orders->count[d]);
    ppi_v_pattern_clear(&pattern, &planner);
    ppi_v_pack_clear(&pack, &planner);
    ppi_v_planner_clear(&planner);
    return status;
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
