/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "walk.h"

#include <stdlib.h>
#include <time.h>

enum {
    SENDS = 1 << PPSCHED_KIND_SEND_F | 1 << PPSCHED_KIND_SEND_B,
    RECEIVES = 1 << PPSCHED_KIND_RECV_F | 1 << PPSCHED_KIND_RECV_B,
    GRADIENTS = 1 << PPSCHED_KIND_SEND_B | 1 << PPSCHED_KIND_RECV_B, /* ops that transfer gradients, not activations */
    COMPUTES = 1 << PPSCHED_KIND_F | 1 << PPSCHED_KIND_B | 1 << PPSCHED_KIND_I | 1 << PPSCHED_KIND_W |
               1 << PPSCHED_KIND_RECOMPUTE
};

static int is_one(const ppsched_op *op, int kinds)
{
    return kinds >> op->kind & 1;
}

/* --- preparation, once --- */

/* A stage pass of a micro-slice on this device. In a real model, a slice would read values that earlier slices keep on the
 * stage. In this model, the rows do not depend on each other. */
struct pass {
    struct activation *kept; /* NULL: on another device */
    struct task *receive[2]; /* the receives of its activation and of its gradient; NULL: it receives none */
};

void *walk_room(size_t count, size_t size)
{
    void *room = calloc(count + 1, size);
    if (room == NULL)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return room;
}

/* NULL if there is no such stage. */
static struct pass *pass_of(const struct walk *walk, struct pass *passes, uint32_t stage, uint32_t micro_slice)
{
    return stage < walk->stages ? &passes[(size_t)stage * walk->micro_slices + micro_slice] : NULL;
}

static uint32_t micro_slice_of(const struct walk *walk, const ppsched_op *op)
{
    return op->microbatch * walk->slices + op->slice;
}

/* Each send takes the lowest free slot. A slot is free after the op that the library names. Returns the number of slots. */
static size_t choose_send_slots(struct walk *walk, ppsched_op_buffer *buffers)
{
    size_t slots = 0, *ends = walk_room(walk->count, sizeof *ends);
    for (size_t i = 0; i < walk->count; i++) {
        if (!is_one(&walk->tasks[i].op, SENDS))
            continue;
        size_t slot = 0, end = buffers[i].until == PPSCHED_NONE ? walk->count : buffers[i].until;
        while (slot < slots && ends[slot] >= i)
            slot++;
        slots += slot == slots;
        ends[slot] = end;
        buffers[i].slot = (uint32_t)slot;
        walk->tasks[i].next = walk->tasks[end].released;
        walk->tasks[end].released = &walk->tasks[i];
    }
    free(ends);
    return slots;
}

/* The arena: asks the library which op needs which slot, and allocates all slots at once. */
static ppsched_status lay_out_arena(struct walk *walk, struct pass *passes, ppsched_error *error)
{
    size_t count = 0, most = (size_t)walk->stages * walk->micro_slices;
    ppsched_lifetime *lifetimes = walk_room(most, sizeof *lifetimes);
    ppsched_op_buffer *buffers = walk_room(walk->count, sizeof *buffers);
    ppsched_arena kept = {0};
    uint32_t receives = 0, use = PPSCHED_SLOT_USE_STAGE_MICROBATCH;
    ppsched_status status = ppsched_schedule_get_buffers(buffers, walk->count, NULL, &receives, walk->schedule, walk->device,
                                                         error);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_get_arenas(&kept, 1, NULL, walk->schedule, walk->device, use, error);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_get_lifetimes(lifetimes, most, &count, walk->schedule, walk->device, use, error);
    if (status == PPSCHED_OK) {
        size_t sends = choose_send_slots(walk, buffers);
        walk->bytes = kept.slots * sizeof *walk->arena + (receives + sends) * sizeof(double[VALUE]);
        walk->arena = walk_room(walk->bytes, 1);
        double(*values)[VALUE] = (double(*)[VALUE])(walk->arena + kept.slots);
        for (size_t i = 0; i < count; i++)
            pass_of(walk, passes, lifetimes[i].stage, lifetimes[i].microbatch)->kept = walk->arena + lifetimes[i].slot;
        for (size_t i = 0; i < walk->count; i++)
            if (is_one(&walk->tasks[i].op, SENDS | RECEIVES))
                walk->tasks[i].slot = values[buffers[i].slot + (is_one(&walk->tasks[i].op, SENDS) ? receives : 0)];
    }
    free(lifetimes);
    free(buffers);
    return status;
}

/* The tag is the same at both ends: it depends on the received value. */
static void lay_out_message(const struct walk *walk, struct pass *passes, struct task *task)
{
    const ppsched_op *op = &task->op;
    int back = is_one(op, GRADIENTS);
    uint32_t other = is_one(op, SENDS) == back ? op->stage - 1u : op->stage + 1u;
    uint32_t receiver = is_one(op, SENDS) ? other : op->stage;
    struct pass *pass = pass_of(walk, passes, op->stage, micro_slice_of(walk, op));
    task->rank = (int)ppsched_schedule_device_of(walk->schedule, other, op->microbatch);
    task->tag = (int)(2 * (receiver * walk->micro_slices + micro_slice_of(walk, op))) + back;
    task->input = back ? pass->kept->received : pass->kept->value[DEPTH];
    if (is_one(op, RECEIVES))
        pass->receive[back] = task;
}

/* Values from another device are in the slot of a receive. Values between stages of this device are where the other stage keeps
 * them. */
static void lay_out_compute(const struct walk *walk, struct pass *passes, struct task *task)
{
    struct pass *pass = pass_of(walk, passes, task->op.stage, micro_slice_of(walk, &task->op));
    struct pass *before = pass_of(walk, passes, task->op.stage - 1u, micro_slice_of(walk, &task->op));
    int back = task->op.kind != PPSCHED_KIND_F, reads = task->op.kind < PPSCHED_KIND_W;
    task->kept = pass->kept;
    task->receive = reads ? pass->receive[back] : NULL;
    if (task->receive != NULL)
        task->input = task->receive->slot;
    else if (back)
        task->input = pass->kept->received;
    else
        task->input = before != NULL ? before->kept->value[DEPTH] : NULL;
    task->output = before != NULL && before->kept != NULL ? before->kept->received : pass->kept->received;
}

ppsched_status walk_lay_out(struct walk *walk, const ppsched_schedule *schedule, uint32_t device, ppsched_error *error)
{
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, device), &walk->count);
    walk->schedule = schedule;
    walk->device = device;
    walk->stages = ppsched_schedule_stages(schedule);
    walk->slices = ppsched_schedule_slices(schedule);
    walk->micro_slices = ppsched_schedule_microbatches(schedule) * ppsched_schedule_iterations(schedule) * walk->slices;
    walk->tasks = walk_room(walk->count + 1, sizeof *walk->tasks);
    walk->stage = walk_room(walk->stages, sizeof *walk->stage);
    walk->seconds = walk_room(2 * KINDS * walk->stages, sizeof *walk->seconds);
    walk->counts = walk->seconds + KINDS * walk->stages;
    for (uint32_t stage = 0; stage < walk->stages; stage++)
        mlp_start(&walk->stage[stage], stage);
    for (size_t i = 0; i < walk->count; i++)
        walk->tasks[i] = (struct task){.op = ops[i], .request = MPI_REQUEST_NULL};
    struct pass *passes = walk_room((size_t)walk->stages * walk->micro_slices, sizeof *passes);
    ppsched_status status = lay_out_arena(walk, passes, error);
    for (size_t i = 0; i < walk->count && status == PPSCHED_OK; i++)
        if (walk->tasks[i].slot != NULL)
            lay_out_message(walk, passes, &walk->tasks[i]);
        else if (is_one(&ops[i], COMPUTES))
            lay_out_compute(walk, passes, &walk->tasks[i]);
        else
            walk->copies |= ops[i].kind == PPSCHED_KIND_OFFLOAD;
    free(passes);
    return status;
}

void walk_free(struct walk *walk)
{
    free(walk->tasks);
    free(walk->arena);
    free(walk->stage);
    free(walk->seconds);
}

/* --- running the queue --- */

static void communicate(const struct walk *walk, struct task *task)
{
    if (is_one(&task->op, SENDS))
        memcpy(task->slot, task->input, sizeof(double[VALUE]));
    if (is_one(&task->op, SENDS) && walk->blocks)
        MPI_Send(task->slot, VALUE, MPI_DOUBLE, task->rank, task->tag, MPI_COMM_WORLD);
    else if (is_one(&task->op, SENDS))
        MPI_Isend(task->slot, VALUE, MPI_DOUBLE, task->rank, task->tag, MPI_COMM_WORLD, &task->request);
    else if (walk->blocks)
        MPI_Recv(task->slot, VALUE, MPI_DOUBLE, task->rank, task->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Irecv(task->slot, VALUE, MPI_DOUBLE, task->rank, task->tag, MPI_COMM_WORLD, &task->request);
}

static void forward(const struct walk *walk, const struct task *task)
{
    if (task->input == NULL)
        mlp_inputs(task->kept->value[0], micro_slice_of(walk, &task->op));
    else
        memcpy(task->kept->value[0], task->input, sizeof task->kept->value[0]);
    mlp_forward(&walk->stage[task->op.stage], task->kept);
}

static void backward(struct walk *walk, const struct task *task)
{
    if (task->op.stage + 1u == walk->stages)
        walk->loss += mlp_loss(task->kept->received, task->kept->value[DEPTH], micro_slice_of(walk, &task->op),
                               walk->micro_slices);
    mlp_backward_input(&walk->stage[task->op.stage], task->kept, task->input, task->output);
}

void walk_sleep(double seconds)
{
    struct timespec rest = {.tv_sec = (time_t)seconds};
    rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
    if (seconds > 0)
        nanosleep(&rest, NULL); /* may be a macro, so its arguments have no commas */
}

/* Sleeps until an op has taken the given time. */
static void last(const struct walk *walk, int kind, double start)
{
    walk_sleep(walk->work * (kind == PPSCHED_KIND_B ? 2 : 1) - (MPI_Wtime() - start));
}

static void compute(struct walk *walk, const struct task *task)
{
    uint8_t kind = task->op.kind;
    if (task->receive != NULL)
        MPI_Wait(&task->receive->request, MPI_STATUS_IGNORE); /* waiting is not work */
    double start = MPI_Wtime();
    if (kind == PPSCHED_KIND_F)
        forward(walk, task);
    if (kind == PPSCHED_KIND_RECOMPUTE)
        mlp_forward(&walk->stage[task->op.stage], task->kept); /* needs only its input */
    if (kind == PPSCHED_KIND_B || kind == PPSCHED_KIND_I)
        backward(walk, task);
    if (kind == PPSCHED_KIND_B || kind == PPSCHED_KIND_W)
        mlp_backward_weight(&walk->stage[task->op.stage], task->kept);
    last(walk, kind, start);
    if (walk->measures && kind <= KINDS) {
        walk->seconds[(kind - 1u) * walk->stages + task->op.stage] += MPI_Wtime() - start;
        walk->counts[(kind - 1u) * walk->stages + task->op.stage]++;
    }
}

void walk_step(struct walk *walk, int measures)
{
    walk->measures = measures;
    walk->loss = 0;
    for (size_t i = 0; i <= walk->count; i++) {
        struct task *task = &walk->tasks[i];
        if (task->slot != NULL)
            communicate(walk, task);
        else if (task->kept != NULL)
            compute(walk,
                    task); /* the two ops of an overlapped pair run one after the other, as a device here has one processor */
        for (struct task *send = task->released; send != NULL; send = send->next)
            MPI_Wait(&send->request, MPI_STATUS_IGNORE); /* only ends MPI's own state: the value has been used */
    }
}
