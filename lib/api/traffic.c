/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/traffic.h"

#include "api/buffer.h"

ppsched_status ppsched_schedule_get_edges(ppsched_edge *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule,
                                          ppsched_error *error)
{
    struct ppi_traffic traffic;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    ppsched_status status = ppi_traffic_make(&traffic, schedule, error);
    if (status != PPSCHED_OK)
        return status;
    size_t count = ppi_edge_count(&traffic);
    status = ppi_check_room(out, capacity, count, "edges", error);
    if (status == PPSCHED_OK && out != NULL)
        status = ppi_list_edges(out, &traffic, error);
    ppi_traffic_clear(&traffic);
    return ppi_tell_needed(needed, count, status);
}

ppsched_status ppsched_schedule_get_buffers(ppsched_op_buffer *out, size_t capacity, size_t *needed, uint32_t *slots,
                                            const ppsched_schedule *schedule, uint32_t device, ppsched_error *error)
{
    struct ppi_traffic traffic;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    if (device >= schedule->shape.devices)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no device %u; devices are 0 to %u", device,
                        schedule->shape.devices - 1);
    ppsched_status status = ppi_traffic_make(&traffic, schedule, error);
    if (status != PPSCHED_OK)
        return status;
    size_t count = schedule->queues[device].count;
    uint32_t most = ppi_slot_count(&traffic, device);
    status = ppi_check_room(out, capacity, count, "ops", error);
    if (status == PPSCHED_OK && out != NULL)
        status = ppi_list_buffers(out, &traffic, device, most, error);
    if (status == PPSCHED_OK && slots != NULL)
        *slots = most;
    ppi_traffic_clear(&traffic);
    return ppi_tell_needed(needed, count, status);
}
