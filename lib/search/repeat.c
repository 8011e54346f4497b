/* SPDX-License-Identifier: Apache-2.0 */
/* A state is: when each device is free, when each input that is not used yet arrives, which Ws are due, and, where a choice
 * asked for it, how long a device has been idle. All times are compared less that of the first device, up to rounding. */
#include "search/repeat.h"

#include <string.h>

/* Rounding of the sums of a few rounds, relative to the time so far. Measured: docs/performance.md. */
#define NOISE 0x1p-47

enum {
    LEAST_ROUNDS = 4, /* the state is taken anew after so many rounds, and after a share of all so far: */
    SHARE = 8
};

ppsched_status ppi_repeat_make(struct ppi_repeat *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error)
{
    const uint32_t devices = problem->devices;
    *out = (struct ppi_repeat){.clock = ppi_arena_take(arena, devices, 2 * sizeof *out->clock),
                               .due = ppi_arena_take(arena, devices, sizeof *out->due),
                               .asked = ppi_arena_take(arena, devices, sizeof *out->asked),
                               .done = ppi_arena_take(arena, problem->stages, PPI_COMPUTE_KINDS * sizeof *out->done)};
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    if (status != PPSCHED_OK)
        return status;
    out->idle = out->clock + devices;
    return PPSCHED_OK;
}

void ppi_repeat_start(struct ppi_repeat *repeat, const struct ppi_greedy *greedy)
{
    repeat->round = 0;
    repeat->next = greedy->problem->devices; /* it takes about as long until all devices run backwards */
    repeat->is_over = false;
    memset(repeat->asked, 0, greedy->problem->devices * sizeof *repeat->asked);
}

/* --- the state --- */

/* The Is of a device whose Ws may be due, in the order they ran. */
static uint16_t *inputs_of(const struct ppi_greedy *greedy, uint32_t device)
{
    return greedy->due + (size_t)greedy->problem->device[device].first * greedy->problem->microbatches;
}

static void take_state(struct ppi_repeat *repeat, const struct ppi_greedy *greedy, uint32_t round)
{
    const struct ppi_problem *problem = greedy->problem;
    const uint32_t later = LEAST_ROUNDS + round / SHARE;
    repeat->round = round;
    repeat->next = round + later;
    repeat->worst_idle = greedy->worst_idle;
    repeat->put = greedy->plan.count;
    for (uint32_t d = 0; d < problem->devices; d++) {
        repeat->clock[d] = greedy->device[d].clock;
        repeat->idle[d] = greedy->device[d].idle;
        repeat->due[d] = (size_t)(greedy->device[d].due - inputs_of(greedy, d));
        repeat->asked[d] = false;
    }
    for (uint32_t s = 0; s < problem->stages; s++)
        memcpy(repeat->done + (size_t)s * PPI_COMPUTE_KINDS, greedy->stage[s].done, sizeof greedy->stage[s].done);
}

static bool is_near(double a, double b, double time)
{
    return a - b <= time * NOISE && b - a <= time * NOISE;
}

/* Whether the Ws that are due are of the same stages. */
static bool are_due_alike(const struct ppi_repeat *repeat, const struct ppi_greedy *greedy, uint32_t device)
{
    const uint16_t *before = inputs_of(greedy, device) + repeat->due[device];
    const struct ppi_greedy_device *own = &greedy->device[device];
    for (const uint16_t *now = own->due; now < own->due_end; now++, before++)
        if (*now != *before)
            return false;
    return true;
}

static bool is_device_back(const struct ppi_repeat *repeat, const struct ppi_greedy *greedy, uint32_t device, double later)
{
    const struct ppi_greedy_device *own = &greedy->device[device];
    return is_near(own->clock, repeat->clock[device] + later, own->clock) &&
           (!repeat->asked[device] ||
            is_near(own->idle - repeat->idle[device], greedy->worst_idle - repeat->worst_idle, own->clock)) &&
           are_due_alike(repeat, greedy, device);
}

/* The times at which what a stage waits for next has been made, up to an infinite one; the first stage's forwards wait for
 * nothing. */
static double *inputs_of_stage(const struct ppi_greedy *greedy, uint32_t stage, uint8_t kind)
{
    const bool waits = stage > 0 || kind != PPSCHED_KIND_F;
    return waits ? greedy->stage[stage].awaited[kind] : greedy->zeros + greedy->problem->microbatches;
}

/* Whether a stage has run one F, I and W in each of `rounds`, and what it waits for next arrives so much later. */
static bool is_stage_back(const struct ppi_repeat *repeat, const struct ppi_greedy *greedy, uint32_t stage, uint32_t rounds,
                          double later)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_I, PPSCHED_KIND_W};
    const struct ppi_greedy_stage *own = &greedy->stage[stage];
    const uint32_t *done = repeat->done + (size_t)stage * PPI_COMPUTE_KINDS;
    for (int i = 0; i < 3; i++)
        if (own->done[kinds[i]] - done[kinds[i]] != rounds)
            return false;
    for (int i = 0; i < 2; i++) {
        const size_t apart = own->apart[kinds[i]];
        for (const double *arrival = inputs_of_stage(greedy, stage, kinds[i]); *arrival < PPI_INFINITE; arrival += apart)
            if (!is_near(*arrival, *(arrival - rounds * apart) + later, *arrival))
                return false;
    }
    return true;
}

static bool is_back(const struct ppi_repeat *repeat, const struct ppi_greedy *greedy, uint32_t rounds, double later)
{
    const struct ppi_problem *problem = greedy->problem;
    const uint32_t last = problem->devices - 1;
    if (!is_near(greedy->device[last].clock, repeat->clock[last] + later, greedy->device[last].clock))
        return false; /* as mostly */
    for (uint32_t d = 0; d < problem->devices; d++)
        if (!is_device_back(repeat, greedy, d, later))
            return false;
    for (uint32_t s = 0; s < problem->stages; s++)
        if (!is_stage_back(repeat, greedy, s, rounds, later))
            return false;
    return true;
}

/* --- repetition --- */

/* Leaves a device's ops out: it goes on so much later. */
static void leave_out_device(const struct ppi_repeat *repeat, struct ppi_greedy *greedy, uint32_t device, uint32_t times,
                             double later)
{
    struct ppi_greedy_device *own = &greedy->device[device];
    own->idle += times * (own->idle - repeat->idle[device]);
    own->clock += times * later;
    greedy->longest = ppi_larger(greedy->longest, own->work + own->idle);
}

/* What a stage waits for next arrives so much later. */
static void delay_inputs(struct ppi_greedy *greedy, uint32_t stage, double later)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_I};
    const struct ppi_greedy_stage *own = &greedy->stage[stage];
    for (int i = 0; i < 2; i++)
        for (double *arrival = inputs_of_stage(greedy, stage, kinds[i]); *arrival < PPI_INFINITE;
             arrival += own->apart[kinds[i]])
            *arrival += later;
}

/* How often so many rounds fit until a stage has no forwards left. */
static uint32_t times_of(const struct ppi_greedy *greedy, uint32_t rounds)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < greedy->problem->stages; s++)
        most = greedy->stage[s].done[PPSCHED_KIND_F] > most ? greedy->stage[s].done[PPSCHED_KIND_F] : most;
    return (greedy->microbatches - most) / rounds;
}

static void leave_out(const struct ppi_repeat *repeat, struct ppi_greedy *greedy, uint32_t rounds, double later)
{
    const uint32_t times = times_of(greedy, rounds);
    struct ppi_greedy_plan *plan = &greedy->plan;
    plan->first = repeat->put;
    plan->end = plan->count;
    plan->times = times;
    plan->rounds = rounds;
    greedy->microbatches -= times * rounds;
    greedy->worst_idle += times * (greedy->worst_idle - repeat->worst_idle);
    for (uint32_t s = 0; s < greedy->problem->stages; s++)
        delay_inputs(greedy, s, times * later);
    for (uint32_t d = 0; d < greedy->problem->devices; d++)
        leave_out_device(repeat, greedy, d, times, later);
}

void ppi_repeat_rounds(struct ppi_repeat *repeat, struct ppi_greedy *greedy, uint32_t round)
{
    if (repeat->is_over)
        return;
    if (repeat->round > 0) {
        const uint32_t rounds = round - repeat->round;
        const double later = greedy->device[0].clock - repeat->clock[0];
        repeat->is_over = times_of(greedy, rounds) == 0;
        if (!repeat->is_over && is_back(repeat, greedy, rounds, later)) {
            repeat->is_over = true;
            leave_out(repeat, greedy, rounds, later);
        }
    }
    if (!repeat->is_over && round >= repeat->next)
        take_state(repeat, greedy, round);
}
