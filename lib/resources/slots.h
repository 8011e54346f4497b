/* SPDX-License-Identifier: Apache-2.0 */
/* Slots that a runtime allocates once, and which data occupies them when: see <ppsched/resources.h>. */
#ifndef PPSCHED_RESOURCES_SLOTS_H
#define PPSCHED_RESOURCES_SLOTS_H

#include <ppsched/resources.h>

#include "ir/schedule.h"

/* The slots of a device; `lifetimes` are stored arena by arena. */
struct ppi_slots {
    struct ppi_host host;
    ppsched_lifetime *lifetimes; /* each with its slot */
    ppsched_arena *arenas;
    size_t lifetime_count, arena_count;
};

/* `use`: enum ppsched_slot_use. */
ppsched_status ppi_slots_make(struct ppi_slots *out, const ppsched_schedule *schedule, uint32_t device, int32_t use,
                              ppsched_error *error);
void ppi_slots_clear(struct ppi_slots *slots);

#endif
