/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the largest level of each device, and its causes, by visiting all levels. */
#include <string.h>

#include "eval/memory.h"

struct peak {
    ppsched_device_metrics *figures;
    double *causes;
};

static void raise_peak(void *user, double time, uint32_t position, const double *by_cause, double level)
{
    struct peak *peak = user;
    if (!(level > peak->figures->peak_memory))
        return;
    peak->figures->peak_memory = level;
    peak->figures->peak_time = time;
    peak->figures->peak_position = position;
    memcpy(peak->causes, by_cause, PPI_CAUSES * sizeof *by_cause);
}

void ppi_memory_peaks(ppsched_timeline *timeline)
{
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        struct peak peak = {&timeline->devices[d], timeline->peak_causes + (size_t)d * PPI_CAUSES};
        const struct ppi_memory_listener listener = {.user = &peak, .step = raise_peak};
        memset(peak.causes, 0, PPI_CAUSES * sizeof *peak.causes);
        memcpy(peak.causes, timeline->fixed + (size_t)d * PPI_FIXED_CAUSES, PPI_FIXED_CAUSES * sizeof *peak.causes);
        peak.figures->peak_memory = timeline->devices[d].static_memory;
        peak.figures->peak_time = 0;
        peak.figures->peak_position = PPSCHED_NONE;
        ppi_memory_go_through(timeline, d, timeline->memory->room, &listener);
    }
}
