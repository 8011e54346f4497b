/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a device's queue op by op. Buffers are assigned once, so that a step allocates nothing. */
#ifndef WALK_H
#define WALK_H

#include <mpi.h>

#include <ppsched/ppsched.h>

#include "../mlp.h"

enum { KINDS = 4 }; /* F, B, I, W: kind - 1 */

/* An op of the queue with everything that it needs, looked up once. */
struct task {
    ppsched_op op;
    struct activation *kept; /* F, B, I, W: what the stage holds of the microbatch */
    const double *input;     /* of F (NULL: the model's inputs), B and I; of a send: the value to send */
    double *output;          /* B, I: the gradient of the inputs */
    double *slot;            /* of a send or receive: its buffer in the arena */
    struct task *receive;    /* F, B, I: if the input comes from another device */
    struct task *released;   /* the first of the sends whose slots are free after this op */
    struct task *next;       /* of a send: the next one of these */
    MPI_Request request;
    int rank, tag;
};

struct walk {
    const ppsched_schedule *schedule;
    uint32_t device, stages, slices, micro_slices; /* micro_slices: of all iterations */
    int blocks;                                    /* uses MPI_Send and MPI_Recv */
    int measures, copies;                          /* copies: to the host, which it does not support */
    double work;                                   /* least seconds of an F, an I and a W; a B takes twice that */
    struct task *tasks;                            /* one per op, and one for the end of the queue */
    size_t count, bytes;
    struct activation *arena; /* slots of live stage passes, of receives, and of sends in flight */
    struct mlp *stage;        /* all stages; only those of this device are used */
    double *seconds, *counts; /* total time and number of the measured ops, by kind and stage */
    double loss;
};

/* Zeroed memory. If there is none, all ranks end. */
void *walk_room(size_t count, size_t size);

/* Allocates everything that the steps need, for the device of this rank. The schedule must be proved, and must live as long. */
ppsched_status walk_lay_out(struct walk *walk, const ppsched_schedule *schedule, uint32_t device, ppsched_error *error);

/* Sleeps for a time, or not at all if it is below 0. */
void walk_sleep(double seconds);

/* Runs one step. With `measures` its times count. */
void walk_step(struct walk *walk, int measures);

void walk_free(struct walk *walk);

#endif
