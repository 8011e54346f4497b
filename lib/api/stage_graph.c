/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the graph of a config's stages, and that of a schedule. */
#include "ir/stage_graph.h"

#include "api/null.h"
#include "ir/config.h"
#include "ir/ports.h"
#include "ir/schedule.h"

ppsched_status ppsched_config_set_stage_inputs(ppsched_config *config, const uint32_t *counts, const uint32_t *inputs,
                                               size_t stages, ppsched_error *error)
{
    PPI_REQUIRE(config);
    if (stages > 0) {
        PPI_REQUIRE(counts);
        PPI_REQUIRE(inputs);
    }
    return ppi_config_set_stage_inputs(config, counts, inputs, stages, error);
}

ppsched_status ppsched_config_set_stage_passes(ppsched_config *config, const int32_t *passes, size_t count,
                                               ppsched_error *error)
{
    PPI_REQUIRE(config);
    if (count > 0)
        PPI_REQUIRE(passes);
    return ppi_config_set_stage_passes(config, passes, count, error);
}

ppsched_status ppsched_config_set_stage_microbatches(ppsched_config *config, uint32_t stage, const uint32_t *microbatches,
                                                     size_t count, ppsched_error *error)
{
    PPI_REQUIRE(config);
    if (count > 0)
        PPI_REQUIRE(microbatches);
    return ppi_config_set_stage_microbatches(config, stage, microbatches, count, error);
}

ppsched_status ppsched_config_set_stage_devices(ppsched_config *config, const uint32_t *counts, const uint32_t *devices,
                                                size_t stages, ppsched_error *error)
{
    PPI_REQUIRE(config);
    PPI_REQUIRE(counts);
    PPI_REQUIRE(devices);
    return ppi_config_set_stage_devices(config, counts, devices, stages, error);
}

/* --- of a schedule --- */

uint32_t ppsched_schedule_stage_input(const ppsched_schedule *schedule, uint32_t stage, uint32_t i)
{
    if (schedule == NULL || stage >= schedule->shape.stages)
        return PPSCHED_NONE;
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    if (graph == NULL)
        return stage > 0 && i == 0 ? stage - 1 : PPSCHED_NONE;
    return i < graph->input_first[stage + 1] - graph->input_first[stage] ? graph->inputs[graph->input_first[stage] + i]
                                                                         : PPSCHED_NONE;
}

uint32_t ppsched_schedule_stage_device(const ppsched_schedule *schedule, uint32_t stage, uint32_t i)
{
    uint32_t count = 0;
    if (schedule == NULL || stage >= schedule->shape.stages)
        return PPSCHED_NONE;
    const uint32_t *devices = ppi_devices_of(&schedule->placement, stage, &count);
    if (schedule->placement.copies == 2 && i == 1)
        return schedule->placement.device_of[schedule->shape.stages + stage];
    return i < count ? devices[i] : PPSCHED_NONE;
}

uint32_t ppsched_schedule_place_of(const ppsched_schedule *schedule, uint32_t stage, uint32_t device)
{
    if (schedule == NULL || stage >= schedule->shape.stages || schedule->placement.graph == NULL)
        return PPSCHED_NONE;
    return ppi_seat_on(&schedule->placement, stage, device);
}

uint32_t ppsched_schedule_peer_stage(const ppsched_schedule *schedule, const ppsched_op *op)
{
    if (schedule == NULL || op == NULL || !ppi_is_comm(op) || op->stage >= schedule->shape.stages)
        return PPSCHED_NONE;
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    if (graph != NULL)
        return ppi_refuse_place(graph, op) == NULL ? ppi_stage_of_seat(graph, op->reserved - 1u) : PPSCHED_NONE;
    const uint32_t number = ppi_is_send(op->kind) ? ppi_output_of(schedule, op) : ppi_input_of(schedule, op);
    const bool is_next = ppi_is_send(op->kind) != ppi_goes_back(op->kind);
    return number == PPSCHED_NONE ? PPSCHED_NONE : is_next ? op->stage + 1u : op->stage - 1u;
}

int32_t ppsched_schedule_stage_passes(const ppsched_schedule *schedule, uint32_t stage)
{
    if (schedule == NULL || stage >= schedule->shape.stages)
        return 0;
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    return graph != NULL ? graph->passes[stage] : PPSCHED_STAGE_PASSES_FORWARD_BACKWARD;
}

uint32_t ppsched_schedule_runs_stage(const ppsched_schedule *schedule, uint32_t stage, uint32_t microbatch)
{
    return schedule != NULL && stage < schedule->shape.stages && microbatch < ppi_total_microbatches(&schedule->shape) &&
           ppi_stage_runs(schedule->placement.graph, stage, microbatch);
}

uint32_t ppsched_schedule_has_graph(const ppsched_schedule *schedule)
{
    return schedule != NULL && schedule->placement.graph != NULL;
}
