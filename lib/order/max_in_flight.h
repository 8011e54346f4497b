/* SPDX-License-Identifier: Apache-2.0 */
/* How many activations a device may hold in the schedules with controllable memory. */
#ifndef PPSCHED_ORDER_MAX_IN_FLIGHT_H
#define PPSCHED_ORDER_MAX_IN_FLIGHT_H

#include <stdint.h>

/* In stage passes from F to W, of which each is half of a device's microbatch: those of a V schedule with one `part`-th of
 * 1F1B's memory; 1 for ZB-V, 2 for V-Half, 3 for V-Min. (Qi et al. 2024, arXiv 2405.15362) */
static inline uint32_t ppi_v_held(uint32_t devices, uint32_t part)
{
    return 2 * ((devices + 2 * (part - 1)) / part);
}

#endif
