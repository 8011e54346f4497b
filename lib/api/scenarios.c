/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario/scenario.h"

#include "api/null.h"
#include "base/checked.h"
#include "base/sized.h"
#include "check/check.h"

static ppsched_status check_jitter(const char *name, double jitter, ppsched_error *error)
{
    if (jitter >= 0 && jitter <= 2)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be 0 to 2", name, jitter);
}

/* A list of `each` factors, or, where it may be, of as many a scenario. */
static ppsched_status check_factors(const char *name, const double *factors, size_t count, size_t each, size_t scenarios,
                                    ppsched_error *error)
{
    size_t most;
    if ((factors == NULL) != (count == 0))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s_factors and %s_factor_count must be given together", name, name);
    if (count == 0)
        return PPSCHED_OK;
    if (!ppi_mul_size(&most, each, scenarios) || (count != each && count != most))
        return ppi_fail(error, PPSCHED_ERROR_MISMATCH, "%zu %s factors are given; it must be %zu, or these for each scenario",
                        count, name, each);
    for (size_t i = 0; i < count; i++)
        if (!(factors[i] >= 0) || !ppi_is_finite(factors[i]))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s factor %zu is %g; it must be finite and not negative", name, i,
                            factors[i]);
    return PPSCHED_OK;
}

static ppsched_status check_options(const ppsched_scenario_options *options, const ppsched_schedule *schedule, int64_t count,
                                    ppsched_error *error)
{
    const size_t devices = schedule->shape.devices, stages = schedule->shape.stages;
    if (count < 1 || count > PPSCHED_SCENARIOS_MOST)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the number of scenarios is %lld; it must be 1 to %d", (long long)count,
                        PPSCHED_SCENARIOS_MOST);
    if (options->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reserved is %u; it must be 0", options->reserved);
    ppsched_status status = check_jitter("jitter", options->jitter, error);
    if (status == PPSCHED_OK)
        status = check_jitter("message_jitter", options->message_jitter, error);
    if (status == PPSCHED_OK)
        status = check_factors("device", options->device_factors, options->device_factor_count, devices, (size_t)count, error);
    if (status == PPSCHED_OK)
        status = check_factors("stage", options->stage_factors, options->stage_factor_count, stages, (size_t)count, error);
    if (status == PPSCHED_OK)
        status = check_factors("link", options->link_factors, options->link_factor_count, devices * devices, 1, error);
    return status;
}

ppsched_status ppsched_schedule_evaluate_scenarios(ppsched_scenarios **out, const ppsched_schedule *schedule,
                                                   const ppsched_config *config, int64_t count,
                                                   const ppsched_scenario_options *options, ppsched_error *error)
{
    ppsched_scenario_options own;
    ppsched_scenarios *own_result = NULL;
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    ppsched_status status = ppi_take_sized(&own, sizeof own, PPI_SIZE_UP_TO(ppsched_scenario_options, link_factor_count),
                                           options, "ppsched_scenario_options", error);
    if (status == PPSCHED_OK)
        status = check_options(&own, schedule, count, error);
    if (status == PPSCHED_OK)
        status = ppi_scenarios_run(&own_result, schedule, config, (uint32_t)count, &own, error);
    if (status == PPSCHED_ERROR_INVALID_SCHEDULE) /* the checker knows why */
        status = ppi_check(schedule, &(struct ppi_findings){0}, error);
    if (status == PPSCHED_OK && own_result == NULL)
        return ppi_fail(error, PPSCHED_ERROR_INTERNAL, "evaluator and checker disagree on a schedule of %q", schedule->name);
    if (status == PPSCHED_OK)
        *out = own_result;
    return status;
}

void ppsched_scenarios_destroy(ppsched_scenarios *scenarios)
{
    ppi_scenarios_destroy(scenarios);
}

static const double *list_of(const double *list, size_t length, size_t *count)
{
    if (count != NULL)
        *count = length;
    return list;
}

const double *ppsched_scenarios_makespans(const ppsched_scenarios *scenarios, size_t *count)
{
    return scenarios != NULL ? list_of(scenarios->makespans, scenarios->metrics.count, count) : list_of(NULL, 0, count);
}

const double *ppsched_scenarios_causes(const ppsched_scenarios *scenarios, size_t *count)
{
    return scenarios != NULL ? list_of(scenarios->causes, scenarios->devices, count) : list_of(NULL, 0, count);
}

ppsched_status ppsched_scenarios_get_metrics(ppsched_scenario_metrics *out, const ppsched_scenarios *scenarios,
                                             ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(scenarios);
    return ppi_give_sized(out, &scenarios->metrics, sizeof scenarios->metrics, PPI_SIZE_UP_TO(ppsched_scenario_metrics, worst),
                          "ppsched_scenario_metrics", error);
}

ppsched_status ppsched_scenarios_get_quantile(double *out, const ppsched_scenarios *scenarios, double q, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(scenarios);
    if (!(q >= 0 && q <= 1))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the quantile asked for is that of %g; it must be 0 to 1", q);
    double place = q * scenarios->metrics.count;
    uint32_t rank = (uint32_t)place;
    rank += rank < place;
    *out = scenarios->sorted[rank > 0 ? rank - 1 : 0];
    return PPSCHED_OK;
}
