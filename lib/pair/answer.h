/* SPDX-License-Identifier: Apache-2.0 */
/* What a pair takes in the best order, or in one that is given. */
#ifndef PPSCHED_PAIR_ANSWER_H
#define PPSCHED_PAIR_ANSWER_H

#include "pair/problem.h"

/* Finds the best order. `spans` gets all windows by start; it may be NULL. */
ppsched_status ppi_pair_find(ppsched_pair_times *times, ppsched_window_span *spans, const ppsched_pair_windows *given,
                             const struct ppi_host *host, ppsched_error *error);

/* Runs a given order. */
ppsched_status ppi_pair_run(ppsched_pair_times *times, ppsched_window_span *spans, const ppsched_pair_windows *given,
                            const int32_t *kinds, size_t count, const struct ppi_host *host, ppsched_error *error);

#endif
