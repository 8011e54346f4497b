/* SPDX-License-Identifier: Apache-2.0 */
/* A lower bound that knows when inputs can arrive and what must follow: each op has a head and a tail, found along the chain of
 * its microbatch, the order of its stage's microbatches, the load of its device and its memory; then each device runs its ops
 * alone, as if they could be preempted (Jackson's preemptive schedule: Carlier and Pinson 1989). */
#ifndef PPSCHED_BOUND_ONE_MACHINE_H
#define PPSCHED_BOUND_ONE_MACHINE_H

#include "bound/problem.h"
#include "ir/progress.h"

/* A bound of the problem's span or makespan; `*device`: the lowest device that attains it. 0 if the work would be too much.
 * `poll`, which may be NULL, counts the work; CANCELLED if the caller cancels. */
ppsched_status ppi_one_machine_bound(double *value, uint32_t *device, const struct ppi_problem *problem, struct ppi_poll *poll,
                                     ppsched_error *error);

#endif
