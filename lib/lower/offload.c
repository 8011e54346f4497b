/* SPDX-License-Identifier: Apache-2.0 */
/* Places OFFLOAD and RELOAD. The times of the schedule without them say when each activation is there and when it is needed
 * again; reloads get places on their link from the last one on, each as late as it is done in time and before the next one. */
#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"
#include "eval/timeline.h"
#include "lower/keep.h"
#include "model/builder.h"

enum { MOST_LEADS = 6 }; /* how often reloads that come too late are tried earlier */

/* A stage pass that may be offloaded. */
struct trip {
    uint32_t device, link;
    uint32_t forward, backward; /* positions of their units' first ops */
    double ready, due;          /* F's end, the backward's start */
    double offload, reload;     /* durations */
    double start;               /* of the reload's place on its link */
    uint32_t rank;              /* among those of its device by the time between, the longest is 0 */
    ppsched_op op;
    bool goes;
};

struct placing {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    const ppsched_timeline *plain; /* of the schedule as it is */
    struct trip *trips;
    uint32_t count;
    double *keys;              /* of trips, to sort them by */
    uint32_t *order, *scratch; /* of trips */
    double *free;              /* a link each */
    uint32_t *taken;           /* a device each: trips with a lower rank go */
    double lead;               /* how much earlier than they are needed reloads are to be done */
};

/* --- trips --- */

static uint32_t link_of(const ppsched_config *config, uint32_t device)
{
    const struct ppi_values *given = &config->values[PPSCHED_QUANTITY_HOST_LINK];
    double number = given->values != NULL ? ppi_value_at(given, device) : device;
    return number < config->shape.devices ? (uint32_t)number : 0; /* the evaluator refuses what is none */
}

static void add_trip(struct placing *placing, const ppsched_queue *queue, uint32_t position, uint32_t unit, uint32_t *trip_of)
{
    const ppsched_op *op = &queue->ops[position];
    uint32_t *number = &trip_of[ppi_cell_of(placing->schedule, op)];
    const ppsched_span *span = &placing->plain->spans[queue->first + position];
    if (op->kind == PPSCHED_KIND_F) {
        *number = placing->count++;
        placing->trips[*number] = (struct trip){.device = queue->device,
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

/* The schedule has been evaluated: every backward comes behind its F. */
static void list_trips(struct placing *placing, const uint8_t *marks, uint32_t *trip_of)
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
static const uint32_t *sorted(const struct placing *placing, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++)
        placing->order[i] = i;
    return ppi_sort(placing->order + first, placing->scratch + first, last - first, is_less, placing->keys);
}

/* The end of a device's trips, which are listed device by device. */
static uint32_t end_of_device(const struct placing *placing, uint32_t device, uint32_t first)
{
    while (first < placing->count && placing->trips[first].device == device)
        first++;
    return first;
}

static void rank_trips(const struct placing *placing)
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

/* --- places on the links --- */

static void place_reloads(const struct placing *placing)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->keys[i] = -placing->trips[i].due;
    const uint32_t *order = sorted(placing, 0, placing->count);
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->free[d] = PPI_INFINITE;
    for (uint32_t i = 0; i < placing->count; i++) {
        struct trip *trip = &placing->trips[order[i]];
        double end = ppi_smaller(trip->due - placing->lead, placing->free[trip->link]);
        trip->start = end - trip->reload;
        trip->goes = trip->rank < placing->taken[trip->device] && trip->start >= trip->ready + trip->offload;
        if (trip->goes)
            placing->free[trip->link] = trip->start;
    }
}

/* Leaves out those whose offload is not done when their reload is to start. */
static void place_offloads(const struct placing *placing)
{
    for (uint32_t i = 0; i < placing->count; i++)
        placing->keys[i] = placing->trips[i].ready;
    const uint32_t *order = sorted(placing, 0, placing->count);
    for (uint32_t d = 0; d < placing->schedule->shape.devices; d++)
        placing->free[d] = 0;
    for (uint32_t i = 0; i < placing->count; i++) {
        struct trip *trip = &placing->trips[order[i]];
        double end = ppi_larger(trip->ready, placing->free[trip->link]) + trip->offload;
        trip->goes = trip->goes && end <= trip->start;
        if (trip->goes)
            placing->free[trip->link] = end;
    }
}

/* --- the schedule --- */

static ppsched_status put(ppsched_builder *builder, const struct trip *trip, uint8_t kind, ppsched_error *error)
{
    ppsched_op op = ppi_op_beside(&trip->op, trip->op.stage, kind);
    return ppi_builder_append(builder, trip->device, &op, 1, error);
}

/* A device's queue; `reloads` are its trips by when they start, `trip_of` is by stage pass. */
static ppsched_status put_queue(const struct placing *placing, ppsched_builder *builder, const ppsched_queue *queue,
                                const uint32_t *reloads, const uint32_t *end, const uint32_t *trip_of, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < queue->count && status == PPSCHED_OK;) {
        const ppsched_op *unit = &queue->ops[i];
        const ppsched_span *span = &placing->plain->spans[queue->first + i];
        uint32_t length = (uint32_t)ppi_unit_length(unit);
        for (; reloads < end && status == PPSCHED_OK; reloads++) {
            const struct trip *trip = &placing->trips[*reloads];
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

static ppsched_status build(ppsched_schedule **out, const struct placing *placing, const uint32_t *trip_of,
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

/* --- choosing --- */

/* A schedule and its figures. */
struct choice {
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
};

static void clear_choice(struct choice *choice)
{
    ppi_timeline_destroy(choice->timeline);
    if (choice->schedule != NULL)
        ppi_schedule_release(choice->schedule);
    *choice = (struct choice){0};
}

static ppsched_status make_choice(struct choice *out, const struct placing *placing, const uint32_t *trip_of,
                                  ppsched_error *error)
{
    *out = (struct choice){0};
    ppsched_status status = build(&out->schedule, placing, trip_of, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&out->timeline, out->schedule, placing->config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        clear_choice(out);
    return status;
}

/* Tries leads while the makespan is longer than without copies; keeps the shortest. */
static ppsched_status choose_lead(struct choice *best, struct placing *placing, const uint32_t *trip_of, ppsched_error *error)
{
    double plain = placing->plain->metrics.makespan, ops = (double)placing->schedule->op_count;
    double step = ops > 0 ? plain * placing->schedule->shape.devices / ops : 0; /* about that of an op */
    struct choice next;
    placing->lead = 0;
    ppsched_status status = make_choice(best, placing, trip_of, error);
    for (int i = 0; i < MOST_LEADS && status == PPSCHED_OK && best->timeline->metrics.makespan > plain * (1 + 1e-12); i++) {
        placing->lead = i == 0 ? step / 2 : 2 * placing->lead;
        status = make_choice(&next, placing, trip_of, error);
        if (status != PPSCHED_OK)
            break;
        if (next.timeline->metrics.makespan < best->timeline->metrics.makespan) {
            clear_choice(best);
            *best = next;
        } else {
            clear_choice(&next);
        }
    }
    if (status != PPSCHED_OK)
        clear_choice(best);
    return status;
}

static ppsched_status refuse_limit(const struct choice *all, ppsched_error *error)
{
    const ppsched_metrics *metrics = &all->timeline->metrics;
    const ppsched_device_metrics *device = &all->timeline->devices[metrics->limit_device];
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "offload: device %u has a peak of %g, over its limit of %g, with all that can go offloaded; the largest "
                    "peak is %g, on device %u",
                    metrics->limit_device, device->peak_memory, device->memory_limit, metrics->peak_memory,
                    metrics->peak_device);
}

/* Each device takes as few trips, those that live longest first, as hold its limit: halved on all devices at once. */
static ppsched_status choose_few(struct choice *best, struct placing *placing, const uint32_t *trip_of, uint32_t *low,
                                 uint32_t *high, ppsched_error *error)
{
    uint32_t devices = placing->schedule->shape.devices;
    bool is_open = true;
    ppsched_status status = choose_lead(best, placing, trip_of, error);
    if (status == PPSCHED_OK && best->timeline->metrics.limit_device != PPSCHED_NONE) {
        status = refuse_limit(best, error);
        clear_choice(best);
    }
    for (uint32_t d = 0; d < devices; d++) {
        low[d] = 0;
        high[d] = placing->taken[d];
    }
    while (status == PPSCHED_OK && is_open) {
        struct choice next;
        is_open = false;
        for (uint32_t d = 0; d < devices; d++) {
            placing->taken[d] = low[d] + (high[d] - low[d]) / 2;
            is_open = is_open || low[d] < high[d];
        }
        status = choose_lead(&next, placing, trip_of, error);
        if (status != PPSCHED_OK)
            break;
        for (uint32_t d = 0; d < devices; d++) {
            const ppsched_device_metrics *figures = &next.timeline->devices[d];
            if (!ppi_is_over_limit(figures->peak_memory, figures->memory_limit))
                high[d] = placing->taken[d];
            else if (low[d] < high[d])
                low[d] = placing->taken[d] + 1;
        }
        if (next.timeline->metrics.limit_device == PPSCHED_NONE) {
            clear_choice(best);
            *best = next;
        } else {
            clear_choice(&next);
        }
    }
    if (status != PPSCHED_OK)
        clear_choice(best);
    return status;
}

/* --- all of it --- */

static ppsched_status place(ppsched_schedule **out, struct placing *placing, const uint8_t *marks, uint32_t *trip_of,
                            bool until_limit, ppsched_error *error)
{
    uint32_t devices = placing->schedule->shape.devices;
    struct choice best = {0};
    for (size_t i = 0; i < ppi_cell_count(placing->schedule); i++)
        trip_of[i] = PPSCHED_NONE;
    list_trips(placing, marks, trip_of);
    rank_trips(placing);
    uint32_t *bounds = ppi_allocate(&placing->schedule->host, devices, 2 * sizeof *bounds);
    ppsched_status status = bounds == NULL ? ppi_fail_memory(error, "the offloads")
                            : until_limit  ? choose_few(&best, placing, trip_of, bounds, bounds + devices, error)
                                           : choose_lead(&best, placing, trip_of, error);
    ppi_release(&placing->schedule->host, bounds);
    if (status != PPSCHED_OK)
        return status;
    *out = best.schedule;
    best.schedule = NULL;
    clear_choice(&best);
    return PPSCHED_OK;
}

static ppsched_status place_with_room(ppsched_schedule **out, struct placing *placing, const uint8_t *marks, bool until_limit,
                                      ppsched_error *error)
{
    const struct ppi_host *host = &placing->schedule->host;
    size_t cells = ppi_cell_count(placing->schedule), devices = placing->schedule->shape.devices;
    uint32_t *trip_of = ppi_allocate(host, cells, sizeof *trip_of);
    placing->trips = ppi_allocate(host, cells, sizeof *placing->trips);
    placing->keys = ppi_allocate(host, cells, sizeof *placing->keys);
    placing->order = ppi_allocate(host, cells, sizeof *placing->order);
    placing->scratch = ppi_allocate(host, cells, sizeof *placing->scratch);
    placing->free = ppi_allocate(host, devices, sizeof *placing->free);
    placing->taken = ppi_allocate(host, devices, sizeof *placing->taken);
    bool has_room = trip_of != NULL && placing->trips != NULL && placing->keys != NULL && placing->order != NULL &&
                    placing->scratch != NULL && placing->free != NULL && placing->taken != NULL;
    ppsched_status status = has_room ? place(out, placing, marks, trip_of, until_limit, error)
                                     : ppi_fail_memory(error, "the offloads");
    ppi_release(host, trip_of);
    ppi_release(host, placing->trips);
    ppi_release(host, placing->keys);
    ppi_release(host, placing->order);
    ppi_release(host, placing->scratch);
    ppi_release(host, placing->free);
    ppi_release(host, placing->taken);
    return status;
}

ppsched_status ppi_offload(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                           const ppsched_offload_options *options, ppsched_error *error)
{
    ppsched_timeline *plain = NULL;
    uint8_t *marks = NULL;
    ppsched_status status = ppi_require_whole(schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_mark_chunks(&marks, schedule, options->chunks, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&plain, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK) {
        struct placing placing = {.schedule = schedule, .config = config, .plain = plain};
        status = place_with_room(out, &placing, marks, options->until_limit != 0, error);
    }
    ppi_timeline_destroy(plain);
    ppi_release(&schedule->host, marks);
    return status;
}
