/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the caller's options against the sizes of the problem. */
#include "base/checked.h"
#include "base/error.h"
#include "scenario/scenario.h"

static ppsched_status check_jitter(const char *name, double jitter, ppsched_error *error)
{
    if (jitter >= 0 && jitter <= 2)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be 0 to 2", name, jitter);
}

/* Checks a list of `each` factors, or of that many per scenario. */
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

ppsched_status ppi_scenario_options_check(const ppsched_scenario_options *options, uint32_t devices, uint32_t stages,
                                          int64_t count, ppsched_error *error)
{
    if (count < 1 || count > PPSCHED_MAX_SCENARIOS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the number of scenarios is %lld; it must be 1 to %d", (long long)count,
                        PPSCHED_MAX_SCENARIOS);
    ppsched_status status = ppi_check_choice("dispatch", options->dispatch, PPSCHED_DISPATCH_PLANNED, PPSCHED_DISPATCH_READY,
                                             error);
    if (status == PPSCHED_OK)
        status = check_jitter("jitter", options->jitter, error);
    if (status == PPSCHED_OK)
        status = check_jitter("message_jitter", options->message_jitter, error);
    if (status == PPSCHED_OK)
        status = check_factors("device", options->device_factors, options->device_factor_count, devices, (size_t)count, error);
    if (status == PPSCHED_OK && stages > 0)
        status = check_factors("stage", options->stage_factors, options->stage_factor_count, stages, (size_t)count, error);
    if (status == PPSCHED_OK)
        status = check_factors("link", options->link_factors, options->link_factor_count, (size_t)devices * devices, 1, error);
    return status;
}
