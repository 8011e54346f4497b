/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table per device, from the layers and pins of its stages to the options that were found; a collision overwrites the
 * slot. A counter makes all answers invalid at once. */
#include "split/fit_cache.h"

#include <string.h>

/* Slots of each device, more where there are few stages; numbers that a slot keeps for each stage.
 * Measured: docs/performance.md. */
enum { SLOTS = 64, MORE_SLOTS = 512, FEW_STAGES = 256, OF_STAGE = 4 };

ppsched_status ppi_fitted_open(struct ppi_fitted *out, struct ppi_arena *arena, uint32_t devices, uint32_t stages,
                               ppsched_error *error)
{
    *out = (struct ppi_fitted){.arena = arena, .time = 1, .slot_count = stages <= FEW_STAGES ? MORE_SLOTS : SLOTS};
    out->asked = ppi_arena_take_zeroed(arena, devices, sizeof *out->asked);
    out->slots = ppi_arena_take_zeroed(arena, devices, sizeof *out->slots);
    out->overshoots = ppi_arena_take_zeroed(arena, devices, sizeof *out->overshoots);
    return ppi_arena_check(arena, "what devices hold", error);
}

static size_t slot_size(const struct ppi_held_passes *holding)
{
    return OF_STAGE * (size_t)holding->count;
}

static bool make_slots(struct ppi_fitted *fitted, uint32_t device, const struct ppi_held_passes *holding)
{
    if (fitted->slots[device] != NULL)
        return true;
    uint32_t *asked = ppi_arena_take_zeroed(fitted->arena, fitted->slot_count, sizeof *asked);
    uint32_t *slots = ppi_arena_take(fitted->arena, fitted->slot_count * slot_size(holding), sizeof *slots);
    double *overshoots = ppi_arena_take(fitted->arena, fitted->slot_count, sizeof *overshoots);
    if (asked == NULL || slots == NULL || overshoots == NULL)
        return false;
    fitted->asked[device] = asked;
    fitted->slots[device] = slots;
    fitted->overshoots[device] = overshoots;
    return true;
}

static uint32_t mixed(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * 16777619u;
}

/* Writes a part of the key. Returns whether it was there before, if all parts so far (`known`) were. */
static bool ask(uint32_t *slot, uint32_t value, bool known)
{
    known = known && *slot == value;
    *slot = value;
    return known;
}

bool ppi_fitted_find(struct ppi_fitted *fitted, uint32_t device, const struct ppi_held_passes *holding, const uint32_t *like,
                     const uint32_t *pin, uint32_t **options, double **overshoot)
{
    uint32_t hash = 2166136261u;
    *options = NULL;
    if (!make_slots(fitted, device, holding))
        return false;
    for (uint32_t i = 0; i < holding->count; i++) {
        uint32_t stage = holding->stages[i];
        hash = mixed(mixed(mixed(hash, like[2 * stage]), like[2 * stage + 1]), pin[stage]);
    }
    uint32_t number = (hash >> 16 ^ hash) % fitted->slot_count, *slot = fitted->slots[device] + number * slot_size(holding);
    bool known = ask(&fitted->asked[device][number], fitted->time, true);
    for (uint32_t i = 0; i < holding->count; i++, slot += 3) {
        uint32_t stage = holding->stages[i];
        known = ask(slot, like[2 * stage], known);
        known = ask(slot + 1, like[2 * stage + 1], known);
        known = ask(slot + 2, pin[stage], known);
    }
    *options = slot;
    *overshoot = &fitted->overshoots[device][number];
    return known;
}

void ppi_fitted_forget(struct ppi_fitted *fitted)
{
    fitted->time++;
}
