/* SPDX-License-Identifier: Apache-2.0 */
/* Many microbatches by a search for few of them. */
#ifndef PPSCHED_STRATEGY_UNROLL_H
#define PPSCHED_STRATEGY_UNROLL_H

#include "strategy/strategy.h"

/* Whether a strategy with a pool shortens and lengthens orders instead of a search for all microbatches: many of them, and at
 * most the default effort. */
bool ppi_shortens(const struct ppi_attempt *attempt);

/* Searches for few microbatches, and for a part of that order which repeats for all. `*found`: the attempt's best, which may be
 * that order, is as good for all microbatches as the order of few is for these, and a search for all may be left out. Errors:
 * NO_MEMORY, CANCELLED, RANGE. */
ppsched_status ppi_unroll(struct ppi_attempt *attempt, const struct ppi_task *task, bool *found, ppsched_error *error);

#endif
