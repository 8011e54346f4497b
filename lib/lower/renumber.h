/* SPDX-License-Identifier: Apache-2.0 */
/* Renumbers the microbatches of a schedule. */
#ifndef PPSCHED_LOWER_RENUMBER_H
#define PPSCHED_LOWER_RENUMBER_H

#include "ir/schedule.h"

/* The same schedule with microbatches numbered in the order in which the last stage runs their forwards. The schedule is valid,
 * and has one copy of each stage. Errors: NO_MEMORY. */
ppsched_status ppi_renumber(ppsched_schedule **out, const ppsched_schedule *schedule, ppsched_error *error);

#endif
