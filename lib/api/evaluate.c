/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: evaluating a schedule, with or without transfers, and reading the timeline and its figures. */
#include "api/buffer.h"
#include "api/channel.h"
#include "api/log.h"
#include "base/sized.h"
#include "channel/evaluate_transfers.h"
#include "check/check.h"
#include "eval/timeline.h"

/* The evaluator found that the schedule cannot run. The checker gives the reason. */
static ppsched_status explain(const ppsched_schedule *schedule, ppsched_error *error)
{
    struct ppi_findings findings = {0};
    ppsched_status status = ppi_check(schedule, &findings, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_fail(error, PPSCHED_ERROR_INTERNAL, "evaluator and checker disagree on a schedule of %q", schedule->name);
}

static ppsched_status check_flags(uint32_t flags, ppsched_error *error)
{
    const uint32_t known = PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY | PPSCHED_EVALUATE_FLAG_REUSABLE;
    if ((flags & ~known) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "flags is %u, with unknown bits; it must be 0 to %u", flags, known);
}

ppsched_status ppsched_schedule_evaluate(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                         uint32_t flags, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    ppsched_status status = check_flags(flags, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_evaluate(out, schedule, config, flags, error);
    if (status == PPSCHED_ERROR_INVALID_SCHEDULE)
        status = explain(schedule, error);
    if (status == PPSCHED_OK)
        ppi_log_timeline(*out);
    return status;
}

ppsched_status ppsched_schedule_evaluate_transfers(ppsched_timeline **out, const ppsched_schedule *schedule,
                                                   const ppsched_config *config, const ppsched_channel_model *model,
                                                   uint32_t flags, ppsched_error *error)
{
    ppsched_channel_model own = {.order = PPSCHED_CHANNEL_ORDER_NONE};
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    ppsched_status status = check_flags(flags, error);
    if (status == PPSCHED_OK && (flags & PPSCHED_EVALUATE_FLAG_REUSABLE) != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "a timeline with transfers cannot be reusable");
    if (status == PPSCHED_OK && model != NULL)
        status = ppi_take_channel_model(&own, model, error);
    if (status == PPSCHED_OK)
        status = ppi_check(schedule, &(struct ppi_findings){0}, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate_transfers(out, schedule, config, &own, error);
    if (status == PPSCHED_OK)
        ppi_log_timeline(*out);
    return status;
}

ppsched_status ppsched_timeline_update(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    PPI_REQUIRE(timeline);
    PPI_REQUIRE(config);
    if (timeline->reuse == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "the timeline is not reusable; evaluate with PPSCHED_EVALUATE_FLAG_REUSABLE");
    ppsched_status status = ppi_timeline_update(timeline, config, error);
    if (status == PPSCHED_OK)
        ppi_log_timeline(timeline);
    return status;
}

void ppsched_timeline_destroy(ppsched_timeline *timeline)
{
    ppi_timeline_destroy(timeline);
}

const ppsched_schedule *ppsched_timeline_schedule(const ppsched_timeline *timeline)
{
    return timeline != NULL ? timeline->schedule : NULL;
}

static const ppsched_queue *queue_of(const ppsched_timeline *timeline, uint32_t device, size_t *count)
{
    const ppsched_queue *queue = timeline != NULL ? ppsched_schedule_queue(timeline->schedule, device) : NULL;
    if (count != NULL)
        *count = queue != NULL ? queue->count : 0;
    return queue;
}

const ppsched_span *ppsched_timeline_spans(const ppsched_timeline *timeline, uint32_t device, size_t *count)
{
    const ppsched_queue *queue = queue_of(timeline, device, count);
    return queue != NULL ? timeline->spans + queue->first : NULL;
}

const double *ppsched_timeline_latest_starts(const ppsched_timeline *timeline, uint32_t device, size_t *count)
{
    const ppsched_queue *queue = timeline != NULL && timeline->latest != NULL ? queue_of(timeline, device, count) : NULL;
    if (queue == NULL && count != NULL)
        *count = 0;
    return queue != NULL ? timeline->latest + queue->first : NULL;
}

static ppsched_status check_device(const ppsched_timeline *timeline, uint32_t device, ppsched_error *error)
{
    uint32_t devices = timeline->schedule->shape.devices;
    if (device < devices)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no device %u; devices are 0 to %u", device, devices - 1);
}

ppsched_status ppsched_timeline_get_metrics(ppsched_metrics *out, const ppsched_timeline *timeline, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(timeline);
    return ppi_give_sized(out, &timeline->metrics, sizeof timeline->metrics, sizeof(ppsched_metrics), "ppsched_metrics", error);
}

ppsched_status ppsched_timeline_get_device_metrics(ppsched_device_metrics *out, const ppsched_timeline *timeline,
                                                   uint32_t device, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(timeline);
    ppsched_status status = check_device(timeline, device, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_give_sized(out, &timeline->devices[device], sizeof timeline->devices[device], sizeof(ppsched_device_metrics),
                          "ppsched_device_metrics", error);
}

ppsched_status ppsched_timeline_get_idle(ppsched_idle *out, const ppsched_timeline *timeline, uint32_t device,
                                         ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(timeline);
    ppsched_status status = check_device(timeline, device, error);
    if (status != PPSCHED_OK)
        return status;
    if (timeline->idle == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "the timeline has no idle causes; evaluate without PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY");
    return ppi_give_sized(out, &timeline->idle[device], sizeof timeline->idle[device], PPI_SIZE_UP_TO(ppsched_idle, calls),
                          "ppsched_idle", error);
}
