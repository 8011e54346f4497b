/* SPDX-License-Identifier: Apache-2.0 */
/* The outlook of a candidate: its lower bound, and bounds from the order of single devices. Such a device runs its queue as if
 * all other devices were free at any time: an op waits only for the path of its own microbatch, from where that was last on the
 * device. That takes the work of one device, not of all, and finds most of what a group size costs: the warm-up, the wait for
 * what comes back, and the memory, which follows from the order alone. Where lowering or offload takes much longer than that,
 * the order is timed without them. */
#include "candidate/outlook.h"

#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "ir/other_memory.h"

/* Devices that are looked at: the first, the last and the one with the most work. */
enum { LOOKS = 3 };

/* Sums of other paths may be larger by rounding: less than this share. */
#define ROUNDING 0x1p-45

/* A stage: its costs, and the path of a microbatch from where it was last on the stage's device. */
struct stage {
    double forward, input, weight, whole;
    double back;            /* the least time of the backward that the stage before waits for */
    double from_start;      /* path from the start to F */
    double from_end;        /* path from the end of the last F to the backward */
    uint32_t before, after; /* the nearest stages on the same device; PPSCHED_NONE: none */
    uint32_t place;         /* among the stages of its device */
};

struct outlook {
    struct ppi_arena arena;
    const ppsched_plan *plan;
    const ppsched_config *config;
    const struct ppi_task *task;
    struct ppi_placement placement;
    struct ppi_costs costs;
    struct stage *stages;
    double path; /* of one microbatch through all stages and back */
    double end;  /* least time from the end of a backward that stage 0 waits for, at stage 0, to that of its pass */
    ppsched_op *ops;
    double *forward, *backward; /* ends, by the device's stage and the microbatch */
};

/* --- the stages --- */

static void read_costs(struct outlook *outlook)
{
    const bool splits = outlook->task->strategy->splits_backward;
    for (uint32_t s = 0; s < outlook->config->shape.stages; s++) {
        const double *duration = outlook->costs.instances[s].duration;
        struct stage *stage = &outlook->stages[s];
        stage->forward = duration[PPSCHED_KIND_F];
        stage->input = duration[PPSCHED_KIND_I];
        stage->weight = duration[PPSCHED_KIND_W];
        stage->whole = duration[PPSCHED_KIND_B];
        stage->back = splits ? ppi_smaller(stage->input, stage->whole) : stage->whole;
    }
}

/* Links each stage with the others of its device. `last`: by device, work space. */
static void link_stages(struct outlook *outlook, uint32_t *last)
{
    for (uint32_t d = 0; d < outlook->config->shape.devices; d++)
        last[d] = PPSCHED_NONE;
    for (uint32_t s = 0; s < outlook->config->shape.stages; s++) {
        const uint32_t device = outlook->placement.device_of[s];
        struct stage *stage = &outlook->stages[s];
        stage->before = last[device];
        stage->after = PPSCHED_NONE;
        stage->place = stage->before == PPSCHED_NONE ? 0 : outlook->stages[stage->before].place + 1;
        if (stage->before != PPSCHED_NONE)
            outlook->stages[stage->before].after = s;
        last[device] = s;
    }
}

static void sum_paths(struct outlook *outlook)
{
    const struct ppi_instance *instances = outlook->costs.instances;
    const uint32_t count = outlook->config->shape.stages;
    struct stage *stages = outlook->stages;
    const struct stage *first = &stages[0];
    stages[0].from_start = 0;
    for (uint32_t s = 1; s < count; s++)
        stages[s].from_start = stages[s - 1].from_start + stages[s - 1].forward + instances[s].forward_delay;
    stages[count - 1].from_end = 0;
    for (uint32_t s = count - 1; s-- > 0;)
        stages[s].from_end = stages[s + 1].from_end + stages[s + 1].back + instances[s].backward_delay;
    outlook->path = stages[count - 1].from_start + stages[count - 1].forward;
    outlook->end = 0;
    if (outlook->task->strategy->splits_backward)
        outlook->end = ppi_smaller(first->input + first->weight, first->whole) - first->back;
}

/* Whether copies to the host make its memory less than that of its order. */
static bool saves(const struct ppi_candidate *candidate)
{
    return candidate->offloads || candidate->strategy->offloads;
}

/* --- one device --- */

static double work_of(const struct outlook *outlook, uint32_t device)
{
    double work = 0;
    for (uint32_t s = 0; s < outlook->config->shape.stages; s++) {
        const struct stage *stage = &outlook->stages[s];
        if (outlook->placement.device_of[s] == device)
            work += stage->forward + ppi_smaller(stage->whole, stage->input + stage->weight);
    }
    return work;
}

static uint32_t busiest(const struct outlook *outlook)
{
    uint32_t most = 0;
    for (uint32_t d = 1; d < outlook->config->shape.devices; d++)
        if (work_of(outlook, d) > work_of(outlook, most))
            most = d;
    return most;
}

static size_t pass_of(const struct outlook *outlook, const ppsched_op *op)
{
    return (size_t)outlook->stages[op->stage].place * outlook->config->shape.microbatches + op->microbatch;
}

/* When the input of an op is there at the earliest; `by_span`: counted from the device's own first op. */
static double ready_at(const struct outlook *outlook, const ppsched_op *op, bool by_span)
{
    const struct stage *own = &outlook->stages[op->stage], *other;
    const size_t pass = pass_of(outlook, op), apart = outlook->config->shape.microbatches;
    if (op->kind == PPSCHED_KIND_W)
        return 0;
    if (op->kind == PPSCHED_KIND_F) {
        if (own->before == PPSCHED_NONE)
            return by_span ? 0 : own->from_start;
        other = &outlook->stages[own->before];
        return outlook->forward[pass - apart] + (own->from_start - other->from_start - other->forward);
    }
    if (own->after == PPSCHED_NONE)
        return outlook->forward[pass] + (outlook->path - own->from_start - own->forward) + own->from_end;
    other = &outlook->stages[own->after];
    return outlook->backward[pass + apart] + (own->from_end - other->from_end - other->back);
}

static double duration_of(const struct outlook *outlook, const ppsched_op *op)
{
    return outlook->costs.instances[op->stage].duration[op->kind];
}

/* Time from the end of an op to that of the schedule. */
static double rest_of(const struct outlook *outlook, const ppsched_op *op)
{
    const struct stage *first = &outlook->stages[0], *own = &outlook->stages[op->stage];
    if (op->kind != PPSCHED_KIND_B && op->kind != PPSCHED_KIND_I)
        return 0;
    if (op->stage == 0)
        return op->kind == PPSCHED_KIND_I ? own->weight : 0;
    return first->from_end + first->back - own->from_end - own->back + outlook->end;
}

/* Runs a device's ops one after another; returns when all can have ended. */
static double run_queue(struct outlook *outlook, const ppsched_op *op, const ppsched_op *last, bool by_span)
{
    double clock = 0, end = 0;
    for (size_t length; op < last; op += length) {
        double work = 0, rest = 0;
        length = ppi_unit_length(op);
        for (size_t i = 0; i < length; i++) {
            clock = ppi_larger(clock, ready_at(outlook, &op[i], by_span));
            work += duration_of(outlook, &op[i]);
            rest = ppi_larger(rest, by_span ? 0 : rest_of(outlook, &op[i]));
        }
        clock += work;
        for (size_t i = 0; i < length; i++)
            if (op[i].kind != PPSCHED_KIND_W)
                (op[i].kind == PPSCHED_KIND_F ? outlook->forward : outlook->backward)[pass_of(outlook, &op[i])] = clock;
        end = ppi_larger(end, clock + rest);
    }
    return end;
}

/* The most activations that the order holds, on top of static memory. Where memory of other causes changes too, or rises, only
 * what is sure: an activation from its F to its B or I. */
static double hold(const struct outlook *outlook, uint32_t device, const ppsched_op *op, const ppsched_op *last)
{
    const ppsched_config *config = outlook->config;
    const uint32_t versions = config->weight_versions != 0 ? config->weight_versions : outlook->task->strategy->weight_versions;
    const bool holds_more = ppi_holds_more(config);
    double level = 0, peak;
    for (uint32_t s = 0; s < config->shape.stages; s++)
        if (outlook->placement.device_of[s] == device)
            ppi_add_static_memory(&level, config, s, versions);
    peak = level;
    for (; op < last; op++) {
        const double *memory = outlook->costs.instances[op->stage].memory + PPSCHED_KIND_F;
        if (!holds_more)
            level += ppi_memory_at(memory, op->kind, 1);
        else if (op->kind != PPSCHED_KIND_W)
            level += op->kind == PPSCHED_KIND_F ? memory[0] : -memory[0];
        peak = ppi_larger(peak, level);
    }
    return peak;
}

static void look_at(struct outlook *outlook, struct ppi_outlook *out, const struct ppi_candidate *candidate, uint32_t device)
{
    const struct ppi_values *limit = &outlook->config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    const bool by_span = outlook->plan->objective == PPSCHED_OBJECTIVE_SPAN;
    const struct ppi_shape *shape = &outlook->config->shape;
    const size_t kinds = outlook->task->strategy->splits_backward ? 3 : 2;
    const size_t count = kinds * outlook->task->chunks * shape->microbatches;
    struct ppi_op_writer writer = {.next = outlook->ops, .end = outlook->ops + count, .slices = 1};
    outlook->task->strategy->order(outlook->task, device, &writer);
    out->step = ppi_larger(out->step, run_queue(outlook, outlook->ops, writer.next, by_span) * (1 - ROUNDING));
    if (saves(candidate))
        return;
    double peak = hold(outlook, device, outlook->ops, writer.next) * (1 - ROUNDING);
    out->memory = ppi_larger(out->memory, peak);
    if (limit->values != NULL)
        out->is_over |= ppi_is_over_limit(peak, ppi_value_at(limit, device));
}

static ppsched_status look_at_orders(struct outlook *outlook, struct ppi_outlook *out, const struct ppi_candidate *candidate,
                                     ppsched_error *error)
{
    const struct ppi_shape *shape = &outlook->config->shape;
    const size_t passes = (size_t)outlook->task->chunks * shape->microbatches;
    uint32_t *last = ppi_arena_take(&outlook->arena, shape->devices, sizeof *last);
    outlook->stages = ppi_arena_take(&outlook->arena, shape->stages, sizeof *outlook->stages);
    outlook->ops = ppi_arena_take(&outlook->arena, 3 * passes, sizeof *outlook->ops);
    outlook->forward = ppi_arena_take_zeroed(&outlook->arena, passes, sizeof *outlook->forward);
    outlook->backward = ppi_arena_take_zeroed(&outlook->arena, passes, sizeof *outlook->backward);
    ppsched_status status = ppi_arena_check(&outlook->arena, "the outlook of a candidate", error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&outlook->costs, outlook->config, &outlook->placement, error);
    if (status != PPSCHED_OK)
        return status;
    read_costs(outlook);
    link_stages(outlook, last);
    sum_paths(outlook);
    if (outlook->costs.overlapped.values != NULL || outlook->costs.factors != NULL)
        return PPSCHED_OK;
    const uint32_t looks[LOOKS] = {busiest(outlook), 0, shape->devices - 1};
    for (int i = 0; i < LOOKS; i++)
        if ((i < 1 || looks[i] != looks[0]) && (i < 2 || looks[i] != looks[1]))
            look_at(outlook, out, candidate, looks[i]);
    return PPSCHED_OK;
}

/* --- all of it --- */

/* Whether the order of a device, as the rule writes it, is that of the candidate: a search, slices, forwards alone, two copies
 * of the model and passes on backwards are left to the bound. So is a span over several iterations. */
static bool has_orders(const struct outlook *outlook)
{
    const ppsched_config *config = outlook->config;
    const struct ppi_strategy *strategy = outlook->task->strategy;
    const ppsched_lower_options *lower = &outlook->plan->lower;
    return strategy->order != NULL && strategy->make == NULL && strategy->flushes && config->shape.slices == 1 &&
           !config->is_forward_only && outlook->placement.copies == 1 && outlook->placement.kind != PPSCHED_PLACEMENT_MAP &&
           lower->merge_backwards == 0 && lower->split_backwards == 0 &&
           (outlook->plan->objective != PPSCHED_OBJECTIVE_SPAN || config->shape.iterations == 1);
}

/* The bound of the candidate, and where its backwards are whole, that of problems that need them so. */
static ppsched_status find_bounds(struct outlook *outlook, struct ppi_outlook *out, struct ppi_outlook_bounds *known,
                                  const struct ppi_candidate *candidate, ppsched_config *config, ppsched_error *error)
{
    const struct ppi_strategy *strategy = outlook->task->strategy;
    const uint32_t unflushed = strategy->flushes ? 1 : config->shape.iterations;
    const bool was_whole = config->has_whole_backwards;
    ppsched_status status = ppi_candidate_bound_at(&out->bound, &known->any, outlook->plan, candidate, outlook->placement.kind,
                                                   unflushed, config, error);
    out->step = out->bound;
    if (status != PPSCHED_OK || strategy->splits_backward || was_whole)
        return status;
    config->has_whole_backwards = true;
    status = ppi_candidate_bound_at(&out->step, &known->whole, outlook->plan, candidate, outlook->placement.kind, unflushed,
                                    config, error);
    config->has_whole_backwards = was_whole;
    out->step = ppi_larger(out->step, out->bound);
    return status;
}

enum ppi_outlook_depth ppi_outlook_depth_of(const ppsched_plan *plan, const struct ppi_candidate *candidate)
{
    const bool adds = plan->lower.lowering != PPSCHED_LOWERING_NONE || saves(candidate);
    return adds ? PPI_OUTLOOK_TIMES : PPI_OUTLOOK_ORDERS;
}

/* Activations are held from op to op, so that transfers change nothing. Other memory they may give back earlier. */
static void take_memory(struct ppi_outlook *out, const ppsched_timeline *timeline, const struct ppi_candidate *candidate,
                        bool holds_more)
{
    if (saves(candidate) || holds_more)
        return;
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        const ppsched_device_metrics *device = &timeline->devices[d];
        const double peak = device->peak_memory * (1 - ROUNDING);
        out->memory = ppi_larger(out->memory, peak);
        out->is_over |= ppi_is_over_limit(peak, device->memory_limit);
    }
}

/* Times an iteration of the order by itself: transfers and offload only make it longer. */
static ppsched_status time_order(struct outlook *outlook, struct ppi_outlook *out, const struct ppi_candidate *candidate,
                                 ppsched_error *error)
{
    struct ppi_strategy rule = *candidate->strategy;
    ppsched_config once = *outlook->config;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    rule.finish = NULL;
    once.shape.iterations = 1;
    ppsched_status status = ppi_generate(&schedule, &rule, &once, error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&timeline, schedule, &once, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK) {
        const ppsched_metrics *metrics = &timeline->metrics;
        const double step = outlook->plan->objective == PPSCHED_OBJECTIVE_SPAN ? metrics->span : metrics->makespan;
        out->step = ppi_larger(out->step, step * (1 - ROUNDING));
        take_memory(out, timeline, candidate, ppi_holds_more(&once));
    }
    ppi_timeline_destroy(timeline);
    ppi_schedule_release(schedule);
    return status;
}

ppsched_status ppi_candidate_outlook(struct ppi_outlook *out, struct ppi_outlook_bounds *known, const ppsched_plan *plan,
                                     const struct ppi_candidate *candidate, enum ppi_outlook_depth depth, ppsched_error *error)
{
    struct ppi_task task;
    ppsched_config *config = NULL;
    ppsched_status status = ppi_candidate_config(&config, plan, candidate, error);
    if (status != PPSCHED_OK)
        return status;
    struct outlook outlook = {.arena = {.host = &config->host}, .plan = plan, .config = config, .task = &task};
    outlook.costs.host = config->host;
    status = ppi_task_make(&task, candidate->strategy, config, error);
    if (status == PPSCHED_OK)
        status = ppi_config_place(&outlook.placement, config, task.placement, error);
    *out = (struct ppi_outlook){.step = 0};
    if (status == PPSCHED_OK)
        status = find_bounds(&outlook, out, known, candidate, config, error);
    out->step *= 1 - ROUNDING;
    if (status == PPSCHED_OK && depth >= PPI_OUTLOOK_ORDERS && has_orders(&outlook))
        status = look_at_orders(&outlook, out, candidate, error);
    if (status == PPSCHED_OK && depth == PPI_OUTLOOK_TIMES && has_orders(&outlook))
        status = time_order(&outlook, out, candidate, error);
    ppi_costs_clear(&outlook.costs);
    ppi_arena_clear(&outlook.arena);
    ppi_placement_clear(&outlook.placement, &config->host);
    ppi_config_destroy(config);
    return status;
}
