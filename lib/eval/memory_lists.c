/* SPDX-License-Identifier: Apache-2.0 */
/* Visits a device's memory twice, to count and to record the changes before the peak; windows take the largest level within
 * them. */
#include "eval/memory_lists.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"

/* --- the peak's items: all added until then, less what was released --- */

struct record {
    struct ppi_memory_change *changes; /* NULL while they are counted */
    size_t count;
    double peak;
    bool is_over; /* the peak is reached */
};

static void note_change(void *user, const struct ppi_memory_change *change)
{
    struct record *record = user;
    if (record->is_over)
        return;
    if (record->changes != NULL)
        record->changes[record->count] = *change;
    record->count++;
}

static void note_step(void *user, double time, uint32_t position, const double *by_cause, double level)
{
    struct record *record = user;
    (void)time;
    (void)position;
    (void)by_cause;
    record->is_over = record->is_over || level >= record->peak;
}

static bool is_same_thing(const struct ppi_memory_change *a, const struct ppi_memory_change *b)
{
    return a->cause == b->cause && a->stage == b->stage && a->microbatch == b->microbatch;
}

static bool belongs_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ppi_memory_change *x = (const struct ppi_memory_change *)context + a,
                                   *y = (const struct ppi_memory_change *)context + b;
    if (x->cause != y->cause)
        return x->cause < y->cause;
    return x->stage != y->stage ? x->stage < y->stage : x->microbatch < y->microbatch;
}

static bool came_before(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_memory_item *x = (const ppsched_memory_item *)context + a, *y = (const ppsched_memory_item *)context + b;
    if (x->cause != y->cause)
        return x->cause < y->cause;
    return x->since != y->since ? x->since < y->since : x->position < y->position;
}

/* Sums the changes of each item, which are adjacent in `order`; items with nothing left are dropped. */
static size_t add_up(ppsched_memory_item *out, const struct ppi_memory_change *changes, const uint32_t *order, size_t count)
{
    size_t filled = 0;
    for (size_t i = 0, next; i < count; i = next) {
        const struct ppi_memory_change *first = &changes[order[i]];
        ppsched_memory_item item = {.cause = first->cause, .stage = first->stage, .microbatch = first->microbatch};
        for (next = i; next < count && is_same_thing(first, &changes[order[next]]); next++) {
            const struct ppi_memory_change *change = &changes[order[next]];
            if (item.memory == 0) {
                item.since = change->time;
                item.position = change->position;
            }
            item.memory += change->amount;
        }
        if (item.memory != 0)
            out[filled++] = item;
    }
    return filled;
}

/* Lists a device's static memory. */
static size_t list_fixed(ppsched_memory_item *out, const ppsched_timeline *timeline, uint32_t device)
{
    size_t instances = (size_t)timeline->schedule->placement.copies * timeline->schedule->shape.stages, filled = 0;
    ppsched_memory_item item = {.microbatch = PPSCHED_NONE, .position = PPSCHED_NONE};
    for (item.cause = 0; item.cause < PPI_FIXED_STAGE_CAUSES; item.cause++)
        for (size_t i = 0; i < instances; i++) {
            item.memory = timeline->fixed_of_stages[i * PPI_FIXED_STAGE_CAUSES + (size_t)item.cause];
            item.stage = (uint32_t)(i % timeline->schedule->shape.stages);
            if (timeline->costs.instances[i].device == device && item.memory != 0)
                out[filled++] = item;
        }
    item.stage = PPSCHED_NONE;
    item.memory = timeline->fixed[(size_t)device * PPI_FIXED_CAUSES + PPSCHED_MEMORY_CAUSE_OTHER];
    if (item.memory != 0)
        out[filled++] = item;
    return filled;
}

/* Number of a device's stages, of all copies. */
static size_t stages_of(const ppsched_timeline *timeline, uint32_t device)
{
    size_t instances = (size_t)timeline->schedule->placement.copies * timeline->schedule->shape.stages, count = 0;
    for (size_t i = 0; i < instances; i++)
        count += timeline->costs.instances[i].device == device;
    return count;
}

struct listing {
    uint32_t *order, *scratch;
    ppsched_memory_item *items, *out;
};

static void list_items(const struct listing *listing, size_t *count, const ppsched_timeline *timeline, uint32_t device,
                       const struct record *record)
{
    for (uint32_t i = 0; i < record->count; i++)
        listing->order[i] = i;
    const uint32_t *order = ppi_sort(listing->order, listing->scratch, record->count, belongs_before, record->changes);
    size_t left = add_up(listing->items, record->changes, order, record->count);
    for (uint32_t i = 0; i < left; i++)
        listing->order[i] = i;
    order = ppi_sort(listing->order, listing->scratch, left, came_before, listing->items);
    *count = list_fixed(listing->out, timeline, device);
    for (size_t i = 0; i < left; i++)
        listing->out[(*count)++] = listing->items[order[i]];
}

static ppsched_status find_items(ppsched_memory_item **out, size_t *count, const ppsched_timeline *timeline, uint32_t device,
                                 const struct record *record, ppsched_error *error)
{
    const struct ppi_host *host = &timeline->host;
    size_t most = record->count + PPI_FIXED_STAGE_CAUSES * stages_of(timeline, device) + 1;
    struct listing listing = {.order = ppi_allocate(host, record->count, 2 * sizeof *listing.order),
                              .items = ppi_allocate(host, record->count, sizeof *listing.items),
                              .out = ppi_allocate(host, most, sizeof *listing.out)};
    bool has_room = listing.order != NULL && listing.items != NULL && listing.out != NULL;
    if (has_room) {
        listing.scratch = listing.order + record->count;
        list_items(&listing, count, timeline, device, record);
        *out = listing.out;
    } else {
        ppi_release(host, listing.out);
    }
    ppi_release(host, listing.items);
    ppi_release(host, listing.order);
    return has_room ? PPSCHED_OK : ppi_fail_memory(error, "the peak");
}

ppsched_status ppi_peak_items_make(ppsched_memory_item **out, size_t *count, const ppsched_timeline *timeline, uint32_t device,
                                   ppsched_error *error)
{
    struct ppi_memory_workspace *room = NULL;
    bool is_fixed = timeline->devices[device].peak_position == PPSCHED_NONE;
    struct record record = {.peak = timeline->devices[device].peak_memory, .is_over = is_fixed};
    const struct ppi_memory_listener listener = {.user = &record, .change = note_change, .step = note_step};
    ppsched_status status = ppi_memory_room_make(&room, timeline, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_memory_go_through(timeline, device, room, &listener);
    record.changes = ppi_allocate(&timeline->host, record.count, sizeof *record.changes);
    if (record.changes != NULL) {
        record.count = 0;
        record.is_over = is_fixed;
        ppi_memory_go_through(timeline, device, room, &listener);
        status = find_items(out, count, timeline, device, &record, error);
    } else {
        status = ppi_fail_memory(error, "the peak");
    }
    ppi_release(&timeline->host, record.changes);
    ppi_memory_room_destroy(room);
    return status;
}

/* --- idle windows --- */

struct windows {
    ppsched_idle_window *list;
    size_t count, present;
    double level;
    bool is_told; /* the current window has a level */
};

static void raise_present(struct windows *windows, double level)
{
    ppsched_idle_window *window = &windows->list[windows->present];
    window->memory = windows->is_told ? ppi_larger(window->memory, level) : level;
    windows->is_told = true;
}

/* Completes windows that end before the next step. */
static void close_until(struct windows *windows, double time)
{
    for (; windows->present < windows->count && windows->list[windows->present].end <= time; windows->present++) {
        if (!windows->is_told)
            raise_present(windows, windows->level);
        windows->is_told = false;
    }
}

static void take_step(void *user, double time, uint32_t position, const double *by_cause, double level)
{
    struct windows *windows = user;
    (void)position;
    (void)by_cause;
    close_until(windows, time);
    if (windows->present < windows->count && windows->list[windows->present].start < time) {
        if (!windows->is_told)
            raise_present(windows, windows->level);
        raise_present(windows, level);
    }
    windows->level = level;
}

static void add_window(struct windows *windows, double start, double end)
{
    if (end > start)
        windows->list[windows->count++] = (ppsched_idle_window){.start = start, .end = end};
}

static void find_windows(struct windows *windows, const ppsched_timeline *timeline, uint32_t device,
                         struct ppi_memory_workspace *room)
{
    const ppsched_queue *queue = &timeline->schedule->queues[device];
    const ppsched_span *spans = timeline->spans + queue->first;
    double end = 0, limit = timeline->devices[device].memory_limit;
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i]))
        if (ppi_is_compute(queue->ops[i].kind) || (timeline->saving != NULL && queue->ops[i].kind == PPSCHED_KIND_RECOMPUTE)) {
            add_window(windows, end, spans[i].start);
            end = spans[i].end;
        }
    add_window(windows, end, timeline->metrics.makespan);
    windows->level = timeline->devices[device].static_memory;
    ppi_memory_go_through(timeline, device, room, &(struct ppi_memory_listener){.user = windows, .step = take_step});
    close_until(windows, PPI_INFINITE);
    for (size_t i = 0; i < windows->count; i++)
        windows->list[i].free = limit - windows->list[i].memory;
}

ppsched_status ppi_idle_windows_make(ppsched_idle_window **out, size_t *count, const ppsched_timeline *timeline,
                                     uint32_t device, ppsched_error *error)
{
    struct ppi_memory_workspace *room = NULL;
    struct windows windows = {0};
    ppsched_status status = ppi_memory_room_make(&room, timeline, error);
    if (status != PPSCHED_OK)
        return status;
    windows.list = ppi_allocate(&timeline->host, timeline->schedule->queues[device].count + 1, sizeof *windows.list);
    if (windows.list == NULL) {
        status = ppi_fail_memory(error, "the windows");
    } else {
        find_windows(&windows, timeline, device, room);
        *out = windows.list;
        *count = windows.count;
    }
    ppi_memory_room_destroy(room);
    return status;
}
