/* SPDX-License-Identifier: Apache-2.0 */
/* What the forward and the backward sweep over the dependency graph share: per stage pass a slot that holds a time once it is
 * known, per device how far it is, and the devices that can go on.
 *
 * A device runs until it needs a slot that is not known yet; it marks the slot and stops. Whoever fills a marked slot makes the
 * waiting device ready again. A slot has at most one reader on another device, so the mark need not say whom to wake: it is the
 * reader's home. Each op is thus touched once, and each wait costs one push and one pop. */
#ifndef PPSCHED_EVAL_EVENT_LOOP_H
#define PPSCHED_EVAL_EVENT_LOOP_H

#include "model/costs.h"
#include "model/schedule.h"

/* What a slot holds instead of a time, which is never negative. */
#define PPI_SLOT_UNKNOWN (-1.0)
#define PPI_SLOT_AWAITED (-2.0)

/* How far a device is. */
struct ppi_track {
    double clock;    /* where it stands in time */
    size_t position; /* ops left behind (forward sweep) or still ahead (backward sweep) */
};

struct ppi_event_loop {
    const ppsched_schedule *schedule;
    const struct ppi_costs *costs;
    size_t stages, microbatches; /* microbatches: over all iterations */
    double *forward, *backward;  /* a slot for each stage pass, stage by stage */
    struct ppi_track *tracks;    /* a device each */
    uint32_t *active;            /* devices that have ops at all, so that a flush costs no more than the ops of an iteration */
    uint32_t active_count;
    uint32_t *ready;             /* stack of devices that can go on */
    uint32_t ready_count;
};

ppsched_status ppi_event_loop_make(struct ppi_event_loop *out, const ppsched_schedule *schedule,
                                   const struct ppi_costs *costs, ppsched_error *error);
void ppi_event_loop_clear(struct ppi_event_loop *loop);

/* Nothing has run. */
void ppi_event_loop_reset(struct ppi_event_loop *loop);

/* Makes all active devices ready, the lowest on top. */
void ppi_event_loop_ready_all(struct ppi_event_loop *loop);

static inline size_t ppi_slot_of(const struct ppi_event_loop *loop, const ppsched_op *op)
{
    return op->stage * loop->microbatches + op->microbatch;
}

/* Puts a time into a slot and wakes the device that waits for it, if one does: that of the stage after the lane's (`step` 1) or
 * before it (-1). */
static inline void ppi_slot_fill(struct ppi_event_loop *loop, double *slot, double time, const struct ppi_lane *lane, int step)
{
    bool awaited = *slot == PPI_SLOT_AWAITED;
    *slot = time;
    if (awaited)
        loop->ready[loop->ready_count++] = lane[step].device;
}

#endif
