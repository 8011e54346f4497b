/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/timeline.h"

#include <math.h>
#include <string.h>

/* Sums of many times in another order are equal but for that share. */
static const double ROUNDING = 1e-9;

/* A list that the caller frees; never NULL. */
static void *list_of(size_t count, size_t size)
{
    void *list = calloc(count > 0 ? count : 1, size);
    EXPECT(list != NULL);
    return list;
}

static uint32_t devices_of(const ppsched_timeline *timeline)
{
    return ppsched_schedule_devices(ppsched_timeline_schedule(timeline));
}

ppsched_metrics fuzz_metrics(const ppsched_timeline *timeline)
{
    ppsched_metrics metrics = {.size = sizeof metrics};
    EXPECT(ppsched_timeline_get_metrics(&metrics, timeline, NULL) == PPSCHED_OK);
    return metrics;
}

static ppsched_device_metrics device_metrics(const ppsched_timeline *timeline, uint32_t device)
{
    ppsched_device_metrics metrics = {.size = sizeof metrics};
    EXPECT(ppsched_timeline_get_device_metrics(&metrics, timeline, device, NULL) == PPSCHED_OK);
    return metrics;
}

bool fuzz_same_times(const ppsched_timeline *a, const ppsched_timeline *b)
{
    ppsched_metrics metrics = fuzz_metrics(a), others = fuzz_metrics(b);
    bool is_same = memcmp(&metrics, &others, sizeof metrics) == 0 && devices_of(a) == devices_of(b);
    for (uint32_t d = 0; d < devices_of(a) && is_same; d++) {
        size_t count = 0, other_count = 0;
        const ppsched_span *spans = ppsched_timeline_spans(a, d, &count);
        const ppsched_span *other_spans = ppsched_timeline_spans(b, d, &other_count);
        ppsched_device_metrics device = device_metrics(a, d), other = device_metrics(b, d);
        is_same = count == other_count && (count == 0 || memcmp(spans, other_spans, count * sizeof *spans) == 0) &&
                  memcmp(&device, &other, sizeof device) == 0;
    }
    return is_same;
}

/* --- parts and wholes --- */

static void expect_idle(const ppsched_timeline *timeline, uint32_t device, double whole, double tolerance)
{
    ppsched_idle idle = {.size = sizeof idle};
    if (ppsched_timeline_get_idle(&idle, timeline, device, NULL) != PPSCHED_OK)
        return; /* left out */
    const double parts[] = {idle.fill,         idle.drain,   idle.neighbour, idle.imbalance, idle.transfer,    idle.link,
                            idle.head_of_line, idle.weights, idle.reload,    idle.calls,     idle.slow_devices};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        EXPECT(parts[i] >= -tolerance);
        sum += parts[i];
    }
    EXPECT(fabs(sum - whole) <= tolerance);
}

/* What gradients, which nobody reduces, hold at the end. */
static double last_gradients(const ppsched_timeline *timeline, uint32_t device)
{
    size_t count = 0;
    const int32_t cause = PPSCHED_MEMORY_CAUSE_GRADIENTS;
    EXPECT(ppsched_timeline_get_memory_of_cause(NULL, 0, &count, timeline, device, cause, NULL) == PPSCHED_OK && count >= 1);
    ppsched_memory_point *points = list_of(count, sizeof *points);
    EXPECT(ppsched_timeline_get_memory_of_cause(points, count, NULL, timeline, device, cause, NULL) == PPSCHED_OK);
    double last = points[count - 1].memory;
    free(points);
    return last;
}

static void expect_memory(const ppsched_timeline *timeline, uint32_t device, const ppsched_device_metrics *metrics)
{
    size_t count = 0, again = 0;
    double peak = 0;
    EXPECT(ppsched_timeline_get_memory(NULL, 0, &count, timeline, device, NULL) == PPSCHED_OK && count >= 1);
    ppsched_memory_point *points = list_of(count, sizeof *points);
    EXPECT(count == 1 || ppsched_timeline_get_memory(points, count - 1, NULL, timeline, device, NULL) == PPSCHED_ERROR_BUFFER);
    EXPECT(ppsched_timeline_get_memory(points, count, &again, timeline, device, NULL) == PPSCHED_OK && again == count);
    for (size_t i = 0; i < count; i++)
        peak = points[i].memory > peak ? points[i].memory : peak;
    EXPECT(points[0].time == 0 && points[0].memory == metrics->static_memory && peak == metrics->peak_memory);
    EXPECT(fabs(points[count - 1].memory - metrics->static_memory - last_gradients(timeline, device)) <=
           ROUNDING * (double)count * peak);
    free(points);
}

static void expect_spans(const ppsched_timeline *timeline, uint32_t device, const ppsched_device_metrics *metrics)
{
    size_t count = 0, ops = 0;
    const ppsched_span *spans = ppsched_timeline_spans(timeline, device, &count);
    ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(timeline), device), &ops);
    EXPECT(spans != NULL && count == ops);
    for (size_t i = 0; i < count; i++)
        EXPECT(spans[i].start >= 0 && spans[i].start <= spans[i].end);
    EXPECT(metrics->first_start <= metrics->last_end);
}

/* Whether ops that may go on beside the device are among its last. */
static bool has_sharding(const ppsched_timeline *timeline, uint32_t device)
{
    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(timeline), device), &count);
    for (size_t i = 0; i < count; i++)
        if (ops[i].kind == PPSCHED_KIND_UNSHARD || ops[i].kind == PPSCHED_KIND_REDUCE_GRAD)
            return true;
    return false;
}

void expect_parts_to_sum(const ppsched_timeline *timeline)
{
    ppsched_metrics metrics = fuzz_metrics(timeline);
    double last_end = 0, tolerance = ROUNDING * metrics.makespan;
    bool goes_on = false;
    for (uint32_t d = 0; d < devices_of(timeline); d++) {
        goes_on = goes_on || has_sharding(timeline, d);
        ppsched_device_metrics device = device_metrics(timeline, d);
        expect_spans(timeline, d, &device);
        expect_memory(timeline, d, &device);
        EXPECT(device.idle >= -tolerance && fabs(device.busy + device.idle - metrics.makespan) <= tolerance);
        expect_idle(timeline, d, device.idle, tolerance);
        EXPECT(device.last_end - device.first_start <= metrics.span && device.peak_memory <= metrics.peak_memory);
        last_end = device.last_end > last_end ? device.last_end : last_end;
    }
    EXPECT(goes_on ? last_end <= metrics.makespan : last_end == metrics.makespan);
    EXPECT(metrics.span <= metrics.makespan);
}

/* --- explanations --- */

static bool computes(const ppsched_op *op)
{
    return op->kind >= PPSCHED_KIND_F && op->kind <= PPSCHED_KIND_W;
}

static void expect_latest(const ppsched_timeline *timeline)
{
    double tolerance = ROUNDING * fuzz_metrics(timeline).makespan;
    for (uint32_t d = 0; d < devices_of(timeline); d++) {
        size_t count = 0, spans_count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(timeline), d), NULL);
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, &spans_count);
        const double *latest = ppsched_timeline_latest_starts(timeline, d, &count);
        EXPECT(latest != NULL && count == spans_count);
        for (size_t i = 0; i < count; i++)
            EXPECT(!computes(&ops[i]) || latest[i] >= spans[i].start - tolerance);
    }
}

static void expect_link(const ppsched_critical_op *before, const ppsched_critical_op *op)
{
    EXPECT(op->reason >= PPSCHED_REASON_DEVICE && op->reason <= PPSCHED_REASON_FLUSH);
    if (op->reason == PPSCHED_REASON_INPUT)
        EXPECT(op->start >= before->end && op->device != before->device);
    else
        EXPECT(op->start == before->end && (op->device == before->device) == (op->reason == PPSCHED_REASON_DEVICE));
}

static void expect_critical_path(const ppsched_timeline *timeline)
{
    size_t count = 0;
    ppsched_error error = fresh_error();
    EXPECT(accepted(ppsched_timeline_get_critical_path(NULL, 0, &count, timeline, &error), &error) && count > 0);
    ppsched_critical_op *path = list_of(count, sizeof *path);
    EXPECT(accepted(ppsched_timeline_get_critical_path(path, count, NULL, timeline, &error), &error));
    EXPECT(path[0].start == 0 && path[0].reason == PPSCHED_REASON_BEGIN);
    EXPECT(path[count - 1].end == fuzz_metrics(timeline).makespan);
    for (size_t i = 0; i < count; i++) {
        const ppsched_span *spans = ppsched_timeline_spans(timeline, path[i].device, NULL);
        const double *latest = ppsched_timeline_latest_starts(timeline, path[i].device, NULL);
        EXPECT(spans[path[i].position].start == path[i].start && spans[path[i].position].end == path[i].end);
        EXPECT(latest[path[i].position] == path[i].start);
        if (i > 0)
            expect_link(&path[i - 1], &path[i]);
    }
    free(path);
}

static void expect_slack(const ppsched_timeline *timeline)
{
    uint32_t devices = devices_of(timeline), stages = ppsched_schedule_stages(ppsched_timeline_schedule(timeline));
    double *by_device = list_of(devices, sizeof *by_device), *by_stage = list_of(stages, sizeof *by_stage);
    double least = INFINITY, least_of_stages = INFINITY;
    ppsched_error error = fresh_error();
    EXPECT(accepted(ppsched_timeline_get_device_slack(by_device, devices, NULL, timeline, &error), &error));
    EXPECT(accepted(ppsched_timeline_get_stage_slack(by_stage, stages, NULL, timeline, &error), &error));
    for (uint32_t d = 0; d < devices; d++)
        least = by_device[d] < least ? by_device[d] : least;
    for (uint32_t s = 0; s < stages; s++)
        least_of_stages = by_stage[s] < least_of_stages ? by_stage[s] : least_of_stages;
    EXPECT(least == least_of_stages && fabs(least) <= ROUNDING * fuzz_metrics(timeline).makespan);
    free(by_device);
    free(by_stage);
}

/* Whether stage passes keep less until their backwards: such schedules have no sensitivities, and no bound on memory. */
static bool keeps_less(const ppsched_timeline *timeline)
{
    for (uint32_t d = 0; d < devices_of(timeline); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(ppsched_timeline_schedule(timeline), d), &count);
        for (size_t i = 0; i < count; i++)
            if (ops[i].kind == PPSCHED_KIND_RECOMPUTE || ops[i].kind == PPSCHED_KIND_OFFLOAD)
                return true;
    }
    return false;
}

static void expect_sensitivities(const ppsched_timeline *timeline, int32_t objective, int32_t kind)
{
    uint32_t stages = ppsched_schedule_stages(ppsched_timeline_schedule(timeline));
    ppsched_sensitivity *list = list_of(stages, sizeof *list);
    ppsched_error error = fresh_error();
    EXPECT(accepted(ppsched_timeline_get_sensitivities(list, stages, NULL, timeline, objective, kind, NULL, NULL, &error),
                    &error));
    for (uint32_t s = 0; s < stages; s++) {
        EXPECT(isfinite(list[s].more) && isfinite(list[s].less));
        if (objective == PPSCHED_OBJECTIVE_MAKESPAN)
            EXPECT(list[s].less >= 0 && list[s].less <= list[s].more);
    }
    free(list);
}

void expect_explained(const ppsched_timeline *timeline, int32_t kind)
{
    expect_latest(timeline);
    expect_critical_path(timeline);
    expect_slack(timeline);
    if (keeps_less(timeline)) {
        EXPECT(ppsched_timeline_get_sensitivities(NULL, 0, NULL, timeline, PPSCHED_OBJECTIVE_SPAN, 0, NULL, NULL, NULL) ==
               PPSCHED_ERROR_ARGUMENT);
        return;
    }
    expect_sensitivities(timeline, PPSCHED_OBJECTIVE_SPAN, kind);
    expect_sensitivities(timeline, PPSCHED_OBJECTIVE_MAKESPAN, kind);
}

/* --- bounds --- */

/* The problem in the placement that the schedule has. */
static ppsched_config *placed_config(const ppsched_config *config, const ppsched_schedule *schedule)
{
    ppsched_config *placed = NULL;
    ppsched_error error = fresh_error();
    int32_t placement = ppsched_schedule_placement(schedule);
    EXPECT(accepted(ppsched_config_copy(&placed, config, &error), &error));
    if (placement != PPSCHED_PLACEMENT_MAP)
        EXPECT(accepted(ppsched_config_set_placement(placed, placement, NULL, 0, &error), &error));
    return placed;
}

void expect_bounded(const ppsched_timeline *timeline, const ppsched_config *config)
{
    ppsched_config *placed = placed_config(config, ppsched_timeline_schedule(timeline));
    ppsched_metrics metrics = fuzz_metrics(timeline);
    for (int32_t objective = PPSCHED_OBJECTIVE_SPAN; objective <= PPSCHED_OBJECTIVE_MAKESPAN; objective++) {
        double reached = objective == PPSCHED_OBJECTIVE_SPAN ? metrics.span : metrics.makespan;
        ppsched_bound bound = {.size = sizeof bound};
        ppsched_error error = fresh_error();
        if (!accepted(ppsched_config_find_bound(&bound, placed, objective, &error), &error))
            continue;
        EXPECT(bound.value <= reached * (1 + ROUNDING) || metrics.limit_device != PPSCHED_NONE);
        EXPECT(keeps_less(timeline) || bound.least_limit <= metrics.peak_memory * (1 + ROUNDING));
    }
    ppsched_config_destroy(placed);
}
