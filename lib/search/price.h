/* SPDX-License-Identifier: Apache-2.0 */
/* What an order costs, by the common evaluator. */
#ifndef PPSCHED_SEARCH_PRICE_H
#define PPSCHED_SEARCH_PRICE_H

#include "eval/event_loop.h"
#include "eval/timeline.h"
#include "search/orders.h"

/* The objective of which so much is the span. */
static inline double ppi_objective(double span_share, double span, double makespan)
{
    return span_share == 1 ? span : span_share * span + (1 - span_share) * makespan;
}

/* A schedule whose ops are overwritten by one order after another, timed in place. Starts zeroed. */
struct ppi_pricer {
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
    struct ppi_event_loop loop;
};

/* Puts an order into the schedule, which is made with the first, and again where devices have other numbers of ops than those
 * of the one before. The config must outlive the pricer. */
ppsched_status ppi_pricer_put(struct ppi_pricer *pricer, const ppsched_config *config, int32_t placement,
                              const struct ppi_orders *orders, ppsched_error *error);

/* Times the ops that are in the schedule: so much of the longest device span, and the rest of the makespan (see problem.h).
 * Errors: INVALID_SCHEDULE where they cannot be run; RANGE where sums overflow. */
ppsched_status ppi_pricer_time(struct ppi_pricer *pricer, double span_share, double *objective, ppsched_error *error);

void ppi_pricer_clear(struct ppi_pricer *pricer);

#endif
