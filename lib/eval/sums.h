/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums over a device's ops in queue order: busy time, memory and its peak. The sweep that runs the ops updates them. */
#ifndef PPSCHED_EVAL_SUMS_H
#define PPSCHED_EVAL_SUMS_H

#include "eval/timeline.h"

struct ppi_sums {
    double busy, memory, peak;
    const ppsched_op *peak_op; /* NULL: no op adds to the static memory */
};

static inline struct ppi_sums ppi_sums_of_none(const ppsched_timeline *timeline, uint32_t device)
{
    double memory = timeline->devices[device].static_memory;
    return (struct ppi_sums){.memory = memory, .peak = memory};
}

static inline void ppi_sum_memory(struct ppi_sums *sums, double change, const ppsched_op *op)
{
    sums->memory += change;
    if (sums->memory > sums->peak) {
        sums->peak = sums->memory;
        sums->peak_op = op;
    }
}

/* Stores them in the device's figures. */
static inline void ppi_sums_note(const struct ppi_sums *sums, ppsched_timeline *timeline, uint32_t device)
{
    ppsched_device_metrics *figures = &timeline->devices[device];
    figures->busy = sums->busy;
    figures->peak_memory = sums->peak;
    figures->peak_position = PPSCHED_NONE;
    if (sums->peak_op != NULL)
        figures->peak_position = (uint32_t)(sums->peak_op - timeline->schedule->queues[device].ops);
}

#endif
