/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an order of windows that is given, as streams do. */
#ifndef PPSCHED_PAIR_GIVEN_ORDER_H
#define PPSCHED_PAIR_GIVEN_ORDER_H

#include "pair/run.h"

/* Each channel runs its windows in the order of `kinds`, and waits for its next one. */
ppsched_status ppi_pair_run_given(double *time, const struct ppi_pair *pair, const int32_t *kinds, size_t count,
                                  struct ppi_pair_spans *spans, struct ppi_arena *arena, ppsched_error *error);

#endif
