/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule in the making, on any placement of one copy: ops are put at the ends of the devices' queues one by one, each as
 * early as it can start. Microbatches of a stage run in ascending order, so counters tell what is done.
 *
 * Planners that know what comes next only put; list scheduling also asks what can be next (ppi_partial_append keeps that). */
#ifndef PPSCHED_SEARCH_PARTIAL_SCHEDULE_H
#define PPSCHED_SEARCH_PARTIAL_SCHEDULE_H

#include "base/checked.h"
#include "bound/problem.h"
#include "search/orders.h"

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
    double level;     /* activations that it holds */
    double start;     /* where its first op started; negative: nowhere */
    double finish;    /* the earliest end of an op that it could run next; infinite: none can be run */
    double end;       /* the objective's bound by the device's own work (see outlook.h) */
    double chain;     /* and by what must follow its ops elsewhere */
    uint32_t held;    /* bit i: the next F of its stage in place i waits until the device has run another op */
    uint32_t changed; /* whether it has run an op since its last outlook */
};

/* How far a stage is. */
struct ppi_at_stage {
    struct ppi_chain_times ready; /* when the inputs of its next F, I are there; infinite: not known */
    struct ppi_chain_times head;  /* a lower bound of when they start */
    struct ppi_done done;
    uint32_t blocked; /* its next F, whenever its inputs come, cannot be the device's next op */
};

/* Ends of F and of I or B by stage pass: those that the next stage (stage before) has not used yet are valid. */
struct ppi_ends {
    double *forward, *backward;
};

/* Where all stand, in one block, so that a copy is one memcpy; beside it the ends that later ops need. */
struct ppi_partial {
    const struct ppi_problem *problem;
    double *block;
    uint64_t *hash; /* [0] of what is done and held, [1] of the Fs and Is that are done */
    struct ppi_at_device *device;
    struct ppi_at_stage *stage;
    struct ppi_ends ends;
};

/* The size of a block, and with the ends behind it. */
size_t ppi_partial_block(const struct ppi_problem *problem);
size_t ppi_partial_workspace(const struct ppi_problem *problem);

/* One whose block and ends stand in a room for them. */
struct ppi_partial ppi_partial_at(const struct ppi_problem *problem, double *room);

/* Copies the block alone. */
void ppi_partial_copy(struct ppi_partial *to, const struct ppi_partial *from);

/* Nothing is done yet. */
void ppi_partial_start(struct ppi_partial *partial);
bool ppi_partial_is_complete(const struct ppi_partial *partial);

/* The microbatch of a stage's next op of a kind. */
static inline uint32_t ppi_partial_next(const struct ppi_partial *partial, uint32_t stage, uint8_t kind)
{
    const struct ppi_done *done = &partial->stage[stage].done;
    return kind == PPSCHED_KIND_F ? done->forwards : kind == PPSCHED_KIND_W ? done->weights : done->inputs;
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
uint32_t ppi_partial_first_to_finish(const struct ppi_partial *partial);

/* Finds when a step of a stage and kind can start and end. False where it cannot be the device's next, as its inputs are not
 * known yet, memory does not allow it, or it is held; and where it need not be, as another one could end before it starts: it
 * could be put behind that one without delay. */
bool ppi_partial_may_be_next(const struct ppi_partial *partial, struct ppi_step *step);

/* Whether the Fs left on a device cannot all be held at once: only then may it be better to leave one out for another. */
bool ppi_partial_is_scarce(const struct ppi_partial *partial, uint32_t device);

/* Puts a step, and finds anew what can be next. Its end is not noted. */
void ppi_partial_append(struct ppi_partial *partial, const struct ppi_step *step);

/* Notes the end of a step that has just been put. */
void ppi_partial_note_end(const struct ppi_partial *partial, const struct ppi_step *step);

/* All of that, and its op goes behind those of its device. */
void ppi_partial_put(struct ppi_partial *partial, const struct ppi_step *step, struct ppi_orders *out);

/* Whether the next F of a stage may be held back: an op of an older microbatch is still to come on the device. As every wait is
 * for something older, some op can always be run. */
bool ppi_partial_may_hold(const struct ppi_partial *partial, uint32_t stage);

/* Holds the next F of a device's stages back; a bit each, by their places. */
void ppi_partial_hold(struct ppi_partial *partial, uint32_t device, uint32_t places);

/* How long a device has been at work, or how late it is for a makespan. */
static inline double ppi_partial_time(const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_at_device *at = &partial->device[device];
    return partial->problem->by_span ? at->clock - ppi_larger(0, at->start) : at->clock;
}

/* The objective so far. */
double ppi_partial_objective(const struct ppi_partial *partial);

#endif
