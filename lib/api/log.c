/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages of exported functions: one line for each schedule, timeline and plan that a call makes. */
#include "api/log.h"

void ppi_log_schedule(const ppsched_schedule *schedule, const char *done)
{
    const struct ppi_shape *shape = &schedule->shape;
    ppi_log(&schedule->host, PPSCHED_LOG_LEVEL_INFO, "%s %q: %u device%p, %u stage%p, %u microbatch%p, %u iteration%p", done,
            schedule->name, shape->devices, shape->stages, shape->microbatches, shape->iterations);
}

void ppi_log_timeline(const ppsched_timeline *timeline)
{
    const ppsched_metrics *metrics = &timeline->metrics;
    const char *name = timeline->schedule->name;
    uint32_t d = metrics->limit_device;
    ppi_log(&timeline->host, PPSCHED_LOG_LEVEL_INFO, "evaluated %q: makespan %g, span %g, peak memory %g on device %u", name,
            metrics->makespan, metrics->span, metrics->peak_memory, metrics->peak_device);
    if (d != PPSCHED_NONE)
        ppi_log(&timeline->host, PPSCHED_LOG_LEVEL_WARNING, "%q: device %u needs %g memory, over its limit %g", name, d,
                timeline->devices[d].peak_memory, timeline->devices[d].memory_limit);
}

void ppi_log_plan(const ppsched_plan *plan)
{
    size_t fitting = 0;
    while (fitting < plan->count && ppi_candidate_fits(&plan->candidates[ppi_candidate_at(plan, fitting)]))
        fitting++;
    ppi_log(&plan->host, PPSCHED_LOG_LEVEL_INFO, "ran a plan of %zu candidate%p, %zu of which fit", plan->count, fitting);
}
