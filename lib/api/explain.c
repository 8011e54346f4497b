/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: why a timeline takes as long as it does, by critical path, slack and sensitivities. */
#include "eval/explain.h"

#include "api/buffer.h"

/* Which transfer goes first depends on times, so a start is not explained by what the op waited for alone. */
static ppsched_status refuse_transfers(const ppsched_timeline *timeline, ppsched_error *error)
{
    if (!timeline->has_transfers)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                    "a timeline with transfers has no critical path, slack or sensitivities; evaluate without transfers");
}

ppsched_status ppsched_timeline_get_critical_path(ppsched_critical_op *out, size_t capacity, size_t *needed,
                                                  const ppsched_timeline *timeline, ppsched_error *error)
{
    size_t count = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = refuse_transfers(timeline, error);
    if (status == PPSCHED_OK)
        status = timeline->saving != NULL ? ppi_critical_path_with_copies(out, capacity, &count, timeline, error)
                                          : ppi_critical_path(out, capacity, &count, timeline, error);
    if (status == PPSCHED_OK)
        status = ppi_check_room(out, capacity, count, "ops", error);
    return ppi_tell_needed(needed, count, status);
}

static ppsched_status require_latest(const ppsched_timeline *timeline, ppsched_error *error)
{
    ppsched_status status = refuse_transfers(timeline, error);
    if (status == PPSCHED_OK && timeline->latest == NULL)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                          "the timeline has no latest starts; evaluate without PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY");
    return status;
}

ppsched_status ppsched_timeline_get_device_slack(double *out, size_t capacity, size_t *needed, const ppsched_timeline *timeline,
                                                 ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = require_latest(timeline, error);
    uint32_t devices = timeline->schedule->shape.devices;
    if (status == PPSCHED_OK)
        status = ppi_check_room(out, capacity, devices, "devices", error);
    if (status == PPSCHED_OK && out != NULL)
        ppi_device_slack(out, timeline);
    return ppi_tell_needed(needed, devices, status);
}

ppsched_status ppsched_timeline_get_stage_slack(double *out, size_t capacity, size_t *needed, const ppsched_timeline *timeline,
                                                ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = require_latest(timeline, error);
    uint32_t stages = timeline->schedule->shape.stages;
    if (status == PPSCHED_OK)
        status = ppi_check_room(out, capacity, stages, "stages", error);
    if (status == PPSCHED_OK && out != NULL)
        ppi_stage_slack(out, timeline);
    return ppi_tell_needed(needed, stages, status);
}

ppsched_status ppsched_timeline_get_sensitivities(ppsched_sensitivity *out, size_t capacity, size_t *needed,
                                                  const ppsched_timeline *timeline, int32_t objective, int32_t kind,
                                                  ppsched_progress_function tell, void *user, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    uint32_t stages = timeline->schedule->shape.stages;
    ppsched_status status = ppi_check_choice("objective", objective, PPSCHED_OBJECTIVE_SPAN, PPSCHED_OBJECTIVE_MAKESPAN, error);
    if (status != PPSCHED_OK)
        return status;
    if (kind < 0 || kind > PPSCHED_KIND_W)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "kind is %d; it must be F, B, I or W (1 to 4), or 0 for all of them",
                        kind);
    status = refuse_transfers(timeline, error);
    if (status == PPSCHED_OK && timeline->saving != NULL)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                          "a schedule with RECOMPUTE, OFFLOAD or RELOAD has no sensitivities; use one without them");
    if (status == PPSCHED_OK)
        status = ppi_check_room(out, capacity, stages, "stages", error);
    if (status == PPSCHED_OK && out != NULL)
        status = ppi_sensitivities(out, timeline, objective, kind, &(struct ppi_listener){tell, user}, error);
    return ppi_tell_needed(needed, stages, status);
}
