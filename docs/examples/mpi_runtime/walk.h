/* SPDX-License-Identifier: Apache-2.0 */
/* A device's queue, op by op: what to hold where is laid out once, so that a step allocates nothing. */
#ifndef WALK_H
#define WALK_H

#include <mpi.h>

#include <ppsched/ppsched.h>

#include "../mlp.h"

enum { KINDS = 4 }; /* F, B, I, W: kind - 1 */

/* An op of the queue, and what it needs, looked up once. */
struct task {
    ppsched_op op;
    struct activation *kept; /* F, B, I, W: what the stage keeps of the microbatch */
    const double *input;     /* F: NULL for the model's inputs; B, I; of a send: what is to be sent */
    double *output;          /* B, I: where the gradient by the inputs goes */
    double *slot;            /* of a send or receive: its buffer in the arena */
    struct task *receive;    /* F, B, I: where the input comes from another device */
    struct task *released;   /* the first of the sends whose slots are free behind this op; ... */
    struct task *next;       /* ... of a send: the next one of these */
    MPI_Request request;
    int rank, tag;
};

struct walk {
    const ppsched_schedule *schedule;
    uint32_t device, stages, slices, pieces; /* pieces: slices of microbatches, of all iterations */
    int blocks;                              /* sends and receives by MPI_Send and MPI_Recv */
    int measures, copies;                    /* copies: to the host, which it cannot */
    double work;                             /* seconds that an F takes at least, an I and a W too, and a B twice */
    struct task *tasks;                      /* one an op, and one for the queue's end */
    size_t count, bytes;
    struct activation *arena; /* slots of live stage passes, of receives, and of sends under way */
    struct mlp *stage;        /* all stages; only those of this device are used */
    double *seconds, *counts; /* how long the measured ops took, and how many there were: of each kind each stage */
    double loss;
};

/* Zeroed memory; where there is none all ranks end. */
void *walk_room(size_t count, size_t size);

/* Allocates all that the steps need for the device of this rank. The schedule is proven, and lives as long. */
ppsched_status walk_lay_out(struct walk *walk, const ppsched_schedule *schedule, uint32_t device, ppsched_error *error);

/* Sleeps so long, or not at all where that is past. */
void walk_sleep(double seconds);

/* One step; `measures`: its times count. */
void walk_step(struct walk *walk, int measures);

void walk_free(struct walk *walk);

#endif
