/* SPDX-License-Identifier: Apache-2.0 */
/* Local search: neighbouring ops of a device change places where that shortens the critical path, or does not lengthen it much
 * for a while (late acceptance hill climbing: Burke and Bykov 2017). The evaluator prices every order. */
#ifndef PPSCHED_SEARCH_IMPROVE_H
#define PPSCHED_SEARCH_IMPROVE_H

#include "search/orders.h"
#include "search/problem.h"
#include "search/watch.h"

/* Changes `orders`, which can be run and fit the limits, for the better and lowers `*objective`, its own; no less than `goal`
 * is hoped for. `tries` orders are priced at most. Orders with overlapped pairs are left alone. */
ppsched_status ppi_improve(const struct ppi_problem *problem, const ppsched_config *config, int32_t placement, uint32_t tries,
                           double goal, struct ppi_watch *watch, struct ppi_orders *orders, double *objective,
                           ppsched_error *error);

#endif
