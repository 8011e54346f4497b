/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tasks microbatch by microbatch: forwards by stage, then backwards from the last stage on. */
#include "bound/web.h"

#include "base/checked.h"
#include "base/error.h"

struct making {
    struct ppi_web *web;
    const ppsched_config *config;
    const struct ppi_stage_graph *graph;
    const struct ppi_costs *costs;
    ppsched_schedule like; /* the shape and placement, for costs */
    uint32_t *task_of[3];  /* by stage and micro-slice: F; B or I; W. PPSCHED_NONE: none */
    enum ppi_web_form form;
};

static size_t cell_of(const struct making *making, const ppsched_op *op, uint32_t stage)
{
    return (size_t)stage * making->like.micro_slices + ppi_micro_slice_of(&making->config->shape, op);
}

/* Whether backwards are an I and a W. */
static bool is_split(const struct making *making)
{
    return !making->config->has_whole_backwards && making->form != PPI_WEB_WHOLE;
}

/* The time of an op; relaxed, that of I is at most that of B, and that of W the rest of the shorter backward. */
static double duration_of(const struct making *making, const ppsched_op *op)
{
    const double *duration = making->costs->instances[op->stage].duration,
                 factor = ppi_factor_of(making->costs, &making->like, op).time;
    const double whole = ppi_smaller(duration[PPSCHED_KIND_B], duration[PPSCHED_KIND_I] + duration[PPSCHED_KIND_W]);
    if (making->form != PPI_WEB_RELAXED || op->kind == PPSCHED_KIND_F || op->kind == PPSCHED_KIND_B ||
        ppi_stage_is_frozen(making->graph, op->stage))
        return ppi_duration_of(making->costs, &making->like, op);
    const double input = ppi_smaller(duration[PPSCHED_KIND_I], duration[PPSCHED_KIND_B]);
    return (op->kind == PPSCHED_KIND_I ? input : ppi_larger(whole - input, 0)) * factor;
}

static void add_task(struct making *making, uint32_t stage, uint32_t micro_slice, uint8_t kind)
{
    struct ppi_web *web = making->web;
    const ppsched_op op = ppi_op_of_micro_slice(&making->config->shape, micro_slice, stage, kind);
    struct ppi_task_node *task = &web->tasks[web->count];
    *task = (struct ppi_task_node){.op = op, .duration = duration_of(making, &op)};
    const double memory = ppi_memory_of(making->costs, &making->like, &op);
    task->devices = ppi_devices_of(&web->place, stage, &task->device_count);
    if (kind == PPSCHED_KIND_F) {
        task->starts_with = memory;
        task->ends_with = ppi_stage_has_backward(making->graph, stage) ? 0 : -memory;
    } else {
        task->starts_with = ppi_rise_of(making->costs, &making->like, &op);
        task->ends_with = ppi_released_of(making->costs, &making->like, &op);
    }
    making->task_of[kind == PPSCHED_KIND_F ? 0 : kind == PPSCHED_KIND_W ? 2 : 1][cell_of(making, &op, stage)] = web->count++;
    for (uint32_t i = 0; i < task->device_count; i++)
        web->work[task->devices[i]] += task->duration;
}

static void add_backward(struct making *making, uint32_t stage, uint32_t micro_slice)
{
    if (ppi_stage_is_frozen(making->graph, stage)) {
        add_task(making, stage, micro_slice, PPSCHED_KIND_I);
        return;
    }
    const bool splits = is_split(making);
    add_task(making, stage, micro_slice, splits ? PPSCHED_KIND_I : PPSCHED_KIND_B);
    if (splits)
        add_task(making, stage, micro_slice, PPSCHED_KIND_W);
}

static void add_tasks(struct making *making)
{
    const struct ppi_shape *shape = &making->config->shape;
    for (uint32_t m = 0; m < shape->microbatches; m++) {
        for (uint32_t k = 0; k < shape->slices; k++)
            for (uint32_t s = 0; s < shape->stages; s++)
                if (ppi_stage_runs(making->graph, s, m))
                    add_task(making, s, ppi_micro_slice(shape, m, k), PPSCHED_KIND_F);
        for (uint32_t k = shape->slices; k-- > 0 && !making->config->is_forward_only;)
            for (uint32_t s = shape->stages; s-- > 0;)
                if (ppi_stage_runs(making->graph, s, m) && ppi_stage_has_backward(making->graph, s))
                    add_backward(making, s, ppi_micro_slice(shape, m, k));
    }
}

/* Adds a wait of the newest task's list, or counts it only. */
static void wait_for(struct making *making, struct ppi_task_node *task, int what, size_t cell, double delay)
{
    const uint32_t before = making->task_of[what][cell];
    if (before == PPSCHED_NONE)
        return;
    making->web->before[task->before_first + task->before_count++] = (struct ppi_thread){before, delay};
    making->web->tasks[before].after_count++;
}

static void add_waits(struct making *making, struct ppi_task_node *task)
{
    const ppsched_op *op = &task->op;
    const size_t own = cell_of(making, op, op->stage);
    const bool backward = op->kind != PPSCHED_KIND_F;
    const struct ppi_feeds feeds = ppi_feeds_of(making->graph, op->kind, op->stage);
    if (op->kind == PPSCHED_KIND_W) {
        wait_for(making, task, 1, own, 0);
        return;
    }
    if (backward)
        wait_for(making, task, 0, own, 0);
    if (backward && op->slice + 1u < making->config->shape.slices)
        wait_for(making, task, 1, own + 1, 0);
    if (!backward && op->slice > 0)
        wait_for(making, task, 0, own - 1, 0);
    for (uint32_t i = 0; i < feeds.count; i++)
        wait_for(making, task, backward, cell_of(making, op, feeds.stages[i]),
                 ppi_link_delay_of(making->costs, &making->like, op, ppi_feed_link(&feeds, i), backward));
}

static void link_after(struct ppi_web *web)
{
    uint32_t filled = 0;
    for (uint32_t t = 0; t < web->count; t++) {
        web->tasks[t].after_first = filled;
        filled += web->tasks[t].after_count;
        web->tasks[t].after_count = 0;
    }
    for (uint32_t t = 0; t < web->count; t++)
        for (uint32_t i = 0; i < web->tasks[t].before_count; i++) {
            const struct ppi_thread *thread = &web->before[web->tasks[t].before_first + i];
            struct ppi_task_node *before = &web->tasks[thread->task];
            web->after[before->after_first + before->after_count++] = (struct ppi_thread){t, thread->delay};
        }
}

/* Heads and tails along the longest paths. Each task is after all that it waits for. */
static void find_paths(struct ppi_web *web)
{
    for (uint32_t t = 0; t < web->count; t++)
        for (uint32_t i = 0; i < web->tasks[t].before_count; i++) {
            const struct ppi_thread *thread = &web->before[web->tasks[t].before_first + i];
            const struct ppi_task_node *before = &web->tasks[thread->task];
            web->tasks[t].head = ppi_larger(web->tasks[t].head, before->head + before->duration + thread->delay);
        }
    for (uint32_t t = web->count; t-- > 0;)
        for (uint32_t i = 0; i < web->tasks[t].after_count; i++) {
            const struct ppi_thread *thread = &web->after[web->tasks[t].after_first + i];
            const struct ppi_task_node *after = &web->tasks[thread->task];
            web->tasks[t].tail = ppi_larger(web->tasks[t].tail, thread->delay + after->duration + after->tail);
        }
}

static void find_limits(struct making *making)
{
    struct ppi_web *web = making->web;
    const struct ppi_values *limits = &making->config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    web->has_limits = limits->values != NULL;
    for (uint32_t d = 0; d < web->devices; d++)
        ppi_add_other_memory(&web->fixed[d], making->config, d);
    for (uint32_t s = 0; s < making->config->shape.stages; s++) {
        uint32_t count;
        const uint32_t *devices = ppi_devices_of(&web->place, s, &count);
        for (uint32_t i = 0; i < count; i++)
            ppi_add_static_memory(&web->fixed[devices[i]], making->config, s, 1);
    }
    for (uint32_t d = 0; d < web->devices; d++) {
        const double limit = web->has_limits ? ppi_value_at(limits, d) : PPI_INFINITE;
        web->limit[d] = limit == PPI_INFINITE ? limit : limit - web->fixed[d] + limit * 1e-10;
    }
}

static ppsched_status take_room(struct making *making, struct ppi_arena *arena, ppsched_error *error)
{
    struct ppi_web *web = making->web;
    const struct ppi_shape *shape = &making->config->shape;
    const size_t cells = (size_t)shape->stages * making->like.micro_slices, most = 3 * cells;
    for (int what = 0; what < 3; what++)
        making->task_of[what] = ppi_arena_take(arena, cells, sizeof *making->task_of[what]);
    const size_t threads = (size_t)2 * (ppi_graph_link_count(making->graph) * (size_t)making->like.micro_slices) + 4 * cells;
    web->tasks = ppi_arena_take(arena, most, sizeof *web->tasks);
    web->before = ppi_arena_take(arena, threads, sizeof *web->before);
    web->after = ppi_arena_take(arena, threads, sizeof *web->after);
    web->limit = ppi_arena_take(arena, shape->devices, sizeof *web->limit);
    web->fixed = ppi_arena_take_zeroed(arena, shape->devices, sizeof *web->fixed);
    web->work = ppi_arena_take_zeroed(arena, shape->devices, sizeof *web->work);
    ppsched_status status = ppi_arena_check(arena, "the problem", error);
    for (int what = 0; what < 3 && status == PPSCHED_OK; what++)
        for (size_t i = 0; i < cells; i++)
            making->task_of[what][i] = PPSCHED_NONE;
    return status;
}

static ppsched_status fill_web(struct making *making, struct ppi_arena *arena, ppsched_error *error)
{
    struct ppi_web *web = making->web;
    ppsched_status status = take_room(making, arena, error);
    if (status != PPSCHED_OK)
        return status;
    add_tasks(making);
    for (uint32_t t = 0, filled = 0; t < web->count; t++) {
        web->tasks[t].before_first = filled;
        add_waits(making, &web->tasks[t]);
        filled += web->tasks[t].before_count;
    }
    link_after(web);
    find_paths(web);
    find_limits(making);
    for (uint32_t t = 0; t < web->count; t++)
        if (!ppi_is_finite(web->tasks[t].head + web->tasks[t].duration + web->tasks[t].tail))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    return PPSCHED_OK;
}

ppsched_status ppi_web_make(struct ppi_web *out, struct ppi_arena *arena, const ppsched_config *config, int32_t placement,
                            enum ppi_web_form form, ppsched_error *error)
{
    struct ppi_costs costs;
    struct making making = {.web = out, .config = config, .graph = config->graph, .costs = &costs, .form = form};
    *out = (struct ppi_web){.devices = config->shape.devices};
    if (ppi_total_micro_slices(&config->shape) > PPSCHED_MAX_CELLS / 64 / config->shape.stages)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%u stage%p and %u microbatch%p of a stage graph are too many to search",
                        config->shape.stages, config->shape.microbatches);
    ppsched_status status = ppi_config_place(&out->place, config, placement, error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&costs, config, &out->place, error);
    if (status != PPSCHED_OK)
        return status;
    making.like.shape = config->shape;
    making.like.micro_slices = ppi_total_micro_slices(&config->shape);
    making.like.placement = out->place;
    costs.overlapped = (struct ppi_values){0};
    status = fill_web(&making, arena, error);
    ppi_costs_clear(&costs);
    return status;
}
