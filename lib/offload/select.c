/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a device's queue and, wherever memory exceeds the target, picks the activation that is needed last from a heap of
 * those that are resident. What is picked by the times without copies is not picked again for the same target. */
#include "offload/select.h"

#include "base/checked.h"
#include "eval/event_loop.h"
#include "offload/offload.h"

void ppi_pick_chunks(const struct ppi_placing *placing, uint32_t chunks)
{
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->picks[d] = (struct ppi_device_picks){.version = placing->picks[d].version + 1};
    for (uint32_t i = 0; i < placing->count; i++)
        placing->transfers[i].is_picked = placing->transfers[i].chunk < chunks && !placing->transfers[i].stays;
}

/* Of an op of the schedule without copies. */
static struct ppi_offload_transfer *transfer_of(const struct ppi_placing *placing, const ppsched_op *op)
{
    uint32_t number = placing->numbers[op - placing->schedule->ops];
    return number == PPSCHED_NONE ? NULL : &placing->transfers[number];
}

/* Adds the memory that an op takes when it starts, with reloaded activations, and that it frees when it ends. */
static inline void add_changes(const struct ppi_placing *placing, const ppsched_op *op, double *rise, double *fall)
{
    const size_t i = (size_t)(op - placing->schedule->ops);
    const struct ppi_offload_transfer *transfer = ppi_is_backward(op->kind) ? transfer_of(placing, op) : NULL;
    *rise += placing->taken[i];
    *fall += placing->released[i];
    *rise += transfer != NULL && transfer->is_picked ? transfer->moved : 0;
}

static bool may_be_offloaded(const struct ppi_placing *placing, const struct ppi_offload_transfer *transfer)
{
    if (transfer->stays)
        return false;
    if (placing->is_forced)
        return transfer->backward > transfer->forward + 1;
    return transfer->due - transfer->ready >= transfer->offload + transfer->reload;
}

/* --- activations that are resident: a heap with the one that is needed last on top, of equal ones the first in the list --- */

struct resident {
    uint64_t *keys;
    size_t count;
};

static void put_key(struct resident *resident, uint64_t key)
{
    uint64_t *keys = resident->keys;
    size_t i = resident->count++;
    for (; i > 0 && keys[(i - 1) / 2] < key; i = (i - 1) / 2)
        keys[i] = keys[(i - 1) / 2];
    keys[i] = key;
}

static uint64_t take_key(struct resident *resident)
{
    uint64_t *keys = resident->keys;
    const uint64_t top = keys[0], last = keys[--resident->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < resident->count; i = child) {
        child += child + 1 < resident->count && keys[child + 1] > keys[child];
        if (keys[child] <= last)
            break;
        keys[i] = keys[child];
    }
    keys[i] = last;
    return top;
}

/* Notes the transfer of an F as resident. */
static inline void note_resident(const struct ppi_placing *placing, struct resident *resident, const ppsched_op *op)
{
    const struct ppi_offload_transfer *transfer = op->kind == PPSCHED_KIND_F ? transfer_of(placing, op) : NULL;
    if (transfer != NULL && may_be_offloaded(placing, transfer))
        put_key(resident, (uint64_t)transfer->backward << 32 | (uint32_t) ~(uint32_t)(transfer - placing->transfers));
}

/* Takes the resident transfer that is needed last, after the unit at `position`; NULL where there is none. */
static struct ppi_offload_transfer *take_last(const struct ppi_placing *placing, struct resident *resident, size_t position)
{
    if (resident->count == 0)
        return NULL;
    struct ppi_offload_transfer *transfer = &placing->transfers[(uint32_t)~take_key(resident)];
    return transfer->backward <= position ? NULL : transfer; /* its backward has come already, as have those of all others */
}

/* --- which are needed --- */

static uint32_t pick_on_device(const struct ppi_placing *placing, uint32_t device, double target)
{
    const ppsched_queue *queue = &placing->schedule->queues[device];
    struct resident resident = {placing->resident, 0};
    double level = placing->plain->devices[device].static_memory;
    uint32_t count = 0;
    for (uint32_t i = ppi_first_transfer(placing, device); i < placing->ends[device]; i++)
        placing->transfers[i].is_picked = false;
    for (size_t i = 0; i < queue->count && target < PPI_INFINITE;) {
        const ppsched_op *unit = &queue->ops[i];
        size_t length = ppi_unit_length(unit);
        double rise = 0, fall = 0;
        struct ppi_offload_transfer *transfer;
        add_changes(placing, unit, &rise, &fall);
        if (length > 1)
            add_changes(placing, unit + 1, &rise, &fall);
        while (rise > 0 && ppi_is_over_limit(level + rise, target) && (transfer = take_last(placing, &resident, i)) != NULL) {
            transfer->is_picked = true;
            level -= transfer->moved;
            count++;
        }
        note_resident(placing, &resident, unit);
        if (length > 1)
            note_resident(placing, &resident, unit + 1);
        level += rise + fall;
        i += length;
    }
    return count;
}

uint32_t ppi_pick_needed(const struct ppi_placing *placing, uint32_t device, double target)
{
    struct ppi_device_picks *picks = &placing->picks[device];
    if (placing->has_plain_times && picks->is_known && picks->is_forced == placing->is_forced && picks->target == target)
        return picks->count;
    *picks = (struct ppi_device_picks){placing->has_plain_times, placing->is_forced, target,
                                       pick_on_device(placing, device, target), picks->version + 1};
    return picks->count;
}

double ppi_least_held(const struct ppi_placing *placing, uint32_t device)
{
    const ppsched_queue *queue = &placing->schedule->queues[device];
    double most = 0;
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        double rise = 0;
        for (size_t k = 0; k < ppi_unit_length(&queue->ops[i]); k++)
            rise += placing->taken[queue->first + i + k];
        most = ppi_larger(most, rise);
    }
    return placing->plain->devices[device].static_memory + most;
}

/* The memory that a unit takes when it starts, and the change after it, if what may go is gone between F and backward. */
static void find_least_changes(const struct ppi_placing *placing, const ppsched_op *unit, size_t length, double *rise,
                               double *fall)
{
    const size_t first = (size_t)(unit - placing->schedule->ops);
    *rise = *fall = 0;
    for (size_t k = 0; k < length; k++) {
        const struct ppi_offload_transfer *transfer = ppi_is_compute(unit[k].kind) ? transfer_of(placing, &unit[k]) : NULL;
        const double moved = transfer != NULL && !transfer->stays ? transfer->moved : 0;
        *rise += placing->taken[first + k] + (ppi_is_backward(unit[k].kind) ? moved : 0);
        *fall += placing->released[first + k] - (unit[k].kind == PPSCHED_KIND_F ? moved : 0);
    }
}

/* Whether all ops of a unit take time; what others take and release at once need not be a peak. */
static bool takes_time(const struct ppi_placing *placing, const ppsched_queue *queue, size_t i, size_t length)
{
    const ppsched_span *spans = placing->plain->spans + queue->first + i;
    return spans[0].end > spans[0].start && spans[length - 1].end > spans[length - 1].start;
}

static bool may_keep(const struct ppi_placing *placing, uint32_t device)
{
    const ppsched_queue *queue = &placing->schedule->queues[device];
    double level = placing->plain->devices[device].static_memory;
    for (size_t i = 0, length; i < queue->count; i += length) {
        double rise, fall;
        length = ppi_unit_length(&queue->ops[i]);
        find_least_changes(placing, &queue->ops[i], length, &rise, &fall);
        if (rise > 0 && ppi_is_over_limit(level + rise, placing->limits[device]) && takes_time(placing, queue, i, length))
            return false;
        level += rise + fall;
    }
    return true;
}

bool ppi_may_fit(const struct ppi_placing *placing)
{
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        if (!may_keep(placing, d))
            return false;
    return true;
}
