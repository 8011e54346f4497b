/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tasks in planned order and the edges in two passes, which first count and then place them. */
#include "scenario/dispatch.h"

#include "base/checked.h"
#include "base/error.h"

struct making {
    struct ppi_dispatch *dispatch;
    const ppsched_schedule *schedule;
    const struct ppi_costs *costs;
    const struct ppi_scenario_graph *graph;
    const struct ppi_waits *waits;
    uint32_t *task_of; /* by op: task of the unit that begins there */
    uint32_t *node_of; /* by op: node of that unit in the graph */
    uint32_t *filled;  /* by task: number of its edges so far */
};

/* --- what a unit waits for --- */

struct need {
    size_t unit;
    bool is_message;
};

/* The needs of one op: at most three. */
static int needs_of(const struct making *making, const ppsched_op *op, struct need out[3])
{
    const struct ppi_shape *shape = &making->schedule->shape;
    const struct ppi_waits *waits = making->waits;
    const struct ppi_instance *instance = ppi_instance_of(making->costs, making->schedule, op);
    const size_t cell = ppi_cell_of(making->schedule, op), micro_slices = making->schedule->micro_slices;
    int count = 0;
    if (op->kind == PPSCHED_KIND_F) {
        if (op->stage > 0)
            out[count++] = (struct need){waits->forward[cell - micro_slices], instance[-1].device != instance->device};
        if (op->slice > 0)
            out[count++] = (struct need){waits->forward[cell - 1], false};
        return count;
    }
    if (op->kind == PPSCHED_KIND_W) {
        out[count++] = (struct need){waits->backward[cell], false};
        return count;
    }
    out[count++] = (struct need){waits->forward[cell], false};
    if (op->stage + 1u < shape->stages)
        out[count++] = (struct need){waits->backward[cell + micro_slices], instance[1].device != instance->device};
    if (op->slice + 1u < shape->slices)
        out[count++] = (struct need){waits->backward[cell + 1], false};
    return count;
}

/* After which share of a pair the output that an op reads is sent; 0: at its end. */
static double early_of(const struct making *making, const struct need *need, const ppsched_op *reader)
{
    if (making->graph->ends == NULL)
        return 0;
    const struct ppi_ends_in_pair *ends = &making->graph->ends[making->node_of[need->unit]];
    const double end = ends->of[reader->kind != PPSCHED_KIND_F];
    return end >= ends->time ? 0 : end > 0 ? end / ends->time : 1e-300;
}

/* Counts the edges to a unit or, in the second pass, puts them in their places. */
static void add_edges(struct making *making, size_t unit, bool puts)
{
    struct ppi_dispatch *dispatch = making->dispatch;
    const ppsched_op *ops = &making->schedule->ops[unit];
    const struct ppi_scenario_node *node = &making->graph->nodes[making->node_of[unit]];
    const uint32_t task = making->task_of[unit];
    struct need needs[3];
    for (size_t i = 0; i < ppi_unit_length(ops); i++)
        for (int n = needs_of(making, &ops[i], needs); n-- > 0;) {
            uint32_t from = making->task_of[needs[n].unit];
            size_t place = dispatch->tasks[from].first + making->filled[from]++;
            dispatch->tasks[task].needs += puts;
            if (puts)
                dispatch->edges[place] = (struct ppi_release_edge){from,
                                                                   task,
                                                                   needs[n].is_message,
                                                                   needs[n].is_message ? node->delay[i] : 0,
                                                                   needs[n].is_message ? node->message_stream[i] : 0,
                                                                   needs[n].is_message ? early_of(making, &needs[n], &ops[i])
                                                                                       : 0};
        }
}

static void add_all_edges(struct making *making, bool puts)
{
    for (uint32_t d = 0; d < making->dispatch->devices; d++) {
        const ppsched_queue *queue = &making->schedule->queues[d];
        for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i]))
            if (ppi_is_compute(queue->ops[i].kind))
                add_edges(making, queue->first + i, puts);
    }
}

static ppsched_status make_edges(struct making *making, ppsched_error *error)
{
    struct ppi_dispatch *dispatch = making->dispatch;
    size_t count = 0;
    add_all_edges(making, false);
    for (uint32_t t = 0; t < dispatch->count; t++) {
        dispatch->tasks[t].first = count;
        count += making->filled[t];
        making->filled[t] = 0;
    }
    dispatch->tasks[dispatch->count].first = count;
    if (count >= UINT32_MAX)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the schedule has too many ops for scenarios");
    dispatch->edges = ppi_allocate(&dispatch->host, count, sizeof *dispatch->edges);
    if (dispatch->edges == NULL)
        return ppi_fail_memory(error, "the scenarios");
    add_all_edges(making, true);
    return PPSCHED_OK;
}

/* --- tasks --- */

static struct ppi_dispatch_task task_of_unit(const struct making *making, size_t unit, uint32_t device)
{
    const ppsched_op *ops = &making->schedule->ops[unit];
    const struct ppi_scenario_node *node = &making->graph->nodes[making->node_of[unit]];
    struct ppi_dispatch_task task = {.device = device, .stage = ops->stage, .duration = node->duration, .stream = node->stream};
    for (size_t i = 0; i < ppi_unit_length(ops); i++) {
        task.taken += ppi_rise_of(making->costs, making->schedule, &ops[i]);
        if (ops[i].kind == PPSCHED_KIND_F)
            task.taken += ppi_memory_of(making->costs, making->schedule, &ops[i]);
        else
            task.given -= ppi_released_of(making->costs, making->schedule, &ops[i]);
    }
    task.takes = task.taken > 0;
    return task;
}

/* Adds a device's tasks, where its runs begin, and its memory in planned order. Returns the peak of that. */
static double add_tasks(struct making *making, uint32_t device)
{
    struct ppi_dispatch *dispatch = making->dispatch;
    const ppsched_queue *queue = &making->schedule->queues[device];
    uint32_t *begin = &dispatch->begin[(size_t)device * (dispatch->runs + 1)], run = 0;
    double level = 0, most = 0;
    begin[0] = dispatch->count;
    for (size_t i = 0; i < queue->count; i += ppi_unit_length(&queue->ops[i])) {
        if (!ppi_is_compute(queue->ops[i].kind))
            continue;
        uint32_t iteration = queue->ops[i].microbatch / making->schedule->shape.microbatches;
        while (run < iteration && run + 1 < dispatch->runs)
            begin[++run] = dispatch->count;
        struct ppi_dispatch_task task = task_of_unit(making, queue->first + i, device);
        making->task_of[queue->first + i] = dispatch->count;
        dispatch->level[dispatch->count] = level + task.taken;
        most = ppi_larger(most, level + task.taken);
        level += task.taken - task.given;
        dispatch->tasks[dispatch->count++] = task;
    }
    while (run < dispatch->runs)
        begin[++run] = dispatch->count;
    return most;
}

/* A device may hold its limit or, without a limit or if the plan is over it, its planned peak. */
static void add_device(struct making *making, const ppsched_timeline *timeline, uint32_t device)
{
    struct ppi_dispatch *dispatch = making->dispatch;
    const ppsched_device_metrics *metrics = &timeline->devices[device];
    double most = add_tasks(making, device), limit = metrics->memory_limit;
    dispatch->base[device] = metrics->peak_memory - most;
    dispatch->cap[device] = ppi_is_finite(limit) && limit > metrics->peak_memory ? limit - dispatch->base[device] : most;
}

/* --- all of it --- */

static ppsched_status fill(struct making *making, const ppsched_timeline *timeline, ppsched_error *error)
{
    struct ppi_dispatch *dispatch = making->dispatch;
    for (uint32_t n = 1; n < making->graph->count; n++)
        if (making->graph->nodes[n].device != PPSCHED_NONE)
            making->node_of[making->graph->nodes[n].op] = n;
    for (uint32_t d = 0; d < dispatch->devices; d++)
        add_device(making, timeline, d);
    return make_edges(making, error);
}

static ppsched_status make_in(struct making *making, const ppsched_timeline *timeline, ppsched_error *error)
{
    struct ppi_dispatch *dispatch = making->dispatch;
    const struct ppi_host *host = &dispatch->host;
    const size_t ops = (size_t)making->schedule->op_count;
    dispatch->tasks = ppi_allocate_zeroed(host, ops + 1, sizeof *dispatch->tasks);
    dispatch->level = ppi_allocate(host, ops, sizeof *dispatch->level);
    dispatch->begin = ppi_allocate(host, dispatch->devices, (dispatch->runs + 1) * sizeof *dispatch->begin);
    dispatch->cap = ppi_allocate(host, dispatch->devices, sizeof *dispatch->cap);
    dispatch->base = ppi_allocate(host, dispatch->devices, sizeof *dispatch->base);
    making->task_of = ppi_allocate(host, ops, sizeof *making->task_of);
    making->node_of = ppi_allocate(host, ops, sizeof *making->node_of);
    making->filled = ppi_allocate_zeroed(host, ops, sizeof *making->filled);
    bool has_all = dispatch->tasks != NULL && dispatch->level != NULL && dispatch->begin != NULL && dispatch->cap != NULL &&
                   dispatch->base != NULL && making->task_of != NULL && making->node_of != NULL && making->filled != NULL;
    ppsched_status status = has_all ? fill(making, timeline, error) : ppi_fail_memory(error, "the scenarios");
    ppi_release(host, making->task_of);
    ppi_release(host, making->node_of);
    ppi_release(host, making->filled);
    return status;
}

ppsched_status ppi_dispatch_make(struct ppi_dispatch *out, const ppsched_timeline *timeline, const struct ppi_costs *costs,
                                 const struct ppi_scenario_graph *graph, ppsched_error *error)
{
    struct ppi_waits waits;
    struct ppi_dispatch dispatch = {
        .host = timeline->host, .devices = timeline->schedule->shape.devices, .sends_early = graph->ends != NULL};
    struct making making = {
        .dispatch = &dispatch, .schedule = timeline->schedule, .costs = costs, .graph = graph, .waits = &waits};
    dispatch.runs = (uint32_t)timeline->flush_count + 1;
    ppsched_status status = ppi_waits_make(&waits, timeline, error);
    if (status != PPSCHED_OK)
        return status;
    status = make_in(&making, timeline, error);
    ppi_waits_clear(&waits);
    if (status != PPSCHED_OK)
        ppi_dispatch_clear(&dispatch);
    else
        *out = dispatch;
    return status;
}

void ppi_dispatch_clear(struct ppi_dispatch *dispatch)
{
    ppi_release(&dispatch->host, dispatch->tasks);
    ppi_release(&dispatch->host, dispatch->edges);
    ppi_release(&dispatch->host, dispatch->begin);
    ppi_release(&dispatch->host, dispatch->level);
    ppi_release(&dispatch->host, dispatch->cap);
    ppi_release(&dispatch->host, dispatch->base);
}
