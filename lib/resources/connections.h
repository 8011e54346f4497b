/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which devices set up their connections: see <ppsched/resources.h>. */
#ifndef PPSCHED_RESOURCES_CONNECTIONS_H
#define PPSCHED_RESOURCES_CONNECTIONS_H

#include <ppsched/resources.h>

#include "ir/schedule.h"

/* `what`: enum ppsched_connecting. The caller releases `*out` to the schedule's host. */
ppsched_status ppi_connections_make(ppsched_connection **out, size_t *count, const ppsched_schedule *schedule, int32_t what,
                                    ppsched_error *error);

#endif
