/* SPDX-License-Identifier: Apache-2.0 */
/* One scenario of a runtime that runs what is ready. A free device runs the first of its ready tasks in planned order. A task
 * that adds memory may overtake others only if these can all still run after it, in their order, within the device's memory. So
 * the first task left in planned order may always run once it is ready, and as the plan has no wait cycle, all tasks run. */
#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/heap.h"
#include "scenario/dispatch.h"
#include "scenario/max_tree.h"

enum { ENDED, ARRIVED }; /* events: of a task; of an edge's message */

/* In place of a task. */
#define NO_TASK UINT32_MAX

struct device {
    struct ppi_heap takers, others; /* ready tasks that add memory, and others, by number */
    struct ppi_levels levels;       /* planned memory of its tasks, from `first` on */
    uint32_t first, head;           /* its first task; the first that has not started */
    uint32_t last;                  /* the task that it runs, or ran last */
    double until;                   /* end of that task */
    double held;
    bool is_busy, is_touched;
};

struct ppi_dispatch_run {
    struct ppi_arena arena;
    const struct ppi_dispatch *dispatch;
    const struct ppi_dispatch_times *times;
    uint32_t scenario;
    struct device *devices;
    struct ppi_heap events;
    uint32_t *needs;   /* by task: edges not released yet */
    uint32_t *bringer; /* by task: the one that released it last */
    double *ready;     /* by task: when */
    uint32_t *reason;  /* by task: the task that it waited for last */
    double *spent;     /* by task: its time */
    bool *has_started;
    uint32_t *touched; /* devices that may start a task now */
    uint32_t touched_count;
    double *peaks;
};

ppsched_status ppi_dispatch_run_make(struct ppi_dispatch_run **out, const struct ppi_dispatch *dispatch, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &dispatch->host};
    struct ppi_dispatch_run *run = ppi_arena_take(&arena, 1, sizeof *run);
    if (run == NULL)
        return ppi_arena_check(&arena, "the scenarios", error);
    *run = (struct ppi_dispatch_run){.dispatch = dispatch};
    run->devices = ppi_arena_take(&arena, dispatch->devices, sizeof *run->devices);
    run->touched = ppi_arena_take(&arena, dispatch->devices, sizeof *run->touched);
    run->needs = ppi_arena_take(&arena, dispatch->count, sizeof *run->needs);
    run->bringer = ppi_arena_take(&arena, dispatch->count, sizeof *run->bringer);
    run->reason = ppi_arena_take(&arena, dispatch->count, sizeof *run->reason);
    run->ready = ppi_arena_take(&arena, dispatch->count, sizeof *run->ready);
    run->spent = ppi_arena_take(&arena, dispatch->count, sizeof *run->spent);
    run->has_started = ppi_arena_take(&arena, dispatch->count, sizeof *run->has_started);
    run->events.events = ppi_arena_take(&arena, dispatch->devices + dispatch->tasks[dispatch->count].first,
                                        sizeof *run->events.events);
    for (uint32_t d = 0; run->devices != NULL && d < dispatch->devices; d++) {
        struct device *device = &run->devices[d];
        uint32_t first = ppi_first_task(dispatch, d, 0), count = ppi_first_task(dispatch, d, dispatch->runs) - first;
        *device = (struct device){.first = first};
        device->takers.events = ppi_arena_take(&arena, count, sizeof *device->takers.events);
        device->others.events = ppi_arena_take(&arena, count, sizeof *device->others.events);
        ppi_levels_make(&device->levels, &arena, count);
    }
    ppsched_status status = ppi_arena_check(&arena, "the scenarios", error);
    if (status != PPSCHED_OK) {
        ppi_arena_clear(&arena);
        return status;
    }
    run->arena = arena;
    *out = run;
    return PPSCHED_OK;
}

void ppi_dispatch_run_destroy(struct ppi_dispatch_run *run)
{
    if (run == NULL)
        return;
    struct ppi_arena arena = run->arena;
    ppi_arena_clear(&arena);
}

/* --- events --- */

static void touch(struct ppi_dispatch_run *run, uint32_t device)
{
    if (!run->devices[device].is_touched)
        run->touched[run->touched_count++] = device;
    run->devices[device].is_touched = true;
}

static void make_ready(struct ppi_dispatch_run *run, uint32_t number)
{
    const struct ppi_dispatch_task *task = &run->dispatch->tasks[number];
    struct device *device = &run->devices[task->device];
    ppi_heap_put_ranked(task->takes ? &device->takers : &device->others, 0, number, 0, number);
    touch(run, task->device);
}

/* Notes that one of a task's needs is met. */
static void bring(struct ppi_dispatch_run *run, uint32_t number, uint32_t bringer, double now)
{
    if (--run->needs[number] > 0)
        return;
    run->bringer[number] = bringer;
    run->ready[number] = now;
    make_ready(run, number);
}

static void end_task(struct ppi_dispatch_run *run, uint32_t number, double now)
{
    const struct ppi_dispatch_task *task = &run->dispatch->tasks[number];
    struct device *device = &run->devices[task->device];
    device->is_busy = false;
    device->held -= task->given;
    touch(run, task->device);
    for (size_t e = task->first; e < task[1].first; e++) {
        const struct ppi_release_edge *edge = &run->dispatch->edges[e];
        if (edge->is_message && edge->early > 0)
            continue; /* sent before */
        if (edge->is_message)
            ppi_heap_put(&run->events, now + run->times->message_time(run->times->user, edge, run->scenario), ARRIVED,
                         (uint32_t)e);
        else
            bring(run, edge->task, number, now);
    }
}

/* Handles all events of one time. */
static void take_events(struct ppi_dispatch_run *run, const struct ppi_event *first)
{
    struct ppi_event event = *first;
    do {
        if (event.what == ENDED)
            end_task(run, event.index, event.time);
        else
            bring(run, run->dispatch->edges[event.index].task, run->dispatch->edges[event.index].from, event.time);
    } while (run->events.count > 0 && run->events.events[0].time <= event.time && ppi_heap_take(&run->events, &event));
}

/* --- starting tasks --- */

/* Whether a task may run before the tasks of its device that are planned before it and have not started. */
static bool may_overtake(const struct ppi_dispatch_run *run, const struct device *device, uint32_t number)
{
    const struct ppi_dispatch_task *task = &run->dispatch->tasks[number];
    const double cap = run->dispatch->cap[task->device], slack = PPI_ROUNDING * (cap + run->dispatch->base[task->device]);
    double behind = ppi_levels_most(&device->levels, device->head - device->first, number - device->first);
    return device->held + task->taken <= cap + slack && behind + task->taken - task->given <= cap + slack;
}

/* Takes the task to run from a device's heaps; NO_TASK if there is none. */
static uint32_t choose(const struct ppi_dispatch_run *run, struct device *device)
{
    struct ppi_event event;
    uint32_t taker = device->takers.count > 0 ? device->takers.events[0].index : NO_TASK;
    uint32_t other = device->others.count > 0 ? device->others.events[0].index : NO_TASK;
    if (taker < other && (taker == device->head || may_overtake(run, device, taker))) {
        ppi_heap_take(&device->takers, &event);
        return taker;
    }
    if (other != NO_TASK)
        ppi_heap_take(&device->others, &event);
    return other;
}

/* Adds a task's memory to the levels of those planned before it, and removes its own. */
static void leave_queue(struct ppi_dispatch_run *run, struct device *device, uint32_t number, uint32_t end)
{
    const struct ppi_dispatch_task *task = &run->dispatch->tasks[number];
    run->has_started[number] = true;
    if (number > device->head) {
        ppi_levels_add(&device->levels, device->head - device->first, number - device->first, task->taken - task->given);
        ppi_levels_drop(&device->levels, number - device->first);
        return;
    }
    while (device->head < end && run->has_started[device->head])
        device->head++;
}

/* Sends what a pair has made before it ends. */
static void send_early(struct ppi_dispatch_run *run, uint32_t number, double now)
{
    const struct ppi_dispatch_task *task = &run->dispatch->tasks[number];
    for (size_t e = task->first; e < task[1].first; e++) {
        const struct ppi_release_edge *edge = &run->dispatch->edges[e];
        if (edge->is_message && edge->early > 0)
            ppi_heap_put(&run->events,
                         now + run->spent[number] * edge->early +
                             run->times->message_time(run->times->user, edge, run->scenario),
                         ARRIVED, (uint32_t)e);
    }
}

static void start_task(struct ppi_dispatch_run *run, uint32_t d, uint32_t end, double now)
{
    struct device *device = &run->devices[d];
    uint32_t number = choose(run, device);
    if (number == NO_TASK)
        return;
    const struct ppi_dispatch_task *task = &run->dispatch->tasks[number];
    run->reason[number] = device->last != NO_TASK && device->until >= now ? device->last : run->bringer[number];
    run->spent[number] = run->times->task_time(run->times->user, task, run->scenario);
    leave_queue(run, device, number, end);
    device->held += task->taken;
    run->peaks[d] = ppi_larger(run->peaks[d], run->dispatch->base[d] + device->held);
    device->is_busy = true;
    device->last = number;
    device->until = now + run->spent[number];
    ppi_heap_put(&run->events, device->until, ENDED, number);
    if (run->dispatch->sends_early)
        send_early(run, number, now);
}

static void start_touched(struct ppi_dispatch_run *run, uint32_t part, double now)
{
    for (uint32_t i = 0; i < run->touched_count; i++) {
        uint32_t d = run->touched[i];
        run->devices[d].is_touched = false;
        if (!run->devices[d].is_busy)
            start_task(run, d, ppi_first_task(run->dispatch, d, part + 1), now);
    }
    run->touched_count = 0;
}

/* --- a scenario --- */

static void reset(struct ppi_dispatch_run *run)
{
    const struct ppi_dispatch *dispatch = run->dispatch;
    for (uint32_t t = 0; t < dispatch->count; t++) {
        run->needs[t] = dispatch->tasks[t].needs;
        run->has_started[t] = false;
    }
    for (uint32_t d = 0; d < dispatch->devices; d++) {
        struct device *device = &run->devices[d];
        device->last = NO_TASK;
        device->held = device->until = 0;
        ppi_levels_reset(&device->levels, &dispatch->level[device->first]);
    }
}

/* Plays the part between two flushes, from `now` on. `before`: the task that the flush waited for. */
static void play_part(struct ppi_dispatch_run *run, uint32_t part, uint32_t before, double now)
{
    const struct ppi_dispatch *dispatch = run->dispatch;
    struct ppi_event event;
    for (uint32_t d = 0; d < dispatch->devices; d++) {
        run->devices[d].head = ppi_first_task(dispatch, d, part);
        run->devices[d].until = now;
        run->devices[d].last = NO_TASK;
        for (uint32_t t = run->devices[d].head; t < ppi_first_task(dispatch, d, part + 1); t++)
            if (run->needs[t] == 0) {
                run->bringer[t] = before;
                make_ready(run, t);
            }
    }
    start_touched(run, part, now);
    while (ppi_heap_take(&run->events, &event)) {
        take_events(run, &event);
        start_touched(run, part, event.time);
    }
}

/* The device whose last task ends last; the lowest of them. */
static uint32_t last_device(const struct ppi_dispatch_run *run)
{
    uint32_t last = 0;
    for (uint32_t d = 1; d < run->dispatch->devices; d++)
        if (run->devices[d].last != NO_TASK &&
            (run->devices[last].last == NO_TASK || run->devices[d].until > run->devices[last].until))
            last = d;
    return last;
}

double ppi_dispatch_play(struct ppi_dispatch_run *run, const struct ppi_dispatch_times *times, uint32_t scenario,
                         double *causes, double *peaks)
{
    double now = 0;
    uint32_t last = NO_TASK;
    run->times = times;
    run->scenario = scenario;
    run->peaks = peaks;
    reset(run);
    for (uint32_t part = 0; part < run->dispatch->runs; part++) {
        play_part(run, part, last, now);
        const struct device *device = &run->devices[last_device(run)];
        if (device->last == NO_TASK)
            continue;
        last = device->last;
        now = device->until;
    }
    for (; now > 0 && last != NO_TASK; last = run->reason[last])
        causes[run->dispatch->tasks[last].device] += run->spent[last] / now;
    return now;
}
