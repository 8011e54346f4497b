/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a lowered schedule under a channel model: see <ppsched/channel.h>. */
#ifndef PPSCHED_CHANNEL_PROOF_H
#define PPSCHED_CHANNEL_PROOF_H

#include <ppsched/channel.h>

#include "ir/schedule.h"

/* Where the schedule is not safe, INVALID_SCHEDULE with a message. */
ppsched_status ppi_prove(const ppsched_schedule *schedule, const ppsched_channel_model *model, ppsched_wait *cycle,
                         size_t capacity, size_t *count, ppsched_error *error);

#endif
