/* SPDX-License-Identifier: Apache-2.0 */
/* The strategy auto with offload. */
#ifndef PPSCHED_STRATEGY_AUTO_OFFLOAD_H
#define PPSCHED_STRATEGY_AUTO_OFFLOAD_H

#include "strategy/strategy.h"

/* The shortest schedule found with as few copies as keep the config's memory limits. `span_share`: as in ppi_problem. REFUSED
 * where there is none. */
ppsched_status ppi_auto_offload(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                                double span_share, int64_t effort, ppsched_error *error);

/* Whether a strategy's own placement puts every stage on the same device as the task's. */
bool ppi_auto_has_placement(const struct ppi_task *task, const ppsched_config *config, const struct ppi_strategy *strategy);

#endif
