/* SPDX-License-Identifier: Apache-2.0 */
#include "api/channel.h"
#include "api/log.h"
#include "api/null.h"
#include "base/sized.h"
#include "check/check.h"
#include "eval/timeline.h"
#include "lower/evaluate_transfers.h"

/* The evaluator found that the schedule cannot be run; the checker knows why. */
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
    const uint32_t known = PPSCHED_EVALUATE_EARLIEST_ONLY | PPSCHED_EVALUATE_REUSABLE;
    if ((flags & ~known) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "flags is %u, with unknown bits; it must be 0 to %u", flags, known);
}

ppsched_status ppsched_evaluate(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                uint32_t flags, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    ppsched_status status = check_flags(flags, error);
    if (status != PPSCHED_OK)
        return status;
    /* Only the reference count is written to, which is atomic. */
    ppsched_schedule *shared = ppsched_schedule_retain((ppsched_schedule *)(uintptr_t)schedule);
    status = ppi_evaluate(out, shared, config, flags, error);
    if (status == PPSCHED_ERROR_INVALID_SCHEDULE)
        status = explain(schedule, error);
    ppsched_schedule_release(shared);
    if (status == PPSCHED_OK)
        ppi_log_timeline(*out);
    return status;
}

ppsched_status ppsched_evaluate_transfers(ppsched_timeline **out, const ppsched_schedule *schedule,
                                          const ppsched_config *config, const ppsched_channel_model *model, uint32_t flags,
                                          ppsched_error *error)
{
    ppsched_channel_model own = {.order = PPSCHED_CHANNEL_NONE};
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    ppsched_status status = check_flags(flags, error);
    if (status == PPSCHED_OK && (flags & PPSCHED_EVALUATE_REUSABLE) != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "a timeline with transfers cannot be reusable");
    if (status == PPSCHED_OK && model != NULL)
        status = ppi_take_channel_model(&own, model, error);
    if (status == PPSCHED_OK)
        status = ppi_check(schedule, &(struct ppi_findings){0}, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_schedule *shared = ppsched_schedule_retain((ppsched_schedule *)(uintptr_t)schedule);
    status = ppi_evaluate_transfers(out, shared, config, &own, error);
    ppsched_schedule_release(shared);
    if (status == PPSCHED_OK)
        ppi_log_timeline(*out);
    return status;
}

ppsched_status ppsched_timeline_update(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    PPI_REQUIRE(timeline);
    PPI_REQUIRE(config);
    if (timeline->reuse == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the timeline is not reusable; evaluate with PPSCHED_EVALUATE_REUSABLE");
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

ppsched_status ppsched_timeline_metrics(const ppsched_timeline *timeline, ppsched_metrics *metrics)
{
    if (timeline == NULL)
        return PPSCHED_ERROR_ARGUMENT;
    return ppi_give_sized(metrics, &timeline->metrics, sizeof timeline->metrics, PPI_SIZE_UP_TO(ppsched_metrics, peak_memory));
}

ppsched_status ppsched_timeline_device_metrics(const ppsched_timeline *timeline, uint32_t device,
                                               ppsched_device_metrics *metrics)
{
    if (queue_of(timeline, device, NULL) == NULL)
        return PPSCHED_ERROR_ARGUMENT;
    return ppi_give_sized(metrics, &timeline->devices[device], sizeof timeline->devices[device],
                          PPI_SIZE_UP_TO(ppsched_device_metrics, memory_limit));
}

ppsched_status ppsched_timeline_idle(const ppsched_timeline *timeline, uint32_t device, ppsched_idle *idle)
{
    if (queue_of(timeline, device, NULL) == NULL || timeline->idle == NULL)
        return PPSCHED_ERROR_ARGUMENT;
    return ppi_give_sized(idle, &timeline->idle[device], sizeof timeline->idle[device],
                          PPI_SIZE_UP_TO(ppsched_idle, head_of_line));
}

ppsched_status ppsched_timeline_memory(const ppsched_timeline *timeline, uint32_t device, ppsched_memory_point *points,
                                       size_t capacity, size_t *count)
{
    ppsched_memory_point point;
    size_t needed = 0;
    if (queue_of(timeline, device, NULL) == NULL || (points == NULL && capacity > 0))
        return PPSCHED_ERROR_ARGUMENT;
    struct ppi_memory_walk walk = ppi_memory_walk_start(timeline, device), again = walk;
    while (ppi_memory_walk_next(&walk, &point))
        needed++;
    if (count != NULL)
        *count = needed;
    if (points == NULL)
        return PPSCHED_OK;
    if (needed > capacity)
        return PPSCHED_ERROR_BUFFER;
    while (ppi_memory_walk_next(&again, points))
        points++;
    return PPSCHED_OK;
}
