/* SPDX-License-Identifier: Apache-2.0 */
/* Proves for small problems that no order is better than a known one. */
#ifndef PPSCHED_BOUND_REFUTE_H
#define PPSCHED_BOUND_REFUTE_H

#include "bound/problem.h"
#include "ir/progress.h"

/* `*is_best`: whether it is proved, within so many visits, that the objective of each schedule is at least `value`, less than
 * 1e-11 of it left out of account. False says nothing. Errors: NO_MEMORY, CANCELLED. */
ppsched_status ppi_refute_better(bool *is_best, const struct ppi_problem *problem, double value, double visits,
                                 struct ppi_poll *poll, ppsched_error *error);

#endif
