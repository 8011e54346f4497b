/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of the end of a pair, from any state on. */
#ifndef PPSCHED_PAIR_BOUND_H
#define PPSCHED_PAIR_BOUND_H

#include "pair/run.h"

/* No order goes on from the state and ends earlier, whether windows wait on purpose or not. Up to rounding. */
double ppi_pair_bound(const struct ppi_pair *pair, const struct ppi_pair_state *state);

#endif
