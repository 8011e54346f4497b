/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of tasks, and list schedules: of the tasks whose inputs have been placed, and whose memory fits, the one that can start
 * first comes next. Only microbatches of a window from the lowest unfinished one on compete, so that memory does not run out
 * with all of them begun: with a window of one, what fits at all is placed. */
#include "search/web_search.h"

#include <string.h>

#include "base/checked.h"

/* Measured: docs/performance.md. */
enum { MOST_ROWS = 4000000, HISTORY = 4000, RULES = 3, WINDOWS = 10 };

static ppsched_status make_line(struct ppi_web_line *out, struct ppi_web_search *search, bool has_rows, ppsched_error *error)
{
    const struct ppi_web *web = search->web;
    const size_t rows = (has_rows ? (size_t)web->count + 1 : 1) * web->devices;
    *out = (struct ppi_web_line){.task = ppi_arena_take(search->arena, web->count, sizeof *out->task),
                                 .position = ppi_arena_take(search->arena, web->count, sizeof *out->position),
                                 .end = ppi_arena_take(search->arena, web->count, sizeof *out->end),
                                 .clock = ppi_arena_take_zeroed(search->arena, rows, sizeof *out->clock),
                                 .level = ppi_arena_take_zeroed(search->arena, rows, sizeof *out->level),
                                 .makespan = PPI_INFINITE,
                                 .cost = PPI_INFINITE};
    return ppi_arena_check(search->arena, "the search", error);
}

ppsched_status ppi_web_search_make(struct ppi_web_search *out, const struct ppi_web *web, double bound, double visits,
                                   struct ppi_arena *arena, struct ppi_poll *poll, ppsched_error *error)
{
    *out = (struct ppi_web_search){.web = web,
                                   .arena = arena,
                                   .poll = poll,
                                   .keeps_rows = (double)web->count * web->devices <= MOST_ROWS,
                                   .bound = bound * (1 + 1e-9),
                                   .visits = visits,
                                   .seed = 88172645463325252u};
    ppsched_status status = make_line(&out->best, out, false, error);
    if (status == PPSCHED_OK)
        status = make_line(&out->tried, out, out->keeps_rows, error);
    if (status == PPSCHED_OK)
        status = make_line(&out->next, out, out->keeps_rows, error);
    out->room = ppi_arena_take(arena, web->count, sizeof *out->room);
    out->ready = ppi_arena_take(arena, web->count, sizeof *out->ready);
    out->history = ppi_arena_take(arena, HISTORY, sizeof *out->history);
    return status == PPSCHED_OK ? ppi_arena_check(arena, "the search", error) : status;
}

/* When a task can start after what is placed; infinite if its memory does not fit. */
static double start_of(const struct ppi_web *web, const struct ppi_task_node *task, const double *end, const double *clock,
                       const double *level)
{
    double start = 0;
    for (uint32_t i = 0; i < task->device_count; i++) {
        const uint32_t d = task->devices[i];
        start = ppi_larger(start, clock[d]);
        if (level[d] + task->starts_with > web->limit[d] && task->starts_with > 0)
            return PPI_INFINITE;
    }
    for (uint32_t i = 0; i < task->before_count; i++) {
        const struct ppi_thread *thread = &web->before[task->before_first + i];
        start = ppi_larger(start, end[thread->task] + thread->delay);
    }
    return start;
}

bool ppi_web_place(struct ppi_web_search *search, struct ppi_web_line *line, uint32_t from, double most)
{
    const struct ppi_web *web = search->web;
    const size_t row = search->keeps_rows ? web->devices : 0, size = web->devices * sizeof(double);
    double *clock = line->clock + from * row, *level = line->level + from * row, sum = 0;
    line->makespan = 0;
    for (uint32_t p = from; p < web->count; p++) {
        const struct ppi_task_node *task = &web->tasks[line->task[p]];
        const double start = start_of(web, task, line->end, clock, level), end = start + task->duration;
        search->visits -= 1;
        if (start == PPI_INFINITE || !(end + task->tail <= most))
            return false;
        if (row > 0) {
            memcpy(clock + row, clock, size);
            memcpy(level + row, level, size);
            clock += row;
            level += row;
        }
        line->end[line->task[p]] = end;
        for (uint32_t i = 0; i < task->device_count; i++) {
            clock[task->devices[i]] = end;
            level[task->devices[i]] += task->starts_with + task->ends_with;
        }
    }
    for (uint32_t t = 0; t < web->count; t++)
        sum += line->end[t];
    for (uint32_t d = 0; d < web->devices; d++)
        line->makespan = ppi_larger(line->makespan, clock[d]);
    line->cost = line->makespan + 0.02 * sum / web->count;
    return line->cost <= most;
}

void ppi_web_keep(struct ppi_web_search *search, const struct ppi_web_line *line)
{
    const struct ppi_web *web = search->web;
    if (!(line->makespan < search->best.makespan))
        return;
    search->best.makespan = search->poll->best = line->makespan;
    search->best.cost = line->cost;
    memcpy(search->best.task, line->task, web->count * sizeof *line->task);
    memcpy(search->best.end, line->end, web->count * sizeof *line->end);
}

/* --- list schedules --- */

/* Whether a task comes before another that can start at the same time. */
static bool is_preferred(const struct ppi_web *web, uint32_t a, uint32_t b, int rule)
{
    const struct ppi_task_node *x = &web->tasks[a], *y = &web->tasks[b];
    const bool x_later = x->op.kind == PPSCHED_KIND_W, y_later = y->op.kind == PPSCHED_KIND_W;
    const bool x_back = x->op.kind != PPSCHED_KIND_F, y_back = y->op.kind != PPSCHED_KIND_F;
    if (x_later != y_later)
        return y_later;
    if (rule == 0 && x_back != y_back)
        return x_back;
    if (rule == 1 && x_back != y_back)
        return y_back;
    if (x->tail != y->tail)
        return x->tail > y->tail;
    return a < b;
}

/* The next task of a list schedule, as an index into the ready ones; PPSCHED_NONE if none can be placed. */
static uint32_t next_ready(struct ppi_web_search *search, const struct ppi_web_line *line, uint32_t ready, uint32_t below,
                           int rule)
{
    const struct ppi_web *web = search->web;
    uint32_t best = PPSCHED_NONE;
    double first = PPI_INFINITE;
    for (uint32_t i = 0; i < ready; i++) {
        const uint32_t t = search->ready[i];
        if (web->tasks[t].op.microbatch >= below)
            continue;
        const double start = start_of(web, &web->tasks[t], line->end, line->clock, line->level);
        search->visits -= 1;
        if (start < first || (start == first && start < PPI_INFINITE && is_preferred(web, t, search->ready[best], rule))) {
            first = start;
            best = i;
        }
    }
    return best;
}

static void put(struct ppi_web_search *search, struct ppi_web_line *line, uint32_t p, uint32_t t)
{
    const struct ppi_web *web = search->web;
    const struct ppi_task_node *task = &web->tasks[t];
    line->task[p] = t;
    line->end[t] = start_of(web, task, line->end, line->clock, line->level) + task->duration;
    for (uint32_t i = 0; i < task->device_count; i++) {
        line->clock[task->devices[i]] = line->end[t];
        line->level[task->devices[i]] += task->starts_with + task->ends_with;
    }
}

/* Makes a list schedule in the first row of a line; false if memory does not allow it. */
static bool list(struct ppi_web_search *search, struct ppi_web_line *line, uint32_t window, int rule)
{
    const struct ppi_web *web = search->web;
    uint32_t ready = 0, lowest = 0; /* lowest: tasks are made microbatch by microbatch */
    memset(line->clock, 0, web->devices * sizeof *line->clock);
    memset(line->level, 0, web->devices * sizeof *line->level);
    for (uint32_t t = 0; t < web->count; t++) {
        line->position[t] = PPSCHED_NONE;
        search->room[t] = web->tasks[t].before_count;
        if (search->room[t] == 0)
            search->ready[ready++] = t;
    }
    for (uint32_t p = 0; p < web->count; p++) {
        while (line->position[lowest] != PPSCHED_NONE)
            lowest++;
        const uint32_t i = next_ready(search, line, ready, web->tasks[lowest].op.microbatch + window, rule);
        if (i == PPSCHED_NONE)
            return false;
        const uint32_t t = search->ready[i];
        search->ready[i] = search->ready[--ready];
        put(search, line, p, t);
        line->position[t] = p;
        for (uint32_t k = 0; k < web->tasks[t].after_count; k++) {
            const uint32_t after = web->after[web->tasks[t].after_first + k].task;
            if (--search->room[after] == 0)
                search->ready[ready++] = after;
        }
    }
    return true;
}

/* Lists in the order of a rule may start tasks out of turn; placed anew in that order they start the same. */
static void offer(struct ppi_web_search *search, struct ppi_web_line *line)
{
    memset(line->clock, 0, search->web->devices * sizeof *line->clock);
    memset(line->level, 0, search->web->devices * sizeof *line->level);
    if (ppi_web_place(search, line, 0, PPI_INFINITE))
        ppi_web_keep(search, line);
}

/* The tasks in the order in which they are made, each W behind its I: one microbatch after another. */
static void offer_one_by_one(struct ppi_web_search *search)
{
    for (uint32_t t = 0; t < search->web->count; t++)
        search->tried.task[t] = t;
    offer(search, &search->tried);
}

ppsched_status ppi_web_list(struct ppi_web_search *search, ppsched_error *error)
{
    const struct ppi_web *web = search->web;
    const uint32_t last = web->count > 0 ? web->tasks[web->count - 1].op.microbatch + 1 : 1;
    ppsched_status status = PPSCHED_OK;
    offer_one_by_one(search);
    for (uint32_t window = 1, tries = 0; window <= last && tries < WINDOWS && status == PPSCHED_OK; tries++) {
        for (int rule = 0; rule < RULES && status == PPSCHED_OK && ppi_web_goes_on(search); rule++) {
            if (list(search, &search->tried, window, rule))
                offer(search, &search->tried);
            status = ppi_poll_spend(search->poll, 4.0 * web->count, error);
        }
        window = window < 6 ? window + 1 : window * 2;
        if (window > last && tries + 2 < WINDOWS && window < 2 * last)
            window = last;
    }
    return status;
}
