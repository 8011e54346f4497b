/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule in the making, on any placement of one copy: ops are put at the ends of the devices' queues one by one, each as
 * early as it can start. Microbatches of a stage run in ascending order, so counters tell what is done.
 *
 * Planners that know what comes next only put; list scheduling also asks what can be next (ppi_partial_append keeps that). */
#ifndef PPSCHED_SEARCH_PARTIAL_H
#define PPSCHED_SEARCH_PARTIAL_H

#include "base/checked.h"
#include "search/problem.h"

/* What may be appended: an F, I, W or B. */
struct ppi_step {
    uint32_t stage;
    uint8_t kind;
    double start, end;
};

/* Ops of a stage that are done; a B is an I and a W. */
struct ppi_done {
    uint32_t forwards, inputs, weights;
};

/* Where a device stands. */
struct ppi_at_device {
    double clock;
    double level;  /* activations that it holds */
    double start;  /* where its first op started; negative: nowhere */
    double finish; /* the earliest end of an op that it could run next; infinite: none can be run */
    double end;    /* the objective's bound by the device's own work (see outlook.h) */
    double chain;  /* and by what must follow its ops elsewhere */
    uint32_t held; /* bit i: the next F of its stage in place i waits until the device has run another op */
    uint32_t reserved;
};

/* How far a stage is. */
struct ppi_at_stage {
    struct ppi_ways ready; /* when the inputs of its next F, I are there; infinite: not known */
    struct ppi_ways head;  /* a lower bound of when they start */
    struct ppi_done done;
    uint32_t blocked; /* its next F, whenever its inputs come, cannot be the device's next op */
};

/* Where all stand, in one block, so that a copy is one memcpy. */
struct ppi_partial {
    double *block;
    uint64_t *hash; /* [0] of what is done and held, [1] of the Fs and Is that are done */
    struct ppi_at_device *device;
    struct ppi_at_stage *stage;
};

/* Ends of F and of I or B by stage pass: those that the next stage (stage before) has not used yet are valid. */
struct ppi_ends {
    double *forward, *backward;
};

size_t ppi_partial_doubles(const struct ppi_problem *problem);
void ppi_partial_place(struct ppi_partial *partial, const struct ppi_problem *problem, double *block);
void ppi_partial_copy(struct ppi_partial *to, const struct ppi_partial *from, const struct ppi_problem *problem);

/* Nothing is done yet. */
void ppi_partial_start(struct ppi_partial *partial, const struct ppi_problem *problem);
bool ppi_partial_is_complete(const struct ppi_partial *partial, const struct ppi_problem *problem);

/* The microbatch of a stage's next op of a kind. */
static inline uint32_t ppi_partial_next(const struct ppi_partial *partial, uint32_t stage, uint8_t kind)
{
    const struct ppi_done *done = &partial->stage[stage].done;
    return kind == PPSCHED_KIND_F ? done->forwards : kind == PPSCHED_KIND_W ? done->weights : done->inputs;
}

/* Notes the end of a step that is about to be put. */
static inline void ppi_partial_note_end(const struct ppi_partial *partial, const struct ppi_problem *problem,
                                        const struct ppi_ends *ends, const struct ppi_step *step)
{
    size_t cell = (size_t)step->stage * problem->microbatches + ppi_partial_next(partial, step->stage, step->kind);
    if (step->kind == PPSCHED_KIND_F)
        ends->forward[cell] = step->end;
    else if (step->kind != PPSCHED_KIND_W)
        ends->backward[cell] = step->end;
}

/* Puts an op of a stage: its device's clock and memory, and what is done; nothing else. */
static inline void ppi_put_op(struct ppi_at_device *at, struct ppi_done *done, const struct ppi_stage *stage, uint8_t kind,
                              double start, double end)
{
    if (at->start < 0)
        at->start = start;
    at->clock = end;
    if (kind == PPSCHED_KIND_F) {
        at->level += stage->memory[PPSCHED_KIND_F];
        done->forwards++;
        return;
    }
    if (kind != PPSCHED_KIND_W) {
        at->level += stage->memory[PPSCHED_KIND_I];
        done->inputs++;
    }
    if (kind != PPSCHED_KIND_I) {
        at->level += stage->memory[PPSCHED_KIND_W];
        done->weights++;
    }
}

/* The device that can end an op first, or PPSCHED_NONE where none can run any. */
uint32_t ppi_partial_first_to_finish(const struct ppi_partial *partial, const struct ppi_problem *problem);

/* When a step could start; infinite where it cannot be the device's next: its inputs are not known yet, memory does not allow
 * it, or it is held. */
double ppi_partial_earliest(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage, uint8_t kind);

/* Whether the Fs left on a device cannot all be held at once: only then may it be better to leave one out for another. */
bool ppi_partial_is_scarce(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device);

/* Puts a step, and finds anew what can be next. `ends` are those before it. */
void ppi_partial_append(struct ppi_partial *partial, const struct ppi_problem *problem, const struct ppi_ends *ends,
                        const struct ppi_step *step);

/* Whether the next F of a stage may be held back: an op of an older microbatch is still to come on the device. As every wait is
 * for something older, some op can always be run. */
bool ppi_partial_may_hold(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage);

/* Holds the next F of a device's stages back; a bit each, by their places. */
void ppi_partial_hold(struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device, uint32_t places);

/* The longest device span or the makespan so far. */
double ppi_partial_objective(const struct ppi_partial *partial, const struct ppi_problem *problem);

#endif
