/* SPDX-License-Identifier: Apache-2.0 */
#include "search/pattern.h"

#include "base/error.h"

/* A stretch of a device's period that is taken; it may reach over the period's end. */
struct ppi_slot {
    double from, to;
};

bool ppi_pattern_suits(const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++)
        if (problem->device[d].count > PPI_PATTERN_MOST_STAGES)
            return false;
    return true;
}

ppsched_status ppi_pattern_make(struct ppi_pattern *out, const struct ppi_problem *problem, ppsched_error *error)
{
    out->start = ppi_allocate(&problem->host, problem->stages, sizeof *out->start);
    out->slots = ppi_allocate(&problem->host, problem->stages, 2 * sizeof *out->slots);
    return out->start != NULL && out->slots != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the search");
}

void ppi_pattern_clear(struct ppi_pattern *pattern, const struct ppi_problem *problem)
{
    ppi_release(&problem->host, pattern->slots);
    ppi_release(&problem->host, pattern->start);
}

double ppi_pattern_least_period(const struct ppi_problem *problem)
{
    double longest = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        longest = problem->device[d].work > longest ? problem->device[d].work : longest;
    return longest / problem->microbatches;
}

/* Without its fraction; of numbers too large to have one, itself. */
static double whole_part(double x)
{
    return x < 4e18 ? (double)(int64_t)x : x;
}

/* A time within its period. */
static double within(double time, double period)
{
    double part = time - period * whole_part(time / period);
    return part < 0 ? 0 : part < period ? part : 0;
}

/* How far [at, at + duration) must move to clear a slot; 0 where it does. All within one period. */
static double overlap(const struct ppi_slot *slot, double at, double duration, double period)
{
    const double tolerance = 1e-9 * period;
    for (int turn = -1; turn <= 1; turn++) {
        double from = slot->from + turn * period, to = slot->to + turn * period;
        if (at < to - tolerance && at + duration > from + tolerance)
            return to - at;
    }
    return 0;
}

/* The first time from `ready` on at which the device is free for so long; negative where it never is. `count` slots of it are
 * taken. */
static double first_room(const struct ppi_slot *slots, uint32_t count, double ready, double duration, double period)
{
    double time = ready;
    if (!(duration <= period && period > 0))
        return -1;
    for (uint32_t i = 0; i < count && time <= ready + period;) {
        double wait = overlap(&slots[i], within(time, period), duration, period);
        if (wait > 0 && !(time + wait > time)) /* too short to be seen at such a time */
            return -1;
        time += wait;
        i = wait > 0 ? 0 : i + 1;
    }
    return time <= ready + period ? time : -1;
}

/* Slots taken on a device so far: all its Fs of stages below `stage`, or all its Fs and the Is above. */
static uint32_t taken(const struct ppi_problem *problem, uint32_t stage, uint8_t kind)
{
    const struct ppi_stage *own = &problem->stage[stage];
    uint32_t count = problem->device[own->device].count;
    return kind == PPSCHED_KIND_F ? own->place : count + (count - 1 - own->place);
}

/* Places an F or I from `*time` on; then that is its end. */
static bool place(struct ppi_pattern *pattern, const struct ppi_problem *problem, uint32_t stage, uint8_t kind, double *time)
{
    const struct ppi_stage *own = &problem->stage[stage];
    struct ppi_slot *slots = pattern->slots + 2 * (size_t)problem->device[own->device].first;
    double duration = kind == PPSCHED_KIND_F ? own->duration[PPSCHED_KIND_F] : own->input;
    uint32_t count = taken(problem, stage, kind);
    double start = first_room(slots, count, *time, duration, pattern->period);
    if (start < 0)
        return false;
    double at = within(start, pattern->period);
    slots[count] = (struct ppi_slot){at, at + duration};
    *(kind == PPSCHED_KIND_F ? &pattern->start[stage].forward : &pattern->start[stage].backward) = start;
    *time = start + duration;
    return true;
}

bool ppi_pattern_place(struct ppi_pattern *pattern, const struct ppi_problem *problem, double period)
{
    double time = 0;
    pattern->period = period;
    for (uint32_t s = 0; s < problem->stages; s++) {
        time += problem->stage[s].forward_delay;
        if (!place(pattern, problem, s, PPSCHED_KIND_F, &time))
            return false;
    }
    for (uint32_t s = problem->stages; s-- > 0;) {
        time += problem->stage[s].backward_delay;
        if (!place(pattern, problem, s, PPSCHED_KIND_I, &time))
            return false;
    }
    return true;
}

double ppi_pattern_in_flight(const struct ppi_pattern *pattern, const struct ppi_problem *problem, uint32_t stage)
{
    const struct ppi_stage *own = &problem->stage[stage];
    double periods = (pattern->start[stage].backward + own->input + own->weight - pattern->start[stage].forward) /
                     pattern->period;
    double whole = whole_part(periods);
    return periods > whole + 1e-9 ? whole + 1 : whole;
}

bool ppi_pattern_fits(const struct ppi_pattern *pattern, const struct ppi_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++) {
        double level = 0;
        for (uint32_t i = 0; i < problem->device[d].count; i++) {
            uint32_t s = ppi_stage_at(problem, d, i);
            level += problem->stage[s].memory[PPSCHED_KIND_F] * ppi_pattern_in_flight(pattern, problem, s);
        }
        if (level > problem->device[d].limit)
            return false;
    }
    return true;
}
