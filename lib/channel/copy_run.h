/* SPDX-License-Identifier: Apache-2.0 */
/* Copies to and from the host within a run in order of time, and what waits for them: adapts ppi_saving, which plans copies up
 * to the current time. Without ops of memory saving this is empty, and nothing waits. */
#ifndef PPSCHED_CHANNEL_COPY_RUN_H
#define PPSCHED_CHANNEL_COPY_RUN_H

#include "eval/event_loop.h"
#include "eval/memory_saving.h"

struct ppi_copy_run {
    struct ppi_saving *saving;  /* the timeline's; NULL: none */
    struct ppi_event_loop loop; /* for the woken devices, and each device's progress */
    double *wakes;              /* by device: the last `*until` of ppi_copy_run_lets */
};

ppsched_status ppi_copy_run_make(struct ppi_copy_run *out, const ppsched_timeline *timeline, ppsched_error *error);
void ppi_copy_run_clear(struct ppi_copy_run *run);

/* The largest number of `*until`s of ppi_copy_run_lets. */
size_t ppi_copy_run_waits(const struct ppi_copy_run *run);

/* For a device that reaches OFFLOAD or RELOAD now; as ppi_saving_ask. */
bool ppi_copy_run_ask(struct ppi_copy_run *run, uint32_t device, const ppsched_op *op, double now);

/* For a device that reaches RECOMPUTE; returns its time. */
double ppi_copy_run_recompute(struct ppi_copy_run *run, const ppsched_op *op, const struct ppi_costs *costs);

/* Whether all copies for a unit, or OFFLOAD_WAIT, are done now. If not, `*until` is when they will be, if that is known and was
 * not returned before; else 0, and ppi_copy_run_go_on returns the device later. */
bool ppi_copy_run_lets(struct ppi_copy_run *run, uint32_t device, const ppsched_op *unit, double now, double *until);

/* Whether copies slow compute. */
bool ppi_copy_run_slows(const struct ppi_copy_run *run);

/* A device starts a unit that takes `work` without slowdown: returns its end, as known so far. */
double ppi_copy_run_begin(struct ppi_copy_run *run, uint32_t device, double now, double work);

/* The same later, if copies slow compute. */
double ppi_copy_run_end(const struct ppi_copy_run *run, uint32_t device);

/* Time of the next event of copies; infinite: none. */
double ppi_copy_run_next(const struct ppi_copy_run *run);

/* Handles it. True if a device may ask again. */
bool ppi_copy_run_go_on(struct ppi_copy_run *run, uint32_t *device);

#endif
