/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of one device from its times: span, static memory, limit, and the split of its peak by cause. */
#include <string.h>

#include "base/checked.h"
#include "eval/memory.h"
#include "ir/stage_graph.h"

/* Static memory by cause, of stages and devices. */
static void sum_fixed(ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_schedule *schedule = timeline->schedule;
    size_t instances = (size_t)schedule->placement.copies * schedule->shape.stages;
    memset(timeline->fixed, 0, (size_t)schedule->shape.devices * PPI_FIXED_CAUSES * sizeof *timeline->fixed);
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        ppi_add_other_memory(&timeline->fixed[(size_t)d * PPI_FIXED_CAUSES + PPSCHED_MEMORY_CAUSE_OTHER], config, d);
    for (size_t i = 0; i < instances; i++) {
        double *own = timeline->fixed_of_stages + i * PPI_FIXED_STAGE_CAUSES;
        uint32_t count;
        const uint32_t *devices = ppi_devices_of(&schedule->placement, (uint32_t)i, &count);
        ppi_fixed_memory(own, config, (uint32_t)(i % schedule->shape.stages), schedule->weight_versions);
        for (uint32_t k = 0; k < count; k++) {
            double *all = timeline->fixed + (size_t)devices[k] * PPI_FIXED_CAUSES;
            for (int cause = 0; cause < PPI_FIXED_STAGE_CAUSES; cause++)
                all[cause] += own[cause];
        }
    }
}

/* Static memory as one sum, stage by stage. */
static void sum_static(ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_schedule *schedule = timeline->schedule;
    size_t instances = (size_t)schedule->placement.copies * schedule->shape.stages;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        timeline->devices[d].static_memory = 0;
    for (size_t i = 0; i < instances; i++) {
        uint32_t count;
        const uint32_t *devices = ppi_devices_of(&schedule->placement, (uint32_t)i, &count);
        for (uint32_t k = 0; k < count; k++)
            ppi_add_static_memory(&timeline->devices[devices[k]].static_memory, config, (uint32_t)(i % schedule->shape.stages),
                                  schedule->weight_versions);
    }
}

void ppi_static_memory(ppsched_timeline *timeline, const ppsched_config *config)
{
    const ppsched_schedule *schedule = timeline->schedule;
    bool has_more = timeline->memory != NULL && (timeline->saving != NULL || ppi_holds_more(config));
    sum_fixed(timeline, config);
    sum_static(timeline, config);
    if (timeline->memory != NULL) {
        timeline->memory->is_used = has_more;
        timeline->memory->has_more = ppi_holds_more(config);
    }
    if (!has_more)
        return;
    ppi_holdings_fill(timeline->memory->holdings, config, &schedule->placement);
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        double causes[PPI_CAUSES] = {0};
        memcpy(causes, timeline->fixed + (size_t)d * PPI_FIXED_CAUSES, PPI_FIXED_CAUSES * sizeof *causes);
        timeline->devices[d].static_memory = ppi_level_of(causes);
    }
}

static double limit_of(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *limit = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    return limit->values != NULL ? ppi_value_at(limit, device) : PPI_INFINITE;
}

/* From the start of the first compute op to the end of the last. */
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

/* --- the peak by cause --- */

/* The next larger double; `x` is not negative. */
static double next_above(double x)
{
    union {
        double value;
        int64_t bits;
    } next = {x};
    next.bits++;
    return next.value;
}

/* Finds what to add to a part so that the sum equals the whole to the last bit. False if no double does: the exact rest is
 * halfway between two, and both sums round away from the whole; with the next larger part one does. */
static bool find_rest(double whole, double part, double *rest)
{
    *rest = whole - part;
    return part + *rest == whole;
}

void ppi_split_peak(const ppsched_timeline *timeline, uint32_t device, double *out)
{
    const ppsched_device_metrics *figures = &timeline->devices[device];
    memset(out, 0, PPI_CAUSES * sizeof *out);
    memcpy(out, timeline->fixed + (size_t)device * PPI_FIXED_CAUSES, PPI_FIXED_CAUSES * sizeof *out);
    double *weights = &out[PPSCHED_MEMORY_CAUSE_WEIGHTS], *fixed = &out[PPSCHED_MEMORY_CAUSE_STATIC];
    double *larger = *weights > *fixed ? weights : fixed;
    if (!find_rest(figures->static_memory, *fixed, weights)) {
        *fixed = next_above(*fixed);
        *weights = figures->static_memory - *fixed;
    }
    for (int tries = 0; tries < 3; tries++) { /* up to half of the larger one's last bit may be lost in the sum */
        if (find_rest(figures->peak_memory, *fixed + *weights, &out[PPSCHED_MEMORY_CAUSE_ACTIVATIONS]))
            break;
        *larger = next_above(*larger);
    }
}
