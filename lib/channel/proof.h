/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a lowered schedule does not deadlock under a channel model, by running it: see <ppsched/channel.h>. */
#ifndef PPSCHED_CHANNEL_PROOF_H
#define PPSCHED_CHANNEL_PROOF_H

#include <ppsched/channel.h>

#include "ir/schedule.h"

/* INVALID_SCHEDULE with a message if the schedule deadlocks; `cycle` gets the waits of a shortest cycle. */
ppsched_status ppi_prove(const ppsched_schedule *schedule, const ppsched_channel_model *model, ppsched_wait *cycle,
                         size_t capacity, size_t *count, ppsched_error *error);

#endif
