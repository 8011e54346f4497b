/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of all devices of one iteration, in the making: what a search hands over. */
#ifndef PPSCHED_SEARCH_ORDERS_H
#define PPSCHED_SEARCH_ORDERS_H

#include "model/shape.h"

#include <ppsched/op.h>

/* A device's ops stand at ops[first[d]] and on, count[d] of them; there is room for an F, an I and a W of each of its stage
 * passes, up to first[d + 1]. Counts start as the whole room. */
struct ppi_orders {
    struct ppi_host host;
    uint32_t devices;
    size_t *first, *count;
    ppsched_op *ops;
};

/* For a placement of one copy. */
ppsched_status ppi_orders_make(struct ppi_orders *out, const struct ppi_host *host, const struct ppi_shape *shape,
                               const struct ppi_placement *placement, ppsched_error *error);

/* Room for the same problem, all counts as given. */
ppsched_status ppi_orders_like(struct ppi_orders *out, const struct ppi_orders *given, ppsched_error *error);
void ppi_orders_clear(struct ppi_orders *orders);

/* Copies ops and counts; both were made for the same shape and placement. */
void ppi_orders_copy(struct ppi_orders *to, const struct ppi_orders *from);

#endif
