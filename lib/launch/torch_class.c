/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/torch_class.h"

#include "base/error.h"
#include "launch/launch.h"
#include "order/compare.h"
#include "strategy/descriptors.h"

static const struct ppi_torch_class table[] = {
    {"1F1B", &ppi_1f1b, .single = true, .fills_ranks = true},
    {"GPipe", &ppi_gpipe, .single = true},
    {"Interleaved1F1B", &ppi_interleaved_1f1b, .rounds = true},
    {"LoopedBFS", &ppi_looped_bfs},
    {"InterleavedZeroBubble", &ppi_interleaved_zb, .rounds = true},
    {"ZBVZeroBubble", &ppi_zbv},
    {"DualPipeV", &ppi_dualpipe_v},
};

enum { COUNT = sizeof table / sizeof table[0], MOST_KINDS = 3 };

/* The sizes as PyTorch takes them; false where the class turns them down, or has stages on other devices. */
static bool takes(const struct ppi_torch_class *class, const ppsched_schedule *schedule, struct ppi_task *task)
{
    const struct ppi_shape *shape = &schedule->shape;
    uint32_t rounds = shape->microbatches / shape->devices > 0 ? shape->microbatches / shape->devices : 1;
    *task = (struct ppi_task){.strategy = class->strategy, .shape = *shape, .placement = class->strategy->placement};
    task->option[0] = shape->microbatches / rounds; /* where it has options: the size of a group */
    if (class->rounds && shape->microbatches % rounds != 0)
        return false;
    if (class->fills_ranks && shape->microbatches < shape->devices)
        return false;
    return ppi_is_placed(schedule, class->strategy->placement) && ppi_serves(task);
}

static bool makes(const struct ppi_strategy *strategy, const struct ppi_task *task, const ppsched_schedule *schedule,
                  ppsched_op *ops, size_t room)
{
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        struct ppi_pen pen = {.next = ops, .end = ops + room};
        strategy->order(task, d, &pen);
        if (ppi_first_difference(&schedule->queues[d], ops, (size_t)(pen.next - ops)) != PPSCHED_NONE)
            return false;
    }
    return true;
}

ppsched_status ppi_torch_class_find(const struct ppi_torch_class **out, const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_shape *shape = &schedule->shape;
    size_t room = (size_t)MOST_KINDS * (shape->stages / shape->devices) * shape->microbatches;
    ppsched_op *ops = ppi_allocate(&schedule->host, room, sizeof *ops);
    struct ppi_task task;
    if (ops == NULL)
        return ppi_fail_memory(error, "the orders of PyTorch's classes");
    *out = NULL;
    for (int i = 0; i < COUNT && *out == NULL; i++)
        if (takes(&table[i], schedule, &task) && makes(table[i].strategy, &task, schedule, ops, room))
            *out = &table[i];
    ppi_release(&schedule->host, ops);
    return PPSCHED_OK;
}
