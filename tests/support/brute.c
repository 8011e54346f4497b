/* SPDX-License-Identifier: Apache-2.0 */
#include "support/brute.h"

#include <stdlib.h>

static uint32_t micro_slice_of(const ppsched_schedule *schedule, const ppsched_op *op)
{
    return op->microbatch % ppsched_schedule_microbatches(schedule) * ppsched_schedule_slices(schedule) + op->slice;
}

double brute_time_factor(const struct brute_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op)
{
    return costs->time_factor[op->stage][micro_slice_of(schedule, op)];
}

double brute_memory_factor(const struct brute_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op)
{
    return costs->memory_factor[micro_slice_of(schedule, op)];
}

void brute_load(struct brute *brute, const ppsched_schedule *schedule)
{
    brute->count = brute->senders_wait = 0;
    brute->ops = calloc((size_t)ppsched_schedule_op_count(schedule) + 1, sizeof *brute->ops);
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++) {
            int paired = i > 0 && (ops[i - 1].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
            struct brute_op *b = &brute->ops[brute->count];
            b->op = ops[i];
            b->device = d;
            b->factor = b->delay_factor = 1;
            b->leader = paired ? brute->count - 1 : brute->count;
            brute->count++;
        }
    }
}

void brute_free(struct brute *brute)
{
    free(brute->ops);
}

/* The op of that kind, or for 'I' a B or an I; NULL where there is none. */
static const struct brute_op *find(const struct brute *brute, int kind, uint32_t stage, uint32_t microbatch, uint32_t slice)
{
    for (int i = 0; i < brute->count; i++) {
        const ppsched_op *op = &brute->ops[i].op;
        int same = op->kind == kind || (kind == PPSCHED_KIND_I && op->kind == PPSCHED_KIND_B);
        if (same && op->stage == stage && op->microbatch == microbatch && op->slice == slice)
            return &brute->ops[i];
    }
    return NULL;
}

/* Time from which an input is there, or -1 where it is not yet. */
static double available(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs,
                        const struct brute_op *reader, int kind, uint32_t stage, uint32_t slice)
{
    const struct brute_op *writer = find(brute, kind, stage, reader->op.microbatch, slice);
    if (writer == NULL || !writer->done)
        return -1;
    if (writer->device == reader->device)
        return writer->end;
    double bytes = costs->sent[kind != PPSCHED_KIND_F][stage] * brute_memory_factor(costs, schedule, &writer->op);
    double on_edge = bytes > 0 ? bytes / costs->bandwidth[writer->device][reader->device] : 0;
    return (costs->has_ends ? writer->made : writer->end) +
           (on_edge + costs->delay[writer->device][reader->device]) * reader->delay_factor;
}

static int raise_start(double *start, double time)
{
    if (time < 0)
        return 0;
    if (time > *start)
        *start = time;
    return 1;
}

static int inputs(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs,
                  const struct brute_op *b, double *start)
{
    uint32_t stage = b->op.stage, stages = ppsched_schedule_stages(schedule), slice = b->op.slice;
    switch (b->op.kind) {
    case PPSCHED_KIND_F:
        if (slice > 0 && !raise_start(start, available(brute, schedule, costs, b, PPSCHED_KIND_F, stage, slice - 1)))
            return 0;
        return stage == 0 || raise_start(start, available(brute, schedule, costs, b, PPSCHED_KIND_F, stage - 1, slice));
    case PPSCHED_KIND_W:
        return raise_start(start, available(brute, schedule, costs, b, PPSCHED_KIND_I, stage, slice));
    default:
        if (!raise_start(start, available(brute, schedule, costs, b, PPSCHED_KIND_F, stage, slice)))
            return 0;
        if (slice + 1 < ppsched_schedule_slices(schedule) &&
            !raise_start(start, available(brute, schedule, costs, b, PPSCHED_KIND_I, stage, slice + 1)))
            return 0;
        return stage + 1 == stages ||
               raise_start(start, available(brute, schedule, costs, b, PPSCHED_KIND_I, stage + 1, slice));
    }
}

/* The flush: all ops of earlier iterations must have ended. */
static int flushed(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_op *b, double *start)
{
    uint32_t m = ppsched_schedule_microbatches(schedule), iteration = b->op.microbatch / m;
    if (!ppsched_schedule_flushes(schedule))
        return 1;
    for (int i = 0; i < brute->count; i++)
        if (brute->ops[i].op.microbatch / m < iteration && !raise_start(start, brute->ops[i].done ? brute->ops[i].end : -1))
            return 0;
    return 1;
}

/* On a device. */
static double at_speed(const struct brute_costs *costs, uint32_t device, double time)
{
    return costs->speed[device] > 0 ? time / costs->speed[device] : time;
}

static double plain_duration(const struct brute_costs *costs, const struct brute_op *b)
{
    const double overhead = costs->overhead[b->op.kind], time = costs->duration[b->op.kind][b->op.stage] - overhead;
    return at_speed(costs, b->device, time) + costs->own_overhead[b->device] + overhead;
}

static double unit_duration(const struct brute_costs *costs, const ppsched_schedule *schedule, const struct brute_op *first,
                            const struct brute_op *second)
{
    double plain = plain_duration(costs, first);
    double own = plain * brute_time_factor(costs, schedule, &first->op);
    if (second == NULL)
        return own;
    double given = at_speed(costs, first->device, costs->overlapped[first->op.stage][second->op.stage]);
    double other = plain_duration(costs, second);
    own += other * brute_time_factor(costs, schedule, &second->op);
    plain += other;
    return given < 0 ? own : plain == 0 || own == plain ? given : given * (own / plain);
}

static struct brute_op *second_of(const struct brute *brute, int index)
{
    return index + 1 < brute->count && brute->ops[index + 1].leader == index ? &brute->ops[index + 1] : NULL;
}

int brute_ready(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs, int index,
                double *start)
{
    const struct brute_op *first = &brute->ops[index], *second = second_of(brute, index);
    return inputs(brute, schedule, costs, first, start) && flushed(brute, schedule, first, start) &&
           (second == NULL || (inputs(brute, schedule, costs, second, start) && flushed(brute, schedule, second, start)));
}

double brute_duration(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs, int index)
{
    return unit_duration(costs, schedule, &brute->ops[index], second_of(brute, index)) * brute->ops[index].factor;
}

static int is_in_pair(const struct brute *brute, const struct brute_op *b)
{
    return second_of(brute, b->leader) != NULL;
}

/* The transfer of what `writer` makes to `reader`, on another device. */
static double on_the_path(const struct brute_costs *costs, const ppsched_schedule *schedule, const struct brute_op *writer,
                          const struct brute_op *reader)
{
    double bytes = costs->sent[writer->op.kind != PPSCHED_KIND_F][writer->op.stage] *
                   brute_memory_factor(costs, schedule, &writer->op);
    double on_edge = bytes > 0 ? bytes / costs->bandwidth[writer->device][reader->device] : 0;
    return (on_edge + costs->delay[writer->device][reader->device]) * reader->delay_factor;
}

/* Who gets what an op sends; NULL where nobody on another device does. */
static const struct brute_op *receiver_of(const struct brute *brute, const struct brute_op *b)
{
    const ppsched_op *op = &b->op;
    const struct brute_op *reader = NULL;
    if (op->kind == PPSCHED_KIND_F)
        reader = find(brute, PPSCHED_KIND_F, op->stage + 1u, op->microbatch, op->slice);
    else if (op->kind != PPSCHED_KIND_W && op->stage > 0)
        reader = find(brute, PPSCHED_KIND_I, op->stage - 1u, op->microbatch, op->slice);
    return reader != NULL && reader->device != b->device ? reader : NULL;
}

/* The two rules by which senders wait. `before`: the op before it on its device. */
static void wait_as_sender(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs,
                           const struct brute_op *b, const struct brute_op *before, double *start)
{
    if (!brute->senders_wait || is_in_pair(brute, b))
        return;
    if (before != NULL && !is_in_pair(brute, before) && before->op.stage == b->op.stage &&
        (before->op.kind == PPSCHED_KIND_F) == (b->op.kind == PPSCHED_KIND_F)) {
        const struct brute_op *reader = receiver_of(brute, before);
        if (reader != NULL && !is_in_pair(brute, reader))
            raise_start(start, before->end + on_the_path(costs, schedule, before, reader));
    }
    if (b->op.kind == PPSCHED_KIND_W) {
        const struct brute_op *own = find(brute, PPSCHED_KIND_I, b->op.stage, b->op.microbatch, b->op.slice);
        const struct brute_op *writer = find(brute, PPSCHED_KIND_I, b->op.stage + 1u, b->op.microbatch, b->op.slice);
        if (own != NULL && own->done && !is_in_pair(brute, own) && writer != NULL && writer->device != b->device)
            raise_start(start, own->end + on_the_path(costs, schedule, writer, own));
    }
}

/* Tries to run the unit whose first op is at `index`; 1 where it ran. */
static int try_unit(struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs, int index)
{
    struct brute_op *first = &brute->ops[index];
    struct brute_op *second = second_of(brute, index);
    const struct brute_op *before = index > 0 && first[-1].device == first->device ? first - 1 : NULL;
    double start = first->not_before;
    if (before != NULL && !raise_start(&start, before->done ? before->end : -1))
        return 0;
    if (!brute_ready(brute, schedule, costs, index, &start))
        return 0;
    wait_as_sender(brute, schedule, costs, first, before, &start);
    first->start = start;
    first->end = start + brute_duration(brute, schedule, costs, index);
    first->made = first->end;
    first->done = 1;
    if (second != NULL) {
        second->start = first->start;
        second->end = first->end;
        second->made = second->end;
        second->done = 1;
        if (costs->has_ends) {
            const double all = costs->overlapped[first->op.stage][second->op.stage];
            const double longer = all > 0 ? brute_duration(brute, schedule, costs, index) / all : 0;
            first->made = start + longer * costs->ends[0][first->op.stage][second->op.stage];
            second->made = start + longer * costs->ends[1][first->op.stage][second->op.stage];
        }
    }
    return 1;
}

int brute_run(struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs)
{
    int left = brute->count, progress = 1;
    brute->makespan = 0;
    for (int i = 0; i < brute->count; i++)
        brute->ops[i].done = 0;
    while (progress) {
        progress = 0;
        for (int i = 0; i < brute->count; i++)
            if (!brute->ops[i].done && brute->ops[i].leader == i)
                progress += try_unit(brute, schedule, costs, i);
    }
    for (int i = 0; i < brute->count; i++) {
        left -= brute->ops[i].done;
        if (brute->ops[i].end > brute->makespan)
            brute->makespan = brute->ops[i].end;
    }
    return left == 0;
}

static int count_of(const struct brute *brute, int kind, uint32_t stage, uint32_t microbatch, uint32_t slice)
{
    int count = 0;
    for (int i = 0; i < brute->count; i++) {
        const ppsched_op *op = &brute->ops[i].op;
        count += op->kind == kind && op->stage == stage && op->microbatch == microbatch && op->slice == slice;
    }
    return count;
}

int brute_complete(const struct brute *brute, const ppsched_schedule *schedule)
{
    uint32_t total = ppsched_schedule_microbatches(schedule) * ppsched_schedule_iterations(schedule);
    int backwards = 0;
    for (int i = 0; i < brute->count; i++)
        backwards += brute->ops[i].op.kind != PPSCHED_KIND_F;
    for (int i = 0; i < brute->count; i++)
        if (ppsched_schedule_device_of(schedule, brute->ops[i].op.stage, brute->ops[i].op.microbatch) != brute->ops[i].device)
            return 0;
    for (uint32_t s = 0; s < ppsched_schedule_stages(schedule); s++)
        for (uint32_t m = 0; m < total; m++)
            for (uint32_t k = 0; k < ppsched_schedule_slices(schedule); k++) {
                int b = count_of(brute, PPSCHED_KIND_B, s, m, k), i = count_of(brute, PPSCHED_KIND_I, s, m, k);
                int w = count_of(brute, PPSCHED_KIND_W, s, m, k);
                if (count_of(brute, PPSCHED_KIND_F, s, m, k) != 1 || (backwards > 0 && (b + i != 1 || w != i)))
                    return 0;
            }
    return 1;
}
