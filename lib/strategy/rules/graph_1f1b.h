/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B on a stage graph. */
#ifndef PPSCHED_STRATEGY_RULES_GRAPH_1F1B_H
#define PPSCHED_STRATEGY_RULES_GRAPH_1F1B_H

#include "strategy/strategy.h"

/* Writes the ops of all devices. NO_MEMORY. */
ppsched_status ppi_order_graph_1f1b(ppsched_builder *builder, const struct ppi_task *task, const ppsched_config *config,
                                    ppsched_error *error);

/* REFUSED for slices, both directions, a stage on several devices, and devices that feed each other. */
ppsched_status ppi_check_graph_1f1b(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error);

#endif
