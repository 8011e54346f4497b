/* SPDX-License-Identifier: Apache-2.0 */
/* What greedy planners share: a partial schedule whose backwards are all split, and how long each device has been idle. The
 * planners decide what comes next by their own rules, and may plan repeatedly in the same memory. */
#ifndef PPSCHED_SEARCH_GREEDY_H
#define PPSCHED_SEARCH_GREEDY_H

#include "base/checked.h"
#include "bound/problem.h"
#include "search/orders.h"

struct ppi_greedy_device {
    double clock, start;     /* start: of its first op; negative where it has none */
    double level, limit;     /* activations that it holds, and that its Fs may fill: at first the limit minus `rise` */
    double rise;             /* the most that one of its Is adds to memory; kept free for Is */
    double idle;             /* since its first op */
    double work;             /* time of all its ops */
    uint16_t *due, *due_end; /* the stages of Is whose Ws are due, the oldest first */

    /* Used by the planner alone. */
    double spare;   /* how long it may be idle without delaying the others, from the plan before */
    uint32_t ahead; /* forwards that it may be ahead of its backwards, or of its other stage */
    bool turns;     /* in this round it runs its first stage */
};

struct ppi_greedy_stage {
    const struct ppi_stage *costs;
    struct ppi_greedy_device *device;
    uint32_t number;
    uint32_t done[PPI_COMPUTE_KINDS];
    double *end[PPI_COMPUTE_KINDS];     /* of its next F and I, which is infinite */
    double *awaited[PPI_COMPUTE_KINDS]; /* the end for which its next F and I wait; infinite: not planned */
    size_t apart[PPI_COMPUTE_KINDS];    /* from the end that one microbatch waits for to that of the next */
};

/* A power of two above all kinds of ops of a plan. */
enum { PPI_GREEDY_KINDS = 8 };

/* The ops of a plan, in the order in which they were appended. */
struct ppi_greedy_plan {
    uint32_t *code; /* PPI_GREEDY_KINDS times the stage, plus the kind */
    size_t count;
    size_t first, end;      /* of them, those that are repeated ... */
    uint32_t times, rounds; /* ... so often, each with so many microbatches; 0: none are */
};

struct ppi_greedy {
    const struct ppi_problem *problem;
    uint32_t microbatches; /* the problem's; fewer where rounds that repeat are left out */
    struct ppi_greedy_stage *stage;
    struct ppi_greedy_device *device;
    double *ends;    /* by microbatch and link */
    double *zeros;   /* by microbatch: what the first F waits for */
    uint16_t *due;   /* by device, the stages of its Is in the order they ran */
    size_t row;      /* from one microbatch to the next in `ends` */
    ppsched_op *op;  /* by code: that of the next microbatch that is written */
    ppsched_op **to; /* by device: where its next op is written, then where its first op that repeats is */
    struct ppi_greedy_plan plan;
    double worst_idle; /* the most of any device so far */
    double longest;    /* the largest sum of all work and idle time so far of any device: a lower bound of the span */
};

/* In the caller's arena, for a problem that outlives it. */
ppsched_status ppi_greedy_make(struct ppi_greedy *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error);

/* Starts an empty plan. */
void ppi_greedy_start(struct ppi_greedy *greedy);

/* An empty plan of the same size, in the caller's arena. */
ppsched_status ppi_greedy_plan_make(struct ppi_greedy_plan *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                    ppsched_error *error);

/* Writes all ops of a complete plan. */
void ppi_greedy_write(const struct ppi_greedy *greedy, const struct ppi_greedy_plan *plan, struct ppi_orders *out);

/* Sets the end of a stage's next F or I. */
static inline void ppi_greedy_set_end(const struct ppi_greedy *greedy, struct ppi_greedy_stage *stage, uint8_t kind, double end)
{
    *stage->end[kind] = end;
    stage->end[kind] += greedy->row;
    *stage->end[kind] = PPI_INFINITE;
    stage->awaited[kind] += stage->apart[kind];
}

/* Appends a stage's next F, I or W, no earlier than `ready`. */
static inline void ppi_greedy_put(struct ppi_greedy *greedy, struct ppi_greedy_stage *stage, uint8_t kind, double ready)
{
    struct ppi_greedy_device *device = stage->device;
    double start = ppi_larger(device->clock, ready), end = start + stage->costs->duration[kind];
    if (device->start < 0) {
        device->start = start;
    } else if (start > device->clock) {
        device->idle += start - device->clock;
        greedy->worst_idle = ppi_larger(greedy->worst_idle, device->idle);
        greedy->longest = ppi_larger(greedy->longest, device->work + device->idle);
    }
    stage->done[kind]++;
    device->clock = end;
    device->level += stage->costs->memory[kind];
    if (kind == PPSCHED_KIND_W)
        device->due++;
    else
        ppi_greedy_set_end(greedy, stage, kind, end);
    if (kind == PPSCHED_KIND_I)
        *device->due_end++ = (uint16_t)stage->number;
    greedy->plan.code[greedy->plan.count++] = stage->number * PPI_GREEDY_KINDS + kind;
}

/* Whether a W is due on a device. */
static inline bool ppi_greedy_has_due(const struct ppi_greedy_device *device)
{
    return device->due < device->due_end;
}

/* Appends the oldest W that is due on a device; false where none is. */
bool ppi_greedy_put_weight(struct ppi_greedy *greedy, struct ppi_greedy_device *device);

/* Where a stage's next I adds memory, appends as many Ws that are due as free enough for it. */
void ppi_greedy_make_rise(struct ppi_greedy *greedy, struct ppi_greedy_stage *stage);

/* Sets a device's limit, less what is kept free for its Is. */
static inline void ppi_greedy_set_limit(struct ppi_greedy_device *device, double limit)
{
    device->limit = limit - device->rise;
}

/* When the inputs of a stage's next F or I arrive; infinite where they are not planned yet, or no op is left. */
static inline double ppi_greedy_arrival(const struct ppi_greedy_stage *stage, uint8_t kind)
{
    return *stage->awaited[kind] + (kind == PPSCHED_KIND_F ? stage->costs->forward_delay : stage->costs->backward_delay);
}

/* Whether a stage's next F fits into memory now. */
static inline bool ppi_greedy_fits(const struct ppi_greedy_stage *stage)
{
    return stage->device->level + stage->costs->memory[PPSCHED_KIND_F] <= stage->device->limit;
}

/* Appends Ws until a stage's next F fits into memory; false where it does not even after all that are due. */
static inline bool ppi_greedy_make_fit(struct ppi_greedy *greedy, struct ppi_greedy_stage *stage)
{
    while (!ppi_greedy_fits(stage))
        if (!ppi_greedy_put_weight(greedy, stage->device))
            return false;
    return true;
}

/* Appends Ws in the gap before an op that starts at `ready`: those that fit, and one that overruns it where more than `least`
 * is left. */
void ppi_greedy_fill_gap(struct ppi_greedy *greedy, struct ppi_greedy_device *device, double ready, double least);

/* Appends all Ws that are left. Returns the longest span; infinite where ops are missing. */
double ppi_greedy_finish(struct ppi_greedy *greedy);

#endif
