/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: with what a running job goes on when its devices change. */
#include "replan/replan.h"

#include <string.h>

#include "api/buffer.h"
#include "api/null.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "ir/device_order.h"

static ppsched_status check_number(const char *name, double value, ppsched_error *error)
{
    if (ppi_is_finite(value) && value >= 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be finite and at least 0", name, value);
}

static ppsched_status check_running(const ppsched_replan_options *own, const ppsched_config *config, ppsched_error *error)
{
    uint64_t sum = 0;
    if (own->running_devices > config->shape.devices)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "running_devices is %u, but the config has %u device%p; it must have those of the running job, and those added",
            own->running_devices, config->shape.devices);
    if (own->running_stages == 0 || own->running_stages % own->running_devices != 0)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH,
                        "the running split has %u stage%p; it must be a multiple of %u, the running devices",
                        own->running_stages, own->running_devices);
    for (uint32_t s = 0; s < own->running_stages; s++)
        sum += own->running_split[s];
    if (sum != own->layers->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the running split has %llu layer%p, the model %u; they must be equal",
                        (unsigned long long)sum, own->layers->count);
    if ((own->layer_bytes != NULL || own->running_recomputes != NULL) && own->layer_count != own->layers->count)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "layer_count is %u; give %u value%p, one per layer", own->layer_count,
                        own->layers->count);
    for (uint32_t l = 0; l < own->layers->count && own->layer_bytes != NULL; l++)
        if (!ppi_is_finite(own->layer_bytes[l]) || own->layer_bytes[l] < 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "layer_bytes of layer %u is %g; it must be finite and at least 0", l,
                            own->layer_bytes[l]);
    return PPSCHED_OK;
}

static ppsched_status check_lost(const ppsched_replan_options *own, ppsched_error *error)
{
    for (uint32_t i = 0; i < own->lost_count; i++) {
        struct ppi_place place = PPI_NOWHERE;
        place.position = i;
        if (own->lost[i] >= own->running_devices)
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "device %u cannot be lost: the running devices are 0 to %u",
                               own->lost[i], own->running_devices - 1);
        for (uint32_t j = 0; j < i; j++)
            if (own->lost[j] == own->lost[i])
                return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "device %u is lost twice; name it once", own->lost[i]);
    }
    return PPSCHED_OK;
}

static ppsched_status check_plain(const ppsched_replan_options *own, ppsched_error *error)
{
    ppsched_status status = check_number("restart_time", own->restart_time, error);
    if (status == PPSCHED_OK)
        status = check_number("steps", own->steps, error);
    if (status == PPSCHED_OK && !(own->load_bandwidth >= 0))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "load_bandwidth is %g; it must be above 0, or 0 for no limit",
                        own->load_bandwidth);
    if (status == PPSCHED_OK && own->free_device_order > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "free_device_order is %u; it must be 0 or 1", own->free_device_order);
    if (status == PPSCHED_OK && own->split_effort > 4)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "split_effort is %u; it must be 1 to 4, or 0 for the default",
                        own->split_effort);
    return status;
}

static ppsched_status take_replan_options(ppsched_replan_options *own, const ppsched_config *config,
                                          const ppsched_replan_options *given, ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof(ppsched_replan_options), given, "ppsched_replan_options",
                                           error);
    if (status != PPSCHED_OK)
        return status;
    PPI_REQUIRE(own->strategy);
    PPI_REQUIRE(own->layers);
    PPI_REQUIRE(own->running_split);
    if (own->lost_count > 0)
        PPI_REQUIRE(own->lost);
    own->running_devices = own->running_devices > 0 ? own->running_devices : config->shape.devices;
    if (own->split_effort == 0) /* splits of several stages take longer, and there are as many searches as orders */
        own->split_effort = own->running_stages > own->running_devices || own->free_device_order ? 2 : 3;
    status = check_running(own, config, error);
    if (status == PPSCHED_OK && own->running_order != NULL)
        status = ppi_check_device_order(own->running_devices, own->running_order, own->running_devices, &config->host, error);
    if (status == PPSCHED_OK)
        status = check_lost(own, error);
    if (status == PPSCHED_OK)
        status = check_plain(own, error);
    own->load_bandwidth = own->load_bandwidth > 0 ? own->load_bandwidth : PPI_INFINITE;
    return status;
}

ppsched_status ppsched_replan_create(ppsched_replan **out, const ppsched_config *config, const ppsched_replan_options *options,
                                     ppsched_error *error)
{
    ppsched_replan_options own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(options);
    ppsched_status status = take_replan_options(&own, config, options, error);
    return status == PPSCHED_OK ? ppi_replan_make(out, config, &own, error) : status;
}

void ppsched_replan_destroy(ppsched_replan *replan)
{
    ppi_replan_destroy(replan);
}

ppsched_status ppsched_replan_get_figures(ppsched_replan_figures *out, const ppsched_replan *replan, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(replan);
    return ppi_give_sized(out, &replan->figures, sizeof replan->figures, PPI_SIZE_UP_TO(ppsched_replan_figures, pays_after),
                          "ppsched_replan_figures", error);
}

/* Fills a buffer from a list. */
static ppsched_status give_list(void *out, size_t capacity, size_t *needed, const void *list, size_t count, size_t size,
                                const char *what, ppsched_error *error)
{
    ppsched_status status = ppi_check_room(out, capacity, count, what, error);
    if (status == PPSCHED_OK && out != NULL && count > 0)
        memcpy(out, list, count * size);
    return ppi_tell_needed(needed, count, status);
}

ppsched_status ppsched_replan_get_split(uint32_t *out, size_t capacity, size_t *needed, const ppsched_replan *replan,
                                        ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(replan);
    return give_list(out, capacity, needed, replan->split, replan->stages, sizeof *out, "stages", error);
}

ppsched_status ppsched_replan_get_recomputes(uint8_t *out, size_t capacity, size_t *needed, const ppsched_replan *replan,
                                             ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(replan);
    return give_list(out, capacity, needed, replan->recomputes, replan->layers, sizeof *out, "layers", error);
}

ppsched_status ppsched_replan_get_device_order(uint32_t *out, size_t capacity, size_t *needed, const ppsched_replan *replan,
                                               ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(replan);
    return give_list(out, capacity, needed, replan->order, replan->devices, sizeof *out, "devices", error);
}

ppsched_status ppsched_replan_get_moves(ppsched_layer_move *out, size_t capacity, size_t *needed, const ppsched_replan *replan,
                                        ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(replan);
    return give_list(out, capacity, needed, replan->moves, replan->move_count, sizeof *out, "moves", error);
}
