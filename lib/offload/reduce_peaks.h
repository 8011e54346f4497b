/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers what devices hold at most, where that costs no time. */
#ifndef PPSCHED_OFFLOAD_REDUCE_PEAKS_H
#define PPSCHED_OFFLOAD_REDUCE_PEAKS_H

#include "offload/transfer_plan.h"

/* `best`: all trips that are picked, at their places; then with waits, and perhaps fewer of them, in a step that is as long.
 * With `searches` schedules of up to 2^10 ops are searched, in evaluations of some 2^17 ops; of others some waits are tried.
 * Errors: as of an evaluation; CANCELLED where the config's listener says so. */
ppsched_status ppi_lower_peaks(struct ppi_choice *best, struct ppi_placing *placing, bool searches, ppsched_error *error);

#endif
