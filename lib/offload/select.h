/* SPDX-License-Identifier: Apache-2.0 */
/* Which trips go to the host. */
#ifndef PPSCHED_OFFLOAD_SELECT_H
#define PPSCHED_OFFLOAD_SELECT_H

#include "offload/transfers.h"

/* All trips of so many stages of each device, the lowest first. */
void ppi_pick_chunks(const struct ppi_placing *placing, uint32_t chunks);

/* Of one device those that it takes for its memory to stay within `target`, if copies took no time: wherever there is too much,
 * what is needed again last goes. All that may go where even that is too much. Trips whose copies do not fit in between do not
 * go, but where they are forced. Returns how many. */
uint32_t ppi_pick_needed(struct ppi_placing *placing, uint32_t device, double target);

/* What a device holds at least, whatever goes. */
double ppi_least_held(const struct ppi_placing *placing, uint32_t device);

#endif
