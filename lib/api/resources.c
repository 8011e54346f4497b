/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: what a runtime allocates for a schedule: links, buffers, connections, slots and arenas. */
#include "resources/traffic.h"

#include "api/buffer.h"
#include "base/error.h"
#include "resources/connections.h"
#include "resources/slots.h"

ppsched_status ppsched_schedule_get_links(ppsched_link *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule,
                                          ppsched_error *error)
{
    struct ppi_traffic traffic;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    ppsched_status status = ppi_traffic_make(&traffic, schedule, error);
    if (status != PPSCHED_OK)
        return status;
    size_t count = ppi_link_count(&traffic);
    status = ppi_check_room(out, capacity, count, "links", error);
    if (status == PPSCHED_OK && out != NULL)
        status = ppi_list_links(out, &traffic, error);
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

ppsched_status ppsched_schedule_get_connections(ppsched_connection *out, size_t capacity, size_t *needed,
                                                const ppsched_schedule *schedule, int32_t what, ppsched_error *error)
{
    ppsched_connection *connections = NULL;
    size_t count = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    ppsched_status status = ppi_check_choice("what", what, PPSCHED_CONNECTING_LINKS, PPSCHED_CONNECTING_STAGES, error);
    if (status == PPSCHED_OK)
        status = ppi_connections_make(&connections, &count, schedule, what, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_check_room(out, capacity, count, "connections", error);
    if (status == PPSCHED_OK && out != NULL && count > 0)
        memcpy(out, connections, count * sizeof *out);
    ppi_release(&schedule->host, connections);
    return ppi_tell_needed(needed, count, status);
}

static ppsched_status make_slots(struct ppi_slots *out, const ppsched_schedule *schedule, uint32_t device, int32_t use,
                                 ppsched_error *error)
{
    PPI_REQUIRE(schedule);
    if (device >= schedule->shape.devices)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no device %u; devices are 0 to %u", device,
                        schedule->shape.devices - 1);
    ppsched_status status = ppi_check_choice("use", use, PPSCHED_SLOT_USE_STAGE_MICROBATCH, PPSCHED_SLOT_USE_RECEIVE, error);
    return status == PPSCHED_OK ? ppi_slots_make(out, schedule, device, use, error) : status;
}

ppsched_status ppsched_schedule_get_lifetimes(ppsched_lifetime *out, size_t capacity, size_t *needed,
                                              const ppsched_schedule *schedule, uint32_t device, int32_t use,
                                              ppsched_error *error)
{
    struct ppi_slots slots;
    PPI_REQUIRE_BUFFER(out, capacity);
    ppsched_status status = make_slots(&slots, schedule, device, use, error);
    if (status != PPSCHED_OK)
        return status;
    size_t count = slots.lifetime_count;
    status = ppi_check_room(out, capacity, count, "lifetimes", error);
    if (status == PPSCHED_OK && out != NULL && count > 0)
        memcpy(out, slots.lifetimes, count * sizeof *out);
    ppi_slots_clear(&slots);
    return ppi_tell_needed(needed, count, status);
}

ppsched_status ppsched_schedule_get_arenas(ppsched_arena *out, size_t capacity, size_t *needed,
                                           const ppsched_schedule *schedule, uint32_t device, int32_t use, ppsched_error *error)
{
    struct ppi_slots slots;
    PPI_REQUIRE_BUFFER(out, capacity);
    ppsched_status status = make_slots(&slots, schedule, device, use, error);
    if (status != PPSCHED_OK)
        return status;
    size_t count = slots.arena_count;
    status = ppi_check_room(out, capacity, count, "arenas", error);
    if (status == PPSCHED_OK && out != NULL && count > 0)
        memcpy(out, slots.arenas, count * sizeof *out);
    ppi_slots_clear(&slots);
    return ppi_tell_needed(needed, count, status);
}
