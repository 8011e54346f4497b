/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: making and running a plan, and reading its candidates with their splits, configs and timelines. */
#include "plan/plan.h"

#include "api/buffer.h"
#include "api/log.h"
#include "api/null.h"
#include "api/plan_options.h"
#include "base/checked.h"
#include "base/sized.h"

ppsched_status ppsched_plan_create(ppsched_plan **out, const ppsched_config *config, const ppsched_plan_options *options,
                                   ppsched_error *error)
{
    struct ppi_plan_options own;
    struct ppi_taken_plan_options taken;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    ppsched_status status = ppi_take_plan_options(&own, &taken, options, config, error);
    return status == PPSCHED_OK ? ppi_plan_make(out, config, &own, error) : status;
}

void ppsched_plan_destroy(ppsched_plan *plan)
{
    ppi_plan_destroy(plan);
}

uint32_t ppsched_plan_count(const ppsched_plan *plan)
{
    return plan != NULL ? (uint32_t)plan->count : 0;
}

static ppsched_status check_candidate(const ppsched_plan *plan, uint32_t candidate, ppsched_error *error)
{
    if (candidate >= plan->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no candidate %u; give less than %zu", candidate, plan->count);
    return PPSCHED_OK;
}

ppsched_status ppsched_plan_evaluate(ppsched_plan *plan, uint32_t candidate, ppsched_error *error)
{
    PPI_REQUIRE(plan);
    ppsched_status status = check_candidate(plan, candidate, error);
    if (status != PPSCHED_OK || plan->candidates[candidate].evaluated)
        return status;
    return ppi_candidate_evaluate(plan, &plan->candidates[candidate], NULL, NULL, NULL, error);
}

ppsched_status ppsched_plan_run(ppsched_plan *plan, ppsched_error *error)
{
    PPI_REQUIRE(plan);
    ppsched_status status = ppi_plan_run(plan, error);
    if (status == PPSCHED_OK)
        ppi_log_plan(plan);
    return status;
}

/* --- results --- */

static double limit_of(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const struct ppi_values *limit = &plan->config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    if (candidate->memory_limit >= 0)
        return candidate->memory_limit;
    if (limit->values == NULL)
        return PPI_INFINITE;
    for (size_t i = 1; i < limit->count; i++)
        if (limit->values[i] != limit->values[0])
            return (double)NAN;
    return limit->values[0];
}

static ppsched_candidate identity_of(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const struct ppi_strategy *strategy = candidate->strategy;
    bool own_placement = candidate->placement == PPSCHED_PLACEMENT_DEFAULT;
    uint32_t devices = plan->config->shape.devices;
    return (ppsched_candidate){
        .status = candidate->reason != NULL ? PPSCHED_ERROR_REFUSED : PPSCHED_OK,
        .strategy = strategy->name,
        .reason = candidate->reason,
        .chunks = candidate->stages % devices == 0 ? candidate->stages / devices : 0,
        .stages = candidate->stages,
        .microbatches = candidate->microbatches,
        .group_size = candidate->group_size,
        .min_group_size = candidate->min_group_size,
        .placement = own_placement ? strategy->placement : candidate->placement,
        .evaluated = candidate->evaluated,
        .limit_device = PPSCHED_NONE,
        .peak_device = PPSCHED_NONE,
        .rank = candidate->rank,
        .memory_limit = limit_of(plan, candidate),
        .runs_on = candidate->runs_on,
        .slices = candidate->slices,
        .offloaded = candidate->offloads,
    };
}

static void fill_figures(ppsched_candidate *out, const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const ppsched_metrics *metrics = &candidate->metrics;
    out->fits = ppi_candidate_fits(candidate);
    out->limit_device = metrics->limit_device;
    out->peak_device = metrics->peak_device;
    out->step_time = ppi_candidate_step(plan, candidate);
    out->makespan = metrics->makespan;
    out->span = metrics->span;
    out->bubble_of_total = metrics->bubble_of_total;
    out->bubble_of_ideal = metrics->bubble_of_ideal;
    out->bubble_of_span = metrics->bubble_of_span;
    out->peak_memory = metrics->peak_memory;
    out->overshoot = candidate->overshoot;
    out->bound = candidate->bound;
    out->bytes = candidate->bytes;
    out->transfers = candidate->transfers;
    out->proved = candidate->proved;
    out->ordered = candidate->microbatch_order != NULL;
    out->scenario_time = candidate->scenario_time;
    out->offloads = candidate->copies;
    out->imbalance = candidate->imbalance;
}

uint32_t ppsched_plan_candidate_at_rank(const ppsched_plan *plan, uint32_t rank)
{
    return plan != NULL && plan->order != NULL && rank < plan->count ? plan->order[rank] : PPSCHED_NONE;
}

ppsched_status ppsched_plan_get_candidate(ppsched_candidate *out, const ppsched_plan *plan, uint32_t candidate,
                                          ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(plan);
    ppsched_status status = check_candidate(plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_candidate *from = &plan->candidates[candidate];
    ppsched_candidate own = identity_of(plan, from);
    if (ppi_candidate_runs(from))
        fill_figures(&own, plan, from);
    else if (!from->evaluated)
        own.bound = from->bound;
    return ppi_give_sized(out, &own, sizeof own, sizeof own, "ppsched_candidate", error);
}

/* Checks that the candidate has a split. */
static ppsched_status check_split(const ppsched_plan *plan, uint32_t candidate, ppsched_error *error)
{
    if (plan->layers == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the plan has no layers, so its candidates have no split");
    ppsched_status status = check_candidate(plan, candidate, error);
    if (status == PPSCHED_OK && plan->candidates[candidate].layers == NULL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "candidate %u has no split: it is %s", candidate,
                        plan->candidates[candidate].reason != NULL ? "refused" : "not evaluated");
    return status;
}

ppsched_status ppsched_plan_get_split(uint32_t *out, size_t capacity, size_t *needed, const ppsched_plan *plan,
                                      uint32_t candidate, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(plan);
    ppsched_status status = check_split(plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    size_t stages = plan->candidates[candidate].stages;
    status = ppi_check_room(out, capacity, stages, "stages", error);
    if (status == PPSCHED_OK && out != NULL)
        memcpy(out, plan->candidates[candidate].layers, stages * sizeof *out);
    return ppi_tell_needed(needed, stages, status);
}

ppsched_status ppsched_plan_get_recomputes(uint8_t *out, size_t capacity, size_t *needed, const ppsched_plan *plan,
                                           uint32_t candidate, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(plan);
    ppsched_status status = check_split(plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_check_room(out, capacity, plan->layers->count, "layers", error);
    if (status == PPSCHED_OK && out != NULL)
        memcpy(out, plan->candidates[candidate].recomputes, plan->layers->count);
    return ppi_tell_needed(needed, plan->layers->count, status);
}

ppsched_status ppsched_plan_get_microbatch_order(uint32_t *out, size_t capacity, size_t *needed, const ppsched_plan *plan,
                                                 uint32_t candidate, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(plan);
    ppsched_status status = check_candidate(plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_candidate *from = &plan->candidates[candidate];
    if (from->microbatch_order == NULL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "candidate %u has no order of microbatches: %s", candidate,
                        from->reason != NULL ? "it is refused"
                        : !from->evaluated   ? "it is not evaluated"
                                             : "none was looked for");
    status = ppi_check_room(out, capacity, from->microbatches, "microbatches", error);
    if (status == PPSCHED_OK && out != NULL)
        memcpy(out, from->microbatch_order, from->microbatches * sizeof *out);
    return ppi_tell_needed(needed, from->microbatches, status);
}

ppsched_status ppsched_plan_get_device_order(uint32_t *out, size_t capacity, size_t *needed, const ppsched_plan *plan,
                                             uint32_t candidate, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(plan);
    ppsched_status status = check_candidate(plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    const struct ppi_candidate *from = &plan->candidates[candidate];
    if (!ppi_candidate_runs(from) || from->device_order == NULL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "candidate %u has no order of devices: %s", candidate,
                        from->reason != NULL ? "it is refused"
                        : !from->evaluated   ? "it is not evaluated"
                                             : "none was looked for");
    const size_t devices = plan->config->shape.devices;
    status = ppi_check_room(out, capacity, devices, "devices", error);
    if (status == PPSCHED_OK && out != NULL)
        memcpy(out, from->device_order, devices * sizeof *out);
    return ppi_tell_needed(needed, devices, status);
}

/* A candidate with its split and its orders. If it is not evaluated, they are made for this call and freed after it. */
struct lent {
    struct ppi_candidate candidate;
    bool has_own_split, has_own_order, has_own_device_order;
};

static ppsched_status lend(struct lent *out, const ppsched_plan *plan, uint32_t candidate, ppsched_error *error)
{
    ppsched_status status = check_candidate(plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    *out = (struct lent){.candidate = plan->candidates[candidate]};
    out->has_own_split = out->candidate.layers == NULL;
    out->has_own_order = out->candidate.microbatch_order == NULL;
    out->has_own_device_order = out->candidate.device_order == NULL;
    status = ppi_candidate_arrange(plan, &out->candidate, NULL, NULL, error);
    if (status == PPSCHED_OK && !out->candidate.evaluated)
        status = ppi_candidate_order(plan, &out->candidate, NULL, NULL, error);
    return status;
}

static void end_lent(struct lent *lent, const ppsched_plan *plan)
{
    if (lent->has_own_split)
        ppi_candidate_drop_split(plan, &lent->candidate);
    if (lent->has_own_order)
        ppi_candidate_drop_order(plan, &lent->candidate);
    if (lent->has_own_device_order)
        ppi_release(&plan->host, lent->candidate.device_order);
}

/* Sets the placement of the config, unless a builder would choose the same one by default. */
static ppsched_status carry_placement(ppsched_config *config, const struct ppi_candidate *candidate, ppsched_error *error)
{
    int32_t own = candidate->strategy->placement, placement = own != PPSCHED_PLACEMENT_DEFAULT ? own : candidate->placement;
    bool is_loop = placement != PPSCHED_PLACEMENT_V && placement != PPSCHED_PLACEMENT_BIDIRECTIONAL;
    if (is_loop || config->placement != PPSCHED_PLACEMENT_DEFAULT ||
        ppi_placement_fits(placement, &config->shape, NULL) != PPSCHED_OK)
        return PPSCHED_OK;
    return ppi_config_set_placement(config, placement, NULL, 0, error);
}

ppsched_status ppsched_plan_create_config(ppsched_config **out, const ppsched_plan *plan, uint32_t candidate,
                                          ppsched_error *error)
{
    struct lent lent = {.has_own_split = false};
    PPI_REQUIRE(out);
    PPI_REQUIRE(plan);
    ppsched_status status = lend(&lent, plan, candidate, error);
    ppsched_config *config = NULL;
    if (status == PPSCHED_OK)
        status = ppi_candidate_config(&config, plan, &lent.candidate, error);
    if (status == PPSCHED_OK)
        status = ppi_name_roles(config, lent.candidate.strategy, error);
    if (status == PPSCHED_OK)
        status = carry_placement(config, &lent.candidate, error);
    end_lent(&lent, plan);
    if (status == PPSCHED_OK)
        *out = config;
    else
        ppi_config_destroy(config);
    return status;
}

ppsched_status ppsched_plan_create_timeline(ppsched_timeline **out, const ppsched_plan *plan, uint32_t candidate,
                                            ppsched_error *error)
{
    struct lent lent = {.has_own_split = false};
    ppsched_config *config = NULL;
    PPI_REQUIRE(out);
    PPI_REQUIRE(plan);
    ppsched_status status = lend(&lent, plan, candidate, error);
    if (status == PPSCHED_OK)
        status = ppi_candidate_config(&config, plan, &lent.candidate, error);
    if (status == PPSCHED_OK)
        status = ppi_candidate_timeline(out, NULL, plan, &lent.candidate, config, 0, error);
    if (status == PPSCHED_OK)
        ppi_log_timeline(*out);
    ppi_config_destroy(config);
    end_lent(&lent, plan);
    return status;
}

ppsched_status ppsched_plan_find_least_limit(double *out, uint32_t *candidate, const ppsched_plan *plan, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(plan);
    return ppi_plan_least_limit(out, candidate, plan, error);
}
