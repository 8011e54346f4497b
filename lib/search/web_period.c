/* SPDX-License-Identifier: Apache-2.0 */
/* The search for an order that repeats fast: each device runs its tasks again and again, and nothing waits for the end of all.
 * Late acceptance over lines of tasks, as in web_climb.c; a line is timed by repeating it. */
#include <string.h>

#include "base/checked.h"
#include "base/cycle_mean.h"
#include "search/web_search.h"

/* Measured: docs/performance.md. */
enum { LENGTH = 200, STARTS = 8 };

/* Of the cost, beside the time of a repetition: so that lines of the same time differ. */
#define SHARE_OF_ENDS 0.01

/* How much more than the order that it begins with a climb may cost at first, for each climb before it. */
#define LOOSER 0.1

struct repeating {
    struct ppi_web_search *search;
    double *ends, *clock; /* by repetition and device; by device */
    double cost, best, time;
};

/* Runs the tasks of a line once more, after all that ran before. Returns the sum of their ends. */
static double run_once(struct repeating *repeating, const struct ppi_web_line *line)
{
    const struct ppi_web *web = repeating->search->web;
    double sum = 0;
    for (uint32_t p = 0; p < web->count; p++) {
        const struct ppi_task_node *task = &web->tasks[line->task[p]];
        double start = 0;
        for (uint32_t i = 0; i < task->device_count; i++)
            start = ppi_larger(start, repeating->clock[task->devices[i]]);
        for (uint32_t i = 0; i < task->before_count; i++) {
            const struct ppi_thread *thread = &web->before[task->before_first + i];
            start = ppi_larger(start, line->end[thread->task] + thread->delay);
        }
        line->end[line->task[p]] = start + task->duration;
        for (uint32_t i = 0; i < task->device_count; i++)
            repeating->clock[task->devices[i]] = start + task->duration;
        sum += start + task->duration;
    }
    repeating->search->visits -= web->count;
    return sum;
}

/* The cost of a line; `time`: of a repetition in the long run. */
static double cost_of(struct repeating *repeating, const struct ppi_web_line *line)
{
    const struct ppi_web *web = repeating->search->web;
    const uint32_t most = web->devices < 2 ? 2 : web->devices < PPI_MOST_REPETITIONS ? web->devices : PPI_MOST_REPETITIONS;
    uint32_t count = 0;
    bool is_known = false;
    double sum = 0;
    memset(repeating->clock, 0, web->devices * sizeof *repeating->clock);
    while (!is_known && count < most) {
        const double ends = run_once(repeating, line);
        sum = count == 0 ? ends : sum;
        memcpy(repeating->ends + (size_t)++count * web->devices, repeating->clock, web->devices * sizeof *repeating->clock);
        is_known = ppi_repeats(&repeating->time, repeating->ends, web->devices, count, repeating->search->bound);
    }
    if (!is_known)
        repeating->time = ppi_cycle_mean(repeating->ends, web->devices, count);
    return repeating->time + SHARE_OF_ENDS * sum / web->count;
}

static void keep(struct repeating *repeating)
{
    struct ppi_web_search *search = repeating->search;
    if (!(repeating->time < repeating->best))
        return;
    repeating->best = search->best.makespan = search->poll->best = repeating->time;
    memcpy(search->best.task, search->tried.task, search->web->count * sizeof *search->best.task);
}

/* One change of the present order, which stays if it costs at most `allowed`. */
static void step(struct repeating *repeating, double allowed)
{
    struct ppi_web_search *search = repeating->search;
    struct ppi_web_line *line = &search->tried;
    const uint32_t t = ppi_web_random(search, search->web->count), from = line->position[t];
    uint32_t low, high;
    ppi_web_find_room(search->web, line, t, &low, &high);
    search->visits -= 1;
    if (low >= high)
        return;
    uint32_t to = low + ppi_web_random(search, high - low);
    to += to >= from;
    ppi_web_move(line, from, to);
    const double cost = cost_of(repeating, line);
    if (cost > ppi_larger(allowed, repeating->cost)) {
        ppi_web_move(line, to, from);
        return;
    }
    repeating->cost = cost;
    keep(repeating);
}

static ppsched_status climb(struct repeating *repeating, double visits, double looseness, ppsched_error *error)
{
    struct ppi_web_search *search = repeating->search;
    const double least = search->visits - visits;
    uint32_t turn = 0;
    ppsched_status status = PPSCHED_OK;
    memcpy(search->tried.task, search->best.task, search->web->count * sizeof *search->best.task);
    for (uint32_t p = 0; p < search->web->count; p++)
        search->tried.position[search->tried.task[p]] = p;
    repeating->cost = cost_of(repeating, &search->tried);
    keep(repeating);
    for (int i = 0; i < LENGTH; i++)
        search->history[i] = repeating->cost * (1 + looseness);
    while (search->visits > least && ppi_web_goes_on(search) && status == PPSCHED_OK) {
        const double before = search->visits;
        double *late = &search->history[turn++ % LENGTH];
        step(repeating, *late);
        *late = repeating->cost;
        status = ppi_poll_spend(search->poll, before - search->visits, error);
    }
    return status;
}

ppsched_status ppi_web_repeat(struct ppi_web_search *search, ppsched_error *error)
{
    const struct ppi_web *web = search->web;
    struct repeating repeating = {.search = search, .best = PPI_INFINITE};
    double visits = ppi_larger(search->visits, 0) / STARTS;
    if (search->best.makespan == PPI_INFINITE || web->count == 0)
        return PPSCHED_OK;
    repeating.ends = ppi_arena_take_zeroed(search->arena, PPI_MOST_REPETITIONS + 1, web->devices * sizeof *repeating.ends);
    repeating.clock = ppi_arena_take(search->arena, web->devices, sizeof *repeating.clock);
    ppsched_status status = ppi_arena_check(search->arena, "the search", error);
    search->bound = 0;
    for (uint32_t d = 0; d < web->devices; d++)
        search->bound = ppi_larger(search->bound, web->work[d] * (1 + 1e-12));
    for (int start = 0; start < STARTS && status == PPSCHED_OK; start++)
        status = climb(&repeating, visits, LOOSER * start, error);
    return status;
}
