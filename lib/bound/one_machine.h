/* SPDX-License-Identifier: Apache-2.0 */
/* A lower bound that sees when inputs can come and what must follow: each op has a head and a tail, found along the chain of
 * its microbatch, the order of its stage's microbatches, the load of its device and what memory allows; then each device
 * runs its ops alone, as if they could be interrupted (Jackson's preemptive schedule: Carlier and Pinson 1989). */
#ifndef PPSCHED_BOUND_ONE_MACHINE_H
#define PPSCHED_BOUND_ONE_MACHINE_H

#include "bound/problem.h"
#include "ir/progress.h"

/* The problem's objective, longest span or makespan alone; `*device`: where it comes from, the lowest of them. 0 where the work
 * would be too much. `poll`, which may be NULL, is told of it; CANCELLED where that wants no more. */
ppsched_status ppi_one_machine_bound(double *value, uint32_t *device, const struct ppi_problem *problem, struct ppi_poll *poll,
                                     ppsched_error *error);

#endif
