/* SPDX-License-Identifier: Apache-2.0 */
/* A search's problem, and the refusal where memory allows no schedule at all. */
#ifndef PPSCHED_STRATEGY_LIMITS_H
#define PPSCHED_STRATEGY_LIMITS_H

#include "search/problem.h"
#include "strategy/strategy.h"

/* The problem on a placement, for the longest device span. REFUSED, in the strategy's name and with the least limit that works,
 * where a device cannot hold one microbatch's activations. */
ppsched_status ppi_fitting_problem(struct ppi_problem *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                                   int32_t placement, ppsched_error *error);

#endif
