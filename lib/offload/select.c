/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/select.h"

#include "base/checked.h"
#include "eval/event_loop.h"
#include "offload/offload.h"

void ppi_pick_chunks(const struct ppi_placing *placing, uint32_t chunks)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->trips[i].is_picked = placing->trips[i].chunk < chunks && !placing->trips[i].stays;
}

static struct ppi_trip *trip_of(const struct ppi_placing *placing, const ppsched_op *op)
{
    uint32_t number = placing->trip_of[ppi_cell_of(placing->schedule, op)];
    return number == PPSCHED_NONE ? NULL : &placing->trips[number];
}

/* What a unit takes when it starts, activations that come back counted, and what it gives back when it ends. */
static void find_changes(const struct ppi_placing *placing, const ppsched_op *unit, size_t length, double *rise, double *fall)
{
    *rise = *fall = 0;
    for (size_t k = 0; k < length; k++) {
        const struct ppi_trip *trip = ppi_is_backward(unit[k].kind) ? trip_of(placing, &unit[k]) : NULL;
        *rise += ppi_taken_by(placing->plain, &unit[k]);
        *fall += ppi_released_by(placing->plain, &unit[k]);
        *rise += trip != NULL && trip->is_picked ? trip->moved : 0;
    }
}

static bool may_go(const struct ppi_placing *placing, const struct ppi_trip *trip)
{
    if (trip->stays)
        return false;
    if (placing->is_forced)
        return trip->backward > trip->forward + 1;
    return trip->due - trip->ready >= trip->offload + trip->reload;
}

/* Those that a unit leaves behind. */
static void note_resident(struct ppi_placing *placing, const ppsched_op *unit, size_t length)
{
    for (size_t k = 0; k < length; k++) {
        const struct ppi_trip *trip = unit[k].kind == PPSCHED_KIND_F ? trip_of(placing, &unit[k]) : NULL;
        if (trip != NULL && may_go(placing, trip))
            ppi_heap_put(&placing->resident, -(double)trip->backward, 0, (uint32_t)(trip - placing->trips));
    }
}

/* Takes the one that is needed last, behind the unit at `position`; NULL where there is none. */
static struct ppi_trip *take_last(struct ppi_placing *placing, size_t position)
{
    struct ppi_event event;
    if (!ppi_heap_take(&placing->resident, &event))
        return NULL;
    if (placing->trips[event.index].backward <= position) /* it has been there already, as have all others */
        return NULL;
    return &placing->trips[event.index];
}

uint32_t ppi_pick_needed(struct ppi_placing *placing, uint32_t device, double target)
{
    const ppsched_queue *queue = &placing->schedule->queues[device];
    double level = placing->plain->devices[device].static_memory;
    uint32_t count = 0;
    placing->resident.count = 0;
    for (uint32_t i = ppi_first_trip(placing, device); i < placing->ends[device]; i++)
        placing->trips[i].is_picked = false;
    for (size_t i = 0; i < queue->count;) {
        const ppsched_op *unit = &queue->ops[i];
        size_t length = ppi_unit_length(unit);
        double rise, fall;
        struct ppi_trip *trip;
        find_changes(placing, unit, length, &rise, &fall);
        while (rise > 0 && ppi_is_over_limit(level + rise, target) && (trip = take_last(placing, i)) != NULL) {
            trip->is_picked = true;
            level -= trip->moved;
            count++;
        }
        note_resident(placing, unit, length);
        level += rise + fall;
        i += length;
    }
    return count;
}

double ppi_least_held(const struct ppi_placing *placing, uint32_t device)
{
    const ppsched_queue *queue = &placing->schedule->queues[device];
    double most = 0;
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        double rise = 0;
        for (size_t k = 0; k < ppi_unit_length(&queue->ops[i]); k++)
            rise += ppi_taken_by(placing->plain, &queue->ops[i + k]);
        most = ppi_larger(most, rise);
    }
    return placing->plain->devices[device].static_memory + most;
}
