/* SPDX-License-Identifier: Apache-2.0 */
/* The best schedule that can be found for a config with a stage graph. */
#ifndef PPSCHED_STRATEGY_SEARCHES_AUTO_GRAPH_H
#define PPSCHED_STRATEGY_SEARCHES_AUTO_GRAPH_H

#include "strategy/strategy.h"

/* `by_period`: for forwards alone, the least time of a repetition in place of the least makespan. */
ppsched_status ppi_auto_graph(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config, int64_t effort,
                              bool by_period, ppsched_error *error);

#endif
