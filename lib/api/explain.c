/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/explain.h"

#include "api/null.h"

/* Which transfer goes first depends on times, so there is more to a start than what the op waited for. */
static ppsched_status refuse_transfers(const ppsched_timeline *timeline, ppsched_error *error)
{
    if (!timeline->has_transfers)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                    "the timeline is one with transfers, which cannot be explained; one that was evaluated without them can");
}

ppsched_status ppsched_timeline_critical_path(const ppsched_timeline *timeline, ppsched_critical_op *path, size_t capacity,
                                              size_t *count, ppsched_error *error)
{
    PPI_REQUIRE(timeline);
    if (capacity > 0)
        PPI_REQUIRE(path);
    ppsched_status status = refuse_transfers(timeline, error);
    return status == PPSCHED_OK ? ppi_critical_path(timeline, path, capacity, count, error) : status;
}

/* Whether a list is NULL, which is fine with no room, or has room for all. */
static ppsched_status check_room(const void *list, size_t room, uint32_t needed, const char *what, ppsched_error *error)
{
    if (list == NULL && room > 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the list of %s is NULL and its length %zu", what, room);
    if (list != NULL && room < needed)
        return ppi_fail(error, PPSCHED_ERROR_BUFFER, "there are %u %s, and room for %zu", needed, what, room);
    return PPSCHED_OK;
}

ppsched_status ppsched_timeline_slack(const ppsched_timeline *timeline, double *by_device, size_t devices, double *by_stage,
                                      size_t stages, ppsched_error *error)
{
    PPI_REQUIRE(timeline);
    ppsched_status status = refuse_transfers(timeline, error);
    if (status == PPSCHED_OK && timeline->latest == NULL)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                          "the latest starts were left out; evaluate without PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY");
    if (status == PPSCHED_OK)
        status = check_room(by_device, devices, timeline->schedule->shape.devices, "devices", error);
    if (status == PPSCHED_OK)
        status = check_room(by_stage, stages, timeline->schedule->shape.stages, "stages", error);
    if (status == PPSCHED_OK)
        ppi_least_slack(timeline, by_device, by_stage);
    return status;
}

ppsched_status ppsched_timeline_sensitivities(const ppsched_timeline *timeline, int32_t objective, int32_t kind,
                                              ppsched_sensitivity *out, size_t capacity, ppsched_error *error)
{
    PPI_REQUIRE(timeline);
    PPI_REQUIRE(out);
    ppsched_status status = ppi_check_choice("objective", objective, PPSCHED_OBJECTIVE_SPAN, PPSCHED_OBJECTIVE_MAKESPAN, error);
    if (status != PPSCHED_OK)
        return status;
    if (kind < 0 || kind > PPSCHED_KIND_W)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "kind is %d; it must be F, B, I or W (1 to 4), or 0 for all of them",
                        kind);
    status = refuse_transfers(timeline, error);
    if (status == PPSCHED_OK)
        status = check_room(out, capacity, timeline->schedule->shape.stages, "stages", error);
    return status == PPSCHED_OK ? ppi_sensitivities(timeline, objective, kind, out, error) : status;
}
