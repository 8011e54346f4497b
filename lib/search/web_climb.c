/* SPDX-License-Identifier: Apache-2.0 */
/* Local search over lines of tasks: a task moves to another place between what it waits for and what waits for it. A change is
 * kept if it costs no more than the order of some steps ago (late acceptance: Burke and Bykov 2017). Most moves are of tasks on
 * a critical path. */
#include <string.h>

#include "base/checked.h"
#include "search/web_search.h"

/* Measured: docs/performance.md. */
enum { LENGTH = 400, STARTS = 4 };

void ppi_web_find_room(const struct ppi_web *web, const struct ppi_web_line *line, uint32_t t, uint32_t *low, uint32_t *high)
{
    const struct ppi_task_node *task = &web->tasks[t];
    *low = 0;
    *high = web->count - 1;
    for (uint32_t i = 0; i < task->before_count; i++) {
        const uint32_t at = line->position[web->before[task->before_first + i].task];
        *low = at >= *low ? at + 1 : *low;
    }
    for (uint32_t i = 0; i < task->after_count; i++) {
        const uint32_t at = line->position[web->after[task->after_first + i].task];
        *high = at <= *high ? at - 1 : *high;
    }
}

void ppi_web_move(struct ppi_web_line *line, uint32_t from, uint32_t to)
{
    const uint32_t t = line->task[from];
    for (uint32_t p = from; p < to; p++)
        line->position[line->task[p] = line->task[p + 1]] = p;
    for (uint32_t p = from; p > to; p--)
        line->position[line->task[p] = line->task[p - 1]] = p;
    line->task[to] = t;
    line->position[t] = to;
}

/* Whether two tasks share a device. */
static bool share_device(const struct ppi_task_node *a, const struct ppi_task_node *b)
{
    for (uint32_t i = 0; i < a->device_count; i++)
        for (uint32_t k = 0; k < b->device_count; k++)
            if (a->devices[i] == b->devices[k])
                return true;
    return false;
}

/* Lists the tasks of a critical path. */
static uint32_t list_critical(const struct ppi_web_search *search, const struct ppi_web_line *line, uint32_t *path)
{
    const struct ppi_web *web = search->web;
    uint32_t count = 0, t = 0;
    for (uint32_t k = 1; k < web->count; k++)
        t = line->end[k] > line->end[t] ? k : t;
    for (;;) {
        const struct ppi_task_node *task = &web->tasks[t];
        const double start = line->end[t] - task->duration, slack = 1e-12 * line->makespan;
        uint32_t before = PPSCHED_NONE;
        path[count++] = t;
        if (start <= slack || count == web->count)
            return count;
        for (uint32_t p = line->position[t]; p-- > 0 && before == PPSCHED_NONE;)
            if (line->end[line->task[p]] >= start - slack && line->end[line->task[p]] <= start + slack &&
                share_device(task, &web->tasks[line->task[p]]))
                before = line->task[p];
        for (uint32_t i = 0; i < task->before_count && before == PPSCHED_NONE; i++) {
            const struct ppi_thread *thread = &web->before[task->before_first + i];
            if (line->end[thread->task] + thread->delay >= start - slack)
                before = thread->task;
        }
        if (before == PPSCHED_NONE)
            return count;
        t = before;
    }
}

/* Makes the two lines equal in what a placement from `from` on has changed. */
static void copy_from(const struct ppi_web *web, struct ppi_web_line *to, const struct ppi_web_line *from, uint32_t first)
{
    const size_t row = web->devices, rows = web->count - first;
    memcpy(to->clock + (first + 1) * row, from->clock + (first + 1) * row, rows * row * sizeof *to->clock);
    memcpy(to->level + (first + 1) * row, from->level + (first + 1) * row, rows * row * sizeof *to->level);
    for (uint32_t p = first; p < web->count; p++)
        to->end[from->task[p]] = from->end[from->task[p]];
    to->makespan = from->makespan;
    to->cost = from->cost;
}

static void begin(struct ppi_web_search *search, const struct ppi_web_line *from)
{
    const struct ppi_web *web = search->web;
    struct ppi_web_line *lines[] = {&search->tried, &search->next};
    for (int k = 0; k < 2; k++) {
        memmove(lines[k]->task, from->task, web->count * sizeof *from->task);
        memset(lines[k]->clock, 0, web->devices * sizeof *from->clock);
        memset(lines[k]->level, 0, web->devices * sizeof *from->level);
        for (uint32_t p = 0; p < web->count; p++)
            lines[k]->position[from->task[p]] = p;
        ppi_web_place(search, lines[k], 0, PPI_INFINITE);
    }
}

/* One change of the present order; false if no task can move. */
static void step(struct ppi_web_search *search, const uint32_t *path, uint32_t critical, double allowed, bool *has_changed)
{
    const struct ppi_web *web = search->web;
    struct ppi_web_line *now = &search->tried, *next = &search->next;
    const bool is_critical = critical > 0 && ppi_web_random(search, 4) < 3;
    const uint32_t t = is_critical ? path[ppi_web_random(search, critical)] : ppi_web_random(search, web->count);
    uint32_t low, high, from = now->position[t];
    *has_changed = false;
    ppi_web_find_room(web, now, t, &low, &high);
    search->visits -= 1;
    if (low >= high)
        return;
    uint32_t to = low + ppi_web_random(search, high - low);
    to += to >= from;
    const uint32_t first = from < to ? from : to;
    ppi_web_move(next, from, to);
    memcpy(next->clock + (size_t)first * web->devices, now->clock + (size_t)first * web->devices,
           web->devices * sizeof *now->clock);
    memcpy(next->level + (size_t)first * web->devices, now->level + (size_t)first * web->devices,
           web->devices * sizeof *now->level);
    if (ppi_web_place(search, next, first, allowed)) {
        ppi_web_move(now, from, to);
        copy_from(web, now, next, first);
        *has_changed = true;
        return;
    }
    ppi_web_move(next, to, from);
    for (uint32_t p = first; p < web->count; p++)
        next->end[next->task[p]] = now->end[next->task[p]];
}

static ppsched_status climb(struct ppi_web_search *search, double visits, ppsched_error *error)
{
    const double least = search->visits - visits;
    uint32_t critical = 0, turn = 0;
    bool has_changed = true;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < LENGTH; i++)
        search->history[i] = search->tried.cost;
    while (search->visits > least && ppi_web_goes_on(search) && status == PPSCHED_OK) {
        const double before = search->visits;
        double *late = &search->history[turn++ % LENGTH];
        if (has_changed) {
            critical = list_critical(search, &search->tried, search->room);
            ppi_web_keep(search, &search->tried);
        }
        step(search, search->room, critical, ppi_larger(*late, search->tried.cost), &has_changed);
        *late = search->tried.cost;
        status = ppi_poll_spend(search->poll, before - search->visits, error);
    }
    ppi_web_keep(search, &search->tried);
    return status;
}

ppsched_status ppi_web_climb(struct ppi_web_search *search, double share, ppsched_error *error)
{
    const double visits = search->visits * share / STARTS;
    ppsched_status status = PPSCHED_OK;
    if (search->best.makespan == PPI_INFINITE || !search->keeps_rows)
        return PPSCHED_OK;
    for (int start = 0; start < STARTS && ppi_web_goes_on(search) && status == PPSCHED_OK; start++) {
        begin(search, &search->best);
        status = climb(search, visits, error);
    }
    return status;
}
