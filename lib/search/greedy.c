/* SPDX-License-Identifier: Apache-2.0 */
/* The times at which Fs and Is end are in one table, from which each stage reads the ends that it awaits and writes its own.
 * The ends of one time are close together in memory, as are the ops of a plan. */
#include "search/greedy.h"

#include <string.h>

#include "search/periodic.h"

/* Microbatches with an end per link: those that one link waits for are the ends of the link before it. After the last end so
 * far of a link there is one that is infinite. */
static double *ends_of(const struct ppi_greedy *greedy, size_t link)
{
    return greedy->ends + link;
}

static void connect(struct ppi_greedy *greedy)
{
    const struct ppi_problem *problem = greedy->problem;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *costs = &problem->stage[s];
        struct ppi_greedy_stage *stage = &greedy->stage[s];
        stage->costs = costs;
        stage->number = s;
        stage->device = &greedy->device[costs->device];
        stage->device->rise = ppi_larger(stage->device->rise, costs->memory[PPSCHED_KIND_I]);
        stage->device->work += (costs->duration[PPSCHED_KIND_F] + costs->duration[PPSCHED_KIND_I] +
                                costs->duration[PPSCHED_KIND_W]) *
                               problem->microbatches;
    }
    for (uint32_t d = 0; d < problem->devices; d++)
        ppi_greedy_set_limit(&greedy->device[d], problem->device[d].limit);
}

ppsched_status ppi_greedy_plan_make(struct ppi_greedy_plan *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                    ppsched_error *error)
{
    *out = (struct ppi_greedy_plan){.code = ppi_arena_take(arena, ppi_orders_space(problem), sizeof *out->code)};
    return ppi_arena_check(arena, "the search", error);
}

ppsched_status ppi_greedy_make(struct ppi_greedy *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error)
{
    const size_t microbatches = problem->microbatches, stages = problem->stages;
    *out = (struct ppi_greedy){
        .problem = problem,
        .stage = ppi_arena_take_zeroed(arena, stages, sizeof *out->stage),
        .device = ppi_arena_take_zeroed(arena, problem->devices, sizeof *out->device),
        .ends = ppi_arena_take(arena, (microbatches + 1) * 2 * stages, sizeof *out->ends),
        .zeros = ppi_arena_take_zeroed(arena, microbatches + 1, sizeof *out->zeros),
        .due = ppi_arena_take(arena, stages * microbatches, sizeof *out->due),
        .row = 2 * stages,
        .op = ppi_arena_take(arena, stages, PPI_GREEDY_KINDS * sizeof *out->op),
        .to = ppi_arena_take(arena, problem->devices, 2 * sizeof *out->to),
    };
    ppsched_status status = ppi_greedy_plan_make(&out->plan, arena, problem, error);
    if (status != PPSCHED_OK)
        return status;
    out->zeros[microbatches] = PPI_INFINITE;
    connect(out);
    return PPSCHED_OK;
}

static void start_stage(const struct ppi_greedy *greedy, uint32_t s)
{
    struct ppi_greedy_stage *stage = &greedy->stage[s];
    memset(stage->done, 0, sizeof stage->done);
    for (int k = 0; k < 2; k++) {
        const size_t link = ppi_link_of(greedy->problem, s, ppi_kinds[k]);
        stage->end[ppi_kinds[k]] = ends_of(greedy, link);
        stage->awaited[ppi_kinds[k]] = link > 0 ? ends_of(greedy, link - 1) : greedy->zeros;
        stage->apart[ppi_kinds[k]] = link > 0 ? greedy->row : 1;
        *stage->end[ppi_kinds[k]] = PPI_INFINITE;
    }
}

void ppi_greedy_start(struct ppi_greedy *greedy)
{
    const struct ppi_problem *problem = greedy->problem;
    greedy->longest = greedy->worst_idle = 0;
    greedy->microbatches = problem->microbatches;
    greedy->plan.count = greedy->plan.times = 0;
    for (uint32_t s = 0; s < problem->stages; s++)
        start_stage(greedy, s);
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_greedy_device *device = &greedy->device[d];
        device->clock = device->level = device->idle = 0;
        device->start = -1;
        device->due = device->due_end = greedy->due + (size_t)problem->device[d].first * problem->microbatches;
        greedy->longest = ppi_larger(greedy->longest, device->work);
    }
}

static void start_writing(const struct ppi_greedy *greedy, struct ppi_orders *out)
{
    for (uint32_t code = 0; code < greedy->problem->stages * PPI_GREEDY_KINDS; code++)
        greedy->op[code] = (ppsched_op){.stage = (uint16_t)(code / PPI_GREEDY_KINDS),
                                        .kind = (uint8_t)(code % PPI_GREEDY_KINDS)};
    for (uint32_t d = 0; d < out->devices; d++) {
        greedy->to[d] = out->ops + out->first[d];
        out->count[d] = out->first[d + 1] - out->first[d];
    }
}

static void write_codes(const struct ppi_greedy *greedy, const uint32_t *code, const uint32_t *end)
{
    for (; code < end; code++) {
        *greedy->to[greedy->problem->stage[*code / PPI_GREEDY_KINDS].device]++ = greedy->op[*code];
        greedy->op[*code].microbatch++;
    }
}

/* Writes an op again, each time so many places and microbatches after the time before. */
static void repeat_op(ppsched_op *op, size_t apart, uint32_t times, uint32_t rounds)
{
    uint32_t word[3]; /* the first is the microbatch */
    _Static_assert(sizeof word == sizeof *op && offsetof(ppsched_op, microbatch) == 0, "an op is three words");
    memcpy(word, op, sizeof word);
    for (; times > 0; times--) {
        op += apart;
        word[0] += rounds;
        memcpy(op, word, sizeof word);
    }
}

/* Writes what each device has written since `from` again. */
static void repeat_ops(const struct ppi_greedy *greedy, const struct ppi_greedy_plan *plan, ppsched_op **from)
{
    for (uint32_t d = 0; d < greedy->problem->devices; d++) {
        const size_t length = (size_t)(greedy->to[d] - from[d]);
        for (size_t i = 0; i < length; i++)
            repeat_op(from[d] + i, length, plan->times, plan->rounds);
        greedy->to[d] += plan->times * length;
    }
    for (uint32_t code = 0; code < greedy->problem->stages * PPI_GREEDY_KINDS; code++)
        greedy->op[code].microbatch += plan->times * plan->rounds;
}

void ppi_greedy_write(const struct ppi_greedy *greedy, const struct ppi_greedy_plan *plan, struct ppi_orders *out)
{
    const uint32_t *code = plan->code, *end = plan->code + plan->count;
    start_writing(greedy, out);
    if (plan->times > 0) {
        ppsched_op **from = greedy->to + out->devices;
        write_codes(greedy, code, code + plan->first);
        memcpy(from, greedy->to, out->devices * sizeof *from);
        write_codes(greedy, code + plan->first, code + plan->end);
        repeat_ops(greedy, plan, from);
        code += plan->end;
    }
    write_codes(greedy, code, end);
}

/* The stage of the oldest W that is due on a device; NULL where none is. */
static struct ppi_greedy_stage *stage_due(const struct ppi_greedy *greedy, const struct ppi_greedy_device *device)
{
    return ppi_greedy_has_due(device) ? &greedy->stage[*device->due] : NULL;
}

bool ppi_greedy_put_weight(struct ppi_greedy *greedy, struct ppi_greedy_device *device)
{
    struct ppi_greedy_stage *due = stage_due(greedy, device);
    if (due != NULL)
        ppi_greedy_put(greedy, due, PPSCHED_KIND_W, due->device->clock);
    return due != NULL;
}

void ppi_greedy_make_rise(struct ppi_greedy *greedy, struct ppi_greedy_stage *stage)
{
    double adds = stage->costs->memory[PPSCHED_KIND_I];
    while (adds > 0 && stage->device->level + adds > stage->device->limit + stage->device->rise &&
           ppi_greedy_put_weight(greedy, stage->device)) {
    }
}

void ppi_greedy_fill_gap(struct ppi_greedy *greedy, struct ppi_greedy_device *device, double ready, double least)
{
    struct ppi_greedy_stage *due = stage_due(greedy, device);
    for (; due != NULL && device->clock + due->costs->duration[PPSCHED_KIND_W] <= ready; due = stage_due(greedy, device))
        ppi_greedy_put(greedy, due, PPSCHED_KIND_W, due->device->clock);
    if (due != NULL && ready - device->clock > least)
        ppi_greedy_put(greedy, due, PPSCHED_KIND_W, due->device->clock);
}

double ppi_greedy_finish(struct ppi_greedy *greedy)
{
    const struct ppi_problem *problem = greedy->problem;
    double span = 0;
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_greedy_device *device = &greedy->device[d];
        while (ppi_greedy_put_weight(greedy, device)) {
        }
        span = ppi_larger(span, device->clock - device->start);
    }
    bool complete = greedy->plan.count == (size_t)PPI_OPS_OF_PASS * problem->stages * greedy->microbatches;
    return complete ? span : PPI_INFINITE;
}
