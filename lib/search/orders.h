/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of all devices of one iteration, in the making: what a search hands over. */
#ifndef PPSCHED_SEARCH_ORDERS_H
#define PPSCHED_SEARCH_ORDERS_H

#include "bound/problem.h"
#include "ir/schedule.h"

/* A device's ops stand at ops[first[d]] and on, count[d] of them; there is room for an F, an I and a W of each of its stage
 * passes, up to first[d + 1]. Counts start as the whole room. */
struct ppi_orders {
    uint32_t devices;
    size_t *first, *count;
    ppsched_op *ops;
};

/* In a room of the caller's. */
ppsched_status ppi_orders_make(struct ppi_orders *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error);

/* Copies ops and counts; both were made for the same problem, or one of the same shape and placement. */
void ppi_orders_copy(struct ppi_orders *to, const struct ppi_orders *from);

/* Copies those of a schedule of one iteration, of as many ops or fewer. */
void ppi_orders_read(struct ppi_orders *to, const ppsched_schedule *schedule);

/* Whether some op is overlapped with the next one. */
bool ppi_orders_have_pairs(const struct ppi_orders *orders);

#endif
