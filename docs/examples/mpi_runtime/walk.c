/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "walk.h"

#include <stdlib.h>
#include <time.h>

static size_t pass_of(const struct walk *walk, uint32_t stage, uint32_t microbatch)
{
    return (size_t)stage * walk->microbatches + microbatch;
}

static int is_send(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_SEND_F || op->kind == PPSCHED_KIND_SEND_B;
}

static int is_receive(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_RECV_F || op->kind == PPSCHED_KIND_RECV_B;
}

static int goes_back(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_SEND_B || op->kind == PPSCHED_KIND_RECV_B;
}

/* The stage at the other end. */
static uint32_t other_stage(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_SEND_F || op->kind == PPSCHED_KIND_RECV_B ? op->stage + 1u : op->stage - 1u;
}

static int rank_of(const struct walk *walk, const ppsched_op *op)
{
    return (int)ppsched_schedule_device_of(walk->schedule, other_stage(op), op->microbatch);
}

/* The same at both ends: by what is received. */
static int tag_of(const struct walk *walk, const ppsched_op *op)
{
    uint32_t stage = is_send(op) ? other_stage(op) : op->stage;
    return (int)(2 * pass_of(walk, stage, op->microbatch)) + goes_back(op);
}

/* --- once --- */

void *walk_room(size_t count, size_t size)
{
    void *room = calloc(count + 1, size);
    if (room == NULL)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return room;
}

/* Sends take the lowest slot that is free; one is free behind the op that the library names. Returns how many there are. */
static uint32_t lay_out_sends(struct walk *walk)
{
    uint32_t slots = 0, *until = walk_room(walk->count + 1, sizeof *until);
    for (size_t i = 0; i <= walk->count; i++)
        walk->aside[i].released = PPSCHED_NONE;
    for (size_t i = 0; i < walk->count; i++) {
        if (!is_send(&walk->ops[i]))
            continue;
        uint32_t slot = 0,
                 end = walk->aside[i].buffer.until == PPSCHED_NONE ? (uint32_t)walk->count : walk->aside[i].buffer.until;
        while (slot < slots && until[slot] >= i)
            slot++;
        slots += slot == slots;
        until[slot] = end;
        walk->aside[i].send_slot = slot;
        walk->aside[i].next = walk->aside[end].released;
        walk->aside[end].released = (uint32_t)i;
    }
    free(until);
    return slots;
}

static ppsched_status lay_out_activations(struct walk *walk, uint32_t *slots, ppsched_error *error)
{
    size_t count = 0, most = pass_of(walk, walk->stages, 0);
    ppsched_lifetime *lifetimes = walk_room(most, sizeof *lifetimes);
    ppsched_status status = ppsched_schedule_get_lifetimes(lifetimes, most, &count, walk->schedule, walk->device,
                                                           PPSCHED_SLOT_USE_STAGE_MICROBATCH, error);
    for (size_t i = 0; i < count && status == PPSCHED_OK; i++) {
        walk->activation_slot[pass_of(walk, lifetimes[i].stage, lifetimes[i].microbatch)] = lifetimes[i].slot;
        *slots = lifetimes[i].slot >= *slots ? lifetimes[i].slot + 1 : *slots;
    }
    free(lifetimes);
    return status;
}

ppsched_status walk_lay_out(struct walk *walk, const ppsched_schedule *schedule, uint32_t device, size_t *bytes,
                            ppsched_error *error)
{
    size_t passes;
    uint32_t receives = 0, activations = 0, sends;
    walk->schedule = schedule;
    walk->device = device;
    walk->stages = ppsched_schedule_stages(schedule);
    walk->microbatches = ppsched_schedule_microbatches(schedule) * ppsched_schedule_iterations(schedule);
    walk->ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, device), &walk->count);
    passes = pass_of(walk, walk->stages, 0);
    walk->aside = walk_room(walk->count + 1, sizeof *walk->aside);
    walk->activation_slot = walk_room(passes, sizeof *walk->activation_slot);
    walk->arrival[0] = walk_room(passes, sizeof *walk->arrival[0]);
    walk->arrival[1] = walk_room(passes, sizeof *walk->arrival[1]);
    walk->stage = walk_room(walk->stages, sizeof *walk->stage);
    walk->watch = walk_room(walk->stages, sizeof *walk->watch);
    ppsched_op_buffer *buffers = walk_room(walk->count, sizeof *buffers);
    ppsched_status status = ppsched_schedule_get_buffers(buffers, walk->count, NULL, &receives, schedule, device, error);
    for (size_t i = 0; i < walk->count; i++)
        walk->aside[i].buffer = buffers[i];
    free(buffers);
    if (status == PPSCHED_OK)
        status = lay_out_activations(walk, &activations, error);
    sends = status == PPSCHED_OK ? lay_out_sends(walk) : 0;
    for (size_t i = 0; i < walk->count; i++) {
        const ppsched_op *op = &walk->ops[i];
        if (is_receive(op))
            walk->arrival[goes_back(op)][pass_of(walk, op->stage, op->microbatch)] = (uint32_t)i;
    }
    for (uint32_t stage = 0; stage < walk->stages; stage++)
        mlp_start(&walk->stage[stage], stage);
    *bytes = activations * sizeof *walk->activation + receives * sizeof *walk->receive + sends * sizeof *walk->send;
    walk->activation = walk_room(*bytes, 1); /* the arena */
    walk->receive = (double(*)[VALUE])(walk->activation + activations);
    walk->send = walk->receive + receives;
    return status;
}

/* --- computing --- */

/* Whether a neighbouring stage of a microbatch is on another device, so that there is a transfer. */
static int is_elsewhere(const struct walk *walk, uint32_t stage, uint32_t microbatch)
{
    return stage < walk->stages && ppsched_schedule_device_of(walk->schedule, stage, microbatch) != walk->device;
}

/* What an F, B or I takes from another device: waits for it, or gives it. */
static void wait_for(struct walk *walk, const ppsched_op *op, int back)
{
    MPI_Wait(&walk->aside[walk->arrival[back][pass_of(walk, op->stage, op->microbatch)]].request, MPI_STATUS_IGNORE);
}

static const double *arrived(const struct walk *walk, const ppsched_op *op, int back)
{
    return walk->receive[walk->aside[walk->arrival[back][pass_of(walk, op->stage, op->microbatch)]].buffer.slot];
}

static struct activation *activation_of(struct walk *walk, uint32_t stage, uint32_t microbatch)
{
    return &walk->activation[walk->activation_slot[pass_of(walk, stage, microbatch)]];
}

static void forward(struct walk *walk, const ppsched_op *op)
{
    struct activation *kept = activation_of(walk, op->stage, op->microbatch);
    if (is_elsewhere(walk, op->stage - 1u, op->microbatch))
        memcpy(kept->value[0], arrived(walk, op, 0), sizeof kept->value[0]);
    else if (op->stage == 0)
        mlp_inputs(kept->value[0], op->microbatch);
    else
        memcpy(kept->value[0], activation_of(walk, op->stage - 1u, op->microbatch)->value[DEPTH], sizeof kept->value[0]);
    mlp_forward(&walk->stage[op->stage], kept);
    memcpy(walk->outgoing[0], kept->value[DEPTH], sizeof walk->outgoing[0]);
}

static void backward(struct walk *walk, const ppsched_op *op)
{
    struct activation *kept = activation_of(walk, op->stage, op->microbatch);
    const double *by_outputs = kept->received;
    if (is_elsewhere(walk, op->stage + 1u, op->microbatch))
        by_outputs = arrived(walk, op, 1);
    else if (op->stage + 1u == walk->stages)
        walk->loss += mlp_loss(kept->received, kept->value[DEPTH], op->microbatch, walk->microbatches);
    mlp_backward_input(&walk->stage[op->stage], kept, by_outputs, walk->outgoing[1]);
    if (op->stage > 0 && !is_elsewhere(walk, op->stage - 1u, op->microbatch))
        memcpy(activation_of(walk, op->stage - 1u, op->microbatch)->received, walk->outgoing[1], sizeof kept->received);
}

/* Lets an op last as long as it is given, whatever the model takes. */
static void last(const struct walk *walk, int kind, double start)
{
    double left = walk->work * (kind == PPSCHED_KIND_B ? 2 : 1) - (MPI_Wtime() - start);
    if (left > 0)
        nanosleep(&(struct timespec){(time_t)left, (long)((left - (double)(time_t)left) * 1e9)}, NULL);
}

static void compute(struct walk *walk, const ppsched_op *op)
{
    struct stopwatch *watch = &walk->watch[op->stage][op->kind - 1];
    double start;
    if (op->kind == PPSCHED_KIND_F && is_elsewhere(walk, op->stage - 1u, op->microbatch))
        wait_for(walk, op, 0); /* which is not work */
    if ((op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I) && is_elsewhere(walk, op->stage + 1u, op->microbatch))
        wait_for(walk, op, 1);
    start = MPI_Wtime();
    if (op->kind == PPSCHED_KIND_F)
        forward(walk, op);
    if (op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I)
        backward(walk, op);
    if (op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_W)
        mlp_backward_weight(&walk->stage[op->stage], activation_of(walk, op->stage, op->microbatch));
    last(walk, op->kind, start);
    watch->seconds += walk->measures ? MPI_Wtime() - start : 0;
    watch->count += walk->measures;
}

/* --- the walk --- */

static void communicate(struct walk *walk, size_t i)
{
    const ppsched_op *op = &walk->ops[i];
    int rank = rank_of(walk, op), tag = tag_of(walk, op);
    double *value = is_send(op) ? walk->send[walk->aside[i].send_slot] : walk->receive[walk->aside[i].buffer.slot];
    walk->aside[i].request = MPI_REQUEST_NULL;
    if (is_send(op))
        memcpy(value, walk->outgoing[goes_back(op)], sizeof walk->outgoing[0]);
    if (is_send(op) && walk->blocks)
        MPI_Send(value, VALUE, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD);
    else if (is_send(op))
        MPI_Isend(value, VALUE, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, &walk->aside[i].request);
    else if (walk->blocks)
        MPI_Recv(value, VALUE, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Irecv(value, VALUE, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, &walk->aside[i].request);
}

/* Sends whose slots are used again from here on. They are over but for MPI's own books: the value has been used. */
static void release(struct walk *walk, size_t i)
{
    for (uint32_t send = walk->aside[i].released; send != PPSCHED_NONE; send = walk->aside[send].next)
        MPI_Wait(&walk->aside[send].request, MPI_STATUS_IGNORE);
}

void walk_step(struct walk *walk, int measures)
{
    walk->measures = measures;
    walk->loss = 0;
    for (size_t i = 0; i < walk->count; i++) {
        const ppsched_op *op = &walk->ops[i];
        if (is_send(op) || is_receive(op))
            communicate(walk, i);
        else if (op->kind <= PPSCHED_KIND_W)
            compute(walk, op); /* the two ops of an overlapped pair follow each other: one device computes here */
        release(walk, i);
    }
    release(walk, walk->count);
}
