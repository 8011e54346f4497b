/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/zb_greedy.h"

#include "base/checked.h"
#include "base/error.h"

/* What a stage is to do. */
struct ppi_zb_round {
    uint32_t warmup; /* forwards behind the first, before the first I */
    bool wants;      /* a forward in this round */
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t forwards_of(const struct ppi_zb_planner *p, uint32_t s)
{
    return p->greedy.stage[s].done->forwards;
}

/* When what the next F or I waits for arrives from the neighbour; negative where it waits for none. */
static double forward_arrival(const struct ppi_zb_planner *p, uint32_t s)
{
    return s > 0 ? ppi_greedy_forward_arrival(&p->greedy.stage[s]) : -1;
}

static double input_arrival(const struct ppi_zb_planner *p, uint32_t s)
{
    return s + 1 < p->greedy.problem->devices ? ppi_greedy_input_arrival(&p->greedy.stage[s]) : -1;
}

static void put_forward(struct ppi_zb_planner *p, uint32_t s)
{
    ppi_greedy_put(&p->greedy, &p->greedy.stage[s], PPSCHED_KIND_F, forward_arrival(p, s));
}

static void put_input(struct ppi_zb_planner *p, uint32_t s)
{
    ppi_greedy_put(&p->greedy, &p->greedy.stage[s], PPSCHED_KIND_I, input_arrival(p, s));
}

static void put_weight(struct ppi_zb_planner *p, uint32_t s)
{
    ppi_greedy_put(&p->greedy, &p->greedy.stage[s], PPSCHED_KIND_W, p->greedy.stage[s].at->clock);
}

static bool weight_due(const struct ppi_zb_planner *p, uint32_t s)
{
    const struct ppi_done *done = p->greedy.stage[s].done;
    return done->weights < done->inputs;
}

/* --- the warm-up --- */

/* How many forwards a stage runs behind its first until the first I of the next stage arrives; `*input_end` is when that ends,
 * and becomes when this stage's first I ends. */
static uint32_t warmup_of(const struct ppi_zb_planner *p, uint32_t s, double *input_end)
{
    const struct ppi_problem *problem = p->greedy.problem;
    const struct ppi_stage *stage = &problem->stage[s];
    double clock = p->greedy.partial.device[s].clock, level = p->greedy.partial.device[s].level,
           ready = *input_end + stage->backward_delay;
    uint32_t more = 0;
    while (forwards_of(p, s) + more < problem->microbatches) {
        level += stage->memory[PPSCHED_KIND_F];
        double end = clock + stage->duration[PPSCHED_KIND_F];
        bool late = p->choice.bubble_before_first_backward ? end > ready : clock >= ready;
        if (late || level > problem->device[s].limit)
            break;
        clock = end;
        more++;
    }
    *input_end = ppi_larger(clock, ready) + stage->duration[PPSCHED_KIND_I];
    return more;
}

/* A stage's share of the first stage's warm-up: the less the nearer to the last. */
static uint32_t even_share(const struct ppi_zb_planner *p, uint32_t s)
{
    uint64_t last = p->greedy.problem->devices - 1;
    return (uint32_t)((p->round[0].warmup * (last - s) + last - 1) / last);
}

/* Finds how many forwards each stage runs in its warm-up, behind its first. False where an even warm-up would be no other. */
static bool find_warmup(struct ppi_zb_planner *p)
{
    uint32_t last = p->greedy.problem->devices - 1, usual = 0, even = 0;
    double input_end = p->greedy.partial.device[last].clock + p->greedy.problem->stage[last].duration[PPSCHED_KIND_I];
    bool differs = false;
    p->round[last].warmup = 0;
    for (uint32_t s = last; s-- > 0;)
        p->round[s].warmup = warmup_of(p, s, &input_end);
    usual = even = p->round[0].warmup;
    for (uint32_t s = 1; s <= last; s++) {
        uint32_t more = p->round[s].warmup;
        even = smaller(even, smaller(more, even_share(p, s)));
        while (more > 0 && more >= usual && 1 + more < p->greedy.problem->microbatches)
            more--;
        usual = smaller(usual, more); /* no forward without that of the stage before */
        differs = differs || usual != even;
        p->round[s].warmup = p->choice.even_warmup ? even : usual;
    }
    return differs;
}

/* False where the plan would be the same as without an even warm-up. */
static bool put_warmup(struct ppi_zb_planner *p)
{
    uint32_t devices = p->greedy.problem->devices;
    for (uint32_t s = 0; s < devices; s++)
        put_forward(p, s);
    if (!find_warmup(p) && p->choice.even_warmup)
        return false;
    for (uint32_t s = 0; s < devices; s++)
        for (uint32_t k = 0; k < p->round[s].warmup; k++)
            put_forward(p, s);
    for (uint32_t s = devices; s-- > 0;)
        put_input(p, s);
    return true;
}

/* --- the rounds --- */

/* Time of the Ws that must run before a forward fits into memory. */
static double time_to_fit(const struct ppi_zb_planner *p, uint32_t s)
{
    const struct ppi_stage *stage = &p->greedy.problem->stage[s];
    const struct ppi_done *done = &p->greedy.partial.stage[s].done;
    double held = p->greedy.partial.device[s].level + stage->memory[PPSCHED_KIND_F], time = 0;
    for (uint32_t due = done->inputs - done->weights; held > p->greedy.problem->device[s].limit && due > 0; due--) {
        held += stage->memory[PPSCHED_KIND_W];
        time += stage->duration[PPSCHED_KIND_W];
    }
    return time;
}

/* Whether a stage runs a forward in this round. */
static bool wants_forward(const struct ppi_zb_planner *p, uint32_t s)
{
    const struct ppi_stage *stage = &p->greedy.problem->stage[s], *next = stage + 1;
    const struct ppi_at_device *own = &p->greedy.partial.device[s];
    if (forwards_of(p, s) == p->greedy.problem->microbatches)
        return false;
    if (!p->choice.backward_first || s + 1 == p->greedy.problem->devices || forwards_of(p, s) < forwards_of(p, s + 1) + 2)
        return true;
    double input = own[1].clock + next->duration[PPSCHED_KIND_F] + next->duration[PPSCHED_KIND_I] + stage->backward_delay;
    if (own->clock >= input)
        return false;
    if (own->clock + stage->duration[PPSCHED_KIND_F] + time_to_fit(p, s) <= input)
        return true;
    return input - own->clock > p->greedy.worst_idle - p->greedy.device[s].idle;
}

/* Puts Ws into the gap until the next op can start: those that fit, and one that does not if the device can afford it. */
static void fill_gap(struct ppi_zb_planner *p, uint32_t s, double ready)
{
    const struct ppi_greedy_stage *stage = &p->greedy.stage[s];
    while (weight_due(p, s) && stage->at->clock + stage->costs->duration[PPSCHED_KIND_W] <= ready)
        put_weight(p, s);
    double gap = ready - stage->at->clock;
    if (weight_due(p, s) && gap > 0 && (gap > p->greedy.worst_idle - stage->device->idle || p->choice.fill_small_gaps))
        put_weight(p, s);
}

/* False where a device would go over its limit. */
static bool put_forwards(struct ppi_zb_planner *p)
{
    bool held_back = false; /* a later stage with forwards left runs none, so those before it do not either */
    for (uint32_t s = p->greedy.problem->devices; s-- > 0;) {
        bool left = forwards_of(p, s) < p->greedy.problem->microbatches;
        p->round[s].wants = !held_back && wants_forward(p, s);
        held_back = left && !p->round[s].wants;
    }
    for (uint32_t s = 0; s < p->greedy.problem->devices; s++) {
        if (!p->round[s].wants)
            continue;
        while (!ppi_greedy_fits(&p->greedy, &p->greedy.stage[s]) && weight_due(p, s))
            put_weight(p, s);
        if (!ppi_greedy_fits(&p->greedy, &p->greedy.stage[s]))
            return false;
        fill_gap(p, s, forward_arrival(p, s));
        put_forward(p, s);
    }
    return true;
}

static void put_inputs(struct ppi_zb_planner *p)
{
    for (uint32_t s = p->greedy.problem->devices; s-- > 0;) {
        if (s == 0 && forwards_of(p, s) == p->greedy.problem->microbatches)
            while (weight_due(p, s))
                put_weight(p, s);
        fill_gap(p, s, input_arrival(p, s));
        put_input(p, s);
    }
}

double ppi_zb_plan(struct ppi_zb_planner *p, struct ppi_zb_choice choice, double below, struct ppi_orders *out)
{
    uint32_t microbatches = p->greedy.problem->microbatches;
    p->choice = choice;
    ppi_greedy_start(&p->greedy, out);
    if (!put_warmup(p))
        return PPI_INFINITE;
    for (uint32_t round = 1; round < microbatches && !(p->greedy.longest > below * (1 + PPI_ROUNDING)); round++) {
        if (!put_forwards(p))
            return PPI_INFINITE;
        put_inputs(p);
    }
    for (uint32_t s = 0; s < p->greedy.problem->devices; s++)
        while (weight_due(p, s))
            put_weight(p, s);
    return ppi_greedy_span(&p->greedy);
}

ppsched_status ppi_zb_planner_make(struct ppi_zb_planner *out, const struct ppi_problem *problem, ppsched_error *error)
{
    struct ppi_zb_planner planner = {0};
    ppsched_status status = ppi_greedy_make(&planner.greedy, problem, error);
    if (status != PPSCHED_OK)
        return status;
    planner.round = ppi_allocate(&problem->host, problem->devices, sizeof *planner.round);
    if (planner.round == NULL) {
        ppi_greedy_clear(&planner.greedy);
        return ppi_fail_memory(error, "the search");
    }
    *out = planner;
    return PPSCHED_OK;
}

void ppi_zb_planner_clear(struct ppi_zb_planner *planner)
{
    ppi_release(&planner->greedy.problem->host, planner->round);
    ppi_greedy_clear(&planner->greedy);
}
