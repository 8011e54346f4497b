/* SPDX-License-Identifier: Apache-2.0 */
/* Devices run in turns, each until it waits for another one, or until its neighbour is too far behind to have read what it
 * would write over. Where an order does not come to its end this way, it may be shorter. */
#include "search/glance.h"

#include <string.h>

#include "base/checked.h"

enum { KEPT = 64 }; /* the last ends of the Fs or backwards of a stage */

struct ppi_glance_device {
    double clock, idle;
    double
        least; /* the span if it is not idle any more: of its own ops, or of the first device's, which end some time after its
                   * last backward */
    size_t next;
};

ppsched_status ppi_glance_make(struct ppi_glance *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error)
{
    *out = (struct ppi_glance){.problem = problem,
                               .devices = ppi_arena_take(arena, problem->devices, sizeof *out->devices),
                               .done = ppi_arena_take(arena, problem->stages, 2 * sizeof *out->done),
                               .ends = ppi_arena_take(arena, problem->stages, 2 * KEPT * sizeof *out->ends)};
    return ppi_arena_check(arena, "the search", error);
}

static uint32_t *done_of(const struct ppi_glance *glance, uint32_t stage, bool is_backward)
{
    return &glance->done[2 * (size_t)stage + is_backward];
}

static double *ends_of(const struct ppi_glance *glance, uint32_t stage, bool is_backward)
{
    return glance->ends + (2 * (size_t)stage + is_backward) * KEPT;
}

/* When an F or a backward may start; infinite where that is not known yet. */
static double ready_at(const struct ppi_glance *glance, uint32_t stage, bool is_backward, uint32_t microbatch)
{
    const struct ppi_stage *costs = &glance->problem->stage[stage];
    const uint32_t last = glance->problem->stages - 1, reader = is_backward ? stage - 1 : stage + 1;
    const bool waits = is_backward ? stage < last : stage > 0, is_read = is_backward ? stage > 0 : stage < last;
    const uint32_t from = is_backward ? stage + 1 : stage - 1;
    if (is_read && microbatch >= *done_of(glance, reader, is_backward) + KEPT)
        return PPI_INFINITE;
    if (!waits)
        return 0;
    if (*done_of(glance, from, is_backward) <= microbatch)
        return PPI_INFINITE;
    return ends_of(glance, from, is_backward)[microbatch % KEPT] + (is_backward ? costs->backward_delay : costs->forward_delay);
}

/* The times of the Ws after a device's last I, which the stages before it do not wait for. */
static double weights_after(const struct ppi_glance *glance, const struct ppi_orders *orders, uint32_t number, uint32_t stage)
{
    const ppsched_op *ops = orders->ops + orders->first[number];
    size_t i = orders->count[number], weights = 0;
    for (; i > 0 && ops[i - 1].kind == PPSCHED_KIND_W; i--)
        weights++;
    weights += i > 0 && ops[i - 1].kind == PPSCHED_KIND_B;
    return (double)weights * glance->problem->stage[stage].duration[PPSCHED_KIND_W];
}

/* From the end of a stage's last I to the end of the first device: Is, the way, and a W. */
static double tail_of(const struct ppi_problem *problem, uint32_t stage)
{
    double sum = problem->stage[0].duration[PPSCHED_KIND_W];
    for (uint32_t s = 0; s < stage; s++)
        sum += problem->stage[s].backward_delay + problem->stage[s].duration[PPSCHED_KIND_I];
    return sum;
}

/* Runs the next op of a device; false where it cannot run yet. */
static bool run_next(const struct ppi_glance *glance, uint32_t number, const ppsched_op *op)
{
    struct ppi_glance_device *device = &glance->devices[number];
    const double *duration = glance->problem->stage[op->stage].duration;
    double end = device->clock + duration[op->kind];
    if (op->kind != PPSCHED_KIND_W) {
        const bool is_backward = op->kind != PPSCHED_KIND_F;
        const double ready = ready_at(glance, op->stage, is_backward, op->microbatch);
        uint32_t *done = done_of(glance, op->stage, is_backward);
        if (!(ready < PPI_INFINITE) || *done != op->microbatch)
            return false;
        const double start = ppi_larger(device->clock, ready);
        if (device->next > 0)
            device->idle += start - device->clock;
        else /* the first device starts at 0 */
            device->least = ppi_larger(glance->problem->device[number].split_work, start + device->least);
        end = start + duration[is_backward ? PPSCHED_KIND_I : PPSCHED_KIND_F];
        ends_of(glance, op->stage, is_backward)[op->microbatch % KEPT] = end;
        end += op->kind == PPSCHED_KIND_B ? duration[PPSCHED_KIND_W] : 0;
        ++*done;
    }
    device->clock = end;
    device->next++;
    return true;
}

/* Runs what a device can run; false where that is too long. */
static bool run_device(const struct ppi_glance *glance, const struct ppi_orders *orders, uint32_t number, double below)
{
    struct ppi_glance_device *device = &glance->devices[number];
    const ppsched_op *ops = orders->ops + orders->first[number];
    while (device->next < orders->count[number] && run_next(glance, number, &ops[device->next]))
        if (device->least + device->idle >= below)
            return false;
    return true;
}

bool ppi_glance_may_be_shorter(const struct ppi_glance *glance, const struct ppi_orders *orders, double below)
{
    const struct ppi_problem *problem = glance->problem;
    const double enough = below * (1 - 1e-12);
    size_t before = 0, put = 1;
    memset(glance->done, 0, 2 * (size_t)problem->stages * sizeof *glance->done);
    for (uint32_t d = 0; d < problem->devices; d++) {
        const uint32_t stage = problem->stage_list[problem->device[d].first];
        const double after = tail_of(problem, stage) - weights_after(glance, orders, d, stage);
        glance->devices[d] = (struct ppi_glance_device){.least = problem->device[d].split_work + after};
    }
    while (put > before) {
        before = put;
        put = 1;
        for (uint32_t d = 0; d < problem->devices; d++)
            if (!run_device(glance, orders, d, enough))
                return false;
        for (uint32_t d = problem->devices; d-- > 0; put += glance->devices[d].next)
            if (!run_device(glance, orders, d, enough))
                return false;
    }
    return true;
}
