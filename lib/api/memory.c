/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: memory over time and by cause. See <ppsched/evaluate.h>. */
#include "eval/memory_lists.h"

#include "api/buffer.h"
#include "base/error.h"

const char *ppsched_memory_cause_name(int32_t cause)
{
    return ppi_cause_name(cause);
}

static ppsched_status check_memory_device(const ppsched_timeline *timeline, uint32_t device, ppsched_error *error)
{
    uint32_t devices = timeline->schedule->shape.devices;
    if (device < devices)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no device %u; devices are 0 to %u", device, devices - 1);
}

/* --- lists made by visiting a device's memory: counted first, then filled --- */

struct list {
    size_t count;
    void *out; /* NULL while they are counted */
    const ppsched_timeline *timeline;
    uint32_t device;
    int32_t cause;
    double level; /* memory of the cause */
};

typedef void (*list_function)(struct list *list, struct ppi_memory_workspace *room);

/* Counts the items of a list, then writes them to the caller's buffer. */
static ppsched_status fill(struct list list, list_function make, size_t capacity, size_t *needed, const char *items,
                           ppsched_error *error)
{
    struct ppi_memory_workspace *room = NULL;
    struct list counted = list;
    ppsched_status status = ppi_memory_room_make(&room, list.timeline, error);
    if (status != PPSCHED_OK)
        return status;
    counted.out = NULL;
    make(&counted, room);
    status = ppi_check_room(list.out, capacity, counted.count, items, error);
    if (status == PPSCHED_OK && list.out != NULL)
        make(&list, room);
    ppi_memory_room_destroy(room);
    return ppi_tell_needed(needed, counted.count, status);
}

static void put_point(struct list *list, double time, double memory)
{
    if (list->out != NULL)
        ((ppsched_memory_point *)list->out)[list->count] = (ppsched_memory_point){time, memory};
    list->count++;
}

/* --- the curve --- */

static void put_level(void *user, double time, uint32_t position, const double *by_cause, double level)
{
    (void)position;
    (void)by_cause;
    put_point(user, time, level);
}

static void list_curve(struct list *list, struct ppi_memory_workspace *room)
{
    put_point(list, 0, list->timeline->devices[list->device].static_memory);
    ppi_memory_go_through(list->timeline, list->device, room, &(struct ppi_memory_listener){.user = list, .step = put_level});
}

ppsched_status ppsched_timeline_get_memory(ppsched_memory_point *out, size_t capacity, size_t *needed,
                                           const ppsched_timeline *timeline, uint32_t device, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = check_memory_device(timeline, device, error);
    if (status != PPSCHED_OK)
        return status;
    return fill((struct list){.out = out, .timeline = timeline, .device = device}, list_curve, capacity, needed, "points",
                error);
}

/* --- one cause --- */

static void put_cause(void *user, double time, uint32_t position, const double *by_cause, double level)
{
    struct list *list = user;
    (void)position;
    (void)level;
    if (by_cause[list->cause] == list->level)
        return;
    list->level = by_cause[list->cause];
    put_point(list, time, list->level);
}

static void list_cause(struct list *list, struct ppi_memory_workspace *room)
{
    list->level = list->cause < PPI_FIXED_CAUSES
                      ? list->timeline->fixed[(size_t)list->device * PPI_FIXED_CAUSES + (size_t)list->cause]
                      : 0;
    put_point(list, 0, list->level);
    ppi_memory_go_through(list->timeline, list->device, room, &(struct ppi_memory_listener){.user = list, .step = put_cause});
}

ppsched_status ppsched_timeline_get_memory_of_cause(ppsched_memory_point *out, size_t capacity, size_t *needed,
                                                    const ppsched_timeline *timeline, uint32_t device, int32_t cause,
                                                    ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = check_memory_device(timeline, device, error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("cause", cause, 0, PPI_CAUSES - 1, error);
    if (status != PPSCHED_OK)
        return status;
    return fill((struct list){.out = out, .timeline = timeline, .device = device, .cause = cause}, list_cause, capacity, needed,
                "points", error);
}

/* --- the peak --- */

ppsched_status ppsched_timeline_get_peak_causes(double *out, size_t capacity, size_t *needed, const ppsched_timeline *timeline,
                                                uint32_t device, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = check_memory_device(timeline, device, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_check_room(out, capacity, PPI_CAUSES, "causes", error);
    if (status == PPSCHED_OK && out != NULL) {
        if (timeline->memory != NULL && timeline->memory->is_used)
            memcpy(out, timeline->peak_causes + (size_t)device * PPI_CAUSES, PPI_CAUSES * sizeof *out);
        else
            ppi_split_peak(timeline, device, out);
    }
    return ppi_tell_needed(needed, PPI_CAUSES, status);
}

/* Copies a list that was made for the caller to its buffer. */
static ppsched_status give(void *out, size_t capacity, size_t *needed, const void *list, size_t count, size_t size,
                           const char *items, ppsched_error *error)
{
    ppsched_status status = ppi_check_room(out, capacity, count, items, error);
    if (status == PPSCHED_OK && out != NULL && count > 0)
        memcpy(out, list, count * size);
    return ppi_tell_needed(needed, count, status);
}

ppsched_status ppsched_timeline_get_peak_items(ppsched_memory_item *out, size_t capacity, size_t *needed,
                                               const ppsched_timeline *timeline, uint32_t device, ppsched_error *error)
{
    ppsched_memory_item *items = NULL;
    size_t count = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = check_memory_device(timeline, device, error);
    if (status == PPSCHED_OK)
        status = ppi_peak_items_make(&items, &count, timeline, device, error);
    if (status != PPSCHED_OK)
        return status;
    status = give(out, capacity, needed, items, count, sizeof *items, "items", error);
    ppi_release(&timeline->host, items);
    return status;
}

ppsched_status ppsched_timeline_get_idle_windows(ppsched_idle_window *out, size_t capacity, size_t *needed,
                                                 const ppsched_timeline *timeline, uint32_t device, ppsched_error *error)
{
    ppsched_idle_window *windows = NULL;
    size_t count = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(timeline);
    ppsched_status status = check_memory_device(timeline, device, error);
    if (status == PPSCHED_OK)
        status = ppi_idle_windows_make(&windows, &count, timeline, device, error);
    if (status != PPSCHED_OK)
        return status;
    status = give(out, capacity, needed, windows, count, sizeof *windows, "windows", error);
    ppi_release(&timeline->host, windows);
    return status;
}
