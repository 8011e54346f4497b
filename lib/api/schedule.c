/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: generating a schedule with a strategy, and reading the schedule. */
#include "ir/ports.h"
#include "ir/schedule.h"

#include "api/log.h"
#include "api/null.h"
#include "strategy/strategy.h"

ppsched_status ppsched_schedule_generate(ppsched_schedule **out, const ppsched_config *config, const char *strategy,
                                         ppsched_error *error)
{
    uint32_t index = 0;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(strategy);
    ppsched_status status = ppi_strategy_find(strategy, &index, error);
    if (status == PPSCHED_OK)
        status = ppi_generate(out, ppi_strategy_at(index), config, error);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*out, "generated");
    return status;
}

const ppsched_schedule *ppsched_schedule_retain(const ppsched_schedule *schedule)
{
    if (schedule != NULL)
        ppi_schedule_retain(schedule);
    return schedule;
}

void ppsched_schedule_release(const ppsched_schedule *schedule)
{
    ppi_schedule_release(schedule);
}

const char *ppsched_schedule_name(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->name : NULL;
}

uint32_t ppsched_schedule_devices(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->shape.devices : 0;
}

uint32_t ppsched_schedule_stages(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->shape.stages : 0;
}

uint32_t ppsched_schedule_microbatches(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->shape.microbatches : 0;
}

uint32_t ppsched_schedule_iterations(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->shape.iterations : 0;
}

uint32_t ppsched_schedule_slices(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->shape.slices : 0;
}

int32_t ppsched_schedule_placement(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->placement.kind : PPSCHED_PLACEMENT_DEFAULT;
}

uint32_t ppsched_schedule_device_of(const ppsched_schedule *schedule, uint32_t stage, uint32_t microbatch)
{
    if (schedule == NULL || stage >= schedule->shape.stages || microbatch >= ppi_total_microbatches(&schedule->shape))
        return PPSCHED_NONE;
    return ppi_device_of(&schedule->placement, &schedule->shape, stage, microbatch);
}

uint32_t ppsched_schedule_peer_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    if (schedule == NULL || op == NULL || !ppi_is_comm(op))
        return PPSCHED_NONE;
    const struct ppi_stage_graph *graph = schedule->placement.graph;
    if (graph != NULL) {
        bool has_place = op->stage < graph->stages && ppi_refuse_place(graph, op) == NULL;
        return has_place ? ppi_device_of_seat(&schedule->placement, op->reserved - 1u) : PPSCHED_NONE;
    }
    bool is_next = op->kind == PPSCHED_KIND_SEND_F || op->kind == PPSCHED_KIND_RECV_B;
    if (!is_next && op->stage == 0)
        return PPSCHED_NONE;
    return ppsched_schedule_device_of(schedule, is_next ? op->stage + 1u : op->stage - 1u, op->microbatch);
}

uint32_t ppsched_schedule_flushes(const ppsched_schedule *schedule)
{
    return schedule != NULL && schedule->flushes;
}

uint32_t ppsched_schedule_weight_versions(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->weight_versions : 0;
}

uint64_t ppsched_schedule_op_count(const ppsched_schedule *schedule)
{
    return schedule != NULL ? schedule->op_count : 0;
}

const ppsched_queue *ppsched_schedule_queue(const ppsched_schedule *schedule, uint32_t device)
{
    return schedule != NULL && device < schedule->shape.devices ? &schedule->queues[device] : NULL;
}

const ppsched_op *ppsched_queue_ops(const ppsched_queue *queue, size_t *count)
{
    if (count != NULL)
        *count = queue != NULL ? queue->count : 0;
    return queue != NULL ? queue->ops : NULL;
}
