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
    size_t lanes = (size_t)schedule->placement.copies * schedule->shape.stages;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        timeline->devices[d].static_memory = 0;
    for (size_t i = 0; i < lanes; i++)
        ppi_add_static_memory(&timeline->devices[timeline->costs.lanes[i].device].static_memory, config,
                              (uint32_t)(i % schedule->shape.stages), schedule->weight_versions);
}

static double limit_of(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *limit = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    return limit->values != NULL ? ppi_value_at(limit, device) : PPI_INFINITE;
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
    figures->size = sizeof *figures;
    figures->memory_limit = limit_of(config, device);
    figures->peak_time = figures->peak_position != PPSCHED_NONE ? spans[figures->peak_position].start : 0;
    figures->first_start = figures->last_end = 0;
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
