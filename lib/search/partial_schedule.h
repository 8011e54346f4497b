/* SPDX-License-Identifier: Apache-2.0 */
/* A partial schedule, on any placement with one model copy: ops are appended to the devices' queues one by one, each as early
 * as it can start. Microbatches of a stage run in ascending order, so counters say which ops are done.
 *
 * Planners that know what comes next only append; list scheduling also asks what can be next (kept by ppi_partial_append). */
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

/* The state of a device. */
struct ppi_at_device {
    double clock;
    double level;     /* activations that it holds */
    double start;     /* when its first op started; negative: it has none */
    double finish;    /* the earliest end of an op that it could run next; infinite: it can run none */
    double end;       /* the objective's bound by the device's own work (see priority.h) */
    double chain;     /* the bound by what must follow its ops on other devices */
    uint32_t held;    /* bit i: the next F of its stage in place i waits until the device has run another op */
    uint32_t changed; /* whether its bounds must be found again */
};

/* The state of a stage. */
struct ppi_at_stage {
    struct ppi_chain_times ready; /* when the inputs of its next F and I arrive; infinite: not known */
    struct ppi_chain_times head;  /* a lower bound of when they start */
    struct ppi_done done;
    uint32_t blocked; /* its next F cannot be the device's next op, even with its inputs: it is held back or exceeds memory */
};

/* Ends of F and of I or B by stage pass: those that the next stage (stage before) has not used yet are valid. */
struct ppi_ends {
    double *forward, *backward;
};

/* The state of all devices and stages is in one block, so that a copy is one memcpy; the ends that later ops need are outside
 * it. */
struct ppi_partial {
    const struct ppi_problem *problem;
    double *block;
    uint64_t *hash; /* [0] of the ops that are done and held back, [1] of the Fs and Is that are done */
    struct ppi_at_device *device;
    struct ppi_at_stage *stage;
    struct ppi_ends ends;
};

/* The size of a block, and of a block and its ends, in doubles. */
size_t ppi_partial_block(const struct ppi_problem *problem);
size_t ppi_partial_workspace(const struct ppi_problem *problem);

/* A partial schedule whose block and ends are in work space of that size. */
struct ppi_partial ppi_partial_at(const struct ppi_problem *problem, double *room);

/* Copies the block alone. */
void ppi_partial_copy(struct ppi_partial *to, const struct ppi_partial *from);

/* Starts with no op done. */
void ppi_partial_start(struct ppi_partial *partial);
bool ppi_partial_is_complete(const struct ppi_partial *partial);

/* The microbatch of a stage's next op of a kind. */
static inline uint32_t ppi_partial_next(const struct ppi_partial *partial, uint32_t stage, uint8_t kind)
{
    const struct ppi_done *done = &partial->stage[stage].done;
    return kind == PPSCHED_KIND_F ? done->forwards : kind == PPSCHED_KIND_W ? done->weights : done->inputs;
}

/* Accounts for an op of a stage: its device's clock and memory, and the counters; nothing else. */
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
 * known yet, memory does not allow it, or it is held back; and where it need not be, as another step could end before it
 * starts, and it could follow that one without delay. */
bool ppi_partial_may_be_next(const struct ppi_partial *partial, struct ppi_step *step);

/* Whether the remaining Fs of a device exceed its memory together: only then may it be better to skip one for another. */
bool ppi_partial_is_scarce(const struct ppi_partial *partial, uint32_t device);

/* Appends a step, and updates what can be next. Its end is not noted. */
void ppi_partial_append(struct ppi_partial *partial, const struct ppi_step *step);

/* Notes the end of the step appended last. */
void ppi_partial_note_end(const struct ppi_partial *partial, const struct ppi_step *step);

/* Both, and appends its op to the order of its device. */
void ppi_partial_put(struct ppi_partial *partial, const struct ppi_step *step, struct ppi_orders *out);

/* Whether the next F of a stage may be held back: an op of an older microbatch is still to come on the device. Every wait is
 * for an older microbatch, so some op can always be run. */
bool ppi_partial_may_hold(const struct ppi_partial *partial, uint32_t stage);

/* Holds back the next F of a device's stages until it has run another op; a bit each, by their places. */
void ppi_partial_hold(struct ppi_partial *partial, uint32_t device, uint32_t places);

/* A device's time in the objective: from its first start for the span, from 0 for the makespan. */
static inline double ppi_partial_time(const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_at_device *at = &partial->device[device];
    return partial->problem->by_span ? at->clock - ppi_larger(0, at->start) : at->clock;
}

/* The objective so far. */
double ppi_partial_objective(const struct ppi_partial *partial);

#endif
