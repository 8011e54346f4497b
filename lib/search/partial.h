/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule in the making, by list scheduling: ops are appended to the devices' queues one by one, each as early as it can
 * start. Microbatches of a stage run in ascending order, so counters tell what is done. */
#ifndef PPSCHED_SEARCH_PARTIAL_H
#define PPSCHED_SEARCH_PARTIAL_H

#include "search/problem.h"

/* What may be appended. */
struct ppi_step {
    uint32_t stage;
    enum ppi_step_kind kind;
    double start, end;
};

/* Where all devices stand. Arrays lie in one block, so that a copy is one memcpy. */
struct ppi_partial {
    double *block;
    uint64_t *hash;    /* [0] of what is done and held, [1] of the Fs and Is that are done */
    double *clock;     /* by device: where it stands */
    double *level;     /* activations that it holds */
    double *start;     /* where its first op started; negative: nowhere */
    double *finish;    /* the earliest end of an op that it could run next; infinite: none can be run */
    double *end;       /* the objective's bound by the device's own work (see outlook.h) */
    double *chain;     /* and by what must follow its ops elsewhere */
    double *heads;     /* [stage * 2 + F or I] a lower bound of when the next op starts */
    double *ready;     /* [stage * 2 + F or I] when the inputs of the next op are there; infinite: not known */
    uint32_t *done;    /* [stage * 3 + letter] */
    uint32_t *blocked; /* by stage: its next F, whenever its inputs come, cannot be the device's next op */
    uint32_t *held;    /* by device: bit i: the next F of its stage in place i waits until the device has run another op */
};

/* Ends of F and I by stage pass: those that the next stage (stage before) has not used yet are valid. */
struct ppi_ends {
    double *forward, *input;
};

size_t ppi_partial_doubles(const struct ppi_problem *problem);
void ppi_partial_place(struct ppi_partial *partial, const struct ppi_problem *problem, double *block);
void ppi_partial_copy(struct ppi_partial *to, const struct ppi_partial *from, const struct ppi_problem *problem);

/* Nothing is done yet. */
void ppi_partial_start(struct ppi_partial *partial, const struct ppi_problem *problem);
bool ppi_partial_is_complete(const struct ppi_partial *partial, const struct ppi_problem *problem);

/* The device that can end an op first, or PPSCHED_NONE where none can run any. */
uint32_t ppi_partial_first_to_finish(const struct ppi_partial *partial, const struct ppi_problem *problem);

/* When a step could start; infinite where it cannot be the device's next: its inputs are not known yet, memory does not allow
 * it, or it is held. */
double ppi_partial_earliest(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t stage,
                            enum ppi_step_kind kind);

/* Whether the Fs left on a device cannot all be held at once: only then may it be better to leave one out for another. */
bool ppi_partial_is_scarce(const struct ppi_partial *partial, const struct ppi_problem *problem, uint32_t device);

/* Appends a step. `ends` are those before it; the caller notes the step's own end there. */
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
