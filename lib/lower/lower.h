/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes of lowering one after the other: see <ppsched/lower.h>. */
#ifndef PPSCHED_LOWER_LOWER_H
#define PPSCHED_LOWER_LOWER_H

#include <ppsched/lower.h>

#include "ir/schedule.h"
#include "lower/unshard_times.h"

/* INVALID_SCHEDULE comes without the reason: the checker knows it. */
ppsched_status ppi_lower(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                         const ppsched_lower_options *options, ppsched_error *error);

/* The same, with each UNSHARD where `unshards` say; NULL: as the options' lookahead, which is a rule. */
ppsched_status ppi_lower_at(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                            const ppsched_lower_options *options, const struct ppi_unshard_times *unshards,
                            ppsched_error *error);

#endif
