/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of all devices in one iteration, in order: what a search outputs. */
#ifndef PPSCHED_SEARCH_ORDERS_H
#define PPSCHED_SEARCH_ORDERS_H

#include "bound/problem.h"
#include "ir/schedule.h"

/* Device d has the count[d] ops from ops[first[d]] on, and space for an F, an I and a W of each of its stage passes, up to
 * first[d + 1]. At first counts are that space. */
struct ppi_orders {
    uint32_t devices;
    size_t *first, *count;
    ppsched_op *ops;
};

/* In the caller's arena. */
ppsched_status ppi_orders_make(struct ppi_orders *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error);

/* The same, with ops in memory of the caller, as many as ppi_orders_space; NULL: memory was short. */
ppsched_status ppi_orders_make_in(struct ppi_orders *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                  ppsched_op *ops, ppsched_error *error);
size_t ppi_orders_space(const struct ppi_problem *problem);

/* Whether all devices use their whole space. */
bool ppi_orders_are_full(const struct ppi_orders *orders);

/* Copies ops and counts; both must be made for the same problem, or one of the same shape and placement. */
void ppi_orders_copy(struct ppi_orders *to, const struct ppi_orders *from);

/* Copies those of a schedule of one iteration; each device must have space for its ops. */
void ppi_orders_read(struct ppi_orders *to, const ppsched_schedule *schedule);

/* Whether some op is overlapped with the next one. */
bool ppi_orders_have_pairs(const struct ppi_orders *orders);

#endif
