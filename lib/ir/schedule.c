/* SPDX-License-Identifier: Apache-2.0 */
/* Reference counting, and queries that scan the ops. */
#include "ir/schedule.h"

void ppi_schedule_retain(const ppsched_schedule *schedule)
{
    atomic_fetch_add_explicit(&schedule->self->references, 1, memory_order_relaxed);
}

void ppi_schedule_release(const ppsched_schedule *schedule)
{
    if (schedule == NULL || atomic_fetch_sub_explicit(&schedule->self->references, 1, memory_order_acq_rel) != 1)
        return;
    struct ppi_host host = schedule->host;
    ppi_placement_clear(&schedule->self->placement, &host);
    ppi_release(&host, schedule->name);
    ppi_release(&host, schedule->ops);
    ppi_release(&host, schedule->queues);
    ppi_release(&host, schedule->self);
}

size_t ppi_longest_queue(const ppsched_schedule *schedule)
{
    size_t longest = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        longest = schedule->queues[d].count > longest ? schedule->queues[d].count : longest;
    return longest;
}

bool ppi_is_forward_only(const ppsched_schedule *schedule)
{
    bool has_forwards = false;
    for (uint64_t i = schedule->op_count; i-- > 0;) {
        if (ppi_is_compute(schedule->ops[i].kind) && schedule->ops[i].kind != PPSCHED_KIND_F)
            return false;
        has_forwards |= schedule->ops[i].kind == PPSCHED_KIND_F;
    }
    return has_forwards;
}

bool ppi_has_comm_ops(const ppsched_schedule *schedule)
{
    for (uint64_t i = 0; i < schedule->op_count; i++)
        if (ppi_is_comm(&schedule->ops[i]))
            return true;
    return false;
}

bool ppi_has_saving(const ppsched_schedule *schedule)
{
    for (size_t i = 0; i < schedule->op_count; i++)
        if (ppi_keeps_less(schedule->ops[i].kind))
            return true;
    return false;
}
