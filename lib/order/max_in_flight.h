/* SPDX-License-Identifier: Apache-2.0 */
/* The largest number of activations in flight on a device in the V schedules with controllable memory. */
#ifndef PPSCHED_ORDER_MAX_IN_FLIGHT_H
#define PPSCHED_ORDER_MAX_IN_FLIGHT_H

#include <stdint.h>

/* In stage passes from F to W, each half of a device's microbatch, for a V schedule with 1 / `part` of 1F1B's memory: `part` is
 * 1 for ZB-V, 2 for V-Half, 3 for V-Min. (Qi et al. 2024, arXiv 2405.15362) */
static inline uint32_t ppi_v_held(uint32_t devices, uint32_t part)
{
    return 2 * ((devices + 2 * (part - 1)) / part);
}

#endif
