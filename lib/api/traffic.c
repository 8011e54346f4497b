/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/traffic.h"

#include "api/null.h"

ppsched_status ppsched_schedule_edges(const ppsched_schedule *schedule, ppsched_edge *edges, size_t capacity, size_t *count,
                                      ppsched_error *error)
{
    struct ppi_traffic traffic;
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(count);
    ppsched_status status = ppi_traffic_make(&traffic, schedule, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_list_edges(&traffic, edges, capacity, count, error);
    ppi_traffic_clear(&traffic);
    return status;
}

ppsched_status ppsched_schedule_buffers(const ppsched_schedule *schedule, uint32_t device, ppsched_op_buffer *buffers,
                                        size_t capacity, uint32_t *slots, ppsched_error *error)
{
    struct ppi_traffic traffic;
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(buffers);
    PPI_REQUIRE(slots);
    if (device >= schedule->shape.devices)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no device %u; devices are 0 to %u", device,
                        schedule->shape.devices - 1);
    if (capacity < schedule->queues[device].count)
        return ppi_fail(error, PPSCHED_ERROR_BUFFER, "device %u has %zu ops; there is room for %zu", device,
                        schedule->queues[device].count, capacity);
    ppsched_status status = ppi_traffic_make(&traffic, schedule, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_list_buffers(&traffic, device, buffers, slots, error);
    ppi_traffic_clear(&traffic);
    return status;
}
