/* SPDX-License-Identifier: Apache-2.0 */
/* Which activations go to the host. */
#ifndef PPSCHED_OFFLOAD_SELECT_H
#define PPSCHED_OFFLOAD_SELECT_H

#include "offload/transfers.h"

/* Picks all transfers of so many stages of each device, the lowest first. */
void ppi_pick_chunks(const struct ppi_placing *placing, uint32_t chunks);

/* Picks on one device as many transfers as its memory needs to stay within `target` if copies took no time: wherever it is
 * exceeded, the activation that is needed again last; where that is not enough, all that may go. Transfers whose copies do not
 * fit between F and backward are picked only where they are forced. Returns the number. */
uint32_t ppi_pick_needed(const struct ppi_placing *placing, uint32_t device, double target);

/* The least peak of a device, whatever is offloaded. */
double ppi_least_held(const struct ppi_placing *placing, uint32_t device);

/* Whether all devices would keep the limits if all transfers but those that stay went, and copies took no time. If not, no
 * choice keeps them. */
bool ppi_may_fit(const struct ppi_placing *placing);

#endif
