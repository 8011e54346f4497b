/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a lowered schedule with its transfers and copies in order of time. */
#ifndef PPSCHED_CHANNEL_TRANSFER_RUN_H
#define PPSCHED_CHANNEL_TRANSFER_RUN_H

#include <ppsched/channel.h>

#include "eval/timeline.h"

/* Fills the spans, the running sums, and the idle times by cause. */
ppsched_status ppi_time_transfers(ppsched_timeline *timeline, const ppsched_config *config, const ppsched_channel_model *model,
                                  ppsched_error *error);

#endif
