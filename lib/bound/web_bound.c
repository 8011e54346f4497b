/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of a problem with a stage graph: the longest path, and each device alone. */
#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"
#include "bound/web.h"

/* A device's tasks as jobs of one machine. */
struct machine {
    const struct ppi_web *web;
    uint32_t *jobs, count;   /* by head */
    uint32_t *heap, waiting; /* jobs whose heads are over, the longest tail on top */
    double *left;            /* by task: of its duration */
};

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ppi_task_node *tasks = ((const struct ppi_web *)context)->tasks;
    return tasks[a].head != tasks[b].head ? tasks[a].head < tasks[b].head : a < b;
}

static bool is_urgent(const struct machine *m, uint32_t a, uint32_t b)
{
    return m->web->tasks[a].tail > m->web->tasks[b].tail;
}

static void push(struct machine *m, uint32_t task)
{
    uint32_t at = m->waiting++;
    for (; at > 0 && is_urgent(m, task, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = task;
}

static void pop(struct machine *m)
{
    const uint32_t task = m->heap[--m->waiting];
    uint32_t at = 0, child;
    for (; (child = 2 * at + 1) < m->waiting; at = child) {
        if (child + 1 < m->waiting && is_urgent(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!is_urgent(m, m->heap[child], task))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = task;
}

/* Runs the job with the longest tail of those whose heads are over, preempted by jobs that come: the largest end plus tail. */
static double run_machine(struct machine *m)
{
    const struct ppi_task_node *tasks = m->web->tasks;
    double clock = 0, most = 0;
    uint32_t next = 0;
    m->waiting = 0;
    for (uint32_t i = 0; i < m->count; i++)
        m->left[m->jobs[i]] = tasks[m->jobs[i]].duration;
    while (next < m->count || m->waiting > 0) {
        if (m->waiting == 0)
            clock = ppi_larger(clock, tasks[m->jobs[next]].head);
        while (next < m->count && tasks[m->jobs[next]].head <= clock)
            push(m, m->jobs[next++]);
        const uint32_t job = m->heap[0];
        const double end = clock + m->left[job];
        if (next < m->count && tasks[m->jobs[next]].head < end) {
            m->left[job] -= tasks[m->jobs[next]].head - clock;
            clock = tasks[m->jobs[next]].head;
            continue;
        }
        pop(m);
        clock = end;
        most = ppi_larger(most, clock + tasks[job].tail);
    }
    return most;
}

static void list_jobs(struct machine *m, uint32_t device)
{
    m->count = 0;
    for (uint32_t t = 0; t < m->web->count; t++)
        for (uint32_t i = 0; i < m->web->tasks[t].device_count; i++)
            if (m->web->tasks[t].devices[i] == device)
                m->jobs[m->count++] = t;
}

ppsched_status ppi_web_find_bound(struct ppi_web_bound *out, const struct ppi_web *web, struct ppi_arena *arena,
                                  ppsched_error *error)
{
    struct machine machine = {.web = web,
                              .jobs = ppi_arena_take(arena, web->count, sizeof *machine.jobs),
                              .heap = ppi_arena_take(arena, web->count, sizeof *machine.heap),
                              .left = ppi_arena_take(arena, web->count, sizeof *machine.left)};
    uint32_t *room = ppi_arena_take(arena, web->count, sizeof *room);
    ppsched_status status = ppi_arena_check(arena, "the lower bound", error);
    *out = (struct ppi_web_bound){0};
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t t = 0; t < web->count; t++)
        out->path = ppi_larger(out->path, web->tasks[t].head + web->tasks[t].duration + web->tasks[t].tail);
    for (uint32_t d = 0; d < web->devices; d++) {
        list_jobs(&machine, d);
        uint32_t *jobs = machine.jobs;
        machine.jobs = ppi_sort(jobs, room, machine.count, comes_before, web);
        const double value = run_machine(&machine);
        machine.jobs = jobs;
        out->work = ppi_larger(out->work, web->work[d]);
        if (value > out->one_machine) {
            out->one_machine = value;
            out->device = d;
        }
    }
    return PPSCHED_OK;
}

/* --- memory --- */

/* Whether all of the way from a stage to another has backwards, so that the first is held until the other's is done. */
static void mark_held(const struct ppi_stage_graph *graph, uint32_t stage, bool *held)
{
    for (uint32_t s = 0; s <= stage; s++)
        held[s] = s == stage;
    for (uint32_t s = stage; s-- > 0;)
        for (uint32_t i = graph->consumer_first[s]; i < graph->consumer_first[s + 1]; i++)
            held[s] = held[s] || (graph->consumers[i] <= stage && held[graph->consumers[i]] &&
                                  ppi_stage_has_backward(graph, s) && ppi_stage_has_backward(graph, graph->consumers[i]));
}

/* The least limit that some microbatch needs: at the F of each stage the stages that it is fed by, with backwards, are held. */
static double find_least_limit(const struct ppi_web *web, const struct ppi_stage_graph *graph, bool *held, double *sum)
{
    double least = 0;
    for (uint32_t d = 0; d < web->devices; d++)
        least = ppi_larger(least, web->fixed[d]);
    for (uint32_t t = 0; t < web->count; t++) {
        const struct ppi_task_node *task = &web->tasks[t];
        if (task->op.kind != PPSCHED_KIND_F)
            continue;
        mark_held(graph, task->op.stage, held);
        for (uint32_t i = 0; i < task->device_count; i++)
            sum[task->devices[i]] = web->fixed[task->devices[i]];
        for (uint32_t b = t + 1; b-- > 0 && web->tasks[b].op.microbatch == task->op.microbatch;) {
            const struct ppi_task_node *other = &web->tasks[b];
            if (other->op.kind != PPSCHED_KIND_F || other->op.slice != task->op.slice || !held[other->op.stage])
                continue;
            for (uint32_t i = 0; i < other->device_count; i++)
                for (uint32_t k = 0; k < task->device_count; k++)
                    if (other->devices[i] == task->devices[k])
                        sum[task->devices[k]] += other->starts_with;
        }
        for (uint32_t i = 0; i < task->device_count; i++)
            least = ppi_larger(least, sum[task->devices[i]]);
    }
    return least;
}

/* --- of a config --- */

/* Whether sums of a web's times are exact in any order: all are multiples of 2^-10, and not too large. */
static bool sums_are_exact(const struct ppi_web *web)
{
    const double most = 0x1p40;
    for (uint32_t t = 0; t < web->count; t++) {
        const struct ppi_task_node *task = &web->tasks[t];
        const double values[] = {task->head, task->duration, task->tail};
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
            if (values[i] >= most / web->count || values[i] * 1024 != (double)(int64_t)(values[i] * 1024))
                return false;
    }
    return true;
}

static ppsched_status bound_one(ppsched_bound *out, const struct ppi_web *web, struct ppi_arena *arena, bool by_span,
                                ppsched_error *error)
{
    struct ppi_web_bound found;
    ppsched_status status = ppi_web_find_bound(&found, web, arena, error);
    if (status != PPSCHED_OK)
        return status;
    *out = (ppsched_bound){.size = sizeof *out, .device = found.device};
    out->work = found.work;
    out->fill_drain = by_span ? 0 : found.path;
    out->one_machine = by_span ? 0 : found.one_machine;
    out->value = ppi_larger(
        out->work, ppi_larger(out->fill_drain, sums_are_exact(web) ? out->one_machine : out->one_machine * (1 - 1e-12)));
    return PPSCHED_OK;
}

ppsched_status ppi_graph_bound(ppsched_bound *out, const ppsched_config *config, const struct ppi_bound_question *question,
                               ppsched_error *error)
{
    struct ppi_arena arena = {.host = &config->host};
    ppsched_config once = *config;
    struct ppi_web web = {0};
    ppsched_bound bound;
    once.shape.iterations = 1;
    ppsched_status status = ppi_web_make(&web, &arena, &once, question->placement, PPI_WEB_RELAXED, error);
    if (status == PPSCHED_OK)
        status = bound_one(&bound, &web, &arena, question->objective == PPSCHED_OBJECTIVE_SPAN, error);
    bool *held = ppi_arena_take(&arena, config->shape.stages, sizeof *held);
    double *sum = ppi_arena_take(&arena, config->shape.devices, sizeof *sum);
    if (status == PPSCHED_OK)
        status = ppi_arena_check(&arena, "the lower bound", error);
    if (status == PPSCHED_OK) {
        bound.least_limit = find_least_limit(&web, config->graph, held, sum);
        *out = bound;
    }
    ppi_placement_clear(&web.place, &config->host);
    ppi_arena_clear(&arena);
    return status;
}
