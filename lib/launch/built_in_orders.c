/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the rule of each class for the schedule's sizes, and compares its ops device by device. */
#include "launch/built_in_orders.h"

#include <string.h>

#include "base/error.h"
#include "launch/launch.h"
#include "order/compare.h"
#include "strategy/descriptors.h"

enum { MOST_KINDS = 3 }; /* ops of a stage pass */

static uint32_t rounds_of(const struct ppi_shape *shape)
{
    return shape->microbatches / shape->devices > 0 ? shape->microbatches / shape->devices : 1;
}

bool ppi_fills_devices(const struct ppi_shape *shape)
{
    return shape->microbatches >= shape->devices;
}

bool ppi_has_whole_rounds(const struct ppi_shape *shape)
{
    return shape->microbatches % rounds_of(shape) == 0;
}

bool ppi_has_whole_groups(const struct ppi_shape *shape)
{
    return shape->microbatches % shape->devices == 0;
}

/* Makes the class's task for the schedule's sizes; false where the class does not support them, or has stages on other
 * devices. */
static bool takes(const struct ppi_class *class, const ppsched_schedule *schedule, struct ppi_task *task)
{
    const struct ppi_shape *shape = &schedule->shape;
    *task = (struct ppi_task){.strategy = class->strategy, .shape = *shape, .placement = class->strategy->placement};
    task->option[0] = shape->microbatches / rounds_of(shape); /* the group size, if it has options */
    if (class->takes != NULL && !class->takes(shape))
        return false;
    return ppi_is_placed(schedule, class->strategy->placement) && ppi_serves(task);
}

/* Whether the schedule is of the very rule and option, so that there is nothing to compare. */
static bool is_of_rule(const struct ppi_task *task, const ppsched_schedule *schedule)
{
    const struct ppi_strategy *strategy = task->strategy;
    return schedule->by_rule.is_known && strcmp(strategy->name, schedule->name) == 0 &&
           (strategy->option_count == 0 || task->option[0] == schedule->by_rule.option);
}

static bool makes(const struct ppi_strategy *strategy, const struct ppi_task *task, const ppsched_schedule *schedule,
                  ppsched_op *ops, size_t room)
{
    if (is_of_rule(task, schedule))
        return true;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        struct ppi_op_writer writer = {.next = ops, .end = ops + room, .slices = 1};
        strategy->order(task, d, &writer);
        if (ppi_first_difference(&schedule->queues[d], ops, (size_t)(writer.next - ops)) != PPSCHED_NONE)
            return false;
    }
    return true;
}

ppsched_status ppi_class_find(const struct ppi_class **out, const struct ppi_class *classes, size_t count,
                              const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_shape *shape = &schedule->shape;
    size_t room = (size_t)MOST_KINDS * (shape->stages / shape->devices) * shape->microbatches;
    ppsched_op *ops = ppi_allocate(&schedule->host, room, sizeof *ops);
    struct ppi_task task;
    if (ops == NULL)
        return ppi_fail_memory(error, "the orders of a runtime's schedules");
    *out = NULL;
    for (size_t i = 0; i < count && *out == NULL; i++)
        if (takes(&classes[i], schedule, &task) && makes(classes[i].strategy, &task, schedule, ops, room))
            *out = &classes[i];
    ppi_release(&schedule->host, ops);
    return PPSCHED_OK;
}
