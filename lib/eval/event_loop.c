/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/event_loop.h"

#include "base/error.h"

ppsched_status ppi_event_loop_make(struct ppi_event_loop *out, const ppsched_schedule *schedule,
                                   const struct ppi_costs *costs, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    size_t cells = ppi_cell_count(schedule), devices = schedule->shape.devices;
    struct ppi_event_loop loop = {.schedule = schedule, .costs = costs, .stages = schedule->shape.stages};
    loop.microbatches = ppi_total_microbatches(&schedule->shape);
    loop.forward = ppi_allocate(host, cells, sizeof *loop.forward);
    loop.backward = ppi_allocate(host, cells, sizeof *loop.backward);
    loop.tracks = ppi_allocate(host, devices, sizeof *loop.tracks);
    loop.ready = ppi_allocate(host, devices, sizeof *loop.ready);
    loop.active = ppi_allocate(host, devices, sizeof *loop.active);
    if (loop.active == NULL || loop.forward == NULL || loop.backward == NULL || loop.tracks == NULL || loop.ready == NULL) {
        ppi_event_loop_clear(&loop);
        return ppi_fail_memory(error, "the evaluation");
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (schedule->queues[d].count > 0)
            loop.active[loop.active_count++] = d;
    *out = loop;
    ppi_event_loop_reset(out);
    return PPSCHED_OK;
}

void ppi_event_loop_reset(struct ppi_event_loop *loop)
{
    size_t cells = ppi_cell_count(loop->schedule);
    for (size_t i = 0; i < cells; i++)
        loop->forward[i] = loop->backward[i] = PPI_SLOT_UNKNOWN;
    for (uint32_t d = 0; d < loop->schedule->shape.devices; d++)
        loop->tracks[d] = (struct ppi_track){0};
    loop->ready_count = 0;
}

void ppi_event_loop_clear(struct ppi_event_loop *loop)
{
    const struct ppi_host *host = &loop->schedule->host;
    ppi_release(host, loop->forward);
    ppi_release(host, loop->backward);
    ppi_release(host, loop->tracks);
    ppi_release(host, loop->ready);
    ppi_release(host, loop->active);
}

void ppi_event_loop_ready_all(struct ppi_event_loop *loop)
{
    for (uint32_t i = 0; i < loop->active_count; i++)
        loop->ready[i] = loop->active[loop->active_count - 1 - i];
    loop->ready_count = loop->active_count;
}
