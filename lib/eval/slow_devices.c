/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the idle time that exists because devices are not all as fast as stated. */
#include <stddef.h>

#include "base/checked.h"
#include "eval/timeline.h"

/* A device's idle time grows by no more than the sum of the parts that grow, so these suffice. */
static void separate(ppsched_idle *idle, const ppsched_idle *alike, double grown)
{
    static const size_t parts[] = {offsetof(ppsched_idle, imbalance),    offsetof(ppsched_idle, neighbour),
                                   offsetof(ppsched_idle, fill),         offsetof(ppsched_idle, drain),
                                   offsetof(ppsched_idle, transfer),     offsetof(ppsched_idle, link),
                                   offsetof(ppsched_idle, head_of_line), offsetof(ppsched_idle, weights),
                                   offsetof(ppsched_idle, reload),       offsetof(ppsched_idle, calls)};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && grown > 0; i++) {
        double *part = (double *)(void *)((char *)idle + parts[i]);
        const double before = *(const double *)(const void *)((const char *)alike + parts[i]);
        const double taken = ppi_smaller(*part - before, grown);
        if (taken <= 0)
            continue;
        *part -= taken;
        idle->slow_devices += taken;
        grown -= taken;
    }
}

static double sum_of(const ppsched_idle *idle)
{
    return idle->fill + idle->drain + idle->neighbour + idle->imbalance + idle->transfer + idle->link + idle->head_of_line +
           idle->weights + idle->reload + idle->calls;
}

void ppi_separate_slow_devices(ppsched_timeline *timeline, const ppsched_idle *alike)
{
    timeline->has_speeds = true;
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++)
        separate(&timeline->idle[d], &alike[d], sum_of(&timeline->idle[d]) - sum_of(&alike[d]));
}
