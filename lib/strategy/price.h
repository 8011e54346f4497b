/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of candidate orders, by the common evaluator. All candidates of a search have as many ops on every device. */
#ifndef PPSCHED_STRATEGY_PRICE_H
#define PPSCHED_STRATEGY_PRICE_H

#include "eval/event_loop.h"
#include "eval/timeline.h"
#include "model/builder.h"
#include "strategy/strategy.h"

struct ppi_pricer {
    const ppsched_config *config;
    ppsched_schedule *schedule; /* its ops are overwritten by each candidate */
    ppsched_timeline *timeline;
    struct ppi_event_loop loop;
    double least_span; /* no order has a shorter one: the work of the busiest device */
};

/* What a candidate costs. */
struct ppi_price {
    double span;
    double peak; /* the most memory that a device needs */
    bool fits;   /* within the memory limit of every device */
};

/* `any` is an order that can be run, `per_device` ops for each device. */
ppsched_status ppi_pricer_make(struct ppi_pricer *out, const ppsched_config *config, int32_t placement, const ppsched_op *any,
                               size_t per_device, ppsched_error *error);
void ppi_pricer_clear(struct ppi_pricer *pricer);

/* Fills `peak` and `fits`, which need no times. */
void ppi_price_memory(const struct ppi_pricer *pricer, const ppsched_op *ops, struct ppi_price *out);

/* Fills all. INVALID_SCHEDULE where the order cannot be run. */
ppsched_status ppi_price(struct ppi_pricer *pricer, const ppsched_op *ops, struct ppi_price *out, ppsched_error *error);

/* Writes a fixed schedule's order of one device as a search has it: a full backward as I and W, pairs one op behind the other.
 * `scratch` has room for as many ops as `out`. */
void ppi_put_split(const struct ppi_strategy *fixed, const struct ppi_task *task, uint32_t device, ppsched_op *scratch,
                   ppsched_op *out);

#endif
