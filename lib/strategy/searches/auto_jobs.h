/* SPDX-License-Identifier: Apache-2.0 */
/* auto for forwards alone, and for the bidirectional placement. */
#ifndef PPSCHED_STRATEGY_SEARCHES_AUTO_JOBS_H
#define PPSCHED_STRATEGY_SEARCHES_AUTO_JOBS_H

#include "search/jobs.h"
#include "strategy/strategy.h"

/* The best schedule that the search for jobs finds, or another strategy's where that is better. */
ppsched_status ppi_auto_jobs(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                             const struct ppi_jobs_goal *goal, int64_t effort, ppsched_error *error);

#endif
