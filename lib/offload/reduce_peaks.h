/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers the devices' peak memory where that costs no time. */
#ifndef PPSCHED_OFFLOAD_REDUCE_PEAKS_H
#define PPSCHED_OFFLOAD_REDUCE_PEAKS_H

#include "offload/transfer_plan.h"

/* `best`: all picked transfers at their places; afterwards with waits, and perhaps fewer transfers, in an equally long step.
 * With `searches`, schedules of up to 2^10 ops are searched, with evaluations of some 2^17 ops in all; for others some waits
 * are tried. Errors: as of an evaluation; CANCELLED where the config's progress callback stops it. */
ppsched_status ppi_lower_peaks(struct ppi_choice *best, struct ppi_placing *placing, bool searches, ppsched_error *error);

#endif
