/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over all orders in which tasks start, each as early as it can: some best order is among them, as only the
 * queues matter, and a queue's tasks in the order of their starts are placed at these starts. */
#include <string.h>

#include "base/checked.h"
#include "search/web_search.h"

enum { MOST_TASKS = 64 };

struct proof {
    struct ppi_web_search *search;
    const struct ppi_web *web;
    struct ppi_web_line *line;    /* rows by depth */
    uint32_t missing[MOST_TASKS]; /* of what a task waits for, how many are not placed */
    bool is_placed[MOST_TASKS];
    bool are_alike; /* microbatches: those of a first stage may come in order */
    double *left;   /* by device: work that is not placed */
    ppsched_error *error;
    ppsched_status status;
};

/* A choice at a depth. */
struct choice {
    double start;
    uint32_t task;
};

static double start_at(const struct proof *proof, uint32_t depth, uint32_t t)
{
    const struct ppi_web *web = proof->web;
    const struct ppi_task_node *task = &web->tasks[t];
    const double *clock = proof->line->clock + (size_t)depth * web->devices,
                 *level = proof->line->level + (size_t)depth * web->devices;
    double start = 0;
    for (uint32_t i = 0; i < task->device_count; i++) {
        start = ppi_larger(start, clock[task->devices[i]]);
        if (task->starts_with > 0 && level[task->devices[i]] + task->starts_with > web->limit[task->devices[i]])
            return PPI_INFINITE;
    }
    for (uint32_t i = 0; i < task->before_count; i++) {
        const struct ppi_thread *thread = &web->before[task->before_first + i];
        start = ppi_larger(start, proof->line->end[thread->task] + thread->delay);
    }
    return start;
}

/* Whether a better schedule may follow: no device needs too long for what is left. */
static bool may_improve(const struct proof *proof, uint32_t depth)
{
    const struct ppi_web *web = proof->web;
    const double *clock = proof->line->clock + (size_t)depth * web->devices;
    for (uint32_t d = 0; d < web->devices; d++)
        if (clock[d] + proof->left[d] >= proof->search->best.makespan * (1 - 1e-12))
            return false;
    return true;
}

static void place(struct proof *proof, uint32_t depth, const struct choice *choice)
{
    const struct ppi_web *web = proof->web;
    const struct ppi_task_node *task = &web->tasks[choice->task];
    double *clock = proof->line->clock + (size_t)depth * web->devices,
           *level = proof->line->level + (size_t)depth * web->devices;
    const double end = choice->start + task->duration;
    memcpy(clock + web->devices, clock, web->devices * sizeof *clock);
    memcpy(level + web->devices, level, web->devices * sizeof *level);
    for (uint32_t i = 0; i < task->device_count; i++) {
        clock[web->devices + task->devices[i]] = end;
        level[web->devices + task->devices[i]] += task->starts_with + task->ends_with;
        proof->left[task->devices[i]] -= task->duration;
    }
    for (uint32_t i = 0; i < task->after_count; i++)
        proof->missing[web->after[task->after_first + i].task]--;
    proof->is_placed[choice->task] = true;
    proof->line->end[choice->task] = end;
    proof->line->task[depth] = choice->task;
}

static void take_back(struct proof *proof, const struct choice *choice)
{
    const struct ppi_web *web = proof->web;
    const struct ppi_task_node *task = &web->tasks[choice->task];
    for (uint32_t i = 0; i < task->device_count; i++)
        proof->left[task->devices[i]] += task->duration;
    for (uint32_t i = 0; i < task->after_count; i++)
        proof->missing[web->after[task->after_first + i].task]++;
    proof->is_placed[choice->task] = false;
}

static void keep(struct proof *proof)
{
    struct ppi_web_line *line = proof->line;
    const double *clock = line->clock + (size_t)proof->web->count * proof->web->devices;
    line->makespan = 0;
    for (uint32_t d = 0; d < proof->web->devices; d++)
        line->makespan = ppi_larger(line->makespan, clock[d]);
    line->cost = line->makespan;
    ppi_web_keep(proof->search, line);
}

/* Whether the F of the first stage of an earlier, equal microbatch is not placed yet. */
static bool is_out_of_turn(const struct proof *proof, uint32_t t)
{
    const struct ppi_task_node *task = &proof->web->tasks[t];
    if (!proof->are_alike || task->op.kind != PPSCHED_KIND_F || task->op.stage != 0 || task->op.microbatch == 0)
        return false;
    for (uint32_t other = 0; other < t; other++)
        if (!proof->is_placed[other] && proof->web->tasks[other].op.kind == PPSCHED_KIND_F &&
            proof->web->tasks[other].op.stage == 0)
            return true;
    return false;
}

/* Lists what may start next, the earliest first; false if what is left cannot be placed in time. */
static bool list_choices(struct proof *proof, uint32_t depth, double since, struct choice *choices, uint32_t *count)
{
    const struct ppi_web *web = proof->web;
    const double most = proof->search->best.makespan * (1 - 1e-12);
    *count = 0;
    for (uint32_t t = 0; t < web->count; t++) {
        if (proof->is_placed[t] || proof->missing[t] > 0)
            continue;
        const struct ppi_task_node *task = &web->tasks[t];
        const double start = start_at(proof, depth, t);
        proof->search->visits -= 1;
        if (start < PPI_INFINITE && ppi_larger(start, since) + task->duration + task->tail >= most)
            return false;
        if (start < since || start == PPI_INFINITE || is_out_of_turn(proof, t))
            continue;
        uint32_t at = (*count)++;
        for (; at > 0 && (choices[at - 1].start > start ||
                          (choices[at - 1].start == start && web->tasks[choices[at - 1].task].tail < task->tail));
             at--)
            choices[at] = choices[at - 1];
        choices[at] = (struct choice){start, t};
    }
    return true;
}

/* All orders that begin with the first `depth` tasks. Not recursive deeper than MOST_TASKS. */
static void branch(struct proof *proof, uint32_t depth, double since)
{
    struct choice choices[MOST_TASKS];
    uint32_t count;
    if (depth == proof->web->count) {
        keep(proof);
        return;
    }
    const double before = proof->search->visits;
    if (!may_improve(proof, depth) || !list_choices(proof, depth, since, choices, &count))
        return;
    proof->status = ppi_poll_spend(proof->search->poll, before - proof->search->visits, proof->error);
    for (uint32_t i = 0; i < count && proof->status == PPSCHED_OK && proof->search->visits > 0; i++) {
        const struct ppi_task_node *task = &proof->web->tasks[choices[i].task];
        if (choices[i].start + task->duration + task->tail >= proof->search->best.makespan * (1 - 1e-12))
            continue;
        place(proof, depth, &choices[i]);
        branch(proof, depth + 1, choices[i].start);
        take_back(proof, &choices[i]);
    }
}

/* Whether microbatches may change places. */
static bool are_alike(const struct ppi_web *web)
{
    const struct ppi_task_node *tasks = web->tasks;
    const uint32_t each = web->count / (tasks[web->count - 1].op.microbatch + 1);
    if (tasks[0].op.stage != 0)
        return false;
    for (uint32_t t = 0; t < web->count; t++) {
        const struct ppi_task_node *first = &tasks[t % each];
        if (tasks[t].op.microbatch != t / each || tasks[t].op.kind != first->op.kind || tasks[t].op.stage != first->op.stage ||
            tasks[t].op.slice != 0 || tasks[t].duration != first->duration || tasks[t].starts_with != first->starts_with)
            return false;
    }
    return true;
}

ppsched_status ppi_web_prove(struct ppi_web_search *search, ppsched_error *error)
{
    const struct ppi_web *web = search->web;
    struct proof proof = {.search = search, .web = web, .line = &search->next, .error = error};
    if (web->count > MOST_TASKS || web->count == 0 || !search->keeps_rows)
        return PPSCHED_OK;
    proof.left = ppi_arena_take(search->arena, web->devices, sizeof *proof.left);
    ppsched_status status = ppi_arena_check(search->arena, "the search", error);
    if (status != PPSCHED_OK)
        return status;
    memcpy(proof.left, web->work, web->devices * sizeof *proof.left);
    memset(search->next.clock, 0, web->devices * sizeof *search->next.clock);
    memset(search->next.level, 0, web->devices * sizeof *search->next.level);
    proof.are_alike = are_alike(web);
    for (uint32_t t = 0; t < web->count; t++)
        proof.missing[t] = web->tasks[t].before_count;
    branch(&proof, 0, 0);
    search->is_proved = proof.status == PPSCHED_OK && search->visits > 0;
    return proof.status;
}
