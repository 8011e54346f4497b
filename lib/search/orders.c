/* SPDX-License-Identifier: Apache-2.0 */
#include "search/orders.h"

#include <string.h>

#include "base/error.h"

static ppsched_status allocate(struct ppi_orders *orders, size_t ops, ppsched_error *error)
{
    const struct ppi_host *host = &orders->host;
    orders->first = ppi_allocate_zeroed(host, (size_t)orders->devices + 1, sizeof *orders->first);
    orders->count = ppi_allocate_zeroed(host, orders->devices, sizeof *orders->count);
    orders->ops = ppi_allocate(host, ops, sizeof *orders->ops);
    if (orders->first != NULL && orders->count != NULL && orders->ops != NULL)
        return PPSCHED_OK;
    ppi_orders_clear(orders);
    *orders = (struct ppi_orders){0};
    return ppi_fail_memory(error, "the search");
}

ppsched_status ppi_orders_make(struct ppi_orders *out, const struct ppi_host *host, const struct ppi_shape *shape,
                               const struct ppi_placement *placement, ppsched_error *error)
{
    struct ppi_orders orders = {.host = *host, .devices = shape->devices};
    size_t passes = (size_t)shape->stages * shape->microbatches; /* bounded by PPSCHED_MAX_CELLS */
    ppsched_status status = allocate(&orders, 3 * passes, error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t s = 0; s < shape->stages; s++)
        orders.count[placement->device_of[s]] += 3 * (size_t)shape->microbatches;
    for (uint32_t d = 0; d < shape->devices; d++)
        orders.first[d + 1] = orders.first[d] + orders.count[d];
    *out = orders;
    return PPSCHED_OK;
}

ppsched_status ppi_orders_like(struct ppi_orders *out, const struct ppi_orders *given, ppsched_error *error)
{
    struct ppi_orders orders = {.host = given->host, .devices = given->devices};
    ppsched_status status = allocate(&orders, given->first[given->devices], error);
    if (status != PPSCHED_OK)
        return status;
    memcpy(orders.first, given->first, ((size_t)given->devices + 1) * sizeof *orders.first);
    memcpy(orders.count, given->count, given->devices * sizeof *orders.count);
    *out = orders;
    return PPSCHED_OK;
}

void ppi_orders_clear(struct ppi_orders *orders)
{
    ppi_release(&orders->host, orders->ops);
    ppi_release(&orders->host, orders->count);
    ppi_release(&orders->host, orders->first);
}

void ppi_orders_copy(struct ppi_orders *to, const struct ppi_orders *from)
{
    memcpy(to->count, from->count, from->devices * sizeof *to->count);
    memcpy(to->ops, from->ops, from->first[from->devices] * sizeof *to->ops);
}
