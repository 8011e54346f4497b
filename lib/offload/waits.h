/* SPDX-License-Identifier: Apache-2.0 */
/* Puts OFFLOAD_WAITs, so that memory stays within limits whatever the times are: where an F or a RELOAD would take more than
 * there is room for, its device waits first for as many of its offloads, in their order, as make room. */
#ifndef PPSCHED_OFFLOAD_WAITS_H
#define PPSCHED_OFFLOAD_WAITS_H

#include "eval/timeline.h"

/* `limits`: of each device; `peaks`: what each device holds at most by the order of its queue, over its limit where all waits
 * do not make enough room. `plain`: a timeline of the same stage passes, for their memory; a schedule with OFFLOADs and
 * RELOADs. Activations and what is always there count. */
ppsched_status ppi_hold(ppsched_schedule **out, double *peaks, const ppsched_schedule *schedule, const ppsched_timeline *plain,
                        const ppsched_config *config, const double *limits, ppsched_error *error);

#endif
