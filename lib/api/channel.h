/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in the caller's channel model and checks it. */
#ifndef PPSCHED_API_CHANNEL_H
#define PPSCHED_API_CHANNEL_H

#include <ppsched/channel.h>

ppsched_status ppi_take_channel_model(ppsched_channel_model *own, const ppsched_channel_model *model, ppsched_error *error);

#endif
