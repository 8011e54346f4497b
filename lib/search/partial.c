/* SPDX-License-Identifier: Apache-2.0 */
#include "search/partial.h"

#include <string.h>

#include "base/checked.h"

enum { PPI_MOST_PLACES = 32 }; /* bits of `held` */

/* --- the block --- */

size_t ppi_partial_doubles(const struct ppi_problem *problem)
{
    size_t bytes = 2 * sizeof(uint64_t) + problem->devices * sizeof(struct ppi_at_device) +
                   problem->stages * sizeof(struct ppi_at_stage);
    return bytes / sizeof(double); /* all of them are multiples */
}

void ppi_partial_place(struct ppi_partial *partial, const struct ppi_problem *problem, double *block)
{
    partial->block = block;
    partial->hash = (uint64_t *)(void *)block;
    partial->device = (struct ppi_at_device *)(void *)(partial->hash + 2);
    partial->stage = (struct ppi_at_stage *)(void *)(partial->device + problem->devices);
}

void ppi_partial_copy(struct ppi_partial *to, const struct ppi_partial *from, const struct ppi_problem *problem)
{
    memcpy(to->block, from->block, ppi_partial_doubles(problem) * sizeof *to->block);
}

/* --- what can be next --- */

/* Whether there is memory for one more F: now, and for getting all microbatches that have begun through, the oldest first. Of
 * those, the oldest that still lacks an F on this device needs most; all before it can be got out of the way. */
static bool has_memory(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage)
{
    uint32_t device = problem->stage[stage].device;
    const struct ppi_device *own = &problem->device[device];
    const uint32_t *list = &problem->stage_list[own->first];
    uint32_t last = list[own->count - 1];
    uint32_t oldest = partial->stage[last].done.forwards + (stage == last);
    if (partial->device[device].level + problem->stage[stage].memory[PPSCHED_KIND_F] > own->limit)
        return false;
    if (own->count == 1 || oldest >= problem->microbatches)
        return true;
    double needed = own->least;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t forwards = partial->stage[list[i]].done.forwards + (stage == list[i]);
        if (forwards > oldest + 1)
            needed += (forwards - oldest - 1) * problem->stage[list[i]].memory[PPSCHED_KIND_F];
    }
    return needed <= own->limit;
}

static bool is_blocked(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage)
{
    const struct ppi_stage *own = &problem->stage[stage];
    return (own->place < PPI_MOST_PLACES && (partial->device[own->device].held >> own->place & 1) != 0) ||
           !has_memory(partial, problem, stage);
}

uint32_t ppi_partial_first_to_finish(const struct ppi_partial *partial, const struct ppi_problem *problem)
{
    uint32_t first = PPSCHED_NONE;
    double finish = PPI_INFINITE;
    for (uint32_t d = 0; d < problem->devices; d++)
        if (partial->device[d].finish < finish) {
            finish = partial->device[d].finish;
            first = d;
        }
    return first;
}

double ppi_partial_earliest(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage, uint8_t kind)
{
    double clock = partial->device[problem->stage[stage].device].clock;
    const struct ppi_done *done = &partial->stage[stage].done;
    switch (kind) {
    case PPSCHED_KIND_F:
        return partial->stage[stage].blocked ? PPI_INFINITE : ppi_larger(clock, partial->stage[stage].ready.forward);
    case PPSCHED_KIND_I:
        return ppi_larger(clock, partial->stage[stage].ready.backward);
    case PPSCHED_KIND_W:
        return done->weights < done->inputs ? clock : PPI_INFINITE;
    default:
        if (!problem->stage[stage].fuses || done->weights < done->inputs)
            return PPI_INFINITE;
        return ppi_larger(clock, partial->stage[stage].ready.backward);
    }
}

bool ppi_partial_may_hold(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage)
{
    uint32_t device = problem->stage[stage].device, next = partial->stage[stage].done.forwards;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        const struct ppi_done *done = &partial->stage[ppi_stage_at(problem, device, i)].done;
        if (done->forwards < next || done->inputs < next)
            return problem->stage[stage].place < PPI_MOST_PLACES;
    }
    return false;
}

bool ppi_partial_is_scarce(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device)
{
    const struct ppi_device *own = &problem->device[device];
    double all = partial->device[device].level;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t stage = ppi_stage_at(problem, device, i);
        all += (problem->microbatches - partial->stage[stage].done.forwards) * problem->stage[stage].memory[PPSCHED_KIND_F];
    }
    return own->count > 1 && all > own->limit;
}

bool ppi_partial_is_complete(const struct ppi_partial *partial, const struct ppi_problem *problem)
{
    for (uint32_t s = 0; s < problem->stages; s++)
        if (partial->stage[s].done.weights < problem->microbatches)
            return false;
    return true;
}

double ppi_partial_objective(const struct ppi_partial *partial, const struct ppi_problem *problem)
{
    double objective = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        objective = ppi_larger(objective,
                               partial->device[d].clock - (problem->by_span ? ppi_larger(0, partial->device[d].start) : 0));
    return objective;
}

/* --- steps --- */

/* Finds anew what can be next on a device, after something on it has changed. */
static void renew_device(struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device)
{
    const struct ppi_device *own = &problem->device[device];
    double clock = partial->device[device].clock, finish = PPI_INFINITE;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t s = problem->stage_list[own->first + i];
        const struct ppi_stage *stage = &problem->stage[s];
        const struct ppi_done *done = &partial->stage[s].done;
        partial->stage[s].blocked = is_blocked(partial, problem, s);
        if (!partial->stage[s].blocked)
            finish = ppi_smaller(finish, ppi_larger(clock, partial->stage[s].ready.forward) + stage->duration[PPSCHED_KIND_F]);
        if (done->weights < done->inputs)
            finish = ppi_smaller(finish, clock + stage->duration[PPSCHED_KIND_W]);
        else if (stage->fuses)
            finish = ppi_smaller(finish, ppi_larger(clock, partial->stage[s].ready.backward) + stage->duration[PPSCHED_KIND_B]);
        finish = ppi_smaller(finish, ppi_larger(clock, partial->stage[s].ready.backward) + stage->duration[PPSCHED_KIND_I]);
    }
    partial->device[device].finish = finish;
}

void ppi_partial_start(struct ppi_partial *partial, const struct ppi_problem *problem)
{
    memset(partial->block, 0, ppi_partial_doubles(problem) * sizeof *partial->block);
    for (uint32_t s = 0; s < problem->stages; s++)
        partial->stage[s].ready = (struct ppi_ways){PPI_INFINITE, PPI_INFINITE};
    partial->stage[0].ready.forward = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        partial->device[d].start = -1;
    for (uint32_t d = 0; d < problem->devices; d++)
        renew_device(partial, problem, d);
}

/* Spreads a number over all bits. */
static uint64_t scatter(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 27;
}

static void set_held(struct ppi_partial *partial, uint32_t device, uint32_t places)
{
    if (partial->device[device].held == places)
        return;
    partial->hash[0] += ((uint64_t)places - partial->device[device].held) * scatter((uint64_t)device << 32 | 7);
    partial->device[device].held = places;
}

/* Marks an F, I or W as done. */
static void mark(struct ppi_partial *partial, uint32_t stage, uint8_t kind)
{
    uint64_t bits = scatter((uint64_t)stage << 32 | (kind - (uint64_t)(kind != PPSCHED_KIND_F)));
    partial->hash[0] += bits;
    partial->hash[1] += kind != PPSCHED_KIND_W ? bits : 0;
}

/* When the next F and I of an F's stage and of the stage behind it can start. Returns the device behind where that is news, or
 * NONE. */
static uint32_t hand_on_forward(struct ppi_partial *partial, const struct ppi_problem *problem, const struct ppi_ends *ends,
                                const struct ppi_step *step)
{
    uint32_t s = step->stage, next = partial->stage[s].done.forwards;
    const struct ppi_stage *stage = &problem->stage[s];
    partial->stage[s].ready.forward = s == 0 && next < problem->microbatches ? 0 : PPI_INFINITE;
    if (s > 0 && partial->stage[s - 1].done.forwards > next)
        partial->stage[s].ready.forward = ends->forward[(size_t)(s - 1) * problem->microbatches + next] + stage->forward_delay;
    if (s + 1 == problem->stages && partial->stage[s].done.inputs == next - 1)
        partial->stage[s].ready.backward = step->end;
    if (s + 1 == problem->stages || partial->stage[s + 1].done.forwards != next - 1)
        return PPSCHED_NONE;
    partial->stage[s + 1].ready.forward = step->end + stage[1].forward_delay;
    return stage[1].device;
}

/* The same for an I, or that of a B, and the stage before. */
static uint32_t hand_on_input(struct ppi_partial *partial, const struct ppi_problem *problem, const struct ppi_ends *ends,
                              const struct ppi_step *step)
{
    uint32_t s = step->stage, next = partial->stage[s].done.inputs;
    const struct ppi_stage *stage = &problem->stage[s];
    partial->stage[s].ready.backward = PPI_INFINITE;
    if (s + 1 == problem->stages && partial->stage[s].done.forwards > next)
        partial->stage[s].ready.backward = 0;
    if (s + 1 < problem->stages && partial->stage[s + 1].done.inputs > next)
        partial->stage[s].ready.backward = ends->backward[(size_t)(s + 1) * problem->microbatches + next] +
                                           stage->backward_delay;
    if (s == 0 || partial->stage[s - 1].done.inputs != next - 1)
        return PPSCHED_NONE;
    partial->stage[s - 1].ready.backward = step->end + stage[-1].backward_delay;
    return stage[-1].device;
}

void ppi_partial_append(struct ppi_partial *partial, const struct ppi_problem *problem, const struct ppi_ends *ends,
                        const struct ppi_step *step)
{
    const struct ppi_stage *stage = &problem->stage[step->stage];
    uint32_t device = stage->device, told = PPSCHED_NONE;
    ppi_put_op(&partial->device[device], &partial->stage[step->stage].done, stage, step->kind, step->start, step->end);
    set_held(partial, device, 0);
    mark(partial, step->stage, step->kind == PPSCHED_KIND_B ? PPSCHED_KIND_I : step->kind);
    if (step->kind == PPSCHED_KIND_B)
        mark(partial, step->stage, PPSCHED_KIND_W);
    if (step->kind != PPSCHED_KIND_W)
        told = step->kind == PPSCHED_KIND_F ? hand_on_forward(partial, problem, ends, step)
                                            : hand_on_input(partial, problem, ends, step);
    if (told != PPSCHED_NONE && told != device)
        renew_device(partial, problem, told);
    renew_device(partial, problem, device);
}

void ppi_partial_hold(struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device, uint32_t places)
{
    set_held(partial, device, partial->device[device].held | places);
    renew_device(partial, problem, device);
}
