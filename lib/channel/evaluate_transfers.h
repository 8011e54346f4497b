/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of a lowered schedule with its transfers: see ppsched_schedule_evaluate_transfers. */
#ifndef PPSCHED_CHANNEL_EVALUATE_TRANSFERS_H
#define PPSCHED_CHANNEL_EVALUATE_TRANSFERS_H

#include <ppsched/channel.h>

#include "eval/timeline.h"

/* The order of the compute ops must be valid. INVALID_SCHEDULE if comm ops do not match, or deadlock. */
ppsched_status ppi_evaluate_transfers(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                      const ppsched_channel_model *model, ppsched_error *error);

#endif
