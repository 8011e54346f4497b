/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates a run; the heap has capacity for all events that may be pending at once. */
#include "channel/transfer_state.h"

#include "base/error.h"

static ppsched_status reserve_states(struct ppi_transfer_run *run, ppsched_error *error)
{
    const struct ppi_host *host = &run->schedule->host;
    const struct ppi_channels *channels = &run->comms.channels;
    size_t devices = run->schedule->shape.devices, transfers = channels->channel_first[channels->channel_count];
    size_t events = devices + 2 * transfers + (ppi_has_sharding_times(run->config) ? ppi_count_sharding(run->schedule) : 0) +
                    ppi_copy_run_waits(&run->copies);
    bool has_calls = run->timeline->call_times != NULL;
    run->heap.events = ppi_allocate(host, events, sizeof *run->heap.events);
    run->machines = ppi_allocate_zeroed(host, devices, sizeof *run->machines);
    run->ready = ppi_allocate(host, devices, sizeof *run->ready);
    run->states = ppi_allocate_zeroed(host, ppi_transfer_numbers(run->schedule), sizeof *run->states);
    run->link_free = ppi_allocate_zeroed(host, (size_t)channels->link_count + 1, sizeof *run->link_free);
    if (has_calls)
        run->calls = ppi_allocate_zeroed(host, ppi_transfer_numbers(run->schedule), sizeof *run->calls);
    if (run->heap.events == NULL || run->machines == NULL || run->ready == NULL || run->states == NULL ||
        run->link_free == NULL || (has_calls && run->calls == NULL))
        return ppi_fail_memory(error, "the transfers");
    return ppi_sharding_make(&run->sharding, run->schedule, run->config, error);
}

static size_t count_passes(const ppsched_schedule *schedule)
{
    size_t count = 0;
    if (schedule->placement.graph == NULL)
        return ppi_cell_count(schedule) / schedule->shape.iterations;
    for (uint64_t i = 0; i < schedule->op_count; i++)
        count += ppi_is_compute(schedule->ops[i].kind);
    return count / schedule->shape.iterations;
}

ppsched_status ppi_transfer_run_make(struct ppi_transfer_run *out, ppsched_timeline *timeline, const ppsched_config *config,
                                     const ppsched_channel_model *model, ppsched_error *error)
{
    const ppsched_schedule *schedule = timeline->schedule;
    *out = (struct ppi_transfer_run){.schedule = schedule, .config = config, .timeline = timeline};
    out->passes = count_passes(schedule);
    out->iteration_end = timeline->flush_count > 0 ? schedule->shape.microbatches : ppi_total_microbatches(&schedule->shape);
    ppsched_status status = ppi_comm_run_make(&out->comms, schedule, model, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_copy_run_make(&out->copies, timeline, error);
    if (status == PPSCHED_OK)
        status = reserve_states(out, error);
    for (uint32_t d = 0; status == PPSCHED_OK && d < schedule->shape.devices; d++)
        out->machines[d].sums = ppi_sums_of_none(timeline, d);
    if (status != PPSCHED_OK)
        ppi_transfer_run_clear(out);
    return status;
}

void ppi_transfer_run_clear(struct ppi_transfer_run *run)
{
    const struct ppi_host *host = &run->schedule->host;
    ppi_copy_run_clear(&run->copies);
    ppi_sharding_clear(&run->sharding);
    ppi_release(host, run->calls);
    ppi_release(host, run->link_free);
    ppi_release(host, run->states);
    ppi_release(host, run->ready);
    ppi_release(host, run->machines);
    ppi_release(host, run->heap.events);
    ppi_comm_run_clear(&run->comms);
}
