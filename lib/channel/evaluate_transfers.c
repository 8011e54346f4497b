/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a timeline, times it by a run in order of time, and computes the figures as the evaluator does. */
#include "channel/evaluate_transfers.h"

#include "base/error.h"
#include "channel/transfer_run.h"
#include "eval/idle.h"

static ppsched_status add_call_times(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    uint32_t devices = timeline->schedule->shape.devices;
    if (config->values[PPSCHED_QUANTITY_SEND_OVERHEAD].values == NULL)
        return PPSCHED_OK;
    timeline->call_times = ppi_allocate(&timeline->host, devices, sizeof *timeline->call_times);
    if (timeline->call_times == NULL)
        return ppi_fail_memory(error, "the timeline");
    for (uint32_t d = 0; d < devices; d++)
        timeline->call_times[d] = ppi_send_overhead(config, d);
    return PPSCHED_OK;
}

/* The idle time that slow devices cause. */
static ppsched_status find_slow_devices(ppsched_timeline *timeline, const ppsched_config *config,
                                        const ppsched_channel_model *model, ppsched_error *error)
{
    ppsched_config stated;
    ppsched_timeline *alike = NULL;
    if (!ppi_has_speeds(config))
        return PPSCHED_OK;
    ppi_as_stated(&stated, config);
    ppsched_status status = ppi_evaluate_transfers(&alike, timeline->schedule, &stated, model, error);
    if (status == PPSCHED_OK)
        ppi_separate_slow_devices(timeline, alike->idle);
    ppi_timeline_destroy(alike);
    return status;
}

ppsched_status ppi_evaluate_transfers(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                      const ppsched_channel_model *model, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    if (config->senders_wait)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "sender_waits like_kind is only for evaluation without transfers; with transfers the channel model "
                        "decides who waits: use never");
    ppsched_status status = ppi_timeline_make(&timeline, schedule, config, false, true, error);
    if (status != PPSCHED_OK)
        return status;
    timeline->has_transfers = true;
    timeline->blocks = model->blocking != 0;
    timeline->batches = model->batched != 0;
    status = ppi_costs_fill(&timeline->costs, config, &schedule->placement, error);
    if (status == PPSCHED_OK)
        status = add_call_times(timeline, config, error);
    if (status == PPSCHED_OK && ppi_has_saving(schedule))
        status = ppi_timeline_add_saving(timeline, config, error);
    if (status == PPSCHED_OK) {
        ppi_static_memory(timeline, config);
        status = ppi_time_transfers(timeline, config, model, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_figures(timeline, config, error);
    timeline->costs.overlapped = (struct ppi_values){0}; /* the config's, which may not outlive this call */
    timeline->costs.pair_ends = timeline->costs.input_pairs = NULL;
    if (status == PPSCHED_OK) {
        ppi_find_imbalance(timeline);
        status = find_slow_devices(timeline, config, model, error);
    }
    if (status != PPSCHED_OK) {
        ppi_timeline_destroy(timeline);
        return status;
    }
    *out = timeline;
    return PPSCHED_OK;
}
