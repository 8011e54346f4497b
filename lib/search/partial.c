/* SPDX-License-Identifier: Apache-2.0 */
#include "search/partial.h"

#include <string.h>

#include "base/checked.h"

enum { PPI_MOST_PLACES = 32 }; /* bits of `held` */

/* --- the block --- */

size_t ppi_partial_doubles(const struct ppi_problem *problem)
{
    size_t devices = problem->devices, stages = problem->stages;
    size_t bytes = 2 * sizeof(uint64_t) + 6 * devices * sizeof(double) + 2 * stages * sizeof(struct ppi_ways) +
                   stages * sizeof(struct ppi_done) + (stages + devices) * sizeof(uint32_t);
    return (bytes + sizeof(double) - 1) / sizeof(double);
}

void ppi_partial_place(struct ppi_partial *partial, const struct ppi_problem *problem, double *block)
{
    size_t devices = problem->devices, stages = problem->stages;
    partial->block = block;
    partial->hash = (uint64_t *)(void *)block;
    block += 2;
    partial->clock = block;
    partial->level = block + devices;
    partial->start = block + 2 * devices;
    partial->finish = block + 3 * devices;
    partial->end = block + 4 * devices;
    partial->chain = block + 5 * devices;
    partial->heads = (struct ppi_ways *)(void *)(block + 6 * devices);
    partial->ready = partial->heads + stages;
    partial->done = (struct ppi_done *)(void *)(partial->ready + stages);
    partial->blocked = (uint32_t *)(void *)(partial->done + stages);
    partial->held = partial->blocked + stages;
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
    uint32_t oldest = partial->done[last].forwards + (stage == last);
    if (partial->level[device] + problem->stage[stage].memory[PPSCHED_KIND_F] > own->limit)
        return false;
    if (own->count == 1 || oldest >= problem->microbatches)
        return true;
    double needed = own->least;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t forwards = partial->done[list[i]].forwards + (stage == list[i]);
        if (forwards > oldest + 1)
            needed += (forwards - oldest - 1) * problem->stage[list[i]].memory[PPSCHED_KIND_F];
    }
    return needed <= own->limit;
}

static bool is_blocked(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage)
{
    const struct ppi_stage *own = &problem->stage[stage];
    return (own->place < PPI_MOST_PLACES && (partial->held[own->device] >> own->place & 1) != 0) ||
           !has_memory(partial, problem, stage);
}

uint32_t ppi_partial_first_to_finish(const struct ppi_partial *partial, const struct ppi_problem *problem)
{
    uint32_t first = PPSCHED_NONE;
    double finish = PPI_INFINITE;
    for (uint32_t d = 0; d < problem->devices; d++)
        if (partial->finish[d] < finish) {
            finish = partial->finish[d];
            first = d;
        }
    return first;
}

double ppi_partial_earliest(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage, uint8_t kind)
{
    double clock = partial->clock[problem->stage[stage].device];
    const struct ppi_done *done = &partial->done[stage];
    switch (kind) {
    case PPSCHED_KIND_F:
        return partial->blocked[stage] ? PPI_INFINITE : ppi_larger(clock, partial->ready[stage].forward);
    case PPSCHED_KIND_I:
        return ppi_larger(clock, partial->ready[stage].backward);
    case PPSCHED_KIND_W:
        return done->weights < done->inputs ? clock : PPI_INFINITE;
    default:
        if (!problem->stage[stage].fuses || done->weights < done->inputs)
            return PPI_INFINITE;
        return ppi_larger(clock, partial->ready[stage].backward);
    }
}

bool ppi_partial_may_hold(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage)
{
    uint32_t device = problem->stage[stage].device, next = partial->done[stage].forwards;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        const struct ppi_done *done = &partial->done[ppi_stage_at(problem, device, i)];
        if (done->forwards < next || done->inputs < next)
            return problem->stage[stage].place < PPI_MOST_PLACES;
    }
    return false;
}

bool ppi_partial_is_scarce(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device)
{
    const struct ppi_device *own = &problem->device[device];
    double all = partial->level[device];
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t stage = ppi_stage_at(problem, device, i);
        all += (problem->microbatches - partial->done[stage].forwards) * problem->stage[stage].memory[PPSCHED_KIND_F];
    }
    return own->count > 1 && all > own->limit;
}

bool ppi_partial_is_complete(const struct ppi_partial *partial, const struct ppi_problem *problem)
{
    for (uint32_t s = 0; s < problem->stages; s++)
        if (partial->done[s].weights < problem->microbatches)
            return false;
    return true;
}

double ppi_partial_objective(const struct ppi_partial *partial, const struct ppi_problem *problem)
{
    double objective = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        objective = ppi_larger(objective, partial->clock[d] - (problem->by_span ? ppi_larger(0, partial->start[d]) : 0));
    return objective;
}

/* --- steps --- */

/* Finds anew what can be next on a device, after something on it has changed. */
static void renew_device(struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device)
{
    const struct ppi_device *own = &problem->device[device];
    double clock = partial->clock[device], finish = PPI_INFINITE;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t s = problem->stage_list[own->first + i];
        const struct ppi_stage *stage = &problem->stage[s];
        const struct ppi_done *done = &partial->done[s];
        partial->blocked[s] = is_blocked(partial, problem, s);
        if (!partial->blocked[s])
            finish = ppi_smaller(finish, ppi_larger(clock, partial->ready[s].forward) + stage->duration[PPSCHED_KIND_F]);
        if (done->weights < done->inputs)
            finish = ppi_smaller(finish, clock + stage->duration[PPSCHED_KIND_W]);
        else if (stage->fuses)
            finish = ppi_smaller(finish, ppi_larger(clock, partial->ready[s].backward) + stage->duration[PPSCHED_KIND_B]);
        finish = ppi_smaller(finish, ppi_larger(clock, partial->ready[s].backward) + stage->duration[PPSCHED_KIND_I]);
    }
    partial->finish[device] = finish;
}

void ppi_partial_start(struct ppi_partial *partial, const struct ppi_problem *problem)
{
    memset(partial->block, 0, ppi_partial_doubles(problem) * sizeof *partial->block);
    for (uint32_t s = 0; s < problem->stages; s++)
        partial->ready[s] = (struct ppi_ways){PPI_INFINITE, PPI_INFINITE};
    partial->ready[0].forward = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        partial->start[d] = -1;
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
    if (partial->held[device] == places)
        return;
    partial->hash[0] += ((uint64_t)places - partial->held[device]) * scatter((uint64_t)device << 32 | 7);
    partial->held[device] = places;
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
    uint32_t s = step->stage, next = partial->done[s].forwards;
    const struct ppi_stage *stage = &problem->stage[s];
    partial->ready[s].forward = s == 0 && next < problem->microbatches ? 0 : PPI_INFINITE;
    if (s > 0 && partial->done[s - 1].forwards > next)
        partial->ready[s].forward = ends->forward[(size_t)(s - 1) * problem->microbatches + next] + stage->forward_delay;
    if (s + 1 == problem->stages && partial->done[s].inputs == next - 1)
        partial->ready[s].backward = step->end;
    if (s + 1 == problem->stages || partial->done[s + 1].forwards != next - 1)
        return PPSCHED_NONE;
    partial->ready[s + 1].forward = step->end + stage[1].forward_delay;
    return stage[1].device;
}

/* The same for an I, or that of a B, and the stage before. */
static uint32_t hand_on_input(struct ppi_partial *partial, const struct ppi_problem *problem, const struct ppi_ends *ends,
                              const struct ppi_step *step)
{
    uint32_t s = step->stage, next = partial->done[s].inputs;
    const struct ppi_stage *stage = &problem->stage[s];
    partial->ready[s].backward = PPI_INFINITE;
    if (s + 1 == problem->stages && partial->done[s].forwards > next)
        partial->ready[s].backward = 0;
    if (s + 1 < problem->stages && partial->done[s + 1].inputs > next)
        partial->ready[s].backward = ends->backward[(size_t)(s + 1) * problem->microbatches + next] + stage->backward_delay;
    if (s == 0 || partial->done[s - 1].inputs != next - 1)
        return PPSCHED_NONE;
    partial->ready[s - 1].backward = step->end + stage[-1].backward_delay;
    return stage[-1].device;
}

void ppi_partial_append(struct ppi_partial *partial, const struct ppi_problem *problem, const struct ppi_ends *ends,
                        const struct ppi_step *step)
{
    uint32_t device = problem->stage[step->stage].device, told = PPSCHED_NONE;
    ppi_partial_put(partial, problem, step);
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
    set_held(partial, device, partial->held[device] | places);
    renew_device(partial, problem, device);
}
