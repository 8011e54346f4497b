/* SPDX-License-Identifier: Apache-2.0 */
/* Times say when each activation is there and when it is needed again; reloads get places on their link from the last one on,
 * each as late as it is done in time and before the next one. */
#include "lower/trips.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"
#include "lower/keep.h"
#include "model/builder.h"

/* --- trips --- */

static uint32_t link_of(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *given = &config->values[PPSCHED_QUANTITY_HOST_LINK];
    double number = given->values != NULL ? ppi_value_at(given, device) : device;
    return number < config->shape.devices ? (uint32_t)number : 0; /* the evaluator refuses what is none */
}

static void add_trip(struct ppi_placing *placing, const ppsched_queue *queue, uint32_t position, uint32_t unit,
                     uint32_t *trip_of)
{
    const ppsched_op *op = &queue->ops[position];
    uint32_t *number = &trip_of[ppi_cell_of(placing->schedule, op)];
    const ppsched_span *span = &placing->spans[queue->first + position];
    if (op->kind == PPSCHED_KIND_F) {
        *number = placing->count++;
        placing->trips[*number] = (struct ppi_trip){.device = queue->device,
                                                    .link = link_of(placing->config, queue->device),
                                                    .forward = unit,
                                                    .ready = span->end,
                                                    .offload = ppi_copy_time(placing->config, op->stage, true, queue->device),
                                                    .reload = ppi_copy_time(placing->config, op->stage, false, queue->device),
                                                    .op = *op};
    } else if (ppi_is_backward(op->kind)) {
        placing->trips[*number].backward = unit;
        placing->trips[*number].due = span->start;
    }
}

void ppi_list_trips(struct ppi_placing *placing, const uint8_t *marks, uint32_t *trip_of)
{
    const ppsched_schedule *schedule = placing->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        for (uint32_t i = 0; i < queue->count;) {
            uint32_t length = (uint32_t)ppi_unit_length(&queue->ops[i]);
            for (uint32_t k = i; k < i + length; k++)
                if (ppi_is_compute(queue->ops[k].kind) && marks[ppi_keep_lane(schedule, &queue->ops[k])])
                    add_trip(placing, queue, k, i, trip_of);
            i += length;
        }
    }
}

static bool is_less(const void *keys, uint32_t a, uint32_t b)
{
    return ((const double *)keys)[a] < ((const double *)keys)[b];
}

/* Trips `first` to `last` - 1 by their keys; those of one key stay as they are listed. */
static const uint32_t *sorted(const struct ppi_placing *placing, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++)
        placing->order[i] = i;
    return ppi_sort(placing->order + first, placing->scratch + first, last - first, is_less, placing->keys);
}

/* The end of a device's trips, which are listed device by device. */
static uint32_t end_of_device(const struct ppi_placing *placing, uint32_t device, uint32_t first)
{
    while (first < placing->count && placing->trips[first].device == device)
        first++;
    return first;
}

void ppi_rank_trips(const struct ppi_placing *placing)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->keys[i] = placing->trips[i].ready - placing->trips[i].due;
    for (uint32_t d = 0, first = 0, last; d < placing->schedule->shape.devices; d++, first = last) {
        last = end_of_device(placing, d, first);
        const uint32_t *order = sorted(placing, first, last);
        for (uint32_t i = 0; i < last - first; i++)
            placing->trips[order[i]].rank = i;
        placing->taken[d] = last - first;
    }
}

void ppi_take_times(const struct ppi_placing *placing, const ppsched_timeline *timeline)
{
    const ppsched_schedule *schedule = timeline->schedule;
    ppsched_span *to = placing->spans;
    for (uint64_t i = 0; i < schedule->op_count; i++)
        if (!ppi_keeps_less(schedule->ops[i].kind))
            *to++ = timeline->spans[i];
    for (uint32_t i = 0; i < placing->count; i++) {
        struct ppi_trip *trip = &placing->trips[i];
        const ppsched_span *first = placing->spans + placing->schedule->queues[trip->device].first;
        trip->ready = first[trip->forward].end;
        trip->due = first[trip->backward].start;
    }
}

/* --- places on the links --- */

static void place_reloads(const struct ppi_placing *placing)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->keys[i] = -placing->trips[i].due;
    const uint32_t *order = sorted(placing, 0, placing->count);
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->free[d] = PPI_INFINITE;
    for (uint32_t i = 0; i < placing->count; i++) {
        struct ppi_trip *trip = &placing->trips[order[i]];
        double end = ppi_smaller(trip->due - placing->lead, placing->free[trip->link]);
        trip->start = end - trip->reload;
        trip->goes = trip->rank < placing->taken[trip->device] && trip->start >= trip->ready + trip->offload;
        if (placing->is_forced) {
            trip->start = placing->is_late ? trip->due : ppi_larger(trip->start, trip->ready);
            trip->goes = trip->rank < placing->taken[trip->device] && trip->backward > trip->forward + 1;
        }
        if (trip->goes)
            placing->free[trip->link] = trip->start;
    }
}

/* Leaves out those whose offload is not done when their reload is to start. */
static void place_offloads(const struct ppi_placing *placing)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->keys[i] = placing->trips[i].ready;
    const uint32_t *order = sorted(placing, 0, placing->count);
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->free[d] = 0;
    for (uint32_t i = 0; i < placing->count; i++) {
        struct ppi_trip *trip = &placing->trips[order[i]];
        double end = ppi_larger(trip->ready, placing->free[trip->link]) + trip->offload;
        trip->goes = trip->goes && (placing->is_forced || end <= trip->start);
        if (trip->goes)
            placing->free[trip->link] = end;
    }
}

/* --- the schedule --- */

static ppsched_status put(ppsched_builder *builder, const struct ppi_trip *trip, uint8_t kind, ppsched_error *error)
{
    ppsched_op op = ppi_op_beside(&trip->op, trip->op.stage, kind);
    return ppi_builder_append(builder, trip->device, &op, 1, error);
}

/* A device's queue; `reloads` are its trips by when they start, `trip_of` is by stage pass. */
static ppsched_status put_queue(const struct ppi_placing *placing, ppsched_builder *builder, const ppsched_queue *queue,
                                const uint32_t *reloads, const uint32_t *end, const uint32_t *trip_of, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < queue->count && status == PPSCHED_OK;) {
        const ppsched_op *unit = &queue->ops[i];
        const ppsched_span *span = &placing->spans[queue->first + i];
        uint32_t length = (uint32_t)ppi_unit_length(unit);
        for (; reloads < end && status == PPSCHED_OK; reloads++) {
            const struct ppi_trip *trip = &placing->trips[*reloads];
            if (trip->goes && (trip->forward >= i || (span->end <= trip->start && span->start < trip->start)))
                break;
            if (trip->goes)
                status = put(builder, trip, PPSCHED_KIND_RELOAD, error);
        }
        if (status == PPSCHED_OK)
            status = ppi_builder_append(builder, queue->device, unit, length, error);
        for (uint32_t k = 0; k < length && status == PPSCHED_OK; k++) {
            uint32_t number = unit[k].kind == PPSCHED_KIND_F ? trip_of[ppi_cell_of(placing->schedule, &unit[k])] : PPSCHED_NONE;
            if (number != PPSCHED_NONE && placing->trips[number].goes)
                status = put(builder, &placing->trips[number], PPSCHED_KIND_OFFLOAD, error);
        }
        i += length;
    }
    return status;
}

ppsched_status ppi_place_trips(ppsched_schedule **out, const struct ppi_placing *placing, const uint32_t *trip_of,
                               ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_like(&builder, placing->schedule, error);
    place_reloads(placing);
    place_offloads(placing);
    for (uint32_t i = 0; i < placing->count; i++)
        placing->keys[i] = placing->trips[i].start;
    for (uint32_t d = 0, first = 0, last; d < placing->schedule->shape.devices && status == PPSCHED_OK; d++, first = last) {
        last = end_of_device(placing, d, first);
        const uint32_t *reloads = sorted(placing, first, last);
        status = put_queue(placing, builder, &placing->schedule->queues[d], reloads, reloads + (last - first), trip_of, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}
