/* SPDX-License-Identifier: Apache-2.0 */
/* The objective of an order, by the common evaluator. */
#ifndef PPSCHED_SEARCH_PRICE_H
#define PPSCHED_SEARCH_PRICE_H

#include "eval/event_loop.h"
#include "eval/timeline.h"
#include "search/orders.h"

/* The objective: a share of the span, and the rest of the makespan. */
static inline double ppi_objective(double span_share, double span, double makespan)
{
    return span_share == 1 ? span : span_share * span + (1 - span_share) * makespan;
}

/* A schedule whose ops are overwritten by one order after another and timed in place. Starts zeroed; the three are valid or
 * none. */
struct ppi_pricer {
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
    struct ppi_event_loop loop;
};

/* Puts an order into the schedule, which is built with the first order, and again where a device's number of ops changes. The
 * config must outlive the pricer. */
ppsched_status ppi_pricer_put(struct ppi_pricer *pricer, const ppsched_config *config, int32_t placement,
                              const struct ppi_orders *orders, ppsched_error *error);

/* Times the ops in the schedule: the objective is a share of the longest device span, and the rest of the makespan (see
 * bound/problem.h). Errors: INVALID_SCHEDULE where they cannot be run; RANGE where sums overflow. */
ppsched_status ppi_pricer_time(struct ppi_pricer *pricer, double span_share, double *objective, ppsched_error *error);

void ppi_pricer_clear(struct ppi_pricer *pricer);

#endif
