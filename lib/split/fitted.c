/* SPDX-License-Identifier: Apache-2.0 */
#include "split/fitted.h"

#include <string.h>

enum { SLOTS = 64, OF_STAGE = 4 };

ppsched_status ppi_fitted_open(struct ppi_fitted *out, struct ppi_room *room, uint32_t devices, ppsched_error *error)
{
    *out = (struct ppi_fitted){.room = room};
    out->slots = ppi_room_take_zeroed(room, devices, sizeof *out->slots);
    out->lacks = ppi_room_take_zeroed(room, devices, sizeof *out->lacks);
    return ppi_room_check(room, "what devices hold", error);
}

static size_t slot_size(const struct ppi_holding *holding)
{
    return OF_STAGE * (size_t)holding->count;
}

/* No question has layers from PPSCHED_NONE on. */
static void clear(uint32_t *slots, const struct ppi_holding *holding)
{
    for (size_t i = 0; i < SLOTS * slot_size(holding); i++)
        slots[i] = PPSCHED_NONE;
}

static bool make_slots(struct ppi_fitted *fitted, uint32_t device, const struct ppi_holding *holding)
{
    if (fitted->slots[device] != NULL)
        return true;
    uint32_t *slots = ppi_room_take(fitted->room, SLOTS * slot_size(holding), sizeof *slots);
    double *lacks = ppi_room_take(fitted->room, SLOTS, sizeof *lacks);
    if (slots == NULL || lacks == NULL)
        return false;
    clear(slots, holding);
    fitted->slots[device] = slots;
    fitted->lacks[device] = lacks;
    return true;
}

static uint32_t mixed(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * 16777619u;
}

/* Writes the question of a stage where it differs; tells whether it did not. */
static bool ask(uint32_t *slot, uint32_t begin, uint32_t end, uint32_t pin)
{
    bool same = slot[0] == begin && slot[1] == end && slot[2] == pin;
    slot[0] = begin;
    slot[1] = end;
    slot[2] = pin;
    return same;
}

bool ppi_fitted_find(struct ppi_fitted *fitted, uint32_t device, const struct ppi_holding *holding, const uint32_t *border,
                     const uint32_t *pin, uint32_t **dishes, double **lack)
{
    uint32_t hash = 2166136261u;
    bool same = true;
    *dishes = NULL;
    if (!make_slots(fitted, device, holding))
        return false;
    for (uint32_t i = 0; i < holding->count; i++) {
        uint32_t stage = holding->stages[i];
        hash = mixed(mixed(mixed(hash, border[stage]), border[stage + 1]), pin[stage]);
    }
    uint32_t number = (hash >> 16 ^ hash) % SLOTS, *slot = fitted->slots[device] + number * slot_size(holding);
    for (uint32_t i = 0; i < holding->count; i++)
        same &= ask(slot + 3 * (size_t)i, border[holding->stages[i]], border[holding->stages[i] + 1], pin[holding->stages[i]]);
    *dishes = slot + 3 * (size_t)holding->count;
    *lack = &fitted->lacks[device][number];
    return same;
}

void ppi_fitted_forget(struct ppi_fitted *fitted, const struct ppi_holding *holdings, uint32_t devices)
{
    for (uint32_t d = 0; d < devices; d++)
        if (fitted->slots[d] != NULL)
            clear(fitted->slots[d], &holdings[d]);
}
