/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/zb_greedy.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* One device while it is planned. */
struct ppi_zb_stage {
    const struct ppi_stage *costs;
    struct ppi_done done;
    double clock, memory, limit, bubble, first_start;
    double work;                     /* time of all its ops, at least */
    uint32_t warmup;                 /* forwards behind the first, before the first I */
    bool wants;                      /* a forward in this round */
    bool over;                       /* went over its limit */
    double *forward_end, *input_end; /* by microbatch */
    ppsched_op *next;
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* When what the next F or I waits for arrives from the neighbour; negative where it waits for none. */
static double forward_arrival(const struct ppi_zb_planner *p, uint32_t s)
{
    const struct ppi_zb_stage *stage = &p->stages[s];
    return s > 0 ? stage[-1].forward_end[stage->done.forwards] + stage->costs->forward_delay : -1;
}

static double input_arrival(const struct ppi_zb_planner *p, uint32_t s)
{
    const struct ppi_zb_stage *stage = &p->stages[s];
    return s + 1 < p->problem->devices ? stage[1].input_end[stage->done.inputs] + stage->costs->backward_delay : -1;
}

/* Puts an op at its device's clock. */
static void put(struct ppi_zb_planner *p, uint32_t s, uint8_t kind, uint32_t *count)
{
    struct ppi_zb_stage *stage = &p->stages[s];
    stage->clock += stage->costs->duration[kind];
    stage->memory += stage->costs->memory[kind];
    stage->over = stage->over || stage->memory > stage->limit;
    *stage->next++ = (ppsched_op){.microbatch = (*count)++, .stage = (uint16_t)s, .kind = kind};
}

/* Lets a device wait. */
static void wait_until(struct ppi_zb_planner *p, struct ppi_zb_stage *stage, double time)
{
    if (time <= stage->clock)
        return;
    stage->bubble += time - stage->clock;
    stage->clock = time;
    p->worst_bubble = ppi_larger(p->worst_bubble, stage->bubble);
    p->least_span = ppi_larger(p->least_span, stage->bubble + stage->work);
}

static void put_forward(struct ppi_zb_planner *p, uint32_t s)
{
    struct ppi_zb_stage *stage = &p->stages[s];
    uint32_t m = stage->done.forwards;
    if (m == 0)
        stage->clock = stage->first_start = ppi_larger(0, forward_arrival(p, s));
    else
        wait_until(p, stage, forward_arrival(p, s));
    put(p, s, PPSCHED_KIND_F, &p->stages[s].done.forwards);
    stage->forward_end[m] = stage->clock;
}

static void put_input(struct ppi_zb_planner *p, uint32_t s)
{
    struct ppi_zb_stage *stage = &p->stages[s];
    uint32_t m = stage->done.inputs;
    wait_until(p, stage, input_arrival(p, s));
    put(p, s, PPSCHED_KIND_I, &p->stages[s].done.inputs);
    stage->input_end[m] = stage->clock;
}

static bool weight_due(const struct ppi_zb_stage *stage)
{
    return stage->done.weights < stage->done.inputs;
}

static bool forward_fits(const struct ppi_zb_stage *stage)
{
    return stage->memory + stage->costs->memory[PPSCHED_KIND_F] <= stage->limit;
}

/* --- the warm-up --- */

/* How many forwards a stage runs behind its first until the first I of the next stage arrives; `*input_end` is when that ends,
 * and becomes when this stage's first I ends. */
static uint32_t warmup_of(const struct ppi_zb_planner *p, uint32_t s, double *input_end)
{
    const struct ppi_zb_stage *stage = &p->stages[s];
    double clock = stage->clock, memory = stage->memory, ready = *input_end + stage->costs->backward_delay;
    uint32_t more = 0;
    while (stage->done.forwards + more < p->problem->microbatches) {
        memory += stage->costs->memory[PPSCHED_KIND_F];
        double end = clock + stage->costs->duration[PPSCHED_KIND_F];
        bool late = p->choice.bubble_before_first_backward ? end > ready : clock >= ready;
        if (late || memory > stage->limit)
            break;
        clock = end;
        more++;
    }
    *input_end = ppi_larger(clock, ready) + stage->costs->duration[PPSCHED_KIND_I];
    return more;
}

/* A stage's share of the first stage's warm-up: the less the nearer to the last. */
static uint32_t even_share(const struct ppi_zb_planner *p, uint32_t s)
{
    uint64_t last = p->problem->devices - 1;
    return (uint32_t)((p->stages[0].warmup * (last - s) + last - 1) / last);
}

/* Finds how many forwards each stage runs in its warm-up, behind its first. False where an even warm-up would be no other. */
static bool find_warmup(struct ppi_zb_planner *p)
{
    uint32_t last = p->problem->devices - 1, usual = 0, even = 0;
    double input_end = p->stages[last].clock + p->stages[last].costs->duration[PPSCHED_KIND_I];
    bool differs = false;
    p->stages[last].warmup = 0;
    for (uint32_t s = last; s-- > 0;)
        p->stages[s].warmup = warmup_of(p, s, &input_end);
    usual = even = p->stages[0].warmup;
    for (uint32_t s = 1; s <= last; s++) {
        uint32_t more = p->stages[s].warmup;
        even = smaller(even, smaller(more, even_share(p, s)));
        while (more > 0 && more >= usual && 1 + more < p->problem->microbatches)
            more--;
        usual = smaller(usual, more); /* no forward without that of the stage before */
        differs = differs || usual != even;
        p->stages[s].warmup = p->choice.even_warmup ? even : usual;
    }
    return differs;
}

/* False where the plan would be the same as without an even warm-up. */
static bool put_warmup(struct ppi_zb_planner *p)
{
    uint32_t devices = p->problem->devices;
    for (uint32_t s = 0; s < devices; s++)
        put_forward(p, s);
    if (!find_warmup(p) && p->choice.even_warmup)
        return false;
    for (uint32_t s = 0; s < devices; s++)
        for (uint32_t k = 0; k < p->stages[s].warmup; k++)
            put_forward(p, s);
    for (uint32_t s = devices; s-- > 0;)
        put_input(p, s);
    return true;
}

/* --- the rounds --- */

/* Time of the Ws that must run before a forward fits into memory. */
static double time_to_fit(const struct ppi_zb_stage *stage)
{
    const double *memory = stage->costs->memory;
    double held = stage->memory + memory[PPSCHED_KIND_F], time = 0;
    uint32_t due = stage->done.inputs - stage->done.weights;
    for (; held > stage->limit && due > 0; due--) {
        held += memory[PPSCHED_KIND_W];
        time += stage->costs->duration[PPSCHED_KIND_W];
    }
    return time;
}

/* Whether a stage runs a forward in this round. */
static bool wants_forward(const struct ppi_zb_planner *p, uint32_t s)
{
    const struct ppi_zb_stage *stage = &p->stages[s], *next = stage + 1;
    if (stage->done.forwards == p->problem->microbatches)
        return false;
    if (!p->choice.backward_first || s + 1 == p->problem->devices || stage->done.forwards < next->done.forwards + 2)
        return true;
    double input = next->clock + next->costs->duration[PPSCHED_KIND_F] + next->costs->duration[PPSCHED_KIND_I] +
                   stage->costs->backward_delay;
    if (stage->clock >= input)
        return false;
    if (stage->clock + stage->costs->duration[PPSCHED_KIND_F] + time_to_fit(stage) <= input)
        return true;
    return input - stage->clock > p->worst_bubble - stage->bubble;
}

/* Puts Ws into the gap until the next op can start: those that fit, and one that does not if the device can afford it. */
static void fill_gap(struct ppi_zb_planner *p, uint32_t s, double ready)
{
    struct ppi_zb_stage *stage = &p->stages[s];
    while (weight_due(stage) && stage->clock + stage->costs->duration[PPSCHED_KIND_W] <= ready)
        put(p, s, PPSCHED_KIND_W, &p->stages[s].done.weights);
    double gap = ready - stage->clock;
    if (weight_due(stage) && gap > 0 && (gap > p->worst_bubble - stage->bubble || p->choice.fill_small_gaps))
        put(p, s, PPSCHED_KIND_W, &p->stages[s].done.weights);
}

static void put_forwards(struct ppi_zb_planner *p)
{
    bool held_back = false; /* a later stage with forwards left runs none, so those before it do not either */
    for (uint32_t s = p->problem->devices; s-- > 0;) {
        bool left = p->stages[s].done.forwards < p->problem->microbatches;
        p->stages[s].wants = !held_back && wants_forward(p, s);
        held_back = left && !p->stages[s].wants;
    }
    for (uint32_t s = 0; s < p->problem->devices; s++) {
        struct ppi_zb_stage *stage = &p->stages[s];
        if (!stage->wants)
            continue;
        while (!forward_fits(stage) && weight_due(stage))
            put(p, s, PPSCHED_KIND_W, &p->stages[s].done.weights);
        fill_gap(p, s, forward_arrival(p, s));
        put_forward(p, s);
    }
}

static void put_inputs(struct ppi_zb_planner *p)
{
    for (uint32_t s = p->problem->devices; s-- > 0;) {
        struct ppi_zb_stage *stage = &p->stages[s];
        if (s == 0 && stage->done.forwards == p->problem->microbatches)
            while (weight_due(stage))
                put(p, s, PPSCHED_KIND_W, &p->stages[s].done.weights);
        fill_gap(p, s, input_arrival(p, s));
        put_input(p, s);
    }
}

/* The longest span; infinite where the choices left ops out or went over a limit. */
static double span_of(const struct ppi_zb_planner *p)
{
    double span = 0;
    for (uint32_t s = 0; s < p->problem->devices; s++) {
        const struct ppi_zb_stage *stage = &p->stages[s];
        if (stage->done.forwards != p->problem->microbatches || stage->done.inputs != p->problem->microbatches || stage->over)
            return PPI_INFINITE;
        span = ppi_larger(span, stage->clock - stage->first_start);
    }
    return span;
}

static void restart(struct ppi_zb_planner *p, struct ppi_zb_choice choice, struct ppi_orders *out)
{
    p->choice = choice;
    p->worst_bubble = p->least_span = 0;
    for (uint32_t s = 0; s < p->problem->devices; s++) {
        struct ppi_zb_stage *stage = &p->stages[s];
        stage->done = (struct ppi_done){0};
        stage->clock = stage->memory = stage->bubble = 0;
        stage->over = false;
        stage->next = out->ops + out->first[s];
        out->count[s] = out->first[s + 1] - out->first[s];
    }
}

double ppi_zb_plan(struct ppi_zb_planner *p, struct ppi_zb_choice choice, double below, struct ppi_orders *out)
{
    restart(p, choice, out);
    if (!put_warmup(p))
        return PPI_INFINITE;
    for (uint32_t round = 1; round < p->problem->microbatches && !(p->least_span > below * (1 + 1e-9)); round++) {
        put_forwards(p);
        put_inputs(p);
    }
    for (uint32_t s = 0; s < p->problem->devices; s++)
        while (weight_due(&p->stages[s]))
            put(p, s, PPSCHED_KIND_W, &p->stages[s].done.weights);
    return span_of(p);
}

ppsched_status ppi_zb_planner_make(struct ppi_zb_planner *out, const struct ppi_problem *problem, ppsched_error *error)
{
    size_t cells = (size_t)problem->devices * problem->microbatches;
    struct ppi_zb_planner planner = {.problem = problem};
    planner.stages = ppi_allocate_zeroed(&problem->host, problem->devices, sizeof *planner.stages);
    planner.ends = ppi_allocate(&problem->host, 2 * cells, sizeof *planner.ends);
    if (planner.stages == NULL || planner.ends == NULL) {
        ppi_zb_planner_clear(&planner);
        return ppi_fail_memory(error, "the search");
    }
    for (uint32_t s = 0; s < problem->devices; s++) {
        struct ppi_zb_stage *stage = &planner.stages[s];
        stage->costs = &problem->stage[s];
        stage->limit = problem->device[s].limit;
        stage->work = problem->device[s].work;
        stage->forward_end = planner.ends + (size_t)s * problem->microbatches;
        stage->input_end = stage->forward_end + cells;
    }
    *out = planner;
    return PPSCHED_OK;
}

void ppi_zb_planner_clear(struct ppi_zb_planner *planner)
{
    ppi_release(&planner->problem->host, planner->ends);
    ppi_release(&planner->problem->host, planner->stages);
}
