/* SPDX-License-Identifier: Apache-2.0 */
/* Appending an op updates the clock, memory and counters of its stage and device, and what can be next there and on the device
 * that waited for the op. Hashes of the state are sums, updated with each step. */
#include "search/partial_schedule.h"

#include <string.h>

#include "base/checked.h"
#include "search/price.h"

enum { MOST_PLACES = 32 }; /* bits of `held` */

/* --- the block --- */

size_t ppi_partial_block(const struct ppi_problem *problem)
{
    size_t bytes = 2 * sizeof(uint64_t) + problem->devices * sizeof(struct ppi_at_device) +
                   problem->stages * sizeof(struct ppi_at_stage);
    return bytes / sizeof(double); /* all sizes are multiples of it */
}

size_t ppi_partial_workspace(const struct ppi_problem *problem)
{
    return ppi_partial_block(problem) + 2 * (size_t)problem->stages * problem->microbatches;
}

struct ppi_partial ppi_partial_at(const struct ppi_problem *problem, double *room)
{
    double *ends = room + ppi_partial_block(problem);
    struct ppi_partial partial = {.problem = problem, .block = room, .hash = (uint64_t *)(void *)room};
    partial.device = (struct ppi_at_device *)(void *)(partial.hash + 2);
    partial.stage = (struct ppi_at_stage *)(void *)(partial.device + problem->devices);
    partial.ends = (struct ppi_ends){ends, ends + (size_t)problem->stages * problem->microbatches};
    return partial;
}

void ppi_partial_copy(struct ppi_partial *to, const struct ppi_partial *from)
{
    memcpy(to->block, from->block, ppi_partial_block(from->problem) * sizeof *to->block);
}

/* --- what can be next --- */

/* What a device holds after all Ws that are due. */
static double level_behind_weights(const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_problem *problem = partial->problem;
    double level = partial->device[device].level;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_done *done = &partial->stage[s].done;
        level += (done->inputs - done->weights) * problem->stage[s].memory[PPSCHED_KIND_W];
    }
    return level;
}

/* Whether after one more F there is memory for the backwards of the oldest microbatch that has all its Fs on the device, one
 * after the other, each with its W; then there is for those of younger ones. */
static bool has_memory_to_rise(const struct ppi_partial *partial, uint32_t stage)
{
    const struct ppi_problem *problem = partial->problem;
    const struct ppi_device *own = &problem->device[problem->stage[stage].device];
    const uint32_t *list = &problem->stage_list[own->first], last = list[own->count - 1];
    const uint32_t oldest = partial->stage[list[0]].done.inputs, begun = partial->stage[last].done.forwards + (stage == last);
    double level = level_behind_weights(partial, problem->stage[stage].device) + problem->stage[stage].memory[PPSCHED_KIND_F];
    for (uint32_t i = own->count; i-- > 0 && oldest < begun;) {
        if (level + problem->stage[list[i]].least_rise > ppi_device_allows_at_peak(own))
            return false;
        if (partial->stage[list[i]].done.inputs <= oldest)
            level -= problem->stage[list[i]].memory[PPSCHED_KIND_F];
    }
    return true;
}

/* Whether there is memory for an I or a B. */
static bool may_rise(const struct ppi_partial *partial, uint32_t stage, uint8_t kind)
{
    const struct ppi_problem *problem = partial->problem;
    uint32_t device = problem->stage[stage].device;
    return !problem->rises || kind == PPSCHED_KIND_F || kind == PPSCHED_KIND_W ||
           partial->device[device].level + problem->stage[stage].rise[kind] <= problem->device[device].peak_limit;
}

/* Whether there is memory for one more F: now, and to finish all microbatches that have begun, the oldest first. The oldest
 * that still misses an F on this device needs the most; all before it can be finished first. */
static bool has_memory(const struct ppi_partial *partial, uint32_t stage)
{
    const struct ppi_problem *problem = partial->problem;
    uint32_t device = problem->stage[stage].device;
    const struct ppi_device *own = &problem->device[device];
    const uint32_t *list = &problem->stage_list[own->first];
    uint32_t last = list[own->count - 1];
    uint32_t oldest = partial->stage[last].done.forwards + (stage == last);
    if (partial->device[device].level + problem->stage[stage].memory[PPSCHED_KIND_F] > own->peak_limit)
        return false;
    if (problem->rises && !has_memory_to_rise(partial, stage))
        return false;
    if (own->count == 1 || oldest >= problem->microbatches)
        return true;
    double needed = own->least;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t forwards = partial->stage[list[i]].done.forwards + (stage == list[i]);
        if (forwards > oldest + 1)
            needed += (forwards - oldest - 1) * problem->stage[list[i]].memory[PPSCHED_KIND_F];
    }
    return needed <= own->peak_limit;
}

static bool is_blocked(const struct ppi_partial *partial, uint32_t stage)
{
    const struct ppi_stage *own = &partial->problem->stage[stage];
    return (own->place < MOST_PLACES && (partial->device[own->device].held >> own->place & 1) != 0) ||
           !has_memory(partial, stage);
}

uint32_t ppi_partial_first_to_finish(const struct ppi_partial *partial)
{
    uint32_t first = PPSCHED_NONE;
    double finish = PPI_INFINITE;
    for (uint32_t d = 0; d < partial->problem->devices; d++)
        if (partial->device[d].finish < finish) {
            finish = partial->device[d].finish;
            first = d;
        }
    return first;
}

bool ppi_partial_may_be_next(const struct ppi_partial *partial, struct ppi_step *step)
{
    const struct ppi_stage *stage = &partial->problem->stage[step->stage];
    const struct ppi_at_stage *at = &partial->stage[step->stage];
    const struct ppi_at_device *device = &partial->device[stage->device];
    bool is_weight_due = at->done.weights < at->done.inputs;
    double ready = at->ready.backward;
    if (step->kind == PPSCHED_KIND_F)
        ready = at->blocked ? PPI_INFINITE : at->ready.forward;
    else if (step->kind == PPSCHED_KIND_W)
        ready = is_weight_due ? 0 : PPI_INFINITE;
    else if (step->kind == PPSCHED_KIND_B ? is_weight_due || !stage->fuses : !stage->splits)
        return false;
    if (ready == PPI_INFINITE || !may_rise(partial, step->stage, step->kind))
        return false;
    step->start = ppi_larger(device->clock, ready);
    step->end = step->start + stage->duration[step->kind];
    return step->start < device->finish || step->end <= device->finish;
}

bool ppi_partial_may_hold(const struct ppi_partial *partial, uint32_t stage)
{
    const struct ppi_problem *problem = partial->problem;
    uint32_t device = problem->stage[stage].device, next = partial->stage[stage].done.forwards;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        const struct ppi_done *done = &partial->stage[ppi_stage_at(problem, device, i)].done;
        if (done->forwards < next || done->inputs < next)
            return problem->stage[stage].place < MOST_PLACES;
    }
    return false;
}

bool ppi_partial_is_scarce(const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_problem *problem = partial->problem;
    const struct ppi_device *own = &problem->device[device];
    double all = partial->device[device].level;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t stage = ppi_stage_at(problem, device, i);
        all += (problem->microbatches - partial->stage[stage].done.forwards) * problem->stage[stage].memory[PPSCHED_KIND_F];
    }
    return own->count > 1 && all > own->peak_limit;
}

bool ppi_partial_is_complete(const struct ppi_partial *partial)
{
    for (uint32_t s = 0; s < partial->problem->stages; s++)
        if (partial->stage[s].done.weights < partial->problem->microbatches)
            return false;
    return true;
}

double ppi_partial_objective(const struct ppi_partial *partial)
{
    double span = 0, makespan = 0;
    for (uint32_t d = 0; d < partial->problem->devices; d++) {
        span = ppi_larger(span, ppi_partial_time(partial, d));
        makespan = ppi_larger(makespan, partial->device[d].clock);
    }
    return ppi_objective(partial->problem->span_share, span, makespan);
}

/* --- steps --- */

/* Updates what can be next on a device after something on it has changed. */
static void renew_device(struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_problem *problem = partial->problem;
    const struct ppi_device *own = &problem->device[device];
    double clock = partial->device[device].clock, finish = PPI_INFINITE;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t s = problem->stage_list[own->first + i];
        const double *duration = problem->stage[s].duration;
        struct ppi_at_stage *at = &partial->stage[s];
        double backward = ppi_larger(clock, at->ready.backward);
        at->blocked = is_blocked(partial, s);
        if (!at->blocked)
            finish = ppi_smaller(finish, ppi_larger(clock, at->ready.forward) + duration[PPSCHED_KIND_F]);
        if (at->done.weights < at->done.inputs)
            finish = ppi_smaller(finish, clock + duration[PPSCHED_KIND_W]);
        else if (problem->stage[s].fuses && may_rise(partial, s, PPSCHED_KIND_B))
            finish = ppi_smaller(finish, backward + duration[PPSCHED_KIND_B]);
        if (problem->stage[s].splits && may_rise(partial, s, PPSCHED_KIND_I))
            finish = ppi_smaller(finish, backward + duration[PPSCHED_KIND_I]);
    }
    partial->device[device].finish = finish;
}

void ppi_partial_start(struct ppi_partial *partial)
{
    const struct ppi_problem *problem = partial->problem;
    memset(partial->block, 0, ppi_partial_block(problem) * sizeof *partial->block);
    for (uint32_t s = 0; s < problem->stages; s++)
        partial->stage[s].ready = (struct ppi_chain_times){PPI_INFINITE, PPI_INFINITE};
    partial->stage[0].ready.forward = 0;
    for (uint32_t d = 0; d < problem->devices; d++) {
        partial->device[d].start = -1;
        partial->device[d].changed = true;
        renew_device(partial, d);
    }
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

/* Updates when the next F and I of an F's stage and of the next stage can start. Returns the next stage's device where that
 * has changed, or PPSCHED_NONE. */
static uint32_t hand_on_forward(struct ppi_partial *partial, const struct ppi_step *step)
{
    const struct ppi_problem *problem = partial->problem;
    const struct ppi_stage *stage = &problem->stage[step->stage];
    struct ppi_at_stage *at = &partial->stage[step->stage];
    uint32_t s = step->stage, next = at->done.forwards;
    at->ready.forward = s == 0 && next < problem->microbatches ? 0 : PPI_INFINITE;
    if (s > 0 && at[-1].done.forwards > next)
        at->ready.forward = partial->ends.forward[(size_t)(s - 1) * problem->microbatches + next] + stage->forward_delay;
    if (s + 1 == problem->stages && at->done.inputs == next - 1)
        at->ready.backward = step->end;
    if (s + 1 == problem->stages || at[1].done.forwards != next - 1)
        return PPSCHED_NONE;
    at[1].ready.forward = step->end + stage[1].forward_delay;
    return stage[1].device;
}

/* The same for an I or B and the stage before. */
static uint32_t hand_on_input(struct ppi_partial *partial, const struct ppi_step *step)
{
    const struct ppi_problem *problem = partial->problem;
    const struct ppi_stage *stage = &problem->stage[step->stage];
    struct ppi_at_stage *at = &partial->stage[step->stage];
    uint32_t s = step->stage, next = at->done.inputs;
    at->ready.backward = s + 1 == problem->stages && at->done.forwards > next ? 0 : PPI_INFINITE;
    if (s + 1 < problem->stages && at[1].done.inputs > next)
        at->ready.backward = partial->ends.backward[(size_t)(s + 1) * problem->microbatches + next] + stage->backward_delay;
    if (s == 0 || at[-1].done.inputs != next - 1)
        return PPSCHED_NONE;
    at[-1].ready.backward = step->end + stage[-1].backward_delay;
    return stage[-1].device;
}

void ppi_partial_append(struct ppi_partial *partial, const struct ppi_step *step)
{
    const struct ppi_stage *stage = &partial->problem->stage[step->stage];
    uint32_t device = stage->device, told = PPSCHED_NONE;
    ppi_put_op(&partial->device[device], &partial->stage[step->stage].done, stage, step->kind, step->start, step->end);
    partial->device[device].changed = true;
    set_held(partial, device, 0);
    mark(partial, step->stage, step->kind == PPSCHED_KIND_B ? PPSCHED_KIND_I : step->kind);
    if (step->kind == PPSCHED_KIND_B)
        mark(partial, step->stage, PPSCHED_KIND_W);
    if (step->kind != PPSCHED_KIND_W)
        told = step->kind == PPSCHED_KIND_F ? hand_on_forward(partial, step) : hand_on_input(partial, step);
    if (told != PPSCHED_NONE && told != device)
        renew_device(partial, told);
    renew_device(partial, device);
}

void ppi_partial_note_end(const struct ppi_partial *partial, const struct ppi_step *step)
{
    size_t row = (size_t)step->stage * partial->problem->microbatches;
    const struct ppi_done *done = &partial->stage[step->stage].done;
    if (step->kind == PPSCHED_KIND_F)
        partial->ends.forward[row + done->forwards - 1] = step->end;
    else if (step->kind != PPSCHED_KIND_W)
        partial->ends.backward[row + done->inputs - 1] = step->end;
}

void ppi_partial_put(struct ppi_partial *partial, const struct ppi_step *step, struct ppi_orders *out)
{
    uint32_t device = partial->problem->stage[step->stage].device;
    out->ops[out->first[device] + out->count[device]++] = (ppsched_op){
        .microbatch = ppi_partial_next(partial, step->stage, step->kind), .stage = (uint16_t)step->stage, .kind = step->kind};
    ppi_partial_append(partial, step);
    ppi_partial_note_end(partial, step);
}

void ppi_partial_hold(struct ppi_partial *partial, uint32_t device, uint32_t places)
{
    set_held(partial, device, partial->device[device].held | places);
    renew_device(partial, device);
}
