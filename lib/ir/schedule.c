/* SPDX-License-Identifier: Apache-2.0 */
/* Reference counting, and queries about the ops. */
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

uint32_t ppi_kinds_of(const ppsched_schedule *schedule)
{
    uint32_t kinds = atomic_load_explicit(&schedule->self->kinds, memory_order_relaxed);
    if (kinds != 0)
        return kinds;
    for (uint64_t i = 0; i < schedule->op_count; i++)
        kinds |= UINT32_C(1) << schedule->ops[i].kind |
                 (schedule->ops[i].flags & PPSCHED_OP_FLAG_OVERLAPPED) / PPSCHED_OP_FLAG_OVERLAPPED;
    atomic_store_explicit(&schedule->self->kinds, kinds, memory_order_relaxed);
    return kinds;
}

enum {
    COMPUTE = 1 << PPSCHED_KIND_F | 1 << PPSCHED_KIND_B | 1 << PPSCHED_KIND_I | 1 << PPSCHED_KIND_W,
    SAVING = 1 << PPSCHED_KIND_RECOMPUTE | 1 << PPSCHED_KIND_OFFLOAD | 1 << PPSCHED_KIND_RELOAD |
             1 << PPSCHED_KIND_OFFLOAD_WAIT,
    COMM = 1 << PPSCHED_KIND_SEND_F | 1 << PPSCHED_KIND_RECV_F | 1 << PPSCHED_KIND_SEND_B | 1 << PPSCHED_KIND_RECV_B,
};

bool ppi_only_computes(const ppsched_schedule *schedule)
{
    return (ppi_kinds_of(schedule) & ~(uint32_t)(COMPUTE | 1)) == 0;
}

bool ppi_has_pairs(const ppsched_schedule *schedule)
{
    return (ppi_kinds_of(schedule) & 1) != 0;
}

bool ppi_mixes_backwards(const ppsched_schedule *schedule)
{
    const uint32_t both = 1 << PPSCHED_KIND_B | 1 << PPSCHED_KIND_I;
    return (ppi_kinds_of(schedule) & both) == both;
}

bool ppi_has_comm_ops(const ppsched_schedule *schedule)
{
    return (ppi_kinds_of(schedule) & COMM) != 0;
}

bool ppi_has_saving(const ppsched_schedule *schedule)
{
    return (ppi_kinds_of(schedule) & SAVING) != 0;
}
