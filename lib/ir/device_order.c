/* SPDX-License-Identifier: Apache-2.0 */
/* Puts devices in another order by permuting the lists of a config, and tells which devices are alike. */
#include "ir/device_order.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

ppsched_status ppi_check_device_order(uint32_t devices, const uint32_t *order, size_t count, const struct ppi_host *host,
                                      ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    if (count != devices)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "the device order has %zu value%p; give %u, one per device", count,
                        devices);
    bool *seen = ppi_allocate_zeroed(host, devices, sizeof *seen);
    if (seen == NULL)
        return ppi_fail_memory(error, "the device order");
    for (uint32_t p = 0; p < devices && status == PPSCHED_OK; p++) {
        struct ppi_place place = PPI_NOWHERE;
        place.position = p;
        if (order[p] >= devices)
            status = ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "the device order has device %u; devices are 0 to %u",
                                 order[p], devices - 1);
        else if (seen[order[p]])
            status = ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                                 "the device order has device %u twice; it must have each device once", order[p]);
        else
            seen[order[p]] = true;
    }
    ppi_release(host, seen);
    return status;
}

void ppi_order_by_device(double *out, const double *list, size_t count, const uint32_t *order, uint32_t devices)
{
    for (size_t i = 0; i < count; i++)
        out[i] = list[i / devices * devices + order[i % devices]];
}

void ppi_order_by_pair(double *out, const double *list, const uint32_t *order, uint32_t devices)
{
    for (uint32_t from = 0; from < devices; from++)
        for (uint32_t to = 0; to < devices; to++)
            out[(size_t)from * devices + to] = list[(size_t)order[from] * devices + order[to]];
}

/* What a robust objective says of devices. */
static void order_objective(struct ppi_robust_objective *goal, double *room, const uint32_t *order, uint32_t devices)
{
    const size_t count = goal->options.device_factor_count;
    double *factors = goal->lists;
    for (size_t i = 0; i < count; i += devices) {
        ppi_order_by_device(room, factors + i, devices, order, devices);
        memcpy(factors + i, room, devices * sizeof *room);
    }
    if (goal->options.link_factor_count > 0) {
        factors += count + goal->options.stage_factor_count;
        ppi_order_by_pair(room, factors, order, devices);
        memcpy(factors, room, goal->options.link_factor_count * sizeof *room);
    }
}

ppsched_status ppi_config_order_devices(ppsched_config *config, const uint32_t *order, ppsched_error *error)
{
    const uint32_t devices = config->shape.devices;
    const size_t scales = config->values[PPSCHED_QUANTITY_STAGE_SCALE].count +
                          config->values[PPSCHED_QUANTITY_DEVICE_SCALE].count;
    double *room = ppi_allocate(&config->host, scales > (size_t)devices * devices ? scales : (size_t)devices * devices,
                                sizeof *room);
    if (room == NULL)
        return ppi_fail_memory(error, "the device order");
    for (int32_t q = 1; q <= PPI_LAST_QUANTITY; q++) {
        const struct ppi_values *list = &config->values[q];
        if (list->count <= 1)
            continue;
        if (ppi_quantity_is_by_device(q))
            ppi_order_by_device(room, list->values, list->count, order, devices);
        else if (ppi_quantity_is_by_device_pair(q))
            ppi_order_by_pair(room, list->values, order, devices);
        else
            continue;
        for (size_t i = 0; i < list->count; i++)
            list->values[i] = room[i];
    }
    if (config->goal != NULL)
        order_objective(config->goal, room, order, devices);
    ppi_release(&config->host, room);
    return PPSCHED_OK;
}

static bool are_alike_in(const struct ppi_values *list, uint32_t a, uint32_t b, uint32_t devices, bool by_pair)
{
    const double *values = list->values;
    if (list->count <= 1)
        return true;
    for (size_t i = 0; i < list->count && !by_pair; i += devices)
        if (values[i + a] != values[i + b])
            return false;
    if (!by_pair)
        return true;
    if (values[(size_t)a * devices + b] != values[(size_t)b * devices + a])
        return false;
    for (uint32_t d = 0; d < devices; d++)
        if (d != a && d != b &&
            (values[(size_t)a * devices + d] != values[(size_t)b * devices + d] ||
             values[(size_t)d * devices + a] != values[(size_t)d * devices + b]))
            return false;
    return true;
}

/* Whether the problem stays the same when both change places. */
static bool are_alike(const ppsched_config *config, uint32_t a, uint32_t b)
{
    for (int32_t q = 1; q <= PPI_LAST_QUANTITY; q++) {
        const bool by_pair = ppi_quantity_is_by_device_pair(q);
        if ((by_pair || ppi_quantity_is_by_device(q)) &&
            !are_alike_in(&config->values[q], a, b, config->shape.devices, by_pair))
            return false;
    }
    return true;
}

void ppi_find_device_types(uint32_t *type, const ppsched_config *config)
{
    for (uint32_t d = 0; d < config->shape.devices; d++) {
        type[d] = d;
        for (uint32_t other = 0; other < d && type[d] == d; other++)
            if (type[other] == other && are_alike(config, other, d))
                type[d] = other;
    }
}

/* --- some devices alone --- */

/* Takes from a list by device, or by pair, what belongs to these devices; links of hosts get the numbers of their first
 * device. */
static void keep_values(struct ppi_values *out, const double *list, int32_t quantity, uint32_t all, const uint32_t *devices,
                        uint32_t kept)
{
    const size_t blocks = ppi_quantity_is_by_device_pair(quantity) ? 0 : out->count / all;
    double *values = out->values;
    size_t n = 0;
    for (size_t i = 0; i < blocks * kept; i++)
        values[n++] = list[i / kept * all + devices[i % kept]];
    for (size_t i = 0; blocks == 0 && i < (size_t)kept * kept; i++)
        values[n++] = list[(size_t)devices[i / kept] * all + devices[i % kept]];
    for (size_t i = 0; quantity == PPSCHED_QUANTITY_HOST_LINK && i < n; i++) {
        uint32_t first = 0;
        while (list[devices[first]] != list[devices[i]])
            first++;
        values[i] = first;
    }
    out->count = n;
}

static ppsched_status refuse_unlisted(const ppsched_config *config, ppsched_error *error)
{
    const char *what = config->map != NULL                                           ? "a placement map"
                       : config->graph != NULL                                       ? "a stage graph"
                       : config->goal != NULL                                        ? "a robust objective"
                       : config->values[PPSCHED_QUANTITY_STAGE_SCALE].values != NULL ? "stage_scale"
                                                                                     : NULL;
    if (what == NULL)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "devices cannot be lost or added with %s; leave it out", what);
}

ppsched_status ppi_config_of_devices(ppsched_config **out, const ppsched_config *config, const uint32_t *devices,
                                     uint32_t count, uint32_t stages, ppsched_error *error)
{
    const struct ppi_shape *all = &config->shape;
    struct ppi_shape shape = *all;
    ppsched_config *copy = NULL, *made = NULL;
    ppsched_status status = refuse_unlisted(config, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_make(&shape, count, stages, all->microbatches, all->iterations, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(&shape, all->slices, error);
    if (status == PPSCHED_OK)
        status = ppi_config_copy(&copy, config, error);
    for (int32_t q = 1; q <= PPI_LAST_QUANTITY && status == PPSCHED_OK; q++)
        if (copy->values[q].count > 1 && (ppi_quantity_is_by_device(q) || ppi_quantity_is_by_device_pair(q)))
            keep_values(&copy->values[q], config->values[q].values, q, all->devices, devices, count);
    if (status == PPSCHED_OK)
        status = ppi_config_create(&made, &shape, &config->host, error);
    if (status == PPSCHED_OK)
        status = ppi_config_take_run(made, copy, error);
    ppi_config_destroy(copy);
    if (status == PPSCHED_OK)
        *out = made;
    else
        ppi_config_destroy(made);
    return status;
}
