/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop only holds the tracks of devices and the stack of those that a copy has woken. */
#include "channel/copy_run.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/number.h"

ppsched_status ppi_copy_run_make(struct ppi_copy_run *out, const ppsched_timeline *timeline, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    *out = (struct ppi_copy_run){0};
    if (timeline->saving == NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_event_loop_make(&out->loop, schedule, error);
    if (status != PPSCHED_OK)
        return status;
    out->saving = timeline->saving;
    out->wakes = ppi_allocate_zeroed(&schedule->host, schedule->shape.devices, sizeof *out->wakes);
    if (out->wakes == NULL)
        return ppi_fail_memory(error, "the copies");
    ppi_event_loop_set_costs(&out->loop, &timeline->costs);
    ppi_event_loop_reset(&out->loop, timeline->spans);
    ppi_saving_reset(out->saving, timeline->spans);
    return out->saving->is_sound ? PPSCHED_OK : PPSCHED_ERROR_INVALID_SCHEDULE;
}

void ppi_copy_run_clear(struct ppi_copy_run *run)
{
    if (run->saving == NULL)
        return;
    ppi_release(&run->loop.schedule->host, run->wakes);
    ppi_event_loop_clear(&run->loop);
}

size_t ppi_copy_run_waits(const struct ppi_copy_run *run)
{
    size_t waits = 0;
    for (size_t i = 0; run->saving != NULL && i < run->loop.schedule->op_count; i++)
        waits += ppi_keeps_less(run->loop.schedule->ops[i].kind);
    return waits;
}

bool ppi_copy_run_ask(struct ppi_copy_run *run, uint32_t device, const ppsched_op *op, double now)
{
    run->loop.tracks[device].op = op + 1;
    return ppi_saving_ask(run->saving, &run->loop, device, op, now);
}

double ppi_copy_run_recompute(struct ppi_copy_run *run, const ppsched_op *op, const struct ppi_costs *costs)
{
    ppi_kept_pass_of(run->saving, op)->flags |= PPI_IS_RECOMPUTED;
    return ppi_saving_cost_of(run->saving, op)->recompute * ppi_factor_of(costs, run->loop.schedule, op).time;
}

bool ppi_copy_run_lets(struct ppi_copy_run *run, uint32_t device, const ppsched_op *unit, double now, double *until)
{
    double start = now;
    *until = 0;
    if (unit->kind == PPSCHED_KIND_OFFLOAD_WAIT && !ppi_saving_waits(run->saving, unit, &start))
        return false;
    for (size_t i = 0; unit->kind != PPSCHED_KIND_OFFLOAD_WAIT && i < ppi_unit_length(unit); i++)
        if (!ppi_saving_lets(run->saving, &unit[i], &start))
            return false;
    if (start <= now)
        return true;
    if (run->wakes[device] != start)
        *until = run->wakes[device] = start;
    return false;
}

bool ppi_copy_run_slows(const struct ppi_copy_run *run)
{
    return run->saving != NULL && run->saving->slows;
}

double ppi_copy_run_begin(struct ppi_copy_run *run, uint32_t device, double now, double work)
{
    if (!ppi_copy_run_slows(run))
        return now + work;
    ppi_slowdown_begin(&run->saving->paced[device].slowdown, now, work);
    return ppi_copy_run_end(run, device);
}

double ppi_copy_run_end(const struct ppi_copy_run *run, uint32_t device)
{
    return ppi_slowdown_end(&run->saving->paced[device].slowdown);
}

double ppi_copy_run_next(const struct ppi_copy_run *run)
{
    return run->saving->events.count > 0 ? run->saving->events.events[0].time : PPI_INFINITE;
}

bool ppi_copy_run_go_on(struct ppi_copy_run *run, uint32_t *device)
{
    run->loop.ready_count = 0;
    ppi_saving_step(run->saving, &run->loop);
    if (run->loop.ready_count > 0)
        *device = run->loop.ready[0];
    return run->loop.ready_count > 0;
}
