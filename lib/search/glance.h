/* SPDX-License-Identifier: Apache-2.0 */
/* A glance at an order: whether it may be shorter than another schedule. An order that is longer shows it early. */
#ifndef PPSCHED_SEARCH_GLANCE_H
#define PPSCHED_SEARCH_GLANCE_H

#include "search/orders.h"

struct ppi_glance {
    const struct ppi_problem *problem;
    struct ppi_glance_device *devices;
    uint32_t *done; /* by stage: Fs, then backwards, that have run */
    double *ends;   /* by stage, for both: of the last of them */
};

/* In the caller's arena. */
ppsched_status ppi_glance_make(struct ppi_glance *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error);

/* Runs an order of whole or split backwards, one stage a device, until the work of a device and the time that it has been idle
 * make a span of `below`, up to the rounding of sums; then false. Pairs are not overlapped. Microbatches are identical. */
bool ppi_glance_may_be_shorter(const struct ppi_glance *glance, const struct ppi_orders *orders, double below);

/* Whether on all devices what is between the last two Fs is one microbatch's work, and the same as what is before. */
bool ppi_glance_repeats(const struct ppi_glance *glance, const struct ppi_orders *orders);

/* ppi_glance_may_be_shorter for a rule whose queues are the same up to their last F for more microbatches, and repeat what is
 * between their last two Fs from then on. `orders` are those of fewer `microbatches` than the problem's. False only if those of
 * all are not shorter. */
bool ppi_glance_may_stay_shorter(const struct ppi_glance *glance, const struct ppi_orders *orders, uint32_t microbatches,
                                 double below);

#endif
