/* SPDX-License-Identifier: Apache-2.0 */
/* What the times of one device add up to: busy time, memory over time, peak. */
#include "base/checked.h"
#include "eval/timeline.h"

static inline const struct ppi_lane *lane_of(const ppsched_timeline *timeline, const ppsched_op *op)
{
    return ppi_lane_of(&timeline->costs, timeline->schedule, op);
}

void ppi_static_memory(ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const struct ppi_values *fixed = &config->values[PPSCHED_MEM_STATIC], *weights = &config->values[PPSCHED_MEM_WEIGHTS];
    uint32_t versions = config->weight_versions != 0 ? config->weight_versions : schedule->weight_versions;
    size_t lanes = (size_t)schedule->placement.copies * schedule->shape.stages;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        timeline->devices[d].static_memory = 0;
    for (size_t i = 0; i < lanes; i++) {
        double *sum = &timeline->devices[timeline->costs.lanes[i].device].static_memory;
        if (fixed->values != NULL)
            *sum += ppi_value_at(fixed, i % schedule->shape.stages);
        if (weights->values != NULL)
            *sum += versions * ppi_value_at(weights, i % schedule->shape.stages);
    }
}

static double limit_of(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *limit = &config->values[PPSCHED_MEM_LIMIT];
    return limit->values != NULL ? ppi_value_at(limit, device) : PPI_INFINITE;
}

/* What a device's ops add up to, op by op. */
struct sums {
    double busy, memory, peak;
    const ppsched_op *peak_op; /* NULL: no op adds to the static memory */
};

static inline void add_memory(struct sums *sums, double change, const ppsched_op *op)
{
    sums->memory += change;
    if (sums->memory > sums->peak) {
        sums->peak = sums->memory;
        sums->peak_op = op;
    }
}

/* An overlapped pair: its duration stands for both. */
static void add_pair(struct sums *sums, const ppsched_timeline *timeline, const ppsched_op *pair)
{
    const struct ppi_lane *forward = lane_of(timeline, &pair[0]), *backward = lane_of(timeline, &pair[1]);
    sums->busy += ppi_overlapped_duration(&timeline->costs, forward, pair[0].stage, backward, pair[1].stage, pair[1].kind);
    add_memory(sums, forward->memory[pair[0].kind], &pair[0]);
    add_memory(sums, backward->memory[pair[1].kind], &pair[1]);
}

/* `one_copy`: of the model, which is known where this is inlined. */
static inline struct sums sum_queue_of(const ppsched_timeline *timeline, const ppsched_queue *queue, double memory,
                                       bool one_copy)
{
    const struct ppi_lane *lanes = timeline->costs.lanes;
    const ppsched_op *op = queue->ops, *end = op + queue->count;
    struct sums sums = {.memory = memory, .peak = memory};
    for (; op < end; op++) {
        if (ppi_computes_alone(op)) {
            const struct ppi_lane *lane = one_copy ? &lanes[op->stage] : lane_of(timeline, op);
            sums.busy += lane->duration[op->kind];
            add_memory(&sums, lane->memory[op->kind], op);
        } else if (ppi_unit_length(op) == 2) {
            add_pair(&sums, timeline, op++);
        }
    }
    return sums;
}

static struct sums sum_queue(const ppsched_timeline *timeline, const ppsched_queue *queue, double memory)
{
    if (timeline->schedule->placement.copies == 1)
        return sum_queue_of(timeline, queue, memory, true);
    return sum_queue_of(timeline, queue, memory, false);
}

/* From the start of the first op that computes to the end of the last. */
static void note_span(ppsched_device_metrics *figures, const ppsched_queue *queue, const ppsched_span *spans)
{
    size_t first = 0, last = queue->count;
    while (first < last && !ppi_is_compute(queue->ops[first].kind))
        first++;
    while (last > first && !ppi_is_compute(queue->ops[last - 1].kind))
        last--;
    if (first < last) {
        figures->first_start = spans[first].start;
        figures->last_end = spans[last - 1].end;
    }
}

void ppi_device_figures(ppsched_timeline *timeline, uint32_t device, const ppsched_config *config)
{
    const ppsched_queue *queue = &timeline->schedule->queues[device];
    const ppsched_span *spans = timeline->spans + queue->first;
    ppsched_device_metrics *figures = &timeline->devices[device];
    double memory = figures->static_memory;
    struct sums sums = sum_queue(timeline, queue, memory);
    *figures = (ppsched_device_metrics){.size = sizeof *figures, .peak_position = PPSCHED_NONE, .busy = sums.busy,
                                        .static_memory = memory, .peak_memory = sums.peak,
                                        .memory_limit = limit_of(config, device)};
    if (sums.peak_op != NULL) {
        figures->peak_position = (uint32_t)(sums.peak_op - queue->ops);
        figures->peak_time = spans[figures->peak_position].start;
    }
    note_span(figures, queue, spans);
}

struct ppi_memory_walk ppi_memory_walk_start(const ppsched_timeline *timeline, uint32_t device)
{
    return (struct ppi_memory_walk){timeline, &timeline->schedule->queues[device], 0, timeline->devices[device].static_memory,
                                    false};
}

bool ppi_memory_walk_next(struct ppi_memory_walk *walk, ppsched_memory_point *out)
{
    if (!walk->started) {
        walk->started = true;
        *out = (ppsched_memory_point){0, walk->memory};
        return true;
    }
    while (walk->position < walk->queue->count) {
        const ppsched_op *op = &walk->queue->ops[walk->position];
        const ppsched_span *span = &walk->timeline->spans[walk->queue->first + walk->position];
        double change = ppi_is_compute(op->kind) ? lane_of(walk->timeline, op)->memory[op->kind] : 0;
        walk->position++;
        if (change == 0)
            continue;
        walk->memory += change;
        *out = (ppsched_memory_point){op->kind == PPSCHED_KIND_F ? span->start : span->end, walk->memory};
        return true;
    }
    return false;
}
