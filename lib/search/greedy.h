/* SPDX-License-Identifier: Apache-2.0 */
/* What greedy planners share: a schedule in the making whose backwards are all split, with how long each device has been idle.
 * They decide what comes next by rules of their own, and may plan again and again in the same room. */
#ifndef PPSCHED_SEARCH_GREEDY_H
#define PPSCHED_SEARCH_GREEDY_H

#include "search/orders.h"
#include "search/partial.h"

struct ppi_greedy {
    const struct ppi_problem *problem;
    struct ppi_partial partial;
    struct ppi_ends ends;
    struct ppi_orders *out;
    double *idle;   /* by device: since its first op */
    double *work;   /* time of all its ops */
    size_t *due;    /* of its ops before this one no W is due */
    double longest; /* work and idle time of the device that has most so far */
};

/* The problem must outlive it. */
ppsched_status ppi_greedy_make(struct ppi_greedy *out, const struct ppi_problem *problem, ppsched_error *error);
void ppi_greedy_clear(struct ppi_greedy *greedy);

/* Nothing is planned; the next ops go to `out`. */
void ppi_greedy_start(struct ppi_greedy *greedy, struct ppi_orders *out);

/* The longest span; infinite where ops are missing. */
double ppi_greedy_span(const struct ppi_greedy *greedy);

/* Puts a stage's next F, I or W, no earlier than `ready`. */
static inline void ppi_greedy_put(struct ppi_greedy *greedy, uint32_t stage, uint8_t kind, double ready)
{
    struct ppi_partial *partial = &greedy->partial;
    const struct ppi_stage *own = &greedy->problem->stage[stage];
    uint32_t device = own->device, microbatch = ppi_partial_next(partial, stage, kind);
    double start = ppi_larger(partial->clock[device], ready);
    struct ppi_step step = {stage, kind, start, start + own->duration[kind]};
    if (partial->start[device] >= 0 && start > partial->clock[device]) {
        greedy->idle[device] += start - partial->clock[device];
        greedy->longest = ppi_larger(greedy->longest, greedy->work[device] + greedy->idle[device]);
    }
    ppi_partial_note_end(partial, greedy->problem, &greedy->ends, &step);
    ppi_partial_put(partial, greedy->problem, &step);
    greedy->out->ops[greedy->out->first[device] + greedy->out->count[device]++] = (ppsched_op){
        .microbatch = microbatch, .stage = (uint16_t)stage, .kind = kind};
}

/* When what a stage's next F or I needs arrives, where that is planned. Stage 0 and the last need nothing from elsewhere. */
static inline double ppi_greedy_forward_arrival(const struct ppi_greedy *greedy, uint32_t stage)
{
    size_t cell = (size_t)(stage - 1) * greedy->problem->microbatches + greedy->partial.done[stage].forwards;
    return greedy->ends.forward[cell] + greedy->problem->stage[stage].forward_delay;
}

static inline double ppi_greedy_input_arrival(const struct ppi_greedy *greedy, uint32_t stage)
{
    size_t cell = (size_t)(stage + 1) * greedy->problem->microbatches + greedy->partial.done[stage].inputs;
    return greedy->ends.backward[cell] + greedy->problem->stage[stage].backward_delay;
}

/* Whether a stage's next F fits into memory now. */
static inline bool ppi_greedy_fits(const struct ppi_greedy *greedy, uint32_t stage)
{
    const struct ppi_stage *own = &greedy->problem->stage[stage];
    return greedy->partial.level[own->device] + own->memory[PPSCHED_KIND_F] <= greedy->problem->device[own->device].limit;
}

#endif
