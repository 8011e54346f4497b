/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation, reset and the rows of stage instances; the sweeps themselves are inlined from the header. */
#include "eval/event_loop.h"

#include <string.h>

#include "base/error.h"

void ppi_event_loop_set_costs(struct ppi_event_loop *loop, const struct ppi_costs *costs)
{
    const struct ppi_shape *shape = &loop->schedule->shape;
    const size_t micro_slices = ppi_total_micro_slices(shape);
    loop->costs = costs;
    for (uint32_t copy = 0, k = 0; copy < loop->schedule->placement.copies; copy++)
        for (uint32_t stage = 0; stage < shape->stages; stage++, k++) {
            const struct ppi_instance *instance = &costs->instances[k];
            struct ppi_row *row = &loop->rows[k];
            *row = (struct ppi_row){.passes = loop->passes + stage * micro_slices,
                                    .forward_delay = instance->forward_delay,
                                    .backward_delay = instance->backward_delay,
                                    .device = instance->device,
                                    .device_before = stage > 0 ? instance[-1].device : PPSCHED_NONE,
                                    .device_after = stage + 1 < shape->stages ? instance[1].device : PPSCHED_NONE};
            memcpy(row->duration, &instance->duration[PPSCHED_KIND_F], sizeof row->duration);
            memcpy(row->memory, &instance->memory[PPSCHED_KIND_F], sizeof row->memory);
        }
}

ppsched_status ppi_event_loop_make(struct ppi_event_loop *out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    size_t devices = schedule->shape.devices, rows = (size_t)schedule->placement.copies * schedule->shape.stages;
    struct ppi_event_loop loop = {.schedule = schedule};
    loop.passes = ppi_allocate(host, ppi_cell_count(schedule), sizeof *loop.passes);
    loop.rows = ppi_allocate(host, rows, sizeof *loop.rows);
    loop.tracks = ppi_allocate(host, devices, sizeof *loop.tracks);
    loop.ready = ppi_allocate(host, devices, sizeof *loop.ready);
    loop.active = ppi_allocate(host, devices, sizeof *loop.active);
    const bool has_graph = schedule->placement.graph != NULL;
    if (has_graph) {
        loop.is_ready = ppi_allocate_zeroed(host, devices, 1);
        loop.ran = ppi_allocate(host, ppi_cell_count(schedule), 1);
        loop.order = ppi_allocate(host, (size_t)schedule->op_count, sizeof *loop.order);
    }
    if ((has_graph && (loop.is_ready == NULL || loop.ran == NULL || loop.order == NULL)) || loop.passes == NULL ||
        loop.rows == NULL || loop.tracks == NULL || loop.ready == NULL || loop.active == NULL) {
        ppi_event_loop_clear(&loop);
        return ppi_fail_memory(error, "the evaluation");
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (schedule->queues[d].count > 0)
            loop.active[loop.active_count++] = d;
    *out = loop;
    return PPSCHED_OK;
}

void ppi_event_loop_reset(struct ppi_event_loop *loop, ppsched_span *spans)
{
    const ppsched_schedule *schedule = loop->schedule;
    memset(loop->passes, -1, ppi_cell_count(schedule) * sizeof *loop->passes); /* all PPI_UNKNOWN */
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const struct ppsched_queue *queue = &schedule->queues[d];
        loop->tracks[d] = (struct ppi_track){.op = queue->ops, .end = queue->ops + queue->count, .span = spans + queue->first};
    }
    loop->ready_count = 0;
    if (loop->ran != NULL)
        memset(loop->ran, 0, ppi_cell_count(schedule));
}

void ppi_event_loop_clear(struct ppi_event_loop *loop)
{
    const struct ppi_host *host = &loop->schedule->host;
    ppi_release(host, loop->passes);
    ppi_release(host, loop->rows);
    ppi_release(host, loop->tracks);
    ppi_release(host, loop->ready);
    ppi_release(host, loop->active);
    ppi_release(host, loop->is_ready);
    ppi_release(host, loop->ran);
    ppi_release(host, loop->order);
}

void ppi_event_loop_ready_all(struct ppi_event_loop *loop)
{
    for (uint32_t i = 0; i < loop->active_count; i++)
        loop->ready[i] = loop->active[loop->active_count - 1 - i];
    loop->ready_count = loop->active_count;
}
