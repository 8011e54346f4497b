/* SPDX-License-Identifier: Apache-2.0 */
/* A device's queue, op by op: what to hold where is laid out once, so that a step allocates nothing. */
#ifndef WALK_H
#define WALK_H

#include <mpi.h>

#include <ppsched/ppsched.h>

#include "mlp.h"

enum { KINDS = 4 }; /* F, B, I, W: kind - 1 */

/* What the queue's op needs besides itself. */
struct aside {
    ppsched_op_buffer buffer; /* of a receive: its slot; of a send: the op behind which its slot is free */
    uint32_t send_slot;
    uint32_t released; /* a send whose slot is free behind this op; ... */
    uint32_t next;     /* ... of that send, another one */
    MPI_Request request;
};

/* How long a stage's ops of a kind took. */
struct stopwatch {
    double seconds, count;
};

struct walk {
    const ppsched_schedule *schedule;
    const ppsched_op *ops; /* this device's */
    size_t count;
    uint32_t device, stages, microbatches; /* of all iterations */
    int blocks;                            /* sends and receives by MPI_Send and MPI_Recv */
    int measures;
    double work; /* seconds that an F takes at least, an I and a W too, and a B twice */

    struct mlp *stage;                /* all stages; only those of this device are used */
    struct activation *activation;    /* arena: the slots of live stage passes */
    double (*receive)[VALUE];         /* arena: the slots of receives in flight */
    double (*send)[VALUE];            /* arena: the slots of sends under way */
    struct aside *aside;              /* of each op */
    uint32_t *activation_slot;        /* of each stage pass */
    uint32_t *arrival[2];             /* of each stage pass: the op that receives its activation, its gradient */
    struct stopwatch (*watch)[KINDS]; /* of each stage */
    double outgoing[2][VALUE];        /* what the last F, and the last B or I, has to send */
    double loss;
};

/* Zeroed memory; where there is none all ranks end. */
void *walk_room(size_t count, size_t size);

/* For the device of this rank. Allocates all that the steps need, and returns how many bytes. */
ppsched_status walk_lay_out(struct walk *walk, const ppsched_schedule *schedule, uint32_t device, size_t *bytes,
                            ppsched_error *error);

/* One step; `measures`: its times count. */
void walk_step(struct walk *walk, int measures);

#endif
