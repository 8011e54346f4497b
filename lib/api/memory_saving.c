/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: adding recomputation or offload to a schedule. */
#include "offload/offload.h"

#include "api/log.h"
#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"
#include "check/check.h"

ppsched_status ppsched_schedule_recompute(ppsched_schedule **out, const ppsched_schedule *schedule,
                                          const ppsched_recompute_options *options, ppsched_error *error)
{
    ppsched_recompute_options own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(options);
    PPI_REQUIRE_CHAIN(&schedule->placement, "recomputation by op");
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_recompute_options), options,
                                           "ppsched_recompute_options", error);
    if (status == PPSCHED_OK)
        status = ppi_recompute(out, schedule, own.chunks, error);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "recomputed");
    return status;
}

static ppsched_status check_offload(const ppsched_offload_options *options, ppsched_error *error)
{
    if (options->until_limit > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "offload: until_limit is %u; it must be 0 or 1", options->until_limit);
    if (!(options->share >= 0 && options->share <= 1))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "offload: share is %g; it must be between 0 and 1", options->share);
    if (options->prefetch_distance > 0 && options->until_limit != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "offload: prefetch_distance is %u, but until_limit places reloads itself; set only one of them",
                        options->prefetch_distance);
    return PPSCHED_OK;
}

ppsched_status ppsched_schedule_offload(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                        const ppsched_offload_options *options, ppsched_error *error)
{
    struct ppi_findings findings = {0};
    ppsched_offload_options own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    PPI_REQUIRE(options);
    PPI_REQUIRE_CHAIN(&schedule->placement, "offload");
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_offload_options), options,
                                           "ppsched_offload_options", error);
    if (status == PPSCHED_OK)
        status = check_offload(&own, error);
    if (status == PPSCHED_OK)
        status = ppi_check(schedule, &findings, error);
    if (status == PPSCHED_OK)
        status = ppi_offload(out, schedule, config, &own, true, error);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "offloaded");
    return status;
}
