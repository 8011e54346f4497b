/* SPDX-License-Identifier: Apache-2.0 */
/* What the times of one device add up to: busy time, memory over time, peak. */
#include "base/checked.h"
#include "eval/timeline.h"

static const struct ppi_lane *lane_of(const ppsched_timeline *timeline, const ppsched_op *op)
{
    const ppsched_schedule *schedule = timeline->schedule;
    return &timeline->costs.lanes[ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch) * schedule->shape.stages +
                                  op->stage];
}

/* Duration of the unit that starts at `op`. */
static double duration_of(const ppsched_timeline *timeline, const ppsched_op *op)
{
    const struct ppi_lane *lane = lane_of(timeline, op);
    if (ppi_unit_length(op) == 1)
        return lane->duration[op->kind];
    return ppi_overlapped_duration(&timeline->costs, lane, op->stage, lane_of(timeline, op + 1), op[1].stage, op[1].kind);
}

void ppi_static_memory(ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_schedule *schedule = timeline->schedule;
    const struct ppi_values *fixed = &config->values[PPSCHED_MEM_STATIC], *weights = &config->values[PPSCHED_MEM_WEIGHTS];
    uint32_t versions = config->weight_versions != 0 ? config->weight_versions : schedule->weight_versions;
    size_t lanes = (size_t)schedule->placement.copies * schedule->shape.stages;
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

void ppi_device_figures(ppsched_timeline *timeline, uint32_t device, const ppsched_config *config)
{
    const ppsched_queue *queue = &timeline->schedule->queues[device];
    const ppsched_span *spans = timeline->spans + ppi_queue_offset(timeline->schedule, queue);
    ppsched_device_metrics *figures = &timeline->devices[device];
    double memory = figures->static_memory;
    *figures = (ppsched_device_metrics){.size = sizeof *figures, .peak_position = PPSCHED_NONE, .static_memory = memory,
                                        .peak_memory = memory, .memory_limit = limit_of(config, device)};
    for (size_t i = 0; i < queue->count; i++) {
        const ppsched_op *op = &queue->ops[i];
        if (!ppi_is_compute(op->kind))
            continue;
        if (i == 0 || ppi_unit_length(op - 1) == 1)
            figures->busy += duration_of(timeline, op);
        memory += lane_of(timeline, op)->memory[op->kind];
        if (memory > figures->peak_memory) {
            figures->peak_memory = memory;
            figures->peak_position = (uint32_t)i;
            figures->peak_time = spans[i].start;
        }
    }
    if (queue->count > 0) {
        figures->first_start = spans[0].start;
        figures->last_end = spans[queue->count - 1].end;
    }
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
        const ppsched_span *span =
            &walk->timeline->spans[ppi_queue_offset(walk->timeline->schedule, walk->queue) + walk->position];
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
