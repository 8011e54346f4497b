/* SPDX-License-Identifier: Apache-2.0 */
#include "model/schedule.h"

void ppi_schedule_retain(const ppsched_schedule *schedule)
{
    atomic_fetch_add_explicit(&schedule->self->references, 1, memory_order_relaxed);
}

void ppi_schedule_release(const ppsched_schedule *schedule)
{
    if (schedule == NULL || atomic_fetch_sub_explicit(&schedule->self->references, 1, memory_order_acq_rel) != 1)
        return;
    struct ppi_host host = schedule->host;
    ppi_release(&host, schedule->placement.device_of);
    ppi_release(&host, schedule->name);
    ppi_release(&host, schedule->ops);
    ppi_release(&host, schedule->queues);
    ppi_release(&host, schedule->self);
}
