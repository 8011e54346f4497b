/* SPDX-License-Identifier: Apache-2.0 */
/* What greedy planners share: a schedule in the making whose backwards are all split, with how long each device has been idle.
 * They decide what comes next by rules of their own, and may plan again and again in the same room. */
#ifndef PPSCHED_SEARCH_GREEDY_H
#define PPSCHED_SEARCH_GREEDY_H

#include "search/orders.h"
#include "search/partial.h"

/* What they know of a device besides. */
struct ppi_greedy_device {
    double idle; /* since its first op */
    double work; /* time of all its ops */
    ppsched_op *next;
    const ppsched_op *due; /* of its ops before this one no W is due */
};

/* A stage, with all that putting its ops needs. */
struct ppi_greedy_stage {
    const struct ppi_stage *costs;
    struct ppi_at_device *at;
    struct ppi_done *done;
    struct ppi_greedy_device *device;
    double *forward_end, *input_end; /* by microbatch */
};

struct ppi_greedy {
    const struct ppi_problem *problem;
    struct ppi_partial partial;
    struct ppi_greedy_stage *stage;
    struct ppi_greedy_device *device;
    double worst_idle; /* of all devices so far */
    double longest;    /* work and idle time of the device that has most so far */
};

/* The problem must outlive it. */
ppsched_status ppi_greedy_make(struct ppi_greedy *out, const struct ppi_problem *problem, ppsched_error *error);
void ppi_greedy_clear(struct ppi_greedy *greedy);

/* Nothing is planned; the next ops go to `out`, all of them. */
void ppi_greedy_start(struct ppi_greedy *greedy, struct ppi_orders *out);

/* The longest span; infinite where ops are missing. */
double ppi_greedy_span(const struct ppi_greedy *greedy);

/* Puts a stage's next F, I or W, no earlier than `ready`. */
static inline void ppi_greedy_put(struct ppi_greedy *greedy, struct ppi_greedy_stage *stage, uint8_t kind, double ready)
{
    const struct ppi_done done = *stage->done;
    double start = ppi_larger(stage->at->clock, ready), end = start + stage->costs->duration[kind];
    if (start > stage->at->clock && stage->at->start >= 0) {
        stage->device->idle += start - stage->at->clock;
        greedy->worst_idle = ppi_larger(greedy->worst_idle, stage->device->idle);
        greedy->longest = ppi_larger(greedy->longest, stage->device->work + stage->device->idle);
    }
    ppi_put_op(stage->at, stage->done, stage->costs, kind, start, end);
    if (kind == PPSCHED_KIND_F)
        stage->forward_end[done.forwards] = end;
    else if (kind == PPSCHED_KIND_I)
        stage->input_end[done.inputs] = end;
    *stage->device->next++ = (ppsched_op){.microbatch = kind == PPSCHED_KIND_F   ? done.forwards
                                                        : kind == PPSCHED_KIND_I ? done.inputs
                                                                                 : done.weights,
                                          .stage = (uint16_t)(stage - greedy->stage),
                                          .kind = kind};
}

/* When what a stage's next F (but the first stage's) or I (but the last stage's) needs arrives, where that is planned. */
static inline double ppi_greedy_forward_arrival(const struct ppi_greedy_stage *stage)
{
    return stage[-1].forward_end[stage->done->forwards] + stage->costs->forward_delay;
}

static inline double ppi_greedy_input_arrival(const struct ppi_greedy_stage *stage)
{
    return stage[1].input_end[stage->done->inputs] + stage->costs->backward_delay;
}

/* Whether a stage's next F fits into memory now. */
static inline bool ppi_greedy_fits(const struct ppi_greedy *greedy, const struct ppi_greedy_stage *stage)
{
    return stage->at->level + stage->costs->memory[PPSCHED_KIND_F] <= greedy->problem->device[stage->costs->device].limit;
}

#endif
