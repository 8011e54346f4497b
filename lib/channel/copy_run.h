/* SPDX-License-Identifier: Apache-2.0 */
/* Copies to the host and back beside a run in the order of time, and what waits for them: the copies of ppi_saving, which
 * plans them up to the present moment. Where no op keeps less there is nothing here, and nothing waits. */
#ifndef PPSCHED_CHANNEL_COPY_RUN_H
#define PPSCHED_CHANNEL_COPY_RUN_H

#include "eval/event_loop.h"
#include "eval/memory_saving.h"

struct ppi_copy_run {
    struct ppi_saving *saving;  /* the timeline's; NULL where there is none */
    struct ppi_event_loop loop; /* whom what wakes, and how far devices are */
    double *wakes;              /* for each device the last moment to which it was told to wait */
};

ppsched_status ppi_copy_run_make(struct ppi_copy_run *out, const ppsched_timeline *timeline, ppsched_error *error);
void ppi_copy_run_clear(struct ppi_copy_run *run);

/* How often a device may be told to wait. */
size_t ppi_copy_run_waits(const struct ppi_copy_run *run);

/* A device comes to OFFLOAD or RELOAD now. */
bool ppi_copy_run_ask(struct ppi_copy_run *run, uint32_t device, const ppsched_op *op, double now);

/* A device comes to RECOMPUTE; its duration. */
double ppi_copy_run_recompute(struct ppi_copy_run *run, const ppsched_op *op, const struct ppi_costs *costs);

/* Whether a unit, or OFFLOAD_WAIT, has all its copies now. If not, `*until` says when it will, as far as that is known and
 * was not told before; else 0, and ppi_copy_run_go_on tells later whom to ask again. */
bool ppi_copy_run_lets(struct ppi_copy_run *run, uint32_t device, const ppsched_op *unit, double now, double *until);

/* Whether copies slow compute. */
bool ppi_copy_run_slows(const struct ppi_copy_run *run);

/* A device computes from now on what takes `work` alone: when it ends, as far as is known now. */
double ppi_copy_run_begin(struct ppi_copy_run *run, uint32_t device, double now, double work);

/* The same later, where copies slow compute. */
double ppi_copy_run_end(const struct ppi_copy_run *run, uint32_t device);

/* When the next copy is to be looked at; infinite where there is none. */
double ppi_copy_run_next(const struct ppi_copy_run *run);

/* Looks at it. False, or the device that may ask again. */
bool ppi_copy_run_go_on(struct ppi_copy_run *run, uint32_t *device);

#endif
