/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: times of a schedule over scenarios, and the robust objective of a config. */
#include "scenario/scenario.h"

#include "api/null.h"
#include "base/sized.h"
#include "check/check.h"

ppsched_status ppsched_schedule_evaluate_scenarios(ppsched_scenarios **out, const ppsched_schedule *schedule,
                                                   const ppsched_config *config, int64_t count,
                                                   const ppsched_scenario_options *options, ppsched_error *error)
{
    ppsched_scenario_options own;
    ppsched_scenarios *own_result = NULL;
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    ppsched_status status = ppi_take_scenario_options(&own, options, error);
    if (status == PPSCHED_OK)
        status = ppi_scenario_options_check(&own, schedule->shape.devices, schedule->shape.stages, count, error);
    if (status == PPSCHED_OK)
        status = ppi_scenarios_run(&own_result, schedule, config, (uint32_t)count, &own, error);
    if (status == PPSCHED_ERROR_INVALID_SCHEDULE) /* the checker gives the reason */
        status = ppi_check(schedule, &(struct ppi_findings){0}, error);
    if (status == PPSCHED_OK && own_result == NULL)
        return ppi_fail(error, PPSCHED_ERROR_INTERNAL, "evaluator and checker disagree on a schedule of %q", schedule->name);
    if (status == PPSCHED_OK)
        *out = own_result;
    return status;
}

ppsched_status ppsched_config_set_robust_objective(ppsched_config *config, int32_t rank_by, double quantile, int64_t count,
                                                   const ppsched_scenario_options *options, ppsched_error *error)
{
    struct ppi_robust_objective asked = {.rank_by = rank_by, .quantile = quantile, .count = (uint32_t)count}, *goal = NULL;
    PPI_REQUIRE(config);
    ppsched_status status = ppi_check_choice("rank_by", rank_by, PPSCHED_RANK_BY_STEP, PPSCHED_RANK_BY_WORST, error);
    if (status == PPSCHED_OK && rank_by != PPSCHED_RANK_BY_STEP) {
        status = ppi_take_scenario_options(&asked.options, options, error);
        if (status == PPSCHED_OK)
            status = ppi_scenario_options_check(&asked.options, config->shape.devices, config->shape.stages, count, error);
        if (status == PPSCHED_OK && asked.options.dispatch != PPSCHED_DISPATCH_PLANNED)
            status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                              "a robust objective is for planned orders; dispatch must be PLANNED");
        if (status == PPSCHED_OK && rank_by == PPSCHED_RANK_BY_QUANTILE && !(quantile >= 0 && quantile <= 1))
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "quantile is %g; it must be 0 to 1", quantile);
        if (status == PPSCHED_OK)
            status = ppi_robust_objective_make(&goal, &config->host, &asked, error);
    }
    if (status != PPSCHED_OK)
        return status;
    ppi_robust_objective_destroy(config->goal, &config->host);
    config->goal = goal;
    return PPSCHED_OK;
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

const double *ppsched_scenarios_peaks(const ppsched_scenarios *scenarios, size_t *count)
{
    return scenarios != NULL ? list_of(scenarios->peaks, scenarios->devices, count) : list_of(NULL, 0, count);
}

ppsched_status ppsched_scenarios_get_metrics(ppsched_scenario_metrics *out, const ppsched_scenarios *scenarios,
                                             ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(scenarios);
    return ppi_give_sized(out, &scenarios->metrics, sizeof scenarios->metrics, sizeof(ppsched_scenario_metrics),
                          "ppsched_scenario_metrics", error);
}

ppsched_status ppsched_scenarios_get_quantile(double *out, const ppsched_scenarios *scenarios, double q, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(scenarios);
    if (!(q >= 0 && q <= 1))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "q is %g; it must be 0 to 1", q);
    *out = ppi_scenarios_quantile(scenarios, q);
    return PPSCHED_OK;
}
